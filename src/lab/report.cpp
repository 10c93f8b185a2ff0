// The report of a suite as a page and as JSON (see suite.hpp). The page is self-contained.
// Everything from outside is escaped.
#include <fmt/format.h>

#include "base/check.hpp"
#include "lab/suite.hpp"
#include "text/json_text.hpp"

namespace tangram::lab {
namespace {

namespace json = boost::json;

constexpr std::string_view kStyle = R"(
:root { color-scheme: light; --ink: #1d2433; --dim: #5b6475; --line: #d9dee7; --wash: #f5f7fa;
  --good: #14713d; --part: #8a5a00; --bad: #a3262a; }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 62rem; padding: 2rem 1.2rem 5rem; color: var(--ink);
  font: 16px/1.55 system-ui, "Segoe UI", "DejaVu Sans", sans-serif; background: #fff; }
h1 { font-size: 1.9rem; margin: 0 0 .3rem; } h2 { margin: 3rem 0 .2rem; font-size: 1.35rem; }
p.sub, .dim { color: var(--dim); } p.sub { margin: 0 0 1rem; }
table { border-collapse: collapse; margin: .8rem 0 1.2rem; font-size: .92rem; width: 100%; }
caption { text-align: left; color: var(--dim); padding-bottom: .4rem; }
th, td { padding: .35rem .7rem; border-bottom: 1px solid var(--line); text-align: left;
  vertical-align: top; } td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; }
thead th { border-bottom: 2px solid var(--ink); }
.scroll { overflow-x: auto; } figure { margin: 1.2rem 0; } figure img { max-width: 100%; }
.yes { color: var(--good); font-weight: 600; } .partly { color: var(--part); font-weight: 600; }
.no { color: var(--bad); font-weight: 600; }
code, pre { font: .88rem ui-monospace, "DejaVu Sans Mono", monospace; background: var(--wash); }
pre { padding: .8rem; overflow-x: auto; } details { margin: .6rem 0; }
)";

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

// The knobs as the command line sets them; experiments may set more.
sim::Knobs shown_knobs(const SuiteOptions& options) {
  sim::Knobs knobs;
  for (const std::string& knob : options.study.knobs) {
    const auto set = sim::set_knob(knobs, knob);
    CHECK(set);  // checked before
  }
  return knobs;
}

const char* css_of(Verdict::Holds holds) {
  if (holds == Verdict::Holds::kYes) return "yes";
  return holds == Verdict::Holds::kNo ? "no" : "partly";
}

bool is_number(std::string_view cell) {
  return !cell.empty() && (cell.front() == '-' || (cell.front() >= '0' && cell.front() <= '9'));
}

void add_table(std::string& page, const ResultTable& table) {
  page += "<div class=\"scroll\"><table>";
  if (!table.caption.empty()) page += fmt::format("<caption>{}</caption>", escaped(table.caption));
  page += "<thead><tr>";
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    const bool numbers = !table.rows.empty() && i < table.rows.back().size() && i > 0 &&
                         is_number(table.rows.back()[i]);
    page += fmt::format("<th{}>{}</th>", numbers ? " class=\"n\"" : "", escaped(table.columns[i]));
  }
  page += "</tr></thead><tbody>";
  for (const auto& row : table.rows) {
    page += "<tr>";
    for (std::size_t i = 0; i < row.size(); ++i) {
      page += fmt::format("<td{}>{}</td>", i > 0 && is_number(row[i]) ? " class=\"n\"" : "",
                          escaped(row[i]));
    }
    page += "</tr>";
  }
  page += "</tbody></table></div>\n";
}

// Percent-encodes text for a data: URL.
std::string percent_encoded(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain = (byte > 0x20 && byte < 0x7f &&
                        std::string_view("%#\"<>`'&").find(c) == std::string_view::npos) ||
                       c == ' ';
    if (plain) {
      out += c;
    } else {
      out += fmt::format("%{:02X}", byte);
    }
  }
  return out;
}

void add_verdicts(std::string& page, const Section& section) {
  if (section.verdicts.empty()) return;
  page +=
      "<div class=\"scroll\"><table><thead><tr><th>The paper says</th><th>We got</th><th></th>"
      "</tr></thead><tbody>";
  for (const Verdict& v : section.verdicts) {
    page += fmt::format("<tr><td>{}</td><td>{}</td><td class=\"{}\">{}</td></tr>", escaped(v.says),
                        escaped(v.ours), css_of(v.holds), word_of(v.holds));
  }
  page += "</tbody></table></div>\n";
}

void add_section(std::string& page, const Section& s) {
  page += fmt::format(
      "<h2 id=\"{}\">{}</h2><p class=\"sub\">{} · {} seeds · "
      "<code>experiments/{}</code></p>\n",
      escaped(s.experiment.id), escaped(s.experiment.title), escaped(s.experiment.section), s.seeds,
      escaped(s.experiment.id));
  page += fmt::format("<p>{}</p>\n", escaped(s.experiment.paper));
  add_verdicts(page, s);
  if (!s.svg.empty()) {
    page += fmt::format(
        "<figure><img alt=\"{}\" src=\"data:image/svg+xml;charset=utf-8,{}\"></figure>\n",
        escaped(s.experiment.title), percent_encoded(s.svg));
  }
  for (const ResultTable& table : s.findings.tables) add_table(page, table);
  if (s.findings.remarks.empty()) return;
  page += "<details><summary>Details</summary><ul>";
  for (const std::string& remark : s.findings.remarks) {
    page += fmt::format("<li>{}</li>", escaped(remark));
  }
  page += "</ul></details>\n";
}

