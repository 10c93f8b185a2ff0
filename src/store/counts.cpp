// Store::counts(): row counts, for diagnostics.
#include "store/store_impl.hpp"

namespace tangram::store {

Result<Counts> Store::counts() {
  return impl_->guarded("read", [&]() -> Result<Counts> {
    const ReadTransaction transaction(impl_->db);
    const auto number = [&](const char* sql) {
      Query query = impl_->query(sql);
      return query.next() ? query.column<std::uint64_t>(0) : 0;
    };
    Counts counts;
    counts.version = static_cast<int>(number("PRAGMA user_version"));
    counts.jobs = number("SELECT count(*) FROM jobs");
    counts.jobs_over = number("SELECT count(*) FROM jobs WHERE over = 1");
    counts.runs = number("SELECT count(*) FROM runs");
    counts.gpus = number("SELECT count(*) FROM gpus");
    counts.instances = number("SELECT count(*) FROM instances");
    counts.moves = number("SELECT count(*) FROM moves");
    counts.first_step = number("SELECT coalesce(min(sequence), 0) FROM journal");
    counts.last_step = number(
        "SELECT max(coalesce((SELECT max(sequence) FROM journal), 0), "
        "coalesce((SELECT max(sequence) FROM snapshots), 0))");
    counts.snapshots = number("SELECT count(*) FROM snapshots");
    counts.events = number("SELECT count(*) FROM events");
    counts.bytes = number("PRAGMA page_count") * number("PRAGMA page_size");
    return counts;
  });
}

}  // namespace tangram::store
