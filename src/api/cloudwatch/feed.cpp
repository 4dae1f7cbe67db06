#include "api/cloudwatch/feed.h"

#include "base/arn.h"

namespace fanfare::api::cloudwatch {

void MetricNames::queue(const engine::QueueKey& key, const engine::MessageCounts& counts, std::optional<Timestamp> oldest_sent,
                        const engine::QueueCounters& c) {
  const metrics::Resource of{metrics::Service::Sqs, key.account.str(), key.region.str(), key.name.str()};
  sink_.counter(of, "NumberOfMessagesSent", c.sent);
  sink_.counter(of, "NumberOfMessagesReceived", c.received);
  sink_.counter(of, "NumberOfMessagesDeleted", c.deleted);
  sink_.counter(of, "NumberOfEmptyReceives", c.empty_receives);
  sink_.sizes(of, "SentMessageSize", c.sent, c.sent_bytes, c.sent_sizes);
  sink_.gauge(of, "ApproximateNumberOfMessagesVisible", static_cast<double>(counts.visible));
  sink_.gauge(of, "ApproximateNumberOfMessagesNotVisible", static_cast<double>(counts.in_flight));
  sink_.gauge(of, "ApproximateNumberOfMessagesDelayed", static_cast<double>(counts.delayed));
  sink_.gauge(of, "ApproximateAgeOfOldestMessage",
                 oldest_sent && now_ > *oldest_sent ? static_cast<double>((now_ - *oldest_sent).count() / 1000) : 0.0);
  if (is_fifo_name(key.name.str())) sink_.counter(of, "NumberOfDeduplicatedSentMessages", c.deduplicated);
}

void MetricNames::topic(const engine::TopicKey& key, const engine::TopicCounters& c) {
  const metrics::Resource of{metrics::Service::Sns, key.account.str(), key.region.str(), key.name.str()};
  sink_.counter(of, "NumberOfMessagesPublished", c.published);
  sink_.sizes(of, "PublishSize", c.published, c.published_bytes, c.published_sizes);
  sink_.counter(of, "NumberOfNotificationsDelivered", c.delivered);
  sink_.counter(of, "NumberOfNotificationsFailed", c.failed);
  sink_.counter(of, "NumberOfNotificationsFilteredOut",
                   c.filtered + c.filtered_no_attributes + c.filtered_invalid_attributes + c.filtered_invalid_body);
  sink_.counter(of, "NumberOfNotificationsFilteredOut-NoMessageAttributes", c.filtered_no_attributes);
  sink_.counter(of, "NumberOfNotificationsFilteredOut-InvalidAttributes", c.filtered_invalid_attributes);
  sink_.counter(of, "NumberOfNotificationsFilteredOut-InvalidMessageBody", c.filtered_invalid_body);
  sink_.counter(of, "NumberOfNotificationsRedrivenToDlq", c.redriven);
  sink_.counter(of, "NumberOfNotificationsFailedToRedriveToDlq", c.redrive_failed);
}

void IntoHistory::counter(const metrics::Resource& of, std::string_view name, std::uint64_t total) {
  history_.counter(of, name, total);
}

void IntoHistory::sizes(const metrics::Resource& of, std::string_view name, std::uint64_t events, std::uint64_t bytes,
                        const engine::SizeRange& range) {
  history_.sizes(of, name, events, bytes, range.smallest, range.largest);
}

void IntoHistory::gauge(const metrics::Resource& of, std::string_view name, double value) { history_.gauge(of, name, value); }

}  // namespace fanfare::api::cloudwatch
