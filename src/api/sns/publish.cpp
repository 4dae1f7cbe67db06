// Publish and PublishBatch. [SNS Publish, PublishBatch]
#include <fmt/format.h>

#include <algorithm>

#include "api/aws/message_rules.h"
#include "api/sns/actions.h"
#include "api/sns/errors.h"
#include "api/sns/validate.h"
#include "api/sqs/message_attributes.h"
#include "base/arn.h"
#include "wire/aws_shape/text.h"
#include "wire/digest/digest.h"
#include "wire/json/value.h"

namespace fanfare::api::sns {
namespace {

constexpr std::uint64_t kMessageBytesMax = 262'144;

/// SenderId of what SNS delivers to queues: the service's own id, whoever published.
constexpr std::string_view kSenderId = "AIDAIT2UOQQY3AUEKVGXU";

/// The protocols besides sqs whose subscriptions are served from a queue of their own.
constexpr std::string_view kProtocols[] = {"http", "https", "email", "email-json"};

/// "+14155550100": how a phone number is written.
bool is_phone_number(std::string_view text) {
  return text.size() >= 9 && text.size() <= 16 && text[0] == '+' &&
         std::ranges::all_of(text.substr(1), [](char c) { return c >= '0' && c <= '9'; });
}

/// At most 100 characters, no control characters, no line breaks; not empty.
bool is_subject(std::string_view text) {
  return !text.empty() && aws::character_count(text) <= 100 &&
         std::ranges::none_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; });
}

/// With MessageStructure json: the body is what SQS gets, the entry "sqs" or else "default"; the texts are what others get.
std::optional<ApiError> read_structure(std::string_view message, message::Content& content, wire::aws::Arena& arena) {
  const auto document = wire::json::parse(message);
  if (!document || !document->is_object()) {
    return invalid_parameter("Message Structure - JSON message body failed to parse");
  }
  const auto fallback = document->find_string("default");
  if (!fallback) return invalid_parameter("Message Structure - No default entry in JSON message body");
  const auto sqs = document->find_string("sqs");
  content.body = arena.copy(sqs.value_or(*fallback));
  auto* const texts = arena.take_array<message::ProtocolText>(std::size(kProtocols) + 1);
  std::size_t count = 0;
  if (sqs && *sqs != *fallback) texts[count++] = {"default", arena.copy(*fallback)};
  for (const std::string_view protocol : kProtocols) {
    if (const auto own = document->find_string(protocol); own && *own != *fallback) texts[count++] = {protocol, arena.copy(*own)};
  }
  content.texts = {texts, count};
  return std::nullopt;
}

std::optional<ApiError> check_fifo_id(const wire::aws::Text& id, std::string_view parameter) {
  if (!id.has_value()) return std::nullopt;
  const std::string_view text = id.view();
  if (!text.empty() && text.size() <= 128 && std::ranges::all_of(text, [](char c) { return c > ' ' && c < 0x7F; })) {
    return std::nullopt;
  }
  return invalid_parameter(
      parameter,
      fmt::format("{} can only include alphanumeric and punctuation characters. 1 to 128 in length.", parameter));
}

