#include "bench/call.h"

#include <fmt/format.h>

#include <array>
#include <iterator>

#include "base/assert.h"
#include "wire/http/headers.h"
#include "wire/json/writer.h"

namespace fanfare::bench {
namespace {

constexpr std::string_view kSqsVersion = "2012-11-05";
constexpr std::string_view kSnsVersion = "2010-03-31";

bool is_json(Protocol protocol, Action action) { return protocol == Protocol::Json && !is_of_sns(action); }

}  // namespace

std::string_view name_of(Action action) {
  switch (action) {
    case Action::CreateQueue: return "CreateQueue";
    case Action::DeleteQueue: return "DeleteQueue";
    case Action::GetQueueAttributes: return "GetQueueAttributes";
    case Action::SendMessage: return "SendMessage";
    case Action::SendMessageBatch: return "SendMessageBatch";
    case Action::ReceiveMessage: return "ReceiveMessage";
    case Action::DeleteMessage: return "DeleteMessage";
    case Action::DeleteMessageBatch: return "DeleteMessageBatch";
    case Action::CreateTopic: return "CreateTopic";
    case Action::DeleteTopic: return "DeleteTopic";
    case Action::Subscribe: return "Subscribe";
    case Action::Publish: return "Publish";
  }
  return {};
}

bool is_of_sns(Action action) { return action >= Action::CreateTopic; }

Body::Body(Protocol protocol, Action action, std::string& out)
    : out_(out), json_(is_json(protocol, action)), sns_(is_of_sns(action)) {
  if (json_) {
    out_.push_back('{');
  } else {
    out_.append("Action=").append(name_of(action)).append("&Version=").append(sns_ ? kSnsVersion : kSqsVersion);
  }
}

void Body::name(std::string_view name) {
  if (json_) {
    if (std::exchange(comma_, true)) out_.push_back(',');
    out_.append("\"").append(name).append("\":");
  } else {
    out_.append("&").append(prefix_).append(name).append("=");
  }
}

Body& Body::text(std::string_view member, std::string_view value) {
  name(member);
  if (json_) {
    wire::json::append_quoted(out_, value);
  } else {
    wire::http::append_form_encoded(out_, value);
  }
  return *this;
}

Body& Body::number(std::string_view member, std::int64_t value) {
  name(member);
  fmt::format_to(std::back_inserter(out_), "{}", value);
  return *this;
}

Body& Body::map(std::string_view member, std::string_view query_name, const Pairs& pairs) {
  if (json_) {
    name(member);
    wire::json::Writer writer{out_};
    writer.begin_object();
    for (const auto& [key, value] : pairs) writer.key(key).string(value);
    writer.end_object();
    return *this;
  }
  int number = 0;
  for (const auto& [key, value] : pairs) {
    const std::string prefix = fmt::format("{}{}.{}.", query_name, sns_ ? ".entry" : "", ++number);
    text(prefix + (sns_ ? "key" : "Name"), key);
    text(prefix + (sns_ ? "value" : "Value"), value);
  }
  return *this;
}

Body& Body::list(std::string_view member, std::string_view query_name, const std::vector<std::string_view>& items) {
  if (json_) {
    name(member);
    wire::json::Writer writer{out_};
    writer.begin_array();
    for (const std::string_view item : items) writer.string(item);
    writer.end_array();
    return *this;
  }
  int number = 0;
  for (const std::string_view item : items) text(fmt::format("{}.{}", query_name, ++number), item);
  return *this;
}

Body& Body::entries(std::string_view member, std::string_view query_name) {
  FANFARE_ASSERT(!in_entries_);
  in_entries_ = true;
  entries_ = query_name;
  if (json_) {
    name(member);
    out_.push_back('[');
  }
  return *this;
}

Body& Body::entry() {
  FANFARE_ASSERT(in_entries_);
  ++entry_count_;
  if (json_) {
    out_.append(entry_count_ == 1 ? "{" : "},{");
    comma_ = false;
  } else {
    prefix_ = fmt::format("{}.{}.", entries_, entry_count_);
  }
  return *this;
}

void Body::finish() {
  if (!json_) return;
  if (in_entries_) out_.append(entry_count_ > 0 ? "}]" : "]");
  out_.push_back('}');
}

CallWriter::CallWriter(const Endpoint& endpoint) : endpoint_(endpoint), host_(endpoint.url.authority()) {}

void CallWriter::append(std::string& out, Action action, std::string_view body, Timestamp now) {
  const bool json = is_json(endpoint_.protocol, action);
  const bool sns = is_of_sns(action);
  std::array<wire::http::Header, 4> fields;
  std::size_t count = 0;
  std::string target;
  fields[count++] = {"Host", host_};
  fields[count++] = {"Content-Type", json ? "application/x-amz-json-1.0" : "application/x-www-form-urlencoded"};
  if (json) {
    target.append("AmazonSQS.").append(name_of(action));
    fields[count++] = {"X-Amz-Target", target};
  }
  const std::string path = endpoint_.url.path.empty() ? std::string{"/"} : endpoint_.url.path;
  const std::span<const wire::http::Header> used{fields.data(), count};
  out.append("POST ").append(path).append(" HTTP/1.1\r\n");
  for (const auto& field : used) out.append(field.name).append(": ").append(field.value).append("\r\n");
  out.append("User-Agent: fanfare-bench\r\n");
  if (endpoint_.is_signed) {
    const auto added = wire::sigv4::sign(
        {.method = "POST",
         .path = path,
         .query = endpoint_.url.query,
         .headers = wire::http::Headers{used},
         .body = body},
        endpoint_.credentials, {.region = endpoint_.region, .service = sns ? "sns" : "sqs", .time = now}, keys_);
    out.append("X-Amz-Date: ").append(added.date).append("\r\n");
    if (!added.session_token.empty()) out.append("X-Amz-Security-Token: ").append(added.session_token).append("\r\n");
    out.append("Authorization: ").append(added.authorization).append("\r\n");
  }
  fmt::format_to(std::back_inserter(out), "Content-Length: {}\r\n\r\n", body.size());
  out.append(body);
}

}  // namespace fanfare::bench
