// The model file: round trips, and errors with their position.
#include "text/model_file.hpp"

#include <cstdio>
#include <fstream>
#include <sstream>
#include <sys/stat.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.hpp"
#include "mig/catalog.hpp"

namespace tangram::text {
namespace {

using ::testing::HasSubstr;

constexpr std::string_view kHead =
    "name = \"X\"\n"        // line 1
    "compute_slices = 4\n"  // line 2
    "memory_slices = 4\n";  // line 3
constexpr std::string_view kProfile =
    "[[profile]]\n"  // line 4 after kHead
    "name = \"1g.6gb\"\n"
    "compute_slices = 1\n"
    "memory_slices = 1\n"
    "starts = [0, 1, 2, 3]\n";

std::string message_of(std::string_view toml) {
  const Result<mig::ModelSpec> spec = parse_model(toml, "x.toml");
  return spec ? "no error" : spec.error().message;
}

std::string with_profile_line(std::string_view line) { return cat(kHead, kProfile, line, "\n"); }

TEST(ModelFile, EveryModelOfTheCatalogSurvivesWritingAndReading) {
  for (const mig::ModelSpec& spec : mig::catalog_specs()) {
    const Result<mig::ModelSpec> again = parse_model(to_toml(spec), "again.toml");
    ASSERT_TRUE(again) << spec.name << ": " << again.error().message;
    EXPECT_EQ(*again, spec) << spec.name;
  }
}

TEST(ModelFile, LimitsThatAreNotTheDefaultSurvive) {
  mig::ModelSpec spec = mig::catalog_specs().front();
  spec.profiles.front().max_instances = 2;
  spec.device_names = {R"(a "quoted" \ name)"};
  EXPECT_EQ(parse_model(to_toml(spec), "x.toml").value(), spec);
}

TEST(ModelFile, DefaultsAreOneInstancePerStartAndOneOfThoseWithSharedEngines) {
  const auto most = [](std::string_view name) {
    const std::string text = cat(kHead, "[[profile]]\nname = \"", name,
                                 "\"\ncompute_slices = 1\nmemory_slices = 1\nstarts = [0, 2]\n");
    return parse_model(text, "x.toml").value().profiles.front().max_instances;
  };
  EXPECT_EQ(most("1g.6gb"), 2);
  EXPECT_EQ(most("1g.6gb-me"), 2);
  EXPECT_EQ(most("1g.6gb+gfx"), 2);
  EXPECT_EQ(most("1g.6gb+me"), 1);
  EXPECT_EQ(most("1g.6gb+me.all"), 1);
}

TEST(ModelFile, FactsThatAreNotGivenAreUnknown) {
  const mig::ModelSpec spec = parse_model(cat(kHead, kProfile), "x.toml").value();
  EXPECT_EQ(spec.profiles.front().facts, mig::ProfileFacts{});
  EXPECT_FALSE(spec.inferred);
  EXPECT_TRUE(spec.device_names.empty());
}

struct ErrorCase {
  std::string toml;
  std::string message;
};

void expect_reported(const std::vector<ErrorCase>& cases) {
  for (const ErrorCase& m : cases) EXPECT_EQ(message_of(m.toml), m.message) << m.toml;
}

const std::string kModelKeys =
    "a model has the keys name, compute_slices, memory_slices, inferred, device_names and profile.";
const std::string kProfileKeys =
    "a profile has the keys name, compute_slices, memory_slices, starts, max_instances, "
    "memory_mib, nvml_enum, nvml_id, multiprocessors, copy_engines, decoders, encoders, jpeg and "
    "ofa.";
const std::string kNameRule =
    " cannot be used; allowed: 1 to 64 letters, digits, '.', '_', '+' and '-', the first a letter "
    "or digit.";

TEST(ModelFile, MissingAndUnknownKeysAreReportedWhereTheyAre) {
  expect_reported(
      {ErrorCase{"", "x.toml:1:1: a model needs the key name."},
       ErrorCase{cat(kHead), "x.toml:1:1: a model needs the key profile."},
       ErrorCase{cat(kHead, "[[profile]]\nname = \"1g\"\n"),
                 "x.toml:4:1: a profile needs the key compute_slices."},
       ErrorCase{cat("\n\nslices = 4\n", kHead, kProfile),
                 cat("x.toml:3:1: unknown key 'slices'. ", kModelKeys)},
       ErrorCase{
           cat("memory_slice = 4\n", kHead, kProfile),
           cat("x.toml:1:1: unknown key 'memory_slice'; did you mean memory_slices? ", kModelKeys)},
       ErrorCase{
           with_profile_line("  memory_mb = 5"),
           cat("x.toml:9:3: unknown key 'memory_mb'; did you mean memory_mib? ", kProfileKeys)},
       ErrorCase{with_profile_line(R"("\u001b[31m" = 5)"),
                 cat(R"(x.toml:9:1: unknown key '\x1b[31m'. )", kProfileKeys)}});
}

TEST(ModelFile, WrongValuesAreReportedWhereTheyAre) {
  expect_reported(
      {ErrorCase{cat("name = 3\ncompute_slices = 4\nmemory_slices = 4\n", kProfile),
                 "x.toml:1:8: name is a whole number; needed: a string."},
       ErrorCase{cat("name = \"\"\ncompute_slices = 4\nmemory_slices = 4\n", kProfile),
                 cat("x.toml:1:8: the name ''", kNameRule)},
       ErrorCase{cat("name = \"a b\"\ncompute_slices = 4\nmemory_slices = 4\n", kProfile),
                 cat("x.toml:1:8: the name 'a b'", kNameRule)},
       ErrorCase{cat("name = \"X\"\ncompute_slices = \"4\"\nmemory_slices = 4\n", kProfile),
                 "x.toml:2:18: compute_slices is a string; needed: a whole number from 1 to 16."},
       ErrorCase{cat("name = \"X\"\ncompute_slices = 4.0\nmemory_slices = 4\n", kProfile),
                 "x.toml:2:18: compute_slices is a fractional number; needed: a whole number from "
                 "1 to 16."},
       ErrorCase{cat("name = \"X\"\ncompute_slices = 4\nmemory_slices = 17\n", kProfile),
                 "x.toml:3:17: memory_slices is 17; allowed: from 1 to 16."},
       ErrorCase{cat("name = \"X\"\ncompute_slices = 4294967300\nmemory_slices = 4\n", kProfile),
                 "x.toml:2:18: compute_slices is 4294967300; allowed: from 1 to 16."},
       ErrorCase{cat("inferred = 1\n", kHead, kProfile),
                 "x.toml:1:12: inferred is a whole number; needed: true or false."},
       ErrorCase{cat("device_names = \"NVIDIA A30\"\n", kHead, kProfile),
                 "x.toml:1:16: device_names is a string; needed: a list of strings."},
       ErrorCase{cat("device_names = [\"a\", 2]\n", kHead, kProfile),
                 "x.toml:1:22: device_names is a whole number; needed: a string."},
       ErrorCase{cat("device_names = [\"\"]\n", kHead, kProfile),
                 "x.toml:1:16: the device name '' cannot be used; allowed: 1 to 96 printable ASCII "
                 "characters."},
       ErrorCase{cat(kHead, "profile = 3\n"),
                 "x.toml:4:11: profile is a whole number; needed: a list of tables, written as "
                 "[[profile]]."},
       ErrorCase{cat(kHead, "profile = [1]\n"),
                 "x.toml:4:12: profile is a whole number; needed: tables, written as "
                 "[[profile]]."},
       ErrorCase{with_profile_line("max_instances = 0"),
                 "x.toml:9:17: max_instances is 0; allowed: from 1 to 16."},
       ErrorCase{with_profile_line("memory_mib = 1979-05-27"),
                 "x.toml:9:14: memory_mib is a date or time; needed: a whole number from 1 to "
                 "16777216."},
       ErrorCase{with_profile_line("nvml_id = -1"),
                 "x.toml:9:11: nvml_id is -1; allowed: from 0 to 65535."}});
}

TEST(ModelFile, WrongStartsAreReportedWhereTheyAre) {
  expect_reported(
      {ErrorCase{cat(kHead, "[[profile]]\nname = \"1g\"\ncompute_slices = 1\nmemory_slices = 1\n",
                     "starts = []\n"),
                 "x.toml:8:10: starts is an empty list; give at least one."},
       ErrorCase{cat(kHead, "[[profile]]\nname = \"1g\"\ncompute_slices = 1\nmemory_slices = 1\n",
                     "starts = [0, -1]\n"),
                 "x.toml:8:14: starts is -1; allowed: from 0 to 15."},
       ErrorCase{cat(kHead, "[[profile]]\nname = \"1g\"\ncompute_slices = 1\nmemory_slices = 1\n",
                     "starts = [0, \"1\"]\n"),
                 "x.toml:8:14: starts is a string; needed: a whole number from 0 to 15."}});
}

TEST(ModelFile, GeometryIsBlamedOnTheFirstProfileWithWhichItIsWrong) {
  expect_reported(
      {ErrorCase{cat(kHead, kProfile, "[[profile]]\nname = \"2g\"\ncompute_slices = 2\n",
                     "memory_slices = 2\nstarts = [3]\n", kProfile),
                 "x.toml:9:1: profile '2g' of X: start 3 with size 2 does not fit in 4 memory "
                 "slices; allowed: 0 to 2."},
       ErrorCase{cat(kHead, kProfile, "[[profile]]\nname = \"2g\"\ncompute_slices = 5\n",
                     "memory_slices = 2\nstarts = [0]\n"),
                 "x.toml:9:1: profile '2g' of X: compute_slices is 5; allowed: 1 to 4."},
       ErrorCase{cat(kHead, kProfile, kProfile), "x.toml:9:1: X: profile '1g.6gb' is given twice."},
       ErrorCase{cat(kHead, "[[profile]]\nname = \"1g\"\ncompute_slices = 1\nmemory_slices = 1\n",
                     "starts = [0, 0]\n"),
                 "x.toml:4:1: profile '1g' of X: start 0 is given twice."},
       ErrorCase{cat(kHead, kProfile, "[[profile]]\nname = \"4g\"\ncompute_slices = 4\n",
                     "memory_slices = 2\nstarts = [0]\n"),
                 "x.toml:9:1: X: its placements allow instances with 5 compute slices together "
                 "(the last one a 4g at 0), but the GPU has 4; sizes or starts must be wrong."}});
}

TEST(ModelFile, TooManyProfilesAreBlamedOnTheFirstThatIsTooMany) {
  std::string toml(kHead);
  for (int i = 0; i < 40; ++i) {
    toml += cat("[[profile]]\nname = \"p", i, "\"\ncompute_slices = 1\nmemory_slices = 4\n",
                "starts = [0]\n");
  }
  EXPECT_EQ(message_of(toml),
            cat("x.toml:", 4 + 32 * 5, ":1: X: the number of profiles is 40; allowed: 1 to 32."));
}

TEST(ModelFile, TheFirstOfSeveralErrorsIsReported) {
  EXPECT_THAT(message_of(cat(kHead, kProfile, "ofa = -1\njpeg = -1\n")),
              HasSubstr("x.toml:9:7: ofa is -1"));
}

TEST(ModelFile, SyntaxErrorsHaveTheirPlace) {
  EXPECT_THAT(message_of(cat(kHead, "profile = [\n")), HasSubstr("x.toml:4:13: not valid TOML: "));
  EXPECT_THAT(message_of("name = \"a\"\nname = \"b\"\n"),
              HasSubstr("x.toml:2:8: not valid TOML: "));
  EXPECT_THAT(message_of("compute_slices = 99999999999999999999\n"),
              HasSubstr("x.toml:1:38: not valid TOML: "));
  EXPECT_THAT(message_of("name = \"\xff\"\n"), HasSubstr("x.toml:1:8: not valid TOML: "));
}

TEST(ModelFile, TheExampleOfTheDocumentationLoads) {
  std::ifstream file(TANGRAM_SOURCE_DIR "/docs/model-file.md");
  std::stringstream page;
  page << file.rdbuf();
  const std::string text = page.str();
  const std::size_t begin = text.find("```toml\n");
  ASSERT_NE(begin, std::string::npos);
  const std::string example = text.substr(begin + 8, text.find("```", begin + 8) - begin - 8);
  const Result<mig::Model> model = read_model(example, "example.toml");
  ASSERT_TRUE(model) << model.error().message;
  const mig::Model& built_in = **mig::find_model("A30-24GB");
  EXPECT_EQ(model->state_count(), built_in.state_count());
  EXPECT_EQ(model->name(), built_in.name());
}

TEST(LoadModel, ReadsAFile) {
  const std::string path = ::testing::TempDir() + "/load_model_test.toml";
  std::ofstream(path) << to_toml(mig::catalog_specs().front());
  const Result<mig::Model> model = load_model(path);
  ASSERT_TRUE(model) << model.error().message;
  EXPECT_EQ(model->spec(), mig::catalog_specs().front());
  std::remove(path.c_str());
}

TEST(LoadModel, SaysWhyAFileCannotBeRead) {
  const Result<mig::Model> missing = load_model("/nonexistent/x.toml");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error(), (Error{ErrorCode::kNotFound,
                                    "cannot read the model file '/nonexistent/x.toml': No "
                                    "such file or directory."}));
  EXPECT_EQ(load_model("/tmp").error().message, "the model file '/tmp' is not a regular file.");
  EXPECT_EQ(load_model("/dev/zero").error().message,
            "the model file '/dev/zero' is not a regular file.");
}

TEST(LoadModel, RefusesPipesWithoutWaitingAndFilesThatAreTooLarge) {
  const std::string path = ::testing::TempDir() + "/load_model_test.pipe";
  std::remove(path.c_str());
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  EXPECT_THAT(load_model(path).error().message, HasSubstr("is not a regular file."));
  std::remove(path.c_str());
  std::ofstream(path) << std::string(1024 * 1024 + 1, '#');
  EXPECT_THAT(load_model(path).error().message,
              HasSubstr("is larger than the allowed 1048576 bytes."));
  std::remove(path.c_str());
}

}  // namespace
}  // namespace tangram::text
