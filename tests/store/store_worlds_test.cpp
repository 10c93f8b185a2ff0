// Property test: the store behind random worlds with every kind of failure. Each batch is committed
// as by the daemon; now and then the store is reopened, must return exactly the same scheduler, and
// replaying its journal must lead to that state. A world depends only on its seed.
#include <memory>

#include <gtest/gtest.h>

#include "core/saved.hpp"
#include "store/decisions.hpp"
#include "store/replay.hpp"
#include "tests/support/os/folder.hpp"
#include "world.hpp"

namespace tangram::properties {
namespace {

// Commits the steps of a world to a store.
class StoreRecorder {
 public:
  StoreRecorder(std::string path, std::uint64_t seed) : path_(std::move(path)), random_(seed) {
    open();
  }

  // Returns the options with callbacks that record the world in the store.
  [[nodiscard]] WorldOptions record(WorldOptions options) {
    options.begun = [this](core::Scheduler& s) {
      scheduler_ = &s;
      s.track_changes();
      changes_.first_tuning = s.node().tuning();
    };
    options.stepped = [this](Instant now, const core::Event& event, const core::Actions& actions) {
      changes_.steps.push_back({0, now, {}, event, {}});
      changes_.steps.back().decisions = store::decisions_text(scheduler_->node(), actions);
      if (random_.chance(80)) commit();
      if (random_.chance(5)) apply_retention();
      if (random_.chance(8)) check();
    };
    return options;
  }
  // The store contains the scheduler's state, and replaying the journal leads to it.
  void check() {
    commit();
    open();
    const auto contents = store_->load(0);
    if (!contents) throw Broken(contents.error().message);
    require(contents->scheduler == scheduler_->save(), "the store gives back another scheduler");
    const auto replayed = store::replay(*store_);
    if (!replayed) throw Broken(replayed.error().message);
  }

 private:
  void open() {
    store_.reset();
    auto store = store::Store::open(path_, {});
    if (!store) throw Broken(store.error().message);
    store_ = *std::move(store);
  }
  void commit() {
    changes_.scheduler = scheduler_->take_changes();
    const auto done = store_->commit(changes_);
    if (!done) throw Broken(done.error().message);
    changes_ = {};
  }
  void apply_retention() {
    while (store_->apply_retention({.most_steps = random_.below(300)})->more) {
    }
  }

  std::string path_;
  Random random_;
  core::Scheduler* scheduler_ = nullptr;
  std::unique_ptr<store::Store> store_;
  store::Changes changes_;
};

class StoreWorlds : public ::testing::TestWithParam<int> {};

TEST_P(StoreWorlds, TablesAndJournalFollow) {
  for (int i = 0; i < 5; ++i) {
    const auto seed = static_cast<std::uint64_t>(GetParam() * 5 + i + 1);
    const os::testing::Folder folder;
    StoreRecorder recorder(folder.at("tangram.db"), seed ^ 0x570BEU);
    World world(recorder.record({.seed = seed, .steps = 600, .full_checks = false}));
    try {
      world.run();
      recorder.check();
    } catch (const Broken& broken) {
      FAIL() << world.story() << broken.what() << "\nseed " << seed;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, StoreWorlds, ::testing::Range(0, 4));

}  // namespace
}  // namespace tangram::properties
