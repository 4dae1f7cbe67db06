// CloudWatch's three actions over a real engine, in both protocols.
#include <gtest/gtest.h>

#include "api/test_broker.h"

namespace fanfare::api {
namespace {

constexpr std::string_view kTopic = "arn:aws:sns:us-east-1:000000000000:news";

class CloudWatch : public testing::Test {
 protected:
  std::string json(std::string_view action, std::string_view body) {
    return broker.send(post("/", "X-Amz-Target: GraniteServiceVersion20100801." + std::string(action) +
                                     "\r\nContent-Type: application/x-amz-json-1.0\r\n", body));
  }
  std::string query(std::string_view parameters) {
    return broker.send(query_request(std::string(parameters) + "&Version=2010-08-01"));
  }
  void create_queue(std::string_view name) { broker.send(json_request("CreateQueue", R"({"QueueName":")" + std::string(name) + R"("})")); }
  void send(std::string_view queue, std::string_view body) {
    broker.send(json_request("SendMessage", R"({"QueueUrl":"http://localhost/000000000000/)" + std::string(queue) +
                                                R"(","MessageBody":")" + std::string(body) + R"("})"));
  }
  std::string seconds_at(milliseconds offset) { return std::to_string(unix_ms(broker.now() + offset) / 1000); }
  /// The statistics of the last hour in one period.
  std::string statistics(std::string_view name_space, std::string_view metric, std::string_view dimension, std::string_view value,
                         std::string_view statistic) {
    return json("GetMetricStatistics",
                R"({"Namespace":")" + std::string(name_space) + R"(","MetricName":")" + std::string(metric) +
                    R"(","Dimensions":[{"Name":")" + std::string(dimension) + R"(","Value":")" + std::string(value) +
                    R"("}],"StartTime":)" + seconds_at(-std::chrono::minutes{59}) + R"(,"EndTime":)" +
                    seconds_at(std::chrono::minutes{1}) + R"(,"Period":3600,"Statistics":[")" + std::string(statistic) + R"("]})");
  }
  static bool contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

  TestBroker broker;
};

TEST_F(CloudWatch, WhatWasSentIsCounted) {
  create_queue("work");
  send("work", "12345");
  send("work", "123456789");
  EXPECT_TRUE(contains(statistics("AWS/SQS", "NumberOfMessagesSent", "QueueName", "work", "Sum"), R"("Sum":2)"));
  EXPECT_TRUE(contains(statistics("AWS/SQS", "SentMessageSize", "QueueName", "work", "Minimum"), R"("Minimum":5,"Unit":"Bytes")"));
  EXPECT_TRUE(contains(statistics("AWS/SQS", "SentMessageSize", "QueueName", "work", "Average"), R"("Average":7,)"));
  EXPECT_TRUE(contains(statistics("AWS/SQS", "ApproximateNumberOfMessagesVisible", "QueueName", "work", "Maximum"), R"("Maximum":2)"));
  EXPECT_TRUE(contains(statistics("AWS/SQS", "NumberOfMessagesSent", "QueueName", "other", "Sum"), R"("Datapoints":[])"));
}

TEST_F(CloudWatch, ARefusedDeliveryIsCountedAsFailed) {
  create_queue("work");  // without a policy
  broker.send(query_request("Action=CreateTopic&Name=news&Version=2010-03-31"));
  broker.send(query_request("Action=Subscribe&Version=2010-03-31&Protocol=sqs&TopicArn=" + std::string(kTopic) +
                            "&Endpoint=arn:aws:sqs:us-east-1:000000000000:work"));
  broker.send(query_request("Action=Publish&Version=2010-03-31&Message=hello&TopicArn=" + std::string(kTopic)));
  const std::string failed = statistics("AWS/SNS", "NumberOfNotificationsFailed", "TopicName", "news", "Sum");
  EXPECT_TRUE(contains(failed, R"("Sum":1,"Unit":"Count")")) << failed;
  EXPECT_TRUE(contains(statistics("AWS/SNS", "NumberOfMessagesPublished", "TopicName", "news", "Sum"), R"("Sum":1)"));
  EXPECT_TRUE(contains(statistics("AWS/SNS", "NumberOfNotificationsDelivered", "TopicName", "news", "Sum"), R"("Datapoints":[])"));
}

