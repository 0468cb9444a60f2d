#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdio>
#include <string>

#include "base/text.h"
#include "capability/bpf_trial.h"
#include "cli/doctor_report.h"
#include "report/json.h"

namespace kvet::cli {
namespace {

using namespace capability;

// Columns on a terminal: what is printed here is ASCII but for "×" and the like, so bytes that continue a character do
// not count.
size_t columns(std::string_view line) {
  size_t count = 0;
  for (char byte : line) {
    count += (static_cast<unsigned char>(byte) & 0xc0U) == 0x80 ? 0 : 1;
  }
  return count;
}

DoctorFindings planted() {
  DoctorFindings findings;
  findings.kernel = "Linux 6.1 x86_64";
  findings.assessment.command = Tier::host;
  findings.assessment.running = Tier::host;
  findings.assessment.requirements = {
      {"host.btf", Part::host, "kernel type information (BTF)", State::present, true, "there", "it is read", ""},
      {"device.libcupti", Part::device, "libcupti", State::absent, true, "not \033[31mfound", "names of kernels",
       "Install it from a place whose address is long enough that the line has to be broken somewhere in the middle"},
      {"counters.permitted", Part::counters, "counters", State::unknown, true,
       "/a/path/without/any/space/" + std::string(200, 'x'), "DRAM", "Ask"},
      {"host.tracefs", Part::host, "tracefs", State::absent, false, "not mounted", "nothing", ""},
  };
  findings.assessment.driver = {"580.1", {{"NVIDIA H200", "GPU-1", "0"}}, true};
  findings.libraries = {{"/usr/lib/libcuda.so.1",
                         {{"cuLaunchKernel", FirstInstruction::push, {0x55}},
                          {"cuGraphLaunch", FirstInstruction::endbr64, {0xf3, 0x0f, 0x1e, 0xfa}}},
                         {"cuLaunchKernelEx"}}};
  findings.cost.push_ns = 650;
  findings.cost.endbr64_ns = 9200;
  findings.cost.reason = "uprobe: not permitted (EPERM)";
  return findings;
}

TEST(DoctorText, FitsThePageAndSaysEverything) {
  const std::string text = doctor_text(planted());
  for (std::string_view line : split(text, '\n')) {
    EXPECT_LE(columns(line), 100U) << line;
  }
  for (const char* part :
       {"host: launches", "yes   kernel type information", "NO    libcupti", "?     counters", "no    tracefs",
        "for: names of kernels", "fix: Install it", "\\x1b[31mfound", "0.65 us", "9.20 us", "not measured",
        "push        cuLaunchKernel", "endbr64     cuGraphLaunch", "not in it   cuLaunchKernelEx", "EPERM"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << " is not in\n" << text;
  }
  // What is missing is named beside the tier; what is optional is not.
  const std::string missing = text.substr(text.find("missing for more"), 80);
  EXPECT_NE(missing.find("libcupti, counters"), std::string::npos) << missing;
}

// A GPU that was measured, one whose file does not count, and one that nobody measured.
DoctorFindings with_calibrations() {
  DoctorFindings findings = planted();
  findings.assessment.driver.gpus = {{"NVIDIA H200", "GPU-00000000-0000-0000-0000-000000000001", "0"},
                                     {"NVIDIA H200", "GPU-00000000-0000-0000-0000-000000000003", "1"}};
  findings.now_s = capability::seconds_of("2026-11-30T22:00:00Z") + 3 * 86'400;
  FoundCalibration measured{"/cache/1.toml", "00000000000000000000000000000001", {}, {}};
  measured.calibration = {.uuid = measured.uuid,
                          .name = "NVIDIA H200",
                          .driver_version = "580.1",
                          .kvet_version = "0.1.0",
                          .time = "2026-11-30T22:00:00Z",
                          .power_limit_mw = 700'000,
                          .peak_bytes_per_second = 5'000'000'000'000,
                          .buffer_bytes = 1 << 30,
                          .notes = {"clocks were \033[31mlowered"}};
  for (size_t i = 0; i < measured.calibration.rates.size(); ++i) {
    measured.calibration.rates[i] = {
        .best = 4'500'000'000'000 - i * 1'000'000'000'000, .median = 1'000'000'000'000, .lowest = 900'000'000'000};
  }
  findings.calibrations = {
      measured, {"/cache/2.toml", "00000000000000000000000000000002", {}, "made with driver 1, and 2 runs now"}};
  return findings;
}

TEST(DoctorText, SaysWhatTheDramGave) {
  const std::string text = doctor_text(with_calibrations());
  for (std::string_view line : split(text, '\n')) {
    EXPECT_LE(columns(line), 100U) << line;
  }
  for (const char* part : {"measured 3 days ago", "power limit 700 W", "peak in theory 5.000 TB/s",
                           "reads                     4.500 TB/s (90.0% of peak), median 1.000, lowest 0.900",
                           "random 32-byte sectors    0.500 TB/s (10.0% of peak)", "note: clocks were \\x1b[31mlowered",
                           "/cache/2.toml: ignored: made with driver 1",
                           "NVIDIA H200 (GPU-00000000-0000-0000-0000-000000000003): not measured"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << " is not in\n" << text;
  }
  EXPECT_EQ(text.find("0001): not measured"), std::string::npos);
}

TEST(DoctorJson, HoldsCalibrationsAsValues) {
  const auto root = report::Json::parse(doctor_json(with_calibrations()), "doctor");
  ASSERT_TRUE(root) << root.error().message();
  const auto& list = (*root)["calibrations"].elements();
  ASSERT_EQ(list.size(), 2U);
  EXPECT_EQ(list[0]["age_s"].integer(), 3 * 86'400);
  EXPECT_EQ(list[0]["dram"]["read_write_1_1"]["bytes_per_second"].integer(), 2'500'000'000'000);
  EXPECT_EQ(list[0]["dram"]["read_write_1_1"]["part_of_peak"].number(), 0.5);
  EXPECT_TRUE(list[0]["memory_clock_mhz"].is_null()) << "not known is not 0";
  EXPECT_TRUE(list[0]["dram"]["read"]["globaltimer_bytes_per_second"].is_null());
  EXPECT_NE(list[1]["ignored"].string(), "");
  EXPECT_FALSE(list[1].contains("dram"));
}

TEST(DoctorJson, HoldsTheSameAsValues) {
  const auto root = report::Json::parse(doctor_json(planted()), "doctor");
  ASSERT_TRUE(root) << root.error().message();
  EXPECT_EQ((*root)["schema"].string(), "kvet.doctor/1");
  EXPECT_EQ((*root)["tier"]["command"].string(), "host");
  EXPECT_EQ((*root)["requirements"].elements().size(), 4U);
  EXPECT_EQ((*root)["requirements"].elements()[1]["state"].string(), "absent");
  EXPECT_EQ((*root)["gpus"].elements()[0]["model"].string(), "NVIDIA H200");
  EXPECT_EQ((*root)["hit_cost"]["push_ns"].number(), 650);
  EXPECT_TRUE((*root)["hit_cost"]["other_ns"].is_null());
  const auto& functions = (*root)["probed"].elements()[0]["functions"].elements();
  EXPECT_EQ(functions[1]["first_instruction"].string(), "endbr64");
  EXPECT_EQ(functions[1]["bytes"].string(), "f30f1efa000000000000000000000000");
  EXPECT_EQ(functions[0]["emulated"].boolean(), true);
}

struct Outcome {
  int status = -1;
  std::string output;  // stdout and stderr
};
Outcome run(const std::string& arguments) {
  Outcome result;
  FILE* pipe = ::popen((std::string(KVET_PROGRAM) + " 2>&1 " + arguments).c_str(), "r");
  if (pipe == nullptr) {
    return result;
  }
  char block[4096];
  for (size_t count = 0; (count = std::fread(block, 1, sizeof block, pipe)) > 0;) {
    result.output.append(block, count);
  }
  const int status = ::pclose(pipe);
  result.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return result;
}

// Any ELF file will do: the program itself exports none of the functions.
TEST(Program, DoctorLooksAtTheLibraryThatIsNamed) {
  const Outcome asked = run("doctor --json --libcuda " + std::string(KVET_PROGRAM));
  EXPECT_TRUE(asked.status == 0 || asked.status == 69) << asked.output;
  const auto root = report::Json::parse(asked.output, "doctor");
  ASSERT_TRUE(root) << asked.output;
  const auto& probed = (*root)["probed"].elements();
  ASSERT_FALSE(probed.empty());
  EXPECT_EQ(probed[0]["path"].string(), KVET_PROGRAM);
  EXPECT_TRUE(probed[0]["functions"].elements().empty());  // kvet exports no launch function
  EXPECT_FALSE(probed[0]["missing"].elements().empty());
}

TEST(Program, DoctorRefusesWhatIsNoLibrary) {
  const Outcome missing = run("doctor --libcuda /nowhere/libcuda.so.1");
  EXPECT_EQ(missing.status, 69);
  EXPECT_NE(missing.output.find("kvet: /nowhere/libcuda.so.1"), std::string::npos) << missing.output;
  const Outcome text = run("doctor --libnccl /etc/passwd");
  EXPECT_EQ(text.status, 65);
  EXPECT_NE(text.output.find("/etc/passwd"), std::string::npos) << text.output;
}

TEST(Program, UsageErrorsAreOneLineAndStatus64) {
  for (const char* arguments : {"", "docter", "doctor --jason", "doctor extra"}) {
    const Outcome wrong = run(arguments);
    EXPECT_EQ(wrong.status, 64) << arguments;
    EXPECT_TRUE(wrong.output.starts_with("kvet: ")) << wrong.output;
    EXPECT_EQ(wrong.output.find('\n'), wrong.output.size() - 1) << wrong.output;
  }
  EXPECT_EQ(run("--version").status, 0);
  EXPECT_EQ(run("--help").status, 0);
}

TEST(Program, AFullDiskIsNotSuccess) {
  const Outcome full = run("--help >/dev/full");
  EXPECT_EQ(full.status, 70);
  EXPECT_NE(full.output.find("could not be written"), std::string::npos) << full.output;
}

}  // namespace
}  // namespace kvet::cli
