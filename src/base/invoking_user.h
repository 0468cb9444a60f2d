// The person who called kvet, when it runs under sudo: what kvet starts belongs to that person and sees that person's
// environment, as if kvet were not there.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kvet {

struct InvokingUser {
  uid_t user = 0;
  gid_t group = 0;
  std::string name, home, shell;
};

// Empty where kvet does not run as root under sudo: then commands run as kvet itself does.
[[nodiscard]] std::optional<InvokingUser> invoking_user();

// Of that person, as a login would set them.
[[nodiscard]] std::vector<gid_t> groups_of(const InvokingUser& user);

using Environment = std::vector<std::string>;  // "NAME=value" each

[[nodiscard]] Environment own_environment();
// The environment from which sudo was called: sudo's own, as /proc shows it for the ancestor that is sudo. Where that
// cannot be read, our own with the variables that name a person set to this one, and without sudo's.
[[nodiscard]] Environment environment_of(const InvokingUser& user);

[[nodiscard]] std::optional<std::string_view> variable(const Environment& environment, std::string_view name);
void set_variable(Environment& environment, std::string_view name, std::string_view value);
void unset_variable(Environment& environment, std::string_view name);

// For tests: the variables in the form of /proc/PID/environ.
[[nodiscard]] Environment parse_environment(std::string_view zero_separated);

}  // namespace kvet
