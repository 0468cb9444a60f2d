// The recorder's own limit of open descriptors. Before Linux 6.10 each probed function takes two at its entry and two at its
// return: eight processes with libcuda and NCCL need more than the usual 1,024.
#pragma once

#include <sys/resource.h>

#include <optional>

namespace kvet::record {

class DescriptorLimit {
 public:
  DescriptorLimit() = default;
  ~DescriptorLimit();  // as it was
  DescriptorLimit(const DescriptorLimit&) = delete;
  DescriptorLimit& operator=(const DescriptorLimit&) = delete;

  // As many as may be had without a right. Call it after the target was forked, which inherits the limit.
  void raise();

 private:
  std::optional<rlim_t> before_;
};

}  // namespace kvet::record
