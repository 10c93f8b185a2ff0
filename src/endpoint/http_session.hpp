// HttpSession: a session of http mode: requests of one client, one after the other, each to the
// replica that is current when it begins. Private to the http_*.cpp. One rule: whatever happens,
// advance() does all that can be done now and asks for what it waits for; no event means more than
// "look again".
//
// What is sent again, unseen by the client: a request whose connection is refused, since nothing of
// it was sent; and one on a connection that was idle before, if that ends without a byte of a
// response. Only requests that may be sent twice, and can be held whole for it, are given any such
// connection; the others get a fresh one, which no server closes for being idle, or one that is
// sure (pool.hpp), so that it is not left open whether the request was done.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "endpoint/body.hpp"
#include "endpoint/dial.hpp"
#include "endpoint/flow.hpp"
#include "endpoint/head.hpp"
#include "endpoint/session.hpp"
#include "endpoint/wire.hpp"

namespace tangram::endpoint {

class HttpSession final : public Session, public Wire::Owner {
 public:
  HttpSession(House& house, std::shared_ptr<Wire> client, std::string address);

  void start() override;
  void check(Moment now) override;
  void wind_down() override;
  void drop() override;
  void cut() override;
  void on_route() override;

 private:
  enum class Stage : std::uint8_t {
    kHead,       // waits for a request, or for the rest of its head
    kDialing,    // has one, and waits for its replica
    kRelaying,   // both directions
    kTunnel,     // after 101: bytes, whatever they mean
    kLingering,  // the last answer is given; the client is left time to read it
    kOver,
  };

  // What is known of the request that is being served.
  struct Exchange {
    Body request;
    Body response;
    HeadScan scan{};  // of the response
    Route route{};
    bool is_head = false;  // its method is HEAD
    bool is_11 = true;
    bool is_idempotent = false;
    bool is_repeatable = false;  // and can be held whole
    bool upgrades = false;
    bool may_wait = false;         // the client may keep its body until it is asked for it
    bool keeps_client = false;     // for another request
    bool keeps_replica = false;    // for another request
    bool is_reused = false;        // the connection was idle in the pool
    bool is_answered = false;      // a byte of the response has come
    bool has_response = false;     // its head, and it is the last one
    bool is_replica_deaf = false;  // it takes no more of the request
  };

  void on_bytes(Wire& wire) override;
  void on_room(Wire& wire) override;
  void on_connected(Wire& wire, bool connected) override;

  void advance();
  [[nodiscard]] bool step();  // true: look again
  void read_on();
  [[nodiscard]] bool linger_on();
  [[nodiscard]] bool tunnel_on();

  // http_request.cpp
  [[nodiscard]] bool take_head();
  void begin(std::size_t head_size);
  [[nodiscard]] bool take_request_body();  // false: it is broken, and that has been answered
  void find_replica();
  void pass_request();
  [[nodiscard]] bool repeat();  // false: that may not be

  // http_response.cpp
  void pass_response();
  void take_response_heads();
  [[nodiscard]] bool take_response_head();
  [[nodiscard]] bool accept_head(const ResponseHead& head);
  void on_replica_end();
  [[nodiscard]] bool is_exchange_over() const;
  void finish_exchange();
  void become_tunnel(const ResponseHead& head);

  // How it ends otherwise.
  void refuse(int status, std::string_view kind, std::string_view detail);
  void answer_last(int status, std::string_view kind, std::string_view detail);
  void break_off(Ending ending);
  void let_replica_go(Ending ending);
  void linger();
  void end(Ending ending, bool reset);

  House& house_;
  std::string address_;  // of the client
  std::shared_ptr<Wire> client_;
  std::shared_ptr<Wire> replica_;  // while relaying
  Dial dial_;
  Stage stage_ = Stage::kHead;
  HeadScan scan_{};
  Exchange exchange_{};
  Flow up_;
  Flow down_;
  Moment deadline_{};
  bool has_begun_ = false;  // some of the next head is there
};

}  // namespace tangram::endpoint
