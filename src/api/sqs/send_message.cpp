// SendMessage and SendMessageBatch. [SQS SendMessage, SendMessageBatch]
#include <fmt/format.h>

#include "api/aws/message_rules.h"
#include "api/sqs/actions.h"
#include "api/sqs/batch_answer.h"
#include "api/sqs/message_attributes.h"
#include "api/sqs/validate.h"
#include "base/arn.h"
#include "wire/digest/digest.h"

namespace fanfare::api::sqs {
namespace {

constexpr std::uint64_t kBatchBytesMax = 1'048'576;

struct Digests {
  std::array<std::uint8_t, 16> body{};
  std::optional<std::array<std::uint8_t, 16>> attributes;
  std::optional<std::array<std::uint8_t, 16>> system_attributes;
};

/// `fifo`: the queue's name says that it is one. `Given` is SendMessageRequest or SendMessageBatchRequestEntry, which have these members in common.
template <class Given>
std::optional<ApiError> read_message(const Given& in, bool fifo, Call& call, engine::OutgoingMessage& message,
                                     Digests& digests) {
  if (in.message_body.empty()) return missing_parameter("MessageBody");
  message::Content& content = message.content;
  content.body = in.message_body.view();
  if (const auto character = aws::forbidden_character(content.body)) {
    return api_error(
        Error::InvalidMessageContents,
        fmt::format("Invalid binary character '{}' was found in the message body, the set of allowed characters is "
                    "#x9 | #xA | #xD | [#x20-#xD7FF] | [#xE000-#xFFFD] | [#x10000-#x10FFFF]",
                    *character));
  }
  auto delay =
      setting_of<queue::DeliveryDelay>(in.delay_seconds, "DelaySeconds", "DelaySeconds must be >= 0 and <= 900.");
  if (!delay) return delay.error();
  message.delay = *delay;
  if (auto error = check_fifo_id(in.message_group_id, "MessageGroupId")) return error;
  if (auto error = check_fifo_id(in.message_deduplication_id, "MessageDeduplicationId")) return error;
  content.group_id = in.message_group_id.view();
  content.deduplication_id = in.message_deduplication_id.view();
  if (fifo && content.deduplication_id.empty())
    message.content_deduplication_id = aws::content_deduplication_id(content.body, call.arena);

  auto attributes = read_message_attributes(in.message_attributes, call.arena);
  if (!attributes) return attributes.error();
  content.attributes = *attributes;
  auto trace_header = read_system_attributes(in.message_system_attributes);
  if (!trace_header) return trace_header.error();
  content.trace_header = *trace_header;

  content.sender = call.identity.user_id;
  content.body_md5 = digests.body = wire::digest::md5(content.body);
  if (!content.attributes.empty()) {
    digests.attributes = attributes_md5(content.attributes);
    content.attributes_md5 = *digests.attributes;
  }
  if (!content.trace_header.empty()) {
    digests.system_attributes = trace_header_md5(content.trace_header);
  } else if (is_trace_header(call.trace_id)) {  // no digest: the caller did not give it as an attribute
    content.trace_header = call.trace_id;
  }
  message.id = MessageId{Uuid::from_random(call.secrets.bytes16())};
  return std::nullopt;
}

/// `Result` is SendMessageResult or SendMessageBatchResultEntry.
template <class Output>
void write_sent(Output& out, const engine::MessageSent& sent, const Digests& digests, aws::Answer& answer) {
  out.message_id = answer.text(sent.id);
  out.md5_of_message_body = answer.hex(digests.body);
  if (digests.attributes) out.md5_of_message_attributes = answer.hex(*digests.attributes);
  if (digests.system_attributes) out.md5_of_message_system_attributes = answer.hex(*digests.system_attributes);
  if (sent.sequence_number) out.sequence_number = answer.arena.copy(sent.sequence_number->str());
}

}  // namespace

Result<Next, ApiError> send_message(const model::SendMessageRequest& in, Call& call) {
  auto& command = call.request.emplace<engine::SendMessage>();
  auto key = queue_of(in.queue_url, call);
  if (!key) return key.error();
  command.queue = *key;
  Digests digests;
  if (auto error = read_message(in, is_fifo_name(key->name), call, command.message, digests)) return *std::move(error);
  call.context.body_md5 = digests.body;
  call.context.attributes_md5 = digests.attributes;
  call.context.system_attributes_md5 = digests.system_attributes;
  return Next::Engine;
}

void send_message_reply(const engine::MessageSent& sent, ReplyCall& call) {
  model::SendMessageResult out;
  const ReplyContext& context = call.context;
  write_sent(out, sent, {context.body_md5, context.attributes_md5, context.system_attributes_md5}, call.answer);
  call.answer.write(out);
}

Result<Next, ApiError> send_message_batch(const model::SendMessageBatchRequest& in, Call& call) {
  auto& command = call.request.emplace<engine::SendMessageBatch>();
  auto key = queue_of(in.queue_url, call);
  if (!key) return key.error();
  command.queue = *key;
  if (auto error = check_batch(in.entries, "SendMessageBatchRequestEntry")) return *std::move(error);

  auto* const messages = call.arena.take_array<engine::OutgoingMessage>(in.entries.size());
  std::size_t count = 0;
  std::uint64_t bytes = 0;
  const bool fifo = is_fifo_name(key->name);
  call.context.batch.reserve(in.entries.size());
  for (const auto& given : in.entries) {
    BatchEntry& entry = keep_entry(call.context, given.id.view());
    Digests digests;
    engine::OutgoingMessage& message = messages[count];
    bytes += given.message_body.view().size();
    if (auto error = read_message(given, fifo, call, message, digests)) {
      refuse_entry(call.context, entry, *std::move(error));
      message = {};
      continue;
    }
    bytes += message::counted_bytes(message.content) - message.content.body.size();
    entry.body_md5 = digests.body;
    entry.attributes_md5 = digests.attributes;
    entry.system_attributes_md5 = digests.system_attributes;
    ++count;
  }
  if (bytes > kBatchBytesMax) {
    return api_error(
        Error::BatchRequestTooLong,
        fmt::format("Batch requests cannot be longer than {} bytes. You have sent {} bytes.", kBatchBytesMax, bytes));
  }
  command.messages = {messages, count};
  return Next::Engine;
}

void send_message_batch_reply(const engine::BatchSent& sent, ReplyCall& call) {
  using Sent = model::SendMessageBatchResultEntry;
  BatchAnswer<Sent> answer(call);
  std::size_t next = 0;
  for (const BatchEntry& entry : call.context.batch) {
    if (answer.was_refused(entry)) continue;
    const auto& result = sent.results[next++];
    if (const auto* error = std::get_if<engine::QueueError>(&result)) {
      answer.fail(entry, *error);
    } else {
      write_sent(answer.succeed(entry), std::get<engine::MessageSent>(result),
                 {entry.body_md5, entry.attributes_md5, entry.system_attributes_md5}, call.answer);
    }
  }
  answer.write<model::SendMessageBatchResult>();
}

}  // namespace fanfare::api::sqs
