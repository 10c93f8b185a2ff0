// Parsing of the arguments of programs that are started in a folder.
#include "os/start_arguments.hpp"

#include <vector>

#include <gtest/gtest.h>

namespace tangram::os {
namespace {

std::optional<StartArguments> parse(std::vector<const char*> words) {
  words.insert(words.begin(), "program");
  return parse_start_arguments(static_cast<int>(words.size()), words.data());
}

TEST(StartArguments, AreAFolderAndMaybeADescriptor) {
  EXPECT_EQ(parse({"/run"})->folder, "/run");
  EXPECT_EQ(parse({"/run"})->ready_fd, -1);
  EXPECT_EQ(parse({"/run", "--ready-fd", "7"})->ready_fd, 7);
  EXPECT_EQ(parse({"--ready-fd", "3", "run"})->folder, "run");
}

TEST(StartArguments, AreNothingElse) {
  const std::vector<std::vector<const char*>> table = {
      {},
      {""},
      {"--what"},
      {"/run", "/other"},
      {"/run", "--ready-fd"},
      {"/run", "--ready-fd", "2"},
      {"/run", "--ready-fd", "x"},
      {"--ready-fd", "3"},
  };
  for (const auto& words : table) EXPECT_FALSE(parse(words));
}

}  // namespace
}  // namespace tangram::os
