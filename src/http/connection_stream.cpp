// See connection.hpp: the beginning, the pieces and the end of an answer whose length nobody knows.
// Chunks need HTTP/1.1; an older client reads until the connection is closed. One rule: who reads
// slowly is waited for, and nothing is made for him meanwhile; who is not let in any more is told
// nothing more, not even that this is the end.
#include <boost/asio/write.hpp>
#include <boost/beast/http/chunk_encode.hpp>

#include "http/session.hpp"

namespace tangram::http {

namespace bhttp = beast::http;

void Session::watch_over(const Caller& caller) {
  if (!caller.token || !house_->doors.still_valid) return;
  guard_.emplace(stream_.get_executor());
  look_after(caller);
}

void Session::look_after(const Caller& caller) {
  guard_->expires_after(house_->options.heartbeat);
  guard_->async_wait([weak = weak_from_this(), caller](ErrorStatus status) {
    const auto self = weak.lock();
    if (status || !self || !self->guard_) return;
    if (!self->may_go_on(caller)) return self->end();
    self->look_after(caller);
  });
}

Task<bool> Session::write_stream_head(const char* type, Frame frame, const Caller& caller) {
  const bool chunked = frame.version == 11;
  bhttp::response<bhttp::empty_body> head(bhttp::status::ok, frame.version);
  head.set(bhttp::field::server, "tangramd");
  head.set(bhttp::field::content_type, type);
  head.set(bhttp::field::cache_control, "no-store");
  head.chunked(chunked);
  head.keep_alive(frame.keep_alive && chunked);
  stream_.expires_never();  // who reads slowly may be a person with a pager
  if (!frame.head) watch_over(caller);
  bhttp::response_serializer<bhttp::empty_body> serializer(head);
  const auto [status, size] = co_await bhttp::async_write_header(stream_, serializer, kTuple);
  co_return !status;
}

bool Session::may_go_on(const Caller& caller) const {
  if (!house_->open) return false;
  return !caller.token || !house_->doors.still_valid || house_->doors.still_valid(caller);
}

Task<bool> Session::write_text(std::string text, bool chunked) {
  const asio::const_buffer bytes(text.data(), text.size());
  ErrorStatus status;
  std::size_t size = 0;
  if (chunked) {
    const auto chunk = bhttp::make_chunk(bytes);
    std::tie(status, size) = co_await asio::async_write(stream_, chunk, kTuple);
  } else {
    std::tie(status, size) = co_await asio::async_write(stream_, bytes, kTuple);
  }
  co_return !status;
}

Task<bool> Session::write_stream_end(Frame frame) {
  if (frame.version != 11) co_return false;
  const auto last = co_await asio::async_write(stream_, bhttp::make_chunk_last(), kTuple);
  guard_.reset();
  co_return !std::get<0>(last) && frame.keep_alive;
}

}  // namespace tangram::http
