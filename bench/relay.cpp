// The parts of tools/bench-relay: a small replica, a client that sends requests at a fixed rate,
// and a control client of tangram-endpoint. A client that waits for a response before its next
// request (wrk) would hide delays, so latency counts from the moment a request was due, not from
// when it could be sent.
#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <deque>
#include <map>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string>
#include <string_view>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>
#include <vector>

#include "api/run_spec.hpp"
#include "base/check.hpp"
#include "base/text.hpp"
#include "endpoint/process/folder.hpp"
#include "os/local_socket.hpp"

namespace {

using Clock = std::chrono::steady_clock;
using Moment = Clock::time_point;

constexpr std::string_view kFields = "Host: bench\r\nUser-Agent: bench\r\nAccept: */*\r\n\r\n";

std::string request_of(std::string_view method) {
  const std::string_view length = method == "POST" ? "Content-Length: 0\r\n" : "";
  return tangram::cat(method, " /v1/models HTTP/1.1\r\n", length, kFields);
}

std::string answer() {
  const std::string body(256, 'x');
  return tangram::cat("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: ",
                      body.size(), "\r\n\r\n", body);
}

sockaddr_in loopback(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

void watch(int loop, int fd) {
  epoll_event event{.events = EPOLLIN, .data = {.fd = fd}};
  CHECK(::epoll_ctl(loop, EPOLL_CTL_ADD, fd, &event) == 0);
}

void send_at_once(int fd) {
  const int one = 1;
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
}

bool send_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t sent = ::send(fd, text.data(), text.size(), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

// Sends a large body, blocking; other clients are not served meanwhile.
void send_large(int fd, std::size_t mib) {
  const std::string piece(std::size_t{1} << 20U, 'x');
  bool ok =
      send_all(fd, tangram::cat("HTTP/1.1 200 OK\r\nContent-Length: ", mib << 20U, "\r\n\r\n"));
  for (std::size_t i = 0; i < mib && ok; ++i) ok = send_all(fd, piece);
}

// Answers every empty line; sufficient for requests whose bodies have none. /large/N has a body of
// N MiB.
void respond_all(int fd, std::string_view bytes) {
  static const std::string kText = answer();
  constexpr std::string_view kLarge = "GET /large/";
  for (std::size_t end = 0; (end = bytes.find("\r\n\r\n")) != std::string_view::npos;) {
    if (bytes.starts_with(kLarge)) {
      send_large(fd,
                 std::strtoul(std::string(bytes.substr(kLarge.size(), 8)).c_str(), nullptr, 10));
    } else {
      (void)send_all(fd, kText);
    }
    bytes.remove_prefix(end + 4);
  }
}

[[noreturn]] void serve() {
  const int listener = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address = loopback(0);
  socklen_t size = sizeof address;
  CHECK(::bind(listener, reinterpret_cast<sockaddr*>(&address), size) == 0);
  CHECK(::listen(listener, 1'024) == 0);
  CHECK(::getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size) == 0);
  std::printf("%d\n", ntohs(address.sin_port));
  std::fflush(stdout);
  const int loop = ::epoll_create1(0);
  watch(loop, listener);
  std::array<char, 16'384> buffer{};
  std::array<epoll_event, 64> events{};
  while (true) {
    const int count = ::epoll_wait(loop, events.data(), static_cast<int>(events.size()), -1);
    for (int i = 0; i < count; ++i) {
      const int fd = events[static_cast<std::size_t>(i)].data.fd;
      if (fd == listener) {
        const int client = ::accept(listener, nullptr, nullptr);
        if (client < 0) continue;
        send_at_once(client);
        watch(loop, client);
        continue;
      }
      const ssize_t got = ::recv(fd, buffer.data(), buffer.size(), 0);
      if (got <= 0) {
        ::close(fd);
        continue;
      }
      respond_all(fd, {buffer.data(), static_cast<std::size_t>(got)});
    }
  }
}

// A client with some connections that sends `rate` requests a second, regardless of the responses.
class Paced {
 public:
  Paced(int port, int rate, std::string_view method)
      : pause_(std::chrono::nanoseconds(1'000'000'000 / rate)), request_(request_of(method)) {
    const sockaddr_in address = loopback(port);
    for (int i = 0; i < kConnections; ++i) {
      const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
      CHECK(::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
      send_at_once(fd);
      watch(loop_, fd);
      free_.push_back(fd);
    }
    watch(loop_, timer_);
  }

  void run(std::chrono::seconds time) {
    next_ = Clock::now();
    const Moment end = next_ + time;
    while (next_ < end || !busy_.empty()) {
      send_due(end);
      set_timer();
      std::array<epoll_event, 64> events{};
      const int count = ::epoll_wait(loop_, events.data(), static_cast<int>(events.size()), 1'000);
      for (int i = 0; i < count; ++i) receive(events[static_cast<std::size_t>(i)].data.fd);
    }
  }
  void print() {
    std::ranges::sort(times_);
    const auto at = [&](double part) {
      return times_.at(static_cast<std::size_t>(part * static_cast<double>(times_.size() - 1)));
    };
    std::printf("%.1f %.1f %zu\n", at(0.5), at(0.99), times_.size());
  }

 private:
  static constexpr int kConnections = 32;

  struct PendingResponse {
    Moment due;
    std::size_t left;  // bytes of the response
  };

  void send_due(Moment end) {
    const Moment now = Clock::now();
    for (; next_ <= now && next_ < end; next_ += pause_) due_.push_back(next_);
    while (!due_.empty() && !free_.empty()) {
      const int fd = free_.back();
      free_.pop_back();
      CHECK(::send(fd, request_.data(), request_.size(), MSG_NOSIGNAL) > 0);
      busy_[fd] = {due_.front(), answer_size_};
      due_.pop_front();
    }
  }
  void set_timer() const {
    const auto since = next_.time_since_epoch();
    const auto whole = std::chrono::duration_cast<std::chrono::seconds>(since);
    itimerspec when{};
    when.it_value = {.tv_sec = whole.count(),
                     .tv_nsec = std::chrono::nanoseconds(since - whole).count()};
    ::timerfd_settime(timer_, TFD_TIMER_ABSTIME, &when, nullptr);
  }
  void receive(int fd) {
    std::array<char, 4'096> buffer{};
    if (fd == timer_) {
      [[maybe_unused]] const ssize_t ignored = ::read(timer_, buffer.data(), 8);
      return;
    }
    const ssize_t got = ::recv(fd, buffer.data(), buffer.size(), 0);
    if (got <= 0) {
      std::fprintf(stderr, "relay: a connection ended\n");
      std::exit(1);
    }
    PendingResponse& pending = busy_.at(fd);
    pending.left -= std::min(pending.left, static_cast<std::size_t>(got));
    if (pending.left > 0) return;
    times_.push_back(std::chrono::duration<double, std::micro>(Clock::now() - pending.due).count());
    busy_.erase(fd);
    free_.push_back(fd);
  }

  std::chrono::nanoseconds pause_;
  std::string request_;
  int loop_ = ::epoll_create1(0);
  int timer_ = ::timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
  std::size_t answer_size_ = answer().size();
  Moment next_{};
  std::deque<Moment> due_;
  std::vector<int> free_;
  std::map<int, PendingResponse> busy_;
  std::vector<double> times_;
};

// Downloads bodies of `mib` MiB for `time`, and prints the MiB per second.
int fetch(int port, int mib, std::chrono::seconds time) {
  const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
  const sockaddr_in address = loopback(port);
  CHECK(::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
  const std::string request = tangram::cat("GET /large/", mib, " HTTP/1.1\r\n", kFields);
  std::vector<char> buffer(std::size_t{1} << 18U);
  std::uint64_t whole = 0;
  const Moment begin = Clock::now();
  while (Clock::now() - begin < time) {
    if (!send_all(fd, request)) return 1;
    const std::uint64_t body = static_cast<std::uint64_t>(mib) << 20U;
    std::string head;
    std::uint64_t received = 0;
    std::size_t end = std::string::npos;
    while (end == std::string::npos || received < end + 4 + body) {
      const ssize_t got = ::recv(fd, buffer.data(), buffer.size(), 0);
      if (got <= 0) return 1;
      received += static_cast<std::uint64_t>(got);
      if (end != std::string::npos) continue;
      head.append(buffer.data(), static_cast<std::size_t>(got));
      end = head.find("\r\n\r\n");
    }
    whole += body;
  }
  const std::chrono::duration<double> took = Clock::now() - begin;
  std::printf("%.1f\n", static_cast<double>(whole >> 20U) / took.count());
  ::close(fd);
  return 0;
}

int prepare(const std::string& folder) {
  tangram::api::EndpointSpec spec;
  spec.mode = tangram::api::EndpointMode::kHttp;
  const auto done = tangram::endpoint::prepare_endpoint_folder(folder, spec);
  if (!done) std::fprintf(stderr, "%s\n", done.error().message.c_str());
  return done ? 0 : 1;
}

// Sets the endpoint's route to its replica and waits until it is applied.
int route(const std::string& folder, const std::string& port) {
  const auto control = tangram::os::connect_in(folder, tangram::api::kControlSocket);
  if (!control) return 1;
  const std::string line =
      tangram::cat(R"({"do":"route","id":1,"run":1,"port":)", port, R"(,"drain_ms":0})", "\n");
  CHECK(::send(control->get(), line.data(), line.size(), 0) > 0);
  std::string received;
  std::array<char, 4'096> buffer{};
  while (received.find("\"done\"") == std::string::npos) {
    const ssize_t got = ::recv(control->get(), buffer.data(), buffer.size(), 0);
    if (got > 0) received.append(buffer.data(), static_cast<std::size_t>(got));
    if (got == 0 || (got < 0 && errno != EAGAIN)) return 1;
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (words.size() == 1 && words[0] == "serve") serve();
  if (words.size() == 2 && words[0] == "prepare") return prepare(words[1]);
  if (words.size() == 3 && words[0] == "route") return route(words[1], words[2]);
  if (words.size() == 4 && words[0] == "fetch") {
    const auto port = tangram::parse_int(words[1], 1, 65'535);
    const auto mib = tangram::parse_int(words[2], 1, 65'536);
    const auto seconds = tangram::parse_int(words[3], 1, 3'600);
    if (port && mib && seconds) return fetch(*port, *mib, std::chrono::seconds(*seconds));
  }
  if (words.size() == 5 && words[0] == "ask") {
    const auto port = tangram::parse_int(words[1], 1, 65'535);
    const auto rate = tangram::parse_int(words[2], 1, 1'000'000);
    const auto seconds = tangram::parse_int(words[3], 1, 3'600);
    if (port && rate && seconds) {
      Paced client(*port, *rate, words[4]);
      client.run(std::chrono::seconds(*seconds));
      client.print();
      return 0;
    }
  }
  std::fputs(
      "usage: relay serve | prepare FOLDER | route FOLDER PORT | ask PORT RATE SECONDS METHOD |\n"
      "       fetch PORT MIB SECONDS\n"
      "see tools/bench-relay\n",
      stderr);
  return 2;
}
