// Socket::adopt() reports failures by its return value and does not throw, so that one bad
// descriptor does not end the endpoint.
#include "endpoint/net/socket.hpp"

#include <cerrno>
#include <sys/socket.h>

#include <gtest/gtest.h>

namespace tangram::endpoint {
namespace {

TEST(EndpointSocket, AdoptReportsADescriptorThatTheLoopCannotWatch) {
  boost::asio::io_context loop;
  const auto socket = std::make_shared<Socket>(loop, nullptr);
  constexpr int kNotOpen = 1'000'000;
  EXPECT_EQ(socket->adopt(kNotOpen, AF_UNIX), EBADF);
  EXPECT_EQ(socket->send("x"), 0U);
}

}  // namespace
}  // namespace tangram::endpoint
