// Fuzzes LogReader: the first line is the position that a client requests and the rest is the log,
// in which a byte 0 begins the next file and a byte 1 the next run. Whatever the position, only
// these files are read, the result is a part of them, and a position that was returned leads back
// to the same byte.
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <unistd.h>
#include <vector>

#include "base/text.hpp"
#include "http/logs/log_reader.hpp"

namespace {

namespace fs = std::filesystem;
namespace http = tangram::http;

constexpr const char* kLog = "stdout.log";
constexpr std::size_t kMaxRuns = 4;
constexpr std::size_t kMaxFiles = 8;  // of all runs
constexpr std::size_t kMaxMarks = 8;  // positions that are tested
constexpr std::size_t kMaxInput = 500;

void require(bool holds) {
  if (!holds) std::abort();
}

// A temporary folder, in memory if possible, with a folder per run; removed at exit.
class RunFolders {
 public:
  RunFolders() {
    const fs::path shm = "/dev/shm";
    std::string name = (fs::exists(shm) ? shm : fs::temp_directory_path()) / "tangram-fuzz-XXXXXX";
    require(::mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  ~RunFolders() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  RunFolders(const RunFolders&) = delete;
  RunFolders& operator=(const RunFolders&) = delete;
  RunFolders(RunFolders&&) = delete;
  RunFolders& operator=(RunFolders&&) = delete;

  // Writes the log and returns the text that a reader must see.
  std::string write_runs(std::string_view text, http::LogSource& source) {
    for (const auto& old : fs::directory_iterator(path_)) fs::remove_all(old.path());
    std::string all;
    std::size_t files = 0;
    while (source.folders.size() < kMaxRuns && files < kMaxFiles) {
      const fs::path run = path_ / std::to_string(source.folders.size());
      fs::create_directory(run);
      source.folders.push_back(run.string());
      const std::size_t end = std::min(text.find('\1'), text.size());
      files += write_run(run, text.substr(0, end), kMaxFiles - files, all);
      text.remove_prefix(std::min(end + 1, text.size()));
      if (text.empty()) break;
    }
    source.is_complete = true;
    return all;
  }

 private:
  static std::size_t write_run(const fs::path& run, std::string_view text, std::size_t max_files,
                               std::string& all) {
    std::vector<std::string_view> parts;
    while (parts.size() < max_files) {
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

// A position, and the number of bytes of the text before it.
struct Mark {
  http::LogPosition position;
  std::size_t before = 0;
};

std::string read_all(http::LogReader& reader, std::vector<Mark>* marks = nullptr) {
  std::string all;
  std::vector<char> buffer(7);
  while (const auto piece = reader.read(buffer)) {
    require(piece->size > 0 && piece->size <= buffer.size());
    if (marks != nullptr) marks->push_back({piece->at, all.size()});
    all.append(buffer.data(), piece->size);
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
  static RunFolders folders;
  const std::string_view input(reinterpret_cast<const char*>(data), std::min(size, kMaxInput));
  const std::size_t line = std::min(input.find('\n'), input.size());
  const std::string_view first_line = input.substr(0, line);
  http::LogSource source;
  const std::string all =
      folders.write_runs(input.substr(std::min(line + 1, input.size())), source);

  http::LogReader reader(kLog);
  reader.set_source(source);
  std::vector<Mark> marks;
  require(read_all(reader, &marks) == all);
  marks.resize(std::min(marks.size(), kMaxMarks));
  for (const Mark& mark : marks) {
    const auto same = http::parse_position(to_text(mark.position));
    require(same && read_from(source, *same) == all.substr(mark.before));
  }
  if (const auto position = http::parse_position(first_line)) {
    require(http::parse_position(to_text(*position)).has_value());
    require(all.ends_with(read_from(source, *position)));
  }
  http::LogReader tail(kLog);
  tail.set_source(source);
  tail.begin_at_tail(first_line.size());
  require(all.ends_with(read_all(tail)));
  return 0;
}
