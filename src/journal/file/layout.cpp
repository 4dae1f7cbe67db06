#include "journal/file/layout.h"

#include <fmt/format.h>

#include <charconv>
#include <cstring>

#include "base/assert.h"
#include "base/bytes.h"
#include "journal/crc32c.h"

namespace fanfare::journal {
namespace {

constexpr std::string_view kSegmentMagic = "FANFJRNL";
constexpr std::string_view kControlMagic = "FANFCTRL";
constexpr std::string_view kSnapshotMagic = "FANFSNAP";

std::string begin_block(std::string_view magic, const JournalId& journal) {
  std::string block(magic);
  append_le(block, kFormatVersion);
  append_le(block, std::uint32_t{0});
  block.append(reinterpret_cast<const char*>(journal.data()), journal.size());
  return block;
}

void end_block(std::string& block, std::uint64_t block_bytes) {
  append_le(block, crc32c(0, block));
  block.resize(block_bytes, '\0');
}

std::string in_hex(std::string_view bytes) {
  std::string text;
  for (const char byte : bytes) text += fmt::format("{}{:02x}", text.empty() ? "" : " ", static_cast<unsigned char>(byte));
  return text;
}

/// Checks magic, sum (after `summed_bytes`) and version, in this order, and gives a reader behind the version.
Result<ByteReader, LayoutFault> open_block(std::string_view block, std::string_view magic, std::string_view what,
                                           std::size_t summed_bytes) {
  if (block.size() < summed_bytes + 4) {
    return LayoutFault{false, fmt::format("{} of {} bytes, found {}", what, summed_bytes + 4, block.size())};
  }
  if (block.substr(0, magic.size()) != magic) {
    return LayoutFault{false, fmt::format("{} beginning with {}, found {}", what, magic, in_hex(block.substr(0, magic.size())))};
  }
  const std::uint32_t sum = crc32c(0, block.substr(0, summed_bytes));
  const auto found = load_le<std::uint32_t>(block.data() + summed_bytes);
  if (sum != found) return LayoutFault{false, fmt::format("{} whose checksum is 0x{:08x}, found 0x{:08x}", what, sum, found)};
  ByteReader reader(block.substr(magic.size(), summed_bytes - magic.size()));
  const auto version = reader.take<std::uint32_t>();
  if (version != kFormatVersion) {
    return LayoutFault{true, fmt::format("{} of format version {}, found version {}", what, kFormatVersion, version)};
  }
  reader.take<std::uint32_t>();
  return reader;
}

JournalId take_id(ByteReader& reader) {
  JournalId id{};
  const std::string_view bytes = reader.take_bytes(id.size());
  if (bytes.size() == id.size()) std::memcpy(id.data(), bytes.data(), id.size());
  return id;
}

/// No journal comes near it; beyond, sums of positions could overflow.
constexpr std::uint64_t kNumberEnd = std::uint64_t{1} << 62;

bool is_position(LogPosition position) { return position.value < kNumberEnd && position.value % 8 == 0; }

LayoutFault out_of_range(std::string_view what) {
  return {false, fmt::format("{} whose numbers are below 2^62 and whose positions are multiples of 8", what)};
}

constexpr std::uint64_t kNone = ~std::uint64_t{0};
constexpr std::size_t kSegmentSummedBytes = 56;
constexpr std::size_t kControlSummedBytes = 72;
constexpr std::size_t kSnapshotSummedBytes = 48;

std::optional<std::uint64_t> number_between(std::string_view name, std::string_view before, std::string_view after) {
  constexpr std::size_t kDigits = 20;
  if (name.size() != before.size() + kDigits + after.size() || !name.starts_with(before) || !name.ends_with(after)) return {};
  const char* begin = name.data() + before.size();
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(begin, begin + kDigits, number);
  if (error != std::errc{} || end != begin + kDigits || number >= kNumberEnd) return {};
  return number;
}

}  // namespace

std::uint32_t SegmentHeader::seed() const {
  const std::string block = encode();
  return load_le<std::uint32_t>(block.data() + kSegmentSummedBytes);
}

std::string SegmentHeader::encode() const {
  std::string block = begin_block(kSegmentMagic, journal);
  append_le(block, sequence);
  append_le(block, first.value);
  append_le(block, epoch);
  FANFARE_ASSERT(block.size() == kSegmentSummedBytes);
  end_block(block, kSegmentHeaderBytes);
  return block;
}

Result<SegmentHeader, LayoutFault> SegmentHeader::decode(std::string_view block) {
  auto reader = open_block(block, kSegmentMagic, "a segment header", kSegmentSummedBytes);
  if (!reader) return reader.error();
  SegmentHeader header;
  header.journal = take_id(*reader);
  header.sequence = reader->take<std::uint64_t>();
  header.first.value = reader->take<std::uint64_t>();
  header.epoch = reader->take<std::uint64_t>();
  if (header.sequence >= kNumberEnd || header.epoch >= kNumberEnd || !is_position(header.first)) return out_of_range("a segment header");
  return header;
}

std::string Control::encode() const {
  std::string slot = begin_block(kControlMagic, journal);
  append_le(slot, generation);
  append_le(slot, epoch);
  append_le(slot, kept_from.value);
  append_le(slot, known_durable.value);
  append_le(slot, needed_snapshot ? needed_snapshot->value : kNone);
  FANFARE_ASSERT(slot.size() == kControlSummedBytes);
  end_block(slot, kControlSlotBytes);
  return slot;
}

Result<Control, LayoutFault> Control::decode(std::string_view slot) {
  auto reader = open_block(slot, kControlMagic, "a control slot", kControlSummedBytes);
  if (!reader) return reader.error();
  Control control;
  control.journal = take_id(*reader);
  control.generation = reader->take<std::uint64_t>();
  control.epoch = reader->take<std::uint64_t>();
  control.kept_from.value = reader->take<std::uint64_t>();
  control.known_durable.value = reader->take<std::uint64_t>();
  if (const auto needed = reader->take<std::uint64_t>(); needed != kNone) control.needed_snapshot = LogPosition{needed};
  if (control.generation >= kNumberEnd || control.epoch >= kNumberEnd || !is_position(control.kept_from) ||
      !is_position(control.known_durable) || !is_position(control.needed_snapshot.value_or(LogPosition{}))) {
    return out_of_range("a control slot");
  }
  return control;
}

std::string SnapshotHeader::encode() const {
  std::string block = begin_block(kSnapshotMagic, journal);
  append_le(block, position.value);
  append_le(block, epoch);
  FANFARE_ASSERT(block.size() == kSnapshotSummedBytes);
  end_block(block, kSnapshotHeaderBytes);
  return block;
}

std::uint32_t SnapshotHeader::seed() const { return load_le<std::uint32_t>(encode().data() + kSnapshotSummedBytes); }

Result<SnapshotHeader, LayoutFault> SnapshotHeader::decode(std::string_view block) {
  auto reader = open_block(block, kSnapshotMagic, "a snapshot header", kSnapshotSummedBytes);
  if (!reader) return reader.error();
  SnapshotHeader header;
  header.journal = take_id(*reader);
  header.position.value = reader->take<std::uint64_t>();
  header.epoch = reader->take<std::uint64_t>();
  if (!is_position(header.position)) return out_of_range("a snapshot header");
  return header;
}

std::string segment_name(std::uint64_t sequence) { return fmt::format("{:020}.segment", sequence); }
std::string spare_name(std::uint64_t number) { return fmt::format("spare-{:020}", number); }
std::string snapshot_name(LogPosition position) { return fmt::format("{:020}.snapshot", position.value); }

std::optional<std::uint64_t> sequence_of_segment_name(std::string_view name) { return number_between(name, "", ".segment"); }
std::optional<std::uint64_t> number_of_spare_name(std::string_view name) { return number_between(name, "spare-", ""); }
std::optional<LogPosition> position_of_snapshot_name(std::string_view name) {
  const auto number = number_between(name, "", ".snapshot");
  if (!number) return {};
  return LogPosition{*number};
}

std::string lock_line(int pid, std::uint64_t epoch) {
  std::string line = fmt::format("pid {} epoch {}\n", pid, epoch);
  line.resize(kLockLineBytes, ' ');
  return line;
}

}  // namespace fanfare::journal
