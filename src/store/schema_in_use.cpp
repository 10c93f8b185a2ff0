// See schema.hpp.
#include <vector>

#include "base/text.hpp"
#include "store/schema.hpp"

namespace tangram::store {
#ifdef TANGRAM_REHEARSAL

const Schema& schema_in_use() {
  static constexpr const char* kRehearsal = "CREATE TABLE rehearsal (x);\n";
  static const Schema& now = current_schema();
  static const std::string sql = cat(now.sql, kRehearsal);
  static const std::vector<Migration> migrations = [] {
    std::vector<Migration> all(now.migrations.begin(), now.migrations.end());
    all.push_back({.from = now.version, .sql = kRehearsal});
    return all;
  }();
  static const Schema next{
      .version = now.version + 1, .sql = sql.c_str(), .migrations = migrations};
  return next;
}

#else

const Schema& schema_in_use() { return current_schema(); }

#endif
}  // namespace tangram::store
