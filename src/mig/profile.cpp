// See profile.hpp.
#include "mig/profile.hpp"

namespace tangram::mig {

Media media_of(std::string_view profile_name) {
  if (profile_name.ends_with("+me.all")) return Media::kAll;
  if (profile_name.ends_with("+me")) return Media::kExtended;
  if (profile_name.ends_with("-me")) return Media::kNone;
  return Media::kStandard;
}

}  // namespace tangram::mig
