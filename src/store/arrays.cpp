// Store: job arrays. The tasks are jobs; what they share, with their request, is one row.
#include "store/rows.hpp"
#include "store/store_impl.hpp"

namespace tangram::store {

void write(Statements& statements, const ArrayRow& row) {
  Query(statements.get(
            "INSERT INTO arrays (id, uid, user, name, profile, spec, tasks, first, request) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"))
      .bind(row.id, row.uid, row.user, row.name, row.profile, row.spec, row.tasks, row.first,
            row.request)
      .run();
}

Result<std::optional<ArrayRow>> Store::array(std::uint64_t id) {
  return impl_->guarded("read", [&]() -> Result<std::optional<ArrayRow>> {
    Query query = impl_->query(
        "SELECT id, uid, user, name, profile, spec, tasks, first, request FROM arrays "
        "WHERE id = ?");
    if (!query.bind(static_cast<std::int64_t>(id)).next()) return std::nullopt;
    ArrayRow row;
    query.row(row.id, row.uid, row.user, row.name, row.profile, row.spec, row.tasks, row.first,
              row.request);
    return row;
  });
}

Result<std::map<std::string, std::uint64_t>> Store::array_states(std::uint64_t id) {
  return impl_->guarded("read", [&]() -> Result<std::map<std::string, std::uint64_t>> {
    std::map<std::string, std::uint64_t> states;
    Query query = impl_->query(
        "SELECT state, count(*) FROM jobs WHERE array_id = ? AND array_id <> 0 "
        "GROUP BY state");
    query.bind(static_cast<std::int64_t>(id));
    while (query.next()) {
      states.emplace(query.column<std::string>(0), query.column<std::uint64_t>(1));
    }
    return states;
  });
}

}  // namespace tangram::store
