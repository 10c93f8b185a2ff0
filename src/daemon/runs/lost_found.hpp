// lost+found: where folders without a job in the store are moved. They may be all that is left of
// jobs of another store (a damaged one that was moved away, or one from before a backup was
// restored), so they are never deleted at once. Layout: lost+found/<UTC time of the move>/
// {runs,checkpoints}/NAME. lost+found and the folders of times are accessible to the daemon's user
// only; the rest keeps its owner and mode.
#pragma once

#include <atomic>
#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "store/store.hpp"

namespace tangram::daemon {

// "20261118T222604Z", and back; nullopt for any other text.
[[nodiscard]] std::string lost_found_name(store::WallTime time);
[[nodiscard]] std::optional<store::WallTime> parse_lost_found_name(std::string_view name);

// Moves the folder `from` with rename(2) to `lost_found`/<time>/`kind`/NAME and returns the new
// path. Never overwrites or copies. Blocks.
[[nodiscard]] Result<std::string> move_to_lost_found(const std::string& lost_found,
                                                     std::string_view kind, const std::string& from,
                                                     store::WallTime time);

// Removes what was moved to `lost_found` before `oldest`. Names that are not a time are left alone.
// Blocks, until `cancelled` is set by another thread; errors are logged.
void remove_old_lost_found(const std::string& lost_found, store::WallTime oldest,
                           const std::atomic<bool>& cancelled);

}  // namespace tangram::daemon
