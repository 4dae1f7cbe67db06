#include "cli/live_topology.h"

#include <fmt/format.h>

#include <chrono>
#include <cstdlib>
#include <vector>

#include "net/http_client.h"
#include "wire/digest/encoding.h"
#include "wire/http/url.h"
#include "wire/json/value.h"
#include "wire/json/writer.h"
#include "wire/sigv4/sigv4.h"

namespace fanfare::cli {
namespace {

namespace json = wire::json;

std::string unescaped(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    bool known = false;
    for (const auto& [name, c] : {std::pair{std::string_view("&amp;"), '&'},
                                  {"&lt;", '<'},
                                  {"&gt;", '>'},
                                  {"&quot;", '"'},
                                  {"&apos;", '\''},
                                  {"&#xD;", '\r'},
                                  {"&#xA;", '\n'}}) {
      if (text.substr(i).starts_with(name)) {
        out.push_back(c);
        i += name.size() - 1;
        known = true;
        break;
      }
    }
    if (!known) out.push_back(text[i]);
  }
  return out;
}

/// The contents of all elements of this name; the services' answers nest none in itself.
std::vector<std::string_view> elements(std::string_view xml, std::string_view name) {
  std::vector<std::string_view> out;
  const std::string open = fmt::format("<{}>", name);
  const std::string close = fmt::format("</{}>", name);
  for (std::size_t at = 0; (at = xml.find(open, at)) != std::string_view::npos;) {
    at += open.size();
    const std::size_t end = xml.find(close, at);
    if (end == std::string_view::npos) break;
    out.push_back(xml.substr(at, end - at));
    at = end;
  }
  return out;
}

std::string element(std::string_view xml, std::string_view name) {
  const auto found = elements(xml, name);
  return found.empty() ? std::string{} : unescaped(found.front());
}

/// "InvalidClientTokenId: The security token ...", whichever protocol the answer speaks; else its beginning.
std::string error_of(const std::string& body) {
  std::string code = element(body, "Code");
  std::string message = element(body, "Message");
  if (const auto value = json::parse(body); value) {
    code = value->find_string("__type").value_or("");
    code = code.substr(code.rfind('#') + 1);
    message = value->find_string("message").value_or(value->find_string("Message").value_or(""));
  }
  return code.empty() ? body.substr(0, 400) : fmt::format("{}: {}", code, message);
}

/// Asks one endpoint; one error stops everything, and stays in `problem`.
class Asker {
 public:
  explicit Asker(const LiveEndpoint& endpoint) : endpoint_(endpoint) {}

  std::optional<std::string> problem;

  std::optional<json::Value> sqs(std::string_view action, const std::string& body) {
    const auto answer = ask("sqs", action, body, "application/x-amz-json-1.0", "AmazonSQS." + std::string(action));
    if (!answer) return std::nullopt;
    auto value = json::parse(*answer);
    if (!value) {
      problem = fmt::format("{}: the answer is not JSON: {}", action, value.error().message());
      return std::nullopt;
    }
    return std::move(*value);
  }

  /// Parameters as name and value, one after the other.
  std::optional<std::string> sns(std::string_view action, const std::vector<std::string>& parameters) {
    std::string body = fmt::format("Action={}&Version=2010-03-31", action);
    for (std::size_t i = 0; i + 1 < parameters.size(); i += 2)
      body += "&" + parameters[i] + "=" + wire::digest::percent_encode(parameters[i + 1]);
    return ask("sns", action, body, "application/x-www-form-urlencoded", "");
  }

