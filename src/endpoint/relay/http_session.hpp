// HttpSession: a session of http mode. It relays one client's requests one after the other, each to
// the replica that is current when the request begins. Private to http_*.cpp. It is a state
// machine: every event just calls advance(), which does all that is possible now and requests the
// reads it waits for.
//
// Retries that the client does not notice: a request whose connection is refused (nothing was sent)
// and a request on a reused keep-alive connection that ends before the first byte of a response.
// Any pooled connection is used only for idempotent requests that can be held whole for a retry.
// Others get a new connection, which no server closes as idle, or one that is known to stay open
// (keep_alive_pool.hpp), so that it is never unknown whether a request was executed.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "endpoint/http/body.hpp"
#include "endpoint/http/head.hpp"
#include "endpoint/http/output_queue.hpp"
#include "endpoint/net/socket.hpp"
#include "endpoint/relay/connector.hpp"
#include "endpoint/relay/relay_context.hpp"

namespace tangram::endpoint {

class HttpSession final : public Session, public Socket::Owner {
 public:
  HttpSession(RelayContext& context, std::shared_ptr<Socket> client, std::string address);

  void start() override;
  void check(Moment now) override;
  void wind_down() override;
  void drop() override;
  void cut() override;
  void on_route() override;

 private:
  enum class Stage : std::uint8_t {
    kHead,        // reads the head of the next request
    kConnecting,  // waits for a connection to a replica
    kRelaying,    // relays request and response
    kTunnel,      // after 101 Switching Protocols: relays bytes in both directions
    kLingering,   // the last response is sent; reads and discards until the client closes
    kClosed,
  };

  // The state of the request that is being served.
  struct RequestState {
    Body request_body;
    Body response_body;
    HeadScan response_scan{};
    Route route{};
    bool is_head = false;  // the method is HEAD
    bool is_http11 = true;
    bool is_idempotent = false;
    bool is_retryable = false;  // idempotent, and small enough to be held for a retry
    bool wants_upgrade = false;
    bool awaits_continue = false;    // the client may withhold its body until 100 Continue
    bool keeps_client = false;       // the client's connection stays open afterwards
    bool keeps_replica = false;      // the replica's connection may go to the keep-alive pool
    bool is_reused = false;          // the replica's connection came from the pool
    bool is_answered = false;        // the first byte of a response has arrived
    bool has_response = false;       // the final (not 1xx) response head has been accepted
    bool is_replica_reading = true;  // false: the replica accepts no more of the request
  };

  void on_bytes(Socket& socket) override;
  void on_writable(Socket& socket) override;
  void on_connected(Socket& socket, bool connected) override;

  void advance();
  [[nodiscard]] bool step();  // true: the stage has changed, call it again
  void request_reads();
  void continue_lingering();
  void relay_tunnel();

  // http_request.cpp
  [[nodiscard]] bool read_request_head();  // false: incomplete, or the session has ended
  void begin_request(std::size_t head_size);
  [[nodiscard]] bool queue_request_body();  // false: it is malformed; an error was answered
  void find_replica();
  void relay_request();
  [[nodiscard]] bool retry();  // false: the request must not be retried

  // http_response.cpp
  void relay_response();
  void read_response_heads();
  [[nodiscard]] bool read_response_head();  // false: incomplete or rejected
  [[nodiscard]] bool accept_head(const ResponseHead& head);
  void on_replica_end();
  [[nodiscard]] bool is_exchange_complete() const;
  void finish_exchange();
  void become_tunnel(const ResponseHead& head);

  // http_session.cpp: how exchanges and the session end
  // Answers with an error, counts it as refused and ends the connection.
  void refuse(int status, std::string_view kind, std::string_view detail);
  // Answers with an error and ends the connection.
  void answer_last(int status, std::string_view kind, std::string_view detail);
  // Ends the exchange early; answers 502 if no part of a response was sent yet.
  void abort_exchange(Outcome outcome);
  // Closes the replica's connection and detaches the exchange from its run.
  void release_replica(Outcome outcome);
  void linger();
  // Closes the session. `outcome`: of the exchange in flight, if there is one.
  void close(Outcome outcome, bool reset);

  RelayContext& context_;
  std::string address_;  // the client's
  std::shared_ptr<Socket> client_;
  std::shared_ptr<Socket> replica_;  // null unless connected to one
  Connector connector_;
  Stage stage_ = Stage::kHead;
  HeadScan scan_{};
  RequestState request_{};
  OutputQueue to_replica_;
  OutputQueue to_client_;
  Moment deadline_{};
  bool has_partial_head_ = false;  // a part of the next request's head has arrived
};

}  // namespace tangram::endpoint
