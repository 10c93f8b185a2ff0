// A connection that cannot be taken over is said, and not thrown: one failure must not end all.
#include "endpoint/wire.hpp"

#include <cerrno>
#include <sys/socket.h>

#include <gtest/gtest.h>

namespace tangram::endpoint {
namespace {

TEST(EndpointWire, WhatTheLoopCannotWatchIsSaid) {
  boost::asio::io_context loop;
  const auto wire = std::make_shared<Wire>(loop, nullptr);
  constexpr int kNotOpen = 1'000'000;
  EXPECT_EQ(wire->adopt(kNotOpen, AF_UNIX), EBADF);
  EXPECT_EQ(wire->send("x"), 0U);
}

}  // namespace
}  // namespace tangram::endpoint
