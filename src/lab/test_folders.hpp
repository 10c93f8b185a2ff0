// What the tests of the lab share: a folder that vanishes with its test, and an experiment so small
// that all of its arrangements are simulated in a moment.
#pragma once

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <unistd.h>

#include "base/check.hpp"
#include "lab/experiment.hpp"
#include "mig/test_models.hpp"

namespace tangram::lab::testing {

namespace fs = std::filesystem;

class Folder {
 public:
  Folder() {
    std::string name = fs::temp_directory_path() / "tangram-lab-XXXXXX";
    CHECK(::mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  ~Folder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  Folder(Folder&&) = delete;
  Folder& operator=(Folder&&) = delete;

  [[nodiscard]] std::string at(std::string_view name) const { return (path_ / name).string(); }
  void write(std::string_view name, std::string_view text) const {
    fs::create_directories((path_ / name).parent_path());
    std::ofstream file(path_ / name, std::ios::binary);
    file << text;
    CHECK(file.good());
  }
  [[nodiscard]] std::string read(std::string_view name) const {
    std::ifstream file(path_ / name, std::ios::binary);
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
  }
  [[nodiscard]] bool has(std::string_view name) const { return fs::exists(path_ / name); }

 private:
  fs::path path_;
};

// One key per line, so that a test can count lines.
inline constexpr std::string_view kSmallConfig = R"(title = "Small"
section = "a test"
kind = "ablation"
model = "A100-40GB"
gpus = 2
instances = "2g.10gb:2,3g.20gb:2"
workloads = ["normal25"]
tasks = 12
seeds = 2
load_percent = 80
threshold = "0.4"
)";

inline constexpr std::string_view kSmallExpected = R"(paper = "Nothing."
[[claim]]
measure = "makespan_reduction"
at_least_percent = 0
says = "it is no worse"
)";

// The text with one of its parts replaced.
inline std::string changed(std::string_view text, std::string_view part, std::string_view by) {
  std::string out(text);
  const std::size_t at = out.find(part);
  CHECK(at != std::string::npos);
  return out.replace(at, part.size(), by);
}

inline Experiment small_experiment(std::string_view config = kSmallConfig) {
  return mig::testing::or_stop(parse_experiment("small", config, kSmallExpected, "", "x"));
}

}  // namespace tangram::lab::testing
