// llm-server: an HTTP server that behaves like a language model on a MIG instance. It takes a while
// to load, streams tokens one by one, and is as fast as its instance and the PCIe link allow: every
// token transfers weights over the link, which it shares with other instances (the emulated driver
// reports its share). An example of a service that is moved while clients read streams from it: on
// SIGTERM it stops accepting connections and finishes open streams.
//
//   GET /health                     200 once it has loaded
//   GET /whoami[?n=N]               {"n", "job", "run", "gpu", "start", "pid"}
//   GET /generate?tokens=N          text/event-stream: data: {"index": 0, "token": "…"} … [DONE]
//   POST /whoami, POST /generate    the same, with {"n": N} or {"tokens": N} in the body
//
// Environment: PORT; TANGRAM_PROFILE, TANGRAM_MIG_UUID, TANGRAM_NVML (set by Tangram);
// LOAD_MS (200), TOKENS_PER_SLICE (20 a second), KB_PER_TOKEN (20000).
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <memory>
#include <string>
#include <unistd.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <fmt/format.h>

#include "nvml/control.hpp"

namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using asio::ip::tcp;
using boost::system::error_code;
using namespace std::chrono_literals;

std::string variable(const char* name, const char* fallback = "") {
  const char* value = std::getenv(name);
  return value == nullptr ? fallback : value;
}
double number(const char* name, const char* fallback) {
  return std::strtod(variable(name, fallback).c_str(), nullptr);
}

// The process's share of the link's bandwidth, as the emulated driver reports it. On real hardware
// the duration of the copies would show it.
class Link {
 public:
  Link() : library_(dlopen(variable("TANGRAM_NVML").c_str(), RTLD_NOW)) {
    if (library_ == nullptr) return;
    demand_ = reinterpret_cast<decltype(demand_)>(dlsym(library_, "tangramEmulatorDemand"));
    share_ = reinterpret_cast<decltype(share_)>(dlsym(library_, "tangramEmulatorShare"));
  }
  // Requests `wanted` KB/s and returns the granted bandwidth; all of it without an emulated driver.
  [[nodiscard]] double request(double wanted) const {
    if (demand_ == nullptr || share_ == nullptr || uuid_.empty()) return wanted;
    const auto pid = static_cast<unsigned>(getpid());
    unsigned to_gpu = 0;
    unsigned from_gpu = 0;
    if (demand_(uuid_.c_str(), pid, static_cast<unsigned>(wanted), 0) != 0) return wanted;
    if (share_(uuid_.c_str(), pid, &to_gpu, &from_gpu) != 0) return wanted;
    return std::min(wanted, static_cast<double>(to_gpu));
  }

 private:
  void* library_;
  std::string uuid_ = variable("TANGRAM_MIG_UUID");
  decltype(&tangram::nvml::tangramEmulatorDemand) demand_ = nullptr;
  decltype(&tangram::nvml::tangramEmulatorShare) share_ = nullptr;
};

using Request = http::request<http::string_body>;

struct Server {
  asio::io_context loop{1};
  tcp::acceptor acceptor{loop};
  Link link;
  double slices = std::max(1.0, std::strtod(variable("TANGRAM_PROFILE", "1g").c_str(), nullptr));
  double fastest = number("TOKENS_PER_SLICE", "20") * slices;  // tokens per second without the link
  double kb_per_token = number("KB_PER_TOKEN", "20000");
  double rate = fastest;  // current tokens per second
  std::chrono::steady_clock::time_point loaded =
      std::chrono::steady_clock::now() +
      std::chrono::milliseconds(static_cast<int>(number("LOAD_MS", "200")));
  int streaming = 0;
  bool ending = false;

  asio::awaitable<void> accept();
  asio::awaitable<void> serve(tcp::socket socket);
  asio::awaitable<bool> generate(tcp::socket& socket, const Request& request);
  asio::awaitable<void> update_rate();
};

asio::awaitable<void> Server::update_rate() {
  asio::steady_timer timer(loop);
  while (!ending || streaming > 0) {
    const double granted = link.request(streaming > 0 ? fastest * kb_per_token : 0);
    if (streaming > 0) rate = std::max(0.5, std::min(fastest, granted / kb_per_token));
    timer.expires_after(100ms);
    co_await timer.async_wait(asio::use_awaitable);
  }
}

asio::awaitable<void> Server::accept() {
  while (!ending) {
    error_code failed;
    tcp::socket socket =
        co_await acceptor.async_accept(asio::redirect_error(asio::use_awaitable, failed));
    if (failed) continue;
    socket.set_option(tcp::no_delay(true));
    asio::co_spawn(loop, serve(std::move(socket)), asio::detached);
  }
}