void add_assumptions(std::string& page, const SuiteOptions& options, const SuiteReport& report) {
  page += "<h2 id=\"assumptions\">Assumptions</h2>\n";
  page += fmt::format(
      "<p>Queries per task: {:.2f} in the mean, so that the busiest resource is offered the load "
      "that the experiments set at Normal(25): compute slices {:.0f} %, PCIe links {:.0f} %. "
      "The same number for all four workloads; experiments that change knobs or the node "
      "recompute it. Nothing is tuned per figure. The static baseline is chosen on the "
      "seeds it is measured on, which favours it. What each knob means and "
      "where its default comes from: <code>docs/simulator.md</code>.</p>\n",
      report.queries_per_task, 100 * report.offered_compute, 100 * report.offered_links);
  ResultTable knobs{
      .caption = {}, .columns = {"knob", "value", "default", "unit", "what it is"}, .rows = {}};
  const sim::Knobs defaults;
  for (const sim::Knob& knob : sim::knob_table()) {
    knobs.rows.push_back({std::string(knob.name),
                          fmt::format("{}", shown_knobs(options).*knob.value),
                          fmt::format("{}", defaults.*knob.value), std::string(knob.unit),
                          std::string(knob.summary)});
  }
  add_table(page, knobs);
}

json::value section_json(const Section& s) {
  json::array claims;
  for (const Verdict& v : s.verdicts) {
    claims.push_back(
        json::object{{"paper", v.says}, {"ours", v.ours}, {"verdict", word_of(v.holds)}});
  }
  json::array tables;
  for (const ResultTable& t : s.findings.tables) {
    json::array rows;
    for (const auto& row : t.rows) rows.push_back(json::array(row.begin(), row.end()));
    tables.push_back(json::object{{"caption", t.caption},
                                  {"columns", json::array(t.columns.begin(), t.columns.end())},
                                  {"rows", std::move(rows)}});
  }
  return json::object{{"title", s.experiment.title},
                      {"section", s.experiment.section},
                      {"seeds", s.seeds},
                      {"claims", std::move(claims)},
                      {"numbers", s.findings.numbers},
                      {"tables", std::move(tables)}};
}

}  // namespace

std::string report_html(const SuiteOptions& options, const SuiteReport& report) {
  std::string page = fmt::format(
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">"
      "<title>{0}</title><style>{1}</style></head><body>\n<h1>{0}</h1>\n",
      escaped(options.title), kStyle);
  page += fmt::format(
      "<p class=\"sub\">Tangram {} · simulated with the production scheduler · "
      "first seed {}</p>\n<pre>{}</pre>\n",
      TANGRAM_VERSION, options.study.first_seed, escaped(options.command));
  page +=
      "<p>Every number of this page is in <code>results.json</code>, every curve in "
      "<code>data/</code>. Intervals are 95 % confidence intervals over the seeds (Student's t; "
      "jackknife for reductions, which are paired by seed). “Reproduced” means that we reach "
      "what the paper states on every workload, beyond the interval; “in part” on some; "
      "“undecided” that "
      "the intervals are too wide to say.</p>\n";
  page += "<ul>";
  for (const Section& s : report.sections) {
    page += fmt::format("<li><a href=\"#{}\">{}</a>", escaped(s.experiment.id),
                        escaped(s.experiment.title));
    for (const Verdict& v : s.verdicts) {
      page += fmt::format(" · <span class=\"{}\">{}</span>", css_of(v.holds), word_of(v.holds));
    }
    page += "</li>";
  }
  page += "</ul>\n";
  for (const Section& section : report.sections) add_section(page, section);
  add_assumptions(page, options, report);
  page += "</body></html>\n";
  return page;
}

std::string report_json(const SuiteOptions& options, const SuiteReport& report) {
  json::object experiments;
  json::object root{{"tangram", TANGRAM_VERSION},
                    {"command", options.command},
                    {"first_seed", options.study.first_seed},
                    {"queries_per_task", report.queries_per_task},
                    {"offered_load", json::object{{"compute", report.offered_compute},
                                                  {"links", report.offered_links}}}};
  json::object knobs;
  for (const sim::Knob& knob : sim::knob_table()) {
    knobs[knob.name] = shown_knobs(options).*knob.value;
  }
  root["knobs"] = std::move(knobs);
  for (const Section& s : report.sections) {
    if (s.experiment.kind == "ablation") root["ablation"] = s.findings.numbers;
    experiments[s.experiment.id] = section_json(s);
  }
  root["experiments"] = std::move(experiments);
  return text::json_text(root);
}

}  // namespace tangram::lab
