// The list of Tangram's instances: in memory, and in a file that may be damaged, of another boot,
// or shared.
#include "device/owned_instances.hpp"

#include <fstream>
#include <future>
#include <sstream>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.hpp"
#include "device/owned_instances_file.hpp"
#include "os/boot_id.hpp"
#include "tests/support/device/node.hpp"

namespace tangram::device {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

const InstanceLocation kA{"GPU-1", "2g.10gb", 4};
const InstanceLocation kB{"GPU-1", "1g.5gb", 0};
const InstanceLocation kC{"GPU-2", "1g.5gb", 0};

std::string read(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

TEST(OwnedInstances, ClaimsAndReleases) {
  OwnedInstances owned;
  EXPECT_FALSE(owned.has(kA));
  ASSERT_TRUE(owned.claim(kA).has_value());
  ASSERT_TRUE(owned.claim(kA).has_value());
  EXPECT_TRUE(owned.has(kA));
  EXPECT_FALSE(owned.has(kB));
  ASSERT_TRUE(owned.release(kA).has_value());
  ASSERT_TRUE(owned.release(kA).has_value());
  EXPECT_THAT(owned.locations(), IsEmpty());
}

TEST(OwnedInstances, ForgetsWhatIsGoneFromAGpu) {
  OwnedInstances owned({kA, kB, kC});
  Instance standing;
  standing.gpu_uuid = kB.gpu_uuid;
  standing.profile = kB.profile;
  standing.start = kB.start;
  ASSERT_TRUE(owned.forget_gone("GPU-1", std::vector{standing}).has_value());
  EXPECT_THAT(owned.locations(), UnorderedElementsAre(kB, kC));
}

TEST(OwnedInstances, IsNotChangedWhenTheChangeCannotBeRecorded) {
  OwnedInstances owned({kA},
                       [](const InstanceLocation&, bool) -> Result<void> { return failed("no."); });
  EXPECT_FALSE(owned.claim(kB).has_value());
  EXPECT_FALSE(owned.release(kA).has_value());
  EXPECT_THAT(owned.locations(), ElementsAre(kA));
}

// A slow disk delays changes, but not reads.
TEST(OwnedInstances, AnswersWhileAChangeIsBeingRecorded) {
  std::promise<void> begun;
  std::promise<void> go_on;
  OwnedInstances owned({kA}, [&](const InstanceLocation&, bool) -> Result<void> {
    begun.set_value();
    go_on.get_future().wait();
    return {};
  });
  std::jthread claims([&] { EXPECT_TRUE(owned.claim(kB).has_value()); });
  EXPECT_EQ(begun.get_future().wait_for(std::chrono::seconds(30)), std::future_status::ready);
  EXPECT_TRUE(owned.has(kA));
  EXPECT_FALSE(owned.has(kB));  // not in force yet
  EXPECT_THAT(owned.gone("GPU-1", {}), ElementsAre(kA));
  go_on.set_value();
  claims.join();
  EXPECT_THAT(owned.locations(), UnorderedElementsAre(kA, kB));
}

TEST(OwnedInstancesFile, KeepsPlaces) {
  const testing::Folder folder;
  const OwnedInstancesFile file(folder.at("deep/er/owned"), "boot-1");
  EXPECT_THAT(*file.read(), IsEmpty());
  {
    const auto owned = file.open();
    ASSERT_TRUE(owned.has_value());
    ASSERT_TRUE((*owned)->claim(kA).has_value());
    ASSERT_TRUE((*owned)->claim(kC).has_value());
    ASSERT_TRUE((*owned)->release(kA).has_value());
    ASSERT_TRUE((*owned)->claim(kB).has_value());
  }
  const auto again = file.open();
  ASSERT_TRUE(again.has_value());
  EXPECT_THAT((*again)->locations(), UnorderedElementsAre(kB, kC));
  EXPECT_EQ(read(folder.at("deep/er/owned")),
            "tangram owned 1\nboot boot-1\nGPU-2 1g.5gb 0\nGPU-1 1g.5gb 0\nend 2\n");
}

TEST(OwnedInstancesFile, OfAnotherBootIsVoid) {
  const testing::Folder folder;
  const OwnedInstancesFile before(folder.at("owned"), "boot-1");
  ASSERT_TRUE(before.record(kA, true).has_value());
  const OwnedInstancesFile after(folder.at("owned"), "boot-2");
  EXPECT_THAT(*after.read(), IsEmpty());
  ASSERT_TRUE(after.record(kB, true).has_value());
  EXPECT_THAT(*after.read(), ElementsAre(kB));
  EXPECT_THAT(*before.read(), IsEmpty());
}

TEST(OwnedInstancesFile, ThatIsDamagedIsAnErrorAndStays) {
  const testing::Folder folder;
  const OwnedInstancesFile file(folder.at("owned"), "b");
  for (const char* text :
       {"", "tangram", "something else\nboot b\nend 0\n", "tangram owned 2\nboot b\nend 0\n",
        "tangram owned 1\n", "tangram owned 1\nboot b\n", "tangram owned 1\nboot b\nend 0",
        "tangram owned 1\nboot b\nGPU-1 2g.10gb 4\nend 2\n",
        "tangram owned 1\nboot b\nGPU-1 2g.10gb 4\n", "tangram owned 1\nboot b\nGPU-1 2g.1",
        "tangram owned 1\nboot b\nGPU-1 2g.10gb\nend 1\n",
        "tangram owned 1\nboot b\nGPU-1 2g.10gb 99\nend 1\n",
        "tangram owned 1\nboot b\nGPU-1 2g.10gb 4 5\nend 1\n"}) {
    SCOPED_TRACE(text);
    ASSERT_FALSE(folder.write("owned", text).empty());
    const auto locations = file.read();
    ASSERT_FALSE(locations.has_value());
    EXPECT_THAT(locations.error().message, AllOf(HasSubstr("Move it away"), HasSubstr("adopted")));
    EXPECT_FALSE(file.record(kA, true).has_value());
    EXPECT_EQ(read(folder.at("owned")), text);
  }
}

// A writer that died between writing and renaming leaves a file that is never read.
TEST(OwnedInstancesFile, IgnoresAWriteThatWasNotFinished) {
  const testing::Folder folder;
  const OwnedInstancesFile file(folder.at("owned"), "b");
  ASSERT_TRUE(file.record(kA, true).has_value());
  ASSERT_FALSE(folder.write("owned.new", "tangram ow").empty());
  EXPECT_THAT(*file.read(), ElementsAre(kA));
  ASSERT_TRUE(file.record(kB, true).has_value());
  EXPECT_THAT(*file.read(), UnorderedElementsAre(kA, kB));
}

TEST(OwnedInstancesFile, IsSharedByMany) {
  constexpr unsigned kThreads = 8;
  constexpr unsigned kPlaces = 8;
  const testing::Folder folder;
  const auto change = [&](unsigned thread) {
    const OwnedInstancesFile file(folder.at("owned"), "b");
    for (unsigned i = 0; i < kPlaces; ++i) {
      EXPECT_TRUE(file.record({cat("GPU-", thread), "1g.5gb", i}, true).has_value());
      if (i % 2 == 1) {
        EXPECT_TRUE(file.record({cat("GPU-", thread), "1g.5gb", i}, false).has_value());
      }
    }
  };
  {
    std::vector<std::jthread> threads;
    for (unsigned t = 0; t < kThreads; ++t) threads.emplace_back(change, t);
  }
  EXPECT_THAT(*OwnedInstancesFile(folder.at("owned"), "b").read(), SizeIs(kThreads * kPlaces / 2));
}

TEST(OwnedInstancesFile, ThatCannotBeWrittenSaysSo) {
  const testing::Folder folder;
  ASSERT_FALSE(folder.write("file", "x").empty());
  const OwnedInstancesFile file(folder.at("file/owned"), "b");
  const auto recorded = file.record(kA, true);
  ASSERT_FALSE(recorded.has_value());
  EXPECT_THAT(recorded.error().message, HasSubstr("file/owned"));
}

TEST(BootId, IsTheKernels) { EXPECT_THAT(os::boot_id(), SizeIs(36)); }

}  // namespace
}  // namespace tangram::device
