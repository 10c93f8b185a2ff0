// The exported names: all of NVML, the emulator's control functions, and nothing else; and the
// result of the functions that are not emulated. (Sizes and offsets of the structs are asserted in
// nvml/abi.hpp.)
#include <array>
#include <cstdio>
#include <fstream>
#include <memory>
#include <regex>
#include <set>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

#include "library.hpp"
#include "node.hpp"

namespace tangram::tests {
namespace {

using Names = std::set<std::string>;

std::string output_of(const std::string& command) {
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), pclose);
  std::string text;
  std::array<char, 4096> chunk{};
  while (const std::size_t size = std::fread(chunk.data(), 1, chunk.size(), pipe.get())) {
    text.append(chunk.data(), size);
  }
  return text;
}

Names nvml_names() {
  std::ifstream file(TANGRAM_TESTS_DIR "/data/nvml-symbols.txt");
  Names names;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("nvml")) names.insert(line);
  }
  return names;
}

std::string text_of(const std::string& path) {
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

Names found_in(const std::string& text, const char* pattern) {
  const std::regex regex(pattern);
  Names names;
  for (std::sregex_iterator i(text.begin(), text.end(), regex), end; i != end; ++i) {
    names.insert((*i)[1]);
  }
  return names;
}

Names unsupported_names() {
  return found_in(text_of(TANGRAM_SOURCE_DIR "/src/emulator/unsupported.cpp"),
                  R"(TANGRAM_UNSUPPORTED\((nvml\w+)\))");
}

TEST(Symbols, AreNvmlAndTheControlFunctionsOnly) {
  Names expected = nvml_names();
  ASSERT_EQ(expected.size(), 413U);
  const Names controls =
      found_in(text_of(TANGRAM_SOURCE_DIR "/src/nvml/control.hpp"), R"((tangramEmulator\w+)\()");
  EXPECT_EQ(controls.size(), 15U);
  expected.insert(controls.begin(), controls.end());
  const std::string dump = output_of("nm -D --defined-only " TANGRAM_EMULATOR_LIBRARY);
  Names shown = found_in(dump, R"([0-9a-f]+ [A-Za-z] (\S+))");
  EXPECT_EQ(shown, expected) << dump;
}

TEST(Symbols, SonameIsTheDriversOwn) {
  const std::string dump = output_of("readelf -d " TANGRAM_EMULATOR_LIBRARY);
  EXPECT_NE(dump.find("Library soname: [libnvidia-ml.so.1]"), std::string::npos) << dump;
}

TEST(Symbols, WithoutAMeaningAreNotSupported) {
  const Names names = unsupported_names();
  EXPECT_GT(names.size(), 250U) << "their list is not found";
  const Setting setting("A30");
  for (const std::string& name : names) {
    EXPECT_EQ(reinterpret_cast<nvml::Return (*)()>(find_symbol(name.c_str()))(),
              nvml::kUninitialized)
        << name;
  }
  const Session session;
  for (const std::string& name : names) {
    EXPECT_EQ(reinterpret_cast<nvml::Return (*)()>(find_symbol(name.c_str()))(),
              nvml::kNotSupported)
        << name;
  }
}

}  // namespace
}  // namespace tangram::tests
