#include "import/kineto.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "import/recording_sink.h"

namespace kvet::importing {
namespace {

KinetoInput input(const std::string& text, const std::string& name = "trace.json") {
  return {name, [&text, name] { return open_memory({text.data(), text.size()}, name); }};
}

std::string trace(const std::string& events, const std::string& more = "") {
  return "{\"schemaVersion\": 1," + more + "\"traceEvents\": [" + events + "]}";
}

std::string kernel(const std::string& name, const std::string& ts, const std::string& dur,
                   const std::string& more = "") {
  return fmt::format(
      R"({{"ph": "X", "cat": "kernel", "name": "{}", "pid": 0, "tid": 7, "ts": {}, "dur": {}, "args": {{"device": 0, "context": 1,
         "stream": 7, "correlation": 11, "registers per thread": 32, "shared memory": 1024, "grid": [4, 2, 1],
         "block": [128, 1, 1], "est. achieved occupancy %": 99{}}}}})",
      name, ts, dur, more);
}

std::string call(const std::string& name, const std::string& category = "cuda_runtime", int correlation = 11,
                 int pid = 500) {
  return fmt::format(
      R"({{"ph": "X", "cat": "{}", "name": "{}", "pid": {}, "tid": 501, "ts": 1, "dur": 2.5,
         "args": {{"cbid": 211, "correlation": {}}}}})",
      category, name, pid, correlation);
}

RecordingSink imported(const std::string& text) {
  RecordingSink sink;
  const auto done = import_traces({input(text)}, sink);
  EXPECT_TRUE(done) << (done ? "" : done.error().message());
  return sink;
}

Error refused(const std::string& text) {
  RecordingSink sink;
  const auto done = import_traces({input(text)}, sink);
  EXPECT_FALSE(done) << text.substr(0, 200);
  return done ? Error{} : done.error();
}

uint64_t lost(const RecordingSink& sink, LossKind kind) {
  uint64_t count = 0;
  for (const Loss& loss : sink.losses) {
    EXPECT_EQ(loss.source, Source::imported);
    count += loss.kind == kind ? loss.count : 0;
  }
  return count;
}

TEST(Kineto, AKernelWithItsLaunch) {
  const RecordingSink sink = imported(trace(kernel("gemm", "1000.25", "7.5") + "," + call("cudaLaunchKernel")));
  ASSERT_EQ(sink.executions.size(), 1u);
  const Execution& execution = sink.executions[0];
  EXPECT_EQ(execution.start_ns, 1'000'250);
  EXPECT_EQ(execution.end_ns, 1'007'750);
  EXPECT_EQ(execution.context_id, 1u);
  EXPECT_EQ(execution.stream_id, 7u);
  EXPECT_EQ(execution.correlation_id, 11u);
  ASSERT_EQ(sink.shapes.size(), 1u);
  const KernelShape& shape = sink.shapes[0];
  EXPECT_EQ(sink.text(shape.name), "gemm");
  EXPECT_EQ(shape.grid, (std::array<uint32_t, 3>{4, 2, 1}));
  EXPECT_EQ(shape.block, (std::array<uint32_t, 3>{128, 1, 1}));
  EXPECT_EQ(shape.registers_per_thread, 32u);
  EXPECT_EQ(shape.dynamic_shared_bytes + shape.static_shared_bytes, 1024u);
  ASSERT_EQ(sink.api_calls.size(), 1u);
  EXPECT_EQ(sink.api_calls[0].kind, ApiKind::launch_kernel);
  EXPECT_EQ(sink.api_calls[0].source, Source::imported);
  EXPECT_EQ(sink.api_calls[0].thread_id, 501);
  EXPECT_EQ(sink.api_calls[0].start_ns, 1000);
  EXPECT_EQ(sink.api_calls[0].end_ns, 3500);
  EXPECT_EQ(sink.api_calls[0].process, execution.process);
  EXPECT_EQ(sink.processes.back().pid, 500);
  EXPECT_TRUE(sink.samples.empty());  // an estimate is no measurement
  ASSERT_EQ(sink.clock_mappings.size(), 1u);
  EXPECT_EQ(sink.clock_mappings[0].source, ClockSource::imported);
  EXPECT_EQ(sink.clock_mappings[0].offset_ns, 0);
}

