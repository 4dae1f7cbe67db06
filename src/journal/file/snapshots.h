// The snapshots of a journal folder: at most one beside the one in the making, until the new one is durable.
#pragma once

#include <functional>
#include <mutex>
#include <optional>
#include <string>

#include "journal/file/layout.h"
#include "journal/file_system.h"
#include "journal/journal.h"

namespace fanfare::journal {

/// Thread-safe; writes wait for each other.
class FileSnapshots final : public SnapshotStore {
 public:
  /// `may_write` tells whether the folder is still this process's; `note_writing` hears when a snapshot begins and when it ends. `newest` is what the opening found to be whole.
  FileSnapshots(FileSystem& files, const JournalId& journal, std::uint64_t epoch, std::optional<LogPosition> newest,
                std::function<Result<Success, JournalError>()> may_write, std::function<void(bool)> note_writing)
      : files_(files),
        journal_(journal),
        epoch_(epoch),
        may_write_(std::move(may_write)),
        note_writing_(std::move(note_writing)),
        newest_(newest) {}

  Result<Success, JournalError> write(LogPosition position, const SnapshotSource& source) override;
  Result<std::unique_ptr<SnapshotReader>, JournalError> latest() override;

  /// Position of the newest durable snapshot: trim() must not go beyond it.
  [[nodiscard]] std::optional<LogPosition> newest() const;

 private:
  FileSystem& files_;
  const JournalId journal_;
  const std::uint64_t epoch_;
  const std::function<Result<Success, JournalError>()> may_write_;
  const std::function<void(bool)> note_writing_;

  std::mutex writing_;
  mutable std::mutex mutex_;
  std::optional<LogPosition> newest_;  // guarded by mutex_
};

}  // namespace fanfare::journal
