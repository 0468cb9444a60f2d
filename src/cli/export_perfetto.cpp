// kvet export --format perfetto
#include "cli/export_formats.h"

namespace kvet::cli {

Result<void> export_perfetto(const Capture&, const std::string&) {
  return fail(ErrorKind::internal, "is not written yet", "export");
}

}  // namespace kvet::cli
