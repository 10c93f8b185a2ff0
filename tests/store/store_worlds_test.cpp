// The store behind random worlds with every kind of failure: each batch of steps is committed as
// the daemon would; now and then the store is opened anew, must give back the very scheduler, and
// its journal must lead there. One rule: a world is a function of its seed.
#include <memory>

#include <gtest/gtest.h>

#include "core/saved.hpp"
#include "files/test_folder.hpp"
#include "store/decisions.hpp"
#include "store/replay.hpp"
#include "world.hpp"

namespace tangram::properties {
namespace {

// Writes down what it sees of a world.
class Scribe {
 public:
  Scribe(std::string path, std::uint64_t seed) : path_(std::move(path)), random_(seed) { open(); }

  [[nodiscard]] WorldOptions options(WorldOptions of) {
    of.begun = [this](core::Scheduler& s) {
      scheduler_ = &s;
      s.track_changes();
      changes_.first_tuning = s.node().tuning();
    };
    of.stepped = [this](Instant now, const core::Event& event, const core::Actions& actions) {
      changes_.steps.push_back({0, now, {}, event, {}});
      changes_.steps.back().decisions = store::decisions_text(scheduler_->node(), actions);
      if (random_.chance(80)) commit();
      if (random_.chance(5)) trim();
      if (random_.chance(8)) compare();
    };
    return of;
  }
  // Everything is in the store, and the journal says how it came about.
  void compare() {
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
  void trim() {
    while (store_->trim({.most_steps = random_.below(300)})->more) {
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
    const files::testing::Folder folder;
    Scribe scribe(folder.at("tangram.db"), seed ^ 0x570BEU);
    World world(scribe.options({.seed = seed, .steps = 600, .full_checks = false}));
    try {
      world.run();
      scribe.compare();
    } catch (const Broken& broken) {
      FAIL() << world.story() << broken.what() << "\nseed " << seed;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, StoreWorlds, ::testing::Range(0, 4));

}  // namespace
}  // namespace tangram::properties
