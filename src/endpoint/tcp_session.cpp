// A session of tcp mode (see session.hpp): bytes in both directions between a client and the
// replica it began with. One rule: what one side did, bytes, half an end or a break, the other side
// sees.
#include "endpoint/dial.hpp"
#include "endpoint/session.hpp"
#include "endpoint/wire.hpp"

namespace tangram::endpoint {
namespace {

class TcpSession final : public Session, public Wire::Owner {
 public:
  TcpSession(House& house, std::shared_ptr<Wire> client)
      : house_(house), client_(std::move(client)), dial_(house, *this, *this) {
    client_->set_owner(this);
    client_->count(house.counts.bytes_in, house.counts.bytes_out);
  }

  void start() override {
    dial_.start();
    client_->read(kLargestBuffer);
  }
  void check(Moment now) override {
    if (dial_.is_too_late(now) || dial_.is_unwanted(*client_, now))
      return end(Ending::kMoved, false);
    if (replica_ && now >= idle_deadline_) cut();
  }
  void wind_down() override {
    if (dial_.is_waiting()) end(Ending::kMoved, false);
  }
  void drop() override { cut(); }
  void cut() override { end(replica_ ? Ending::kCut : Ending::kMoved, true); }
  void on_route() override { dial_.on_route(); }

 private:
  void on_bytes(Wire& /*wire*/) override {
    const auto self = shared_from_this();
    if (replica_) return advance();
    if (client_->failed()) return end(Ending::kMoved, false);
    client_->read(kLargestBuffer);
  }
  void on_room(Wire& /*wire*/) override {
    const auto self = shared_from_this();
    if (replica_) advance();
  }
  void on_connected(Wire& /*wire*/, bool connected) override {
    const auto self = shared_from_this();
    replica_ = dial_.on_connected(connected);
    if (!replica_) return;
    ++house_.counts.requests;
    advance();
  }

  void advance() {
    idle_deadline_ = house_.idle_deadline();
    const bool up = pass(*client_, *replica_);
    const bool down = pass(*replica_, *client_);
    if (!up || !down) return end(Ending::kBroken, true);
    if (client_->finished() && replica_->finished()) return end(Ending::kFinished, false);
    client_->read(kLargestBuffer);
    replica_->read(kLargestBuffer);
  }

  void end(Ending ending, bool reset) {
    if (is_over_) return;
    is_over_ = true;
    dial_.stop();
    client_->close(reset);
    if (replica_) replica_->close(reset);
    house_.leave(*this, ending);
    house_.over(*this);
  }

  House& house_;
  std::shared_ptr<Wire> client_;
  std::shared_ptr<Wire> replica_;  // once it is connected
  Dial dial_;
  Moment idle_deadline_{};
  bool is_over_ = false;
};

}  // namespace

std::shared_ptr<Session> make_tcp_session(House& house, std::shared_ptr<Wire> client) {
  return std::make_shared<TcpSession>(house, std::move(client));
}

}  // namespace tangram::endpoint
