#include "api/cloudwatch/feed.h"

namespace fanfare::api::cloudwatch {
namespace {

class Feed final : public engine::MetricsVisitor {
 public:
  Feed(metrics::History& history, Timestamp now) : history_(history), now_(now) {}

  void queue(const engine::QueueKey& key, const engine::MessageCounts& counts, std::optional<Timestamp> oldest_sent,
             const engine::QueueCounters& c) override {
    const metrics::Resource of{metrics::Service::Sqs, key.account.str(), key.region.str(), key.name.str()};
    history_.counter(of, "NumberOfMessagesSent", c.sent);
    history_.counter(of, "NumberOfMessagesReceived", c.received);
    history_.counter(of, "NumberOfMessagesDeleted", c.deleted);
    history_.counter(of, "NumberOfEmptyReceives", c.empty_receives);
    history_.sizes(of, "SentMessageSize", c.sent, c.sent_bytes, c.sent_sizes.smallest, c.sent_sizes.largest);
    history_.gauge(of, "ApproximateNumberOfMessagesVisible", static_cast<double>(counts.visible));
    history_.gauge(of, "ApproximateNumberOfMessagesNotVisible", static_cast<double>(counts.in_flight));
    history_.gauge(of, "ApproximateNumberOfMessagesDelayed", static_cast<double>(counts.delayed));
    history_.gauge(of, "ApproximateAgeOfOldestMessage",
                   oldest_sent && now_ > *oldest_sent ? static_cast<double>((now_ - *oldest_sent).count() / 1000) : 0.0);
    if (key.name.str().ends_with(".fifo")) history_.counter(of, "NumberOfDeduplicatedSentMessages", c.deduplicated);
  }

  void topic(const engine::TopicKey& key, const engine::TopicCounters& c) override {
    const metrics::Resource of{metrics::Service::Sns, key.account.str(), key.region.str(), key.name.str()};
    history_.counter(of, "NumberOfMessagesPublished", c.published);
    history_.sizes(of, "PublishSize", c.published, c.published_bytes, c.published_sizes.smallest, c.published_sizes.largest);
    history_.counter(of, "NumberOfNotificationsDelivered", c.delivered);
    history_.counter(of, "NumberOfNotificationsFailed", c.failed);
    history_.counter(of, "NumberOfNotificationsFilteredOut",
                     c.filtered + c.filtered_no_attributes + c.filtered_invalid_attributes + c.filtered_invalid_body);
    history_.counter(of, "NumberOfNotificationsFilteredOut-NoMessageAttributes", c.filtered_no_attributes);
    history_.counter(of, "NumberOfNotificationsFilteredOut-InvalidAttributes", c.filtered_invalid_attributes);
    history_.counter(of, "NumberOfNotificationsFilteredOut-InvalidMessageBody", c.filtered_invalid_body);
    history_.counter(of, "NumberOfNotificationsRedrivenToDlq", c.redriven);
    history_.counter(of, "NumberOfNotificationsFailedToRedriveToDlq", c.redrive_failed);
  }

 private:
  metrics::History& history_;
  Timestamp now_;
};

}  // namespace

void feed(metrics::History& history, engine::Engine& engine, Timestamp now) {
  Feed visitor{history, now};
  history.begin(now);
  engine.visit_metrics(visitor);
  history.end();
  engine.forget_size_ranges();
}

}  // namespace fanfare::api::cloudwatch
