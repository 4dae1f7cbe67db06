// The CONTROL file: what the journal knows besides its records, in two slots that are written in turn, so that a write cut short
// leaves the slot before it.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "journal/file/layout.h"
#include "journal/file_system.h"

namespace fanfare::journal {

/// What the two slots hold.
struct ControlSlots {
  std::optional<Control> newest;  ///< nullopt: no slot is valid
  /// One for each slot that holds something else than zeros and is not valid.
  std::vector<LayoutFault> faults;
};

/// A missing file is two empty slots.
Result<ControlSlots, FileError> read_control(FileSystem& files);

/// Thread-safe.
class ControlFile {
 public:
  /// `current` is what the file holds, or what a new one shall hold before its first write.
  static Result<std::unique_ptr<ControlFile>, FileError> open(FileSystem& files, const Control& current);

  [[nodiscard]] Control current() const;
  /// Applies `change` and writes the outcome durably; on failure nothing is changed, as far as is known.
  Result<Success, FileError> update(const std::function<void(Control&)>& change);

 private:
  ControlFile(std::unique_ptr<File> file, const Control& current) : file_(std::move(file)), current_(current) {}

  std::unique_ptr<File> file_;
  mutable std::mutex mutex_;
  Control current_;  // guarded by mutex_
};

}  // namespace fanfare::journal
