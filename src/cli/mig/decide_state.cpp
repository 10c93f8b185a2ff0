// See decide_state.hpp.
#include "cli/mig/decide_state.hpp"

#include <algorithm>
#include <span>

#include <boost/json/array.hpp>
#include <fmt/format.h>

#include "base/text.hpp"
#include "cli/command/json_rows.hpp"

namespace tangram::cli {
namespace {

namespace json = boost::json;

// Reads values by key; every error begins with the path of the value.
class Reader {
 public:
  Reader(const json::object& object, std::string where)
      : object_(object), where_(std::move(where)) {}

  [[nodiscard]] std::string path(std::string_view key) const {
    return where_.empty() ? std::string(key) : cat(where_, '.', key);
  }
  [[nodiscard]] const json::value* find(std::string_view key) const {
    return object_.if_contains(json::string_view(key.data(), key.size()));
  }
  [[nodiscard]] Result<std::string> text(std::string_view key) const {
    const json::value* value = find(key);
    if (value != nullptr && value->is_string()) return std::string(view(value->get_string()));
    return invalid(cat(path(key), " must be a string; ", kStateForm));
  }
  [[nodiscard]] Result<std::int64_t> number(std::string_view key, std::int64_t lowest,
                                            std::int64_t highest) const {
    const json::value* value = find(key);
    const std::int64_t* number = value != nullptr ? value->if_int64() : nullptr;
    if (number != nullptr && *number >= lowest && *number <= highest) return *number;
    return invalid(
        cat(path(key), " must be a whole number from ", lowest, " to ", highest, "; ", kStateForm));
  }
  [[nodiscard]] Result<bool> flag(std::string_view key, bool otherwise) const {
    const json::value* value = find(key);
    if (value == nullptr) return otherwise;
    if (value->is_bool()) return value->get_bool();
    return invalid(cat(path(key), " must be true or false."));
  }
  // The objects of a list; an absent list is empty if `optional`.
  template <class Fn>
  Result<void> each(std::string_view key, bool optional, Fn fn) const {
    const json::value* value = find(key);
    if (value == nullptr && optional) return {};
    if (value == nullptr || !value->is_array()) {
      return invalid(cat(path(key), " must be a list; ", kStateForm));
    }
    std::size_t i = 0;
    for (const json::value& element : value->get_array()) {
      const std::string where = cat(path(key), '[', i++, ']');
      if (!element.is_object()) return invalid(cat(where, " must be an object; ", kStateForm));
      if (auto ok = fn(Reader(element.get_object(), where)); !ok) return ok;
    }
    return {};
  }
  Result<void> only(std::span<const std::string> allowed) const {
    for (const auto& member : object_) {
      const std::string key(member.key());
      if (std::ranges::find(allowed, key) != allowed.end()) continue;
      const auto near = nearest(key, allowed);
      return invalid(cat(where_.empty() ? std::string() : where_ + ": ", "unknown key ",
                         tangram::quoted(key),
                         near ? cat("; did you mean ", *near, "?") : std::string("."),
                         " Allowed: ", join_words(allowed), "."));
    }
    return {};
  }

