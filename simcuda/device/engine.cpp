#include "device/engine.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "device/placement.h"

namespace simcuda {
namespace {

constexpr double rounding_slack_ns = 1e-6;  // a duration of 10000.0000001 ns is 10000 ns

int64_t end_of(const Cohort& cohort) {
  if (cohort.spinning != 0) {
    return never;
  }
  double left = std::ceil(cohort.remaining_ns / cohort.rate - rounding_slack_ns);
  return cohort.updated_ns + std::max<int64_t>(0, static_cast<int64_t>(left));
}

void enter_queue_head(World& world, Stream& stream) {
  Operation& head = world.operations[stream.head];
  bool is_work = head.kind != OperationKind::event_record && head.kind != OperationKind::event_wait;
  int64_t after_launch = head.submitted_ns + (is_work ? launch_latency_ns : 0);
  int64_t after_predecessor = stream.last_end_ns + (is_work ? stream_gap_ns : 0);
  head.ready_ns = std::max(after_launch, after_predecessor);
}

void complete(World& world, uint32_t index) {
  Operation& operation = world.operations[index];
  Stream& stream = world.streams[operation.stream];
  Process& process = world.processes[operation.process];
  operation.end_ns = world.now_ns;
  operation.state = OperationState::done;
  stream.head = operation.next;
  operation.next = none;
  --stream.depth;
  ++stream.completed;
  --process.pending;
  stream.last_end_ns = world.now_ns;
  ++world.changes;
  if (stream.head == none) {
    stream.tail = none;
    uint32_t* last = std::remove(world.busy_streams, world.busy_streams + world.busy_count, operation.stream);
    world.busy_count = static_cast<uint32_t>(last - world.busy_streams);
  } else {
    enter_queue_head(world, stream);
  }
  bool on_device = operation.kind == OperationKind::kernel || operation.kind == OperationKind::copy ||
                   operation.kind == OperationKind::fill;
  if (!on_device || process.wants_completions == 0) {
    free_operation(world, index);
    return;
  }
  if (process.done_head == none) {
    process.done_head = index;
  } else {
    world.operations[process.done_tail].next = index;
  }
  process.done_tail = index;
}

// Everybody's speed on a device. Where the demand exceeds the bandwidth each cohort that moves bytes is slowed by the same
// factor. A collective's transfer runs at the speed of the links: it takes bandwidth from others and is not slowed itself.
void share_bandwidth(World& world, Device& device) {
  double demand = 0;
  for (uint32_t i = 0; i < device.cohort_count; ++i) {
    demand += device.cohorts[i].read_rate + device.cohorts[i].write_rate;
  }
  double slowed = demand > dram_bytes_per_ns ? dram_bytes_per_ns / demand : 1.0;
  for (uint32_t i = 0; i < device.cohort_count; ++i) {
    Cohort& cohort = device.cohorts[i];
    bool moves_bytes = cohort.read_rate + cohort.write_rate > 0;
    bool is_collective = world.operations[cohort.operation].is_collective != 0;
    double rate = moves_bytes && !is_collective ? slowed : 1.0;
    if (rate != cohort.rate) {
      cohort.remaining_ns -= static_cast<double>(world.now_ns - cohort.updated_ns) * cohort.rate;
      cohort.updated_ns = world.now_ns;
      cohort.rate = rate;
    }
  }
}

void record_segment(World& world, Device& device) {
  bool same_instant =
      device.segment_count > 0 && device.history[(device.segment_count - 1) % history_segments].from_ns == world.now_ns;
  if (!same_instant) {
    ++device.segment_count;
  }
  Segment& segment = device.history[(device.segment_count - 1) % history_segments];
  segment = Segment{};
  segment.from_ns = world.now_ns;
  segment.warps_emptiest = warps_per_multiprocessor;
  for (const Multiprocessor& unit : device.multiprocessor) {
    segment.warps += unit.warps;
    segment.registers += unit.registers;
    segment.shared_bytes += unit.shared_bytes;
    segment.warps_fullest = std::max(segment.warps_fullest, unit.warps);
    segment.warps_emptiest = std::min(segment.warps_emptiest, unit.warps);
    segment.active_multiprocessors += unit.blocks > 0 ? 1 : 0;
  }
  for (uint32_t i = 0; i < device.cohort_count; ++i) {
    const Cohort& cohort = device.cohorts[i];
    segment.read_rate += cohort.read_rate * cohort.rate;
    segment.write_rate += cohort.write_rate * cohort.rate;
    segment.instruction_rate += cohort.instruction_rate * cohort.rate;
  }
  segment.warps_launched = device.warps_launched;
  segment.blocks_completed = device.blocks_completed;
}

Cohort& add_cohort(World& world, Device& device, uint32_t index, uint32_t blocks) {
  Cohort& cohort = device.cohorts[device.cohort_count++];
  cohort = Cohort{};
  cohort.operation = index;
  cohort.blocks = blocks;
  cohort.rate = 1;
  cohort.updated_ns = world.now_ns;
  device.changed = 1;
  return cohort;
}

// The communicator's ranks have all arrived: from now on the transfer runs, and all of them end together.
void begin_transfer(World& world, Communicator& communicator) {
  for (uint32_t rank = 0; rank < communicator.ranks; ++rank) {
    uint32_t index = communicator.operation[rank];
    Operation& operation = world.operations[index];
    Device& device = world.devices[operation.device];
    operation.latest_arrival_ns = world.now_ns;
    for (uint32_t i = 0; i < device.cohort_count; ++i) {
      Cohort& cohort = device.cohorts[i];
      if (cohort.operation == index) {
        cohort.spinning = 0;
        cohort.remaining_ns = static_cast<double>(operation.transfer_ns);
        cohort.updated_ns = world.now_ns;
        double transfer_ns = std::max<double>(1, static_cast<double>(operation.transfer_ns));
        cohort.read_rate = operation.cost.read_bytes * cohort.blocks / transfer_ns;
        cohort.write_rate = operation.cost.write_bytes * cohort.blocks / transfer_ns;
      }
    }
    device.changed = 1;
    communicator.last_arrived[rank] = 0;
  }
}

void arrive(World& world, uint32_t index) {
  Operation& operation = world.operations[index];
  Communicator& communicator = world.communicators[operation.communicator];
  operation.collective_sequence = communicator.next_sequence[operation.rank]++;
  communicator.last_arrived[operation.rank] = operation.collective_sequence + 1;
  communicator.operation[operation.rank] = index;
  communicator.arrival_ns[operation.rank] = world.now_ns;
  for (uint32_t rank = 0; rank < communicator.ranks; ++rank) {
    if (communicator.last_arrived[rank] != operation.collective_sequence + 1) {
      return;
    }
  }
  begin_transfer(world, communicator);
}

// Places blocks of the kernels that wait, in order: a kernel gets in only when those before it have no block left to place
// (the "leftover" policy that is observed on real devices).
bool place_waiting(World& world, Device& device) {
  bool any = false;
  while (device.waiting_count > 0 && device.cohort_count < max_cohorts) {
    uint32_t index = device.waiting[0];
    Operation& operation = world.operations[index];
    uint64_t left = operation.blocks_total - operation.blocks_placed;
    Cohort& cohort = add_cohort(world, device, index, 0);
    uint32_t placed = place_blocks(device, operation.cost, left, cohort.on_multiprocessor);
    if (placed == 0) {
      --device.cohort_count;
      return any;
    }
    any = true;
    if (operation.blocks_placed == 0) {
      operation.start_ns = world.now_ns;
      operation.state = OperationState::running;
    }
    operation.blocks_placed += placed;
    device.warps_launched += static_cast<uint64_t>(placed) * operation.cost.warps;
    cohort.blocks = placed;
    if (operation.is_collective != 0) {
      cohort.spinning = 1;
    } else {
      double duration_ns = std::max(1.0, operation.cost.duration_ns);
      cohort.remaining_ns = operation.cost.duration_ns;
      cohort.read_rate = operation.cost.read_bytes * placed / duration_ns;
      cohort.write_rate = operation.cost.write_bytes * placed / duration_ns;
      cohort.instruction_rate = operation.cost.instructions * placed / duration_ns;
    }
    if (operation.blocks_placed < operation.blocks_total) {
      return any;
    }
    std::copy(device.waiting + 1, device.waiting + device.waiting_count, device.waiting);
    --device.waiting_count;
    if (operation.is_collective != 0) {
      arrive(world, index);
    }
  }
  return any;
}

bool wait_in_line(World& world, Device& device, uint32_t index) {
  if (device.waiting_count == max_waiting) {
    return false;
  }
  const Operation& added = world.operations[index];
  uint32_t at = device.waiting_count++;
  while (at > 0) {
    const Operation& before = world.operations[device.waiting[at - 1]];
    if (before.blocks_placed > 0 || before.priority <= added.priority) {
      break;
    }
    device.waiting[at] = device.waiting[at - 1];
    --at;
  }
  device.waiting[at] = index;
  return true;
}

// The head of a stream whose time has come. True when something changed.
bool start_head(World& world, uint32_t index) {
  Operation& operation = world.operations[index];
  Device& device = world.devices[operation.device];
  switch (operation.kind) {
    case OperationKind::kernel:
      if (!wait_in_line(world, device, index)) {
        return false;
      }
      operation.state = OperationState::waiting;
      return true;
    case OperationKind::copy:
      if (operation.direction != CopyDirection::device_to_device) {
        int64_t& free_ns = device.copy_engine_free_ns[operation.direction == CopyDirection::host_to_device ? 0 : 1];
        operation.start_ns = std::max(world.now_ns, free_ns);
        operation.end_ns = operation.start_ns + 1 +
                           static_cast<int64_t>(static_cast<double>(operation.bytes) / host_link_bytes_per_ns);
        free_ns = operation.end_ns;
        operation.state = OperationState::running;
        return true;
      }
      [[fallthrough]];
    case OperationKind::fill: {
      if (device.cohort_count == max_cohorts) {
        return false;
      }
      // A copy within the device reads and writes every byte; either alone could use the whole bandwidth.
      bool is_copy = operation.kind == OperationKind::copy;
      double moved = static_cast<double>(operation.bytes) * (is_copy ? 2 : 1);
      Cohort& cohort = add_cohort(world, device, index, 0);
      cohort.remaining_ns = std::max(1.0, moved / dram_bytes_per_ns);
      cohort.write_rate = static_cast<double>(operation.bytes) / cohort.remaining_ns;
      cohort.read_rate = is_copy ? cohort.write_rate : 0;
      operation.start_ns = world.now_ns;
      operation.state = OperationState::running;
      return true;
    }
    case OperationKind::host_function:
      operation.start_ns = world.now_ns;
      operation.state = OperationState::running;
      ++world.changes;
      return true;
    case OperationKind::event_record: {
      Event& event = world.events[operation.event];
      event.completed = std::max(event.completed, operation.event_sequence);
      event.time_ns = world.now_ns;
      complete(world, index);
      return true;
    }
    case OperationKind::event_wait:
      if (world.events[operation.event].completed < operation.event_sequence) {
        return false;
      }
      complete(world, index);
      return true;
  }
  return false;
}

bool end_cohorts(World& world, Device& device) {
  bool any = false;
  for (uint32_t i = 0; i < device.cohort_count;) {
    Cohort& cohort = device.cohorts[i];
    if (end_of(cohort) > world.now_ns) {
      ++i;
      continue;
    }
    any = true;
    device.changed = 1;
    uint32_t index = cohort.operation;
    Operation& operation = world.operations[index];
    release_blocks(device, operation.cost, cohort.on_multiprocessor);
    device.blocks_completed += cohort.blocks;
    operation.blocks_done += cohort.blocks;
    std::copy(device.cohorts + i + 1, device.cohorts + device.cohort_count, device.cohorts + i);
    --device.cohort_count;
    if (operation.blocks_done == operation.blocks_total) {
      complete(world, index);
    }
  }
  return any;
}

// All that happens at world.now_ns.
void settle(World& world) {
  bool again = true;
  while (again) {
    again = false;
    for (uint32_t d = 0; d < world.device_count; ++d) {
      again = end_cohorts(world, world.devices[d]) || again;
    }
    // `complete` may take a stream off the list while we walk it: then the one that moved up is seen in the next round.
    for (uint32_t i = 0; i < world.busy_count; ++i) {
      uint32_t index = world.streams[world.busy_streams[i]].head;
      Operation& head = world.operations[index];
      if (head.state == OperationState::queued && head.ready_ns <= world.now_ns) {
        again = start_head(world, index) || again;
      } else if (head.state == OperationState::running && head.kind == OperationKind::copy &&
                 head.direction != CopyDirection::device_to_device && head.end_ns <= world.now_ns) {
        complete(world, index);
        again = true;
      }
    }
    for (uint32_t d = 0; d < world.device_count; ++d) {
      again = place_waiting(world, world.devices[d]) || again;
    }
  }
  for (uint32_t d = 0; d < world.device_count; ++d) {
    Device& device = world.devices[d];
    if (device.changed != 0) {
      share_bandwidth(world, device);
      record_segment(world, device);
      device.changed = 0;
      ++world.changes;
    }
  }
}

}  // namespace

void initialise(World& world, uint32_t devices, int64_t now_ns) {
  world.device_count = devices;
  world.now_ns = world.start_ns = now_ns;
  world.free_operation = 0;
  world.free_operations = max_operations;
  for (uint32_t i = 0; i < max_operations; ++i) {
    world.operations[i].next = i + 1 < max_operations ? i + 1 : none;
  }
  for (uint32_t d = 0; d < devices; ++d) {
    std::memcpy(world.devices[d].uuid, "simcuda-device-", 15);
    world.devices[d].uuid[15] = static_cast<uint8_t>('0' + d);
    record_segment(world, world.devices[d]);
  }
}

int64_t next_event_ns(const World& world) {
  int64_t next = never;
  for (uint32_t i = 0; i < world.busy_count; ++i) {
    const Operation& head = world.operations[world.streams[world.busy_streams[i]].head];
    if (head.state == OperationState::queued) {
      if (head.ready_ns > world.now_ns) {
        next = std::min(next, head.ready_ns);
      }
    } else if (head.state == OperationState::running && head.kind == OperationKind::copy &&
               head.direction != CopyDirection::device_to_device) {
      next = std::min(next, head.end_ns);
    }
  }
  for (uint32_t d = 0; d < world.device_count; ++d) {
    const Device& device = world.devices[d];
    for (uint32_t i = 0; i < device.cohort_count; ++i) {
      next = std::min(next, end_of(device.cohorts[i]));
    }
  }
  return next;
}

void advance(World& world, int64_t to_ns) {
  for (int64_t next = next_event_ns(world); next <= to_ns; next = next_event_ns(world)) {
    world.now_ns = std::max(world.now_ns, next);
    settle(world);
  }
  world.now_ns = std::max(world.now_ns, to_ns);
}

uint32_t allocate_operation(World& world) {
  uint32_t index = world.free_operation;
  if (index != none) {
    world.free_operation = world.operations[index].next;
    --world.free_operations;
    world.operations[index] = Operation{};
    world.operations[index].next = none;
  }
  return index;
}

void free_operation(World& world, uint32_t index) {
  world.operations[index].state = OperationState::free;
  world.operations[index].next = world.free_operation;
  world.free_operation = index;
  ++world.free_operations;
}

void submit(World& world, uint32_t index) {
  Operation& operation = world.operations[index];
  Stream& stream = world.streams[operation.stream];
  operation.state = OperationState::queued;
  operation.device = stream.device;
  operation.process = stream.process;
  operation.priority = stream.priority;
  operation.submitted_ns = world.now_ns;
  operation.serial = world.next_serial++;
  ++stream.depth;
  ++stream.submitted;
  ++world.processes[stream.process].pending;
  if (stream.head == none) {
    stream.head = stream.tail = index;
    world.busy_streams[world.busy_count++] = operation.stream;
    enter_queue_head(world, stream);
    if (operation.ready_ns <= world.now_ns) {
      settle(world);
    }
  } else {
    world.operations[stream.tail].next = index;
    stream.tail = index;
  }
}

void finish_host_function(World& world, uint32_t index) {
  complete(world, index);
  settle(world);
}

uint32_t create_stream(World& world, const Stream& wanted) {
  for (uint32_t i = 0; i < max_streams; ++i) {
    Stream& stream = world.streams[i];
    if (stream.used == 0) {
      stream = wanted;
      stream.used = 1;
      stream.head = stream.tail = none;
      stream.depth = 0;
      stream.last_end_ns = 0;
      stream.submitted = stream.completed = 0;
      world.stream_limit = std::max(world.stream_limit, i + 1);
      return i;
    }
  }
  return none;
}

void remove_process(World& world, uint32_t process) {
  for (uint32_t d = 0; d < world.device_count; ++d) {
    Device& device = world.devices[d];
    for (uint32_t i = 0; i < device.cohort_count;) {
      const Operation& operation = world.operations[device.cohorts[i].operation];
      if (operation.process != process) {
        ++i;
        continue;
      }
      release_blocks(device, operation.cost, device.cohorts[i].on_multiprocessor);
      std::copy(device.cohorts + i + 1, device.cohorts + device.cohort_count, device.cohorts + i);
      --device.cohort_count;
      device.changed = 1;
    }
    auto* last = std::remove_if(device.waiting, device.waiting + device.waiting_count,
                                [&](uint32_t index) { return world.operations[index].process == process; });
    device.waiting_count = static_cast<uint32_t>(last - device.waiting);
  }
  auto* last = std::remove_if(world.busy_streams, world.busy_streams + world.busy_count,
                              [&](uint32_t stream) { return world.streams[stream].process == process; });
  world.busy_count = static_cast<uint32_t>(last - world.busy_streams);
  for (uint32_t i = 0; i < world.stream_limit; ++i) {
    if (world.streams[i].used != 0 && world.streams[i].process == process) {
      world.streams[i].used = 0;
    }
  }
  for (uint32_t i = 0; i < world.event_limit; ++i) {
    if (world.events[i].used != 0 && world.events[i].process == process) {
      world.events[i].used = 0;
    }
  }
  for (Communicator& communicator : world.communicators) {
    for (uint32_t rank = 0; rank < max_ranks; ++rank) {
      if (communicator.last_arrived[rank] != 0 && world.operations[communicator.operation[rank]].process == process) {
        communicator.last_arrived[rank] = 0;
      }
    }
  }
  for (uint32_t i = 0; i < max_operations; ++i) {
    if (world.operations[i].state != OperationState::free && world.operations[i].process == process) {
      free_operation(world, i);
    }
  }
  world.processes[process] =
      Process{.used = 0, .pid = 0, .wants_completions = 0, .done_head = none, .done_tail = none, .pending = 0};
  settle(world);
}

}  // namespace simcuda
