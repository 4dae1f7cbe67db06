// Amazon SNS as a C++ interface: topics, subscriptions, publishing.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "fanfare/sqs.h"

namespace fanfare::sdk {

struct PublishEntry {
  std::string message;
  std::string subject;  ///< empty: none
  std::vector<MessageAttribute> attributes;
  std::optional<std::string> group_id;
  std::optional<std::string> deduplication_id;
};

class SnsClient {
 public:
  virtual ~SnsClient() = default;
  /// The topic's ARN; the existing one if there is a topic of that name. [SNS CreateTopic]
  virtual Awaitable<Result<std::string, Error>> create_topic(std::string name, std::map<std::string, std::string> attributes) = 0;
  virtual Awaitable<Result<Success, Error>> delete_topic(std::string topic_arn) = 0;
  /// The subscription's ARN. Attributes such as RawMessageDelivery, FilterPolicy, FilterPolicyScope. [SNS Subscribe]
  virtual Awaitable<Result<std::string, Error>> subscribe(std::string topic_arn, std::string protocol, std::string endpoint,
                                                          std::map<std::string, std::string> attributes) = 0;
  virtual Awaitable<Result<Success, Error>> unsubscribe(std::string subscription_arn) = 0;
  virtual Awaitable<Result<SendReceipt, Error>> publish(std::string topic_arn, PublishEntry entry) = 0;
  /// 1 to 10 entries. [SNS PublishBatch]
  virtual Awaitable<Result<BatchResults<SendReceipt>, Error>> publish_batch(std::string topic_arn,
                                                                            std::vector<PublishEntry> entries) = 0;
};

/// AWS Query (form in, XML out), signed with Signature Version 4.
std::shared_ptr<SnsClient> make_sns_client(ClientOptions options, std::shared_ptr<CredentialsProvider> credentials,
                                           std::shared_ptr<Transport> transport);

}  // namespace fanfare::sdk
