#include "core/queue/settings.h"

#include <gtest/gtest.h>

namespace fanfare::queue {
namespace {

constexpr QueueKeyView kDlq{"000000000000", "us-east-1", "dlq"};

TEST(QueueArn, IsWrittenAndReadBack) {
  EXPECT_EQ(QueueKey{kDlq}.arn().str(), "arn:aws:sqs:us-east-1:000000000000:dlq");
  EXPECT_EQ(parse_queue_arn("arn:aws:sqs:us-east-1:000000000000:dlq"), kDlq);
  for (const char* bad : {"", "arn:aws:sqs", "arn:aws:sqs:us-east-1:000000000000", "arn:aws:sqs:us-east-1::dlq",
                          "arn:aws:sns:us-east-1:000000000000:dlq", "arn:aws:sqs:us-east-1:000000000000:a:b",
                          "arn:aws:sqs::000000000000:dlq", "arn:aws:sqs:us-east-1:000000000000:"})
    EXPECT_EQ(parse_queue_arn(bad), std::nullopt) << bad;
}

TEST(QueueName, IsUpToEightyLettersDigitsHyphensUnderscores) {
  for (const char* good : {"a", "A-b_9", "orders.fifo"}) EXPECT_TRUE(is_valid_queue_name(good)) << good;
  EXPECT_TRUE(is_valid_queue_name(std::string(80, 'x')));
  EXPECT_TRUE(is_valid_queue_name(std::string(75, 'x') + ".fifo"));
  for (const char* bad : {"", ".fifo", "a.b", "a b", "ä", "a.fifo.fifo", "a/b"}) EXPECT_FALSE(is_valid_queue_name(bad)) << bad;
  EXPECT_FALSE(is_valid_queue_name(std::string(81, 'x')));
  EXPECT_FALSE(is_valid_queue_name(std::string(76, 'x') + ".fifo"));
}

TEST(SequenceNumber, HasTwentyDigitsAndOrderByEpoch) {
  EXPECT_EQ(SequenceNumber{17}.str(), "00000000000000000017");
  EXPECT_EQ(SequenceNumber{~0ull}.str().size(), 20u);
  EXPECT_LT(SequenceNumber::first_of(1), SequenceNumber::first_of(2));
  EXPECT_EQ(SequenceNumber::first_of(0).value, 1u);
}

template <class Setting>
void expect_range(std::int64_t low, std::int64_t high, std::int64_t standard) {
  EXPECT_EQ(Setting{}.count(), standard);
  EXPECT_EQ(Setting::of(low)->count(), low);
  EXPECT_EQ(Setting::of(high)->count(), high);
  EXPECT_EQ(Setting::of(low - 1).error(), SettingError::OutOfRange);
  EXPECT_EQ(Setting::of(high + 1).error(), SettingError::OutOfRange);
  EXPECT_EQ(Setting::parse(std::to_string(high))->count(), high);
  EXPECT_EQ(Setting::parse(std::to_string(high + 1)).error(), SettingError::OutOfRange);
  for (const char* bad : {"", "x", "1.0", "+1", " 1", "1 ", "99999999999999999999"})
    EXPECT_EQ(Setting::parse(bad).error(), SettingError::NotANumber) << bad;
}

TEST(QueueSettings, EachNumberKeepsItsRange) {
  expect_range<VisibilityTimeout>(0, 43'200, 30);
  expect_range<DeliveryDelay>(0, 900, 0);
  expect_range<RetentionPeriod>(60, 1'209'600, 345'600);
  expect_range<ReceiveWait>(0, 20, 0);
  expect_range<MaximumMessageSize>(1'024, 1'048'576, 1'048'576);
  expect_range<MaxMessages>(1, 10, 1);
  expect_range<KeyReusePeriod>(60, 86'400, 300);
}

TEST(RedrivePolicy, IsReadAndWritten) {
  const auto policy =
      RedrivePolicy::parse(R"({"deadLetterTargetArn":"arn:aws:sqs:us-east-1:000000000000:dlq","maxReceiveCount":5})");
  ASSERT_TRUE(policy.has_value());
  EXPECT_EQ(policy->dead_letter_queue.view(), kDlq);
  EXPECT_EQ(policy->max_receive_count, 5u);
  EXPECT_EQ(policy->json(), R"({"deadLetterTargetArn":"arn:aws:sqs:us-east-1:000000000000:dlq","maxReceiveCount":5})");
}

TEST(RedrivePolicy, TakesTheCountAsAString) {
  const auto policy =
      RedrivePolicy::parse(R"({"maxReceiveCount":"1000","deadLetterTargetArn":"arn:aws:sqs:us-east-1:000000000000:dlq"})");
  ASSERT_TRUE(policy.has_value());
  EXPECT_EQ(policy->max_receive_count, 1000u);
}

TEST(RedrivePolicy, SaysWhyItIsRefused) {
  const auto error = [](std::string_view text) { return RedrivePolicy::parse(text).error(); };
  EXPECT_EQ(error(""), SettingError::NotJson);
  EXPECT_EQ(error("[]"), SettingError::NotJson);
  EXPECT_EQ(error("{}"), SettingError::MissingMember);
  EXPECT_EQ(error(R"({"deadLetterTargetArn":"arn:aws:sqs:us-east-1:000000000000:dlq"})"), SettingError::MissingMember);
  EXPECT_EQ(error(R"({"deadLetterTargetArn":"dlq","maxReceiveCount":5})"), SettingError::BadArn);
  EXPECT_EQ(error(R"({"deadLetterTargetArn":7,"maxReceiveCount":5})"), SettingError::BadArn);
  for (const char* count : {"0", "1001", "-1", "1.5", "\"x\"", "\"\"", "null", "true"})
    EXPECT_EQ(error(std::string(R"({"deadLetterTargetArn":"arn:aws:sqs:us-east-1:000000000000:dlq","maxReceiveCount":)") +
                    count + "}"),
              SettingError::BadMaxReceiveCount)
        << count;
  EXPECT_EQ(error(R"({"deadLetterTargetArn":"arn:aws:sqs:us-east-1:0:d","maxReceiveCount":5,"x":1})"),
            SettingError::UnknownMember);
}

TEST(RedriveAllowPolicy, AdmitsTheQueuesItNames) {
  const std::string text =
      R"({"redrivePermission":"byQueue","sourceQueueArns":["arn:aws:sqs:us-east-1:000000000000:work"]})";
  const auto policy = RedriveAllowPolicy::parse(text);
  ASSERT_TRUE(policy.has_value());
  EXPECT_TRUE(policy->allows({"000000000000", "us-east-1", "work"}));
  EXPECT_FALSE(policy->allows({"000000000000", "us-east-1", "other"}));
  EXPECT_EQ(policy->json(), text);
  EXPECT_TRUE(RedriveAllowPolicy::parse(R"({"redrivePermission":"allowAll"})")->allows(kDlq));
  EXPECT_FALSE(RedriveAllowPolicy::parse(R"({"redrivePermission":"denyAll"})")->allows(kDlq));
}

TEST(RedriveAllowPolicy, SaysWhyItIsRefused) {
  const auto error = [](std::string_view text) { return RedriveAllowPolicy::parse(text).error(); };
  EXPECT_EQ(error("7"), SettingError::NotJson);
  EXPECT_EQ(error("{}"), SettingError::MissingMember);
  EXPECT_EQ(error(R"({"redrivePermission":"some"})"), SettingError::UnknownWord);
  EXPECT_EQ(error(R"({"redrivePermission":7})"), SettingError::UnknownWord);
  EXPECT_EQ(error(R"({"redrivePermission":"byQueue"})"), SettingError::SourcesNotAllowed);
  EXPECT_EQ(error(R"({"redrivePermission":"byQueue","sourceQueueArns":[]})"), SettingError::SourcesNotAllowed);
  EXPECT_EQ(error(R"({"redrivePermission":"allowAll","sourceQueueArns":["a"]})"), SettingError::SourcesNotAllowed);
  EXPECT_EQ(error(R"({"redrivePermission":"byQueue","sourceQueueArns":["a"]})"), SettingError::BadArn);
  EXPECT_EQ(error(R"({"redrivePermission":"byQueue","other":1})"), SettingError::UnknownMember);
  std::string many;
  for (int i = 0; i < 11; ++i) many += (i == 0 ? "" : ",") + std::string(R"("arn:aws:sqs:r:1:q")");
  EXPECT_EQ(error(R"({"redrivePermission":"byQueue","sourceQueueArns":[)" + many + "]}"), SettingError::TooManySources);
}

TEST(QueueSettings, ChangesTouchWhatTheyMention) {
  AttributeChanges changes;
  changes.visibility_timeout = *VisibilityTimeout::of(5);
  changes.redrive_policy = {RedrivePolicy{QueueKey{kDlq}, 3}};
  const QueueSettings changed = with_changes({}, changes);
  EXPECT_EQ(changed.visibility_timeout.count(), 5);
  EXPECT_EQ(changed.delivery_delay.count(), 0);
  ASSERT_TRUE(changed.redrive_policy.has_value());
  AttributeChanges removal;
  removal.redrive_policy.emplace();
  EXPECT_FALSE(with_changes(changed, removal).redrive_policy.has_value());
}

TEST(QueueSettings, AKeyTurnsManagedEncryptionOffForGood) {
  AttributeChanges with_key;
  with_key.kms_master_key_id = "alias/mine";
  const QueueSettings encrypted = with_changes({}, with_key);
  EXPECT_FALSE(encrypted.managed_encryption);
  AttributeChanges without_key;
  without_key.kms_master_key_id = "";
  EXPECT_FALSE(with_changes(encrypted, without_key).managed_encryption);
}

TEST(QueueSettings, ManagedEncryptionTakesTheKeyAway) {
  AttributeChanges with_key;
  with_key.kms_master_key_id = "alias/mine";
  const QueueSettings encrypted = with_changes({}, with_key);
  AttributeChanges off;
  off.managed_encryption = false;
  EXPECT_EQ(with_changes(encrypted, off).kms_master_key_id, "alias/mine");
  AttributeChanges on;
  on.managed_encryption = true;
  const QueueSettings managed = with_changes(encrypted, on);
  EXPECT_TRUE(managed.managed_encryption);
  EXPECT_EQ(managed.kms_master_key_id, "");
}

TEST(QueueSettings, TheFirstDifferenceIsNamed) {
  AttributeChanges wanted;
  EXPECT_EQ(first_difference({}, wanted), std::nullopt);
  wanted.visibility_timeout = VisibilityTimeout{};
  EXPECT_EQ(first_difference({}, wanted), std::nullopt) << "the same value is no difference";
  wanted.delivery_delay = *DeliveryDelay::of(1);
  EXPECT_EQ(first_difference({}, wanted), QueueAttribute::Delay);
  wanted = {};
  wanted.redrive_policy.emplace();
  EXPECT_EQ(first_difference({}, wanted), std::nullopt);
  wanted.fifo = true;
  EXPECT_EQ(first_difference({}, wanted), QueueAttribute::FifoQueue);
}

TEST(QueueSettings, WordsAreReadAndWritten) {
  for (const auto scope : {DeduplicationScope::Queue, DeduplicationScope::MessageGroup})
    EXPECT_EQ(*parse_deduplication_scope(text_of(scope)), scope);
  for (const auto limit : {FifoThroughputLimit::PerQueue, FifoThroughputLimit::PerMessageGroupId})
    EXPECT_EQ(*parse_fifo_throughput_limit(text_of(limit)), limit);
  EXPECT_EQ(parse_deduplication_scope("Queue").error(), SettingError::UnknownWord);
  EXPECT_EQ(parse_fifo_throughput_limit("").error(), SettingError::UnknownWord);
  EXPECT_EQ(*parse_boolean("True"), true);
  EXPECT_EQ(*parse_boolean("false"), false);
  EXPECT_EQ(parse_boolean("1").error(), SettingError::NotABoolean);
}

}  // namespace
}  // namespace fanfare::queue
