// What is Tangram's: in memory, and in a file that may be torn, of another boot, or shared.
#include "device/owned.hpp"

#include <fstream>
#include <future>
#include <sstream>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.hpp"
#include "device/owned_file.hpp"
#include "device/test_node.hpp"
#include "files/boot_id.hpp"

namespace tangram::device {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

const Place kA{"GPU-1", "2g.10gb", 4};
const Place kB{"GPU-1", "1g.5gb", 0};
const Place kC{"GPU-2", "1g.5gb", 0};

std::string read(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

TEST(Owned, ClaimsAndReleases) {
  Owned owned;
  EXPECT_FALSE(owned.has(kA));
  ASSERT_TRUE(owned.claim(kA).has_value());
  ASSERT_TRUE(owned.claim(kA).has_value());
  EXPECT_TRUE(owned.has(kA));
  EXPECT_FALSE(owned.has(kB));
  ASSERT_TRUE(owned.release(kA).has_value());
  ASSERT_TRUE(owned.release(kA).has_value());
  EXPECT_THAT(owned.places(), IsEmpty());
}

TEST(Owned, ForgetsWhatIsGoneFromAGpu) {
  Owned owned({kA, kB, kC});
  Instance standing;
  standing.gpu_uuid = kB.gpu_uuid;
  standing.profile = kB.profile;
  standing.start = kB.start;
  ASSERT_TRUE(owned.forget_gone("GPU-1", std::vector{standing}).has_value());
  EXPECT_THAT(owned.places(), UnorderedElementsAre(kB, kC));
}

TEST(Owned, IsNotChangedWhenTheChangeCannotBeRecorded) {
  Owned owned({kA}, [](const Place&, bool) -> Result<void> { return failed("no."); });
  EXPECT_FALSE(owned.claim(kB).has_value());
  EXPECT_FALSE(owned.release(kA).has_value());
  EXPECT_THAT(owned.places(), ElementsAre(kA));
}

// A disk that takes its time holds up whoever changes something, and nobody who only asks.
TEST(Owned, AnswersWhileAChangeIsBeingRecorded) {
  std::promise<void> begun;
  std::promise<void> go_on;
  Owned owned({kA}, [&](const Place&, bool) -> Result<void> {
    begun.set_value();
    go_on.get_future().wait();
    return {};
  });
  std::jthread claims([&] { EXPECT_TRUE(owned.claim(kB).has_value()); });
  begun.get_future().wait();
  EXPECT_TRUE(owned.has(kA));
  EXPECT_FALSE(owned.has(kB));  // not in force yet
  EXPECT_THAT(owned.gone("GPU-1", {}), ElementsAre(kA));
  go_on.set_value();
  claims.join();
  EXPECT_THAT(owned.places(), UnorderedElementsAre(kA, kB));
}

TEST(OwnedFile, KeepsPlaces) {
  const testing::Folder folder;
  const OwnedFile file(folder.at("deep/er/owned"), "boot-1");
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
  EXPECT_THAT((*again)->places(), UnorderedElementsAre(kB, kC));
  EXPECT_EQ(read(folder.at("deep/er/owned")),
            "tangram owned 1\nboot boot-1\nGPU-2 1g.5gb 0\nGPU-1 1g.5gb 0\nend 2\n");
}

TEST(OwnedFile, OfAnotherBootIsVoid) {
  const testing::Folder folder;
  const OwnedFile before(folder.at("owned"), "boot-1");
  ASSERT_TRUE(before.record(kA, true).has_value());
  const OwnedFile after(folder.at("owned"), "boot-2");
  EXPECT_THAT(*after.read(), IsEmpty());
  ASSERT_TRUE(after.record(kB, true).has_value());
  EXPECT_THAT(*after.read(), ElementsAre(kB));
  EXPECT_THAT(*before.read(), IsEmpty());
}

TEST(OwnedFile, ThatIsDamagedIsAnErrorAndStays) {
  const testing::Folder folder;
  const OwnedFile file(folder.at("owned"), "b");
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
    const auto places = file.read();
    ASSERT_FALSE(places.has_value());
    EXPECT_THAT(places.error().message, AllOf(HasSubstr("Move it away"), HasSubstr("adopted")));
    EXPECT_FALSE(file.record(kA, true).has_value());
    EXPECT_EQ(read(folder.at("owned")), text);
  }
}

// A writer that died between writing and renaming leaves a file that nobody reads.
TEST(OwnedFile, IgnoresAWriteThatWasNotFinished) {
  const testing::Folder folder;
  const OwnedFile file(folder.at("owned"), "b");
  ASSERT_TRUE(file.record(kA, true).has_value());
  ASSERT_FALSE(folder.write("owned.new", "tangram ow").empty());
  EXPECT_THAT(*file.read(), ElementsAre(kA));
  ASSERT_TRUE(file.record(kB, true).has_value());
  EXPECT_THAT(*file.read(), UnorderedElementsAre(kA, kB));
}

TEST(OwnedFile, IsSharedByMany) {
  constexpr unsigned kThreads = 8;
  constexpr unsigned kPlaces = 8;
  const testing::Folder folder;
  const auto change = [&](unsigned thread) {
    const OwnedFile file(folder.at("owned"), "b");
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
  EXPECT_THAT(*OwnedFile(folder.at("owned"), "b").read(), SizeIs(kThreads * kPlaces / 2));
}

TEST(OwnedFile, ThatCannotBeWrittenSaysSo) {
  const testing::Folder folder;
  ASSERT_FALSE(folder.write("file", "x").empty());
  const OwnedFile file(folder.at("file/owned"), "b");
  const auto recorded = file.record(kA, true);
  ASSERT_FALSE(recorded.has_value());
  EXPECT_THAT(recorded.error().message, HasSubstr("file/owned"));
}

TEST(BootId, IsTheKernels) { EXPECT_THAT(files::boot_id(), SizeIs(36)); }

}  // namespace
}  // namespace tangram::device
