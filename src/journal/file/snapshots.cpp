#include "journal/file/snapshots.h"

#include "journal/file/snapshot_file.h"

namespace fanfare::journal {

Result<Success, JournalError> FileSnapshots::write(LogPosition position, const SnapshotSource& source) {
  const std::scoped_lock one_at_a_time(writing_);
  note_writing_(true);
  const auto written = write_snapshot_file(files_, kSnapshotTempName, {journal_, position, epoch_}, source);
  note_writing_(false);
  if (!written) {
    (void)files_.remove(kSnapshotTempName);  // gives back the space; if that fails too, the next opening removes it
    return written.error().kind == SnapshotFault::Kind::Abandoned ? JournalError::Abandoned : written.error().error.kind();
  }
  if (const auto allowed = may_write_(); !allowed) return allowed.error();
  const std::string name = snapshot_name(position);
  if (const auto renamed = files_.rename(kSnapshotTempName, name); !renamed) return renamed.error().kind();
  if (const auto synced = files_.sync_directory(); !synced) return synced.error().kind();
  {
    const std::scoped_lock lock(mutex_);
    newest_ = position;
  }
  // The new one stands; an old one that cannot be removed now is removed after the next.
  if (const auto names = files_.list(); names) {
    for (const std::string& other : *names) {
      if (other != name && position_of_snapshot_name(other)) (void)files_.remove(other);
    }
  }
  return Success{};
}

Result<std::unique_ptr<SnapshotReader>, JournalError> FileSnapshots::latest() {
  const auto position = newest();
  if (!position) return std::unique_ptr<SnapshotReader>{};
  auto reader = SnapshotFileReader::open(files_, snapshot_name(*position));
  if (!reader) return reader.error().kind == SnapshotFault::Kind::Io ? JournalError::Io : JournalError::Damaged;
  return std::unique_ptr<SnapshotReader>{std::move(*reader)};
}

std::optional<LogPosition> FileSnapshots::newest() const {
  const std::scoped_lock lock(mutex_);
  return newest_;
}

}  // namespace fanfare::journal
