// See other_user.hpp.
#include "other_user.hpp"

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <gtest/gtest.h>

#include "base/text.hpp"
#include "http/client/client.hpp"
#include "node.hpp"
#include "openapi_check.hpp"

namespace tangram::tests {

namespace json = boost::json;

void allow_other_users(const Node& node) { EXPECT_EQ(::chmod(node.at(".").c_str(), 0755), 0); }

std::pair<int, json::value> call_as(uid_t uid, const Node& node, const std::string& method,
                                    const std::string& target,
                                    const std::optional<json::value>& body) {
  int ends[2];
  EXPECT_EQ(::pipe(ends), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    std::string reply_text = "0 null";
    if (::setgid(uid) == 0 && ::setuid(uid) == 0) {
      if (auto client = tangram::http::Client::open(node.socket())) {
        const auto reply = client->exchange(method, target, body);
        if (reply) reply_text = cat(reply->status, " ", json::serialize(reply->body));
      }
    }
    const ssize_t written = ::write(ends[1], reply_text.data(), reply_text.size());
    ::_exit(written == static_cast<ssize_t>(reply_text.size()) ? 0 : 1);
  }
  ::close(ends[1]);
  std::string reply_text;
  char buffer[4096];
  for (ssize_t size = 0; (size = ::read(ends[0], buffer, sizeof buffer)) > 0;) {
    reply_text.append(buffer, static_cast<std::size_t>(size));
  }
  ::close(ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  const std::size_t space = reply_text.find(' ');
  const int code = std::stoi(reply_text.substr(0, space));
  EXPECT_TRUE(code == 0 || undocumented_reason(method, target, code).empty())
      << method << " " << target << " " << code;
  return {code, json::parse(reply_text.substr(space + 1))};
}

}  // namespace tangram::tests
