// LogReader: the output of a job as one stream, over the files of its runs: rotated ones, which
// were renamed, and those of later runs. It knows where it is by the identity of a file (inode and
// birth), not by its name, so that nothing is lost or doubled when files are rotated under its
// hands. One rule: it never waits; "nothing now" is an answer.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "http/doors.hpp"

namespace tangram::http {

// Which file, wherever it has been renamed to.
struct FileIdentity {
  std::uint64_t inode = 0;
  std::uint64_t born = 0;  // nanoseconds; inodes alone are used again

  friend bool operator==(const FileIdentity&, const FileIdentity&) = default;
};

// A byte of the stream; as text "RUN-INODE-BORN:OFFSET", which clients take as it is.
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

  // Where to begin, before the first read; the default is the beginning.
  void begin_at(const LogPosition& position);
  void begin_at_tail(std::uint64_t lines);

  struct Piece {
    std::size_t size = 0;
    LogPosition at;    // of its first byte
    bool gap = false;  // what stood before it was rotated away, or may have been
  };
  // Bytes of one file; none: nothing more now.
  [[nodiscard]] std::optional<Piece> read(std::span<char> room);

  // Where the next byte will appear; empty while there is no run.
  [[nodiscard]] std::string folder() const;
  // The run it has come to is over, or there is none: only a further run brings more.
  [[nodiscard]] bool waits_for_run() const;

 private:
  struct File {
    std::string path;
    FileIdentity identity;

    friend bool operator==(const File&, const File&) = default;
  };
  [[nodiscard]] std::vector<File> files_of(std::size_t run) const;  // oldest first
  [[nodiscard]] std::vector<File> look(const std::string& folder) const;
  [[nodiscard]] bool open(const File& file);
  [[nodiscard]] bool open_oldest();
  [[nodiscard]] std::size_t read_here(std::span<char> room) const;
  [[nodiscard]] std::optional<File> successor();
  [[nodiscard]] bool is_current() const;
  [[nodiscard]] bool run_is_over() const;
  [[nodiscard]] bool advance(const std::optional<File>& next, bool over);

  std::string name_;
  LogSource source_;
  LogPosition at_;
  int descriptor_ = -1;
  bool gap_ = false;
};

}  // namespace tangram::http
