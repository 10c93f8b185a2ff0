// Tests how a buffer grows and shrinks with the amount of data received.
#include "endpoint/net/buffer.hpp"

#include <gtest/gtest.h>

namespace tangram::endpoint {
namespace {

constexpr std::size_t kLimit = std::size_t{32} * 1'024;

// Receives `count` bytes and relays them at once; returns the space that was offered.
std::size_t pass(Buffer& buffer, std::size_t count) {
  const std::size_t offered = buffer.prepare(kLimit).size();
  buffer.commit(std::min(count, offered));
  buffer.consume(buffer.size());
  return offered;
}

TEST(EndpointBuffer, GrowsForALargeMessageEvenIfTheReceiverKeepsUp) {
  Buffer buffer;
  EXPECT_EQ(pass(buffer, kLimit), Buffer::kInitialSize);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(pass(buffer, kLimit), kLimit);
  EXPECT_EQ(pass(buffer, 20'000), kLimit);
  EXPECT_EQ(pass(buffer, 100), kLimit);
  EXPECT_EQ(pass(buffer, 100), Buffer::kInitialSize);  // memory is released
}

TEST(EndpointBuffer, StaysSmallForSmallMessages) {
  Buffer buffer;
  for (int i = 0; i < 100; ++i)
    EXPECT_EQ(pass(buffer, Buffer::kInitialSize - 1), Buffer::kInitialSize);
}

TEST(EndpointBuffer, KeepsBytesThatAreNotRelayedYet) {
  Buffer buffer;
  std::string sent;
  std::string passed;
  char next = 'a';
  for (std::size_t i = 0; i < 2'000; ++i) {
    const std::span<char> space = buffer.prepare(kLimit);
    const std::size_t count = std::min(space.size(), 1 + i * 37 % 9'000);
    std::fill_n(space.begin(), count, next);
    buffer.commit(count);
    sent.append(count, next);
    next = next == 'z' ? 'a' : static_cast<char>(next + 1);
    const std::size_t taken = std::min(buffer.size(), i * 53 % 9'000);
    passed += buffer.view().substr(0, taken);
    buffer.consume(taken);
    ASSERT_LE(buffer.size(), kLimit);
  }
  passed += buffer.view();
  EXPECT_EQ(passed, sent);
}

}  // namespace
}  // namespace tangram::endpoint
