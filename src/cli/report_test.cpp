// kvet report and kvet kernels on capture files that are written here, run as the program that users run.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <string>

#include "base/safe_text.h"
#include "report/json.h"
#include "store/writer.h"

namespace kvet::cli {
namespace {

struct Outcome {
  int status = -1;
  std::string out, error;
};

class ReportProgram : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = "/tmp/kvet-report-XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override {
    for (const std::string& file : files_) {
      std::remove(file.c_str());
    }
    rmdir(folder_.c_str());
  }

  std::string path(const std::string& name) {
    files_.push_back(folder_ + "/" + name);
    return files_.back();
  }

  // A capture with a process and a device, and what `fill` puts in.
  std::string capture(const std::string& name, const std::function<void(store::CaptureWriter&)>& fill,
                      const std::string& tier = "device") {
    const std::string file = path(name);
    auto writer = store::CaptureWriter::create(file);
    EXPECT_TRUE(writer) << writer.error().message();
    store::CaptureWriter& sink = **writer;
    Process process;
    process.pid = 4242;
    process.name = sink.intern("python");
    sink.on(process);
    Device device;
    device.name = sink.intern("NVIDIA H200");
    device.multiprocessors = 132;
    sink.on(device);
    sink.on(Meta{"tier", tier});
    sink.on(Meta{"record.start_ns", "0"});
    sink.on(Meta{"record.end_ns", "2000000000"});
    fill(sink);
    EXPECT_TRUE((*writer)->finish());
    return file;
  }

  // Shape `id` of a kernel, run `times` times for `each_ns`, 1 ms apart, each launched by a call of 5 µs.
  static void kernel(store::CaptureWriter& sink, uint32_t id, const std::string& name, int times, int64_t each_ns,
                     uint64_t code_hash = 0) {
    KernelShape shape;
    shape.id = ShapeId{id};
    shape.name = sink.intern(name);
    shape.grid = {264, 1, 1};
    shape.block = {256, 1, 1};
    shape.registers_per_thread = 32;
    shape.code_hash = code_hash;
    sink.on(shape);
    for (int index = 0; index < times; ++index) {
      const int64_t time = int64_t{index} * 1'000'000 + int64_t{id} * 100'000;
      ApiCall call;
      call.thread_id = 4242;
      call.correlation_id = static_cast<uint32_t>(id * 100'000 + static_cast<uint32_t>(index) + 1);
      call.start_ns = time;
      call.end_ns = time + 5'000;
      sink.on(call);
      Execution execution;
      execution.shape = shape.id;
      execution.context_id = 1;
      execution.stream_id = 7;
      execution.correlation_id = call.correlation_id;
      execution.start_ns = time + 8'000;
      execution.end_ns = time + 8'000 + each_ns;
      sink.on(execution);
    }
  }

  Outcome run(const std::string& arguments) {
    Outcome outcome;
    const std::string error_file = path("stderr");
    const std::string command = std::string(KVET_PROGRAM) + " " + arguments + " 2>" + error_file;
    FILE* pipe = popen(command.c_str(), "r");
    EXPECT_NE(pipe, nullptr);
    std::array<char, 4096> buffer{};
    for (size_t size = 0; (size = fread(buffer.data(), 1, buffer.size(), pipe)) > 0;) {
      outcome.out.append(buffer.data(), size);
    }
    outcome.status = WEXITSTATUS(pclose(pipe));
    std::ifstream error(error_file);
    outcome.error.assign(std::istreambuf_iterator<char>(error), {});
    return outcome;
  }

 private:
  std::string folder_;
  std::vector<std::string> files_;
};

bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

void expect_lines_fit(const std::string& text, size_t width) {
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    EXPECT_LE(display_width(text.substr(begin, end - begin)), width) << text.substr(begin, end - begin);
    begin = end + 1;
  }
}