TEST(Kineto, DevicePropertiesMayComeAfterTheEvents) {
  const std::string properties = R"("deviceProperties": [{"id": 0, "name": "NVIDIA H100", "totalGlobalMem": 85017493504,
      "computeMajor": 9, "computeMinor": 0, "maxThreadsPerMultiprocessor": 2048, "regsPerMultiprocessor": 65536, "warpSize": 32,
      "sharedMemPerMultiprocessor": 233472, "sharedMemPerBlockOptin": 232448, "numSms": 132}])";
  const std::string events = fmt::format("\"traceEvents\": [{}]", kernel("k", "1", "1"));
  for (const std::string& text :
       {fmt::format("{{{}, {}}}", properties, events), fmt::format("{{{}, {}}}", events, properties)}) {
    const RecordingSink sink = imported(text);
    ASSERT_FALSE(sink.devices.empty());
    const Device& device = sink.devices.back();
    EXPECT_EQ(sink.text(device.name), "NVIDIA H100");
    EXPECT_EQ(device.compute_major, 9u);
    EXPECT_EQ(device.multiprocessors, 132u);
    EXPECT_EQ(device.max_warps_per_multiprocessor, 64u);
    EXPECT_EQ(device.max_registers_per_multiprocessor, 65536u);
    EXPECT_EQ(device.max_shared_bytes_per_block, 232448u);
    EXPECT_EQ(device.memory_bytes, 85017493504u);
  }
}

// roctracer's device 9 is the only GPU of "deviceProperties", and its compute capability is none of CUDA's.
TEST(Kineto, AnotherVendorsDeviceGetsNoLimitsOfCuda) {
  const RecordingSink sink = imported(
      R"({"roctracer_version": 4.1, "deviceProperties": [{"id": 0, "name": "AMD Instinct MI300X", "computeMajor": 9, "computeMinor": 4,
          "maxThreadsPerMultiprocessor": 2048, "warpSize": 64, "numSms": 304}], "traceEvents": [
          {"ph":"X","cat":"kernel","name":"replayed","pid":9,"tid":2,"ts":5,"dur":1,"args":{"device":9,"stream":2,"correlation":3}},
          {"ph":"X","cat":"cuda_runtime","name":"hipGraphLaunch","pid":1,"tid":1,"ts":4,"dur":1,"args":{"correlation":3}}]})");
  EXPECT_EQ(sink.text(sink.devices.back().name), "AMD Instinct MI300X");
  EXPECT_EQ(sink.devices.back().compute_major, 0u);
  EXPECT_EQ(sink.devices.back().multiprocessors, 304u);
  EXPECT_EQ(sink.shapes.at(0).grid[0], 0u);  // unknown
  EXPECT_EQ(sink.api_calls.at(0).kind, ApiKind::launch_graph);
  EXPECT_NE(sink.meta.at("source.graph_nodes"), "");
}

