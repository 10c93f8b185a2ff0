// Fuzzes the endpoint's HTTP parser: bytes of a client or, if the first byte is odd, of a replica,
// one message after the other. Nothing crashes; a serialized head parses to the same head; a body
// ends at the same place however its bytes are cut; and an independent parser sees every message
// end where the endpoint does (request smuggling).
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "endpoint/http/head.hpp"
#include "plain_http.hpp"

namespace {

namespace endpoint = tangram::endpoint;

void require(bool holds) {
  if (!holds) std::abort();
}

struct Input {
  bool is_response = false;
  bool to_head = false;
  std::size_t cut = 0;
};

// Parses a head and serializes it; empty if it is rejected.
template <class Head>
std::string relayed(std::string_view bytes, const Input& input, Head& head) {
  std::string out;
  if constexpr (std::is_same_v<Head, endpoint::RequestHead>) {
    if (!endpoint::parse_head(bytes, head)) return out;
    endpoint::write_head(out, head, nullptr);
  } else {
    if (!endpoint::parse_head(bytes, input.to_head, head)) return out;
    endpoint::write_head(out, head, true, true);
  }
  return out;
}

std::size_t body_size(const endpoint::Head& head, std::string_view bytes, std::size_t cut,
                      bool& is_complete) {
  endpoint::Body body(head.framing, head.length);
  cut = std::min(cut, bytes.size());
  std::size_t taken = body.take(bytes.substr(0, cut));
  if (taken == cut) taken += body.take(bytes.substr(cut));
  is_complete = body.is_complete();
  require(taken <= bytes.size());
  return taken;
}

// True: the message was complete, so another may follow.
template <class Head>
bool check_message(std::string_view& bytes, const Input& input) {
  endpoint::HeadScan scan;
  if (scan.scan(bytes) != endpoint::HeadScan::State::kComplete) return false;
  const std::string_view first = bytes.substr(0, scan.size());
  bytes.remove_prefix(scan.size());
  Head head;
  const std::string written = relayed(first, input, head);
  if (written.empty()) return false;
  Head again;
  require(relayed(written, input, again) == written);
  require(head.framing == again.framing && head.length == again.length);
  bool is_complete = false;
  bool is_complete_cut = false;
  const std::size_t size = body_size(head, bytes, bytes.size(), is_complete);
  require(body_size(head, bytes, input.cut, is_complete_cut) == size);
  require(is_complete == is_complete_cut);
  if (!is_complete) return false;
  // Includes the bytes that follow, so that an end seen too late is noticed as well.
  const auto end = tangram::fuzz::PlainHttp::end_of(
      written + std::string(bytes), std::is_same_v<Head, endpoint::RequestHead>, input.to_head);
  require(end == written.size() + size);
  bytes.remove_prefix(size);
  return true;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const Input input{.is_response = data[0] % 2 == 1, .to_head = data[0] % 4 == 3, .cut = data[1]};
  std::string_view bytes(reinterpret_cast<const char*>(data) + 2, size - 2);
  while (input.is_response ? check_message<endpoint::ResponseHead>(bytes, input)
                           : check_message<endpoint::RequestHead>(bytes, input)) {
  }
  return 0;
}
