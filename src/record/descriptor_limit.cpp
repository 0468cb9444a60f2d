#include "record/descriptor_limit.h"

namespace kvet::record {

DescriptorLimit::~DescriptorLimit() {
  rlimit limit{};
  if (before_ && getrlimit(RLIMIT_NOFILE, &limit) == 0) {
    limit.rlim_cur = *before_;
    setrlimit(RLIMIT_NOFILE, &limit);
  }
}

void DescriptorLimit::raise() {
  rlimit limit{};
  if (!before_ && getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
    const rlim_t before = limit.rlim_cur;
    limit.rlim_cur = limit.rlim_max;
    if (setrlimit(RLIMIT_NOFILE, &limit) == 0) {
      before_ = before;
    }
  }
}

}  // namespace kvet::record
