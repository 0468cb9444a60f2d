#include "cli/verdict_output.h"

#include <unistd.h>

#include <cstdio>

#include "base/terminal.h"
#include "base/version.h"
#include "report/verdict_json.h"
#include "report/verdict_junit.h"
#include "report/verdict_markdown.h"
#include "report/verdict_sarif.h"
#include "report/verdict_text.h"
#include "verdict/level_check.h"

namespace kvet::cli {

void show_verdict(const verdict::Verdict& verdict, VerdictFormat format, const validate::Gate& gate) {
  std::string text;
  switch (format) {
    case VerdictFormat::text: text = report::render_verdict(verdict, {100, colour_allowed(STDOUT_FILENO)}); break;
    case VerdictFormat::json: text = report::verdict_json(verdict, version()).dump(2) + "\n"; break;
    case VerdictFormat::markdown: text = report::verdict_markdown(verdict, passes(verdict, gate.accept)); break;
    case VerdictFormat::junit: text = report::verdict_junit(verdict, passes(verdict, gate.accept)); break;
    case VerdictFormat::sarif:
      text = report::verdict_sarif(verdict, passes(verdict, gate.accept), gate.artifact).dump(2) + "\n";
      break;
  }
  std::fwrite(text.data(), 1, text.size(), stdout);
}

int status_of(const verdict::Verdict& verdict, const std::vector<std::string>& accept) {
  return verdict::passes(verdict, accept) ? 0 : verdict::exit_status(verdict.word, verdict.likely);
}

}  // namespace kvet::cli