TEST_F(CloudWatch, MetricsAreListedByFilter) {
  create_queue("work");
  create_queue("other");
  send("work", "a");
  send("other", "b");
  const std::string all = json("ListMetrics", R"({"Namespace":"AWS/SQS","MetricName":"NumberOfMessagesSent"})");
  EXPECT_TRUE(contains(all, R"({"Namespace":"AWS/SQS","MetricName":"NumberOfMessagesSent","Dimensions":[{"Name":"QueueName","Value":"work"}]})")) << all;
  EXPECT_TRUE(contains(all, R"("Value":"other")")) << all;
  const std::string one = query("Action=ListMetrics&Namespace=AWS%2FSQS&Dimensions.member.1.Name=QueueName&Dimensions.member.1.Value=work");
  EXPECT_TRUE(contains(one, "<MetricName>NumberOfMessagesSent</MetricName>")) << one;
  EXPECT_FALSE(contains(one, "<Value>other</Value>")) << one;
  EXPECT_TRUE(contains(json("ListMetrics", R"({"Namespace":"AWS/EC2"})"), R"("Metrics":[])"));
}

TEST_F(CloudWatch, ALongListComesInPages) {
  for (int i = 0; i < 120; ++i) {
    create_queue("q" + std::to_string(i));
    send("q" + std::to_string(i), "a");
  }
  std::set<std::string> seen;
  std::string token;
  for (int page = 0; page < 10; ++page) {
    const std::string answer = json("ListMetrics", token.empty() ? "{}" : R"({"NextToken":")" + token + R"("})");
    std::size_t at = 0;
    std::size_t metrics = 0;
    while ((at = answer.find(R"("Namespace")", at)) != std::string::npos) {
      const std::size_t end = answer.find("]}", at);
      EXPECT_TRUE(seen.insert(answer.substr(at, end - at)).second) << "twice: " << answer.substr(at, end - at);
      at = end;
      ++metrics;
    }
    EXPECT_LE(metrics, 500u);
    const std::size_t next = answer.find(R"("NextToken":")");
    if (next == std::string::npos) break;
    token = answer.substr(next + 13, answer.find('"', next + 13) - next - 13);
  }
  EXPECT_EQ(seen.size(), 120u * 3) << "sent, size, visible";
}

TEST_F(CloudWatch, DataComesNewestFirstUnlessAskedOtherwise) {
  create_queue("work");
  send("work", "a");
  statistics("AWS/SQS", "NumberOfMessagesSent", "QueueName", "work", "Sum");  // a look, as the shell takes every minute
  broker.advance(std::chrono::minutes{2});
  send("work", "b");
  send("work", "c");
  const auto data = [&](std::string_view scan) {
    return json("GetMetricData",
                R"({"StartTime":)" + seconds_at(-std::chrono::minutes{10}) + R"(,"EndTime":)" + seconds_at(std::chrono::minutes{1}) +
                    std::string(scan) +
                    R"(,"MetricDataQueries":[{"Id":"sent","MetricStat":{"Metric":{"Namespace":"AWS/SQS","MetricName":"NumberOfMessagesSent",)"
                    R"("Dimensions":[{"Name":"QueueName","Value":"work"}]},"Period":60,"Stat":"Sum"}}]})");
  };
  EXPECT_TRUE(contains(data(""), R"("Values":[2,1],"StatusCode":"Complete")")) << data("");
  const std::string ascending = data(R"(,"ScanBy":"TimestampAscending")");
  EXPECT_TRUE(contains(ascending, R"("Values":[1,2])")) << ascending;
  EXPECT_TRUE(contains(ascending, R"("Id":"sent","Label":"NumberOfMessagesSent")")) << ascending;
}

