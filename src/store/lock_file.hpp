// LockFile: one daemon per store. A lock of the kernel (flock) on a file beside the store, so that
// it vanishes with its owner however that ends. One rule: the file itself means nothing and stays;
// only the lock on it counts.
#pragma once

#include <string>

#include "base/error.hpp"
#include "files/descriptor.hpp"

namespace tangram::store {

class LockFile {
 public:
  // At once or not at all, unless its owner is dead already; the error names the process that has
  // it.
  [[nodiscard]] static Result<LockFile> take(const std::string& store_path);

 private:
  explicit LockFile(files::Descriptor file) : file_(std::move(file)) {}
  files::Descriptor file_;
};

}  // namespace tangram::store
