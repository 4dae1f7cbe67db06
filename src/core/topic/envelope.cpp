#include "core/topic/envelope.h"

#include "base/assert.h"
#include "wire/json/writer.h"

namespace fanfare::topic {
namespace {

constexpr char kBase64[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void append_base64(std::string& out, std::string_view bytes) {
  std::uint32_t group = 0;
  int in_group = 0;
  for (const char c : bytes) {
    group = group << 8 | static_cast<std::uint8_t>(c);
    if (++in_group < 3) continue;
    for (int shift = 18; shift >= 0; shift -= 6) out.push_back(kBase64[group >> shift & 63]);
    group = 0;
    in_group = 0;
  }
  if (in_group == 0) return;
  group <<= 8 * (3 - in_group);
  for (int i = 0; i < 4; ++i) out.push_back(i <= in_group ? kBase64[group >> (18 - 6 * i) & 63] : '=');
}

/// What an envelope shows, wherever it comes from: `for_each_attribute(visit)` calls visit(MessageAttribute).
template <class ForEachAttribute>
void write(std::string_view body, const message::PublicationFields& publication, bool has_attributes,
           ForEachAttribute&& for_each_attribute, const EnvelopeFields& fields, std::string& out) {
  wire::json::Writer writer(out);
  writer.begin_object();
  writer.key("Type").string("Notification");
  writer.key("MessageId").string(publication.id.str());
  if (!fields.sequence_number.empty()) writer.key("SequenceNumber").string(fields.sequence_number);
  writer.key("TopicArn").string(fields.topic_arn);
  if (!publication.subject.empty()) writer.key("Subject").string(publication.subject);
  writer.key("Message").string(body);
  writer.key("Timestamp").string(iso8601(publication.published_at));
  if (fields.signature) {
    writer.key("SignatureVersion").string(fields.signature->version);
    writer.key("Signature").string(fields.signature->signature);
    writer.key("SigningCertURL").string(fields.signature->signing_cert_url);
  }
  const std::string_view unsubscribe_url = fields.signature ? fields.signature->unsubscribe_url : fields.unsubscribe_url;
  if (fields.signature || !unsubscribe_url.empty()) writer.key("UnsubscribeURL").string(unsubscribe_url);
  if (has_attributes) {
    writer.key("MessageAttributes").begin_object();
    for_each_attribute([&](const message::MessageAttribute& attribute) {
      writer.key(attribute.name).begin_object().key("Type").string(attribute.type).key("Value");
      if (attribute.is_binary()) {
        std::string text;
        append_base64(text, attribute.value);
        writer.string(text);
      } else {
        writer.string(attribute.value);
      }
      writer.end_object();
    });
    writer.end_object();
  }
  if (fields.replayed) writer.key("Replayed").boolean(true);
  writer.end_object();
}

std::string signed_text(std::string_view body, const message::PublicationFields& publication, std::string_view topic_arn) {
  std::string text;
  const auto add = [&](std::string_view name, std::string_view value) {
    text.append(name).push_back('\n');
    text.append(value).push_back('\n');
  };
  add("Message", body);
  add("MessageId", publication.id.str());
  if (!publication.subject.empty()) add("Subject", publication.subject);
  add("Timestamp", iso8601(publication.published_at));
  add("TopicArn", topic_arn);
  add("Type", "Notification");
  return text;
}

}  // namespace

void append_envelope(const message::ContentView& content, const EnvelopeFields& fields, std::string& out) {
  FANFARE_ASSERT(content.publication().has_value());
  const auto each = [&](auto&& visit) {
    for (message::AttributeReader reader = content.attributes(); const auto attribute = reader.next();) visit(*attribute);
  };
  write(content.body(), *content.publication(), content.attribute_count() > 0, each, fields, out);
}

std::uint64_t envelope_bytes(const message::Content& content, const EnvelopeFields& fields) {
  FANFARE_ASSERT(content.publication.has_value());
  const auto each = [&](auto&& visit) {
    for (const message::MessageAttribute& attribute : content.attributes) visit(attribute);
  };
  // Asked for only when a message comes near its queue's limit.
  std::string text;
  write(content.body, *content.publication, !content.attributes.empty(), each, fields, text);
  return text.size();
}

std::string string_to_sign(const message::ContentView& content, std::string_view topic_arn) {
  FANFARE_ASSERT(content.publication().has_value());
  return signed_text(content.body(), *content.publication(), topic_arn);
}

std::string string_to_sign(const message::Content& content, std::string_view topic_arn) {
  FANFARE_ASSERT(content.publication.has_value());
  return signed_text(content.body, *content.publication, topic_arn);
}

}  // namespace fanfare::topic
