// Arbitrary bytes as the files of a journal: opening, verifying, replaying and reading never crash, and what once opened opens again.
//
// The input's first byte chooses what the rest is:
//   0 the first segment   1 a snapshot   2 CONTROL   3 LOCK      the whole file
//   4 frames: of each, u16 n, u32 d, u8 flaw, then up to 255 bytes of record; sums are made right, except for the flaw
//   5 patches to a sound journal: u8 file, u16 offset, u8 count, bytes
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "journal/faulty/faulty_file_system.h"
#include "journal/file/file_journal.h"
#include "journal/file/layout.h"
#include "journal/file/verify.h"
#include "journal/frame.h"

namespace {

using namespace fanfare;
using namespace fanfare::journal;

const FileJournalOptions kOptions{8u << 10, 0, false};

Result<OpenedJournal, OpenError> open(FaultyFileSystem& disk) {
  SeededSecrets secrets(1);
  return open_file_journal(disk, secrets, kOptions);
}

/// A small sound journal with two segments and a snapshot.
std::unique_ptr<FaultyFileSystem> make_sound() {
  auto disk = std::make_unique<FaultyFileSystem>(1);
  auto opened = open(*disk);
  if (!opened) std::abort();
  Journal& journal = *opened->journal;
  for (int i = 0; i < 12; ++i) {
    journal.append(std::string(1 + static_cast<std::size_t>(i) * 70, static_cast<char>('a' + i)));
    if (i % 3 == 2 && !journal.commit(Sync::Yes)) std::abort();
  }
  bool done = false;
  const auto source = [&]() -> std::optional<std::string_view> { return std::exchange(done, true) ? "" : "the state so far"; };
  if (!journal.snapshots().write(journal.durable_end(), source)) std::abort();
  return disk;
}

std::string make_frames(std::string segment, std::string_view input) {
  const auto header = SegmentHeader::decode(segment);
  if (!header) std::abort();
  segment.resize(kSegmentHeaderBytes);
  ByteReader reader(input);
  LogPosition position = header->first;
  while (reader.remaining() > 7) {
    const std::uint32_t record_bytes = reader.take<std::uint16_t>();
    const auto floor_distance = reader.take<std::uint32_t>();
    const auto flaw = reader.take<std::uint8_t>();
    std::string frame(frame_size(record_bytes), '\0');
    const std::string_view record = reader.take_bytes(std::min<std::size_t>({record_bytes, reader.remaining(), 255}));
    frame.replace(kFrameHeaderBytes, record.size(), record);
    seal_frame(frame.data(), header->seed(), position, record_bytes, floor_distance);
    if (flaw < 4) frame[flaw * 5] = static_cast<char>(frame[flaw * 5] ^ 1);
    if (flaw == 4) frame.resize(frame.size() / 2 / 8 * 8);
    segment.append(frame);
    position = position + frame.size();
    if (segment.size() > (1u << 20)) break;
  }
  return segment;
}

void patch(FaultyFileSystem& disk, std::string_view input) {
  const auto names = disk.list();
  ByteReader reader(input);
  while (reader.remaining() > 3) {
    const std::string& name = (*names)[reader.take<std::uint8_t>() % names->size()];
    const std::size_t offset = reader.take<std::uint16_t>();
    const std::size_t count = reader.take<std::uint8_t>();
    const std::string_view bytes = reader.take_bytes(std::min(count, reader.remaining()));
    std::string content = disk.contents(name);
    if (content.size() < offset + bytes.size()) content.resize(offset + bytes.size());
    content.replace(offset, bytes.size(), bytes);
    disk.put(name, content);
  }
}

/// Everything a server does with a journal; false if it does not open.
bool use(FaultyFileSystem& disk) {
  auto opened = open(disk);
  if (!opened) return false;
  Journal& journal = *opened->journal;
  std::vector<LogPosition> positions;
  const auto replay = journal.replay(journal.first_position(), [&](LogPosition position, std::string_view) {
    positions.push_back(position);
    return positions.size() < 1000;
  });
  // Only what lies below a snapshot is not checked by opening.
  if (!replay && opened->report.snapshot == journal.first_position()) std::abort();
  std::string record;
  for (const LogPosition position : positions) {
    if (!journal.read(position, record)) std::abort();
    (void)journal.read(position + 8, record);
  }
  if (auto snapshot = journal.snapshots().latest(); snapshot && *snapshot != nullptr) {
    while (true) {
      const auto piece = (*snapshot)->next();
      if (!piece) std::abort();  // opening has checked it
      if (piece->empty()) break;
    }
  }
  journal.append("a new record");
  const auto committed = journal.commit(Sync::Yes);
  if (!committed || *committed != journal.next_position()) std::abort();
  return true;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2 || size > 100'000) return 0;
  static const std::unique_ptr<FaultyFileSystem> sound = make_sound();
  const std::string_view input(reinterpret_cast<const char*>(data + 1), size - 1);
  const auto disk = sound->copy_of_disk(1);
  switch (data[0] % 6) {
    case 0: disk->put(segment_name(1), std::string(input)); break;
    case 1: disk->put(snapshot_name(LogPosition{1000}), std::string(input)); break;
    case 2: disk->put(kControlName, std::string(input)); break;
    case 3: disk->put(kLockName, std::string(input)); break;
    case 4: {
      const auto names = disk->list();
      for (const std::string& name : *names) {
        if (position_of_snapshot_name(name)) (void)disk->remove(name);
        const auto sequence = sequence_of_segment_name(name);
        if (sequence && *sequence > 1) (void)disk->remove(name);
      }
      (void)disk->remove(kControlName);
      Control control;
      control.journal = SegmentHeader::decode(disk->contents(segment_name(1)))->journal;
      control.generation = 1;
      std::string slots(2 * kControlSlotBytes, '\0');
      slots.replace(kControlSlotBytes, kControlSlotBytes, control.encode());
      disk->put(kControlName, slots);
      disk->put(segment_name(1), make_frames(disk->contents(segment_name(1)), input));
      break;
    }
    default: patch(*disk, input); break;
  }
  const auto verified = verify_journal(*disk);
  if (verified) (void)verified->describe();
  const bool sound_enough = verified.has_value() && verified->sound();
  if (use(*disk)) {
    if (!use(*disk)) std::abort();
  } else if (sound_enough) {
    std::abort();  // verify found nothing wrong
  }
  return 0;
}
