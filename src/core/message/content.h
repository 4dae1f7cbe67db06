// What a message carries: body, attributes, and who sent it. Stored once in the journal record that brought it, whatever
// the number of queues that hold the message.
//
// Rule 1: decode() never trusts its bytes: damaged ones give nullopt, never a read outside.
// Rule 2: a ContentView points into the encoded bytes; attributes are decoded one after another, on demand.
//
// Encoding, little-endian, version 2:
//   0   u8   version = 2
//   1   u8   flags: 1 md5 of attributes is valid, 2 is a publication's content, 4 has texts for protocols
//   2   u16  number of attributes
//   4   u32  bytes of the body
//   8   u16  bytes of the sender           10  u16  bytes of the trace header
//   12  u16  bytes of the group id         14  u16  bytes of the deduplication id
//   16  u16  bytes of the subject          18  u16  0, reserved
//   20  u32  bytes of all encoded attributes
//   24  16 bytes  MD5 of the body          40  16 bytes  MD5 of the attributes (zero if there are none)
//   56  publication only: 16 bytes publication id, i64 published at (Unix ms), u64 sequence number of the topic (0: none)
//   then body, sender, trace header, group id, deduplication id, subject, attributes; an attribute is
//   u16 bytes of the name, u16 bytes of the type, u32 bytes of the value, name, type, value.
//   With flag 4, up to the end: texts for protocols, each u16 bytes of the protocol, u32 bytes of the text, protocol, text.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/ids.h"
#include "base/time.h"

namespace fanfare::message {

using Md5 = std::array<std::uint8_t, 16>;

/// One user attribute. The value is the text of a String or Number, or the bytes (not base64) of a Binary.
/// {"trace", "String", "abc"}, {"size", "Number.int", "17"}, {"key", "Binary", "\x00\x01"}   [SQS SendMessage]
struct MessageAttribute {
  std::string_view name;
  std::string_view type;  ///< whole, with the custom part: "Number.int"
  std::string_view value;

  /// Whether the type is Binary or Binary.something: decides the field it is shown in.
  [[nodiscard]] bool is_binary() const { return type.starts_with("Binary"); }
};

/// What only a published message has. The topic's and the subscription's names belong to the delivery, not here.
struct PublicationFields {
  PublicationId id;
  Timestamp published_at{};
  std::string_view subject;  ///< empty: none
  std::uint64_t sequence_number = 0;  ///< FIFO topics: place among the topic's publications; 0: none
};

/// What subscriptions of one protocol get in place of the body: {"http", "short"}. "default" is for those that have no text of
/// their own. [SNS Publish MessageStructure]
struct ProtocolText {
  std::string_view protocol;
  std::string_view text;
};

/// A message's content as its sender hands it in. Views; the owner is the caller.
struct Content {
  std::string_view body;
  std::span<const MessageAttribute> attributes;  ///< at most 65,535; names and types at most 65,535 bytes each
  std::string_view sender;                       ///< SenderId: "AIDA..." or an account id; empty: not known
  std::string_view trace_header;                 ///< AWSTraceHeader; empty: none
  std::string_view group_id;                     ///< MessageGroupId; empty: none
  std::string_view deduplication_id;             ///< MessageDeduplicationId, given or made from the body; empty: none
  Md5 body_md5{};
  Md5 attributes_md5{};  ///< of all user attributes [SQS message metadata]; not looked at when there are none
  std::optional<PublicationFields> publication;
  std::span<const ProtocolText> texts{};  ///< publications only; the body is what sqs subscriptions get
};

/// Bytes that count against the size limits: body, and name, type and value of each attribute. [SQS quotas]
std::uint64_t counted_bytes(const Content& content);

/// Appends the encoding above.
void encode(const Content& content, std::string& out);

/// Attributes of an encoded content, decoded one after another:
/// `for (AttributeReader r = view.attributes(); auto a = r.next();) use(*a);`
class AttributeReader {
 public:
  AttributeReader() : bytes_({}) {}
  AttributeReader(std::string_view bytes, std::uint16_t count) : bytes_(bytes), left_(count) {}
  /// The next attribute; nullopt at the end.
  std::optional<MessageAttribute> next();

 private:
  ByteReader bytes_;
  std::uint16_t left_ = 0;
};

/// A decoded content. All views point into the bytes that decode() was given.
class ContentView {
 public:
  /// Nullopt if the bytes are no content of a version that we know.
  static std::optional<ContentView> decode(std::string_view bytes);

  [[nodiscard]] std::string_view body() const { return body_; }
  [[nodiscard]] std::uint16_t attribute_count() const { return attribute_count_; }
  [[nodiscard]] AttributeReader attributes() const { return {attributes_, attribute_count_}; }
  [[nodiscard]] std::string_view sender() const { return sender_; }
  [[nodiscard]] std::string_view trace_header() const { return trace_header_; }
  [[nodiscard]] std::string_view group_id() const { return group_id_; }
  [[nodiscard]] std::string_view deduplication_id() const { return deduplication_id_; }
  [[nodiscard]] const Md5& body_md5() const { return body_md5_; }
  /// Nullopt when there are no attributes.
  [[nodiscard]] std::optional<Md5> attributes_md5() const { return attributes_md5_; }
  /// Present exactly if the content was published to a topic.
  [[nodiscard]] const std::optional<PublicationFields>& publication() const { return publication_; }
  /// What a subscription of this protocol gets: "http". The body, unless the publication has another text for it.
  [[nodiscard]] std::string_view text_for(std::string_view protocol) const;
  /// The same content with another body.
  [[nodiscard]] ContentView with_body(std::string_view body) const {
    ContentView other = *this;
    other.body_ = body;
    return other;
  }

 private:
  std::string_view body_;
  std::string_view attributes_;
  std::string_view sender_;
  std::string_view trace_header_;
  std::string_view group_id_;
  std::string_view deduplication_id_;
  std::string_view texts_;
  Md5 body_md5_{};
  std::optional<Md5> attributes_md5_;
  std::optional<PublicationFields> publication_;
  std::uint16_t attribute_count_ = 0;
};

}  // namespace fanfare::message
