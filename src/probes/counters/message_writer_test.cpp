// The sampler's pipe: nothing blocks, nothing is lost while the queue has room, and what is lost is counted.
#include "probes/counters/message_writer.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <cstring>

#include "base/file_descriptor.h"

namespace kvet::probes {
namespace {

struct Pipe {
  FileDescriptor read_end, write_end;
  Pipe() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) == 0) {
      read_end.reset(ends[0]);
      write_end.reset(ends[1]);
    }
    ::fcntl(read_end.get(), F_SETFL, O_NONBLOCK);
  }
  // Everything that is in the pipe now.
  std::vector<std::byte> read_all() const {
    std::vector<std::byte> all;
    std::byte buffer[4096];
    ssize_t count = 0;
    while ((count = ::read(read_end.get(), buffer, sizeof(buffer))) > 0) {
      all.insert(all.end(), buffer, buffer + count);
    }
    return all;
  }
};

kvet_sampler_sample sample(uint64_t number) {
  kvet_sampler_sample one{};
  one.device = 3;
  one.start_ns = 100 * number;
  one.end_ns = 100 * number + 100;
  return one;
}

// Reads while the writer writes, until everything has come through.
std::vector<std::byte> drain(const Pipe& pipe, MessageWriter& writer) {
  std::vector<std::byte> all;
  bool done = false;
  while (!done) {
    const auto more = pipe.read_all();
    all.insert(all.end(), more.begin(), more.end());
    writer.flush();
    done = more.empty();
  }
  return all;
}

struct Counted {
  uint64_t samples = 0, lost = 0, first_ns = 0, last_ns = 0;
};
Counted count(const std::vector<std::byte>& bytes) {
  Counted counted;
  for (size_t place = 0; place < bytes.size();) {
    kvet_sampler_header header;
    std::memcpy(&header, bytes.data() + place, sizeof(header));
    if (header.kind == KVET_SAMPLER_SAMPLE) {
      ++counted.samples;
    } else if (header.kind == KVET_SAMPLER_LOSS) {
      kvet_sampler_loss loss;
      std::memcpy(&loss, bytes.data() + place, sizeof(loss));
      EXPECT_EQ(loss.loss, uint32_t{KVET_SAMPLER_LOSS_PIPE});
      EXPECT_EQ(loss.device, 3u);
      counted.lost += loss.count;
      counted.first_ns = loss.first_ns;
      counted.last_ns = loss.last_ns;
    }
    place += header.size;
  }
  return counted;
}

TEST(MessageWriter, QueuesWhatTheReaderDoesNotTakeAtOnce) {
  const Pipe pipe;
  MessageWriter writer(pipe.write_end.get());
  constexpr uint64_t samples = 5'000;  // 760 kB, where the pipe holds 64
  for (uint64_t i = 0; i < samples; ++i) {
    writer.send_sample(sample(i));
  }
  const Counted counted = count(drain(pipe, writer));
  EXPECT_EQ(counted.samples, samples);
  EXPECT_EQ(counted.lost, 0u);
  EXPECT_EQ(writer.samples_sent(), samples);
}

TEST(MessageWriter, CountsWhatFindsNoRoom) {
  const Pipe pipe;
  MessageWriter writer(pipe.write_end.get(), 100'000);
  constexpr uint64_t samples = 5'000;
  for (uint64_t i = 0; i < samples; ++i) {
    writer.send_sample(sample(i));
  }
  writer.report_drops();
  const Counted counted = count(drain(pipe, writer));
  EXPECT_GT(counted.lost, 0u);
  EXPECT_EQ(counted.samples + counted.lost, samples);
  EXPECT_EQ(counted.samples, writer.samples_sent());
  EXPECT_EQ(counted.first_ns, 100 * counted.samples);  // the oldest are kept
  EXPECT_EQ(counted.last_ns, 100 * samples);
}

TEST(MessageWriter, NoticesThatTheReaderIsGone) {
  ::signal(SIGPIPE, SIG_IGN);
  Pipe pipe;
  MessageWriter writer(pipe.write_end.get());
  pipe.read_end.reset();
  writer.send(KVET_SAMPLER_READY, kvet_sampler_ready{});
  EXPECT_TRUE(writer.broken());
  EXPECT_FALSE(writer.flush_until(std::chrono::steady_clock::now()));
}

}  // namespace
}  // namespace kvet::probes
