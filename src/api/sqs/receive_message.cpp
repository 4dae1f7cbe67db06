// ReceiveMessage. [SQS ReceiveMessage]
#include <fmt/format.h>

#include <algorithm>
#include <deque>

#include "api/sqs/actions.h"
#include "api/sqs/attribute_names.h"
#include "api/sqs/errors.h"
#include "api/sqs/message_attributes.h"
#include "api/sqs/validate.h"
#include "base/arn.h"
#include "core/engine/records.h"
#include "core/topic/envelope.h"
#include "core/topic/names.h"
#include "wire/digest/digest.h"

namespace fanfare::api::sqs {
namespace {

using message::ContentView;
using message::MessageAttribute;

constexpr std::uint32_t kAllSystemAttributes = (1u << kSystemAttributeNames) - 1;

std::optional<ApiError> select_system_attributes(const wire::aws::List<wire::aws::Text>& names, ReplyContext& context) {
  for (const wire::aws::Text& text : names) {
    const auto name = parse_system_attribute_name(text.view());
    if (!name) {
      // AttributeNames has the type of queue attribute names; those of queues select nothing here.
      if (parse_queue_attribute_name(text.view())) continue;
      return api_error(Error::InvalidAttributeName, fmt::format("Unknown Attribute {}.", text.view()));
    }
    context.wanted |= *name == SystemAttributeName::All ? kAllSystemAttributes : bit(*name);
  }
  return std::nullopt;
}

void select_message_attributes(const wire::aws::List<wire::aws::Text>& names, ReplyContext& context) {
  for (const wire::aws::Text& name : names) {
    if (name.view() == "All" || name.view() == ".*" || name.view() == "*") {
      context.all_message_attributes = true;
      context.message_attributes.clear();
      return;
    }
    context.message_attributes.emplace_back(name.view());
  }
}

class MessageWriter {
 public:
  explicit MessageWriter(ReplyCall& call) : call_(call), answer_(call.answer) {}

  /// False if the content cannot be read; then nothing is written.
  bool write(const engine::ReceivedMessage& received, model::Message& out) {
    const auto content = content_of(received);
    if (!content) return false;
    out.message_id = answer_.text(received.id);
    out.receipt_handle = call_.receipts.text_of(received.handle, answer_.arena);
    if (received.envelope) {
      write_envelope(*received.envelope, *content, out);
    } else {
      out.body = content->body();
      out.md5_of_body = answer_.hex(content->body_md5());
      write_message_attributes(*content, out);
    }
    write_system_attributes(received, *content, out);
    return true;
  }

 private:
  std::optional<ContentView> content_of(const engine::ReceivedMessage& received) {
    if (!received.content.empty()) return ContentView::decode(received.content);
    auto record = call_.payloads.record(received.position);
    if (!record) return std::nullopt;
    const auto bytes = engine::content_of_record(texts_.emplace_back(*std::move(record)));
    return bytes ? ContentView::decode(*bytes) : std::nullopt;
  }

  void write_envelope(const engine::EnvelopeOf& of, const ContentView& content, model::Message& out) {
    const std::string topic_arn = of.topic->arn().str();
    const std::string sequence_number =
        of.fifo_topic ? engine::SequenceNumber{content.publication()->sequence_number}.str() : std::string();
    topic::EnvelopeFields fields{topic_arn, sequence_number, std::nullopt, {}, of.replayed};
    std::string unsubscribe_url;
    std::string certificate_url;
    unsubscribe_url = call_.context.base_url + "/?Action=Unsubscribe&SubscriptionArn=" +
                      topic::subscription_arn(of.topic->view(), of.subscription).str();
    fields.unsubscribe_url = unsubscribe_url;
    if (!of.fifo_topic) {
      auto signature = call_.payloads.sign(of, content);
      signature.unsubscribe_url = unsubscribe_url;
      if (signature.signing_cert_url.starts_with('/')) {
        certificate_url = call_.context.base_url;
        certificate_url += signature.signing_cert_url;
        signature.signing_cert_url = certificate_url;
      }
      fields.signature = signature;
    }
    std::string& envelope = texts_.emplace_back();
    topic::append_envelope(content, fields, envelope);
    out.body = std::string_view(envelope);
    out.md5_of_body = answer_.hex(wire::digest::md5(envelope));
  }

  void write_message_attributes(const ContentView& content, model::Message& out) {
    const ReplyContext& context = call_.context;
    if (content.attribute_count() == 0) return;
    if (!context.all_message_attributes && context.message_attributes.empty()) return;
    auto* const shown = answer_.arena.take_array<MessageAttribute>(content.attribute_count());
    std::size_t count = 0;
    for (auto reader = content.attributes(); const auto attribute = reader.next();) {
      if (context.all_message_attributes || is_wanted(attribute->name, context.message_attributes))
        shown[count++] = *attribute;
    }
    if (count == 0) return;
    using Entry = wire::aws::Entry<model::MessageAttributeValue>;
    auto* const entries = answer_.arena.take_array<Entry>(count);
    for (std::size_t i = 0; i < count; ++i) {
      entries[i].key = shown[i].name;
      entries[i].value.data_type = shown[i].type;
      (shown[i].is_binary() ? entries[i].value.binary_value : entries[i].value.string_value) = shown[i].value;
    }
    out.message_attributes = {entries, count};
    // The digest covers what is returned, so that a client that checks it sees what it got.
    const auto of_all = content.attributes_md5();
    if (count == content.attribute_count() && of_all) {
      out.md5_of_message_attributes = answer_.hex(*of_all);
    } else {
      std::ranges::sort(shown, shown + count, {}, &MessageAttribute::name);
      out.md5_of_message_attributes = answer_.hex(attributes_md5({shown, count}));
    }
  }

