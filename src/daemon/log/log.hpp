// The daemon's own log on standard error: text, or one JSON object per line. Environments, commands
// and tokens of users are never logged. Messages are written by a thread (async_writer.hpp), so
// that a reader that stalls does not stop the daemon: it can delay or lose messages only.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace tangram::daemon {

// Starts the thread and makes this the log of spdlog. Call once.
void configure_log(const std::string& level, bool json);
void set_log_level(const std::string& level);

// Writes "tangramd: MESSAGE" after the messages so far, whatever the level and format: why the
// program fails. Before configure_log(), and only then, it is written at once and may block.
void print_failure(const std::string& message);
// Waits until all messages are written, at most `timeout`. Call before the program exits.
void flush_log(std::chrono::milliseconds timeout);
// Number of messages that were dropped since the start.
[[nodiscard]] std::uint64_t dropped_log_messages();

}  // namespace tangram::daemon
