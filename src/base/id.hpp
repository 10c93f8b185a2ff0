// Id: a strongly typed number that identifies one kind of object; IDs of different kinds do not
// convert to each other. IDs are compared and printed; there is no arithmetic.
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
