#include "core/engine/records.h"

#include <gtest/gtest.h>

namespace fanfare::engine {
namespace {

constexpr Timestamp kAt = timestamp_from_unix_ms(1'764'500'385'123);

template <class OneEvent>
std::string encoded(const OneEvent& event, std::string_view content = {}) {
  std::string out = "before";
  encode_record(event, kAt, content, out);
  return out.substr(6);
}

template <class OneEvent>
OneEvent round_trip(const OneEvent& event) {
  const auto decoded = decode_record(encoded(event));
  EXPECT_TRUE(decoded.has_value());
  EXPECT_EQ(decoded->at, kAt);
  EXPECT_EQ(decoded->content, "");
  return std::get<OneEvent>(decoded->event);
}

MessageId some_id() {
  MessageId id;
  for (std::size_t i = 0; i < id.bytes.size(); ++i) id.bytes[i] = static_cast<std::uint8_t>(i);
  return id;
}

TEST(Record, BeginsWithVersionKindAndTime) {
  const std::string record = encoded(QueueDeletedEvent{7});
  ASSERT_EQ(record.size(), 20u);
  EXPECT_EQ(record[0], 1);
  EXPECT_EQ(record[1], 18);
  EXPECT_EQ(load_le<std::uint32_t>(record.data() + 4), 0u);
  EXPECT_EQ(load_le<std::int64_t>(record.data() + 8), unix_ms(kAt));
  EXPECT_EQ(load_le<std::uint32_t>(record.data() + 16), 7u);
}

TEST(Record, OfASentMessageHasThisLayout) {
  const std::string record = encoded(SentEvent{0x01020304, 0x1112131415161718, some_id(), kAt}, "content");
  ASSERT_EQ(record.size(), 16u + 36 + 7);
  EXPECT_EQ(record[1], 1);
  EXPECT_EQ(load_le<std::uint32_t>(record.data() + 4), 7u);
  EXPECT_EQ(load_le<std::uint32_t>(record.data() + 16), 0x01020304u);
  EXPECT_EQ(load_le<std::uint64_t>(record.data() + 20), 0x1112131415161718u);
  EXPECT_EQ(record[28 + 15], 15);
  EXPECT_EQ(load_le<std::int64_t>(record.data() + 44), unix_ms(kAt));
  EXPECT_EQ(record.substr(52), "content");
  EXPECT_EQ(content_of_record(record), "content");
}

TEST(Record, OfAReceiveHasThisLayoutAndBehindItItsAttempt) {
  const std::string record = encoded(ReceivedEvent{0x01020304, 5, kAt, {0x1112131415161718}});
  ASSERT_EQ(record.size(), 16u + 4 + 4 + 8 + 4 + 8);
  EXPECT_EQ(record[1], 3);
  EXPECT_EQ(load_le<std::uint32_t>(record.data() + 16), 0x01020304u);
  EXPECT_EQ(load_le<std::uint32_t>(record.data() + 20), 5u);
  EXPECT_EQ(load_le<std::int64_t>(record.data() + 24), unix_ms(kAt));
  EXPECT_EQ(load_le<std::uint32_t>(record.data() + 32), 1u);
  EXPECT_EQ(load_le<std::uint64_t>(record.data() + 36), 0x1112131415161718u);
  const std::string attempted = encoded(AttemptedEvent{{0x01020304, 5, kAt, {0x1112131415161718}}, {6, 7}});
  EXPECT_EQ(attempted[1], 10);
  EXPECT_EQ(attempted.substr(16, record.size() - 16), record.substr(16));
  ASSERT_EQ(attempted.size(), record.size() + 16);
  EXPECT_EQ(load_le<std::uint64_t>(attempted.data() + 44), 6u);
  EXPECT_EQ(load_le<std::uint64_t>(attempted.data() + 52), 7u);
  EXPECT_EQ(encoded(RepeatedEvent{1, kAt, {2}, {6, 7}})[1], 11);
}

TEST(Record, OfAPublicationTakesThreeBytesADeliveryWhereTheQueuesGoTogether) {
  PublishedEvent event{300, {}};
  for (std::uint32_t i = 0; i < 100; ++i) event.deliveries.push_back({1000 + i, 7 + i, 0x0000'0001'0000'0005, false, false});
  const std::string record = encoded(event, "content");
  EXPECT_EQ(record[1], 9);
  // Topic and count, the first delivery's whole numbers, 99 that differ in nothing, the content.
  EXPECT_EQ(record.size(), 16u + (2 + 1) + (2 + 1 + 5) + 99 * 3 + 7);
  EXPECT_EQ(content_of_record(record), "content");
  const auto back = round_trip(event);
  EXPECT_EQ(back.topic, 300u);
  ASSERT_EQ(back.deliveries.size(), 100u);
  for (std::size_t i = 0; i < 100; ++i) {
    EXPECT_EQ(back.deliveries[i].subscription, event.deliveries[i].subscription) << i;
    EXPECT_EQ(back.deliveries[i].queue, event.deliveries[i].queue) << i;
    EXPECT_EQ(back.deliveries[i].sequence, event.deliveries[i].sequence) << i;
  }
}

TEST(Record, DeliveriesOfAnyNumbersComeBack) {
  constexpr std::uint32_t kNumbers[] = {0, 1, 2, 127, 128, 0x7fff'ffff, 0x8000'0000, 0xffff'fffe, 0xffff'ffff};
  constexpr std::uint64_t kSequences[] = {0, 1, 0x7f, 0x80, 0xffff'ffff, 0x7fff'ffff'ffff'ffff, 0x8000'0000'0000'0000, 0xffff'ffff'ffff'ffff};
  PublishedEvent event{0xffff'ffff, {}};
  for (const std::uint32_t subscription : kNumbers)
    for (const std::uint32_t queue : kNumbers)
      for (const std::uint64_t sequence : kSequences)
        event.deliveries.push_back({subscription, queue, sequence, subscription % 2 == 0, queue % 3 == 0});
  const auto back = round_trip(event);
  EXPECT_EQ(back.topic, event.topic);
  ASSERT_EQ(back.deliveries.size(), event.deliveries.size());
  for (std::size_t i = 0; i < back.deliveries.size(); ++i) {
    ASSERT_EQ(back.deliveries[i].subscription, event.deliveries[i].subscription) << i;
    ASSERT_EQ(back.deliveries[i].queue, event.deliveries[i].queue) << i;
    ASSERT_EQ(back.deliveries[i].sequence, event.deliveries[i].sequence) << i;
    ASSERT_EQ(back.deliveries[i].enveloped, event.deliveries[i].enveloped) << i;
    ASSERT_EQ(back.deliveries[i].redriven, event.deliveries[i].redriven) << i;
  }
}

TEST(Record, APublicationAsItWasWrittenBeforeIsStillRead) {
  std::string record = encoded(QueueDeletedEvent{3});  // the topic in the queue's place
  record[1] = 2;
  append_le(record, std::uint32_t{1});  // deliveries
  append_le(record, std::uint32_t{4});  // subscription
  append_le(record, std::uint32_t{5});  // queue
  append_le(record, std::uint64_t{6});  // sequence
  record += std::string("\x01\x00", 2);  // enveloped, redriven
  const auto decoded = decode_record(record);
  ASSERT_TRUE(decoded.has_value());
  const auto& event = std::get<PublishedEvent>(decoded->event);
  EXPECT_EQ(event.topic, 3u);
  ASSERT_EQ(event.deliveries.size(), 1u);
  EXPECT_EQ(event.deliveries[0].subscription, 4u);
  EXPECT_EQ(event.deliveries[0].queue, 5u);
  EXPECT_EQ(event.deliveries[0].sequence, 6u);
  EXPECT_TRUE(event.deliveries[0].enveloped);
  EXPECT_FALSE(event.deliveries[0].redriven);
}

TEST(Record, DifferencesThatMakeNoSenseAreDamage) {
  const std::string head = encoded(PublishedEvent{}).substr(0, 16);
  const auto damaged = [&](std::string_view body) {
    const auto decoded = decode_record(head + std::string(body));
    return !decoded && decoded.error() == RecordError::Damaged;
  };
  using namespace std::string_view_literals;
  EXPECT_FALSE(damaged("\x03\x01\x00\x00\x00"sv)) << "topic 3, subscription 1, queue 1, sequence 0";
  EXPECT_TRUE(damaged("\x03\x02\x00\x00\x00"sv)) << "a delivery is missing";
  EXPECT_TRUE(damaged("\x03\x01\x00\x00"sv)) << "a number is missing";
  EXPECT_TRUE(damaged("\x03\x01\x00\x00\x00\x00"sv)) << "more behind it";
  EXPECT_TRUE(damaged("\x83\x00\x01\x00\x00\x00"sv)) << "a number in a longer form than it needs";
  EXPECT_TRUE(damaged("\x03\x01\x0c\x00\x00"sv)) << "subscription -1";
  EXPECT_TRUE(damaged("\x03\x01\x00\x03\x00"sv)) << "queue -1";
  EXPECT_TRUE(damaged("\xff\xff\xff\xff\x1f\x00"sv)) << "a topic of more than 32 bits";
  EXPECT_TRUE(damaged("\x03\x01\x00\x00\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02"sv)) << "a sequence of more than 64 bits";
  EXPECT_TRUE(damaged("\x03\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x00\x00\x00"sv)) << "a count that lies";
}

TEST(Record, EveryKindComesBack) {
  EXPECT_EQ(round_trip(SentEvent{1, 2, some_id(), kAt}).id, some_id());
  const auto published = round_trip(PublishedEvent{3, {{1, 2, 3, true, false}, {4, 5, 6, false, true}}});
  ASSERT_EQ(published.deliveries.size(), 2u);
  EXPECT_TRUE(published.deliveries[0].enveloped);
  EXPECT_EQ(published.deliveries[1].sequence, 6u);
  EXPECT_TRUE(published.deliveries[1].redriven);
  const auto received = round_trip(ReceivedEvent{1, 2, kAt, {3, 4}});
  EXPECT_EQ(received.until, kAt);
  EXPECT_EQ(received.sequences, (std::vector<std::uint64_t>{3, 4}));
  const auto attempted = round_trip(AttemptedEvent{{1, 2, kAt, {3, 4}}, {5, 6}});
  EXPECT_EQ(attempted.until, kAt);
  EXPECT_EQ(attempted.sequences, (std::vector<std::uint64_t>{3, 4}));
  EXPECT_EQ(attempted.attempt, (Attempt::Key{5, 6}));
  const auto repeated = round_trip(RepeatedEvent{1, kAt, {3, 4}, {5, 6}});
  EXPECT_EQ(repeated.queue, 1u);
  EXPECT_EQ(repeated.until, kAt);
  EXPECT_EQ(repeated.sequences, (std::vector<std::uint64_t>{3, 4}));
  EXPECT_EQ(repeated.attempt, (Attempt::Key{5, 6}));
  EXPECT_EQ(round_trip(DeletedEvent{1, {9}}).sequences, (std::vector<std::uint64_t>{9}));
  EXPECT_EQ(round_trip(VisibilityChangedEvent{1, {{2, kAt}}}).changes[0].until, kAt);
  EXPECT_EQ(round_trip(DeadLetteredEvent{1, 2, 3, 4, kAt}).to_sequence, 4u);
  EXPECT_EQ(round_trip(UndeliveredEvent{1, {2}}).queue, 1u);
  EXPECT_EQ(round_trip(QueueDeletedEvent{1}).queue, 1u);
  EXPECT_EQ(round_trip(QueuePurgedEvent{1}).queue, 1u);
  EXPECT_EQ(round_trip(QueueTaggedEvent{1, {{"a", "b"}}}).tags, (Tagging{{"a", "b"}}));
  EXPECT_EQ(round_trip(TopicDeletedEvent{1}).topic, 1u);
  EXPECT_EQ(round_trip(TopicTaggedEvent{1, {{"a", "b"}}}).tags, (Tagging{{"a", "b"}}));
  EXPECT_EQ(round_trip(SubscriptionDeletedEvent{1}).subscription, 1u);
  EXPECT_TRUE(round_trip(SubscriptionConfirmedEvent{1, true}).authenticated);
  EXPECT_EQ(round_trip(RelocatedEvent{1, 2}).sequence, 2u);
  const auto moved = round_trip(MessageMovedEvent{1, 2, 3, 4});
  EXPECT_EQ(moved.sequence, 2u);
  EXPECT_EQ(moved.to_sequence, 4u);
  const auto started = round_trip(MoveTaskStartedEvent{1, Uuid{}.derived(5), queue::QueueKey{queue::QueueKeyView{"1", "r", "q"}}, 500, 7});
  EXPECT_EQ(started.task, Uuid{}.derived(5));
  EXPECT_EQ(started.destination->name.str(), "q");
  EXPECT_EQ(started.per_second_max, 500u);
  EXPECT_EQ(started.to_move, 7u);
  const auto ended = round_trip(MoveTaskEndedEvent{1, MoveTask::Status::Failed, MoveTask::Failure::SourceUnknown});
  EXPECT_EQ(ended.status, MoveTask::Status::Failed);
  EXPECT_EQ(ended.failure, MoveTask::Failure::SourceUnknown);
}

TEST(Record, SettingsComeBackWhole) {
  queue::QueueSettings settings;
  settings.visibility_timeout = *queue::VisibilityTimeout::of(1);
  settings.delivery_delay = *queue::DeliveryDelay::of(2);
  settings.retention_period = *queue::RetentionPeriod::of(60);
  settings.maximum_message_size = *queue::MaximumMessageSize::of(1024);
  settings.receive_wait = *queue::ReceiveWait::of(3);
  const queue::QueueKey key{queue::QueueKeyView{"1", "r", "q"}};
  settings.redrive_policy = queue::RedrivePolicy{key, 4};
  settings.redrive_allow_policy = queue::RedriveAllowPolicy{queue::RedriveAllowPolicy::Permission::ByQueue, {key}};
  settings.policy = "policy";
  settings.fifo = true;
  settings.content_based_deduplication = true;
  settings.deduplication_scope = queue::DeduplicationScope::MessageGroup;
  settings.fifo_throughput_limit = queue::FifoThroughputLimit::PerMessageGroupId;
  settings.kms_master_key_id = "key";
  settings.kms_key_reuse_period = *queue::KeyReusePeriod::of(60);
  settings.managed_encryption = false;
  const auto created = round_trip(QueueCreatedEvent{1, 2, key, settings, {{"t", "u"}}});
  EXPECT_EQ(created.settings, settings);
  EXPECT_EQ(created.key, key);
  EXPECT_EQ(created.tags, (Tagging{{"t", "u"}}));
  EXPECT_EQ(round_trip(QueueChangedEvent{1, settings}).settings, settings);

  topic::TopicSettings topic_settings;
  topic_settings.display_name = "d";
  topic_settings.policy = "p";
  topic_settings.delivery_policy = "e";
  topic_settings.signature_version = 2;
  topic_settings.tracing_config = "Active";
  topic_settings.kms_master_key_id = "k";
  topic_settings.fifo = true;
  topic_settings.content_based_deduplication = true;
  topic_settings.fifo_throughput_scope = topic::FifoThroughputScope::MessageGroup;
  topic_settings.archive_policy = "a";
  topic_settings.data_protection_policy = "dp";
  topic_settings.feedback = {{"f", "g"}};
  const topic::TopicKey topic_key{topic::TopicKeyView{"1", "r", "t"}};
  EXPECT_EQ(round_trip(TopicCreatedEvent{1, 7, topic_key, topic_settings, {}}).settings, topic_settings);
  EXPECT_EQ(round_trip(TopicChangedEvent{1, topic_settings}).settings, topic_settings);

  topic::SubscriptionSettings subscription_settings;
  subscription_settings.raw_delivery = true;
  subscription_settings.filter_policy = "f";
  subscription_settings.filter_scope = topic::FilterScope::MessageBody;
  subscription_settings.redrive_policy = topic::RedrivePolicy{QueueArn{"arn"}};
  subscription_settings.delivery_policy = "d";
  subscription_settings.subscription_role_arn = "r";
  subscription_settings.replay_policy = "p";
  SubscriptionCreatedEvent subscribed{1, 2, {}, topic::DeliveryProtocol::Https, "e", "o", "p", "t", true, subscription_settings};
  const auto back = round_trip(subscribed);
  EXPECT_EQ(back.settings, subscription_settings);
  EXPECT_EQ(back.protocol, topic::DeliveryProtocol::Https);
  EXPECT_EQ(back.token, "t");
  EXPECT_EQ(round_trip(SubscriptionChangedEvent{1, subscription_settings}).settings, subscription_settings);
}

TEST(Record, ContentIsEncodedBehindTheFields) {
  message::Content content;
  content.body = "hello";
  std::string out = "before";
  const std::string_view bytes = encode_record_with(SentEvent{1, 2, some_id(), kAt}, kAt, content, out);
  EXPECT_EQ(message::ContentView::decode(bytes)->body(), "hello");
  EXPECT_EQ(content_of_record(std::string_view{out}.substr(6)), bytes);
}

TEST(Record, DamagedOnesAreRefused) {
  const std::string record = encoded(PublishedEvent{3, {{1, 2, 3, true, false}}}, "content");
  for (std::size_t size = 0; size < record.size(); ++size)
    EXPECT_EQ(decode_record(std::string_view{record}.substr(0, size)).error(), RecordError::Damaged) << size;
  EXPECT_EQ(decode_record(record + "x").error(), RecordError::Damaged);
  std::string other = record;
  other[0] = 2;
  EXPECT_EQ(decode_record(other).error(), RecordError::UnknownVersion);
  EXPECT_EQ(content_of_record(other), std::nullopt);
  other = record;
  other[1] = 120;
  EXPECT_EQ(decode_record(other).error(), RecordError::UnknownKind);
  other = record;
  other[17] = '\x7f';  // the number of deliveries
  EXPECT_EQ(decode_record(other).error(), RecordError::Damaged);
  other = record;
  other[18] = '\x0d';  // subscription -1
  EXPECT_EQ(decode_record(other).error(), RecordError::Damaged);
  other = record;
  other[7] = '\x7f';  // bytes of the content
  EXPECT_EQ(decode_record(other).error(), RecordError::Damaged);
  EXPECT_EQ(content_of_record(other), std::nullopt);
  EXPECT_EQ(content_of_record("short"), std::nullopt);
  EXPECT_EQ(content_of_record(encoded(QueueDeletedEvent{7})), std::nullopt);
}

TEST(Record, SettingsOutOfRangeAreRefused) {
  std::string record = encoded(QueueChangedEvent{1, {}});
  record[20 + 3] = '\x7f';  // visibility timeout
  EXPECT_EQ(decode_record(record).error(), RecordError::Damaged);
}

}  // namespace
}  // namespace fanfare::engine
