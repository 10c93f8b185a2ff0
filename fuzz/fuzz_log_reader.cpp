// Fuzzes the reading of logs: the first line is the position a client asks for, the rest what is in
// the log, a byte that is 0 begins the next file and one that is 1 the next run. Whatever the
// position, nothing outside of the files is touched, what comes is a piece of them, and a position
// that was given out leads back to the same byte.
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <unistd.h>
#include <vector>

#include "base/text.hpp"
#include "http/log_reader.hpp"

namespace {

namespace fs = std::filesystem;
namespace http = tangram::http;

constexpr const char* kLog = "stdout.log";
constexpr std::size_t kMostRuns = 4;
constexpr std::size_t kMostFiles = 8;  // together
constexpr std::size_t kMostMarks = 8;  // positions that are tried
constexpr std::size_t kLongest = 500;

void require(bool holds) {
  if (!holds) std::abort();
}

// A folder in memory, if there is one, with a folder per run; gone with the process.
class Place {
 public:
  Place() {
    const fs::path shm = "/dev/shm";
    std::string name = (fs::exists(shm) ? shm : fs::temp_directory_path()) / "tangram-fuzz-XXXXXX";
    require(::mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  ~Place() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;
  Place(Place&&) = delete;
  Place& operator=(Place&&) = delete;

  // The text as it will be read.
  std::string fill(std::string_view text, http::LogSource& source) {
    for (const auto& old : fs::directory_iterator(path_)) fs::remove_all(old.path());
    std::string all;
    std::size_t files = 0;
    while (source.folders.size() < kMostRuns && files < kMostFiles) {
      const fs::path run = path_ / std::to_string(source.folders.size());
      fs::create_directory(run);
      source.folders.push_back(run.string());
      const std::size_t end = std::min(text.find('\1'), text.size());
      files += write_run(run, text.substr(0, end), kMostFiles - files, all);
      text.remove_prefix(std::min(end + 1, text.size()));
      if (text.empty()) break;
    }
    source.over = true;
    return all;
  }

 private:
  static std::size_t write_run(const fs::path& run, std::string_view text, std::size_t most,
                               std::string& all) {
    std::vector<std::string_view> parts;
    while (parts.size() < most) {
      const std::size_t end = std::min(text.find('\0'), text.size());
      parts.push_back(text.substr(0, end));
      text.remove_prefix(std::min(end + 1, text.size()));
      if (text.empty()) break;
    }
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const std::size_t age = parts.size() - 1 - i;
      std::ofstream(run / (age == 0 ? kLog : tangram::cat(kLog, '.', age))) << parts[i];
      all += parts[i];
    }
    return parts.size();
  }

  fs::path path_;
};

// A position, and how much of the text stands before it.
struct Mark {
  http::LogPosition position;
  std::size_t before = 0;
};

std::string read_all(http::LogReader& reader, std::vector<Mark>* marks = nullptr) {
  std::string all;
  std::vector<char> room(7);
  while (const auto piece = reader.read(room)) {
    require(piece->size > 0 && piece->size <= room.size());
    if (marks != nullptr) marks->push_back({piece->at, all.size()});
    all.append(room.data(), piece->size);
  }
  return all;
}

std::string read_from(const http::LogSource& source, const http::LogPosition& position) {
  http::LogReader reader(kLog);
  reader.set_source(source);
  reader.begin_at(position);
  std::string text = read_all(reader);
  static_cast<void>(reader.waits_for_run());
  return text;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static Place place;
  const std::string_view input(reinterpret_cast<const char*>(data), std::min(size, kLongest));
  const std::size_t line = std::min(input.find('\n'), input.size());
  const std::string_view asked = input.substr(0, line);
  http::LogSource source;
  const std::string all = place.fill(input.substr(std::min(line + 1, input.size())), source);

  http::LogReader reader(kLog);
  reader.set_source(source);
  std::vector<Mark> marks;
  require(read_all(reader, &marks) == all);
  marks.resize(std::min(marks.size(), kMostMarks));
  for (const Mark& mark : marks) {
    const auto same = http::parse_position(to_text(mark.position));
    require(same && read_from(source, *same) == all.substr(mark.before));
  }
  if (const auto position = http::parse_position(asked)) {
    require(http::parse_position(to_text(*position)).has_value());
    require(all.ends_with(read_from(source, *position)));
  }
  http::LogReader tail(kLog);
  tail.set_source(source);
  tail.begin_at_tail(asked.size());
  require(all.ends_with(read_all(tail)));
  return 0;
}
