// See service_node.hpp.
#include "service_node.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http.hpp>
#include <gtest/gtest.h>

#include "base/text.hpp"

namespace tangram::tests {

namespace json = boost::json;

namespace {

NodeOptions without_own_moves(NodeOptions options) {
  if (options.config.find("migration") == std::string::npos) {
    options.config += "[scheduler]\nmigration = \"off\"\ncooldown = \"0s\"\n";
  }
  return options;
}

}  // namespace

ServiceNode::ServiceNode(NodeOptions options, const json::object& more, int load_ms)
    : node(without_own_moves(std::move(options))) {
  node.start();
  set_load_time(load_ms);
  json::object request{{"kind", "service"},
                       {"probe", {{"kind", "http"}, {"path", "/health"}, {"interval", "20ms"}}},
                       {"move", {{"way", "replica"}}}};
  for (const auto& each : more) request[each.key()] = each.value();
  job = node.submit("1g.5gb", cat("LOAD_MS=$(cat ", node.at("load"), ") exec " TANGRAM_LLM_SERVER),
                    request);
  node.await(job, "running");
  eventually("the service has an address", [&] { return !node.job(job).at("address").is_null(); });
  eventually("the service answers", [&] { return get("/whoami").first == 200; });
}

void ServiceNode::set_load_time(int ms) { node.folder().write("load", std::to_string(ms)); }

std::uint16_t ServiceNode::port() { return node.job(job).at("port").to_number<std::uint16_t>(); }

std::pair<int, int> ServiceNode::slot() {
  const json::object now = node.job(job);
  return {now.at("gpu").to_number<int>(), now.at("start").to_number<int>()};
}

void ServiceNode::request_move(int gpu, int start, int status) {
  node.call("POST", cat("/v1/jobs/", job, "/move"), status,
            json::object{{"to", {{"gpu", gpu}, {"start", start}}}});
}

void ServiceNode::await_no_move() {
  eventually("no move is under way", [&] { return node.job(job).at("moving") == false; });
}

bool ServiceNode::move(int gpu, int start) {
  request_move(gpu, start);
  await_no_move();
  return slot() == std::pair(gpu, start);
}

std::pair<int, std::string> ServiceNode::get(const std::string& path) {
  return get_at(port(), path);
}

std::pair<int, std::string> get_at(std::uint16_t port, const std::string& path) {
  return get_in_time(port, path, std::chrono::minutes(10));
}

std::pair<int, std::string> get_in_time(std::uint16_t port, const std::string& path,
                                        std::chrono::milliseconds time) {
  namespace http = boost::beast::http;
  boost::asio::io_context loop;
  boost::beast::tcp_stream stream(loop);
  http::request<http::empty_body> request(http::verb::get, path, 11);
  request.set(http::field::host, "localhost");
  request.keep_alive(false);
  boost::beast::flat_buffer buffer;
  http::response<http::string_body> response;
  std::string failed;
  const auto note = [&](const boost::system::error_code& error) {
    if (error) failed = error.message();
    return !error;
  };
  stream.expires_after(time);
  stream.async_connect(
      boost::asio::ip::tcp::endpoint(boost::asio::ip::address_v4::loopback(), port),
      [&](const boost::system::error_code& connected) {
        if (!note(connected)) return;
        http::async_write(stream, request, [&](const auto& written, std::size_t) {
          if (!note(written)) return;
          http::async_read(stream, buffer, response,
                           [&](const auto& read, std::size_t) { (void)note(read); });
        });
      });
  loop.run();
  if (!failed.empty()) return {0, failed};
  return {static_cast<int>(response.result_int()), response.body()};
}

}  // namespace tangram::tests
