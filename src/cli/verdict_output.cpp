#include "cli/verdict_output.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "base/terminal.h"
#include "base/version.h"
#include "report/verdict_json.h"
#include "report/verdict_text.h"

namespace kvet::cli {

void show_verdict(const verdict::Verdict& verdict, bool json) {
  const std::string text = json ? report::verdict_json(verdict, version()).dump(2) + "\n"
                                : report::render_verdict(verdict, {100, colour_allowed(STDOUT_FILENO)});
  std::fwrite(text.data(), 1, text.size(), stdout);
}

int status_of(const verdict::Verdict& verdict, const std::vector<std::string>& accept) {
  const std::string word = verdict::name(verdict.likely ? verdict::Word::inconclusive : verdict.word);
  const bool accepted = std::find(accept.begin(), accept.end(), word) != accept.end();
  return accepted ? 0 : verdict::exit_status(verdict.word, verdict.likely);
}

}  // namespace kvet::cli
