// What all drivers read out of a step in the same way.
#include "words.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <iostream>

namespace fanfare::scenarios {
namespace {

std::pair<std::string_view, std::string_view> account_and_name(std::string_view name) {
  const std::size_t slash = name.find('/');
  if (slash == std::string_view::npos) return {kHome, name};
  return {name.substr(0, slash), name.substr(slash + 1)};
}

// Also what is no character: U+FFFE, and surrogates, which no UTF-8 may hold.
void append_utf8(std::string& out, std::uint32_t code) {
  const auto tail = [&](int shift) { out += static_cast<char>(0x80 | ((code >> shift) & 0x3f)); };
  if (code < 0x80) {
    out += static_cast<char>(code);
  } else if (code < 0x800) {
    out += static_cast<char>(0xc0 | (code >> 6));
    tail(0);
  } else if (code < 0x10000) {
    out += static_cast<char>(0xe0 | (code >> 12));
    tail(6);
    tail(0);
  } else {
    out += static_cast<char>(0xf0 | (code >> 18));
    tail(12);
    tail(6);
    tail(0);
  }
}

struct VerbOptions {
  std::string_view verb;
  std::vector<std::string_view> options;  ///< one that ends with a dot begins all of its kind
};

const VerbOptions* options_of(std::string_view verb) {
  static const VerbOptions kTable[] = {
      {"queues", {"prefix", "after", "limit"}},
      {"tag", {"tag."}},
      {"move", {"to", "rate"}},
      {"moves", {"max"}},
      {"send", {"char", "delay", "attr.", "size", "group", "dedup"}},
      {"send_batch", {"char", "delay", "attr.", "size", "group", "dedup", "id"}},
      {"receive", {"max", "visibility", "wait", "attempt"}},
      {"restart", {"lose_receives"}},
      {"topics", {"after", "limit"}},
      {"publish", {"char", "attr.", "size", "group", "dedup"}},
      {"publish_batch", {"char", "attr.", "size", "group", "dedup", "id"}},
  };
  const auto* const found = std::ranges::find(kTable, verb, &VerbOptions::verb);
  return found == std::end(kTable) ? nullptr : found;
}

bool has_settings(std::string_view verb) {
  static const std::vector<std::string_view> kVerbs{
      "queue", "set", "topic", "set_topic", "subscribe", "set_subscription", "role", "user", "account"};
  return std::ranges::find(kVerbs, verb) != kVerbs.end();
}

}  // namespace

void check_options(const Step& step) {
  if (has_settings(step.verb)) return;
  const VerbOptions* const known = options_of(step.verb);
  for (const auto& [name, value] : step.options) {
    const auto is_it = [&](std::string_view option) {
      return option.ends_with('.') ? name.starts_with(option) : name == option;
    };
    if (known == nullptr || std::ranges::none_of(known->options, is_it))
      wrong("'" + step.verb + "' has no option '" + name + "'");
  }
}

void wrong(const std::string& what) {
  std::cerr << "scenario: " << what << "\n";
  std::exit(2);
}

/// "10s" is ten seconds after the start of the scenario.
static std::string moment_of(const std::string& text) {
  const auto since_start = parse_duration(text);
  if (!since_start) wrong("'" + text + "' is no time");
  return iso8601(kStart + *since_start);
}
std::string replay_policy_of(const std::string& text) {
  if (text == "none") return {};
  const std::size_t dots = text.find("..");
  std::string policy = R"({"PointType":"Timestamp","StartingPoint":")" + moment_of(text.substr(0, dots)) + '"';
  if (dots != std::string::npos) policy += R"(,"EndingPoint":")" + moment_of(text.substr(dots + 2)) + '"';
  return policy + "}";
}
std::string archive_policy_of(const std::string& days) {
  return days == "none" ? "{}" : R"({"MessageRetentionPeriod":")" + days + R"("})";
}

std::int64_t seconds_of(const std::string& text) {
  const auto duration = parse_duration(text);
  if (!duration) wrong("'" + text + "' is no duration such as 30s");
  return std::chrono::duration_cast<seconds>(*duration).count();
}

std::int64_t number_of(const std::string& text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) wrong("'" + text + "' is no number");
  return number;
}

queue::QueueKeyView queue_key(std::string_view name) {
  const auto [account, rest] = account_and_name(name);
  return {account, kRegion, rest};
}
topic::TopicKeyView topic_key(std::string_view name) {
  const auto [account, rest] = account_and_name(name);
  return {account, kRegion, rest};
}
std::string queue_arn(std::string_view name) { return queue::QueueKey{queue_key(name)}.arn().str(); }
std::string topic_arn(std::string_view name) { return topic::TopicKey{topic_key(name)}.arn().str(); }

std::string delivery_policy(const std::string& queue, const std::string& topic) {
  return R"({"Version":"2012-10-17","Statement":{"Effect":"Allow","Principal":{"Service":"sns.amazonaws.com"},)"
         R"("Action":"sqs:SendMessage","Resource":")" +
         queue_arn(queue) + R"(","Condition":{"ArnEquals":{"aws:SourceArn":")" + topic_arn(topic) + R"("}}}})";
}

std::string body_of(const Step& step, std::size_t word) {
  std::string body = step.words.at(word);
  if (const auto size = step.option("size")) body.resize(static_cast<std::size_t>(number_of(*size)), '.');
  if (const auto code = step.option("char"))
    append_utf8(body, static_cast<std::uint32_t>(std::stoul(*code, nullptr, 16)));
  return body;
}

std::vector<std::pair<std::string, std::string>> options_with(const Step& step, std::string_view prefix) {
  std::vector<std::pair<std::string, std::string>> found;
  for (const auto& [name, value] : step.options)
    if (name.starts_with(prefix)) found.emplace_back(name.substr(prefix.size()), value);
  return found;
}

std::vector<TypedValue> message_attributes_of(const Step& step) {
  std::vector<TypedValue> attributes;
  for (auto& [name, text] : options_with(step, "attr.")) {
    const std::size_t colon = text.find(':');
    if (colon == std::string::npos)
      attributes.push_back({name, "String", text});
    else
      attributes.push_back({name, text.substr(0, colon), text.substr(colon + 1)});
  }
  return attributes;
}

}  // namespace fanfare::scenarios