TEST(Kineto, CopiesAndRanges) {
  const RecordingSink sink = imported(trace(kernel("k", "1", "1") + R"j(,
      {"ph":"X","cat":"gpu_memcpy","name":"Memcpy HtoD (Pageable -> Device)","pid":0,"tid":7,"ts":10,"dur":4,
       "args":{"device":0,"context":1,"stream":7,"correlation":12,"bytes":4096,"memory bandwidth (GB/s)":1.0}},
      {"ph":"X","cat":"gpu_memset","name":"Memset (Device)","pid":0,"tid":7,"ts":20,"dur":1,"args":{"bytes":8}},
      {"ph":"X","cat":"user_annotation","name":"ProfilerStep#3","pid":500,"tid":501,"ts":0.5,"dur":99.5},
      {"ph":"X","cat":"gpu_user_annotation","name":"ProfilerStep#3","pid":0,"tid":7,"ts":1,"dur":50},
      {"ph":"X","cat":"cpu_op","name":"aten::mm","pid":500,"tid":501,"ts":1,"dur":1,"args":{"deep":[[["}"]]]}},
      {"ph":"s","id":11,"pid":500,"tid":501,"ts":1,"cat":"ac2g","name":"ac2g"},
      {"name":"process_name","ph":"M","ts":0,"pid":500,"tid":0,"args":{"name":"python3"}})j"));
  ASSERT_EQ(sink.transfers.size(), 2u);
  EXPECT_EQ(sink.transfers[0].kind, TransferKind::host_to_device);
  EXPECT_EQ(sink.transfers[0].bytes, 4096u);
  EXPECT_EQ(sink.transfers[0].end_ns - sink.transfers[0].start_ns, 4000);
  EXPECT_EQ(sink.transfers[1].kind, TransferKind::memset);
  ASSERT_EQ(sink.ranges.size(), 1u);  // the device's is what kvet computes itself
  EXPECT_EQ(sink.text(sink.ranges[0].name), "ProfilerStep#3");
  EXPECT_EQ(sink.ranges[0].thread_id, 501);
  EXPECT_EQ(sink.ranges[0].start_ns, 500);
  EXPECT_EQ(sink.ranges[0].end_ns, 100'000);
  EXPECT_EQ(sink.text(sink.processes.back().name), "python3");
  EXPECT_TRUE(sink.api_calls.empty());
}

TEST(Kineto, CallsOfEveryVendor) {
  const std::vector<std::pair<std::string, ApiKind>> known{
      {"cudaLaunchKernelExC", ApiKind::launch_kernel},
      {"cuLaunchKernelEx", ApiKind::launch_kernel},
      {"cudaLaunchKernel_ptsz", ApiKind::launch_kernel},
      {"hipExtModuleLaunchKernel", ApiKind::launch_kernel},
      {"cudaLaunchCooperativeKernel", ApiKind::launch_cooperative},
      {"cuGraphLaunch", ApiKind::launch_graph},
      {"cudaLaunchHostFunc", ApiKind::launch_host_function},
      {"hipStreamSynchronize", ApiKind::synchronize_stream},
      {"cudaDeviceSynchronize", ApiKind::synchronize_context},
      {"cuEventSynchronize", ApiKind::synchronize_event},
      {"hipMemcpyWithStream", ApiKind::synchronize_copy},
      {"cudaMemcpyAsync", ApiKind::copy_async},
  };
  std::string events = kernel("k", "1", "1");
  int correlation = 100;
  for (const auto& [name, kind] : known) {
    events += "," + call(name, "cuda_driver", ++correlation);
  }
  events += "," + call("cudaEventQuery") + "," + call("cudaStreamIsCapturing");
  const RecordingSink sink = imported(trace(events));
  ASSERT_EQ(sink.api_calls.size(), known.size());
  for (size_t i = 0; i < known.size(); ++i) {
    EXPECT_EQ(sink.api_calls[i].kind, known[i].second) << known[i].first;
  }
}

TEST(Kineto, ALaunchListedAtTheRuntimeAndAtTheDriverCountsOnce) {
  const RecordingSink sink =
      imported(trace(kernel("k", "1", "1") + "," + call("cudaLaunchKernelExC") + "," +
                     call("cuLaunchKernelEx", "cuda_driver") + "," + call("cudaLaunchKernel", "cuda_runtime", 12)));
  EXPECT_EQ(sink.api_calls.size(), 2u);
}

TEST(Kineto, CollectivesWithTheirCommunicator) {
  const std::string events = kernel("ncclDevKernel_AllReduce", "3", "4") + R"(,
      {"ph":"X","cat":"cpu_op","name":"record_param_comms","pid":500,"tid":501,"ts":1,"dur":2,"args":{"Collective name":"allreduce",
       "In msg nelems":1024,"Out msg nelems":1024,"Group size":2,"dtype":"BFloat16","Process Group Name":"3","Process Group Ranks":"[4, 6]"}},
      {"ph":"X","cat":"cpu_op","name":"record_param_comms","pid":500,"tid":501,"ts":9,"dur":2,"args":{"Collective name":"wait",
       "Group size":1,"Process Group Ranks":"[]"}})";
  const RecordingSink sink = imported(trace(events, R"("distributedInfo": {"rank": 6, "world_size": 8},)"));
  ASSERT_EQ(sink.collective_calls.size(), 1u);
  const CollectiveCall& one = sink.collective_calls[0];
  EXPECT_EQ(one.kind, CollectiveKind::all_reduce);
  EXPECT_EQ(one.count, 1024u);
  EXPECT_EQ(one.data_type, 9);  // ncclBfloat16
  EXPECT_EQ(one.start_ns, 1000);
  EXPECT_EQ(one.end_ns, 3000);
  ASSERT_EQ(sink.communicators.size(), 1u);
  EXPECT_EQ(sink.communicators[0].communicator, one.communicator);
  EXPECT_EQ(sink.communicators[0].rank, 1);
  EXPECT_EQ(sink.communicators[0].ranks, 2);
  EXPECT_LE(sink.communicators[0].created_ns, one.start_ns);
}

TEST(Kineto, ImpossibleTimesAreSetAsideAndCounted) {
  const RecordingSink sink =
      imported(trace(kernel("good", "5", "1") + "," + kernel("zero", "0", "0") + "," + kernel("negative", "5", "-1") +
                     "," + kernel("huge", "1e300", "1") + "," + kernel("long", "5", "4000000000000000") + R"(,
      {"ph":"X","cat":"kernel","name":"without","pid":0,"tid":7,"dur":1,"args":{"device":0}})"));
  EXPECT_EQ(sink.executions.size(), 1u);
  EXPECT_EQ(lost(sink, LossKind::bad_time), 4u);
  EXPECT_EQ(lost(sink, LossKind::unknown_record), 1u);
}

TEST(Kineto, KeysInAnyOrder) {
  const RecordingSink sink = imported(trace(
      R"({"args":{"stream":3,"device":1},"dur":2,"ts":1,"tid":1,"pid":1,"name":"k","cat":"kernel","ph":"X"},
         {"args":{"a":[1]},"name":"op","cat":"cpu_op","ph":"X","ts":1}, {"ts":3,"name":"k","dur":1,"ph":"X","cat":"Kernel"})"));
  ASSERT_EQ(sink.executions.size(), 2u);
  EXPECT_EQ(sink.executions[0].stream_id, 3u);
}

TEST(Kineto, TheEventsAlone) { EXPECT_EQ(imported("[" + kernel("k", "1", "1") + "]").executions.size(), 1u); }

TEST(Kineto, BadFilesAreRefusedWithTheirPosition) {
  const std::string good = trace(kernel("k", "1", "1"));
  const auto position = [](const Error& error) {
    const size_t at = error.what.find("at byte ");
    return at == std::string::npos ? size_t{0} : std::stoul(error.what.substr(at + 8));
  };
  EXPECT_EQ(position(refused(good + "garbage")), good.size());
  EXPECT_EQ(position(refused(good.substr(0, 100))), 100u);
  EXPECT_EQ(position(refused(trace(kernel("k", "NaN", "1")))), trace(kernel("k", "NaN", "1")).find("NaN"));
  EXPECT_EQ(position(refused(trace(kernel("k\xff", "1", "1")))), good.find("\"name\": \"k") + 10);
  const std::string twice = R"([{"ph":"X","ts":1,"ts":2}])";
  EXPECT_NE(refused(twice).what.find("two values for \"ts\""), std::string::npos);
  EXPECT_NE(refused(trace(std::string(2000, '['))).what.find("an object is expected"), std::string::npos);
  EXPECT_NE(refused("{\"x\":" + std::string(5000, '[')).what.find("deeper"), std::string::npos);
  EXPECT_NE(refused("{}").what.find("traceEvents"), std::string::npos);
  EXPECT_NE(refused("").what.find("ends"), std::string::npos);
  EXPECT_NE(refused(trace("")).what.find("no kernels"), std::string::npos);
  EXPECT_NE(refused(trace(call("cudaLaunchKernel"))).what.find("no kernels"), std::string::npos);
  EXPECT_NE(refused(trace(kernel("zero", "0", "0"))).what.find("no event with a possible time"), std::string::npos);
  for (const Error& error : {refused("{}"), refused(good + "x"), refused(trace(""))}) {
    EXPECT_EQ(error.kind, ErrorKind::bad_input);
    EXPECT_EQ(error.subject, "trace.json");
    EXPECT_FALSE(error.advice.empty());
  }
}

TEST(Kineto, AWrongValueIsNoTruncatedFile) {
  for (const char* value : {"NaN", "-Infinity", "\"soon\"", "null"}) {
    const Error error = refused(trace(kernel("k", value, "1")));
    EXPECT_NE(error.what.find("a number is expected, at byte"), std::string::npos) << error.what;
    EXPECT_EQ(error.advice.find("finish writing"), std::string::npos) << value;
  }
  const std::string good = trace(kernel("k", "100", "1"));
  EXPECT_NE(refused(good.substr(0, good.find("100"))).advice.find("finish writing"), std::string::npos);
}

TEST(Kineto, TwoProcessesInOneFileAreRefused) {
  const Error error = refused(trace(kernel("k", "1", "1") + "," + call("cudaLaunchKernel", "cuda_runtime", 1, 10) +
                                    "," + call("cudaLaunchKernel", "cuda_runtime", 2, 20)));
  EXPECT_NE(error.what.find("10 and 20"), std::string::npos);
}

TEST(Kineto, DevicesAreBounded) {
  std::string events;
  for (int i = 0; i < 2000; ++i) {
    events += fmt::format(R"({}{{"ph":"X","cat":"kernel","name":"k","pid":{},"ts":1,"dur":1}})", i == 0 ? "" : ",", i);
  }
  EXPECT_NE(refused(trace(events)).what.find("more than 1024 devices"), std::string::npos);
}

}  // namespace
}  // namespace kvet::importing
