// See store.hpp: opening, and the journal. The rest is in commit.cpp, load.cpp, history_queries.cpp
// and retention.cpp.
#include "store/store.hpp"

#include "base/text.hpp"
#include "store/event_json.hpp"
#include "store/store_impl.hpp"

namespace tangram::store {

Store::Store(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Store::~Store() = default;

Result<std::unique_ptr<Store>> Store::open(const std::string& path, const OpenOptions& options) {
  auto impl = open_impl(path, options, schema_in_use());
  if (!impl) return std::unexpected(impl.error());
  return std::make_unique<Store>(*std::move(impl));
}

const std::string& Store::path() const { return impl_->path; }
std::uint64_t Store::last_step() const { return impl_->sequence; }

void Store::Impl::roll_back() {
  models.clear_cache();
  // If this fails, SQLite has rolled back already, or the next attempt reports the problem.
  if (sqlite3_get_autocommit(db.getHandle()) == 0) db.tryExec("ROLLBACK");
}

Result<std::vector<Step>> Store::steps(std::uint64_t from, std::size_t most) {
  return impl_->guarded("read", [&]() -> Result<std::vector<Step>> {
    std::vector<Step> steps;
    Query query = impl_->query(
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
        return failed(cat("step ", step.sequence, " of the journal of ", impl_->path,
                          " cannot be read: ", read.error().message, " ",
                          recovery_hint(impl_->path)));
      }
      step.event = *std::move(read);
    }
    return steps;
  });
}

}  // namespace tangram::store
