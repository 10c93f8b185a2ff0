// A session of tcp mode (see relay_context.hpp): relays bytes in both directions between a client
// and the replica it was first connected to. Half-closes and resets of one side are passed to the
// other.
#include "endpoint/net/socket.hpp"
#include "endpoint/relay/connector.hpp"
#include "endpoint/relay/relay_context.hpp"

namespace tangram::endpoint {
namespace {

class TcpSession final : public Session, public Socket::Owner {
 public:
  TcpSession(RelayContext& context, std::shared_ptr<Socket> client)
      : context_(context), client_(std::move(client)), connector_(context, *this, *this) {
    client_->set_owner(this);
    client_->count_bytes(context.counts.bytes_in, context.counts.bytes_out);
  }

  void start() override {
    connector_.start();
    client_->read(kMaxBuffer);
  }
  void check(Moment now) override {
    if (connector_.has_timed_out(now) || connector_.is_abandoned(*client_, now)) {
      end(Outcome::kNotStarted, false);
      return;
    }
    if (replica_ && now >= idle_deadline_) cut();
  }
  void wind_down() override {
    if (connector_.has_no_route()) end(Outcome::kNotStarted, false);
  }
  void drop() override { cut(); }
  void cut() override { end(replica_ ? Outcome::kCut : Outcome::kNotStarted, true); }
  void on_route() override { connector_.on_route(); }

 private:
  void on_bytes(Socket& /*socket*/) override {
    const auto self = shared_from_this();
    if (replica_) {
      advance();
      return;
    }
    if (client_->has_failed()) {
      end(Outcome::kNotStarted, false);
      return;
    }
    client_->read(kMaxBuffer);
  }
  void on_writable(Socket& /*socket*/) override {
    const auto self = shared_from_this();
    if (replica_) advance();
  }
  void on_connected(Socket& /*socket*/, bool connected) override {
    const auto self = shared_from_this();
    replica_ = connector_.on_connected(connected);
    if (!replica_) return;
    ++context_.counts.requests;
    advance();
  }

  void advance() {
    idle_deadline_ = context_.idle_deadline();
    const bool up = relay_bytes(*client_, *replica_);
    const bool down = relay_bytes(*replica_, *client_);
    if (!up || !down) {
      end(Outcome::kBroken, true);
      return;
    }
    if (client_->is_half_closed() && replica_->is_half_closed()) {
      end(Outcome::kFinished, false);
      return;
    }
    client_->read(kMaxBuffer);
    replica_->read(kMaxBuffer);
  }

  void end(Outcome outcome, bool reset) {
    if (is_over_) return;
    is_over_ = true;
    connector_.stop();
    client_->close(reset);
    if (replica_) replica_->close(reset);
    context_.detach(*this, outcome);
    context_.on_session_closed(*this);
  }

  RelayContext& context_;
  std::shared_ptr<Socket> client_;
  std::shared_ptr<Socket> replica_;  // null until connected
  Connector connector_;
  Moment idle_deadline_{};
  bool is_over_ = false;
};

}  // namespace

std::shared_ptr<Session> make_tcp_session(RelayContext& context, std::shared_ptr<Socket> client) {
  return std::make_shared<TcpSession>(context, std::move(client));
}

}  // namespace tangram::endpoint
