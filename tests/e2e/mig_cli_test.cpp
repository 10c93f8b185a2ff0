// `tangram mig …`. Text output is compared with tests/e2e/golden/*.txt; after an
// intended change, run this test with TANGRAM_REGENERATE=1 and review the difference as code.
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.hpp"
#include "cli_check.hpp"

namespace tangram::tests {
namespace {

namespace json = boost::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

Ended mig(Words words, const std::string& input = "") {
  words.insert(words.begin(), "mig");
  return tangram_run(words, input);
}

json::value json_of(const Words& words) {
  const Ended ended = mig(words);
  EXPECT_EQ(ended.code, 0) << ended.err;
  return json::parse(ended.out);
}

Words keys_of(const json::value& value) {
  Words keys;
  for (const auto& [key, element] : value.as_object()) keys.emplace_back(key);
  return keys;
}

const std::string kA100Profiles =
    "Its profiles: 1g.5gb, 1g.5gb+me, 1g.10gb, 2g.10gb, 3g.20gb, 4g.20gb and 7g.40gb.";
const std::string kPlacementForm =
    "; write PROFILE@START, e.g. 2g.10gb@4, with a start from 0 to 15.";

TEST(MigCli, MatchesTheGoldenFiles) {
  expect_golden("mig_help", {"mig", "--help"});
  expect_golden("frag_help", {"mig", "frag", "--help"});
  expect_golden("models", {"mig", "models"});
  expect_golden("show_a100", {"mig", "show", "A100-40GB"});
  expect_golden("show_a100_ascii", {"mig", "show", "A100-40GB", "--ascii"});
  expect_golden("show_rtx_pro_6000", {"mig", "show", "RTX-PRO-6000-96GB"});
  expect_golden("show_b200_inferred", {"mig", "show", "B200-180GB"});
  expect_golden("show_a30_toml", {"mig", "show", "A30-24GB", "--toml"});
  expect_golden("frag_a100_empty", {"mig", "frag", "A100-40GB"});
  expect_golden("frag_a100", {"mig", "frag", "A100-40GB", "2g.10gb@2", "1g.5gb@6"});
  expect_golden("frag_a100_color", {"mig", "frag", "A100-40GB", "3g.20gb@0", "--color=always"});
  expect_golden("frag_rtx_limits",
                {"mig", "frag", "RTX-PRO-6000-96GB", "1g.24gb+me.all@3", "1g.24gb-me@0"});
  expect_golden("layouts_a30", {"mig", "layouts", "A30-24GB"});
  expect_golden("layouts_a100_by_cost",
                {"mig", "layouts", "A100-40GB", "--sort", "cost", "--limit", "12"});
  expect_golden("place_a100", {"mig", "place", "A100-40GB", "2g.10gb", "1g.5gb@6"});
  expect_golden("place_a100_full", {"mig", "place", "A100-40GB", "1g.5gb", "7g.40gb@0"});
  expect_golden("place_a100_limit", {"mig", "place", "A100-40GB", "1g.5gb+me", "1g.5gb+me@3"});
}

TEST(MigCli, FitsEightyColumns) {
  const auto longest = [](const std::string& text) {
    int longest_line = 0;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      const auto is_first_byte = [](char c) {
        return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U;
      };
      longest_line =
          std::max(longest_line, static_cast<int>(std::ranges::count_if(line, is_first_byte)));
    }
    return longest_line;
  };
  const json::value models = json_of({"models", "--json"});
  for (const json::value& model : models.as_array()) {
    const std::string name(model.at("name").as_string());
    EXPECT_LE(longest(mig({"show", name}).out), 80) << name;
    EXPECT_LE(longest(mig({"frag", name}).out), 80) << name;
    EXPECT_LE(longest(mig({"layouts", name, "--variants", "--limit", "2000"}).out), 80) << name;
  }
  for (const char* verb : {"models", "show", "frag", "layouts", "place"}) {
    EXPECT_LE(longest(mig({verb, "--help"}).out), 80) << verb;
  }
}

TEST(MigCli, ModelsAsJson) {
  const json::value models = json_of({"models", "--json"});
  ASSERT_EQ(models.as_array().size(), 15U);
  EXPECT_THAT(keys_of(models.at(0)), ElementsAre("name", "compute_slices", "memory_slices",
                                                 "profiles", "inferred", "device_names"));
}

TEST(MigCli, ShowAsJson) {
  const json::value model = json_of({"show", "a100-40gb", "--json"});
  EXPECT_THAT(keys_of(model), ElementsAre("name", "compute_slices", "memory_slices", "inferred",
                                          "device_names", "states", "profiles"));
  EXPECT_EQ(model.at("name"), "A100-40GB");
  const json::value& profile = model.at("profiles").at(1);
  EXPECT_THAT(keys_of(profile),
              ElementsAre("name", "compute_slices", "memory_slices", "starts", "max_instances",
                          "geometry", "memory_mib", "nvml_enum", "nvml_id", "multiprocessors",
                          "copy_engines", "decoders", "encoders", "jpeg", "ofa"));
  EXPECT_EQ(profile.at("geometry"), "1g.5gb");
  EXPECT_EQ(json_of({"show", "B300-269GB", "--json"}).at("profiles").at(0).at("nvml_id"), nullptr);
}

TEST(MigCli, FragAsJson) {
  const json::value frag = json_of({"frag", "A100-40GB", "3g.20gb@0", "--json"});
  EXPECT_THAT(keys_of(frag), ElementsAre("model", "placements", "cost", "cost_decimal",
                                         "compute_taken", "memory_taken", "geometries", "fits"));
  EXPECT_EQ(frag.at("cost"), "7/24");
  EXPECT_EQ(frag.at("cost_decimal"), 0.2917);
  EXPECT_EQ(frag.at("geometries").at(0),
            json::parse(R"({"profile": "1g.5gb", "ideal": 4, "feasible": 3})"));
  EXPECT_EQ(frag.at("fits").at(3), json::parse(R"({"profile": "2g.10gb", "starts": [4]})"));
  const json::value limited = json_of({"frag", "A100-40GB", "1g.5gb+me@0", "--json"});
  EXPECT_EQ(limited.at("fits").at(1), json::parse(R"({"profile": "1g.5gb+me", "starts": []})"));
}

TEST(MigCli, LayoutsAsJson) {
  const json::value layouts = json_of({"layouts", "A100-40GB", "--json"});
  ASSERT_EQ(layouts.as_array().size(), 723U);
  EXPECT_THAT(keys_of(layouts.at(0)), ElementsAre("model", "placements", "cost", "cost_decimal"));
  EXPECT_GT(json_of({"layouts", "A100-40GB", "--json", "--variants"}).as_array().size(), 723U);
}

TEST(MigCli, PlaceAsJson) {
  const json::value place = json_of({"place", "A100-40GB", "2g.10gb", "1g.5gb@1", "--json"});
  EXPECT_THAT(keys_of(place), ElementsAre("model", "profile", "held", "cost", "cost_decimal",
                                          "starts", "best", "driver", "limit"));
  EXPECT_EQ(place.at("best"), 2);
  EXPECT_THAT(keys_of(place.at("starts").at(0)), ElementsAre("start", "free", "taken_by"));
  EXPECT_THAT(keys_of(place.at("starts").at(1)),
              ElementsAre("start", "free", "cost", "cost_decimal"));
  const json::value full = json_of({"place", "A100-40GB", "1g.5gb", "7g.40gb@0", "--json"});
  EXPECT_EQ(full.at("best"), nullptr);
  EXPECT_EQ(full.at("limit"), nullptr);
  const json::value limited = json_of({"place", "A100-40GB", "1g.5gb+me", "1g.5gb+me@0", "--json"});
  EXPECT_EQ(limited.at("best"), nullptr);
  EXPECT_EQ(limited.at("driver"), nullptr);
  EXPECT_EQ(limited.at("limit"), "a GPU can have at most 1 1g.5gb+me.");
}

TEST(MigCli, RowsKeepTheirOrderAndOtherKeys) {
  const Ended ended = mig({"frag", "--jsonl"},
                          "{\"job\": \"a\\n\", \"placements\": [], \"model\": \"A30-24GB\"}\n"
                          "\n  \r\n"
                          "{\"model\":\"A100-40GB\",\"cost\":\"?\",\"placements\":"
                          "[{\"profile\":\"3g.20gb\",\"start\":0,\"x\":1.5}],\"n\":[1,null,true]}");
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_EQ(ended.out,
            "{\"model\": \"A30-24GB\", \"placements\": [], \"cost\": \"0/1\", \"job\": "
            "\"a\\u000a\"}\n"
            "{\"model\": \"A100-40GB\", \"placements\": [{\"profile\": \"3g.20gb\", \"start\": 0, "
            "\"x\": 1.5}], \"cost\": \"7/24\", \"n\": [1, null, true]}\n");
}

TEST(MigCli, LayoutRowsRoundTripThroughFrag) {
  for (const char* model : {"A30-24GB", "A100-40GB", "RTX-PRO-6000-96GB"}) {
    const Ended layouts = mig({"layouts", model, "--jsonl", "--variants"});
    EXPECT_EQ(mig({"frag", "--jsonl"}, layouts.out).out, layouts.out) << model;
  }
}

TEST(MigCli, ABadRowIsNamedByItsLineAndNothingIsPrinted) {
  const std::string form =
      R"(; a row is {"model": "A100-40GB", "placements": [{"profile": "2g.10gb", "start": 4}]}.)";
  const std::string good = "{\"model\": \"A30-24GB\", \"placements\": []}\n\n";
  const auto expect_bad = [&](const std::string& row, const std::string& reason) {
    expect_refused(mig({"frag", "--jsonl"}, good + row + "\n" + good),
                   cat("standard input:3: ", reason));
  };
  expect_bad("{", cat("not valid JSON at column 2: incomplete JSON", form));
  expect_bad("{} {}", cat("not one JSON value per line", form));
  expect_bad("[]", cat("not a JSON object", form));
  expect_bad("{}", cat("\"model\" must be a string", form));
  expect_bad(R"({"model": "A30-24GB"})", cat("\"placements\" must be a list", form));
  const std::string needs =
      cat(R"(placement 1 needs a string "profile" and a whole number "start" from 0 to 15)", form);
  for (const char* placement :
       {"3", "{}", R"({"profile": "1g.6gb"})", R"({"profile": 1, "start": 1})",
        R"({"profile": "1g.6gb", "start": "0"})", R"({"profile": "1g.6gb", "start": 0.5})",
        R"({"profile": "1g.6gb", "start": -1})", R"({"profile": "1g.6gb", "start": 4294967296})"}) {
    expect_bad(cat(R"({"model": "A30-24GB", "placements": [)", placement, "]}"), needs);
  }
  expect_bad(R"({"model": "A30-24GB", "placements": [{"profile": "2g.12gb", "start": 1}]})",
             "a 2g.12gb cannot start at 1 on A30-24GB; allowed: 0 and 2.");
  EXPECT_THAT(mig({"frag", "--jsonl"}, R"({"model": "A30", "placements": []})").err,
              StartsWith("tangram: standard input:1: unknown GPU model 'A30'; did you mean "
                         "A30-24GB? Known models: A30-24GB, "));
}

TEST(MigCli, AnUnknownModelIsRejectedWithSuggestions) {
  for (const char* verb : {"show", "frag", "layouts"}) {
    const Ended ended = mig({verb, "A100-4OGB"});
    EXPECT_EQ(ended.code, 2);
    EXPECT_EQ(ended.out, "");
    EXPECT_THAT(ended.err, StartsWith("tangram: unknown GPU model 'A100-4OGB'; did you mean "
                                      "A100-40GB? Known models: A30-24GB, A100-40GB, "));
  }
  EXPECT_THAT(mig({"show", ""}).err, StartsWith("tangram: unknown GPU model ''. Known models: "));
  EXPECT_EQ(mig({"show", ""}).code, 2);
}

TEST(MigCli, InvalidPlacementsAreRejected) {
  const auto expect_bad = [](const Words& placements, const std::string& message) {
    Words frag = {"frag", "A100-40GB"};
    frag.insert(frag.end(), placements.begin(), placements.end());
    expect_refused(mig(frag), message);
    Words place = {"place", "A100-40GB", "1g.5gb"};
    place.insert(place.end(), placements.begin(), placements.end());
    expect_refused(mig(place), message);
  };
  expect_bad({"2g.11gb@0"},
             cat("A100-40GB has no profile '2g.11gb'; did you mean 2g.10gb? ", kA100Profiles));
  expect_bad({"2g.10gb@6"}, "a 2g.10gb cannot start at 6 on A100-40GB; allowed: 0, 2 and 4.");
  expect_bad({"3g.20gb@4", "1g.5gb@5"},
             "1g.5gb@5 overlaps 3g.20gb@4: both take memory slices from 5 on.");
  expect_bad({"1g.5gb+me@0", "1g.5gb+me@1"},
             "1g.5gb+me@1 is one too many: a GPU can have at most 1 1g.5gb+me.");
  for (const char* text : {"", "@", "@4", "2g.10gb", "2g.10gb@", "2g.10gb@x", "2g.10gb@-1",
                           "2g.10gb@-0", "2g.10gb@+4", "2g.10gb@ 4", "2g.10gb@007",
                           "2g.10gb@9999999999", "2g.10gb@16", "2g.10gb@4@5", "2g.10gb@4.0"}) {
    expect_bad({text}, cat("cannot read the placement '", text, "'", kPlacementForm));
  }
  expect_bad({"\x1b[31m\xff\n@1"},
             cat(R"(A100-40GB has no profile '\x1b[31m\xff\x0a'. )", kA100Profiles));
  expect_bad({"[2g.10gb@0]"},
             "unexpected argument '[2g.10gb@0]'; pass list items as separate arguments.");
}

TEST(MigCli, AnUnknownProfileCannotBePlaced) {
  expect_refused(mig({"place", "A100-40GB", ""}),
                 cat("A100-40GB has no profile ''. ", kA100Profiles));
  expect_refused(mig({"place", "A100-40GB", "2g.20gb"}),
                 cat("A100-40GB has no profile '2g.20gb'; did you mean 2g.10gb? ", kA100Profiles));
}

TEST(MigCli, UsageErrorsAreOneLineWithTheHelpCommand) {
  const std::string see = " see `tangram mig frag --help`";
  expect_refused(mig({"frag"}), cat("MODEL is required;", see));
  expect_refused(mig({"frag", "A30-24GB", "--jsno"}),
                 cat("unknown option '--jsno'; did you mean --json?", see));
  expect_refused(mig({"frag", "A30-24GB", "--jsonl"}), cat("MODEL excludes --jsonl;", see));
  expect_refused(mig({"shw"}),
                 "unknown verb 'shw'; did you mean `tangram mig show`? see `tangram mig --help`");
  expect_refused(tangram_run({"frag"}),
                 "unknown verb 'frag'; did you mean `tangram mig frag`? see `tangram --help`");
  expect_refused(mig({"place", "A30-24GB"}), "PROFILE is required; see `tangram mig place --help`");
  expect_refused(mig({"show", "A30-24GB", "show"}),
                 "unexpected argument 'show'; see `tangram mig show --help`");
  expect_refused(
      mig({"layouts", "A30-24GB", "--limit", "0x10"}),
      "--limit: '0x10' is not a whole number from 1 to 1000000; see `tangram mig layouts "
      "--help`");
  expect_refused(mig({"models", "--color", "red"}),
                 "--color: invalid value 'red', expected one of auto, always, never; see `tangram "
                 "mig models --help`");
}

TEST(MigCli, WithoutAVerbItPrintsItsHelpAsAnError) {
  for (const Words& words : {Words{}, Words{"mig"}}) {
    const Ended ended = tangram_run(words);
    EXPECT_EQ(ended.code, 2);
    EXPECT_EQ(ended.out, "");
    EXPECT_THAT(ended.err, HasSubstr("Usage: tangram"));
  }
}

TEST(MigCli, PrintsItsVersion) {
  EXPECT_EQ(tangram_run({"--version"}).out, "tangram " TANGRAM_VERSION "\n");
}

TEST(MigCli, AModelFileIsAModel) {
  const std::string path = ::testing::TempDir() + "/mig_cli_test.toml";
  std::ofstream(path) << mig({"show", "A30-24GB", "--toml"}).out;
  EXPECT_EQ(mig({"show", path}).out, mig({"show", "A30-24GB"}).out);
  EXPECT_EQ(mig({"layouts", path}).out, mig({"layouts", "A30-24GB"}).out);
  std::ofstream(path) << "name = \"X\"\nslices = 4\n";
  const Ended bad = mig({"frag", path});
  EXPECT_EQ(bad.code, 2);
  EXPECT_EQ(bad.out, "");
  EXPECT_THAT(bad.err, StartsWith(cat("tangram: ", path, ":1:1: a model needs the key ")));
  std::remove(path.c_str());
  expect_refused(mig({"show", "./nowhere.toml"}),
                 "cannot read the model file './nowhere.toml': No such file or directory.");
}

TEST(MigCli, AModelFileWithTooManyLayoutsIsRejected) {
  const std::string path = ::testing::TempDir() + "/mig_cli_many.toml";
  std::ofstream file(path);
  file << "name = \"X\"\ncompute_slices = 12\nmemory_slices = 12\n";
  for (int last = 8; last < 12; ++last) {  // four geometries of one slice each
    file << "[[profile]]\nname = \"p" << last << "\"\ncompute_slices = 1\nmemory_slices = 1\n"
         << "starts = [0";
    for (int start = 1; start <= last; ++start) file << ", " << start;
    file << "]\n";
  }
  file.close();
  const Ended ended = mig({"layouts", path});
  EXPECT_EQ(ended.code, 2);
  EXPECT_THAT(ended.err, HasSubstr("more than 1000000 layouts"));
  std::remove(path.c_str());
}

TEST(MigCli, ColoursAreForTerminalsOrOnRequest) {
  EXPECT_THAT(mig({"show", "A100-40GB"}).out, Not(HasSubstr("\x1b[")));
  EXPECT_THAT(mig({"show", "A100-40GB", "--color", "always"}).out, HasSubstr("\x1b["));
}

TEST(MigCli, WithoutAUtf8LocaleItDrawsInAscii) {
  const Ended ascii = tangram_run({"mig", "show", "A100-40GB"}, "", {"LC_ALL=C"});
  EXPECT_EQ(ascii.out, mig({"show", "A100-40GB", "--ascii"}).out);
  EXPECT_TRUE(
      std::ranges::all_of(ascii.out, [](char c) { return static_cast<signed char>(c) > 0; }));
}

TEST(MigCli, AClosedPipeIsNoErrorButAFullDiskIs) {
  const auto shell = [](const std::string& script) {
    return run_program("/bin/bash", {"-c", script});
  };
  const Ended piped = shell("set -o pipefail; '" TANGRAM_BINARY
                            "' mig layouts A100-40GB --variants --json | head -n 1");
  EXPECT_EQ(piped.code, 0);
  EXPECT_EQ(piped.out, "[\n");
  EXPECT_EQ(piped.err, "");
  const Ended full = shell("'" TANGRAM_BINARY "' mig models > /dev/full");
  EXPECT_EQ(full.code, 1);
  EXPECT_EQ(full.err, "tangram: cannot write to standard output: No space left on device.\n");
}

}  // namespace
}  // namespace tangram::tests
