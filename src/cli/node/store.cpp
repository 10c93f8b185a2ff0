// `tangram store …`: checks, backs up and restores the daemon's store. `check` and `replay` change
// nothing; `restore` keeps the previous file under another name.
#include "store/store.hpp"

#include <filesystem>
#include <memory>

#include <boost/json/object.hpp>

#include "base/text.hpp"
#include "cli/command/environment.hpp"
#include "cli/command/verbs.hpp"
#include "store/backup.hpp"
#include "store/replay.hpp"
#include "store/restore_scheduler.hpp"
#include "text/json_text.hpp"

namespace tangram::cli {
namespace {

namespace json = boost::json;

struct StoreOptions {
  std::string path;       // store file; empty: the one in state_dir
  std::string state_dir;  // empty: TANGRAM_STATE_DIR, else /var/lib/tangram
  std::string file;       // backup file
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
  out.line(cat("  jobs       ", counts.jobs, " (", counts.jobs_over, " finished)"));
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

// Does what the start of the daemon does with the store: opens it (the file, its version), loads
// its contents and restores the scheduler from them.
Result<void> check(const StoreOptions& options, bool as_json, Output& out) {
  const std::string path = store_path(options);
  auto opened = store::Store::open(path, {.read_only = true, .create = false});
  if (!opened) return std::unexpected(opened.error());
  store::Store& store = **opened;
  const auto contents = store.load(0);
  if (!contents) return std::unexpected(contents.error());
  if (!contents->fresh) {
    const auto scheduler = store::restore_scheduler(contents->scheduler);
    if (!scheduler) return std::unexpected(scheduler.error());
  }
  const auto counts = store.counts();
  if (!counts) return std::unexpected(counts.error());
  store::ReplayResult replayed;
  if (options.replay && !contents->fresh) {
    const auto done = store::replay(store);
    if (!done) return std::unexpected(done.error());
    replayed = *done;
  }
  if (as_json) {
    json::object all{{"store", path}, {"ok", true}};
    for (const auto& member : counts_json(*counts)) all.insert(member);
    if (options.replay) all["replayed_steps"] = replayed.steps;
    out.add(text::json_text(all));
    return {};
  }
  out.line(cat(path, ": ", out.paint("ok", Style::kGood)));
  print_counts(*counts, out);
  if (options.replay) {
    out.line(cat("  replay     ", replayed.steps, " steps, same decisions"));
  }
  return {};
}

Result<void> create_backup(const StoreOptions& options, bool as_json, Output& out) {
  const std::string path = store_path(options);
  const auto done = store::create_backup(path, options.file, options.force);
  if (!done) return done;
  if (as_json) {
    out.add(text::json_text(json::object{{"store", path}, {"backup", options.file}}));
  } else {
    out.line(cat("backed up ", path, " to ", options.file, " (verified)"));
  }
  return {};
}

Result<void> restore(const StoreOptions& options, bool as_json, Output& out) {
  const std::string path = store_path(options);
  const auto kept = store::restore_backup(options.file, path);
  if (!kept) return std::unexpected(kept.error());
  if (as_json) {
    json::object all{{"store", path}, {"backup", options.file}};
    all["replaced"] = kept->empty() ? json::value(nullptr) : json::value(*kept);
    out.add(text::json_text(all));
    return {};
  }
  out.line(cat("restored ", path, " from ", options.file));
  if (!kept->empty()) out.line(cat("previous store kept as ", *kept));
  return {};
}

Result<void> replay(const StoreOptions& options, bool as_json, Output& out) {
  const std::string path = store_path(options);
  auto opened = store::Store::open(path, {.read_only = true, .create = false});
  if (!opened) return std::unexpected(opened.error());
  const auto done = store::replay(**opened);
  if (!done) return std::unexpected(done.error());
  if (as_json) {
    out.add(text::json_text(json::object{
        {"store", path}, {"first", done->first}, {"last", done->last}, {"steps", done->steps}}));
  } else if (done->steps == 0) {
    out.line(cat(path, ": no steps since the snapshot at ", done->last, "."));
  } else {
    out.line(cat(path, ": steps ", done->first, " to ", done->last,
                 " replayed with the same decisions and the same final state."));
  }
  return {};
}

using Action = Result<void> (*)(const StoreOptions&, bool, Output&);

Verb add_store_verb(Verb& parent, Command& command, const std::string& name,
                    const std::string& summary, Action action,
                    const std::shared_ptr<StoreOptions>& options) {
  Verb verb = parent.add_subcommand(name, summary);
  verb->add_option(
          "--state-dir", options->state_dir,
          "State directory of the daemon (default: $TANGRAM_STATE_DIR or /var/lib/tangram)")
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
  Verb parent = app.add_subcommand("store", "Check, back up and restore the daemon's store");
  parent->require_subcommand(0, 1);
  parent->footer("Example:\n  tangram store backup /var/backups/tangram.db");
  const auto options = std::make_shared<StoreOptions>();
  const auto add = [&](const char* name, const char* summary, Action action) {
    return add_store_verb(*parent, command, name, summary, action, options);
  };
  Verb verb = add("check", "Check a store and count its contents", check);
  verb->add_option("path", options->path, "Store file (default: the one in the state directory)")
      ->option_text("[PATH]");
  verb->add_flag("--replay", options->replay, "Replay the whole journal and compare the decisions");
  verb->footer("Example:\n  tangram store check --replay");
  verb = add("backup", "Back up the store; the daemon may be running", create_backup);
  verb->add_option("file", options->file, "Backup file to write")->required()->option_text("FILE");
  verb->add_flag("--force", options->force, "Overwrite an existing file");
  verb->footer("Example:\n  tangram store backup /var/backups/tangram.db");
  verb = add("restore", "Restore the store from a backup; the daemon must be stopped", restore);
  verb->add_option("file", options->file, "Backup file to read")->required()->option_text("FILE");
  verb->footer("Example:\n  tangram store restore /var/backups/tangram.db");
  verb = add("replay", "Replay the journal and compare the decisions", replay);
  verb->add_option("path", options->path, "Store file (default: the one in the state directory)")
      ->option_text("[PATH]");
  verb->footer("Example:\n  tangram store replay");
}

}  // namespace tangram::cli
