// Encoding and decoding of contents; the layout is in content.h.

#include "core/message/content.h"

#include <cstring>

#include "base/assert.h"

namespace fanfare::message {
namespace {

constexpr std::uint8_t kVersion = 2;
constexpr std::uint8_t kHasAttributesMd5 = 1;
constexpr std::uint8_t kIsPublication = 2;
constexpr std::uint8_t kHasTexts = 4;
constexpr std::size_t kHeaderBytes = 56;
constexpr std::size_t kPublicationBytes = 32;
constexpr std::size_t kAttributeHeaderBytes = 8;
constexpr std::size_t kTextHeaderBytes = 6;
constexpr std::size_t kU16Max = 0xffff;

char* put(char* at, std::string_view bytes) {
  if (!bytes.empty()) std::memcpy(at, bytes.data(), bytes.size());
  return at + bytes.size();
}

template <class Integer>
char* put_le(char* at, Integer value) {
  std::memcpy(at, &value, sizeof value);
  return at + sizeof value;
}

std::uint16_t u16(std::size_t size) {
  FANFARE_ASSERT(size <= kU16Max);
  return static_cast<std::uint16_t>(size);
}

}  // namespace

std::uint64_t counted_bytes(const Content& content) {
  std::uint64_t bytes = content.body.size();
  for (const MessageAttribute& a : content.attributes) bytes += a.name.size() + a.type.size() + a.value.size();
  return bytes;
}

void encode(const Content& content, std::string& out) {
  std::size_t attribute_bytes = 0;
  for (const MessageAttribute& a : content.attributes)
    attribute_bytes += kAttributeHeaderBytes + a.name.size() + a.type.size() + a.value.size();
  std::size_t text_bytes = 0;
  for (const ProtocolText& one : content.texts) text_bytes += kTextHeaderBytes + one.protocol.size() + one.text.size();
  const std::string_view subject = content.publication ? content.publication->subject : std::string_view{};
  const std::size_t total = kHeaderBytes + (content.publication ? kPublicationBytes : 0) + content.body.size() +
                            content.sender.size() + content.trace_header.size() + content.group_id.size() +
                            content.deduplication_id.size() + subject.size() + attribute_bytes + text_bytes;
  FANFARE_ASSERT(total <= 0xffff'ffffu);

  const std::size_t before = out.size();
  out.resize(before + total);
  char* at = out.data() + before;
  at = put_le(at, kVersion);
  at = put_le(at, static_cast<std::uint8_t>((content.attributes.empty() ? 0 : kHasAttributesMd5) |
                                            (content.publication ? kIsPublication : 0) | (content.texts.empty() ? 0 : kHasTexts)));
  at = put_le(at, u16(content.attributes.size()));
  at = put_le(at, static_cast<std::uint32_t>(content.body.size()));
  at = put_le(at, u16(content.sender.size()));
  at = put_le(at, u16(content.trace_header.size()));
  at = put_le(at, u16(content.group_id.size()));
  at = put_le(at, u16(content.deduplication_id.size()));
  at = put_le(at, u16(subject.size()));
  at = put_le(at, std::uint16_t{0});
  at = put_le(at, static_cast<std::uint32_t>(attribute_bytes));
  std::memcpy(at, content.body_md5.data(), 16);
  at += 16;
  if (content.attributes.empty()) {
    std::memset(at, 0, 16);
  } else {
    std::memcpy(at, content.attributes_md5.data(), 16);
  }
  at += 16;
  if (content.publication) {
    std::memcpy(at, content.publication->id.bytes.data(), 16);
    at = put_le(at + 16, unix_ms(content.publication->published_at));
    at = put_le(at, content.publication->sequence_number);
  }
  at = put(at, content.body);
  at = put(at, content.sender);
  at = put(at, content.trace_header);
  at = put(at, content.group_id);
  at = put(at, content.deduplication_id);
  at = put(at, subject);
  for (const MessageAttribute& a : content.attributes) {
    at = put_le(at, u16(a.name.size()));
    at = put_le(at, u16(a.type.size()));
    at = put_le(at, static_cast<std::uint32_t>(a.value.size()));
    at = put(at, a.name);
    at = put(at, a.type);
    at = put(at, a.value);
  }
  for (const ProtocolText& one : content.texts) {
    at = put_le(at, u16(one.protocol.size()));
    at = put_le(at, static_cast<std::uint32_t>(one.text.size()));
    at = put(at, one.protocol);
    at = put(at, one.text);
  }
  FANFARE_ASSERT(at == out.data() + out.size());
}

std::optional<MessageAttribute> AttributeReader::next() {
  if (left_ == 0) return std::nullopt;
  --left_;
  const auto name_bytes = bytes_.take<std::uint16_t>();
  const auto type_bytes = bytes_.take<std::uint16_t>();
  const auto value_bytes = bytes_.take<std::uint32_t>();
  MessageAttribute attribute;
  attribute.name = bytes_.take_bytes(name_bytes);
  attribute.type = bytes_.take_bytes(type_bytes);
  attribute.value = bytes_.take_bytes(value_bytes);
  if (!bytes_.ok()) {
    left_ = 0;
    return std::nullopt;
  }
  return attribute;
}

namespace {

/// Calls use(text) for each of encoded texts until it returns false. False if the bytes are no such texts.
template <class Use>
bool read_texts(std::string_view bytes, Use&& use) {
  ByteReader reader{bytes};
  while (reader.remaining() > 0) {
    const auto protocol_bytes = reader.take<std::uint16_t>();
    const auto text_bytes = reader.take<std::uint32_t>();
    const std::string_view protocol = reader.take_bytes(protocol_bytes);
    const std::string_view text = reader.take_bytes(text_bytes);
    if (!reader.ok()) return false;
    if (!use(ProtocolText{protocol, text})) break;
  }
  return true;
}

}  // namespace

std::string_view ContentView::text_for(std::string_view protocol) const {
  std::string_view found = body_;
  read_texts(texts_, [&](const ProtocolText& one) {
    if (one.protocol == "default") found = one.text;
    if (one.protocol != protocol) return true;
    found = one.text;
    return false;
  });
  return found;
}

std::optional<ContentView> ContentView::decode(std::string_view bytes) {
  ByteReader reader{bytes};
  if (reader.take<std::uint8_t>() != kVersion) return std::nullopt;
  const auto flags = reader.take<std::uint8_t>();
  ContentView view;
  view.attribute_count_ = reader.take<std::uint16_t>();
  const auto body_bytes = reader.take<std::uint32_t>();
  const auto sender_bytes = reader.take<std::uint16_t>();
  const auto trace_bytes = reader.take<std::uint16_t>();
  const auto group_bytes = reader.take<std::uint16_t>();
  const auto deduplication_bytes = reader.take<std::uint16_t>();
  const auto subject_bytes = reader.take<std::uint16_t>();
  reader.take<std::uint16_t>();
  const auto attribute_bytes = reader.take<std::uint32_t>();
  const std::string_view body_md5 = reader.take_bytes(16);
  const std::string_view attributes_md5 = reader.take_bytes(16);
  if (!reader.ok()) return std::nullopt;
  std::memcpy(view.body_md5_.data(), body_md5.data(), 16);
  if ((flags & kHasAttributesMd5) != 0) {
    view.attributes_md5_.emplace();
    std::memcpy(view.attributes_md5_->data(), attributes_md5.data(), 16);
  }
  if ((flags & kIsPublication) != 0) {
    const std::string_view id = reader.take_bytes(16);
    const auto published_at = reader.take<std::int64_t>();
    const auto sequence_number = reader.take<std::uint64_t>();
    if (!reader.ok()) return std::nullopt;
    view.publication_.emplace();
    std::memcpy(view.publication_->id.bytes.data(), id.data(), 16);
    view.publication_->published_at = timestamp_from_unix_ms(published_at);
    view.publication_->sequence_number = sequence_number;
  }
  view.body_ = reader.take_bytes(body_bytes);
  view.sender_ = reader.take_bytes(sender_bytes);
  view.trace_header_ = reader.take_bytes(trace_bytes);
  view.group_id_ = reader.take_bytes(group_bytes);
  view.deduplication_id_ = reader.take_bytes(deduplication_bytes);
  const std::string_view subject = reader.take_bytes(subject_bytes);
  if (view.publication_) view.publication_->subject = subject;
  view.attributes_ = reader.take_bytes(attribute_bytes);
  if ((flags & kHasTexts) != 0) view.texts_ = reader.take_bytes(reader.remaining());
  if (!reader.ok() || reader.remaining() != 0) return std::nullopt;
  if (!read_texts(view.texts_, [](const ProtocolText&) { return true; })) return std::nullopt;
  return view;
}

}  // namespace fanfare::message