TEST_F(CloudWatch, WhatIsWrongIsNamed) {
  const std::string range = R"("StartTime":1000,"EndTime":2000,)";
  struct Case {
    std::string_view action;
    std::string body;
    std::string_view shape;
    std::string_view text;
  };
  const std::string stat = R"("Namespace":"AWS/SQS","MetricName":"X",)";
  const Case cases[] = {
      {"GetMetricStatistics", "{}", "com.amazonaws.cloudwatch#MissingRequiredParameterException", "The parameter Namespace is required."},
      {"GetMetricStatistics", "{" + stat + range + R"("Period":60})", "MissingRequiredParameterException", "At least one of the parameters Statistics"},
      {"GetMetricStatistics", "{" + stat + range + R"("Period":61,"Statistics":["Sum"]})", "InvalidParameterValueException", "multiple of 60"},
      {"GetMetricStatistics", "{" + stat + range + R"("Period":0,"Statistics":["Sum"]})", "InvalidParameterValueException", "multiple of 60"},
      {"GetMetricStatistics", "{" + stat + R"("StartTime":5,"EndTime":5,"Period":60,"Statistics":["Sum"]})", "InvalidParameterValueException", "StartTime must be less"},
      {"GetMetricStatistics", "{" + stat + range + R"("Period":60,"Statistics":["Median"]})", "InvalidParameterValueException", "Statistics.member.1"},
      {"GetMetricStatistics", "{" + stat + range + R"("Period":60,"ExtendedStatistics":["p99"]})", "InvalidParameterValueException", "percentiles"},
      {"GetMetricStatistics", "{" + stat + R"("StartTime":0,"EndTime":1000000,"Period":60,"Statistics":["Sum"]})", "InvalidParameterCombinationException", "1440"},
      {"GetMetricStatistics", "{" + stat + R"("StartTime":"yesterday","EndTime":5,"Period":60})", "SerializationException", "StartTime"},
      {"ListMetrics", R"({"NextToken":"x"})", "InvalidParameterValueException", "NextToken"},
      {"GetMetricData", "{" + range + R"("MetricDataQueries":[]})", "ValidationError", "MetricDataQueries"},
      {"GetMetricData", "{" + range + R"("MetricDataQueries":[{"Id":"Upper"}]})", "ValidationError", "MetricDataQueries.member.1.Id"},
      {"GetMetricData", "{" + range + R"("MetricDataQueries":[{"Id":"m","Expression":"a+b"}]})", "ValidationError", "no metric math"},
  };
  for (const Case& c : cases) {
    const std::string answer = json(c.action, c.body);
    EXPECT_TRUE(contains(answer, " 400 ")) << answer;
    EXPECT_TRUE(contains(answer, c.shape)) << c.body << "\n" << answer;
    EXPECT_TRUE(contains(answer, c.text)) << c.body << "\n" << answer;
  }
  const std::string old = query("Action=PutMetricAlarm");
  EXPECT_TRUE(contains(old, "<Code>InvalidAction</Code>")) << old;
}

TEST_F(CloudWatch, TheQueryProtocolTakesTimesAndWritesNumbers) {
  create_queue("work");
  send("work", "abc");
  const std::string answer = query("Action=GetMetricStatistics&Namespace=AWS%2FSQS&MetricName=SentMessageSize&Period=60"
                                   "&Statistics.member.1=Sum&Statistics.member.2=SampleCount&Dimensions.member.1.Name=QueueName"
                                   "&Dimensions.member.1.Value=work&StartTime=" + iso8601(broker.now() - std::chrono::minutes{1}) +
                                   "&EndTime=" + iso8601(broker.now() + std::chrono::minutes{1}));
  EXPECT_TRUE(contains(answer, "<SampleCount>1</SampleCount><Sum>3</Sum><Unit>Bytes</Unit>")) << answer;
  EXPECT_TRUE(contains(answer, "<GetMetricStatisticsResponse xmlns=\"http://monitoring.amazonaws.com/doc/2010-08-01/\">")) << answer;
}

}  // namespace
}  // namespace fanfare::api
