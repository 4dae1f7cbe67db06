#include "core/engine/entries_section.h"

#include "core/engine/snapshot_sections.h"

namespace fanfare::engine {
namespace {

constexpr std::uint8_t kDelivered = 4;
constexpr std::uint8_t kHidden = 8;
constexpr std::uint8_t kGrouped = 16;
constexpr std::uint8_t kEnveloped = 32;
constexpr std::uint8_t kMovedHere = 64;
constexpr std::uint8_t kShared = 128;
constexpr std::uint8_t kStateMask = 3;
constexpr std::size_t kCountAt = 6;

constexpr std::uint64_t zigzag(std::uint64_t difference) {
  return difference << 1 ^ (difference >> 63 != 0 ? ~std::uint64_t{0} : 0);
}
constexpr std::uint64_t unzigzag(std::uint64_t value) { return value >> 1 ^ ((value & 1) != 0 ? ~std::uint64_t{0} : 0); }

std::uint8_t flags_of(const queue::Entry& e, std::string_view group, const ContentPlace& content) {
  auto flags = static_cast<std::uint8_t>(e.state);
  if (e.receipt != 0 || e.receive_epoch != 0 || e.first_received_ms != 0 || e.received_ms != 0 || e.undelivered != 0) flags |= kDelivered;
  if (e.hidden_until_ms != 0) flags |= kHidden;
  if (!group.empty()) flags |= kGrouped;
  if (e.envelope != 0) flags |= kEnveloped;
  if (e.dead_letter_source != 0) flags |= kMovedHere;
  if (content.shared) flags |= kShared;
  return flags;
}

char* put_number(char* end, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) *end++ = static_cast<char>(value | 0x80);
  *end++ = static_cast<char>(value);
  return end;
}

}  // namespace

void EntriesWriter::begin(std::uint32_t queue) {
  bytes_.clear();
  groups_.clear();
  count_ = 0;
  sequence_ = 0;
  sent_ms_ = 0;
  position_ = 0;
  append_le(bytes_, kSnapshotVersion);
  append_le(bytes_, static_cast<std::uint8_t>(SectionKind::PackedEntries));
  append_le(bytes_, queue);
  append_le(bytes_, std::uint32_t{0});
}

void EntriesWriter::add(const queue::Entry& e, std::uint64_t rank, std::string_view group, const ContentPlace& content) {
  char raw[256];  // one append an entry: 18 numbers of at most 10 bytes, the id and the flags
  char* end = raw;
  const auto number = [&end](std::uint64_t value) { end = put_number(end, value); };
  const std::uint8_t flags = flags_of(e, group, content);
  *end++ = static_cast<char>(flags);
  std::memcpy(end, e.id.bytes.data(), 16);
  end += 16;
  number(e.sequence.value - sequence_);
  number(zigzag(static_cast<std::uint64_t>(unix_ms(e.sent_at)) - static_cast<std::uint64_t>(sent_ms_)));
  number(zigzag(content.position.value - position_));
  number(content.bytes);
  if ((flags & kDelivered) != 0) number(e.first_received_ms), number(e.received_ms), number(e.receipt), number(e.receive_epoch), number(e.undelivered);
  if ((flags & kHidden) != 0) number(e.hidden_until_ms);
  if ((flags & kGrouped) != 0) {
    const auto [known, fresh] = groups_.try_emplace(std::string{group}, static_cast<std::uint32_t>(groups_.size() + 1));
    number(known->second);
    if (fresh) {
      number(group.size());
      bytes_.append(raw, end);
      bytes_.append(group);
      end = raw;
    }
  }
  if ((flags & kEnveloped) != 0) number(e.envelope);
  if ((flags & kMovedHere) != 0) number(e.dead_letter_source);
  if ((flags & kShared) != 0) number(content.number);
  if (e.state == queue::EntryState::Returned) number(zigzag(rank - e.sequence.value));
  bytes_.append(raw, end);
  sequence_ = e.sequence.value;
  sent_ms_ = unix_ms(e.sent_at);
  position_ = content.position.value;
  ++count_;
}

std::string_view EntriesWriter::finish() {
  std::memcpy(bytes_.data() + kCountAt, &count_, sizeof count_);
  return bytes_;
}

EntriesReader::EntriesReader(Reader& reader) : reader_(reader) {
  reader_(queue_);
  reader_(left_);
}

