#include "questions/loss_words.h"

namespace kvet::questions {

namespace {

// What another tool recorded and an importer could not use: nothing that kvet's own recording explains.
LossWords explain_imported(LossKind kind) {
  switch (kind) {
    case LossKind::cupti_dropped:
      return {"the tool that made the file dropped them", "record a shorter part with it, or less of it"};
    case LossKind::bad_time:
      return {
          "their times are absent, zero, inverted or out of range",
          "many of them point to a fault of the tool that made the file: profile again, with a newer one if there is"};
    case LossKind::table_full:
      return {"they name more devices than a machine has", "the file may be damaged: export it again"};
    case LossKind::unknown_record:
      return {"a value that places them is absent from the file or out of range",
              "export the file again, with the version of the tool that recorded it"};
    case LossKind::unmatched:
      return {"a begin without an end, or an end without a begin", "expected where the profiler started or stopped"};
    case LossKind::unjoined:
      return {"they name a text or a thread that is not in the file",
              "the file is not whole: export it again; what they name stays unknown until then"};
    default: return {"the file does not hold all of them", "profile again"};
  }
}

}  // namespace

LossWords explain_loss(Source source, LossKind kind) {
  if (source == Source::imported) {
    return explain_imported(kind);
  }
  switch (kind) {
    case LossKind::cupti_dropped:
      return {"CUPTI had no buffer for them",
              "report it with the workload's launch rate: buffers are given in advance"};
    case LossKind::bad_time:
      return {"their time stamps were zero, inverted or out of range",
              "they were set aside; many of them point to a fault in CUPTI or the driver"};
    case LossKind::batch_gap:
      return {"batches never arrived: the sequence numbers have gaps",
              "give the recorder more CPU, or record a shorter part"};
    case LossKind::batch_slot:
      return {"the library in the target had no free batch", "give the recorder more CPU, or record a shorter part"};
    case LossKind::table_full:
      return {"the table of names was full",
              "record a shorter part: this workload has very many kernels or launch shapes"};
    case LossKind::no_reader:
      return {"nobody was attached to the library's probe", "see inject.status and `kvet doctor`"};
    case LossKind::unknown_record:
      return {"their kind or a value in them is not one that this kvet knows",
              "use a kvet that knows this version of CUPTI"};
    case LossKind::buffer_allocation:
      return {"the target had no memory for a CUPTI buffer", "give the target more memory"};
    case LossKind::ring_full:
      return {"a ring buffer between the kernel and the recorder was full", "give the recorder more CPU"};
    case LossKind::copy_failed:
      return {"the target's memory could not be read at that moment",
              "a few are harmless for rates and not for counts"};
    case LossKind::unmatched:
      return {"a begin without an end, or an end without a begin", "expected at the edges of a recording"};
    case LossKind::map_full: return {"a per-thread table in the kernel was full", "record fewer threads"};
    case LossKind::before_attach:
      return {"they happened before the probes were attached",
              "use --delay, so that the part that counts begins later"};
    case LossKind::counter_overflow: return {"the counter hardware's buffer overflowed", "use a longer --interval"};
    case LossKind::counter_gap: return {"counter samples are missing between others", "use a longer --interval"};
    case LossKind::sampler_died: return {"the process that samples the counters died", "see counters.status"};
    case LossKind::store_failed:
      return {"they could not be written to the capture file", "free some space on that disk"};
    case LossKind::unjoined:
      return {"they refer to something that was not recorded", "expected at the edges of a recording"};
    case LossKind::ended_without_exit_handlers:
      return {
          "so many processes ended without their exit handlers (a signal, _exit, exec): what CUPTI still held is "
          "missing, "
          "a tenth of a second of records as a rule",
          "let them end by exit(), or let the part that counts end before they do"};
  }
  return {"for an unknown reason", ""};
}

std::string_view source_name(Source source) {
  switch (source) {
    case Source::cupti: return "CUPTI";
    case Source::uprobe: return "uprobes";
    case Source::usdt: return "the library in the target";
    case Source::scheduler: return "the scheduler";
    case Source::nccl: return "NCCL";
    case Source::counters: return "counters";
    case Source::nvml: return "NVML";
    case Source::store: return "the capture file";
    case Source::recorder: return "the recorder";
    case Source::imported: return "the imported file";
  }
  return "?";
}

}  // namespace kvet::questions
