// From events to the entries of SNS and SQS.
#include "fanfare/publisher.h"

namespace fanfare::sdk {
namespace {

constexpr std::size_t kSnsBytesMax = 262'144;    // one message, and the sum of a batch [SNS Publish, PublishBatch]
constexpr std::size_t kSqsBytesMax = 1'048'576;  // [SQS quotas, 2025-08]

std::vector<MessageAttribute> attributes_of(const Event& event) {
  std::vector<MessageAttribute> attributes = event.attributes;
  if (!event.type.empty()) attributes.push_back({"type", "String", event.type});
  return attributes;
}

/// FIFO: the group is the caller's, or the event's own, which orders it against nothing; the event's id deduplicates. [S6]
template <class Entry>
void set_fifo(Entry& entry, const Event& event) {
  entry.group_id = event.group_id.empty() ? event.id : event.group_id;
  entry.deduplication_id = event.id;
}

Awaitable<Result<BatchResults<SendReceipt>, Error>> publish_all(std::shared_ptr<SnsClient> sns, std::string topic_arn,
                                                                std::vector<Event> events) {
  std::vector<PublishEntry> entries;
  entries.reserve(events.size());
  for (Event& event : events) {
    PublishEntry entry{.message = event.body, .attributes = attributes_of(event)};
    if (topic_arn.ends_with(".fifo")) set_fifo(entry, event);
    entries.push_back(std::move(entry));
  }
  auto publishing = sns->publish_batch(std::move(topic_arn), std::move(entries));
  co_return co_await std::move(publishing);
}

Awaitable<Result<BatchResults<SendReceipt>, Error>> send_all(std::shared_ptr<SqsClient> sqs, std::string queue_url,
                                                             std::vector<Event> events) {
  std::vector<SendEntry> entries;
  entries.reserve(events.size());
  for (Event& event : events) {
    SendEntry entry{.body = event.body, .attributes = attributes_of(event)};
    if (queue_url.ends_with(".fifo")) set_fifo(entry, event);
    entries.push_back(std::move(entry));
  }
  auto sending = sqs->send_message_batch(std::move(queue_url), std::move(entries));
  co_return co_await std::move(sending);
}

}  // namespace

Destination topic_destination(std::shared_ptr<SnsClient> sns, std::string topic_arn) {
  return Destination{topic_arn, kSnsBytesMax, [sns = std::move(sns), topic_arn](const std::vector<Event>& events) {
                       return publish_all(sns, topic_arn, events);
                     }};
}

Destination queue_destination(std::shared_ptr<SqsClient> sqs, std::string queue_url) {
  return Destination{queue_url, kSqsBytesMax, [sqs = std::move(sqs), queue_url](const std::vector<Event>& events) {
                       return send_all(sqs, queue_url, events);
                     }};
}

}  // namespace fanfare::sdk
