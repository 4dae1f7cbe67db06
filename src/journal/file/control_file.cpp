#include "journal/file/control_file.h"

#include <algorithm>
#include <cerrno>
#include <string_view>

namespace fanfare::journal {

Result<ControlSlots, FileError> read_control(FileSystem& files) {
  ControlSlots slots;
  const auto file = files.open(kControlName, OpenMode::Read);
  if (!file) {
    if (file.error().number == ENOENT) return slots;
    return file.error();
  }
  std::string bytes(2 * kControlSlotBytes, '\0');
  const auto got = (*file)->read_at(bytes.data(), bytes.size(), 0);
  if (!got) return got.error();
  for (const std::uint64_t offset : {std::uint64_t{0}, kControlSlotBytes}) {
    const std::string_view slot = std::string_view(bytes).substr(offset, kControlSlotBytes);
    if (std::all_of(slot.begin(), slot.end(), [](char byte) { return byte == 0; })) continue;
    const auto control = Control::decode(slot);
    if (!control) {
      slots.faults.push_back(control.error());
    } else if (!slots.newest || slots.newest->generation < control->generation) {
      slots.newest = *control;
    }
  }
  return slots;
}

Result<std::unique_ptr<ControlFile>, FileError> ControlFile::open(FileSystem& files, const Control& current) {
  auto file = files.open(kControlName, OpenMode::Create);
  if (!file) return file.error();
  return std::unique_ptr<ControlFile>(new ControlFile(std::move(*file), current));
}

Control ControlFile::current() const {
  const std::scoped_lock lock(mutex_);
  return current_;
}

Result<Success, FileError> ControlFile::update(const std::function<void(Control&)>& change) {
  const std::scoped_lock lock(mutex_);
  Control next = current_;
  change(next);
  // After a failure the same slot is tried again: the other one is the last that is known to be good.
  next.generation = current_.generation + 1;
  const std::uint64_t offset = next.generation % 2 * kControlSlotBytes;
  if (const auto written = write_all(*file_, next.encode(), offset, Sync::Yes); !written) return written.error();
  current_ = next;
  return Success{};
}

}  // namespace fanfare::journal
