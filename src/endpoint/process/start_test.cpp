// tangram-endpoint as a process: start, locking, privileges, signals, failures and how they are
// reported.
#include <filesystem>
#include <sys/resource.h>
#include <sys/stat.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "endpoint/process/privileges.hpp"
#include "endpoint/relay/log.hpp"
#include "tests/support/endpoint/endpoint.hpp"
#include "tests/support/os/keyring.hpp"
#include "tests/support/os/port_user.hpp"

namespace tangram::endpoint {
namespace {

using api::EndpointMode;
using testing::ControlClient;
using testing::eventually;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::Peer;
using testing::Replica;
using testing::TestEndpoint;
namespace json = boost::json;

std::string error_of(const json::object& ready) {
  EXPECT_EQ(ready.at("ready"), json::value(false));
  return ready.contains("error") ? std::string(ready.at("error").as_string()) : "";
}

std::string status_of(pid_t pid) {
  std::ifstream file(cat("/proc/", pid, "/status"));
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST(EndpointFolder, IsOnlyForItsOwnerAndKeepsTheNewestSpecification) {
  os::testing::Folder base;
  api::EndpointSpec spec;
  ASSERT_TRUE(prepare_endpoint_folder(base.at("e"), spec));
  struct stat status{};
  ASSERT_EQ(::stat(base.at("e").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777U, 0700U);
  ASSERT_EQ(::stat(base.at("e/spec.json").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777U, 0600U);
  spec.port = 4'711;
  ASSERT_TRUE(prepare_endpoint_folder(base.at("e"), spec));
  EXPECT_EQ(read_endpoint_folder(base.at("e")), spec);
}

TEST(EndpointFolder, ReportsWhatIsWrong) {
  os::testing::Folder base;
  EXPECT_FALSE(prepare_endpoint_folder(base.at("no/such/e"), {}));
  EXPECT_FALSE(is_endpoint_running(base.at("e")));
  EXPECT_FALSE(os::connect_in(base.at("e"), api::kControlSocket));
  base.write("e/spec.json", "{");
  const auto damaged = read_endpoint_folder(base.at("e"));
  ASSERT_FALSE(damaged);
  EXPECT_THAT(damaged.error().message, HasSubstr("damaged"));
}

TEST(EndpointStart, ListensAndGreetsAndEndsOnCommand) {
  TestEndpoint endpoint(EndpointMode::kTcp);
  const json::object ready = endpoint.start();
  EXPECT_EQ(ready.at("ready"), json::value(true));
  EXPECT_GT(endpoint.port(), 0);
  EXPECT_TRUE(is_endpoint_running(endpoint.folder()));
  const auto greeting = endpoint.control().next();
  ASSERT_TRUE(greeting);
  EXPECT_EQ(*greeting, (json::object{{"version", 1},
                                     {"endpoint", endpoint.pid()},
                                     {"host", "127.0.0.1"},
                                     {"port", endpoint.port()},
                                     {"run", nullptr}}));
  endpoint.control().end(0);
  EXPECT_EQ(endpoint.wait(), EndpointExit::kDone);
  EXPECT_FALSE(is_endpoint_running(endpoint.folder()));
  EXPECT_THAT(endpoint.log(), HasSubstr("serving job 7 (tcp) on 127.0.0.1"));
  EXPECT_THAT(endpoint.log(), HasSubstr("ended"));
}

TEST(EndpointStart, TheGreetingContainsTheRoute) {
  TestEndpoint endpoint(EndpointMode::kTcp);
  endpoint.start();
  endpoint.control().route(12, 20'003);
  EXPECT_EQ(ControlClient(endpoint.folder()).next()->at("run"), json::value(12));
  endpoint.control().hold();
  EXPECT_EQ(ControlClient(endpoint.folder()).next()->at("run"), json::value(nullptr));
}

TEST(EndpointStart, ASecondOneOnTheSameFolderIsRefused) {
  TestEndpoint endpoint(EndpointMode::kTcp);
  endpoint.start();
  EXPECT_EQ(TestEndpoint::wait_for(endpoint.spawn()),
            static_cast<int>(EndpointExit::kAlreadyRunning));
  endpoint.control().route(1, 1);  // the first one still serves
}

TEST(EndpointStart, OneThatWasKilledCanBeStartedAgainOnTheSameAddress) {
  TestEndpoint endpoint(EndpointMode::kTcp);
  endpoint.start();
  const Peer client = endpoint.client();
  endpoint.spec.port = endpoint.port();
  ::kill(endpoint.pid(), SIGKILL);
  EXPECT_EQ(static_cast<int>(endpoint.wait()), 128 + SIGKILL);
  EXPECT_FALSE(is_endpoint_running(endpoint.folder()));
  EXPECT_EQ(endpoint.start().at("ready"), json::value(true));
  EXPECT_TRUE(ControlClient(endpoint.folder()).next());
}

TEST(EndpointStart, APortInUseIsReported) {
  TestEndpoint first(EndpointMode::kTcp);
  first.start();
  TestEndpoint second(EndpointMode::kTcp);
  second.spec.port = first.port();
  EXPECT_THAT(error_of(second.start()), HasSubstr("stop the process that uses it"));
  EXPECT_EQ(second.wait(), EndpointExit::kCannotListen);
  EXPECT_THAT(second.log(), HasSubstr("Address already in use"));
}

TEST(EndpointStart, AnAddressOfAnotherMachineIsReported) {
  TestEndpoint endpoint(EndpointMode::kTcp);
  endpoint.spec.host = "192.0.2.1";
  EXPECT_THAT(error_of(endpoint.start()), HasSubstr("choose an address of this machine"));
  EXPECT_EQ(endpoint.wait(), EndpointExit::kCannotListen);
  TestEndpoint named(EndpointMode::kTcp);
  named.spec.host = "localhost";
  EXPECT_THAT(error_of(named.start()), HasSubstr("not an IP address"));
  EXPECT_EQ(named.wait(), EndpointExit::kCannotListen);
}

TEST(EndpointStart, AnAddressOfIpv6IsServed) {
  TestEndpoint endpoint(EndpointMode::kTcp);
  endpoint.spec.host = "::1";
  const json::object ready = endpoint.start();
  if (ready.at("ready") == json::value(false)) GTEST_SKIP() << "this machine has no ::1";
  const os::Descriptor client(::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in6 address{};
  address.sin6_family = AF_INET6;
  address.sin6_port = htons(endpoint.port());
  address.sin6_addr = in6addr_loopback;
  EXPECT_EQ(::connect(client.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
}

TEST(EndpointStart, ABadSpecificationIsReported) {
  TestEndpoint endpoint(EndpointMode::kTcp);
  endpoint.prepare();
  endpoint.base().write("endpoint/spec.json", R"({"version":99})");
  EXPECT_THAT(error_of(endpoint.start_prepared()), HasSubstr("knows 1 only"));
  EXPECT_EQ(endpoint.wait(), EndpointExit::kBadSpec);
  std::filesystem::remove(endpoint.folder() + "/spec.json");
  EXPECT_NE(error_of(endpoint.start_prepared()), "");
  EXPECT_EQ(endpoint.wait(), EndpointExit::kBadSpec);
  std::filesystem::remove_all(endpoint.folder());
  EXPECT_THAT(error_of(endpoint.start_prepared()), HasSubstr("folder"));
  EXPECT_EQ(endpoint.wait(), EndpointExit::kBadSpec);
}

TEST(EndpointStart, WrongArgumentsAreAnsweredWithTheUsage) {
  TestEndpoint endpoint(EndpointMode::kTcp);
  EXPECT_EQ(TestEndpoint::wait_for(endpoint.spawn({"--what"})),
            static_cast<int>(EndpointExit::kUsage));
  EXPECT_EQ(TestEndpoint::wait_for(endpoint.spawn({"--ready-fd", "x"})),
            static_cast<int>(EndpointExit::kUsage));
}

TEST(EndpointStart, SigtermEndsItAndOtherSignalsDoNot) {
  TestEndpoint endpoint(EndpointMode::kTcp);
  endpoint.start();
  for (const int signal : {SIGHUP, SIGPIPE, SIGUSR1, SIGUSR2, SIGQUIT}) {
    ::kill(endpoint.pid(), signal);
  }
  endpoint.control().route(1, 1);
  ::kill(endpoint.pid(), SIGTERM);
  EXPECT_EQ(endpoint.wait(), EndpointExit::kDone);
}

TEST(EndpointStart, IsOfASessionOfItsOwnAndKeepsNoFileOfItsParent) {
  TestEndpoint endpoint(EndpointMode::kTcp);
  endpoint.prepare();
  const os::Descriptor held(::open("/dev/null", O_RDONLY));  // not close-on-exec
  const int high = ::fcntl(held.get(), F_DUPFD, 100);
  endpoint.start_prepared();
  ::close(high);
  EXPECT_EQ(::getsid(endpoint.pid()), endpoint.pid());
  for (const auto& file :
       std::filesystem::directory_iterator(cat("/proc/", endpoint.pid(), "/fd"))) {
    const int fd = std::stoi(file.path().filename());
    EXPECT_LT(fd, 100);
    if (fd > 2) continue;
    EXPECT_EQ(std::filesystem::read_symlink(file.path()), "/dev/null");
  }
  EXPECT_EQ(std::filesystem::read_symlink(cat("/proc/", endpoint.pid(), "/cwd")), "/");
}

TEST(EndpointStart, RaisesItsLimitOfOpenFilesAndKeepsToIt) {
  TestEndpoint endpoint(EndpointMode::kTcp);
  endpoint.start([] {
    const rlimit limit{.rlim_cur = 32, .rlim_max = 200};
    ::setrlimit(RLIMIT_NOFILE, &limit);
  });
  rlimit limit{};
  ASSERT_EQ(::prlimit(endpoint.pid(), RLIMIT_NOFILE, nullptr, &limit), 0);
  EXPECT_EQ(limit.rlim_cur, 200U);
  EXPECT_THAT(endpoint.log(), HasSubstr("reduced max connections from 4096 to 60"));
}

TEST(EndpointStart, AsRootItSwitchesToItsUserOnly) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root, to become another user";
  constexpr std::uint32_t kNobody = 65'534;
  os::testing::PortUser replica(kNobody);
  ASSERT_TRUE(replica.listen());
  replica.accept();
  TestEndpoint endpoint(EndpointMode::kTcp);
  endpoint.spec.user = api::EndpointSpec::User{.uid = kNobody, .gid = kNobody};
  endpoint.start();
  endpoint.control().route(1, replica.port());
  const std::string status = status_of(endpoint.pid());
  EXPECT_THAT(status, HasSubstr("Uid:\t65534\t65534\t65534\t65534\n"));
  EXPECT_THAT(status, HasSubstr("Gid:\t65534\t65534\t65534\t65534\n"));
  EXPECT_THAT(status, HasSubstr("Groups:\t65534 \n"));
  EXPECT_THAT(status, HasSubstr("NoNewPrivs:\t1\n"));
  for (const char* set : {"CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"}) {
    EXPECT_THAT(status, HasSubstr(cat(set, ":\t0000000000000000\n")));
  }
  const Peer client = endpoint.client();
  client.send("hello");
  EXPECT_THAT(client.read_until("answer"), HasSubstr("answer"));
  EXPECT_EQ(replica.report().bytes, 5U);
  EXPECT_THAT(endpoint.log(), HasSubstr("route: run 1"));  // written after dropping privileges
  endpoint.control().end(0);
  EXPECT_EQ(endpoint.wait(), EndpointExit::kDone);
}

TEST(EndpointStart, TheEndpointOfRootsServiceRunsAsNobody) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root, to become another user";
  Replica replica([](Peer& peer) { peer.send("served"); });
  TestEndpoint endpoint(EndpointMode::kTcp);
  endpoint.spec.user = api::EndpointSpec::User{.uid = 0, .gid = 0};
  endpoint.start_to(replica);
  const std::string status = status_of(endpoint.pid());
  EXPECT_THAT(status, HasSubstr("Uid:\t65534\t65534\t65534\t65534\n"));
  EXPECT_THAT(status, HasSubstr("Gid:\t65534\t65534\t65534\t65534\n"));
  for (const char* set : {"CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"}) {
    EXPECT_THAT(status, HasSubstr(cat(set, ":\t0000000000000000\n")));
  }
  EXPECT_EQ(endpoint.client().read_all(), "served<eof>");
  EXPECT_THAT(endpoint.log(), HasSubstr("route: run 1"));
  endpoint.control().end(0);
  EXPECT_EQ(endpoint.wait(), EndpointExit::kDone);
}

TEST(EndpointStart, WithoutAUserItKeepsNoCapability) {
  TestEndpoint endpoint(EndpointMode::kTcp);
  endpoint.start();
  const std::string status = status_of(endpoint.pid());
  for (const char* set : {"CapInh", "CapPrm", "CapEff", "CapAmb"}) {
    EXPECT_THAT(status, HasSubstr(cat(set, ":\t0000000000000000\n")));
  }
}

TEST(EndpointPrivileges, TheSessionKeyringOfTheDaemonIsLeft) {
  if (!os::testing::join_session_keyring()) GTEST_SKIP() << "this machine has no keyrings";
  const long key = os::testing::add_session_key("tangram-test", "daemon-secret");
  ASSERT_EQ(os::testing::read_key(key), "daemon-secret");
  const os::testing::Folder base;
  const os::Descriptor folder(::open(base.at("").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const pid_t pid = ::fork();
  if (pid == 0) {
    Log log(folder.get());
    const bool is_dropped = drop_privileges(std::nullopt, log).has_value();
    ::_exit(is_dropped && os::testing::read_key(key) == cat("errno ", EACCES) ? 0 : 1);
  }
  EXPECT_EQ(os::testing::wait_for_end(pid), 0);
  EXPECT_FALSE(base.has("log") && base.read("log").find("keyring") != std::string::npos);
}

TEST(EndpointStart, ServesWhereKeyringsAreRefusedAndLogsIt) {
  for (const int error : {ENOSYS, EPERM}) {
    TestEndpoint endpoint(EndpointMode::kTcp);
    const auto refuse = [error] { os::testing::refuse_keyctl(error); };
    EXPECT_EQ(endpoint.start(refuse).at("ready"), json::value(true));
    EXPECT_THAT(endpoint.log(), HasSubstr("session keyring"));
  }
}

TEST(EndpointStart, IsRefusedIfItCannotLeaveTheSessionKeyring) {
  TestEndpoint endpoint(EndpointMode::kTcp);
  const auto refuse = [] { os::testing::refuse_keyctl(ENOMEM); };
  EXPECT_THAT(error_of(endpoint.start(refuse)), HasSubstr("cannot create a session keyring"));
  EXPECT_EQ(endpoint.wait(), EndpointExit::kFailed);
}

TEST(EndpointLog, IsBoundedAndKeepsTheNewest) {
  os::testing::Folder base;
  const os::Descriptor folder(::open(base.at("").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const std::string line(200, 'x');
  {
    Log log(folder.get());
    for (int i = 0; i < 5'000; ++i) log.write(cat(line, " ", i));
  }
  Log(folder.get()).write("again");
  const std::string text = base.read("log");
  EXPECT_LE(text.size(), Log::kMaxBytes);
  EXPECT_GT(text.size(), Log::kMaxBytes / 4);
  EXPECT_THAT(text, HasSubstr(" 4999\n"));
  EXPECT_THAT(text, Not(HasSubstr(" 17\n")));
  EXPECT_THAT(text, HasSubstr(" again\n"));
  EXPECT_TRUE(text.starts_with("20"));  // no partial line
}

}  // namespace
}  // namespace tangram::endpoint
