// LockFile: ensures one daemon per store, by an flock() on STORE.lock, which the kernel releases
// when its owner ends. The file is never removed; its existence means nothing.
#pragma once

#include <string>

#include "base/error.hpp"
#include "os/descriptor.hpp"

namespace tangram::store {

class LockFile {
 public:
  // Takes the lock without waiting, except for a few seconds if its owner has just died. Fails with
  // kUnavailable, naming the process that holds it.
  [[nodiscard]] static Result<LockFile> take(const std::string& store_path);

 private:
  explicit LockFile(os::Descriptor file) : file_(std::move(file)) {}
  os::Descriptor file_;
};

}  // namespace tangram::store
