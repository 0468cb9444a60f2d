#include "cupti/pm_metrics.h"

#include <array>

#include "device/limits.h"

namespace simcuda::cupti {
namespace {

struct Metric {
  std::string_view name;
  double (*value)(const Totals& totals, double length_ns);
};

constexpr double bytes_per_sector = 32;

// "× cycles" as the hardware has it: a level is added up once per clock cycle.
constexpr std::array metrics = {
    Metric{"gpc__cycles_elapsed.max", [](const Totals&, double length_ns) { return length_ns * clock_cycles_per_ns; }},
    Metric{"sm__cycles_elapsed.max", [](const Totals&, double length_ns) { return length_ns * clock_cycles_per_ns; }},
    Metric{"sm__cycles_elapsed.sum",
           [](const Totals&, double length_ns) { return length_ns * clock_cycles_per_ns * multiprocessors; }},
    Metric{"sm__cycles_active.sum",
           [](const Totals& t, double) { return t.active_multiprocessor_ns * clock_cycles_per_ns; }},
    Metric{"sm__warps_active.sum", [](const Totals& t, double) { return t.warp_ns * clock_cycles_per_ns; }},
    Metric{"sm__warps_active.max", [](const Totals& t, double) { return t.warps_fullest_ns * clock_cycles_per_ns; }},
    Metric{"sm__warps_active.min", [](const Totals& t, double) { return t.warps_emptiest_ns * clock_cycles_per_ns; }},
    Metric{"TPC.TriageCompute.tpc__sm_rf_registers_allocated_shader_cs_realtime.sum",
           [](const Totals& t, double) { return t.register_ns * clock_cycles_per_ns; }},
    Metric{"TPC.TriageCompute.tpc__l1tex_mem_shared_data_compute_bytes_allocated_realtime.sum",
           [](const Totals& t, double) { return t.shared_byte_ns * clock_cycles_per_ns; }},
    Metric{"TPC.TriageCompute.tpc__warps_launched_shader_cs.sum",
           [](const Totals& t, double) { return t.warps_launched; }},
    Metric{"gr__ctas_completed.sum", [](const Totals& t, double) { return t.blocks_completed; }},
    Metric{"dram__bytes_read.sum", [](const Totals& t, double) { return t.read_bytes; }},
    Metric{"dram__bytes_write.sum", [](const Totals& t, double) { return t.write_bytes; }},
    Metric{"TPC.TriageCompute.sm__inst_executed_realtime.sum", [](const Totals& t, double) { return t.instructions; }},
    Metric{"lts__t_sectors.sum",
           [](const Totals& t, double) { return (t.read_bytes + t.write_bytes) / bytes_per_sector; }},
    Metric{"FE_A.TriageCompute.gpu__gr_cycles_active_cmd_ctxsw.sum", [](const Totals&, double) { return 0.0; }},
};

}  // namespace

int find_metric(std::string_view name) {
  for (size_t i = 0; i < metrics.size(); ++i) {
    if (metrics[i].name == name) {
      return static_cast<int>(i);
    }
  }
  return -1;
}

double evaluate_metric(int metric, const Totals& totals, double length_ns) {
  return metrics[static_cast<size_t>(metric)].value(totals, length_ns);
}

}  // namespace simcuda::cupti