bool EntriesReader::next(Item& item) {
  if (left_ == 0 || !reader_.ok()) return false;
  item = {};
  queue::Entry& e = item.entry;
  std::uint8_t flags = 0;
  reader_(flags);
  reader_(e.id);
  sequence_ += reader_.packed<std::uint64_t>();
  sent_ms_ += unzigzag(reader_.packed<std::uint64_t>());
  position_ += unzigzag(reader_.packed<std::uint64_t>());
  e.sequence = {sequence_};
  item.content.position = {position_};
  item.content.bytes = reader_.packed<std::uint32_t>();
  e.state = static_cast<queue::EntryState>(flags & kStateMask);
  if (!is_plausible_time(static_cast<std::int64_t>(sent_ms_))) reader_.fail();
  else e.sent_at = timestamp_from_unix_ms(static_cast<std::int64_t>(sent_ms_));
  if ((flags & kDelivered) != 0) {
    e.first_received_ms = reader_.packed<std::uint32_t>();
    e.received_ms = reader_.packed<std::uint32_t>();
    e.receipt = reader_.packed<std::uint32_t>();
    e.receive_epoch = reader_.packed<std::uint32_t>();
    e.undelivered = reader_.packed<std::uint16_t>();
  }
  if ((flags & kHidden) != 0) e.hidden_until_ms = reader_.packed<std::uint32_t>();
  if ((flags & kGrouped) != 0) {
    const auto number = reader_.packed<std::uint32_t>();
    if (number == groups_.size() + 1) groups_.push_back(reader_.bytes(reader_.packed<std::uint32_t>()));
    if (number == 0 || number > groups_.size() || groups_[number - 1].empty()) {
      reader_.fail();
      return false;
    }
    item.group = groups_[number - 1];
  }
  if ((flags & kEnveloped) != 0) e.envelope = reader_.packed<std::uint32_t>();
  if ((flags & kMovedHere) != 0) e.dead_letter_source = reader_.packed<std::uint32_t>();
  item.content.shared = (flags & kShared) != 0;
  if (item.content.shared) item.content.number = reader_.packed<std::uint32_t>();
  item.rank = e.sequence.value;
  if (e.state == queue::EntryState::Returned) item.rank += unzigzag(reader_.packed<std::uint64_t>());
  if (!reader_.ok()) return false;
  --left_;
  return true;
}

ArchiveWriter::ArchiveWriter(std::uint32_t topic, const std::optional<Timestamp>& from) {
  Writer writer(bytes_);
  writer(kSnapshotVersion);
  writer(SectionKind::PackedArchive);
  writer(topic);
  writer(from);
  count_at_ = bytes_.size();
  writer(std::uint32_t{0});
}

void ArchiveWriter::add(const ArchivedMessage& message, const ContentPlace& content) {
  char raw[64];  // five numbers of at most 10 bytes
  const auto published_ms = static_cast<std::uint64_t>(unix_ms(message.published_at));
  char* end = put_number(raw, message.sequence - sequence_);
  end = put_number(end, zigzag(published_ms - published_ms_));
  end = put_number(end, zigzag(content.position.value - position_));
  end = put_number(end, std::uint64_t{content.bytes} << 1 | (content.shared ? 1 : 0));
  if (content.shared) end = put_number(end, content.number);
  bytes_.append(raw, end);
  sequence_ = message.sequence;
  published_ms_ = published_ms;
  position_ = content.position.value;
  ++count_;
}

std::string_view ArchiveWriter::finish() {
  std::memcpy(bytes_.data() + count_at_, &count_, sizeof count_);
  return bytes_;
}

ArchiveReader::ArchiveReader(Reader& reader) : reader_(reader) {
  reader_(topic_);
  reader_(from_);
  reader_(left_);
}

bool ArchiveReader::next(Item& item) {
  if (left_ == 0 || !reader_.ok()) return false;
  item = {};
  sequence_ += reader_.packed<std::uint64_t>();
  published_ms_ += unzigzag(reader_.packed<std::uint64_t>());
  position_ += unzigzag(reader_.packed<std::uint64_t>());
  const auto bytes = reader_.packed<std::uint64_t>();
  if (!is_plausible_time(static_cast<std::int64_t>(published_ms_)) || bytes >> 33 != 0) reader_.fail();
  else item.message.published_at = timestamp_from_unix_ms(static_cast<std::int64_t>(published_ms_));
  item.message.sequence = sequence_;
  item.content.position = {position_};
  item.content.bytes = static_cast<std::uint32_t>(bytes >> 1);
  item.content.shared = (bytes & 1) != 0;
  if (item.content.shared) item.content.number = reader_.packed<std::uint32_t>();
  if (!reader_.ok()) return false;
  --left_;
  return true;
}

}  // namespace fanfare::engine
