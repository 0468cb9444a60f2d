#include "export/csv.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "store/schema.h"

namespace kvet::exporting {
namespace {

TEST(CsvText, QuotesAsRfc4180Says) {
  EXPECT_EQ(csv_text("plain<float>"), "plain<float>");
  EXPECT_EQ(csv_text("a,b"), "\"a,b\"");
  EXPECT_EQ(csv_text("a\"b"), "\"a\"\"b\"");
  EXPECT_EQ(csv_text(" a"), "\" a\"");
  EXPECT_EQ(csv_text(""), "");
}

TEST(CsvText, FormulasAreDisarmed) {
  EXPECT_EQ(csv_text("=1+1"), "'=1+1");
  EXPECT_EQ(csv_text("+1"), "'+1");
  EXPECT_EQ(csv_text("-1"), "'-1");
  EXPECT_EQ(csv_text("@SUM(A1)"), "'@SUM(A1)");
  EXPECT_EQ(csv_text("\xef\xbc\x9d"), "'\xef\xbc\x9d");  // full-width =
  EXPECT_EQ(csv_text("=HYPERLINK(\"http://x\",\"y\")"), "\"'=HYPERLINK(\"\"http://x\"\",\"\"y\"\")\"");
  EXPECT_EQ(csv_text("\t=1"), "\\t=1");  // a tab is spelled out, so nothing begins with one
  EXPECT_EQ(csv_text("  =1"), "'  =1");  // some programs trim cells
  EXPECT_EQ(csv_text("a=1"), "a=1");
}

TEST(CsvText, HostileNamesAreOneHarmlessLine) {
  EXPECT_EQ(csv_text("a\r\nb"), "a\\x0d\\nb");
  EXPECT_EQ(csv_text("\x1b[31m"), "\\x1b[31m");
  EXPECT_EQ(csv_text("\xff"), "\ufffd");
  EXPECT_EQ(csv_text("<script>"), "<script>");
  EXPECT_EQ(csv_text(std::string(100'000, 'x')).size(), 4095 + std::string_view("…").size());
}

class CsvTables : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = "/tmp/kvet-csv-XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string content(const std::string& name) {
    std::ifstream file(folder_ + "/" + name, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  std::string folder_;
};

TEST_F(CsvTables, TextsAndEnumeratorsStandWhereTheyAreUsedAndUnknownIsEmpty) {
  Capture capture;
  capture.strings = {"", "k", "step"};
  capture.processes.resize(1);
  capture.devices.resize(1);
  capture.devices[0].uuid[15] = 0xab;
  capture.shapes.resize(1);
  capture.shapes[0].name = {1};
  Execution execution;
  execution.graph_node_id = 255;
  execution.start_ns = -5;
  execution.end_ns = 10;
  capture.executions = {execution};
  Range range;
  range.name = {2};
  range.start_ns = 1;
  range.end_ns = 4;
  capture.ranges = {range};
  DeviceReading reading;
  reading.time_ns = 7;
  reading.power_milliwatts = 0;
  capture.device_readings = {reading};
  capture.losses = {{Source::cupti, LossKind::batch_gap, {}, 3, {}, 9}};
  capture.meta["command"] = "=cmd";
  capture.complete = true;
  ASSERT_TRUE(write_capture_tables(capture, folder_));
  EXPECT_EQ(content("execution.csv"),
            "process_id,device_id,shape_id,context_id,stream_id,correlation_id,graph_id,graph_node_id,start_ns,"
            "duration_ns\r\n"
            "0,0,0,0,0,0,0,0xff,-5,15\r\n");
  EXPECT_EQ(content("nvtx_range.csv"), "process_id,thread_id,name,domain,start_ns,duration_ns\r\n0,0,step,,1,3\r\n");
  EXPECT_EQ(content("device_reading.csv"),
            "device_id,time_ns,power_milliwatts,sm_clock_mhz,memory_clock_mhz,temperature_celsius,throttle_reasons,"
            "gpm_sm_occupancy_percent,gpm_dram_percent,gpm_sm_active_percent\r\n0,7,0,,,,,,,\r\n");
  EXPECT_EQ(content("loss.csv"), "source,kind,process_id,lost_count,first_ns,last_ns\r\ncupti,batch_gap,,3,,9\r\n");
  EXPECT_EQ(content("meta.csv"), "key,value\r\ncommand,'=cmd\r\ncomplete,1\r\n");
  EXPECT_NE(content("device.csv").find("\r\n0,000000000000000000000000000000ab,"), std::string::npos);
}

TEST_F(CsvTables, ThereIsOneForEachTableOfTheCaptureFile) {
  ASSERT_TRUE(write_capture_tables(Capture{}, folder_));
  std::set<std::string> expected, found;
  for (const store::Table& table : store::tables()) {
    if (table.text.name != "string") {
      expected.insert(std::string{table.text.name} + ".csv");
    }
  }
  for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
    found.insert(entry.path().filename());
  }
  EXPECT_EQ(found, expected);
}

TEST_F(CsvTables, FindingsKeepTheirUnits) {
  MetricsSource source;
  source.label = [](std::string_view raw) { return std::string{raw}; };
  Finding finding;
  finding.id = "occupancy.solo";
  finding.subject = "-k";
  finding.unit = "%";
  finding.value = 42.5;
  finding.interval = Interval{40, 45};
  finding.observations = 9;
  finding.evidence = Evidence::measured;
  finding.sentence = "It held 42.5%, alone.";
  Finding unknown;
  unknown.id = "dram.solo";
  unknown.unit = "bytes/s";
  unknown.reason = "no samples";
  source.findings = {unknown};
  source.kernels = {{"-k", {finding}}};
  ASSERT_TRUE(write_findings_table(source, folder_));
  const std::string text = content("findings.csv");
  EXPECT_EQ(text.substr(text.find("\r\n") + 2),
            ",dram.solo,capture,,,,bytes/s,,,0,unavailable,,no samples,\r\n"
            "'-k,occupancy.solo,capture,'-k,,42.5,%,40,45,9,measured,\"It held 42.5%, alone.\",,\r\n");
}

TEST_F(CsvTables, AFolderThatIsNotThereIsAnError) {
  const auto written = write_capture_tables(Capture{}, folder_ + "/absent");
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().exit_status(), 70);
}

}  // namespace
}  // namespace kvet::exporting
