// See log.hpp.
#include "daemon/log/log.hpp"

#include <cstdio>
#include <memory>
#include <mutex>
#include <unistd.h>
#include <utility>

#include <boost/json/serialize.hpp>
#include <boost/json/string.hpp>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/spdlog.h>

#include "base/text.hpp"
#include "daemon/log/async_writer.hpp"

namespace tangram::daemon {
namespace {

constexpr std::size_t kMaxWaitingBytes = std::size_t{1} << 20U;

// The message as a JSON string, quotes included.
class JsonMessage : public spdlog::custom_flag_formatter {
 public:
  void format(const spdlog::details::log_msg& message, const std::tm& /*time*/,
              spdlog::memory_buf_t& out) override {
    const std::string text =
        boost::json::serialize(boost::json::string(message.payload.data(), message.payload.size()));
    out.append(text.data(), text.data() + text.size());
  }
  [[nodiscard]] std::unique_ptr<custom_flag_formatter> clone() const override {
    return std::make_unique<JsonMessage>();
  }
};

std::unique_ptr<spdlog::formatter> make_formatter(bool json) {
  auto formatter = std::make_unique<spdlog::pattern_formatter>();
  formatter->add_flag<JsonMessage>('*');
  formatter->set_pattern(json ? R"({"time":"%Y-%m-%dT%H:%M:%S.%e%z","level":"%l","message":%*})"
                              : "%Y-%m-%d %H:%M:%S.%e %-5l %v");
  return formatter;
}

std::string formatted(spdlog::formatter& formatter, const spdlog::details::log_msg& message) {
  spdlog::memory_buf_t line;
  formatter.format(message, line);
  return {line.data(), line.size()};
}

// Formats on the calling thread and leaves the writing to an AsyncWriter.
class LogSink : public spdlog::sinks::base_sink<std::mutex> {
 public:
  explicit LogSink(bool json)
      : writer_(STDERR_FILENO, kMaxWaitingBytes,
                [formatter = std::shared_ptr(make_formatter(json))](std::uint64_t count) {
                  const std::string text = cat(count, count == 1 ? " log message" : " log messages",
                                               " dropped: standard error was not read fast enough");
                  return formatted(*formatter, {"tangramd", spdlog::level::warn, text});
                }) {
    set_formatter(make_formatter(json));
  }
  AsyncWriter& writer() { return writer_; }

 private:
  void sink_it_(const spdlog::details::log_msg& message) override {
    writer_.write(formatted(*formatter_, message));
  }
  void flush_() override {}

  AsyncWriter writer_;
};

// The sink of this process, like spdlog's default logger; set once by configure_log().
std::shared_ptr<LogSink>& the_sink() {
  static std::shared_ptr<LogSink> sink;
  return sink;
}

}  // namespace

void configure_log(const std::string& level, bool json) {
  the_sink() = std::make_shared<LogSink>(json);
  spdlog::set_default_logger(std::make_shared<spdlog::logger>("tangramd", the_sink()));
  set_log_level(level);
}

void set_log_level(const std::string& level) { spdlog::set_level(spdlog::level::from_str(level)); }

void print_failure(const std::string& message) {
  if (the_sink()) {
    the_sink()->writer().write(cat("tangramd: ", message, "\n"));
  } else {
    std::fprintf(stderr, "tangramd: %s\n", message.c_str());
  }
}

void flush_log(std::chrono::milliseconds timeout) {
  if (the_sink()) static_cast<void>(the_sink()->writer().flush(timeout));
}

std::uint64_t dropped_log_messages() { return the_sink() ? the_sink()->writer().dropped() : 0; }

}  // namespace tangram::daemon
