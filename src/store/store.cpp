// See store.hpp: opening, and the journal. The rest is in commit.cpp, load.cpp, histories.cpp and
// trim.cpp.
#include "store/store.hpp"

#include "base/text.hpp"
#include "store/event_json.hpp"
#include "store/parts.hpp"

namespace tangram::store {

Store::Store(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
Store::~Store() = default;

Result<std::unique_ptr<Store>> Store::open(const std::string& path, const OpenOptions& options) {
  auto parts = open_parts(path, options, current_schema());
  if (!parts) return std::unexpected(parts.error());
  return std::unique_ptr<Store>(new Store(*std::move(parts)));
}

const std::string& Store::path() const { return parts_->path; }
std::uint64_t Store::last_step() const { return parts_->sequence; }

void Store::Parts::take_back() {
  try {
    models.forget();
    if (sqlite3_get_autocommit(db.getHandle()) == 0) db.exec("ROLLBACK");
  } catch (const SQLite::Exception&) {
    // It was rolled back already; the next attempt tells if something is still wrong.
  }
}

Result<std::vector<Step>> Store::steps(std::uint64_t from, std::size_t most) {
  return parts_->guarded("read", [&]() -> Result<std::vector<Step>> {
    std::vector<Step> steps;
    Query query = parts_->query(
        "SELECT sequence, at, wall, event, decisions FROM journal WHERE sequence >= ? "
        "ORDER BY sequence LIMIT ?");
    query.bind(from, most);
    while (query.next()) {
      Step& step = steps.emplace_back();
      std::int64_t at = 0;
      std::string event;
      query.row(step.sequence, at, step.wall, event, step.decisions);
      step.at = Instant(Duration(at));
      auto read = read_event(event);
      if (!read) {
        return failed(cat("step ", step.sequence, " of the journal of ", parts_->path,
                          " cannot be read: ", read.error().message, " ",
                          how_to_recover(parts_->path)));
      }
      step.event = *std::move(read);
    }
    return steps;
  });
}

}  // namespace tangram::store
