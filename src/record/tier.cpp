#include "record/tier.h"

namespace kvet::record {

namespace {

const char* const doctor = "`kvet doctor` says what is missing and how to get it";

Result<Plan> host_tier(const Means& means, std::string reason) {
  if (means.no_bpf) {
    return fail(ErrorKind::unavailable, *means.no_bpf, "the host tier", doctor);
  }
  return Plan{.bpf = true, .inject = false, .base = "host", .reason = std::move(reason)};
}

Result<Plan> device_tier(const Means& means) {
  if (!means.has_command) {
    return fail(ErrorKind::usage, "a running process is never injected into", "--tier",
                "start the program with `kvet record -- CMD`, or record the host tier");
  }
  if (means.no_bpf || means.no_injection) {
    return fail(ErrorKind::unavailable, means.no_bpf ? *means.no_bpf : *means.no_injection, "the device tier", doctor);
  }
  return Plan{.bpf = true, .inject = true, .base = "device", .reason = ""};
}

Result<Plan> unprivileged_tier(const Means& means, std::string reason) {
  if (!means.has_command) {
    return fail(ErrorKind::usage, "without privileges a running process cannot be recorded", "--pid",
                "start the program with `kvet record -- CMD`, or run kvet as root");
  }
  if (means.no_injection) {
    return fail(ErrorKind::unavailable, *means.no_injection, "the unprivileged tier", doctor);
  }
  return Plan{.bpf = false, .inject = true, .base = "unprivileged", .reason = std::move(reason)};
}

Result<Plan> best_tier(const Means& means) {
  if (!means.has_command) {
    if (means.no_bpf) {
      return fail(ErrorKind::unavailable, *means.no_bpf, "a running process cannot be recorded", doctor);
    }
    return host_tier(means, "a running process is never injected into: start it with `kvet record -- CMD`");
  }
  if (!means.no_bpf && !means.no_injection) {
    return device_tier(means);
  }
  if (!means.no_bpf) {
    return host_tier(means, *means.no_injection);
  }
  if (!means.no_injection) {
    return unprivileged_tier(means, *means.no_bpf);
  }
  return fail(ErrorKind::unavailable, *means.no_bpf + "; and " + *means.no_injection, "nothing can be recorded",
              doctor);
}

}  // namespace

Result<Plan> plan_tier(TierChoice choice, const Means& means) {
  switch (choice) {
    case TierChoice::automatic: return best_tier(means);
    case TierChoice::host: return host_tier(means, "asked for with --tier host");
    case TierChoice::unprivileged: return unprivileged_tier(means, "asked for with --tier unprivileged");
    case TierChoice::device:
    case TierChoice::full: return device_tier(means);
  }
  return best_tier(means);
}

std::string tier_name(const Plan& plan, bool counters) {
  if (!counters) {
    return plan.base;
  }
  if (plan.base == "host") {
    return "host+counters";
  }
  return plan.base == "device" ? "full" : plan.base;
}

}  // namespace kvet::record
