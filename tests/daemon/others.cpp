// See others.hpp.
#include "others.hpp"

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <gtest/gtest.h>

#include "base/text.hpp"
#include "contract.hpp"
#include "http/client.hpp"
#include "node.hpp"

namespace tangram::tests {

namespace json = boost::json;

void let_others_in(const Node& node) { EXPECT_EQ(::chmod(node.at(".").c_str(), 0755), 0); }

std::pair<int, json::value> ask_as(uid_t uid, const Node& node, const std::string& method,
                                   const std::string& target,
                                   const std::optional<json::value>& body) {
  int ends[2];
  EXPECT_EQ(::pipe(ends), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    std::string told = "0 null";
    if (::setgid(uid) == 0 && ::setuid(uid) == 0) {
      if (auto client = http::Client::open(node.socket())) {
        const auto reply = client->exchange(method, target, body);
        if (reply) told = cat(reply->status, " ", json::serialize(reply->body));
      }
    }
    const ssize_t written = ::write(ends[1], told.data(), told.size());
    ::_exit(written == static_cast<ssize_t>(told.size()) ? 0 : 1);
  }
  ::close(ends[1]);
  std::string told;
  char piece[4096];
  for (ssize_t size = 0; (size = ::read(ends[0], piece, sizeof piece)) > 0;) {
    told.append(piece, static_cast<std::size_t>(size));
  }
  ::close(ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  const std::size_t blank = told.find(' ');
  const int answered = std::stoi(told.substr(0, blank));
  EXPECT_TRUE(answered == 0 || undocumented(method, target, answered).empty())
      << method << " " << target << " " << answered;
  return {answered, json::parse(told.substr(blank + 1))};
}

}  // namespace tangram::tests
