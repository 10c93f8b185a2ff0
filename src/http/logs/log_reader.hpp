// LogReader: reads the output of a job as one stream over the files of all its runs, including
// rotated ones. Its position refers to a file by identity (inode and birth time) and not by name,
// so that nothing is lost or read twice when files are rotated meanwhile. It never waits for
// output. Not thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "http/routes/api_handlers.hpp"

namespace tangram::http {

// Identifies a file independently of its name.
struct FileIdentity {
  std::uint64_t inode = 0;
  std::uint64_t born = 0;  // birth time in nanoseconds: inode numbers are reused

  friend bool operator==(const FileIdentity&, const FileIdentity&) = default;
};

// A position in the stream. Its text form "RUN-INODE-BORN:OFFSET" is opaque to clients.
struct LogPosition {
  std::size_t run = 0;
  FileIdentity file;
  std::uint64_t offset = 0;
};
[[nodiscard]] std::string to_text(const LogPosition& position);
[[nodiscard]] std::optional<LogPosition> parse_position(std::string_view text);

class LogReader {
 public:
  explicit LogReader(std::string file_name) : name_(std::move(file_name)) {}
  ~LogReader();
  LogReader(const LogReader&) = delete;
  LogReader& operator=(const LogReader&) = delete;
  LogReader(LogReader&&) = delete;
  LogReader& operator=(LogReader&&) = delete;

  void set_source(LogSource source) { source_ = std::move(source); }

  // Set the position before the first read(); the default is the beginning. A position in a file
  // that was deleted leads to the oldest file of its run, and the next piece has `gap` set.
  void begin_at(const LogPosition& position);
  void begin_at_tail(std::uint64_t lines);

  struct Chunk {
    std::size_t size = 0;
    LogPosition at;    // position of its first byte
    bool gap = false;  // output before it was deleted by rotation, or may have been
  };
  // Reads into `buffer`; a piece never spans two files. Nullopt: nothing more now.
  [[nodiscard]] std::optional<Chunk> read(std::span<char> buffer);

  // The folder of the current run; empty if there is no run.
  [[nodiscard]] std::string folder() const;
  // Whether only a further run brings more output: the current one has ended, or there is none.
  [[nodiscard]] bool waits_for_run() const;

 private:
  struct File {
    std::string path;
    FileIdentity identity;

    friend bool operator==(const File&, const File&) = default;
  };
  [[nodiscard]] std::vector<File> files_of(std::size_t run) const;  // oldest first
  [[nodiscard]] std::vector<File> list(const std::string& folder) const;
  [[nodiscard]] bool open(const File& file);
  [[nodiscard]] bool open_oldest();
  [[nodiscard]] std::size_t read_here(std::span<char> buffer) const;
  [[nodiscard]] std::optional<File> successor();
  [[nodiscard]] bool is_current() const;
  [[nodiscard]] bool has_run_ended() const;
  [[nodiscard]] bool advance(const std::optional<File>& next, bool has_ended);

  std::string name_;
  LogSource source_;
  LogPosition at_;
  int descriptor_ = -1;
  bool gap_ = false;
};

}  // namespace tangram::http
