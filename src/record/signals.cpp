#include "record/signals.h"

#include <sys/signalfd.h>
#include <unistd.h>

namespace kvet::record {

Signals::Signals() {
  sigset_t ours;
  sigemptyset(&ours);
  for (const int number : {SIGINT, SIGTERM, SIGQUIT, SIGUSR1, SIGUSR2, SIGPIPE, SIGXFSZ, SIGCHLD}) {
    sigaddset(&ours, number);
  }
  // A signal that is ignored is read all the same once it is blocked, but nohup(1) means what it says.
  struct sigaction hang_up{};
  if (sigaction(SIGHUP, nullptr, &hang_up) != 0 || hang_up.sa_handler != SIG_IGN) {
    sigaddset(&ours, SIGHUP);
  }
  pthread_sigmask(SIG_BLOCK, &ours, &before_);
  file_.reset(signalfd(-1, &ours, SFD_CLOEXEC | SFD_NONBLOCK));
}

Signals::~Signals() {
  // What came too late to be answered must not end the program now.
  while (next()) {
  }
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

std::optional<int> Signals::next() {
  signalfd_siginfo information;
  if (read(file_.get(), &information, sizeof information) != sizeof information) {
    return std::nullopt;
  }
  return static_cast<int>(information.ssi_signo);
}

}  // namespace kvet::record
