// See calls.hpp.
#include "device/calls.hpp"

#include <dlfcn.h>
#include <string_view>

namespace tangram::device {
namespace {

bool is_no_error(std::string_view call, nvml::Return code) {
  switch (code) {
    case nvml::kNotSupported:
    case nvml::kNotFound:
    case nvml::kTimeout:
    case nvml::kInsufficientSize:
    case nvml::kFunctionNotFound:
      return true;
    case nvml::kInvalidArgument:  // older libraries know fewer profiles
      return call.ends_with("ProfileInfo") || call.ends_with("ById") || call.ends_with("ByIndex");
    default:
      return false;
  }
}

}  // namespace

void ErrorCounts::expect(const char* call) {
  const std::scoped_lock lock(mutex_);
  expected_.insert(call);
}

void ErrorCounts::add(const char* call, nvml::Return code) {
  if (is_no_error(call, code)) return;
  const std::scoped_lock lock(mutex_);
  ++counts_[{call, code}];
}

std::vector<ErrorCount> ErrorCounts::all() const {
  const std::scoped_lock lock(mutex_);
  std::vector<ErrorCount> all;
  for (const auto& [key, count] : counts_) all.push_back({key.first, key.second, count});
  return all;
}

std::map<std::string, std::uint64_t> ErrorCounts::totals() const {
  const std::scoped_lock lock(mutex_);
  std::map<std::string, std::uint64_t> totals;
  for (const std::string& call : expected_) totals[call] = 0;
  for (const auto& [key, count] : counts_) totals[key.first] += count;
  return totals;
}

void* Symbols::find(const char* name) const { return ::dlsym(library, name); }

}  // namespace tangram::device
