// Reception: what callers ask about jobs, checked and answered: whether a request can be served on
// this node, and what becomes of it. It fills the jobs' part of http::Doors. One rule: it decides
// nothing about GPUs; it posts inputs to the engine and reads its records.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "api/job.hpp"
#include "daemon/access.hpp"
#include "daemon/cgroups.hpp"
#include "daemon/engine.hpp"
#include "http/doors.hpp"

namespace boost::asio {
class io_context;
}

namespace tangram::daemon {

class Hardware;
class Limits;
class Reader;
class Supervisor;
class Views;

class Reception {
 public:
  Reception(boost::asio::io_context& loop, Engine& engine, Hardware& hardware,
            Supervisor& supervisor, Reader& reader, const Views& views, const Access& access,
            Limits& limits, const Cgroups& cgroups);

  [[nodiscard]] http::Doors doors();
  // Jobs whose records changed: those who wait for them are answered.
  void changed(const std::vector<std::uint64_t>& jobs);

 private:
  using Caller = http::Caller;
  template <class T>
  using Answer = http::Answer<T>;
  template <class T>
  using Reply = http::Reply<T>;
  struct Waiter {
    http::WaitFor what = http::WaitFor::kOver;
    Caller caller;
    Reply<api::JobView> reply;
  };

  // One that has a key and is not on the disk yet.
  struct Submission {
    std::string fingerprint;
    std::vector<Reply<http::Doors::Submitted>> others;  // who asked the same meanwhile
  };

  void submit(const Caller& caller, const api::JobRequest& request, const http::Once& once,
              const Reply<http::Doors::Submitted>& reply);
  void jobs(const Caller& caller, const http::JobFilter& filter,
            const Reply<std::vector<api::JobView>>& reply);
  [[nodiscard]] std::vector<api::JobView> outlines(
      const Caller& caller, const std::map<std::uint64_t, store::JobRow>& rows) const;
  [[nodiscard]] Answer<api::JobView> job(const Caller& caller, std::uint64_t id);
  void cancel(const Caller& caller, std::uint64_t id, const Reply<api::JobView>& reply);
  void hold(const Caller& caller, std::uint64_t id, const Reply<api::JobView>& reply);
  void release(const Caller& caller, std::uint64_t id, const Reply<api::JobView>& reply);
  void change(const Caller& caller, std::uint64_t id, core::Event event,
              const Reply<api::JobView>& reply);
  void signal(const Caller& caller, std::uint64_t id, int signal, const Reply<void>& reply);
  void move(const Caller& caller, std::uint64_t id, const api::MoveRequest& wish,
            const Reply<api::JobView>& reply);
  [[nodiscard]] std::shared_ptr<void> wait(const Caller& caller, std::uint64_t id,
                                           http::WaitFor what, const Reply<api::JobView>& reply);
  [[nodiscard]] Answer<http::LogSource> logs(const Caller& caller, std::uint64_t id);

  // reception_submit.cpp
  [[nodiscard]] bool was_asked(const Caller& caller, const http::Once& once,
                               const Reply<http::Doors::Submitted>& reply);
  void post(store::JobRow row, const core::JobSpec& spec, const http::Once& once,
            const Reply<http::Doors::Submitted>& reply);
  [[nodiscard]] Answer<store::JobRow> find(const Caller& caller, std::uint64_t id);
  // find_own(), and it is not over.
  [[nodiscard]] Answer<store::JobRow> find_living(const Caller& caller, std::uint64_t id,
                                                  std::string_view deed);
  [[nodiscard]] Answer<store::JobRow> find_own(const Caller& caller, std::uint64_t id,
                                               std::string_view deed);
  [[nodiscard]] Answer<void> check_servable(const api::JobRequest& request) const;
  [[nodiscard]] Answer<void> check_port(const Caller& caller, const api::JobRequest& request) const;

  boost::asio::io_context& loop_;
  Engine& engine_;
  Hardware& hardware_;
  Supervisor& supervisor_;
  Reader& reader_;
  const Views& views_;
  const Access& access_;
  Limits& limits_;
  Cgroups cgroups_;
  std::map<std::uint64_t, std::vector<std::weak_ptr<Waiter>>> waiters_;
  std::map<std::pair<std::uint32_t, std::string>, Submission> submissions_;  // by uid and key
  std::map<std::uint16_t, std::uint64_t> ports_coming_;  // of jobs that are not on the disk yet
};

}  // namespace tangram::daemon