 private:
  const json::object& object_;
  std::string where_;
};

Result<void> read_job(const Reader& in, core::SnapshotGpu& gpu) {
  static const std::vector<std::string> keys{"id", "profile", "start", "movable"};
  if (auto ok = in.only(keys); !ok) return ok;
  const auto id = in.number("id", 0, std::int64_t{1} << 53);
  if (!id) return std::unexpected(id.error());
  auto profile = in.text("profile");
  if (!profile) return std::unexpected(profile.error());
  const auto start = in.number("start", 0, mig::kMaxMemorySlices - 1);
  if (!start) return std::unexpected(start.error());
  const auto movable = in.flag("movable", true);
  if (!movable) return std::unexpected(movable.error());
  gpu.jobs.push_back({core::JobId(static_cast<std::uint64_t>(*id)), *std::move(profile),
                      static_cast<int>(*start), *movable});
  return {};
}

Result<void> read_idle(const Reader& in, core::SnapshotGpu& gpu) {
  static const std::vector<std::string> keys{"profile", "start"};
  if (auto ok = in.only(keys); !ok) return ok;
  auto profile = in.text("profile");
  if (!profile) return std::unexpected(profile.error());
  const auto start = in.number("start", 0, mig::kMaxMemorySlices - 1);
  if (!start) return std::unexpected(start.error());
  gpu.idle.push_back({*std::move(profile), static_cast<int>(*start)});
  return {};
}

Result<void> read_gpu(const Reader& in, ModelCache& models, core::Snapshot& snapshot) {
  static const std::vector<std::string> keys{"model", "jobs", "idle", "cordoned"};
  if (auto ok = in.only(keys); !ok) return ok;
  const auto name = in.text("model");
  if (!name) return std::unexpected(name.error());
  ModelPointer& model = models[*name];
  if (!model) {
    auto found = model_named(*name);
    if (!found) return std::unexpected(found.error());
    model = *std::move(found);
  }
  core::SnapshotGpu gpu{.model = model, .jobs = {}, .idle = {}};
  const auto cordoned = in.flag("cordoned", false);
  if (!cordoned) return std::unexpected(cordoned.error());
  gpu.cordoned = *cordoned;
  if (auto ok = in.each("jobs", true, [&](const Reader& r) { return read_job(r, gpu); }); !ok) {
    return ok;
  }
  if (auto ok = in.each("idle", true, [&](const Reader& r) { return read_idle(r, gpu); }); !ok) {
    return ok;
  }
  snapshot.gpus.push_back(std::move(gpu));
  return {};
}

// A JSON number, or a string to keep the decimal exact.
Result<core::Threshold> read_threshold(const Reader& in) {
  const json::value* value = in.find("threshold");
  if (value == nullptr) return core::Threshold();
  if (value->is_string()) return core::Threshold::parse(view(value->get_string()));
  if (value->is_double()) return core::Threshold::parse(fmt::format("{}", value->get_double()));
  if (value->is_int64()) return core::Threshold::parse(std::to_string(value->get_int64()));
  return invalid("threshold must be a number from 0 to 1.");
}

Result<void> read_what(const Reader& in, Question& question) {
  const auto kind = in.text("kind");
  if (!kind) return std::unexpected(kind.error());
  if (*kind == "arrival") {
    auto profile = in.text("profile");
    if (!profile) return std::unexpected(profile.error());
    if (profile->empty()) return invalid(cat("profile must not be empty; ", kStateForm));
    question.profile = *std::move(profile);
    return {};
  }
  if (*kind != "departure") {
    return invalid(cat("kind is ", tangram::quoted(*kind), "; allowed: arrival and departure."));
  }
  const auto last = static_cast<std::int64_t>(question.snapshot.gpus.size()) - 1;
  const auto gpu = in.number("gpu", 0, last);
  if (!gpu) return std::unexpected(gpu.error());
  question.gpu = core::GpuId(static_cast<std::uint32_t>(*gpu));
  return {};
}

}  // namespace

Result<Question> read_question(const json::object& row, ModelCache& models) {
  static const std::vector<std::string> arrival_keys{"kind", "threshold", "gpus", "profile",
                                                     "expect"};
  static const std::vector<std::string> departure_keys{"kind", "threshold", "gpus", "gpu",
                                                       "expect"};
  const Reader in(row, "");
  const auto kind = in.text("kind");
  const bool departure = kind && *kind == "departure";
  if (auto ok = in.only(departure ? departure_keys : arrival_keys); !ok) {
    return std::unexpected(ok.error());
  }
  Question question;
  const auto threshold = read_threshold(in);
  if (!threshold) return std::unexpected(threshold.error());
  question.snapshot.tuning.threshold = *threshold;
  const auto read = [&](const Reader& r) { return read_gpu(r, models, question.snapshot); };
  if (auto ok = in.each("gpus", false, read); !ok) return std::unexpected(ok.error());
  if (question.snapshot.gpus.empty()) return invalid(cat("gpus is empty; ", kStateForm));
  if (auto ok = read_what(in, question); !ok) return std::unexpected(ok.error());
  return question;
}

}  // namespace tangram::cli
