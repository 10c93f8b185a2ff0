// See uuid.hpp.
#include "emulator/uuid.hpp"

#include <algorithm>

#include <boost/uuid/name_generator_sha1.hpp>
#include <boost/uuid/uuid.hpp>

#include "base/text.hpp"

namespace tangram::emulator {
namespace {

UuidBytes hashed(const std::string& text) {
  constexpr boost::uuids::uuid kNamespace = {{0x74, 0x61, 0x6e, 0x67, 0x72, 0x61, 0x6d, 0x45, 0x6d,
                                              0x75, 0x6c, 0x61, 0x74, 0x6f, 0x72, 0x31}};
  const boost::uuids::uuid uuid = boost::uuids::name_generator_sha1(kNamespace)(text);
  UuidBytes bytes{};
  std::ranges::copy(uuid, bytes.begin());
  return bytes;
}

}  // namespace

UuidBytes gpu_uuid(std::string_view model, unsigned index) {
  UuidBytes bytes = hashed(cat("gpu ", model, " ", index));
  bytes[6] = static_cast<std::uint8_t>((bytes[6] & 0x0FU) | 0x40U);  // like a random one
  return bytes;
}

UuidBytes mig_uuid(std::span<const std::uint8_t, 16> gpu, unsigned gi, unsigned ci) {
  std::string text = uuid_text("GPU-", gpu);
  return hashed(cat(text, "/", gi, "/", ci));
}

std::string uuid_text(std::string_view prefix, std::span<const std::uint8_t, 16> uuid) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text(prefix);
  for (std::size_t i = 0; i < uuid.size(); ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += kDigits[uuid[i] >> 4U];
    text += kDigits[uuid[i] & 0x0FU];
  }
  return text;
}

}  // namespace tangram::emulator
