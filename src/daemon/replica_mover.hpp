// ReplicaMover: moves a service. Its replica runs beside the original until traffic has gone over
// to it. One rule: nothing but the endpoint knows who is asked; without one, clients find the new
// port themselves.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

#include "daemon/endpoints.hpp"
#include "daemon/mover.hpp"

namespace tangram::daemon {

class ReplicaMover : public Mover {
 public:
  ReplicaMover(boost::asio::io_context& loop, Endpoints& endpoints)
      : loop_(loop), endpoints_(endpoints) {}

  void prepare(const core::StartJob&, core::RunId, Prepared prepared) override {
    boost::asio::post(loop_, [prepared = std::move(prepared)] { prepared({}); });
  }
  void switch_over(const core::SwitchTraffic& wanted) override {
    endpoints_.switch_traffic(wanted);
  }
  void take_back(core::JobId, core::RunId) override {}  // it never stopped

 private:
  boost::asio::io_context& loop_;
  Endpoints& endpoints_;
};

}  // namespace tangram::daemon
