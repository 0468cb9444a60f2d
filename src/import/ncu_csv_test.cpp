// Small files written by hand as Nsight Compute lays them out, and a real one against Python's csv module.
#include "import/ncu_csv.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <sstream>

namespace kvet::importing {
namespace {

IsolatedProfile good(std::string_view text) {
  auto profile = parse_ncu_csv(text, "file");
  EXPECT_TRUE(profile.has_value()) << profile.error().message();
  return profile.value_or(IsolatedProfile{});
}

std::string refused(std::string_view text) {
  auto profile = parse_ncu_csv(text, "file");
  EXPECT_FALSE(profile.has_value());
  return profile ? "" : profile.error().message();
}

bool contains(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

const std::string details_heading =
    R"("ID","Process ID","Process Name","Host Name","Kernel Name","Context","Stream","Block Size","Grid Size","Device","CC","Section Name","Metric Name","Metric Unit","Metric Value")"
    "\n";

// Quotes of CSV, written as ' here.
std::string csv(std::string text) {
  std::ranges::replace(text, '\'', '"');
  return text;
}

std::string details_row(const std::string& id, const std::string& metric, const std::string& unit,
                        const std::string& value) {
  return csv("'" + id +
             "','17','app','host','void scale<float, (int)4>(float *, ''x'', int)','1','7','(256, 1, 1)','(64, 2, "
             "1)','0','9.0','Section','" +
             metric + "','" + unit + "','" + value + "'\n");
}

TEST(NcuCsv, DetailsPageWithTheToolsLinesBetween) {
  const IsolatedProfile profile = good(
      "the program says 1,2\n==PROF== Connected to process 17\n" + details_heading +
      details_row("0", "Duration", "usecond", "1,234.5") + details_row("0", "Elapsed Cycles", "cycle", "2,000,000") +
      details_row("0", "SM Active Cycles", "cycle", "1,500,000") + "==WARNING== something\n" +
      details_row("0", "Achieved Occupancy", "%", "80.00") + details_row("0", "Memory Throughput", "%", "61.84") +
      details_row("0", "Memory Throughput", "Gbyte/second", "100.00") +
      details_row("0", "DRAM Throughput", "%", "50.5") + details_row("0", "SM Frequency", "cycle/nsecond", "1.62") +
      details_row("1", "Duration", "usecond", "n/a") + "==PROF== Disconnected\n");
  ASSERT_EQ(profile.launches.size(), 2U);
  const IsolatedLaunch& launch = profile.launches[0];
  EXPECT_EQ(profile.kernels[launch.kernel], "void scale<float, (int)4>(float *, \"x\", int)");
  EXPECT_EQ(launch.grid, (std::array<uint32_t, 3>{64, 2, 1}));
  EXPECT_EQ(launch.block, (std::array<uint32_t, 3>{256, 1, 1}));
  EXPECT_DOUBLE_EQ(launch.duration_ns->value, 1'234'500);
  EXPECT_DOUBLE_EQ(launch.cycles->value, 2e6);
  EXPECT_DOUBLE_EQ(launch.occupancy_active_percent->value, 80);
  EXPECT_DOUBLE_EQ(launch.occupancy_elapsed_percent->value, 60);  // 80% of 1.5 M of 2 M cycles
  EXPECT_DOUBLE_EQ(launch.dram_bytes->value, 1e11 * 1.2345e-3);
  EXPECT_DOUBLE_EQ(launch.dram_peak_percent->value, 50.5);
  EXPECT_DOUBLE_EQ(launch.sm_clock_hz->value, 1.62e9);
  EXPECT_EQ(profile.devices[launch.device], (IsolatedDevice{"", 9, 0}));
  EXPECT_FALSE(profile.launches[1].duration_ns.has_value());
  EXPECT_EQ(profile.skipped_lines, 4U);
}

TEST(NcuCsv, RawPageWithUnitsInARowOfTheirOwn) {
  const IsolatedProfile profile = good(
      csv("'ID','Process ID','Process Name','Host Name','Kernel Name','Context','Stream','Block Size','Grid "
          "Size','Device','CC',"
          "'device__attribute_display_name','dram__bytes_read.sum','dram__bytes_write.sum','gpu__time_duration.sum',"
          "'sm__warps_active.avg.pct_of_peak_sustained_active','sm__warps_active.avg.pct_of_peak_sustained_elapsed','"
          "launch__grid_dim_x'\n"
          "'','','','','','','','','','','','','Mbyte','Kbyte','nsecond','%','%',''\n"
          "'0','17','app','host','_Z5scalePfi','1','7','(128, 1, 1)','(80, 1, 1)','0','8.9','NVIDIA "
          "L40S','2,000.5','640','3,000','91.5',"
          "'88.25','80'\n"));
  ASSERT_EQ(profile.launches.size(), 1U);
  const IsolatedLaunch& launch = profile.launches[0];
  EXPECT_DOUBLE_EQ(launch.dram_read_bytes->value, 2'000.5e6);
  EXPECT_DOUBLE_EQ(launch.dram_write_bytes->value, 640e3);
  EXPECT_DOUBLE_EQ(launch.dram_bytes->value, 2'000.5e6 + 640e3);
  EXPECT_EQ(launch.dram_read_bytes->from, "dram__bytes_read.sum");
  EXPECT_DOUBLE_EQ(launch.duration_ns->value, 3000);
  EXPECT_DOUBLE_EQ(launch.occupancy_elapsed_percent->value, 88.25);
  EXPECT_EQ(profile.devices[launch.device], (IsolatedDevice{"NVIDIA L40S", 8, 9}));
}

TEST(NcuCsv, LocalesAndSeparatorsOfOtherPrograms) {
  const std::string german =
      "ID;Process ID;Kernel Name;Metric Name;Metric Unit;Metric Value\n"
      "0;1;k;Duration;us;1.234\n0;1;k;Achieved Occupancy;%;61,84\n";
  EXPECT_DOUBLE_EQ(good(german).launches[0].duration_ns->value, 1'234'000);
  EXPECT_DOUBLE_EQ(good(german).launches[0].occupancy_active_percent->value, 61.84);
  EXPECT_TRUE(contains(refused(german + "0;1;k;Theoretical Occupancy;%;61.84\n"),
                       "point in line 4 and with a comma in line 3"));
  const std::string old =
      R"("ID","Process ID","Process Name","Host Name","Kernel Name","Kernel Time","Context","Stream","Section Name","Metric Name","Metric Unit","Metric Value")"
      "\n"
      R"("0","1","a","h","k","2019-Oct-01 10:00:00","1","7","S","Duration","nsecond","5,120")"
      "\n";
  EXPECT_DOUBLE_EQ(good(old).launches[0].duration_ns->value, 5120);
  EXPECT_EQ(good(old).launches[0].grid[0], 0U);
}

TEST(NcuCsv, ReportsBehindOneAnotherKeepTheirOwnNumbers) {
  const std::string one = details_heading + details_row("0", "Duration", "us", "1");
  EXPECT_EQ(good(one + one).launches.size(), 2U);
}

TEST(NcuCsv, WhatIsRefused) {
  const std::string row = details_row("0", "Duration", "us", "1.5");
  EXPECT_TRUE(contains(refused(""), "headings"));
  EXPECT_TRUE(contains(refused("a,b\n1,2\n"), "headings"));
  EXPECT_TRUE(contains(refused(details_heading), "no kernel"));
  EXPECT_TRUE(contains(refused(details_heading + row.substr(0, row.size() - 4)), "file:2: a quote is never closed"));
  EXPECT_TRUE(contains(refused(details_heading + row + R"("0","17","app")"), "file:3: has 3 columns"));
  EXPECT_TRUE(contains(refused(details_heading + row + details_row("1", "Duration", "us", "2") + row),
                       "launch 0 is there twice"));
  EXPECT_TRUE(
      contains(refused(details_heading + row + details_row("0", "Duration", "us", "2.5")), "another value in line 2"));
  EXPECT_TRUE(contains(refused(details_heading + details_row("0", "Duration", "furlong", "2.5")),
                       "file:2: Duration is in 'furlong'"));
  EXPECT_TRUE(contains(refused(details_heading + details_row("0", "Duration", "us", "soon")), "not a number"));
  EXPECT_TRUE(contains(refused(details_heading + details_row("0", "Duration", "us", "-1")), "cannot be"));
  EXPECT_TRUE(contains(refused(details_heading + details_row("0", "Achieved Occupancy", "%", "142")), "cannot be"));
  EXPECT_TRUE(
      contains(refused("ID,Kernel Name,Metric Name,Metric Unit,Minimum\n0,k,Duration,us,1\n"), "--print-summary"));
}

// Metric names, with their units, to values: as Python reads them.
std::map<std::string, double> by_python(const std::string& path) {
  const std::string command =
      "python3 -c \"import csv,sys\n"
      "for r in csv.DictReader(open(sys.argv[1])):\n"
      "  v = r['Metric Value'].replace(',', '')\n"
      "  if r['Metric Name'] and v.replace('.', '', 1).isdigit(): print(r['Metric Name'] + '|' + r['Metric Unit'], v, "
      "sep='\\t')\" '" +
      path + "'";
  std::map<std::string, double> values;
  std::FILE* pipe = ::popen(command.c_str(), "r");
  char line[512];
  while (pipe != nullptr && std::fgets(line, sizeof line, pipe) != nullptr) {
    const std::string text = line;
    const size_t tab = text.find('\t');
    values[text.substr(0, tab)] = std::strtod(text.c_str() + tab + 1, nullptr);
  }
  if (pipe != nullptr) {
    ::pclose(pipe);
  }
  return values;
}

TEST(NcuCsv, ARealFileAgreesWithPython) {
  const char* folder = std::getenv("KVET_DATA");
  const std::string path =
      (folder != nullptr ? std::string(folder) : KVET_SOURCE_DIR "/../shared/data") + "/ncu_copy_blocked.csv";
  if (!std::filesystem::exists(path)) {
    GTEST_SKIP() << path << " is not there";
  }
  const auto python = by_python(path);
  ASSERT_GT(python.size(), 50U);
  const auto profile = read_ncu_csv(path);
  ASSERT_TRUE(profile.has_value()) << profile.error().message();
  ASSERT_EQ(profile->launches.size(), 1U);
  const IsolatedLaunch& launch = profile->launches[0];
  EXPECT_DOUBLE_EQ(launch.duration_ns->value, python.at("Duration|ns"));
  EXPECT_DOUBLE_EQ(launch.cycles->value, python.at("Elapsed Cycles|cycle"));
  EXPECT_DOUBLE_EQ(launch.occupancy_active_percent->value, python.at("Achieved Occupancy|%"));
  EXPECT_DOUBLE_EQ(launch.occupancy_theoretical_percent->value, python.at("Theoretical Occupancy|%"));
  EXPECT_DOUBLE_EQ(
      launch.occupancy_elapsed_percent->value,
      python.at("Achieved Occupancy|%") * python.at("SM Active Cycles|cycle") / python.at("Elapsed Cycles|cycle"));
  EXPECT_DOUBLE_EQ(launch.dram_peak_percent->value, python.at("DRAM Throughput|%"));
  EXPECT_DOUBLE_EQ(launch.sm_clock_hz->value, python.at("SM Frequency|hz"));
  EXPECT_NEAR(launch.dram_bytes->value / (python.at("Memory Throughput|byte/s") * python.at("Duration|ns") / 1e9), 1,
              1e-12);
  EXPECT_EQ(launch.grid, (std::array<uint32_t, 3>{1024, 1, 1}));
  EXPECT_EQ(launch.block, (std::array<uint32_t, 3>{256, 1, 1}));
  EXPECT_EQ(profile->devices[launch.device], (IsolatedDevice{"", 7, 5}));
}

}  // namespace
}  // namespace kvet::importing
