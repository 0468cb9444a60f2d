// Where calibrations are kept.
#include "capability/calibration.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <grp.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <map>
#include <memory>
#include <optional>

#include "base/file_descriptor.h"
#include "base/invoking_user.h"
#include "base/text.h"

namespace kvet::capability {

namespace {

constexpr std::string_view suffix = ".toml";
constexpr size_t largest_file = 64 * 1024, most_files = 256;

// A folder in the home of a person must not be written to with root's rights: links in it lead anywhere.
class AsInvokingUser {
 public:
  explicit AsInvokingUser(const std::optional<InvokingUser>& user) : changed_(user.has_value()) {
    if (!user) {
      return;
    }
    own_groups_.resize(static_cast<size_t>(std::max(0, ::getgroups(0, nullptr))));
    const int got = ::getgroups(static_cast<int>(own_groups_.size()), own_groups_.data());
    own_groups_.resize(static_cast<size_t>(std::max(0, got)));
    own_group_ = ::getegid();
    const std::vector<gid_t> groups = groups_of(*user);
    works_ =
        ::setgroups(groups.size(), groups.data()) == 0 && ::setegid(user->group) == 0 && ::seteuid(user->user) == 0;
  }
  ~AsInvokingUser() {
    // What was root becomes root again; where that fails, no later step may count on being anybody.
    if (changed_ &&
        (::seteuid(0) != 0 || ::setegid(own_group_) != 0 || ::setgroups(own_groups_.size(), own_groups_.data()) != 0)) {
      std::abort();
    }
  }
  AsInvokingUser(const AsInvokingUser&) = delete;
  AsInvokingUser& operator=(const AsInvokingUser&) = delete;
  [[nodiscard]] bool works() const { return works_; }

 private:
  bool changed_, works_ = true;
  gid_t own_group_ = 0;
  std::vector<gid_t> own_groups_;
};

std::string system_message() { return std::strerror(errno); }

bool make_folders(const std::string& folder) {
  for (size_t end = folder.find('/', 1);; end = folder.find('/', end + 1)) {
    const std::string part = folder.substr(0, end);
    if (::mkdir(part.c_str(), 0755) != 0 && errno != EEXIST) {
      return false;
    }
    if (end == std::string::npos) {
      return true;
    }
  }
}

bool write_all(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(file, text.data(), text.size());
    if (written < 0 && errno == EINTR) {
      continue;
    }
    if (written <= 0) {
      return false;
    }
    text.remove_prefix(static_cast<size_t>(written));
  }
  return true;
}

// No link is followed, and a pipe or device in its place does not block.
Result<std::string> read_file(const std::string& path) {
  const auto refuse = [&](std::string why) { return fail(ErrorKind::bad_input, std::move(why), path); };
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!file.valid()) {
    return refuse("it cannot be opened: " + system_message());
  }
  struct stat status{};
  if (::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) {
    return refuse("it is no ordinary file");
  }
  std::string text(largest_file + 1, '\0');
  size_t size = 0;
  for (ssize_t got = 0; size < text.size() && (got = ::read(file.get(), text.data() + size, text.size() - size)) > 0;) {
    size += static_cast<size_t>(got);
  }
  if (size > largest_file) {
    return refuse("it is too large to be a calibration");
  }
  text.resize(size);
  return text;
}

