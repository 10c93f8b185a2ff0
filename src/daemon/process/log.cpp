// See log.hpp.
#include "daemon/process/log.hpp"

#include <memory>

#include <boost/json/serialize.hpp>
#include <boost/json/string.hpp>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/ansicolor_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

namespace tangram::daemon {
namespace {

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

}  // namespace

void configure_log(const std::string& level, bool json) {
  auto logger = std::make_shared<spdlog::logger>("tangramd",
                                                 std::make_shared<spdlog::sinks::stderr_sink_mt>());
  auto formatter = std::make_unique<spdlog::pattern_formatter>();
  formatter->add_flag<JsonMessage>('*');
  formatter->set_pattern(json ? R"({"time":"%Y-%m-%dT%H:%M:%S.%e%z","level":"%l","message":%*})"
                              : "%Y-%m-%d %H:%M:%S.%e %-5l %v");
  logger->set_formatter(std::move(formatter));
  logger->flush_on(spdlog::level::debug);
  spdlog::set_default_logger(std::move(logger));
  set_log_level(level);
}

void set_log_level(const std::string& level) { spdlog::set_level(spdlog::level::from_str(level)); }

}  // namespace tangram::daemon
