// The inbox store on SQLite, embedded.
// Rule 1: WAL, synchronous FULL, and ONE connection that reads, writes and checkpoints. Debian 12's SQLite 3.40.1 has
//         the WAL-reset bug (corruption when several connections write or checkpoint); one connection avoids it. No
//         mmap.
// Rule 2: BEGIN IMMEDIATE around each batch; commit order is the sequence.
// Source: sqlite.org/wal.html, sqlite.org/pragma.html#pragma_synchronous.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "store/inbox_store.h"

namespace fanfare::store {

struct SqliteOptions {
  std::string path;               ///< "/var/lib/fanfare/inbox.sqlite"; its folder must exist. ":memory:" for tests.
  inbox::Epoch epoch_if_new = 0;  ///< Random and not 0; taken when the file is made.
  /// False (--durability relaxed): survives a crash of the process, not a power cut.
  bool synchronous = true;
  std::uint64_t bytes_max = 0;  ///< The file does not grow beyond it: creates become Unavailable. 0: no bound.
};

/// Opens or makes the database and brings its schema to this version. Damaged: not a database, not ours, or a newer
/// version; Unavailable: cannot be opened, or another process holds it.
Result<std::unique_ptr<InboxStore>, StoreError> open_sqlite_inbox_store(const SqliteOptions& options);

/// All DDL as one SQL text, for `fanfare inbox schema`.
std::string_view sqlite_inbox_schema();

}  // namespace fanfare::store
