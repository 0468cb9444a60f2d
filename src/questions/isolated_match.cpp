#include "questions/isolated_match.h"

#include <fmt/core.h>

#include <algorithm>
#include <functional>
#include <set>

#include "base/demangle.h"
#include "base/gpu_name.h"
#include "base/kernel_name.h"

namespace kvet::questions {
namespace {

constexpr size_t most_listed = 5, longest_listed = 80;

// Hashes of what names are compared by: decoded, a hostile name of 300 bytes may have 64 KiB.
struct NameForms {
  size_t raw = 0, decoded = 0, instance = 0, function = 0;
};
NameForms forms_of(const std::string& name) {
  const std::string decoded = demangle(name);
  const auto hash = [](std::string_view text) { return std::hash<std::string_view>{}(text); };
  return {hash(name), hash(decoded), hash(instantiation(decoded)), hash(function_name(decoded))};
}

// Indices of the profile's kernels that this one may be, by the strictest rule that finds any. The function's name alone must be
// that of one kernel.
std::vector<uint32_t> same_kernels(const NameForms& own, const std::vector<NameForms>& all) {
  const auto by = [&](auto same) {
    std::vector<uint32_t> found;
    for (size_t i = 0; i < all.size(); ++i) {
      if (same(all[i])) {
        found.push_back(static_cast<uint32_t>(i));
      }
    }
    return found;
  };
  auto found = by([&](const NameForms& one) { return one.raw == own.raw || one.decoded == own.decoded; });
  if (found.empty()) {
    found = by([&](const NameForms& one) { return one.instance == own.instance; });
  }
  if (found.empty()) {
    found = by([&](const NameForms& one) { return one.function == own.function; });
    if (found.size() > 1) {
      found.clear();
    }
  }
  return found;
}

bool agrees(const std::array<uint32_t, 3>& one, const std::array<uint32_t, 3>& other) {
  return one == other || one[0] == 0 || other[0] == 0;  // 0: not known
}

std::string cut(const std::string& text) {
  return text.size() > longest_listed ? text.substr(0, longest_listed) + "…" : text;
}

std::string names_in(const IsolatedProfile& profile) {
  std::string text;
  for (size_t i = 0; i < std::min(profile.kernels.size(), most_listed); ++i) {
    text += (i > 0 ? ", " : "") + cut(demangle(profile.kernels[i]));
  }
  return profile.kernels.size() > most_listed ? text + fmt::format(" and {} more", profile.kernels.size() - most_listed)
                                              : text;
}

std::string shape_text(const std::array<uint32_t, 3>& grid, const std::array<uint32_t, 3>& block) {
  return fmt::format("grid {} × {} × {} of blocks {} × {} × {}", grid[0], grid[1], grid[2], block[0], block[1],
                     block[2]);
}

// "": one GPU, as far as both say.
std::string other_gpu(const Capture& capture, const std::set<uint32_t>& own, const ProfileMatch& match,
                      const IsolatedProfile& profile) {
  for (const MatchedShape& shape : match.shapes) {
    for (const IsolatedLaunch* launch : shape.launches) {
      const IsolatedDevice& there = profile.devices[launch->device];
      for (uint32_t id : own) {
        const Device& here = capture.devices[id];
        const std::string& name = capture.text(here.name);
        const bool other_chip =
            here.compute_major > 0 && there.compute_major > 0 &&
            (here.compute_major != there.compute_major || here.compute_minor != there.compute_minor);
        if (other_chip) {
          return fmt::format("it was profiled on compute capability {}.{}, and recorded on {}.{} ({})",
                             there.compute_major, there.compute_minor, here.compute_major, here.compute_minor, name);
        }
        if (!name.empty() && !there.name.empty() && !may_be_one_gpu(name, there.name)) {
          return fmt::format("it was profiled on {}, and recorded on {}", cut(there.name), name);
        }
      }
    }
  }
  return "";
}

}  // namespace

ProfileMatch match_profile(const Capture& capture, const KernelSet& kernels, const IsolatedProfile& profile) {
  struct Own {
    double executions = 0, time_ns = 0;
  };
  std::map<uint32_t, Own> shapes;
  std::set<uint32_t> devices;
  ProfileMatch match;
  for (const Execution& execution : capture.executions) {
    if (kernels.contains(execution.shape)) {
      Own& own = shapes[execution.shape.value];
      ++own.executions;
      own.time_ns += static_cast<double>(execution.end_ns - execution.start_ns);
      devices.insert(execution.device.value);
      ++match.executions;
    }
  }
  std::vector<NameForms> names;
  names.reserve(profile.kernels.size());
  for (const std::string& name : profile.kernels) {
    names.push_back(forms_of(name));
  }
  std::vector<std::vector<const IsolatedLaunch*>> launches(profile.kernels.size());
  for (const IsolatedLaunch& launch : profile.launches) {
    launches[launch.kernel].push_back(&launch);
  }
  std::map<uint32_t, std::vector<uint32_t>> by_name;  // of the capture's names
  std::string other_shape;  // of a kernel whose name is there
  for (const auto& [id, own] : shapes) {
    const KernelShape& shape = capture.shapes[id];
    const auto [known, fresh] = by_name.try_emplace(shape.name.value);
    if (fresh) {
      known->second = same_kernels(forms_of(capture.text(shape.name)), names);
    }
    MatchedShape matched{own.executions, own.time_ns, {}};
    for (uint32_t kernel : known->second) {
      for (const IsolatedLaunch* launch : launches[kernel]) {
        if (agrees(launch->grid, shape.grid) && agrees(launch->block, shape.block)) {
          matched.launches.push_back(launch);
        } else if (other_shape.empty()) {
          other_shape = fmt::format("it was profiled with {}; here it runs with {}",
                                    shape_text(launch->grid, launch->block), shape_text(shape.grid, shape.block));
        }
      }
    }
    if (!matched.launches.empty()) {
      match.matched += own.executions;
      match.shapes.push_back(std::move(matched));
    }
  }
  if (match.executions == 0) {
    match.reason = "the kernel did not run here";
    match.advice = "choose another window or pattern";
  } else if (match.matched < least_matched * match.executions) {
    match.reason = match.matched > 0
                       ? fmt::format("{:.0f}% of its executions have a launch of their name and shape in {}; ",
                                     100 * match.matched / match.executions, profile.path)
                       : fmt::format("no launch in {} has its name and shape; ", profile.path);
    match.reason += other_shape.empty() ? "there are " + names_in(profile) : other_shape;
    match.advice = "profile the shapes that the workload runs: ncu --kernel-name regex:NAME --csv --page raw";
  } else if (std::string gpu = other_gpu(capture, devices, match, profile); !gpu.empty()) {
    match.reason = std::move(gpu);
    match.advice = "profile on the GPU that the workload runs on";
  }
  return match;
}

}  // namespace kvet::questions
