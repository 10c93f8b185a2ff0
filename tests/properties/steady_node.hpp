// SteadyNode: A100-40GB GPUs filled to a load by the scheduler itself, and kept there: a random job
// ends, another is submitted. For benchmarks and the count of allocations.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "core/scheduler.hpp"
#include "instant_driver.hpp"
#include "mig/catalog.hpp"
#include "policies/registry.hpp"
#include "random.hpp"

namespace tangram::properties {

class SteadyNode {
 public:
  explicit SteadyNode(std::uint32_t gpus, std::string_view placement = "paper",
                      std::string_view migration = "both")
      : tuning_(tuning_of(placement, migration)),
        scheduler_(tuning_, *policies::find_policies(tuning_)),
        driver_(scheduler_) {
    scheduler_.reserve_gpus(gpus);
    const std::shared_ptr<const mig::Model> model{std::shared_ptr<void>(),
                                                  *mig::find_model("A100-40GB")};
    for (std::uint32_t i = 0; i < gpus; ++i) driver_.deliver(core::GpuAdded{model, {}});
    total_ = std::uint64_t{7} * gpus;
  }

  // Submits jobs until this share of the compute slices is taken.
  void fill_to_load(unsigned percent) {
    target_ = total_ * percent / 100;
    while (used_ < target_) arrive();
  }
  // The job that will end next; it is not moving.
  [[nodiscard]] std::size_t pick_leaving() { return random_.below(jobs_.size()); }
  [[nodiscard]] core::Event departure(std::size_t which) { return driver_.exited(jobs_[which].id); }
  void left(std::size_t which) {
    used_ -= jobs_[which].slices;
    jobs_[which] = jobs_.back();
    jobs_.pop_back();
  }
  void depart() {
    const std::size_t which = pick_leaving();
    driver_.deliver(departure(which));
    left(which);
  }
  void arrive() {
    const std::size_t kind = random_.below(kProfiles.size());
    submitted_.spec.id = core::JobId(next_job_++);
    submitted_.spec.profile = kProfiles[kind];
    driver_.deliver(submitted_);
    if (scheduler_.waiting_count() > 0) {  // does not fit: withdraw it
      driver_.deliver(core::JobCancelled{submitted_.spec.id});
      return;
    }
    used_ += kSlices[kind];
    jobs_.push_back({submitted_.spec.id, kSlices[kind]});
  }
  // Ends one job and submits others until the load is reached again.
  void cycle() {
    depart();
    for (int tries = 0; used_ < target_ && tries < 8; ++tries) arrive();
  }
  [[nodiscard]] core::Scheduler& scheduler() { return scheduler_; }
  [[nodiscard]] InstantDriver& driver() { return driver_; }
  [[nodiscard]] Random& random() { return random_; }

 private:
  static constexpr std::array<const char*, 5> kProfiles{"1g.5gb", "2g.10gb", "4g.20gb", "2g.10gb",
                                                        "1g.5gb"};
  static constexpr std::array<std::uint8_t, 5> kSlices{1, 2, 4, 2, 1};
  struct Standing {
    core::JobId id;
    std::uint8_t slices = 0;
  };
  static core::Tuning tuning_of(std::string_view placement, std::string_view migration) {
    core::Tuning tuning;
    tuning.placement = placement;
    tuning.migration = migration;
    tuning.restraint.cooldown = Duration::zero();
    return tuning;
  }

  core::Tuning tuning_;
  core::Scheduler scheduler_;
  InstantDriver driver_;
  Random random_{20240817};
  core::JobSubmitted submitted_;
  std::vector<Standing> jobs_;
  std::uint64_t next_job_ = 1;
  std::uint64_t used_ = 0;
  std::uint64_t total_ = 0;
  std::uint64_t target_ = 0;  // compute slices to be in use
};

}  // namespace tangram::properties
