// kvet doctor: what this machine allows.
#include "cli/commands.h"

namespace kvet::cli {

int run_doctor(const DoctorOptions&) { return 0; }

}  // namespace kvet::cli
