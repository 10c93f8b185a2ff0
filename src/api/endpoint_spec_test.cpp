// Endpoint specifications and counters: round trips, and errors that name the key.
#include "api/endpoint_spec.hpp"

#include <limits>

#include <boost/json/object.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tangram::api {
namespace {

namespace json = boost::json;
using std::chrono::milliseconds;
using ::testing::HasSubstr;
using ::testing::StartsWith;

EndpointSpec full_spec() {
  EndpointSpec spec;
  spec.job = std::numeric_limits<std::uint64_t>::max();
  spec.mode = EndpointMode::kHttp;
  spec.host = "::1";
  spec.port = 65'535;
  spec.user = EndpointSpec::User{.uid = 4'294'967'294U, .gid = 7};
  spec.forwarded = true;
  spec.most_connections = 1;
  spec.wait = milliseconds(1);
  spec.connect = milliseconds(2);
  spec.header = milliseconds(3);
  spec.keep_alive = milliseconds(4);
  spec.idle = milliseconds(5);
  return spec;
}

// The error message after one key was changed; null removes the key.
std::string refused(const char* key, const json::value& value) {
  json::value document = to_json(full_spec());
  document.as_object()[key] = value;
  const auto read = read_endpoint_spec(document);
  EXPECT_FALSE(read) << key;
  return read ? "" : read.error().message;
}

TEST(EndpointSpec, ComesBackTheSame) {
  for (const EndpointSpec& spec : {full_spec(), EndpointSpec{}}) {
    const auto read = read_endpoint_spec(to_json(spec));
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(*read, spec);
  }
}

TEST(EndpointSpec, AbsentKeysHaveDefaultsAndUnknownKeysAreIgnored) {
  const auto read = read_endpoint_spec(json::object{
      {"version", 1}, {"job", 0}, {"mode", "tcp"}, {"host", "127.0.0.1"}, {"port", 0}, {"x", 1}});
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(*read, EndpointSpec{});
}

TEST(EndpointSpec, ErrorsNameTheKey) {
  EXPECT_THAT(refused("version", nullptr), StartsWith("version:"));
  EXPECT_THAT(refused("version", 2), HasSubstr("knows 1 only"));
  EXPECT_THAT(refused("job", nullptr), StartsWith("job:"));
  EXPECT_THAT(refused("mode", nullptr), StartsWith("mode:"));
  EXPECT_THAT(refused("mode", "none"), HasSubstr("\"tcp\" or \"http\""));
  EXPECT_THAT(refused("mode", "htpp"), HasSubstr("http"));
  EXPECT_THAT(refused("host", nullptr), StartsWith("host:"));
  EXPECT_THAT(refused("port", 65'536), StartsWith("port:"));
  EXPECT_THAT(refused("port", -1), StartsWith("port:"));
  EXPECT_THAT(refused("user", json::object{{"uid", 1}}), StartsWith("user.gid:"));
  EXPECT_THAT(refused("most_connections", 0), StartsWith("most_connections:"));
  EXPECT_THAT(refused("wait_ms", -5), StartsWith("wait_ms:"));
  EXPECT_THAT(refused("forwarded", 1), StartsWith("forwarded:"));
  EXPECT_FALSE(read_endpoint_spec(json::value(7)));
}

TEST(EndpointCounts, ComeBackTheSame) {
  const EndpointCounts counts{.connections = 1,
                              .requests = 2,
                              .refused = 3,
                              .retried = 4,
                              .cut = 5,
                              .broken = 11,
                              .displaced = 12,
                              .drained = 6,
                              .bytes_in = 7,
                              .bytes_out = std::numeric_limits<std::uint64_t>::max(),
                              .open = 9,
                              .active = 10};
  const auto read = read_endpoint_counts(to_json(counts));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(*read, counts);
  EXPECT_FALSE(read_endpoint_counts(json::object{{"open", -1}}));
}

}  // namespace
}  // namespace tangram::api