/// `Given` is PublishInput or PublishBatchRequestEntry, which have these members in common. `bytes` is what counts
/// against the limit: the whole message, not only the entry of it that is chosen.
template <class Given>
std::optional<ApiError> read_publication(const Given& in, bool fifo, Call& call, engine::OutgoingPublication& publication,
                                         std::uint64_t& bytes) {
  if (!in.message.has_value()) return must_not_be_null("message");
  if (in.message.empty()) return invalid_parameter("Empty message");
  message::Content& content = publication.content;
  if (in.subject.has_value() && !is_subject(in.subject.view())) return invalid_parameter("Subject");
  if (wire::aws::classify(in.message.view()) != wire::aws::TextClass::Plain) {
    return invalid_parameter("Message", "Message contains characters that are not allowed");
  }
  auto attributes = read_message_attributes(in.message_attributes, call.arena);
  if (!attributes) return attributes.error();
  content.attributes = *attributes;
  content.body = in.message.view();
  bytes = message::counted_bytes(content);
  if (bytes > kMessageBytesMax) return invalid_parameter("Message too long");
  if (in.message_structure.view() == "json") {
    if (auto error = read_structure(in.message.view(), content, call.arena)) return error;
  }
  if (auto error = check_fifo_id(in.message_group_id, "MessageGroupId")) return error;
  if (auto error = check_fifo_id(in.message_deduplication_id, "MessageDeduplicationId")) return error;
  content.group_id = in.message_group_id.view();
  content.deduplication_id = in.message_deduplication_id.view();
  if (fifo && content.deduplication_id.empty())
    publication.content_deduplication_id = aws::content_deduplication_id(in.message.view(), call.arena);
  content.sender = kSenderId;
  // Raw deliveries show both digests.
  content.body_md5 = wire::digest::md5(content.body);
  if (!content.attributes.empty()) content.attributes_md5 = sqs::attributes_md5(content.attributes);
  content.publication =
      message::PublicationFields{PublicationId{Uuid::from_random(call.secrets.bytes16())}, call.now, in.subject.view()};
  return std::nullopt;
}

template <class Output>
void write_published(Output& out, const engine::Published& published, aws::Answer& answer) {
  out.message_id = answer.text(published.id);
  if (published.sequence_number) out.sequence_number = answer.arena.copy(published.sequence_number->str());
}

/// A message to a phone or a device: it is kept for whoever tests, and goes nowhere.
Result<Next, ApiError> capture(const model::PublishInput& in, topic::DirectoryCommand::Action action,
                               std::string_view target, Call& call) {
  engine::OutgoingPublication publication;
  std::uint64_t bytes = 0;
  if (auto error = read_publication(in, false, call, publication, bytes)) return *std::move(error);
  auto& use = call.request.emplace<engine::UseDirectory>();
  use.publication = publication.content.publication->id;
  auto& command = use.command;
  command.action = action;
  command.operation = "sns:Publish";
  command.account = call.account;
  command.region = call.region;
  command.target = target;
  auto* const pairs = call.arena.take_array<std::pair<std::string_view, std::string_view>>(3);
  pairs[0] = {"message", in.message.view()};
  pairs[1] = {"id", call.arena.copy(use.publication->str())};
  pairs[2] = {"subject", in.subject.view()};
  command.attributes = {pairs, in.subject.empty() ? std::size_t{2} : std::size_t{3}};
  return Next::Engine;
}

std::optional<ApiError> check_batch(const wire::aws::List<model::PublishBatchRequestEntry>& entries) {
  if (entries.empty()) return api_error(Error::EmptyBatchRequest, "The batch request doesn't contain any entries.");
  if (entries.size() > 10) {
    return api_error(Error::TooManyEntriesInBatchRequest, "The batch request contains more entries than permissible.");
  }
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const std::string_view id = entries[i].id.view();
    if (!entries[i].id.has_value()) {
      return must_not_be_null(fmt::format("publishBatchRequestEntries.{}.member.id", i + 1));
    }
    if (id.size() > 80) {
      return api_error(Error::InvalidBatchEntryId,
                       fmt::format("The Id of a batch entry in the batch request is too long: {}", id));
    }
    const bool allowed = !id.empty() && std::ranges::all_of(id, [](char c) {
      return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
    });
    if (!allowed) {
      return api_error(
          Error::InvalidBatchEntryId,
          fmt::format("The Id of a batch entry in the batch request contains an impermissible character: {}", id));
    }
    for (std::size_t k = 0; k < i; ++k) {
      if (entries[k].id.view() == id) {
        return api_error(Error::BatchEntryIdsNotDistinct, "Two or more batch entries in the request have the same Id.");
      }
    }
  }
  return std::nullopt;
}

}  // namespace