TEST_F(ReportProgram, AnswersAllFourQuestionsForTheLongestKernels) {
  const std::string file = capture("a.kvet", [](auto& sink) {
    kernel(sink, 0, "_Z8rms_normPf", 100, 30'000);
    for (uint32_t id = 1; id <= 6; ++id) {
      kernel(sink, id, "small_" + std::to_string(id), 10, 1'000 * id);
    }
  });
  const Outcome report = run("report " + file);
  ASSERT_EQ(report.status, 0) << report.error;
  EXPECT_TRUE(has(report.out, "tier device, 2.00 s recorded, complete, nothing lost")) << report.out;
  EXPECT_TRUE(has(report.out, "NVIDIA H200; 1 process, 160 launches, 160 executions")) << report.out;
  EXPECT_TRUE(has(report.out, "\nrms_norm\n"));
  EXPECT_TRUE(has(report.out, "100 executions, 3.00 ms, 93.5 % of all kernels' time"));  // 3 ms of 3.21
  for (const char* question : {"\n  Occupancy", "\n  DRAM", "\n  Dispatch", "\n  NCCL"}) {
    EXPECT_TRUE(has(report.out, question)) << question;
  }
  EXPECT_TRUE(has(report.out, "\nsmall_6\n"));
  EXPECT_FALSE(has(report.out, "\nsmall_2\n"));
  EXPECT_TRUE(has(report.out, "2 more kernels with 0.93 % of the kernels' time left out"));  // 30 µs of 3.21 ms
  expect_lines_fit(report.out, 100);
  EXPECT_FALSE(has(report.out, "\033")) << "no colour into a pipe";
}

TEST_F(ReportProgram, KernelPicksByPatternAndNamesWhatWasSeenOtherwise) {
  const std::string file = capture("a.kvet", [](auto& sink) {
    kernel(sink, 0, "_Z8rms_normPf", 10, 30'000);
    kernel(sink, 1, "gemm", 10, 90'000);
  });
  const Outcome report = run("report " + file + " --kernel rms");
  ASSERT_EQ(report.status, 0) << report.error;
  EXPECT_TRUE(has(report.out, "\nrms_norm\n"));
  EXPECT_FALSE(has(report.out, "\ngemm\n"));
  const Outcome none = run("report " + file + " --kernel softmax");
  EXPECT_EQ(none.status, 65);
  EXPECT_TRUE(has(none.error, "softmax") && has(none.error, "gemm") && has(none.error, "rms_norm")) << none.error;
  EXPECT_EQ(none.out, "");
  EXPECT_EQ(run("report " + file + " --kernel '('").status, 64);
}

TEST_F(ReportProgram, JsonHoldsTheSameNumbers) {
  const std::string file = capture("a.kvet", [](auto& sink) { kernel(sink, 0, "_Z8rms_normPf", 10, 30'000); });
  const Outcome outcome = run("report --json " + file);
  ASSERT_EQ(outcome.status, 0) << outcome.error;
  const auto root = report::Json::parse(outcome.out, "report");
  ASSERT_TRUE(root) << root.error().message();
  EXPECT_EQ((*root)["schema"].string(), "kvet.report/1");
  const auto& first = (*root)["captures"].elements().at(0);
  EXPECT_EQ(first["complete"].boolean(), true);
  EXPECT_EQ(first["counts"]["executions"].integer(), 10);
  const auto& rms = first["kernels"].elements().at(0);
  EXPECT_EQ(rms["name"].string(), "_Z8rms_normPf");
  EXPECT_EQ(rms["time_ns"].number(), 300'000);
  bool found = false;
  for (const auto& finding : rms["findings"].elements()) {
    if (finding["id"].string() == "dispatch.eager.launch_cost.p50") {
      found = true;
      EXPECT_EQ(finding["value"].number(), 5'000);
      EXPECT_EQ(finding["unit"].string(), "ns");
      EXPECT_EQ(finding["evidence"].string(), "measured");
      EXPECT_EQ(finding["observations"].integer(), 10);
    }
  }
  EXPECT_TRUE(found);
}

TEST_F(ReportProgram, AWindowLeavesTheRestOut) {
  const std::string file = capture("a.kvet", [](auto& sink) { kernel(sink, 0, "k", 100, 30'000); });
  const Outcome outcome = run("report --json --window 10ms,30ms " + file);
  ASSERT_EQ(outcome.status, 0) << outcome.error;
  const auto root = report::Json::parse(outcome.out, "report");
  EXPECT_EQ((*root)["captures"].elements().at(0)["kernels"].elements().at(0)["executions"].integer(), 20);
  EXPECT_EQ((*root)["captures"].elements().at(0)["window_ns"]["to"].number(), 30e6);
  EXPECT_TRUE(has(run("report --window 10ms,30ms " + file).out, "the part from 10.0 ms to 30.0 ms"));
  EXPECT_EQ(run("report --window 100s,200s " + file).status, 65);
}

TEST_F(ReportProgram, WhatIsWrongIsSaidAtTheTop) {
  const std::string file = capture("a.kvet", [](auto& sink) {
    kernel(sink, 0, "k", 10, 30'000);
    Loss loss;
    loss.source = Source::usdt;
    loss.kind = LossKind::batch_gap;
    loss.count = 1234;
    sink.on(loss);
  });
  const Outcome outcome = run("report " + file);
  ASSERT_EQ(outcome.status, 0) << outcome.error;
  EXPECT_TRUE(has(outcome.out, "1,234 events LOST")) << outcome.out;
  const size_t warning = outcome.out.find("\n! ");
  ASSERT_NE(warning, std::string::npos) << outcome.out;
  EXPECT_LT(warning, outcome.out.find("\n  Dispatch"));
}

TEST_F(ReportProgram, TheHostTierIsReportedAndSaysWhatItLacks) {
  const std::string file = capture(
      "host.kvet",
      [](auto& sink) {
        for (int index = 0; index < 20; ++index) {
          ApiCall call;
          call.thread_id = 4242;
          call.source = Source::uprobe;
          call.start_ns = index * 1'000'000;
          call.end_ns = call.start_ns + 7'000;
          sink.on(call);
        }
        OffCpu away;
        away.thread_id = 4242;
        away.reason = OffCpuReason::futex;
        away.start_ns = 5'100'000;
        away.wake_ns = 5'300'000;
        away.end_ns = 5'400'000;
        sink.on(away);
      },
      "host");
  const Outcome outcome = run("report " + file);
  ASSERT_EQ(outcome.status, 0) << outcome.error;
  EXPECT_TRUE(has(outcome.out, "\nall launches\n"));
  EXPECT_TRUE(has(outcome.out, "7.00 µs"));
  EXPECT_TRUE(has(outcome.out, "kvet record -- CMD"));
  expect_lines_fit(outcome.out, 100);
  const Outcome kernels = run("kernels " + file);
  EXPECT_EQ(kernels.status, 65);
  EXPECT_TRUE(has(kernels.error, "host tier") && has(kernels.error, "kvet record -- CMD")) << kernels.error;
}

TEST_F(ReportProgram, ACaptureWithoutKernelsSaysSo) {
  const std::string file = capture("empty.kvet", [](auto&) {});
  for (const char* command : {"report ", "kernels "}) {
    const Outcome outcome = run(command + file);
    EXPECT_EQ(outcome.status, 65);
    EXPECT_TRUE(has(outcome.error, "holds no kernels")) << outcome.error;
    EXPECT_EQ(outcome.out, "");
  }
}

TEST_F(ReportProgram, WhatIsNoCaptureIsRefused) {
  const std::string text = path("text.kvet");
  std::ofstream(text) << "this is no capture";
  for (const char* command : {"report ", "kernels "}) {
    EXPECT_EQ(run(command + text).status, 65);
    EXPECT_EQ(run(std::string(command) + "/nonexistent/x.kvet").status, 65);
    EXPECT_EQ(run(command).status, 64);
  }
}

TEST_F(ReportProgram, KernelsListsWhatRanWithAPatternToPaste) {
  const std::string file = capture("a.kvet", [](auto& sink) {
    kernel(sink, 0, "_Z8rms_normPf", 100, 30'000);
    kernel(sink, 1, "_Z8rms_normPd", 10, 2'000);
    kernel(sink, 2, "triton_red_fused_0", 50, 1'000);
  });
  const Outcome outcome = run("kernels " + file);
  ASSERT_EQ(outcome.status, 0) << outcome.error;
  EXPECT_LT(outcome.out.find("rms_norm~"), outcome.out.find("triton_red_fused_0")) << "the longest-running first";
  EXPECT_TRUE(has(outcome.out, "100   3.00 ms  97.7 %   30.0 µs")) << outcome.out;  // of 3.07 ms
  EXPECT_TRUE(has(outcome.out, R"(--kernel 'rms_norm\(float')"));
  EXPECT_TRUE(has(outcome.out, "--kernel triton_red_fused_0"));
  expect_lines_fit(outcome.out, 100);
  // What can be pasted matches just that one.
  const Outcome picked = run("report " + file + R"( --kernel 'rms_norm\(float')");
  ASSERT_EQ(picked.status, 0) << picked.error;
  EXPECT_TRUE(has(picked.out, "100 executions"));
  EXPECT_FALSE(has(picked.out, "10 executions,"));
}

TEST_F(ReportProgram, KernelsMarksWhatOnlyOneCaptureRan) {
  const std::string stock = capture("stock.kvet", [](auto& sink) {
    kernel(sink, 0, "gemm", 10, 50'000, 7);
    kernel(sink, 1, "stock_norm", 10, 30'000);
    kernel(sink, 2, "generated", 10, 20'000, 1);
  });
  const std::string candidate = capture("candidate.kvet", [](auto& sink) {
    kernel(sink, 0, "gemm", 10, 50'000, 7);
    kernel(sink, 1, "fast_norm", 10, 10'000);
    kernel(sink, 2, "generated", 10, 20'000, 2);
  });
  const Outcome outcome = run("kernels " + stock + " " + candidate);
  ASSERT_EQ(outcome.status, 0) << outcome.error;
  auto line_of = [&](const std::string& name) {
    const size_t begin = outcome.out.find("\n" + name) + 1;
    return outcome.out.substr(begin, outcome.out.find('\n', begin) - begin);
  };
  EXPECT_TRUE(line_of("stock_norm").ends_with("only A")) << line_of("stock_norm");
  EXPECT_TRUE(line_of("fast_norm").ends_with("only B"));
  EXPECT_TRUE(line_of("generated").ends_with("code differs"));
  EXPECT_FALSE(has(line_of("gemm"), "only") || has(line_of("gemm"), "differs"));
  expect_lines_fit(outcome.out, 100);
  const auto json = report::Json::parse(run("kernels --json " + stock + " " + candidate).out, "kernels");
  ASSERT_TRUE(json);
  EXPECT_EQ((*json)["schema"].string(), "kvet.kernels/1");
  EXPECT_EQ((*json)["kernels"].elements().size(), 4u);
}

TEST_F(ReportProgram, HostileNamesHarmNeitherTerminalNorJson) {
  const std::string file = capture("evil.kvet", [](auto& sink) {
    kernel(sink, 0, "<script>alert(1)</script>\x1b[2J\x1b]0;owned\x07\nfake line", 10, 30'000);
    kernel(sink, 1, std::string(60'000, 'x'), 10, 30'000);
    kernel(sink, 2, "bad \xff\xfe utf8", 10, 30'000);
    sink.on(Meta{"command", "sh -c '\x1b[31m'"});
  });
  for (const char* command : {"report ", "kernels "}) {
    const Outcome outcome = run(command + file);
    ASSERT_EQ(outcome.status, 0) << outcome.error;
    for (char byte : outcome.out) {
      EXPECT_TRUE(byte == '\n' || static_cast<unsigned char>(byte) >= 0x20);
    }
    EXPECT_FALSE(has(outcome.out, "\nfake line"));
  }
  expect_lines_fit(run("report " + file).out, 100);
  const auto json = report::Json::parse(run("report --json " + file).out, "report");
  ASSERT_TRUE(json) << json.error().message();
  EXPECT_EQ((*json)["captures"].elements().at(0)["kernels"].elements().size(), 3u);
}

}  // namespace
}  // namespace kvet::cli