// A parameter of the query (n=7), or of the body ("n": 7) if there is one.
long parameter(const Request& request, const std::string& name, long fallback) {
  const bool has_body = !request.body().empty();
  const std::string text = has_body ? request.body() : std::string(request.target());
  const std::string key = has_body ? fmt::format("\"{}\":", name) : name + "=";
  const std::size_t at = text.find(key);
  if (at == std::string::npos) return fallback;
  return std::strtol(text.c_str() + at + key.size(), nullptr, 10);
}

std::string whoami(long n) {
  return fmt::format(R"({{"n":{},"job":{},"run":{},"gpu":{},"start":{},"pid":{}}})", n,
                     variable("TANGRAM_JOB_ID", "0"), variable("TANGRAM_RUN_ID", "0"),
                     variable("TANGRAM_GPU", "0"), variable("TANGRAM_START", "0"), getpid());
}

asio::awaitable<void> Server::serve(tcp::socket socket) {
  boost::beast::flat_buffer buffer;
  error_code failed;
  while (true) {
    Request request;
    co_await http::async_read(socket, buffer, request,
                              asio::redirect_error(asio::use_awaitable, failed));
    if (failed) co_return;
    if (request.target().starts_with("/generate")) {
      const bool keep_alive = co_await generate(socket, request);
      if (!keep_alive) co_return;
      continue;
    }
    const bool is_loading = std::chrono::steady_clock::now() < loaded;
    http::response<http::string_body> response(
        is_loading ? http::status::service_unavailable : http::status::ok, request.version());
    response.set(http::field::content_type, "application/json");
    response.body() = whoami(parameter(request, "n", 0));
    response.keep_alive(request.keep_alive() && !ending);
    response.prepare_payload();
    co_await http::async_write(socket, response, asio::redirect_error(asio::use_awaitable, failed));
    if (failed || !response.keep_alive()) co_return;
  }
}

// Sends each token as a chunk when it is due. Returns whether the connection stays open.
asio::awaitable<bool> Server::generate(tcp::socket& socket, const Request& request) {
  const long tokens = std::clamp(parameter(request, "tokens", 16), 1L, 100'000L);
  ++streaming;
  error_code failed;
  http::response<http::empty_body> head(http::status::ok, request.version());
  head.set(http::field::content_type, "text/event-stream");
  head.chunked(true);
  head.keep_alive(request.keep_alive());
  http::response_serializer<http::empty_body> serializer(head);
  co_await http::async_write_header(socket, serializer,
                                    asio::redirect_error(asio::use_awaitable, failed));
  asio::steady_timer timer(loop);
  auto due = std::chrono::steady_clock::now();
  for (long i = 0; i < tokens && !failed; ++i) {
    due += std::chrono::duration_cast<std::chrono::steady_clock::duration>(
        std::chrono::duration<double>(1 / rate));
    timer.expires_at(due);
    co_await timer.async_wait(asio::use_awaitable);
    const std::string token = fmt::format("data: {{\"index\": {}, \"token\": \"t{}\"}}\n\n", i, i);
    co_await asio::async_write(socket, http::make_chunk(asio::buffer(token)),
                               asio::redirect_error(asio::use_awaitable, failed));
  }
  static constexpr std::string_view kDone = "data: [DONE]\n\n";
  if (!failed) {
    co_await asio::async_write(socket, http::make_chunk(asio::buffer(kDone)),
                               asio::redirect_error(asio::use_awaitable, failed));
  }
  if (!failed) {
    co_await asio::async_write(socket, http::make_chunk_last(),
                               asio::redirect_error(asio::use_awaitable, failed));
  }
  --streaming;
  co_return !failed && head.keep_alive();
}

}  // namespace

int main() {
  const auto port = static_cast<unsigned short>(number("PORT", "8000"));
  try {
    Server server;
    const tcp::endpoint where(asio::ip::address_v4::loopback(), port);
    server.acceptor.open(where.protocol());
    server.acceptor.set_option(tcp::acceptor::reuse_address(true));
    server.acceptor.bind(where);
    server.acceptor.listen(1024);
    asio::signal_set signals(server.loop, SIGTERM, SIGINT);
    asio::steady_timer drained(server.loop);
    signals.async_wait([&](const error_code& failed, int) {
      if (failed) return;
      server.ending = true;
      server.acceptor.close();
      const auto stop_when_idle = [&](const auto& self) -> void {
        if (server.streaming == 0) {
          server.loop.stop();
          return;
        }
        drained.expires_after(20ms);
        drained.async_wait([&, self](const error_code&) { self(self); });
      };
      stop_when_idle(stop_when_idle);
    });
    asio::co_spawn(server.loop, server.accept(), asio::detached);
    asio::co_spawn(server.loop, server.update_rate(), asio::detached);
    fmt::print("serving on 127.0.0.1:{} with {} slices\n", port, server.slices);
    std::fflush(stdout);
    server.loop.run();
  } catch (const std::exception& problem) {
    fmt::print(stderr, "llm-server: port {}: {}\n", port, problem.what());
    return 1;
  }
  return 0;
}
