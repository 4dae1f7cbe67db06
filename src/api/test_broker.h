// The API and a real engine in one process, without a socket: request text in, response text out. For tests.
#pragma once

#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "api/cloudwatch/feed.h"
#include "api/service.h"
#include "base/rng.h"
#include "core/engine/engine.h"
#include "wire/http/request.h"

namespace fanfare::api {

/// Answers requests at once; a long poll that finds nothing is answered when its wait is over or a message comes.
class TestBroker {
 public:
  explicit TestBroker(aws::DevelopmentAuthenticator::Options auth = {})
      : authenticator_(std::move(auth)),
        service_({.receipt_secret = "a secret of at least sixteen bytes", .metrics = &metrics_}, authenticator_),
        engine_(options()) {
    engine_.start({}, now_);
  }

  /// The response to one request; empty while it waits. `request` is what goes over the wire.
  std::string send(std::string_view request) {
    wire::http::RequestParser parser;
    const auto parsed = parser.parse(request);
    EXPECT_EQ(parsed, wire::http::Parse::Complete) << request;
    if (parsed != wire::http::Parse::Complete) return {};
    return send(parser.request());
  }
  std::string send(const wire::http::Request& request) {
    const engine::CallerId caller{++callers_};
    ReplyContext context;
    std::string out;
    const auto decoded = service_.decode(request, {caller, "127.0.0.1", false, now_, now_, secrets_}, context, out);
    last_ = decoded.outcome;
    if (decoded.command == nullptr) return out;
    waiting_.emplace(caller.value, std::move(context));
    outputs_.clear();
    engine_.handle(*decoded.command, now_, outputs_);
    collect();
    return take(caller.value);
  }

  /// Lets time pass, stopping at each deadline of the engine.
  void advance(milliseconds by) {
    const Timestamp until = now_ + by;
    while (true) {
      const auto deadline = engine_.next_deadline();
      if (!deadline || *deadline > until) break;
      now_ = std::max(now_, *deadline);
      outputs_.clear();
      engine_.handle(engine::DeadlineCame{}, now_, outputs_);
      collect();
      if (engine_.next_deadline() == deadline) break;
    }
    now_ = until;
    outputs_.clear();
    engine_.handle(engine::DeadlineCame{}, now_, outputs_);
    collect();
  }

  /// Responses that came late, oldest first; taken by reading.
  std::optional<std::string> late() {
    if (answers_.empty()) return std::nullopt;
    auto node = answers_.extract(answers_.begin());
    return std::move(node.mapped());
  }

  [[nodiscard]] const Outcome& last_outcome() const { return last_; }
  [[nodiscard]] Timestamp now() const { return now_; }
  Service& service() { return service_; }

 private:
  static engine::EngineOptions options() {
    engine::EngineOptions options;
    options.resident_bytes_max = engine::EngineOptions::kUnlimited;
    return options;
  }
  struct NoPayloads final : Payloads {
    std::optional<std::string> record(LogPosition) override { return std::nullopt; }
  };

  struct Metrics final : cloudwatch::MetricsSource {
    explicit Metrics(TestBroker& its_broker) : broker(its_broker) {}
    void read(Timestamp now, const std::function<void(const metrics::History&)>& use) override {
      cloudwatch::IntoHistory sink{history};
      cloudwatch::MetricNames names{sink, now};
      history.begin(now);
      broker.engine_.visit_metrics(names);
      history.end();
      broker.engine_.forget_size_ranges();
      use(history);
    }
    TestBroker& broker;
    metrics::History history;
  };

  void collect() {
    for (const engine::Reply& reply : outputs_.replies) {
      const auto context = waiting_.find(reply.caller.value);
      if (context == waiting_.end()) continue;
      const Encoded encoded = service_.encode(context->second, reply, payloads_, answers_[reply.caller.value]);
      EXPECT_TRUE(encoded.unreadable.empty());
      EXPECT_TRUE(encoded.held.empty());
      last_ = encoded.outcome;
      waiting_.erase(context);
    }
  }
  std::string take(std::uint64_t caller) {
    const auto answer = answers_.find(caller);
    if (answer == answers_.end()) return {};
    std::string out = std::move(answer->second);
    answers_.erase(answer);
    return out;
  }

  Timestamp now_ = timestamp_from_unix_ms(1'800'000'000'000);
  SeededSecrets secrets_{1};
  Metrics metrics_{*this};
  aws::DevelopmentAuthenticator authenticator_;
  Service service_;
  engine::Engine engine_;
  engine::Outputs outputs_;
  NoPayloads payloads_;
  std::uint64_t callers_ = 0;
  std::map<std::uint64_t, ReplyContext> waiting_;
  std::map<std::uint64_t, std::string> answers_;
  Outcome last_;
};

/// A request with a body and the header fields that a client would send.
inline std::string post(std::string_view path, std::string_view headers, std::string_view body) {
  std::string out = "POST " + std::string(path) + " HTTP/1.1\r\nHost: localhost:4566\r\n";
  out += headers;
  out += "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n";
  out += body;
  return out;
}
inline std::string json_request(std::string_view action, std::string_view body) {
  return post(
      "/", "X-Amz-Target: AmazonSQS." + std::string(action) + "\r\nContent-Type: application/x-amz-json-1.0\r\n", body);
}
inline std::string query_request(std::string_view body) {
  return post("/", "Content-Type: application/x-www-form-urlencoded; charset=utf-8\r\n", body);
}

/// What a response says, taken apart.
struct TestAnswer {
  int status = 0;
  std::string body;
  std::map<std::string, std::string> headers;  ///< names in lower case
};
inline TestAnswer parse_answer(std::string_view text) {
  TestAnswer answer;
  const std::size_t end = text.find("\r\n\r\n");
  if (!text.starts_with("HTTP/1.1 ") || end == std::string_view::npos) return answer;
  answer.status = std::stoi(std::string(text.substr(9, 3)));
  answer.body = text.substr(end + 4);
  std::string_view head = text.substr(0, end);
  for (std::size_t at = head.find("\r\n"); at != std::string_view::npos;) {
    const std::size_t next = head.find("\r\n", at + 2);
    const std::string_view line = head.substr(at + 2, next == std::string_view::npos ? next : next - at - 2);
    const std::size_t colon = line.find(':');
    std::string name(line.substr(0, colon));
    for (char& c : name) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
    std::string_view value = colon == std::string_view::npos ? std::string_view() : line.substr(colon + 1);
    while (value.starts_with(' ')) value.remove_prefix(1);
    answer.headers[name] = value;
    at = next;
  }
  return answer;
}

}  // namespace fanfare::api
