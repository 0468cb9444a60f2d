#include "validate/ready.h"

#include <arpa/inet.h>
#include <fmt/core.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <charconv>
#include <cstring>
#include <string_view>

#include "base/file_descriptor.h"
#include "base/text.h"

namespace kvet::validate {
namespace {

constexpr std::string_view scheme = "http://";

bool loopback_v4(const std::string& host) {
  in_addr address{};
  return ::inet_pton(AF_INET, host.c_str(), &address) == 1 && (ntohl(address.s_addr) >> 24) == 127;
}

// A connected socket, or an invalid one.
FileDescriptor connect_to(const ReadyUrl& url) {
  const bool v6 = url.host == "::1";
  FileDescriptor socket(::socket(v6 ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket.valid()) {
    return socket;
  }
  timeval timeout{1, 0};
  ::setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout);
  ::setsockopt(socket.get(), SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof timeout);  // covers connect too
  sockaddr_storage storage{};
  socklen_t length = 0;
  if (v6) {
    sockaddr_in6 address{};
    address.sin6_family = AF_INET6;
    address.sin6_port = htons(url.port);
    address.sin6_addr = in6addr_loopback;
    std::memcpy(&storage, &address, length = sizeof address);
  } else {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(url.port);
    ::inet_pton(AF_INET, url.host == "localhost" ? "127.0.0.1" : url.host.c_str(), &address.sin_addr);
    std::memcpy(&storage, &address, length = sizeof address);
  }
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&storage), length) != 0) {
    return FileDescriptor{};
  }
  return socket;
}

}  // namespace

Result<ReadyUrl> parse_ready_url(const std::string& url) {
  auto wrong = [&](const std::string& what) {
    return fail(ErrorKind::usage, what, "ready = \"" + printable(url) + "\"", "write http://127.0.0.1:PORT/PATH");
  };
  std::string_view rest = url;
  if (!rest.starts_with(scheme)) {
    return wrong("is not an http:// URL");
  }
  rest.remove_prefix(scheme.size());
  ReadyUrl result;
  size_t slash = rest.find('/');
  std::string_view authority = rest.substr(0, slash);
  result.path = slash == std::string_view::npos ? "/" : std::string(rest.substr(slash));
  if (result.path.find_first_of(" \r\n") != std::string::npos) {
    return wrong("has a space in its path");
  }
  size_t colon = authority.rfind(':');
  if (authority.starts_with('[')) {
    size_t bracket = authority.find(']');
    result.host = authority.substr(1, bracket == std::string_view::npos ? 0 : bracket - 1);
    colon = bracket != std::string_view::npos && bracket + 1 < authority.size() ? bracket + 1 : std::string_view::npos;
  } else {
    result.host = authority.substr(0, colon);
  }
  if (colon != std::string_view::npos) {
    std::string_view digits = authority.substr(colon + 1);
    auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), result.port);
    if (error != std::errc{} || end != digits.data() + digits.size() || result.port == 0) {
      return wrong("has a bad port");
    }
  }
  if (result.host != "localhost" && result.host != "::1" && !loopback_v4(result.host)) {
    return wrong("is not on this machine");
  }
  return result;
}

Answer ask(const ReadyUrl& url) {
  FileDescriptor socket = connect_to(url);
  if (!socket.valid()) {
    return Answer::nothing;
  }
  const std::string request =
      fmt::format("GET {} HTTP/1.0\r\nHost: {}:{}\r\nConnection: close\r\n\r\n", url.path, url.host, url.port);
  if (::send(socket.get(), request.data(), request.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(request.size())) {
    return Answer::nothing;
  }
  // "HTTP/1.1 200": twelve bytes say it all.
  std::string head;
  while (head.size() < 12) {
    char buffer[64];
    ssize_t count = ::recv(socket.get(), buffer, sizeof buffer, 0);
    if (count <= 0) {
      return Answer::not_ready;
    }
    head.append(buffer, static_cast<size_t>(count));
  }
  return head.starts_with("HTTP/1.") && (head[9] == '2' || head[9] == '3') ? Answer::ready : Answer::not_ready;
}

}  // namespace kvet::validate
