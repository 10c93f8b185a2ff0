// [hooks]: a program and a URL that are told of the end of jobs, through the real daemon.
#include <fstream>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

#include <boost/json/parse.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/ssl.h>

#include "base/text.hpp"
#include "node.hpp"
#include "os/descriptor.hpp"
#include "tcp_node.hpp"
#include "tests/support/http/keys.hpp"

namespace tangram::tests {
namespace {

namespace json = boost::json;
using testing::HasSubstr;

// The value of tangram_hooks_total for a result.
int count_of(Node& node, const std::string& hook, const std::string& result) {
  const std::string text = node.call("GET", "/metrics").as_string().c_str();
  const std::string name = cat("tangram_hooks_total{hook=\"", hook, "\",result=\"", result, "\"} ");
  const std::size_t at = text.find(name);
  return at == std::string::npos ? -1 : std::stoi(text.substr(at + name.size()));
}

// A program in `folder` that runs `script`.
std::string program(const os::testing::Folder& folder, const std::string& script) {
  const std::string path = folder.write("hook", cat("#!/bin/sh\n", script, "\n"));
  EXPECT_EQ(::chmod(path.c_str(), 0755), 0);
  return path;
}

TEST(Hooks, AProgramGetsEveryEndedJobOnItsStandardInput) {
  const os::testing::Folder folder;
  const std::string out = folder.at("out");
  const std::string hook =
      program(folder, cat("echo \"$1 $TANGRAM_JOB_ID $TANGRAM_JOB_STATE $(cat)\" >> ", out));
  Node node({.config = cat("[hooks]\ncommand = [\"", hook, "\", \"a b; exit 1\"]\n")});
  node.start();
  const auto failed = node.submit("1g.5gb", "exit 3", {{"labels", {{"team", "x"}}}});
  node.await(failed, "failed");
  eventually("the hook was run", [&] { return count_of(node, "command", "ok") == 1; });
  const std::string line = folder.read("out");
  const std::string begin = "a b; exit 1 1 failed {";
  ASSERT_TRUE(line.starts_with(begin)) << line;
  const json::value job = json::parse(line.substr(begin.size() - 1));
  EXPECT_EQ(job.at("id"), 1);
  EXPECT_EQ(job.at("exit_code"), 3);
  EXPECT_EQ(job.at("state"), "failed");
  EXPECT_EQ(job.at("request").at("labels"), (json::object{{"team", "x"}}));
  EXPECT_FALSE(job.at("request").as_object().contains("environment"));
}

TEST(Hooks, AProgramInheritsNoDescriptors) {
  const os::testing::Folder folder;
  const std::string hook = program(folder, cat("ls /proc/self/fd > ", folder.at("out")));
  Node node({.config = cat("[hooks]\ncommand = [\"", hook, "\"]\n")});
  node.start();
  node.await(node.submit("1g.5gb", "true"), "completed");
  eventually("the hook was run", [&] { return count_of(node, "command", "ok") == 1; });
  EXPECT_EQ(folder.read("out"), "0\n1\n2\n3\n");  // 3: the listing itself
}

TEST(Hooks, FailuresAreLoggedAndCountedAndDelayNobody) {
  const os::testing::Folder folder;
  Node node({.config = "[hooks]\ncommand = [\"/nowhere/hook\"]\n"});
  node.start();
  node.await(node.submit("1g.5gb", "true"), "completed");
  eventually("a missing program fails", [&] { return count_of(node, "command", "failed") == 1; });
  EXPECT_THAT(node.log(), HasSubstr("hooks: command for job 1: cannot execute it: No such file"));
  node.folder().write("tangram.toml", cat("[hooks]\ncommand = [\"",
                                          program(folder, "sleep 1000 & exit 4"), "\"]\n"));
  node.reload();
  eventually("it is reloaded",
             [&] { return node.log().find("configuration reloaded") != std::string::npos; });
  node.await(node.submit("1g.5gb", "true"), "completed");
  eventually("an exit code is a failure", [&] { return count_of(node, "command", "failed") == 2; });
  EXPECT_THAT(node.log(), HasSubstr("hooks: command for job 2: exited with 4"));
}

TEST(Hooks, OneThatHangsIsKilledAndAtMostFourRunAtOnce) {
  const os::testing::Folder folder;
  const std::string hook =
      program(folder, cat("echo $TANGRAM_JOB_ID >> ", folder.at("begun"), "; sleep 1000"));
  Node node({.config = cat("[hooks]\ncommand = [\"", hook, "\"]\n")});
  node.start();
  for (int i = 0; i < 6; ++i) node.submit("1g.5gb", "true");
  for (std::uint64_t id = 1; id <= 6; ++id) node.await(id, "completed");
  const auto begun = [&] {
    const std::string text = folder.read("begun");
    return std::ranges::count(text, '\n');
  };
  eventually("four have begun", [&] { return begun() == 4; });
  EXPECT_EQ(node.call("GET", "/v1/status").at("over"), 6);  // the daemon answers
  eventually("all were killed", [&] { return count_of(node, "command", "timeout") == 6; });
  EXPECT_EQ(begun(), 6);
  EXPECT_THAT(node.log(), HasSubstr("did not end within 10 s"));
}

TEST(Hooks, WhatTheDaemonsEndInterruptedIsRepeated) {
  const os::testing::Folder folder;
  const std::string hook = program(folder, cat("echo $TANGRAM_JOB_ID >> ", folder.at("begun"), "; ",
                                               "[ -e ", folder.at("go"), " ] || sleep 1000"));
  Node node({.config = cat("[hooks]\ncommand = [\"", hook, "\"]\n")});
  node.start();
  node.await(node.submit("1g.5gb", "true"), "completed");
  eventually("it has begun", [&] { return folder.read("begun") == "1\n"; });
  node.kill();
  folder.write("go", "");
  node.start();
  eventually("it is repeated", [&] { return count_of(node, "command", "ok") == 1; });
  EXPECT_EQ(folder.read("begun"), "1\n1\n");
  node.stop();
  node.start();
  node.await(node.submit("1g.5gb", "true"), "completed");
  eventually("only the next is new", [&] { return count_of(node, "command", "ok") == 1; });
  EXPECT_EQ(folder.read("begun"), "1\n1\n2\n");
}

// A TLS server that answers one request with 204 and keeps it.
class HookServer {
 public:
  explicit HookServer(const http::testing::TestKeys& keys) : port_(free_port()) {
    SSL_CTX* const context = ::SSL_CTX_new(::TLS_server_method());
    EXPECT_EQ(::SSL_CTX_use_certificate_file(context, keys.certificate().c_str(), SSL_FILETYPE_PEM),
              1);
    EXPECT_EQ(::SSL_CTX_use_PrivateKey_file(context, keys.key().c_str(), SSL_FILETYPE_PEM), 1);
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(port_);
    EXPECT_EQ(::bind(listener_, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(::listen(listener_, 4), 0);
    thread_ = std::thread([this, context] {
      serve(context);
      ::SSL_CTX_free(context);
    });
  }
  ~HookServer() {
    ::shutdown(listener_, SHUT_RDWR);
    thread_.join();
    ::close(listener_);
  }
  HookServer(const HookServer&) = delete;
  HookServer& operator=(const HookServer&) = delete;
  HookServer(HookServer&&) = delete;
  HookServer& operator=(HookServer&&) = delete;

  [[nodiscard]] std::uint16_t port() const { return port_; }
  // Call after the hook has succeeded.
  [[nodiscard]] std::string request() const { return request_; }

 private:
  void serve(SSL_CTX* context) {
    for (int fd = 0; (fd = ::accept(listener_, nullptr, nullptr)) >= 0; ::close(fd)) {
      SSL* const ssl = ::SSL_new(context);
      ::SSL_set_fd(ssl, fd);
      if (::SSL_accept(ssl) == 1) answer(ssl);
      ::SSL_free(ssl);
    }
  }
  void answer(SSL* ssl) {
    char buffer[65'536];
    std::string text;
    while (text.find("}\n") == std::string::npos && !text.ends_with("}")) {
      const int count = ::SSL_read(ssl, buffer, sizeof buffer);
      if (count <= 0) return;
      text.append(buffer, static_cast<std::size_t>(count));
    }
    request_ = text;
    constexpr std::string_view kReply = "HTTP/1.1 204 No Content\r\n\r\n";
    ::SSL_write(ssl, kReply.data(), static_cast<int>(kReply.size()));
    ::SSL_shutdown(ssl);
  }

  std::uint16_t port_;
  int listener_ = -1;
  std::thread thread_;
  std::string request_;
};

TEST(Hooks, AUrlGetsEveryEndedJobIfItsCertificateIsGood) {
  const http::testing::TestKeys keys;
  const HookServer server(keys);
  const std::string url = cat("url = \"https://localhost:", server.port(), "/jobs?x=1\"\n");
  Node node({.config = cat("[hooks]\n", url, "ca_file = \"", keys.ca().string(), "\"\n")});
  node.start();
  node.await(node.submit("1g.5gb", "true"), "completed");
  eventually("the URL was called", [&] { return count_of(node, "url", "ok") == 1; });
  EXPECT_THAT(server.request(), testing::StartsWith("POST /jobs?x=1 HTTP/1.1\r\n"));
  EXPECT_THAT(server.request(), HasSubstr("\"state\":\"completed\""));
  // The system's CAs do not know this server.
  node.folder().write("tangram.toml", cat("[hooks]\n", url));
  node.reload();
  eventually("it is reloaded",
             [&] { return node.log().find("configuration reloaded") != std::string::npos; });
  node.await(node.submit("1g.5gb", "true"), "completed");
  eventually("a certificate that is not trusted fails",
             [&] { return count_of(node, "url", "failed") == 1; });
  EXPECT_THAT(node.log(), HasSubstr("TLS handshake with localhost failed"));
}

}  // namespace
}  // namespace tangram::tests
