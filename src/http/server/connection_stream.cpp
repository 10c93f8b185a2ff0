// See connection.hpp: the beginning, pieces and end of a response of unknown length. It is chunked
// in HTTP/1.1; for an older client the end of the connection is its end. Back-pressure: the next
// piece is produced once the client has read the last. A client whose token becomes invalid is cut
// off without the final chunk, so that it does not take this for the end of the response.
#include <boost/asio/write.hpp>
#include <boost/beast/http/chunk_encode.hpp>

#include "http/server/session.hpp"

namespace tangram::http {

namespace bhttp = beast::http;

void Session::start_revalidation(const Caller& caller) {
  if (!caller.token || !context_->handlers.still_valid) return;
  revalidation_timer_.emplace(stream_.get_executor());
  schedule_revalidation(caller);
}

void Session::schedule_revalidation(const Caller& caller) {
  revalidation_timer_->expires_after(context_->options.heartbeat);
  revalidation_timer_->async_wait([weak = weak_from_this(), caller](ErrorStatus status) {
    const auto self = weak.lock();
    if (status || !self || !self->revalidation_timer_) return;
    if (!self->is_still_allowed(caller)) {
      self->close();
      return;
    }
    self->schedule_revalidation(caller);
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
  stream_.expires_never();  // a slow reader may be a user with a pager
  if (!frame.head) start_revalidation(caller);
  bhttp::response_serializer<bhttp::empty_body> serializer(head);
  const auto [status, size] = co_await bhttp::async_write_header(stream_, serializer, kTuple);
  co_return !status;
}

bool Session::is_still_allowed(const Caller& caller) const {
  if (!context_->is_open) return false;
  return !caller.token || !context_->handlers.still_valid || context_->handlers.still_valid(caller);
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
  revalidation_timer_.reset();
  co_return !std::get<0>(last) && frame.keep_alive;
}

}  // namespace tangram::http