  void write_system_attributes(const engine::ReceivedMessage& received, const ContentView& content,
                               model::Message& out) {
    const std::uint32_t wanted = call_.context.wanted;
    if (wanted == 0) return;
    auto* const entries = answer_.arena.take_array<wire::aws::Entry<wire::aws::Text>>(kSystemAttributeNames);
    std::size_t count = 0;
    const auto add = [&](SystemAttributeName name, auto&& text) {
      if ((wanted & bit(name)) != 0) entries[count++] = {text_of(name), text()};
    };
    const auto add_text = [&](SystemAttributeName name, std::string_view text) {
      if (!text.empty()) add(name, [&] { return text; });
    };
    using enum SystemAttributeName;
    add_text(SenderId, content.sender());
    add(SentTimestamp, [&] { return answer_.decimal(unix_ms(received.sent_at)); });
    add(ApproximateReceiveCount, [&] { return answer_.decimal(received.receive_count); });
    add(ApproximateFirstReceiveTimestamp, [&] { return answer_.decimal(unix_ms(received.first_received_at)); });
    if (call_.context.fifo) {
      add(SequenceNumber, [&] { return answer_.arena.copy(received.sequence_number.str()); });
      add_text(MessageDeduplicationId, content.deduplication_id());
    }
    add_text(MessageGroupId, content.group_id());
    add_text(AWSTraceHeader, content.trace_header());
    if (received.dead_letter_source != nullptr) {
      add(DeadLetterQueueSourceArn, [&] { return answer_.arena.copy(received.dead_letter_source->arn().str()); });
    }
    if (count > 0) out.attributes = {entries, count};
  }

  ReplyCall& call_;
  aws::Answer& answer_;
  std::deque<std::string> texts_;  // views point into them, so they must not move
};

}  // namespace

Result<Next, ApiError> receive_message(const model::ReceiveMessageRequest& in, Call& call) {
  auto& command = call.request.emplace<engine::ReceiveMessages>();
  auto key = queue_of(in.queue_url, call);
  if (!key) return key.error();
  command.queue = *key;

  auto max_messages = setting_of<queue::MaxMessages>(in.max_number_of_messages, "MaxNumberOfMessages",
                                                     "Must be between 1 and 10, if provided.");
  if (!max_messages) return max_messages.error();
  if (*max_messages) command.max_messages = **max_messages;
  auto visibility = setting_of<queue::VisibilityTimeout>(in.visibility_timeout, "VisibilityTimeout",
                                                         "Must be >= 0 and <= 43200, if provided.");
  if (!visibility) return visibility.error();
  command.visibility_timeout = *visibility;
  auto wait =
      setting_of<queue::ReceiveWait>(in.wait_time_seconds, "WaitTimeSeconds", "Must be >= 0 and <= 20, if provided.");
  if (!wait) return wait.error();
  command.wait = *wait;
  if (auto error = check_fifo_id(in.receive_request_attempt_id, "ReceiveRequestAttemptId")) return *std::move(error);
  command.attempt_id = in.receive_request_attempt_id.view();

  ReplyContext& context = call.context;
  context.fifo = is_fifo_name(key->name);
  if (auto error = select_system_attributes(in.attribute_names, context)) return *std::move(error);
  if (auto error = select_system_attributes(in.message_system_attribute_names, context)) return *std::move(error);
  select_message_attributes(in.message_attribute_names, context);
  call.keep_base_url();  // envelopes hold the URL to unsubscribe
  return Next::Engine;
}

void receive_message_reply(const engine::MessagesReceived& received, ReplyCall& call) {
  auto* const messages = call.answer.arena.take_array<model::Message>(received.messages.size());
  std::size_t count = 0;
  MessageWriter writer(call);
  for (const engine::ReceivedMessage& message : received.messages) {
    // In a FIFO group nothing passes what cannot be read, and its group cannot be read either: nothing follows it.
    if (call.context.fifo && !call.unreadable.empty()) {
      call.held.push_back(message.handle);
    } else if (writer.write(message, messages[count])) {
      ++count;
    } else {
      call.unreadable.push_back(message.handle);
    }
  }
  model::ReceiveMessageResult out;
  // JSON has no Messages at all when there are none.
  if (count > 0) out.messages = {messages, count};
  call.answer.write(out);
}

}  // namespace fanfare::api::sqs