bool is_uuid(std::string_view text) {
  return text.size() == 32 && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

FoundCalibration look_at(const std::string& folder, const std::string& uuid, std::string_view driver_version) {
  FoundCalibration found{folder + '/' + uuid + std::string(suffix), uuid, {}, {}};
  const auto text = read_file(found.path);
  auto parsed = text ? parse_calibration(*text, found.path) : Result<Calibration>(std::unexpected(text.error()));
  if (!parsed) {
    found.ignored = parsed.error().what;
  } else if (parsed->uuid != uuid) {
    found.ignored = "it belongs to another GPU than its name says";
  } else if (!driver_version.empty() && parsed->driver_version != driver_version) {
    found.ignored = fmt::format("made with driver {}, and {} runs now: run kvet doctor --calibrate again",
                                parsed->driver_version, driver_version);
  } else if (constexpr int64_t day = 86'400; seconds_of(parsed->time) > ::time(nullptr) + day) {
    found.ignored = "made in the future, says its time";
  } else {
    found.calibration = std::move(*parsed);
  }
  return found;
}

bool better(const FoundCalibration& one, const FoundCalibration& other) {
  if (one.ignored.empty() != other.ignored.empty()) {
    return one.ignored.empty();
  }
  return seconds_of(one.calibration.time) > seconds_of(other.calibration.time);
}

// An absolute path and nothing else, as the XDG base directory specification asks.
std::optional<std::string> cache_of(std::string_view cache, std::string_view home) {
  if (cache.starts_with('/')) {
    return std::string(cache) + "/kvet";
  }
  return home.starts_with('/') ? std::optional(std::string(home) + "/.cache/kvet") : std::nullopt;
}

}  // namespace

std::vector<std::string> calibration_folders() {
  constexpr const char* of_the_machine = "/var/cache/kvet";
  std::vector<std::string> folders;
  const auto user = invoking_user();
  const Environment environment = user ? environment_of(*user) : own_environment();
  const std::string_view cache = variable(environment, "XDG_CACHE_HOME").value_or("");
  const std::string_view home = user               ? std::string_view(user->home)
                                : ::geteuid() != 0 ? variable(environment, "HOME").value_or("")
                                                   : std::string_view();
  if (const auto own = cache_of(cache, home)) {
    folders.push_back(*own);
  }
  folders.emplace_back(of_the_machine);
  return folders;
}

Result<std::string> store_calibration(const Calibration& calibration, const std::string& folder) {
  const AsInvokingUser rights(invoking_user());
  std::string path = folder + '/' + calibration.uuid + std::string(suffix);  // not const: it is moved out
  const auto refuse = [&](const char* what) {
    return fail(ErrorKind::unavailable, fmt::format("{}: {}", what, system_message()), path,
                "Set XDG_CACHE_HOME to a folder that can be written to");
  };
  if (!rights.works() || !make_folders(folder)) {
    return refuse("its folder cannot be made");
  }
  const std::string temporary = fmt::format("{}/.{}.{}", folder, calibration.uuid, ::getpid());
  FileDescriptor file(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0644));
  if (!file.valid()) {
    return refuse("it cannot be written");
  }
  if (!write_all(file.get(), calibration_text(calibration)) || ::fsync(file.get()) != 0 ||
      ::rename(temporary.c_str(), path.c_str()) != 0) {
    const auto refused = refuse("it cannot be written");
    ::unlink(temporary.c_str());
    return refused;
  }
  return path;
}

std::vector<FoundCalibration> find_calibrations(const std::vector<std::string>& folders,
                                                std::string_view driver_version) {
  std::map<std::string, FoundCalibration> by_uuid;
  for (const std::string& folder : folders) {
    const std::unique_ptr<DIR, int (*)(DIR*)> open_folder(::opendir(folder.c_str()), ::closedir);
    size_t seen = 0;
    for (const dirent* entry = nullptr;
         open_folder && seen < most_files && (entry = ::readdir(open_folder.get())) != nullptr; ++seen) {
      std::string_view name = entry->d_name;
      if (!name.ends_with(suffix) || !is_uuid(name.substr(0, name.size() - suffix.size()))) {
        continue;
      }
      const std::string uuid(name.substr(0, name.size() - suffix.size()));
      FoundCalibration found = look_at(folder, uuid, driver_version);
      const auto known = by_uuid.find(uuid);
      if (known == by_uuid.end()) {
        by_uuid.emplace(uuid, std::move(found));
      } else if (better(found, known->second)) {
        known->second = std::move(found);
      }
    }
  }
  std::vector<FoundCalibration> all;
  all.reserve(by_uuid.size());
  for (auto& [uuid, found] : by_uuid) {
    all.push_back(std::move(found));
  }
  std::ranges::stable_sort(all, better);
  return all;
}

}  // namespace kvet::capability
