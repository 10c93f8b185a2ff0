// A GPU that fell off the bus before a restart of the daemon: the driver does not list it any more,
// but the API, the CLI and the metrics still show it. Faults are caused in the emulated driver.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.hpp"
#include "node.hpp"

namespace tangram::tests {
namespace {

namespace json = boost::json;
using ::testing::HasSubstr;
using ::testing::Not;

class MissingGpu : public ::testing::Test {
 protected:
  MissingGpu() {
    node_.start();
    uuid_ = gpu(0).at("uuid").as_string().c_str();
    node_.tangram({"emulate", "fault", "fall-off", "0"});
    eventually("it is lost", [&] { return gpu(0).at("health") == "lost"; });
    node_.kill();
    node_.start();
  }

  json::object gpu(std::size_t index) {
    const json::value all = node_.call("GET", "/v1/gpus");
    EXPECT_EQ(all.as_array().size(), 2U) << all;
    return all.as_array().at(index).as_object();
  }
  std::string metrics() { return std::string(node_.call("GET", "/metrics").as_string()); }
  [[nodiscard]] std::string series() const {
    return cat(R"(tangram_gpu_in_service{gpu="0",uuid=")", uuid_, R"(",model="A100-40GB"} 0)");
  }

  Node node_{{.config = "[device]\nobserve_every = \"100ms\"\n"}};
  std::string uuid_;
};

TEST_F(MissingGpu, IsShownWithAdvice) {
  const json::object missing = gpu(0);
  EXPECT_EQ(missing.at("index"), 0);
  EXPECT_EQ(missing.at("uuid").as_string(), uuid_);
  EXPECT_EQ(missing.at("health"), "lost");
  EXPECT_EQ(missing.at("mig"), "unknown");
  EXPECT_THAT(std::string(missing.at("trouble").as_string()),
              HasSubstr("not in this node any more"));
  EXPECT_EQ(gpu(1).at("health"), "ok");
  EXPECT_THAT(node_.tangram({"gpus"}), HasSubstr("not in this node any more"));
  EXPECT_THAT(node_.tangram({"status"}), HasSubstr("not in this node any more"));
  EXPECT_EQ(node_.await(node_.submit("7g.40gb", "true"), "over").at("gpu"), 1);
}

// An automatic cordon does not acknowledge the loss; a cordon by an admin does.
TEST_F(MissingGpu, IsInTheMetricsUntilItIsCordonedByHand) {
  EXPECT_THAT(metrics(), HasSubstr(series()));
  node_.stop();
  node_.start();
  EXPECT_THAT(metrics(), HasSubstr(series()));
  node_.call("POST", "/v1/gpus/0/cordon", 202);
  EXPECT_THAT(metrics(), Not(HasSubstr(uuid_)));
  EXPECT_THAT(node_.tangram({"status"}), Not(HasSubstr("not in this node any more")));
  EXPECT_EQ(gpu(0).at("health"), "lost");
  node_.stop();
  node_.start();
  EXPECT_THAT(metrics(), Not(HasSubstr(uuid_)));
}

TEST_F(MissingGpu, IsHealthyWhenItIsBack) {
  node_.stop();
  node_.tangram({"emulate", "reboot"});
  node_.start();
  eventually("it is healthy", [&] { return gpu(0).at("health") == "ok"; });
  EXPECT_TRUE(gpu(0).at("trouble").is_null());
  EXPECT_EQ(gpu(0).at("uuid").as_string(), uuid_);
}

}  // namespace
}  // namespace tangram::tests
