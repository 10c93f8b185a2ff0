// `tangram sim …`: output, files, reproducibility by seed independent of threads, and errors in
// options and traces.
#include <algorithm>
#include <cstdlib>
#include <sstream>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.hpp"
#include "cli_check.hpp"
#include "tests/support/os/folder.hpp"

namespace tangram::tests {
namespace {

using os::testing::Folder;

namespace json = boost::json;
using ::testing::HasSubstr;
using ::testing::StartsWith;

Ended sim(Words words) {
  words.insert(words.begin(), "sim");
  return tangram_run(words);
}

Words and_more(Words words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

const Words kCompare{"compare", "--workload", "normal25", "--restraint", "none", "--jobs",
                     "40",      "--seeds",    "2"};
const Words kSweep{"sweep",
                   "--vary",
                   "threshold=0,0.4",
                   "--workload",
                   "normal25",
                   "--restraint",
                   "none",
                   "--jobs",
                   "40",
                   "--seeds",
                   "2",
                   "--policies",
                   "first-fit/off,paper/both"};

TEST(SimCli, MatchesTheGoldenFiles) {
  expect_golden("sim_knobs", {"sim", "knobs"});
  expect_golden("sim_knobs_json", {"sim", "knobs", "--json"});
  expect_golden("sim_run_json",
                {"sim", "run", "--workload", "normal25", "--restraint", "none", "--json"});
  expect_golden("sim_compare", and_more({"sim"}, kCompare));
  expect_golden("sim_compare_json", and_more(and_more({"sim"}, kCompare), {"--json"}));
  expect_golden("sim_sweep", and_more({"sim"}, kSweep));
  expect_golden("sim_sweep_json", and_more(and_more({"sim"}, kSweep), {"--json"}));
}

TEST(SimCli, ThreadsDoNotChangeAByte) {
  for (const Words& words : {kCompare, kSweep}) {
    for (const Words& form : {Words{}, Words{"--json"}}) {
      const Ended one = sim(and_more(and_more(words, form), {"--threads", "1"}));
      const Ended two = sim(and_more(and_more(words, form), {"--threads", "2"}));
      EXPECT_EQ(one.code, 0) << one.err;
      EXPECT_FALSE(one.out.empty());
      EXPECT_EQ(one.out, two.out);
    }
  }
}

TEST(SimCli, TheSeedDeterminesTheResult) {
  const Words run{"run", "--jobs", "50", "--json", "--seed"};
  EXPECT_EQ(sim(and_more(run, {"7"})).out, sim(and_more(run, {"7"})).out);
  EXPECT_NE(sim(and_more(run, {"7"})).out, sim(and_more(run, {"8"})).out);
}

// A CSV file without quotes, as the simulator writes them.
using Rows = std::vector<Words>;
Rows rows_of(const std::string& text) {
  Rows rows;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    Words fields;
    std::istringstream parts(line + ",");
    for (std::string field; std::getline(parts, field, ',');) fields.push_back(field);
    rows.push_back(std::move(fields));
  }
  return rows;
}

std::vector<double> column_of(const Rows& rows, const std::string& name) {
  const auto at = std::ranges::find(rows.at(0), name) - rows[0].begin();
  std::vector<double> values;
  for (std::size_t i = 1; i < rows.size(); ++i) {
    EXPECT_EQ(rows[i].size(), rows[0].size()) << "row " << i;
    values.push_back(std::strtod(rows[i].at(static_cast<std::size_t>(at)).c_str(), nullptr));
  }
  return values;
}

TEST(SimCli, WritesEveryJobTheTimelineAndTheMoves) {
  const Folder folder;
  const Ended ended = sim({"run", "--jobs", "60", "--load", "1", "--restraint", "none", "--json",
                           "--jobs-out", folder.at("jobs.csv"), "--timeline-out",
                           folder.at("timeline.csv"), "--moves-out", folder.at("moves.csv")});
  ASSERT_EQ(ended.code, 0) << ended.err;
  const json::value summary = json::parse(ended.out);

  const std::string jobs_text = read_text(folder.at("jobs.csv"));
  EXPECT_THAT(jobs_text, StartsWith("id,profile,model,arrival_s,placed_s,ready_s,finished_s,wait_s,"
                                    "execution_s,tpot_s,gpu,moves\n"));
  const Rows jobs = rows_of(jobs_text);
  EXPECT_EQ(jobs.size(), 61U);
  std::vector<double> ids = column_of(jobs, "id");
  std::ranges::sort(ids);
  for (std::size_t i = 0; i < ids.size(); ++i) EXPECT_EQ(ids[i], static_cast<double>(i + 1));
  const std::vector<double> finished = column_of(jobs, "finished_s");
  EXPECT_TRUE(std::ranges::is_sorted(finished));
  EXPECT_NEAR(finished.back(), summary.at("end_s").to_number<double>(), 1e-5);
  const auto arrival = column_of(jobs, "arrival_s");
  const auto placed = column_of(jobs, "placed_s");
  const auto ready = column_of(jobs, "ready_s");
  const auto wait = column_of(jobs, "wait_s");
  double all_waits = 0;
  for (std::size_t i = 0; i < wait.size(); ++i) {
    EXPECT_LE(arrival[i], placed[i]);
    EXPECT_LE(placed[i], ready[i]);
    EXPECT_LE(ready[i], finished[i]);
    EXPECT_NEAR(wait[i], placed[i] - arrival[i], 2e-6);
    all_waits += wait[i];
  }
  EXPECT_NEAR(all_waits / 60, summary.at("wait_s").at("mean").to_number<double>(), 1e-5);

  const std::string timeline = read_text(folder.at("timeline.csv"));
  EXPECT_THAT(timeline, StartsWith("time_s,fragmentation,compute_used,waiting,live,desired 1g.5gb,"
                                   "actual 1g.5gb,desired 2g.10gb,actual 2g.10gb,"));
  EXPECT_TRUE(std::ranges::is_sorted(column_of(rows_of(timeline), "time_s")));
  EXPECT_EQ(column_of(rows_of(timeline), "live").back(), 0);

  const std::string moves = read_text(folder.at("moves.csv"));
  EXPECT_THAT(moves, StartsWith("time_s,job,kind,news,from,to,start\n"));
  EXPECT_TRUE(std::ranges::is_sorted(column_of(rows_of(moves), "time_s")));
  const Rows move_rows = rows_of(moves);
  const auto begun =
      std::ranges::count_if(move_rows, [](const Words& w) { return w[3] == "begun"; });
  const json::value& counts = summary.at("moves");
  EXPECT_EQ(begun, counts.at("intra").as_int64() + counts.at("inter").as_int64());
  EXPECT_GT(begun, 0);
}

TEST(SimCli, TheTimelineCanBeSampled) {
  const Folder folder;
  const Ended ended = sim({"run", "--jobs", "20", "--every", "100", "--json", "--timeline-out",
                           folder.at("timeline.csv")});
  ASSERT_EQ(ended.code, 0) << ended.err;
  const auto times = column_of(rows_of(read_text(folder.at("timeline.csv"))), "time_s");
  ASSERT_GT(times.size(), 2U);
  for (std::size_t i = 2; i + 1 < times.size(); ++i) EXPECT_EQ(times[i] - times[i - 1], 100) << i;
}

const std::string kGood = "arrival_s,profile,duration_s\n0,1g.5gb,30\n";

TEST(SimCli, BadTracesAreRejectedWithFileAndLine) {
  const std::string seconds = "; a number of seconds from 0 to 1e9 is needed.";
  const std::pair<std::string, std::string> cases[] = {
      {"", "1: the file is empty; its first line must name the columns."},
      {"arrival_s,profile,duration_s\n", "1: there are no rows below the first line."},
      {kGood + "1,1g.5gb,x\n", "3: the column duration_s has 'x'" + seconds},
      {kGood + "1,1g.5gb,-5\n", "3: the column duration_s has '-5'" + seconds},
      {kGood + "1,1g.5gb\n", "3: the row has 2 fields; the first line names 3 columns."},
      {kGood + "\n1,\"1g.5gb,5\n", "4: a field in quotes does not end in its line."},
      {kGood + std::string("1,1g.5gb,5\0\n", 12),
       "3: the line has a NUL byte; a CSV file is text."},
      {kGood + "1,,5\n",
       "3: the column profile has ''; a name of 1 to 64 letters, digits, '.', '_', '+' or '-' is "
       "needed."},
      {kGood + "later,1g.5gb,5\n",
       "3: the column arrival_s has 'later'; a number of seconds from 0 to 1e10 is needed."},
      {"arrival_s,profile,model,prompt_tokens,response_tokens\n0,1g.5gb,opt-13,5,5\n",
       "2: the column model has 'opt-13', which is not a language model; did you mean opt-13b? "
       "Known: opt-6.7b, opt-13b, bloom-1b7 and bloom-7b1."},
      {"TIMESTAMP,ContextTokens,GeneratedTokens\n2023-02-31 00:00:00,1,1\n",
       "2: the column TIMESTAMP has '2023-02-31 00:00:00'; a time such as 2023-11-16 18:17:03.97 "
       "(fraction optional) is needed."},
      {"Timestamp,Request tokens,Response tokens\n5,1.5,1\n",
       "2: the column Request tokens has '1.5'; a whole number from 0 to 1e9 is needed."},
      {"arrival_s,profile,duration_s,moveable\n0,1g.5gb,1,0\n",
       "1: the column 'moveable' is not allowed beside duration_s; did you mean movable? Allowed: "
       "arrival_s, profile and duration_s; optional: transfer_share and movable."},
  };
  const Folder folder;
  for (const auto& [text, message] : cases) {
    const std::string path = folder.write("t.csv", text);
    expect_refused(sim({"run", "--trace", path}), cat(path, ":", message));
  }
}

TEST(SimCli, BadRowsAreSkippedAndCountedOnRequest) {
  const Folder folder;
  const std::string path =
      folder.write("t.csv", kGood + "1,1g.5gb,x\n2,2g.10gb,5\n3,2g.10gb\n,1g.5gb,5\n");
  const Ended text = sim({"run", "--trace", path, "--skip-bad"});
  EXPECT_EQ(text.code, 0) << text.err;
  EXPECT_THAT(text.out, HasSubstr(cat("  ", path,
                                      ": 5 rows, 2 tasks\n  3 bad rows skipped\n"
                                      "    line 3: the column duration_s has 'x'; ")));
  EXPECT_THAT(text.out, HasSubstr("\n    line 5: the row has 2 fields; "));
  EXPECT_THAT(text.out, HasSubstr("\n    line 6: the column arrival_s has ''; "));
  const json::value summary =
      json::parse(sim({"run", "--trace", path, "--skip-bad", "--json"}).out);
  EXPECT_EQ(summary.at("jobs"), 2);
  EXPECT_EQ(summary.at("notes").at(1).as_string(), "3 bad rows skipped");
}

// Jobs of a plain trace are fixed; traces of queries become different tasks with each seed.
TEST(SimCli, ATraceOfJobsIsComparedOnceAndOneOfQueriesBySeed) {
  const Folder folder;
  const std::string plain = folder.write("plain.csv", kGood + "1,2g.10gb,50\n2,3g.20gb,5\n");
  const json::value once = json::parse(sim({"compare", "--trace", plain, "--json"}).out);
  EXPECT_EQ(once.at("seeds"), 1);
  EXPECT_THAT(sim({"compare", "--trace", plain}).out,
              HasSubstr("this trace has no random part: one run each\n"));
  expect_refused(sim({"run", "--trace", plain, "--mix", "1g.5gb"}),
                 "--mix does not apply to the workload 'plain trace'.");
  expect_refused(sim({"run", "--trace", plain, "--queries", "2"}),
                 "--queries does not apply to the workload 'plain trace'.");
  std::string rows = "TIMESTAMP,ContextTokens,GeneratedTokens\n";
  for (int i = 10; i < 60; ++i) rows += cat("2023-11-16 18:00:", i, ",", 100 + i, ",", 2 * i, "\n");
  const std::string queries = folder.write("azure.csv", rows);
  const json::value drawn = json::parse(sim({"compare", "--trace", queries, "--json"}).out);
  EXPECT_EQ(drawn.at("seeds"), 10);
  EXPECT_GT(drawn.at("rows").at(0).at("makespan_s").at("ci95").as_double(), 0);
  EXPECT_THAT(sim({"run", "--trace", queries, "--gpu-model", "H100-80GB"}).err,
              HasSubstr("Set the requested profiles with --mix."));
}

TEST(SimCli, ProfilesThatNoGpuHasAreCounted) {
  const Folder folder;
  const std::string path = folder.write("t.csv", kGood + "1,9g.99gb,5\n");
  EXPECT_THAT(sim({"run", "--trace", path}).out,
              HasSubstr("2, 1 of them rejected: no GPU of the node has their profile"));
}

TEST(SimCli, RejectsUnknownNames) {
  expect_refused(sim({"run", "--policy", "bestfit"}),
                 "unknown placement policy 'bestfit'; did you mean best-fit? Known: paper, "
                 "paper-plain, first-fit, first-fit-driver, static-first-fit, best-fit, "
                 "least-loaded, owp-style, elasticbatch-style, hami-style, min-delta and "
                 "fgd-style.");
  expect_refused(sim({"run", "--migration", "bot"}),
                 "unknown migration policy 'bot'; did you mean both? Known: off, intra, inter, "
                 "both and both-plain.");
  expect_refused(sim({"compare", "--policies", "paper/bot"}),
                 "unknown migration policy 'bot'; did you mean both? Known: off, intra, inter, "
                 "both and both-plain.");
  expect_refused(sim({"run", "--queue", "fcf"}),
                 "unknown queue policy 'fcf'; did you mean fcfs? Known: fcfs, fcfs-pools, "
                 "backfill, largest-memory and largest-profile.");
  expect_refused(sim({"run", "--workload", "normal26"}),
                 "unknown workload 'normal26'. Known: synthetic, normal25, long25, normal50 and "
                 "long50; for a file use --trace.");
  expect_refused(sim({"run", "--restraint", "no"}),
                 "unknown restraint 'no'. Known: default and none.");
  expect_refused(sim({"run", "--law", "x"}),
                 "unknown law of durations 'x'. Known: exponential, constant and lognormal.");
  EXPECT_THAT(
      sim({"run", "--knob", "link=3"}).err,
      StartsWith("tangram: unknown knob 'link'; did you mean link_gbps? Known: create_s, "));
  EXPECT_THAT(sim({"run", "--gpu-model", "A100"}).err,
              StartsWith("tangram: unknown GPU model 'A100'; did you mean A100-40GB? Known"));
  EXPECT_THAT(sim({"run", "--mix", "9g"}).err,
              StartsWith("tangram: A100-40GB has no profile '9g'. Its profiles: 1g.5gb, "));
}

TEST(SimCli, RejectsValuesOutOfRange) {
  expect_refused(sim({"run", "--knob", "tlb_penalty=11"}),
                 "the knob tlb_penalty takes a number from 0 to 10, not '11'.");
  expect_refused(sim({"run", "--knob", "link_gbps=0"}),
                 "the knob link_gbps takes a number from 0.01 to 1e+06, not '0'.");
  expect_refused(sim({"run", "--knob", "tlb"}),
                 "cannot read the knob 'tlb'; write NAME=NUMBER, e.g. link_gbps=12.");
  expect_refused(sim({"run", "--gpus", "0"}), "--gpus must be from 1 to 10000000, not 0.");
  expect_refused(sim({"run", "--gpus", "-1"}),
                 "--gpus: invalid number '-1'; see `tangram sim run --help`");
  expect_refused(sim({"run", "--load", "0"}), "--load must be from 0.001 to 100, not 0.");
  expect_refused(sim({"run", "--load", "nan"}), "--load must be from 0.001 to 100, not nan.");
  expect_refused(
      sim({"run", "--threshold", "2"}),
      "the threshold '2' is not a decimal from 0 to 1 with at most nine digits after the "
      "point, as in 0.4.");
  expect_refused(sim({"run", "--every", "-1"}), "--every must be from 0 to 1e9 seconds.");
  expect_refused(sim({"compare", "--seeds", "0"}), "--seeds must be from 1 to 1000000, not 0.");
  expect_refused(sim({"compare", "--threads", "2000"}), "--threads must be at most 1024.");
  expect_refused(sim({"run", "--static", "1g.5gb@9"}),
                 "a 1g.5gb cannot start at 9 on A100-40GB; allowed: 0, 1, 2, 3, 4, 5 and 6.");
  expect_refused(sim({"run", "--workload", "normal25", "--queries", "0"}),
                 "--queries must be a number from 1 to 60000, not '0'.");
}

TEST(SimCli, RejectsOptionsThatDoNotApply) {
  const auto not_applicable = [](const char* option, const char* workload) {
    return cat(option, " does not apply to the workload '", workload, "'.");
  };
  expect_refused(sim({"run", "--load", "1", "--arrival", "3"}),
                 "--arrival and --load exclude each other.");
  expect_refused(sim({"run", "--queries", "3"}), not_applicable("--queries", "synthetic"));
  expect_refused(sim({"run", "--speed-up", "3"}), not_applicable("--speed-up", "synthetic"));
  for (const char* option : {"--duration", "--transfer-share", "--movable-share", "--sigma"}) {
    expect_refused(sim({"run", "--workload", "long25", option, "1"}),
                   not_applicable(option, "long25"));
  }
  expect_refused(sim({"run", "--workload", "long25", "--law", "constant"}),
                 not_applicable("--law", "long25"));
  expect_refused(sim({"run", "--trace", "t.csv", "--load", "1"}),
                 not_applicable("--load", "trace"));
  expect_refused(sim({"run", "--trace", "t.csv", "--workload", "long25"}),
                 "--trace and --workload exclude each other.");
  expect_refused(sim({"run", "--skip-bad"}),
                 "--skip-bad, --form and --most-tokens require --trace.");
  expect_refused(sim({"run", "--sigma", "2"}), "--sigma requires --law lognormal.");
  expect_refused(sim({"run", "--workload", "normal25", "--load", "1", "--queries", "3"}),
                 "--load and --queries exclude each other.");
  expect_refused(sim({"run", "--policy", "static-first-fit"}),
                 "the policy static-first-fit never creates an instance; give the GPUs a layout "
                 "with --static.");
}

TEST(SimCli, RejectsInvalidVariations) {
  EXPECT_THAT(sim({"sweep", "--vary", "treshold=1"}).err,
              StartsWith("tangram: cannot vary 'treshold'; did you mean threshold? Allowed: "
                         "threshold, load, "));
  const std::string form = ": use NAME=A,B,C, e.g. threshold=0,0.2,0.4.";
  expect_refused(sim({"sweep", "--vary", "threshold="}),
                 "--vary: invalid value 'threshold='" + form);
  expect_refused(sim({"sweep", "--vary", "threshold"}), "--vary: invalid value 'threshold'" + form);
  expect_refused(sim({"sweep", "--vary", "=1"}), "--vary: invalid value '=1'" + form);
  expect_refused(sim({"sweep", "--vary", "threshold=0,,1"}),
                 "--vary 'threshold=0,,1' has an empty value.");
  expect_refused(sim({"sweep", "--vary", "threshold=0,"}),
                 "--vary 'threshold=0,' has an empty value.");
  expect_refused(sim({"sweep", "--vary", "gpus=abc"}),
                 "cannot vary gpus: Could not convert: --gpus = abc.");
  expect_refused(sim({"sweep", "--vary", "load=-1"}), "--load must be from 0.001 to 100, not -1.");
  expect_refused(sim({"sweep", "--vary", "tlb_penalty=0,11"}),
                 "the knob tlb_penalty takes a number from 0 to 10, not '11'.");
  expect_refused(sim({"sweep"}), "--vary is required; see `tangram sim sweep --help`");
}

TEST(SimCli, FilesThatCannotBeWrittenAreAFailure) {
  const Folder folder;
  for (const char* option : {"--jobs-out", "--timeline-out", "--moves-out"}) {
    const std::string path = folder.at("none/x.csv");
    const Ended ended = sim({"run", "--jobs", "5", option, path});
    EXPECT_EQ(ended.code, 1) << option;
    EXPECT_EQ(ended.out, "");
    EXPECT_EQ(ended.err,
              cat("tangram: cannot write ", path, "; check free space and permissions.\n"));
  }
  const Ended full = sim({"run", "--jobs", "2000", "--jobs-out", "/dev/full"});
  EXPECT_EQ(full.code, 1);
  EXPECT_EQ(full.out, "");
  expect_refused(
      sim({"run", "--trace", folder.at("none.csv")}),
      cat("cannot read the trace '", folder.at("none.csv"), "': No such file or directory."));
}

}  // namespace
}  // namespace tangram::tests
