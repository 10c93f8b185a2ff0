// `cmake --install` puts everything on a machine that the guide (docs/daemon.md), the unit and the
// manual name, and the installed programs find each other. Installs below a folder of the test,
// with another prefix than the default.
#include <filesystem>
#include <regex>
#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.hpp"
#include "cli_check.hpp"
#include "node.hpp"

namespace tangram::tests {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kPrefix = "/opt/tangram";

class Installed : public ::testing::Test {
 protected:
  Installed() {
    const Ended ended =
        run_program(TANGRAM_CMAKE, {"--install", TANGRAM_BUILD_DIR, "--prefix", kPrefix}, "",
                    {cat("DESTDIR=", root_.at("root"))});
    EXPECT_EQ(ended.code, 0) << ended.out << ended.err;
  }
  // The path in the test's root for a path on the installed system.
  [[nodiscard]] std::string at(const std::string& path) const { return root_.at("root") + path; }
  [[nodiscard]] std::string below(const std::string& path) const {
    return at(cat(kPrefix, "/", path));
  }

  os::testing::Folder root_;
};

std::set<std::string> matches(const std::string& text, const std::string& pattern) {
  const std::regex form(pattern);
  std::set<std::string> found;
  for (std::sregex_iterator each(text.begin(), text.end(), form), end; each != end; ++each) {
    found.insert((*each)[1].str());
  }
  return found;
}

// The options in a manual page's source, where a hyphen is "\-".
std::set<std::string> options_of_page(const std::string& page) {
  return matches(std::regex_replace(page, std::regex(R"(\\-)"), "-"), R"(\\fB(--[a-z-]+)\\fR)");
}

TEST_F(Installed, EveryFileThatTheGuideAndTheUnitNameExists) {
  const std::string guide = read_text(TANGRAM_SOURCE_DIR "/docs/daemon.md") +
                            read_text(TANGRAM_SOURCE_DIR "/docs/metrics.md");
  const auto named = matches(guide, "/usr/local/([A-Za-z0-9_./-]+[A-Za-z0-9_])");
  EXPECT_GT(named.size(), 12U);
  for (const std::string& path : named) EXPECT_TRUE(fs::exists(below(path))) << path;

  for (const char* name : {"tangramd", "tangram-mig", "tangram-drain", "tangram-backup"}) {
    const std::string unit = read_text(below(cat("lib/systemd/system/", name, ".service")));
    EXPECT_THAT(unit, Not(HasSubstr("@bindir"))) << name;
    const auto programs = matches(unit, "(/opt/tangram/[^ \n]+)");
    EXPECT_FALSE(programs.empty()) << name;
    for (const std::string& program : programs) EXPECT_TRUE(fs::exists(at(program))) << program;
  }
  EXPECT_THAT(read_text(below("libexec/tangram/drain-node")),
              HasSubstr("tangram=/opt/tangram/bin/tangram\n"));
  const std::string unit = read_text(below("lib/systemd/system/tangramd.service"));
  EXPECT_THAT(unit, Not(HasSubstr("@")));
  EXPECT_EQ(matches(unit, "ExecStart=([^ \n]+)"),
            std::set<std::string>{"/opt/tangram/bin/tangramd"});
  for (const std::string& page : matches(unit, R"(man:([a-z]+\(\d)\))")) {
    const std::string name = page.substr(0, page.find('('));
    EXPECT_TRUE(fs::exists(below(cat("share/man/man", page.back(), "/", name, ".", page.back()))))
        << page;
  }
}

TEST_F(Installed, TheManualPageListsTheDaemonsOptions) {
  const std::string path = below("share/man/man8/tangramd.8");
  const std::string page = read_text(path);
  EXPECT_THAT(page, Not(HasSubstr("@")));
  EXPECT_THAT(page, HasSubstr("/opt/tangram/share/tangram/tangram.toml"));
  const Ended help = run_program(TANGRAMD_BINARY, {"--help"});
  EXPECT_EQ(options_of_page(page), matches(help.out, "(--[a-z-]+)"));
  if (!fs::exists("/usr/bin/groff")) GTEST_SKIP() << "groff is not installed";
  const Ended set = run_program("/usr/bin/groff", {"-man", "-Tutf8", "-ww", "-P-cbou", path});
  EXPECT_EQ(set.err, "");
  // It describes options as --help does.
  const auto words = [](const std::string& text) {
    return std::regex_replace(text, std::regex("\\s+"), " ");
  };
  for (const std::string& line : matches(help.out, "--[a-z-]+(?: [A-Z]+)?  +([^\n]+)")) {
    EXPECT_THAT(words(set.out), HasSubstr(words(line)));
  }
}

// The daemon finds the shim, the endpoint and the emulated driver relative to its own path.
TEST_F(Installed, TheDaemonStarts) {
  Node node({.emulate = "1xA100-40GB", .program = below("bin/tangramd")});
  node.start();
  const Ended run = run_program(below("bin/tangram"),
                                {"run", "-p", "1g.5gb", "--clean-env", "--", "/bin/echo", "hello"},
                                "", {cat("TANGRAM_SOCKET=", node.socket())});
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_EQ(run.out, "hello\n");
  const auto service = node.submit("1g.5gb", "while :; do sleep 0.05; done",
                                   {{"kind", "service"}, {"endpoint", {{"mode", "tcp"}}}});
  node.await(service, "running");
  eventually("its endpoint runs", [&] { return node.endpoints().size() == 1; });
  const std::string program = fs::read_symlink(cat("/proc/", node.endpoints().at(0), "/exe"));
  EXPECT_EQ(program, below("libexec/tangram/tangram-endpoint"));
  EXPECT_EQ(fs::read_symlink(cat("/proc/", node.shims().at(0), "/exe")),
            below("libexec/tangram/tangram-shim"));
}

}  // namespace
}  // namespace tangram::tests
