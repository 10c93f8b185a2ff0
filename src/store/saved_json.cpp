// See saved_json.hpp.
#include "store/saved_json.hpp"

#include "base/text.hpp"
#include "store/json_fields.hpp"
#include "store/json_line.hpp"
#include "store/saved_fields.hpp"

namespace tangram::store {

namespace {

template <class T>
std::string write(const T& x) {
  json::object out;
  out.emplace("v", kSavedVersion);
  FieldWriter writer(out);
  fields(writer, x);
  return json_line(out);
}

template <class T>
Result<T> read(std::string_view text, std::string_view what) {
  const auto bad = [&](std::string_view why) {
    return invalid(cat("not the saved state of ", what, ": ", tangram::quoted(text), ": ", why));
  };
  const auto value = parse_line(text);
  if (!value || !value->is_object()) return bad("not a JSON object");
  FieldReader reader(value->get_object());
  int version = 0;
  reader("v", version);
  if (version != kSavedVersion) return bad(cat("version ", version, " instead of 1"));
  T x;
  fields(reader, x);
  if (!reader.done()) return bad("invalid fields");
  return x;
}

}  // namespace

std::string saved_json(const core::SavedJob& job) { return write(job); }
std::string saved_json(const core::SavedGpu& gpu) { return write(gpu); }
std::string saved_json(const core::SavedRest& rest) { return write(rest); }

Result<core::SavedJob> read_saved_job(std::string_view text) {
  return read<core::SavedJob>(text, "a job");
}
Result<core::SavedGpu> read_saved_gpu(std::string_view text) {
  return read<core::SavedGpu>(text, "a GPU");
}
Result<core::SavedRest> read_saved_rest(std::string_view text) {
  return read<core::SavedRest>(text, "the scheduler");
}

}  // namespace tangram::store
