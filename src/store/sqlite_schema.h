// The SQLite schema of the inbox: one SQL text a version.
// Rule: a released migration is never changed, only followed by another.
#pragma once

#include <span>

namespace fanfare::store {

/// The text at index n brings a database from version n to n + 1.
std::span<const char* const> sqlite_migrations();

}  // namespace fanfare::store
