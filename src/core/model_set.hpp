// ModelSet: a set of GPU models of one node, as bits. Models are numbered below 255.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "core/ids.hpp"

namespace tangram::core {

class ModelSet {
 public:
  [[nodiscard]] static constexpr ModelSet all() {
    ModelSet set;
    set.words_.fill(~std::uint64_t{0});
    return set;
  }
  constexpr void insert(ModelId m) { words_[m.value() / 64U] |= bit(m); }
  [[nodiscard]] constexpr bool contains(ModelId m) const {
    return (words_[m.value() / 64U] & bit(m)) != 0;
  }
  [[nodiscard]] constexpr bool empty() const { return *this == ModelSet{}; }
  constexpr void insert_all(const ModelSet& other) {
    for (std::size_t i = 0; i < words_.size(); ++i) words_[i] |= other.words_[i];
  }
  [[nodiscard]] constexpr ModelSet without(const ModelSet& other) const {
    ModelSet rest = *this;
    for (std::size_t i = 0; i < words_.size(); ++i) rest.words_[i] &= ~other.words_[i];
    return rest;
  }
  friend bool operator==(const ModelSet&, const ModelSet&) = default;

 private:
  static constexpr std::uint64_t bit(ModelId m) { return std::uint64_t{1} << (m.value() % 64U); }

  std::array<std::uint64_t, 4> words_{};
};

}  // namespace tangram::core
