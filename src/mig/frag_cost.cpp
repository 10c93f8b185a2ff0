// See frag_cost.hpp.
#include "mig/frag_cost.hpp"

#include <numeric>

#include "base/text.hpp"

namespace tangram::mig {

std::string FragCost::fraction() const {
  const std::int32_t divisor = std::gcd(units_, denominator_);
  return cat(units_ / divisor, '/', denominator_ / divisor);
}

}  // namespace tangram::mig
