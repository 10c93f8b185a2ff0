// A folder of its own for a test of this room, gone with it. (The files room has one too, which
// this room may not use.)
#pragma once

#include <filesystem>
#include <stdlib.h>
#include <string>

#include "base/check.hpp"

namespace tangram::http::testing {

class TestPlace {
 public:
  TestPlace() {
    std::string name = std::filesystem::temp_directory_path() / "tangram-http-XXXXXX";
    CHECK(::mkdtemp(name.data()) != nullptr);  // writes its own letters over the last six
    path_ = name;
  }
  ~TestPlace() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TestPlace(const TestPlace&) = delete;
  TestPlace& operator=(const TestPlace&) = delete;
  TestPlace(TestPlace&&) = delete;
  TestPlace& operator=(TestPlace&&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace tangram::http::testing