 private:
  std::optional<std::string> ask(std::string_view service, std::string_view action, const std::string& body,
                                 const std::string& content_type, const std::string& target) {
    auto request = net::HttpRequest::to("POST", endpoint_.url);
    if (!request) {
      problem = fmt::format("{}: no URL such as http://127.0.0.1:4566", endpoint_.url);
      return std::nullopt;
    }
    request->target = "/";
    request->body = body;
    request->replayable = true;  // it only reads
    request->headers = {{"Host", request->origin.authority()}, {"Content-Type", content_type}};
    if (!target.empty()) request->headers.push_back({"X-Amz-Target", target});
    std::vector<wire::http::Header> fields;
    for (const net::HttpField& field : request->headers) fields.push_back({field.name, field.value});
    const auto now = std::chrono::time_point_cast<milliseconds>(std::chrono::system_clock::now());
    const auto made = wire::sigv4::sign({"POST", "/", "", wire::http::Headers{fields}, body},
                                        {endpoint_.access_key, endpoint_.secret, endpoint_.session_token},
                                        {endpoint_.region, service, now}, keys_);
    request->headers.push_back({"X-Amz-Date", made.date});
    if (!made.session_token.empty()) request->headers.push_back({"X-Amz-Security-Token", made.session_token});
    request->headers.push_back({"Authorization", made.authorization});
    auto answer = client_.request(std::move(*request), milliseconds{10'000});
    if (!answer) {
      problem = fmt::format("{}: {}: {}", action, net::describe(answer.error().error), answer.error().detail);
      return std::nullopt;
    }
    if (answer->status != 200) {
      problem = fmt::format("{}: status {}: {}", action, answer->status, error_of(answer->body));
      return std::nullopt;
    }
    return std::move(answer->body);
  }

  const LiveEndpoint& endpoint_;
  net::SyncHttpClient client_;
  wire::sigv4::SigningKeyCache keys_;
};

void read_entries(std::string_view xml, policy::DescribedTopology::Attributes& out) {
  for (const std::string_view entry : elements(xml, "entry")) out[element(entry, "key")] = element(entry, "value");
}

std::string object(std::initializer_list<std::pair<std::string_view, std::string_view>> members) {
  std::string out;
  json::Writer w(out);
  w.begin_object();
  for (const auto& [key, value] : members)
    if (!value.empty()) w.key(key).string(value);
  w.end_object();
  return out;
}

bool read_queue(Asker& asker, std::string_view url, policy::DescribedTopology& topology) {
  std::string body;
  json::Writer(body)
      .begin_object()
      .key("QueueUrl")
      .string(url)
      .key("AttributeNames")
      .begin_array()
      .string("All")
      .end_array()
      .end_object();
  const auto value = asker.sqs("GetQueueAttributes", body);
  if (!value) return false;
  policy::DescribedTopology::Attributes attributes;
  if (const json::Value* found = value->find("Attributes"))
    for (const json::Member& member : found->members())
      attributes[member.key] = std::string(member.value.as_string().value_or(""));
  const std::string arn = attributes["QueueArn"];
  topology.queues[arn] = std::move(attributes);
  return true;
}

}  // namespace

void take_from_environment(LiveEndpoint& endpoint) {
  const auto take = [](const char* name, std::string& into) {
    if (const char* value = std::getenv(name); value != nullptr && *value != '\0') into = value;
  };
  take("AWS_ACCESS_KEY_ID", endpoint.access_key);
  take("AWS_SECRET_ACCESS_KEY", endpoint.secret);
  take("AWS_SESSION_TOKEN", endpoint.session_token);
  take("AWS_REGION", endpoint.region);
  if (std::getenv("AWS_REGION") == nullptr) take("AWS_DEFAULT_REGION", endpoint.region);
}

std::optional<std::string> read_topology(const LiveEndpoint& endpoint, policy::DescribedTopology& topology) {
  Asker asker(endpoint);
  std::string token;
  do {
    std::string body = R"({"MaxResults":1000)";
    if (!token.empty()) body += R"(,"NextToken":)" + json::to_quoted(token);
    const auto page = asker.sqs("ListQueues", body + "}");
    if (!page) return asker.problem;
    if (const json::Value* urls = page->find("QueueUrls"))
      for (const json::Value& url : urls->items())
        if (!read_queue(asker, url.as_string().value_or(""), topology)) return asker.problem;
    token = page->find_string("NextToken").value_or("");
  } while (!token.empty());
  do {
    std::vector<std::string> parameters;
    if (!token.empty()) parameters = {"NextToken", token};
    const auto page = asker.sns("ListTopics", parameters);
    if (!page) return asker.problem;
    for (const std::string_view arn : elements(*page, "TopicArn")) {
      const auto answer = asker.sns("GetTopicAttributes", {"TopicArn", unescaped(arn)});
      if (!answer) return asker.problem;
      read_entries(*answer, topology.topics[unescaped(arn)]);
    }
    token = element(*page, "NextToken");
  } while (!token.empty());
  do {
    std::vector<std::string> parameters;
    if (!token.empty()) parameters = {"NextToken", token};
    const auto page = asker.sns("ListSubscriptions", parameters);
    if (!page) return asker.problem;
    for (const std::string_view member : elements(*page, "member")) {
      const std::string arn = element(member, "SubscriptionArn");
      const bool confirmed = arn.starts_with("arn:");
      auto& attributes =
          topology.subscriptions[confirmed ? arn : fmt::format("{} {}", arn, element(member, "Endpoint"))];
      attributes["TopicArn"] = element(member, "TopicArn");
      attributes["Protocol"] = element(member, "Protocol");
      attributes["Endpoint"] = element(member, "Endpoint");
      if (!confirmed) {
        attributes["PendingConfirmation"] = "true";
        continue;
      }
      const auto answer = asker.sns("GetSubscriptionAttributes", {"SubscriptionArn", arn});
      if (!answer) return asker.problem;
      read_entries(*answer, attributes);
    }
    token = element(*page, "NextToken");
  } while (!token.empty());
  return std::nullopt;
}

std::optional<std::string> read_resource_policy(const LiveEndpoint& endpoint, const std::string& arn,
                                                std::string& policy) {
  Asker asker(endpoint);
  policy::DescribedTopology topology;
  if (arn.starts_with("arn:aws:sns:")) {
    const auto answer = asker.sns("GetTopicAttributes", {"TopicArn", arn});
    if (!answer) return asker.problem;
    policy::DescribedTopology::Attributes attributes;
    read_entries(*answer, attributes);
    policy = attributes["Policy"];
    return std::nullopt;
  }
  if (!arn.starts_with("arn:aws:sqs:")) return fmt::format("{} is neither a queue nor a topic", arn);
  const std::string name = arn.substr(arn.rfind(':') + 1);
  const std::string owner{policy::account_of_arn(arn)};
  const auto found = asker.sqs("GetQueueUrl", object({{"QueueName", name}, {"QueueOwnerAWSAccountId", owner}}));
  if (!found) return asker.problem;
  if (!read_queue(asker, found->find_string("QueueUrl").value_or(""), topology)) return asker.problem;
  if (!topology.queues.empty()) policy = topology.queues.begin()->second["Policy"];
  return std::nullopt;
}

}  // namespace fanfare::cli
