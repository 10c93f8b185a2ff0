// Id: a number that names one kind of thing and mixes with no other. One rule: an id is only
// compared, hashed and printed; whoever needs arithmetic asks for value() and says why.
#pragma once

#include <compare>
#include <cstdint>

namespace tangram {

template <class Tag, class Rep = std::uint32_t>
class Id {
 public:
  constexpr Id() = default;
  constexpr explicit Id(Rep value) : value_(value) {}

  [[nodiscard]] constexpr Rep value() const { return value_; }
  friend constexpr auto operator<=>(Id, Id) = default;

 private:
  Rep value_ = 0;
};

}  // namespace tangram
