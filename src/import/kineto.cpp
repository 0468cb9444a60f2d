// The PyTorch profiler's trace.
#include "import/formats.h"

namespace kvet::importing {

Result<void> import_kineto(const std::vector<std::string>& paths, EventSink& /*sink*/) {
  return fail(ErrorKind::bad_input, "is a PyTorch profiler trace, and these are not read yet", paths.front());
}

}  // namespace kvet::importing
