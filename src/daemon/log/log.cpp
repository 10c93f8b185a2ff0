// See log.hpp.
#include "daemon/log/log.hpp"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <sys/stat.h>
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

// The level as the journal expects it at the start of a line, e.g. "<4>"; see sd-daemon(3).
class JournalLevel : public spdlog::custom_flag_formatter {
 public:
  void format(const spdlog::details::log_msg& message, const std::tm& /*time*/,
              spdlog::memory_buf_t& out) override {
    constexpr std::array<char, spdlog::level::n_levels> kPriorities = {'7', '7', '6', '4',
                                                                       '3', '2', '7'};
    const std::array<char, 3> prefix = {
        '<', kPriorities.at(static_cast<std::size_t>(message.level)), '>'};
    out.append(prefix.data(), prefix.data() + prefix.size());
  }
  [[nodiscard]] std::unique_ptr<custom_flag_formatter> clone() const override {
    return std::make_unique<JournalLevel>();
  }
};

// Whether standard error is read by systemd's journal, which names the stream in JOURNAL_STREAM.
bool writes_to_journal() {
  const char* stream = std::getenv("JOURNAL_STREAM");
  struct stat file{};
  return stream != nullptr && ::fstat(STDERR_FILENO, &file) == 0 &&
         cat(file.st_dev, ":", file.st_ino) == stream;
}

// The journal keeps time and level of a message itself; `journalctl -p warning` selects by level.
std::unique_ptr<spdlog::formatter> make_formatter(bool json) {
  const bool journal = writes_to_journal();
  std::string pattern = "%Y-%m-%d %H:%M:%S.%e %-5l %v";
  if (journal) pattern = "%v";
  if (json) pattern = R"({"time":"%Y-%m-%dT%H:%M:%S.%e%z","level":"%l","message":%*})";
  if (journal) pattern.insert(0, "%&");
  auto formatter = std::make_unique<spdlog::pattern_formatter>();
  formatter->add_flag<JsonMessage>('*');
  formatter->add_flag<JournalLevel>('&');
  formatter->set_pattern(pattern);
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
    const char* level = writes_to_journal() ? "<3>" : "";
    the_sink()->writer().write(cat(level, "tangramd: ", message, "\n"));
  } else {
    std::fprintf(stderr, "tangramd: %s\n", message.c_str());
  }
}

void flush_log(std::chrono::milliseconds timeout) {
  if (the_sink()) static_cast<void>(the_sink()->writer().flush(timeout));
}

std::uint64_t dropped_log_messages() { return the_sink() ? the_sink()->writer().dropped() : 0; }

}  // namespace tangram::daemon
