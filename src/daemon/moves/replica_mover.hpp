// ReplicaMover: moves a service. Its replica runs beside the original until the endpoint has
// switched traffic to it. Without an endpoint, clients find the new port themselves.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

#include "daemon/endpoints/endpoints.hpp"
#include "daemon/runs/mover.hpp"

namespace tangram::daemon {

class ReplicaMover : public Mover {
 public:
  ReplicaMover(boost::asio::io_context& loop, Endpoints& endpoints)
      : loop_(loop), endpoints_(endpoints) {}

  void prepare(const core::StartJob&, core::RunId, Prepared prepared) override {
    boost::asio::post(loop_, [prepared = std::move(prepared)] { prepared({}); });
  }
  void switch_traffic(const core::SwitchTraffic& action) override {
    endpoints_.switch_traffic(action);
  }
  void roll_back(core::JobId, core::RunId) override {}  // the original never stopped

 private:
  boost::asio::io_context& loop_;
  Endpoints& endpoints_;
};

}  // namespace tangram::daemon
