#include "capability/calibration.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>

namespace kvet::capability {
namespace {

constexpr const char* uuid = "0123456789abcdef0123456789abcdef";

Calibration planted() {
  Calibration calibration;
  calibration.uuid = uuid;
  calibration.name = "NVIDIA H200";
  calibration.driver_version = "580.159.03";
  calibration.kvet_version = "0.1.0";
  calibration.time = "2026-02-28T23:59:59Z";
  calibration.power_limit_mw = 700'000;
  calibration.peak_bytes_per_second = 4'916'000'000'000;
  calibration.buffer_bytes = 1 << 30;
  for (size_t i = 0; i < calibration.rates.size(); ++i) {
    calibration.rates[i] = {4'000'000'000'000 + i, 3'900'000'000'000 + i, 3'800'000'000'000 + i, 0, 2, 512, 7};
  }
  calibration.notes = {"clocks were lowered"};
  return calibration;
}

// The text with one line in place of the one that begins with `key`.
std::string with(const std::string& key, const std::string& line) {
  std::string text = calibration_text(planted());
  const size_t begin = text.find("\n" + key + " ") + 1;
  return text.replace(begin, text.find('\n', begin) - begin, line);
}
std::string refusal(const std::string& text) {
  const auto parsed = parse_calibration(text, "file");
  return parsed ? "" : parsed.error().what;
}

struct Folder {
  std::string path;
  Folder() {
    char name[] = "/tmp/kvet_calibration_XXXXXX";
    path = ::mkdtemp(name);
  }
  ~Folder() { std::filesystem::remove_all(path); }
  void write(const std::string& name, const std::string& text) const { std::ofstream(path + "/" + name) << text; }
  [[nodiscard]] std::vector<FoundCalibration> find(const std::string& driver = "580.159.03") const {
    return find_calibrations({path}, driver);
  }
};

TEST(CalibrationText, ComesBackAsItWas) {
  const auto parsed = parse_calibration(calibration_text(planted()), "file");
  ASSERT_TRUE(parsed) << parsed.error().message();
  EXPECT_EQ(parsed->uuid, uuid);
  EXPECT_EQ(parsed->name, "NVIDIA H200");
  EXPECT_EQ(parsed->driver_version, "580.159.03");
  EXPECT_EQ(parsed->power_limit_mw, 700'000U);
  EXPECT_EQ(parsed->peak_bytes_per_second, 4'916'000'000'000U);
  EXPECT_EQ(parsed->rates[3].best, 4'000'000'000'003U);
  EXPECT_EQ(parsed->rates[4].lowest, 3'800'000'000'004U);
  EXPECT_EQ(parsed->rates[0].threads, 512U);
  EXPECT_EQ(parsed->notes, planted().notes);
}

TEST(CalibrationText, ANameCannotWriteLines) {
  Calibration calibration = planted();
  calibration.name = "GPU\"\nformat = 9\n\033[31m\\";
  const auto parsed = parse_calibration(calibration_text(calibration), "file");
  ASSERT_TRUE(parsed) << parsed.error().message();
  EXPECT_EQ(parsed->name, "GPU??format = 9??[31m?");
}

TEST(CalibrationText, RefusesWhatItDidNotWrite) {
  EXPECT_EQ(refusal(with("power_limit_mw", "power_limit_mw = 700000")), "");
  EXPECT_EQ(refusal(with("uuid", "from_a_later_version = whatever\nuuid = \"" + std::string(uuid) + "\"")), "");
  for (const std::string& text : {
           std::string(),
           std::string("\0\0\0", 3),
           std::string(70'000, '='),
           std::string("format = 2\n"),
           with("uuid", "uuid = \"../../../../etc/passwd0000000000\""),
           with("uuid", "uuid"),
           with("driver_version", "driver_version = \"\""),
           with("driver_version", "driver_version = 580"),
           with("name", "name = \"\033[2J\""),
           with("name", "name = \"" + std::string(300, 'x') + "\""),
           with("time", "time = \"2026-02-30T00:00:00Z\""),
           with("time", "time = \"yesterday\""),
           with("read.bytes_per_second", "read.bytes_per_second = -1"),
           with("read.bytes_per_second", "read.bytes_per_second = 99999999999999999999999"),
           with("read.bytes_per_second", "read.bytes_per_second = 1e12"),
           with("read.bytes_per_second", "read.bytes_per_second = 18446744073709551615"),
           with("read.bytes_per_second", "read.bytes_per_second = 0"),
           with("write.bytes_per_second", ""),  // missing
           with("write.median_bytes_per_second", "write.median_bytes_per_second = 4100000000000"),  // above the best
           with("write.lowest_bytes_per_second", "write.lowest_bytes_per_second = 0"),
           with("peak_bytes_per_second", "peak_bytes_per_second = 1"),
       }) {
    EXPECT_NE(refusal(text), "") << text.substr(0, 2000);
  }
}

TEST(CalibrationTime, IsUtc) {
  EXPECT_EQ(seconds_of("1970-01-01T00:00:00Z"), 0);
  EXPECT_EQ(seconds_of("2000-03-01T00:00:00Z"), 951'868'800);  // date -u -d 2000-03-01 +%s
  EXPECT_EQ(time_text(951'868'799), "2000-02-29T23:59:59Z");
  EXPECT_EQ(seconds_of("2000-03-01 00:00:00Z"), -1);
}

TEST(CalibrationFiles, AreKeptAtomicallyAndFoundAgain) {
  const Folder folder;
  const std::string place = folder.path + "/a/b/kvet";
  const auto stored = store_calibration(planted(), place);
  ASSERT_TRUE(stored) << stored.error().message();
  EXPECT_EQ(*stored, place + "/" + uuid + ".toml");
  ASSERT_TRUE(store_calibration(planted(), place)) << "again, over the first";
  size_t files = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(place)) {
    ++files;
  }
  EXPECT_EQ(files, 1U) << "nothing temporary stays";
  const auto found = find_calibrations({place}, "580.159.03");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].ignored, "");
  EXPECT_EQ(found[0].calibration.rates[1].best, 4'000'000'000'001U);
}

TEST(CalibrationFiles, ThatCannotBeWrittenSaySo) {
  const Folder folder;
  folder.write("file", "");
  const auto stored = store_calibration(planted(), folder.path + "/file/kvet");
  ASSERT_FALSE(stored);
  EXPECT_NE(stored.error().advice.find("XDG_CACHE_HOME"), std::string::npos);
}

TEST(CalibrationFiles, OfAnotherDriverOrGpuOrTimeAreIgnoredWithASentence) {
  const Folder folder;
  const std::string name = std::string(uuid) + ".toml";
  folder.write(name, calibration_text(planted()));
  EXPECT_EQ(folder.find("").at(0).ignored, "") << "an unknown driver is not compared";
  EXPECT_NE(folder.find("590.1").at(0).ignored.find("made with driver 580.159.03, and 590.1 runs now"),
            std::string::npos);
  const std::string other = "ffffffffffffffffffffffffffffffff";
  folder.write(other + ".toml", calibration_text(planted()));
  EXPECT_EQ(folder.find().at(1).uuid, other);
  EXPECT_NE(folder.find().at(1).ignored.find("another GPU"), std::string::npos);
  folder.write(name, with("time", "time = \"" + time_text(::time(nullptr) + 200'000) + "\""));
  EXPECT_NE(folder.find().at(0).ignored.find("future"), std::string::npos);
}

TEST(CalibrationFiles, ThatAreTrapsAreNotFollowed) {
  const Folder folder;
  const std::string path = folder.path + "/" + uuid + ".toml";
  folder.write("elsewhere", calibration_text(planted()));
  ASSERT_EQ(::symlink((folder.path + "/elsewhere").c_str(), path.c_str()), 0);
  EXPECT_NE(folder.find().at(0).ignored, "") << "a link";
  ::unlink(path.c_str());
  ASSERT_EQ(::mkfifo(path.c_str(), 0644), 0);
  EXPECT_NE(folder.find().at(0).ignored.find("no ordinary file"), std::string::npos) << "a pipe does not block";
  ::unlink(path.c_str());
  folder.write(std::string(uuid) + ".toml", calibration_text(planted()) + std::string(100'000, '#'));
  EXPECT_NE(folder.find().at(0).ignored.find("too large"), std::string::npos);
  folder.write("0123.toml", calibration_text(planted()));
  EXPECT_EQ(folder.find().size(), 1U) << "other names are nobody's";
}

TEST(CalibrationFiles, TheNewestThatCountsWins) {
  const Folder first, second;
  const std::string name = std::string(uuid) + ".toml";
  first.write(name, with("time", "time = \"2026-01-01T00:00:00Z\""));
  second.write(name, with("time", "time = \"2026-02-01T00:00:00Z\""));
  EXPECT_EQ(find_calibrations({first.path, second.path}, "").at(0).calibration.time, "2026-02-01T00:00:00Z");
  second.write(name, "damaged");
  EXPECT_EQ(find_calibrations({second.path, first.path}, "").at(0).calibration.time, "2026-01-01T00:00:00Z");
  EXPECT_TRUE(find_calibrations({"/nowhere/at/all"}, "").empty());
}

// Root's rights must not be lent to whoever owns the folder: a link in it could lead anywhere.
TEST(CalibrationFiles, AreWrittenWithTheRightsOfThePersonWhoCalledSudo) {
  if (::geteuid() != 0) {
    GTEST_SKIP() << "needs root";
  }
  constexpr uid_t nobody = 65534;
  const Folder own, of_root;
  ASSERT_EQ(::chown(own.path.c_str(), nobody, nobody), 0);
  ::setenv("SUDO_UID", "65534", 1);
  ::setenv("SUDO_GID", "65534", 1);
  const auto stored = store_calibration(planted(), own.path + "/kvet");
  const auto refused = store_calibration(planted(), of_root.path);
  ::unsetenv("SUDO_UID");
  ::unsetenv("SUDO_GID");
  ASSERT_TRUE(stored) << stored.error().message();
  struct stat status{};
  ASSERT_EQ(::stat(stored->c_str(), &status), 0);
  EXPECT_EQ(status.st_uid, nobody);
  EXPECT_EQ(status.st_gid, nobody);
  EXPECT_FALSE(refused);
  EXPECT_EQ(::geteuid(), 0U);
}

// The environment of this test is its own: ctest runs it as one process.
TEST(CalibrationFolders, FollowTheCacheOfThePerson) {
  ::unsetenv("SUDO_UID");
  ::setenv("XDG_CACHE_HOME", "/tmp/cache", 1);
  EXPECT_EQ(calibration_folders(), (std::vector<std::string>{"/tmp/cache/kvet", "/var/cache/kvet"}));
  ::setenv("XDG_CACHE_HOME", "relative", 1);
  ::setenv("HOME", "/home/somebody", 1);
  const auto folders = calibration_folders();
  EXPECT_EQ(folders.front(), ::geteuid() == 0 ? "/var/cache/kvet" : "/home/somebody/.cache/kvet");
  ::unsetenv("XDG_CACHE_HOME");
}

}  // namespace
}  // namespace kvet::capability
