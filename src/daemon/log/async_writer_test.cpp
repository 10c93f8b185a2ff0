// The daemon's log is written in order, bounded while nobody reads it, and says what it dropped.
#include "daemon/log/async_writer.hpp"

#include <csignal>
#include <fcntl.h>
#include <poll.h>
#include <string>
#include <unistd.h>

#include <gtest/gtest.h>

#include "base/check.hpp"
#include "base/text.hpp"
#include "os/descriptor.hpp"

namespace tangram::daemon {
namespace {

using std::chrono::milliseconds;
constexpr milliseconds kTimeout{30'000};

std::string notice(std::uint64_t count) { return cat("[", count, " dropped]\n"); }

// A pipe whose write end blocks once its 4096 bytes are full.
class Pipe {
 public:
  Pipe() {
    int ends[2];
    CHECK(::pipe2(ends, O_CLOEXEC) == 0);
    out = os::Descriptor(ends[0]);
    in = os::Descriptor(ends[1]);
    CHECK(::fcntl(in.get(), F_SETPIPE_SZ, 4'096) == 4'096);
  }
  // Reads until the text ends with `end`.
  [[nodiscard]] std::string read_until(const std::string& end) const {
    std::string text;
    pollfd readable{.fd = out.get(), .events = POLLIN, .revents = 0};
    while (!text.ends_with(end) && ::poll(&readable, 1, static_cast<int>(kTimeout.count())) > 0) {
      char buffer[4'096];
      const ssize_t size = ::read(out.get(), buffer, sizeof buffer);
      if (size <= 0) break;
      text.append(buffer, static_cast<std::size_t>(size));
    }
    return text;
  }

  os::Descriptor out{-1};
  os::Descriptor in{-1};
};

TEST(AsyncWriter, WritesInOrder) {
  const Pipe pipe;
  AsyncWriter writer(pipe.in.get(), 1'000, notice);
  writer.write("a\n");
  writer.write("b\n");
  EXPECT_TRUE(writer.flush(kTimeout));
  EXPECT_EQ(pipe.read_until("b\n"), "a\nb\n");
  EXPECT_EQ(writer.dropped(), 0U);
}

TEST(AsyncWriter, DropsNewLinesWhileNobodyReadsAndReportsThemInTheirPlace) {
  const Pipe pipe;
  AsyncWriter writer(pipe.in.get(), 20'000, notice);
  std::string line(999, 'x');
  line += '\n';
  for (int i = 0; i < 100; ++i) writer.write(line);
  const std::uint64_t dropped = writer.dropped();
  EXPECT_GE(dropped, 100U - 20 - 5);  // at most 20 wait, and 4 are in the pipe
  EXPECT_LE(dropped, 100U - 20);
  EXPECT_FALSE(writer.flush(milliseconds(1)));
  std::string all;
  for (std::uint64_t i = 0; i < 100 - dropped; ++i) all += line;
  all += notice(dropped);
  EXPECT_EQ(pipe.read_until("dropped]\n"), all);
  EXPECT_TRUE(writer.flush(kTimeout));
  writer.write("after\n");
  EXPECT_EQ(pipe.read_until("after\n"), "after\n");
  EXPECT_EQ(writer.dropped(), dropped);
}

TEST(AsyncWriter, AcceptsALineLongerThanTheLimit) {
  const Pipe pipe;
  AsyncWriter writer(pipe.in.get(), 10, notice);
  writer.write("longer than the limit\n");
  EXPECT_EQ(pipe.read_until("\n"), "longer than the limit\n");
}

TEST(AsyncWriter, WaitsForANonBlockingDescriptor) {
  const Pipe pipe;
  ASSERT_EQ(::fcntl(pipe.in.get(), F_SETFL, O_NONBLOCK), 0);
  AsyncWriter writer(pipe.in.get(), 100'000, notice);
  const std::string line = std::string(50'000, 'x') + "\n";
  writer.write(line);
  EXPECT_EQ(pipe.read_until("\n"), line);
}

TEST(AsyncWriter, CountsLinesThatCannotBeWritten) {
  std::signal(SIGPIPE, SIG_IGN);
  Pipe pipe;
  {
    const os::Descriptor closed = std::move(pipe.out);
  }
  AsyncWriter writer(pipe.in.get(), 1'000, notice);
  writer.write("a\n");
  writer.write("b\n");
  EXPECT_TRUE(writer.flush(kTimeout));
  EXPECT_EQ(writer.dropped(), 2U);
}

// The end of the program must not wait for a reader that stalls.
TEST(AsyncWriter, IsDestroyedWhileItsThreadHangs) {
  const Pipe pipe;
  AsyncWriter writer(pipe.in.get(), 100'000, notice);
  writer.write(std::string(50'000, 'x'));
  EXPECT_FALSE(writer.flush(milliseconds(10)));
}

}  // namespace
}  // namespace tangram::daemon