Result<Next, ApiError> publish(const model::PublishInput& in, Call& call) {
  auto& command = call.request.emplace<engine::Publish>();
  const int targets = in.topic_arn.has_value() + in.target_arn.has_value() + in.phone_number.has_value();
  if (targets != 1) {
    return targets == 0 ? invalid_parameter("TopicArn or TargetArn", "no value for required parameter")
                        : invalid_parameter("Only one of TopicArn, TargetArn and PhoneNumber can be given");
  }
  if (in.phone_number.has_value()) {
    const std::string_view number = in.phone_number.view();
    if (!is_phone_number(number)) {
      return invalid_parameter("PhoneNumber", fmt::format("{} is not valid to publish to", number.substr(0, 64)));
    }
    return capture(in, topic::DirectoryCommand::Action::Capture, number, call);
  }
  const bool by_target = in.target_arn.has_value();
  if (by_target && in.target_arn.view().find(":endpoint/") != std::string_view::npos) {
    return capture(in, topic::DirectoryCommand::Action::CaptureForEndpoint, in.target_arn.view(), call);
  }
  auto key = topic_of(by_target ? in.target_arn : in.topic_arn, by_target ? "TargetArn" : "TopicArn", "topicArn", call);
  if (!key) return key.error();
  command.topic = *key;
  std::uint64_t bytes = 0;
  if (auto error = read_publication(in, is_fifo_name(key->name), call, command.publication, bytes)) return *std::move(error);
  return Next::Engine;
}

void publish_reply(const engine::Published& published, ReplyCall& call) {
  model::PublishResponse out;
  write_published(out, published, call.answer);
  call.answer.write(out);
}

Result<Next, ApiError> publish_batch(const model::PublishBatchInput& in, Call& call) {
  auto& command = call.request.emplace<engine::PublishBatch>();
  auto key = topic_of(in.topic_arn, "TopicArn", "topicArn", call);
  if (!key) return key.error();
  command.topic = *key;
  const auto& entries = in.publish_batch_request_entries;
  if (!entries.has_value()) return must_not_be_null("publishBatchRequestEntries");
  if (auto error = check_batch(entries)) return *std::move(error);

  auto* const publications = call.arena.take_array<engine::OutgoingPublication>(entries.size());
  std::uint64_t total = 0;
  const bool fifo = is_fifo_name(key->name);
  for (std::size_t i = 0; i < entries.size(); ++i) {
    std::uint64_t bytes = 0;
    // One bad entry refuses the batch: AWS validates before it accepts any.
    auto error = read_publication(entries[i], fifo, call, publications[i], bytes);
    total += bytes;
    if (error && bytes <= kMessageBytesMax) return *std::move(error);
    call.context.batch.emplace_back();
    BatchEntry& entry = call.context.batch.back();
    entry.id_begin = static_cast<std::uint32_t>(call.context.texts.size());
    entry.id_size = static_cast<std::uint32_t>(entries[i].id.view().size());
    call.context.texts += entries[i].id.view();
  }
  if (total > kMessageBytesMax) {
    return api_error(Error::BatchRequestTooLong, "The length of all the messages put together is more than the limit.");
  }
  command.publications = {publications, entries.size()};
  return Next::Engine;
}

void publish_batch_reply(const engine::BatchPublished& published, ReplyCall& call) {
  const ReplyContext& context = call.context;
  const std::size_t size = context.batch.size();
  auto* const successful = call.answer.arena.take_array<model::PublishBatchResultEntry>(size);
  auto* const failed = call.answer.arena.take_array<model::BatchResultErrorEntry>(size);
  std::size_t successes = 0;
  std::size_t failures = 0;
  for (std::size_t i = 0; i < size; ++i) {
    const std::string_view id = context.batch[i].id(context.texts);
    if (const auto* error = std::get_if<engine::TopicError>(&published.results[i])) {
      const ApiError refused = api_error(*error, context);
      failed[failures++] = {refused.kind.query_code, id, call.answer.arena.copy(refused.message),
                            refused.kind.sender_fault};
    } else {
      auto& out = successful[successes++];
      out.id = id;
      write_published(out, std::get<engine::Published>(published.results[i]), call.answer);
    }
  }
  model::PublishBatchResponse out;
  out.successful = {successful, successes};
  out.failed = {failed, failures};
  call.answer.write(out);
}

}  // namespace fanfare::api::sns
