// `tangram store …`: the file where the daemon keeps what it must not forget: check it, copy it
// while the daemon runs, put a copy back. One rule: looking changes nothing, and nothing that was
// there is ever removed.
#include "store/store.hpp"

#include <filesystem>
#include <memory>

#include <boost/json/object.hpp>

#include "base/text.hpp"
#include "cli/environment.hpp"
#include "cli/verbs.hpp"
#include "files/json_text.hpp"
#include "store/copies.hpp"
#include "store/replay.hpp"

namespace tangram::cli {
namespace {

namespace json = boost::json;

struct StoreOptions {
  std::string path;       // of the store; empty: the state folder's
  std::string state_dir;  // empty: the environment's, else the usual one
  std::string file;       // of the backup
  bool replay = false;
  bool force = false;
};

std::string store_path(const StoreOptions& options) {
  if (!options.path.empty()) return options.path;
  std::string folder = options.state_dir;
  if (folder.empty()) folder = environment("TANGRAM_STATE_DIR");
  if (folder.empty()) folder = "/var/lib/tangram";
  return (std::filesystem::path(folder) / "tangram.db").string();
}

json::object counts_json(const store::Counts& counts) {
  return {{"version", counts.version},     {"jobs", counts.jobs},
          {"jobs_over", counts.jobs_over}, {"runs", counts.runs},
          {"gpus", counts.gpus},           {"instances", counts.instances},
          {"moves", counts.moves},         {"first_step", counts.first_step},
          {"last_step", counts.last_step}, {"snapshots", counts.snapshots},
          {"events", counts.events},       {"bytes", counts.bytes}};
}

void print_counts(const store::Counts& counts, Output& out) {
  out.line(cat("  version    ", counts.version));
  out.line(cat("  jobs       ", counts.jobs, " (", counts.jobs_over, " over)"));
  out.line(cat("  runs       ", counts.runs));
  out.line(cat("  GPUs       ", counts.gpus));
  out.line(cat("  instances  ", counts.instances));
  out.line(cat("  moves      ", counts.moves));
  out.line(counts.first_step == 0
               ? cat("  journal    empty; ", counts.last_step, " steps in all")
               : cat("  journal    steps ", counts.first_step, " to ", counts.last_step));
  out.line(cat("  snapshots  ", counts.snapshots));
  out.line(cat("  events     ", counts.events));
  out.line(cat("  size       ", (counts.bytes + 1023) / 1024, " KiB"));
}

// Opening it has checked the file and its version; reading it checks what is in it.
Result<void> check(const StoreOptions& options, bool as_json, Output& out) {
  const std::string path = store_path(options);
  auto opened = store::Store::open(path, {.read_only = true, .create = false});
  if (!opened) return std::unexpected(opened.error());
  store::Store& store = **opened;
  const auto contents = store.load(0);
  if (!contents) return std::unexpected(contents.error());
  const auto counts = store.counts();
  if (!counts) return std::unexpected(counts.error());
  store::Replayed replayed;
  if (options.replay && !contents->fresh) {
    const auto done = store::replay(store);
    if (!done) return std::unexpected(done.error());
    replayed = *done;
  }
  if (as_json) {
    json::object all{{"store", path}, {"ok", true}};
    for (const auto& member : counts_json(*counts)) all.insert(member);
    if (options.replay) all["replayed_steps"] = replayed.steps;
    out.add(files::json_text(all));
    return {};
  }
  out.line(cat(path, ": ", out.paint("good", Style::kGood)));
  print_counts(*counts, out);
  if (options.replay) {
    out.line(cat("  replay     ", replayed.steps, " steps decided again as they were"));
  }
  return {};
}

Result<void> back_up(const StoreOptions& options, bool as_json, Output& out) {
  const std::string path = store_path(options);
  const auto done = store::back_up(path, options.file, options.force);
  if (!done) return done;
  if (as_json) {
    out.add(files::json_text(json::object{{"store", path}, {"backup", options.file}}));
  } else {
    out.line(cat("The backup of ", path, " is ", options.file, "; it was read back and is good."));
  }
  return {};
}

Result<void> restore(const StoreOptions& options, bool as_json, Output& out) {
  const std::string path = store_path(options);
  const auto kept = store::put_back(options.file, path);
  if (!kept) return std::unexpected(kept.error());
  if (as_json) {
    json::object all{{"store", path}, {"backup", options.file}};
    all["replaced"] = kept->empty() ? json::value(nullptr) : json::value(*kept);
    out.add(files::json_text(all));
    return {};
  }
  out.line(cat(path, " is now as ", options.file, " was."));
  if (!kept->empty()) out.line(cat("What was there is kept as ", *kept, "."));
  return {};
}

Result<void> replay(const StoreOptions& options, bool as_json, Output& out) {
  const std::string path = store_path(options);
  auto opened = store::Store::open(path, {.read_only = true, .create = false});
  if (!opened) return std::unexpected(opened.error());
  const auto done = store::replay(**opened);
  if (!done) return std::unexpected(done.error());
  if (as_json) {
    out.add(files::json_text(json::object{
        {"store", path}, {"first", done->first}, {"last", done->last}, {"steps", done->steps}}));
  } else if (done->steps == 0) {
    out.line(cat(path, ": no steps since the snapshot at ", done->last, "."));
  } else {
    out.line(cat(path, ": steps ", done->first, " to ", done->last,
                 " were decided again as they were, and end in the same state."));
  }
  return {};
}

using Action = Result<void> (*)(const StoreOptions&, bool, Output&);

Verb add_verb(Verb& parent, Command& command, const std::string& name, const std::string& summary,
              Action action, const std::shared_ptr<StoreOptions>& options) {
  Verb verb = parent.add_subcommand(name, summary);
  verb->add_option("--state-dir", options->state_dir,
                   "The daemon's state folder (default: $TANGRAM_STATE_DIR, else /var/lib/tangram)")
      ->option_text("DIR");
  add_output_options(*verb, command);
  verb->callback([&command, options, action] {
    command.run = [&command, options, action](Output& out) {
      return action(*options, command.json, out);
    };
  });
  return verb;
}

}  // namespace

void add_store(Verb& app, Command& command) {
  Verb parent = app.add_subcommand("store", "The daemon's store: check, back up, restore");
  parent->require_subcommand(0, 1);
  parent->footer("Example:\n  tangram store backup /var/backups/tangram.db");
  const auto options = std::make_shared<StoreOptions>();
  const auto add = [&](const char* name, const char* summary, Action action) {
    return add_verb(*parent, command, name, summary, action, options);
  };
  Verb verb = add("check", "Check a store, and count what is in it", check);
  verb->add_option("path", options->path, "The store's file, instead of a state folder's")
      ->option_text("[PATH]");
  verb->add_flag("--replay", options->replay, "Decide the whole journal again and compare");
  verb = add("backup", "Copy the store, also while the daemon runs", back_up);
  verb->add_option("file", options->file, "Where to")->required()->option_text("FILE");
  verb->add_flag("--force", options->force, "Replace the file if it exists");
  verb = add("restore", "Put a backup in the store's place; the daemon must be stopped", restore);
  verb->add_option("file", options->file, "The backup")->required()->option_text("FILE");
  verb = add("replay", "Decide the journal again and compare with what was decided", replay);
  verb->add_option("path", options->path, "The store's file, instead of a state folder's")
      ->option_text("[PATH]");
}

}  // namespace tangram::cli
