// TempFolder: a temporary folder for a test, removed with its contents at the end.
// (tests/support/os has one too, which this module may not include.)
#pragma once

#include <filesystem>
#include <stdlib.h>
#include <string>

#include "base/check.hpp"

namespace tangram::http::testing {

class TempFolder {
 public:
  TempFolder() {
    std::string name = std::filesystem::temp_directory_path() / "tangram-http-XXXXXX";
    CHECK(::mkdtemp(name.data()) != nullptr);  // replaces the XXXXXX
    path_ = name;
  }
  ~TempFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;
  TempFolder(TempFolder&&) = delete;
  TempFolder& operator=(TempFolder&&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace tangram::http::testing
