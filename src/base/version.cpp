#include "base/version.h"

namespace kvet {

const char* version() { return KVET_VERSION; }

}  // namespace kvet
