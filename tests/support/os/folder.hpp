// For tests that use files: a temporary folder that is removed with the object. Tests must not
// write anywhere else.
#pragma once

#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdlib.h>
#include <string>
#include <string_view>

#include "base/check.hpp"

namespace tangram::os::testing {

class Folder {
 public:
  Folder() {
    // mkdtemp() replaces the last six characters.
    std::string name = std::filesystem::temp_directory_path() / "tangram-test-XXXXXX";
    CHECK(::mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  Folder(Folder&&) = delete;
  Folder& operator=(Folder&&) = delete;

  [[nodiscard]] std::string at(std::string_view name) const { return (path_ / name).string(); }
  // Writes a file and creates its parent folders; returns its path.
  std::string write(std::string_view name, std::string_view text) const {
    std::filesystem::create_directories((path_ / name).parent_path());
    std::ofstream file(path_ / name, std::ios::binary);
    file << text;
    CHECK(file.good());
    return at(name);
  }
  [[nodiscard]] std::string read(std::string_view name) const {
    std::ifstream file(path_ / name, std::ios::binary);
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
  }
  [[nodiscard]] bool has(std::string_view name) const {
    return std::filesystem::exists(path_ / name);
  }

 private:
  std::filesystem::path path_;
};

}  // namespace tangram::os::testing
