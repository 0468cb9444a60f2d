#include "probes/counters/metric_set.h"

#include <algorithm>
#include <array>

namespace kvet::probes {
namespace {

using enum MetricGroup;

// "TriageCompute" names are those of GH100 and GB100, "TriageAC" those of GA10x, AD10x. The realtime kinds are sampled
// without a second pass. Which of them exist, and how many passes they take together, was read off CUPTI 13.0's host
// interface for GH100, GB100, GB202, AD102, GA102, GA100 and TU102; what they mean, off an H200: see the comments.
constexpr auto all = std::to_array<Metric>({
    // Exact: 132 SMs × 64 warps read 8,448 per cycle when full.
    {KVET_COUNTER_CYCLES_ELAPSED, basic, "gpc__cycles_elapsed.max"},
    {KVET_COUNTER_CYCLES_ELAPSED, basic, "sm__cycles_elapsed.max"},
    {KVET_COUNTER_SM_ACTIVE_CYCLES, basic, "sm__cycles_active.sum"},
    {KVET_COUNTER_WARP_CYCLES, basic, "sm__warps_active.sum"},
    {KVET_COUNTER_DRAM_READ_BYTES, basic, "dram__bytes_read.sum"},
    {KVET_COUNTER_DRAM_READ_BYTES, basic, "dram__bytes_op_read.sum"},
    {KVET_COUNTER_DRAM_WRITE_BYTES, basic, "dram__bytes_write.sum"},
    {KVET_COUNTER_DRAM_WRITE_BYTES, basic, "dram__bytes_op_write.sum"},
    {KVET_COUNTER_WARPS_LAUNCHED, flows, "TPC.TriageCompute.tpc__warps_launched_shader_cs.sum"},
    {KVET_COUNTER_WARPS_LAUNCHED, flows, "TPC.TriageAC.tpc__warps_launched_shader_cs.sum"},
    {KVET_COUNTER_WARPS_LAUNCHED, flows, "tpc__warps_launched_shader_cs.sum"},
    {KVET_COUNTER_WARPS_LAUNCHED, flows, "smsp__warps_launched_total.sum"},
    // Exact, where FE_B…gr__ctas_launched_realtime under-counts bursts and gr__ctas_launched takes a second pass.
    {KVET_COUNTER_BLOCKS_COMPLETED, flows, "gr__ctas_completed.sum"},
    // Time slicing between processes.
    {KVET_COUNTER_CONTEXT_SWITCH_CYCLES, flows, "FE_A.TriageCompute.gpu__gr_cycles_active_cmd_ctxsw.sum"},
    {KVET_COUNTER_CONTEXT_SWITCH_CYCLES, flows, "FE_A.TriageAC.gpu__gr_cycles_active_cmd_ctxsw.sum"},
    {KVET_COUNTER_CONTEXT_SWITCH_CYCLES, flows, "gpu__gr_cycles_active_cmd_ctxsw.sum"},
    // Registers per thread, rounded up to 8, × 32 × warps.
    {KVET_COUNTER_REGISTER_CYCLES, fingerprint,
     "TPC.TriageCompute.tpc__sm_rf_registers_allocated_shader_cs_realtime.sum"},
    {KVET_COUNTER_REGISTER_CYCLES, fingerprint, "TPC.TriageAC.tpc__sm_rf_registers_allocated_shader_cs_realtime.sum"},
    // Dynamic + static + 1 KiB per block, rounded up to 128 B; reads low with eight small blocks on an SM.
    {KVET_COUNTER_SHARED_BYTE_CYCLES, fingerprint,
     "TPC.TriageCompute.tpc__l1tex_mem_shared_data_compute_bytes_allocated_realtime.sum"},
    {KVET_COUNTER_SHARED_BYTE_CYCLES, fingerprint,
     "TPC.TriageAC.tpc__l1tex_mem_shared_data_compute_bytes_allocated_realtime.sum"},
    {KVET_COUNTER_WARPS_MAX, extremes, "sm__warps_active.max"},
    {KVET_COUNTER_WARPS_MIN, extremes, "sm__warps_active.min"},
    {KVET_COUNTER_INSTRUCTIONS, detail, "TPC.TriageCompute.sm__inst_executed_realtime.sum"},
    {KVET_COUNTER_INSTRUCTIONS, detail, "SM_A.TriageAC.sm__inst_executed_realtime.sum"},
    {KVET_COUNTER_INSTRUCTIONS, detail, "sm__inst_executed_realtime.sum"},
    {KVET_COUNTER_INSTRUCTIONS, detail, "sm__inst_executed.sum"},
    {KVET_COUNTER_TENSOR_CYCLES, detail, "TPC.TriageCompute.sm__pipe_tensor_cycles_active_realtime.sum"},
    {KVET_COUNTER_TENSOR_CYCLES, detail, "sm__pipe_tensor_cycles_active_realtime.sum"},
    {KVET_COUNTER_TENSOR_CYCLES, detail, "sm__pipe_tensor_cycles_active.sum"},
    {KVET_COUNTER_L2_SECTORS, detail, "lts__t_sectors.sum"},
});

constexpr std::array<const char*, KVET_COUNTER_FIELDS> field_names = {
    "cycles_elapsed",   "sm_active_cycles",   "warp_cycles",    "warps_max",        "warps_min",
    "register_cycles",  "shared_byte_cycles", "warps_launched", "blocks_completed", "dram_read_bytes",
    "dram_write_bytes", "instructions",       "tensor_cycles",  "l2_sectors",       "context_switch_cycles"};

std::vector<const char*> names_of(const std::vector<Metric>& metrics) {
  std::vector<const char*> names;
  names.reserve(metrics.size());
  for (const Metric& metric : metrics) {
    names.push_back(metric.name);
  }
  return names;
}

}  // namespace

std::span<const Metric> known_metrics() { return all; }

std::vector<Metric> choose_metrics(const CountPasses& passes, MetricGroup up_to) {
  // The preferred name of every field at once: on the chips that kvet was made for this is the answer, in one question.
  std::vector<Metric> preferred;
  for (const Metric& metric : all) {
    if (metric.group <= up_to && (preferred.empty() || preferred.back().field != metric.field)) {
      preferred.push_back(metric);
    }
  }
  if (passes(names_of(preferred)) == 1) {
    return preferred;
  }
  // Else one by one, by worth: what does not fit beside what is worth more is left out.
  std::vector<Metric> chosen;
  for (const Metric& metric : all) {
    if (metric.group > up_to || (!chosen.empty() && chosen.back().field == metric.field)) {
      continue;
    }
    chosen.push_back(metric);
    if (passes(names_of(chosen)) != 1) {
      chosen.pop_back();
    }
  }
  return chosen;
}

std::string missing_fields(const std::vector<Metric>& chosen, MetricGroup up_to) {
  std::vector<kvet_counter_field> missing;
  for (const Metric& metric : all) {
    const auto same = [&](const Metric& other) { return other.field == metric.field; };
    if (metric.group <= up_to && std::none_of(chosen.begin(), chosen.end(), same) &&
        std::find(missing.begin(), missing.end(), metric.field) == missing.end()) {
      missing.push_back(metric.field);
    }
  }
  std::string text;
  for (kvet_counter_field field : missing) {
    text += (text.empty() ? "" : ", ") + std::string(field_name(field));
  }
  return text;
}

const char* field_name(kvet_counter_field field) { return field_names[static_cast<size_t>(field)]; }

}  // namespace kvet::probes
