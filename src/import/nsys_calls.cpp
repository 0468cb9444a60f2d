// API calls of an export: launches and synchronisations, each once, although Nsight Systems may record it at the runtime and
// at the driver.
#include <algorithm>
#include <array>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "import/nsys_import.h"

namespace kvet::importing {
namespace {

struct Api {
  std::string_view name;  // without version and per-thread-stream suffixes
  ApiKind kind;
};
// https://docs.nvidia.com/cuda/cuda-runtime-api and cuda-driver-api: everything that starts work or waits for it.
constexpr auto apis = std::to_array<Api>({
    {"cudaLaunch", ApiKind::launch_kernel},
    {"cudaLaunchKernel", ApiKind::launch_kernel},
    {"cudaLaunchKernelExC", ApiKind::launch_kernel},
    {"cuLaunch", ApiKind::launch_kernel},
    {"cuLaunchGrid", ApiKind::launch_kernel},
    {"cuLaunchGridAsync", ApiKind::launch_kernel},
    {"cuLaunchKernel", ApiKind::launch_kernel},
    {"cuLaunchKernelEx", ApiKind::launch_kernel},
    {"cudaLaunchCooperativeKernel", ApiKind::launch_cooperative},
    {"cudaLaunchCooperativeKernelMultiDevice", ApiKind::launch_cooperative},
    {"cuLaunchCooperativeKernel", ApiKind::launch_cooperative},
    {"cuLaunchCooperativeKernelMultiDevice", ApiKind::launch_cooperative},
    {"cudaGraphLaunch", ApiKind::launch_graph},
    {"cuGraphLaunch", ApiKind::launch_graph},
    {"cudaLaunchHostFunc", ApiKind::launch_host_function},
    {"cuLaunchHostFunc", ApiKind::launch_host_function},
    {"cudaStreamSynchronize", ApiKind::synchronize_stream},
    {"cuStreamSynchronize", ApiKind::synchronize_stream},
    {"cudaDeviceSynchronize", ApiKind::synchronize_context},
    {"cudaThreadSynchronize", ApiKind::synchronize_context},
    {"cuCtxSynchronize", ApiKind::synchronize_context},
    {"cudaEventSynchronize", ApiKind::synchronize_event},
    {"cuEventSynchronize", ApiKind::synchronize_event},
});

// "cudaLaunchKernel_ptsz_v7000", "cuMemcpyHtoD_v2" → "cudaLaunchKernel", "cuMemcpyHtoD".
std::string_view plain(std::string_view name) {
  for (bool cut = true; cut;) {
    cut = false;
    const size_t at = name.rfind('_');
    if (at == std::string_view::npos) {
      break;
    }
    const std::string_view suffix = name.substr(at + 1);
    const bool version = suffix.size() > 1 && suffix[0] == 'v' &&
                         std::ranges::all_of(suffix.substr(1), [](char c) { return c >= '0' && c <= '9'; });
    if (version || suffix == "ptsz" || suffix == "ptds") {
      name = name.substr(0, at);
      cut = true;
    }
  }
  return name;
}

std::optional<ApiKind> kind_of(std::string_view name) {
  name = plain(name);
  for (const Api& api : apis) {
    if (api.name == name) {
      return api.kind;
    }
  }
  // Copies and memsets, of any shape: those that return before the work is done say so.
  if (name.starts_with("cudaMemcpy") || name.starts_with("cuMemcpy")) {
    return name.ends_with("Async") ? ApiKind::copy_async : ApiKind::synchronize_copy;
  }
  if (name.starts_with("cudaMemset") || name.starts_with("cuMemset")) {
    return name.ends_with("Async") ? std::optional(ApiKind::copy_async) : std::nullopt;
  }
  return std::nullopt;
}

enum class Sort : uint8_t { launch, wait, copy };
Sort sort_of(ApiKind kind) {
  switch (kind) {
    case ApiKind::launch_kernel:
    case ApiKind::launch_cooperative:
    case ApiKind::launch_graph:
    case ApiKind::launch_host_function: return Sort::launch;
    case ApiKind::synchronize_stream:
    case ApiKind::synchronize_context:
    case ApiKind::synchronize_event: return Sort::wait;
    case ApiKind::synchronize_copy:
    case ApiKind::copy_async:
    case ApiKind::wait_for_queue: return Sort::copy;
  }
  return Sort::copy;
}

// Calls inside a call of the same sort and thread are the same call, seen again one level below. The outer one stays, since
// the thread was in it for all that time; where only the inner one's id joins what ran, it lends that id. Where both have work of
// their own they are two calls.
std::vector<ApiCall> each_once(const NsysImport& import, std::vector<ApiCall> calls) {
  std::ranges::stable_sort(calls, [](const ApiCall& a, const ApiCall& b) {
    return std::tuple(a.process, a.thread_id, a.start_ns, -a.end_ns) <
           std::tuple(b.process, b.thread_id, b.start_ns, -b.end_ns);
  });
  const auto joins = [&](const ApiCall& call) {
    return call.correlation_id != 0 && import.worked.contains(correlation_key(call.process, call.correlation_id));
  };
  std::vector<ApiCall> kept;
  kept.reserve(calls.size());
  for (const ApiCall& call : calls) {
    if (!kept.empty()) {
      ApiCall& outer = kept.back();
      if (outer.process == call.process && outer.thread_id == call.thread_id && call.end_ns <= outer.end_ns &&
          sort_of(outer.kind) == sort_of(call.kind)) {
        const bool own = joins(call) && call.correlation_id != outer.correlation_id;
        if (!own || !joins(outer)) {
          outer.correlation_id = own ? call.correlation_id : outer.correlation_id;
          continue;
        }
      }
    }
    kept.push_back(call);
  }
  return kept;
}

Result<void> collect(NsysImport& import, std::string_view table, std::vector<ApiCall>& calls) {
  if (!import.file.has(table)) {
    return {};
  }
  auto rows =
      NsysRows::select(import.file, table, {"start", "end", "globalTid", "correlationId", "nameId", "returnValue"});
  if (!rows) {
    return std::unexpected(rows.error());
  }
  std::unordered_map<int64_t, std::optional<ApiKind>> kinds;
  while (rows->next()) {
    const auto start = rows->integer(0), end = rows->integer(1), thread = rows->integer(2), name = rows->integer(4);
    if (rows->wrong_type()) {
      return rows->refuse_type();
    }
    const std::string* text = name ? import.strings.find(*name) : nullptr;
    if (text == nullptr || !thread) {
      import.lose(name && thread ? LossKind::unjoined : LossKind::unknown_record);
      continue;
    }
    const auto [kind, added] = kinds.try_emplace(*name);
    if (added) {
      kind->second = kind_of(*text);
    }
    if (!kind->second) {
      continue;  // neither starts work nor waits for it
    }
    const auto when = import.times(start, end);
    if (!when) {
      continue;
    }
    const GlobalId id = global_id(*thread);
    ApiCall call;
    call.process = import.process(id);
    call.thread_id = id.tid;
    call.kind = *kind->second;
    call.source = Source::imported;
    call.correlation_id = rows->number<uint32_t>(3).value_or(0);
    call.start_ns = when->start_ns;
    call.end_ns = when->end_ns;
    call.result = rows->number<int32_t>(5).value_or(0);
    calls.push_back(call);
  }
  return rows->end();
}

}  // namespace

Result<void> read_calls(NsysImport& import) {
  std::vector<ApiCall> calls;
  for (const std::string_view table : {"CUPTI_ACTIVITY_KIND_RUNTIME", "CUPTI_ACTIVITY_KIND_DRIVER"}) {
    if (auto read = collect(import, table, calls); !read) {
      return read;
    }
  }
  for (const ApiCall& call : each_once(import, std::move(calls))) {
    import.sink.on(call);
    ++import.calls;
    import.graph_launches += call.kind == ApiKind::launch_graph ? 1 : 0;
  }
  return {};
}

}  // namespace kvet::importing
