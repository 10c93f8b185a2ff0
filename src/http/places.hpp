// Places: for how many connections there is room behind one of the doors, and how many of them one
// guest may have. One rule: those who came by one door never take the places of another's.
#pragma once

#include <cstddef>
#include <map>
#include <string>

namespace tangram::http {

class Places {
 public:
  Places(std::size_t most, std::size_t most_each) : most_(most), most_each_(most_each) {}

  // Why there is none for one more of this guest; empty if there is. `reserved`: how many there are
  // beyond the limit for him and his like.
  [[nodiscard]] std::string refusal(const std::string& guest, std::size_t reserved = 0) const;
  void take(const std::string& guest);
  void give_back(const std::string& guest);

 private:
  std::size_t most_;
  std::size_t most_each_;
  std::size_t taken_ = 0;
  std::map<std::string, std::size_t> shares_;
};

}  // namespace tangram::http
