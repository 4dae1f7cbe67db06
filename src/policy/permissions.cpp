#include "policy/permissions.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "policy/actions.h"
#include "wire/json/value.h"
#include "wire/json/writer.h"

namespace fanfare::policy {
namespace json = wire::json;
namespace {

using Kind = PermissionError::Kind;

constexpr std::size_t kQueueActionsMax = 7;       // [SQS quotas, policies]
constexpr std::size_t kQueueStatementsMax = 20;   // [SQS quotas, policies]
constexpr std::size_t kTopicStatementsMax = 100;  // [SNS quotas, topic policy]

bool is_account(std::string_view text) {
  return text.size() == 12 && text.find_first_not_of("0123456789") == std::string_view::npos;
}

json::Value one_or_many(std::vector<json::Value> values) {
  if (values.size() == 1) return std::move(values.front());
  return json::Value::array(std::move(values));
}

std::vector<json::Member> members_of(const json::Value& object) {
  return {object.members().begin(), object.members().end()};
}

/// The statements of a document, whether they stand in an array or alone.
std::vector<json::Value> statements_of(const json::Value& document) {
  const json::Value* statement = document.find("Statement");
  if (statement == nullptr) return {};
  if (statement->is_array()) return {statement->items().begin(), statement->items().end()};
  return {*statement};
}

std::string with_statements(const json::Value& document, std::vector<json::Value> statements) {
  std::vector<json::Member> members = members_of(document);
  const auto place = std::ranges::find(members, "Statement", &json::Member::key);
  if (place == members.end()) {
    members.push_back({"Statement", json::Value::array(std::move(statements))});
  } else {
    place->value = json::Value::array(std::move(statements));
  }
  return json::Value::object(std::move(members)).to_string();
}

Result<json::Value, PermissionError> parsed(std::string_view document) {
  auto value = json::parse(document, {.depth_max = 16});
  if (!value) return PermissionError{Kind::BadDocument, value.error().message()};
  if (!value->is_object()) return PermissionError{Kind::BadDocument, "the document is no object"};
  return std::move(*value);
}

}  // namespace

Result<std::string, PermissionError> add_permission(std::string_view document, std::string_view label,
                                                    std::span<const std::string_view> account_ids,
                                                    std::span<const std::string_view> actions,
                                                    std::string_view resource) {
  const bool queue = resource.starts_with("arn:aws:sqs:");
  if (queue && actions.size() > kQueueActionsMax)
    return PermissionError{Kind::TooManyActions,
                           fmt::format("{} actions, {} are accepted", actions.size(), kQueueActionsMax)};
  std::vector<json::Value> names;
  for (const std::string_view action : actions) {
    const std::string known = (queue ? "sqs:" : "sns:") + std::string(action);
    if (queue && is_owner_only(known)) return PermissionError{Kind::OwnerOnlyAction, std::string(action)};
    if (action.empty() || (queue ? !is_queue_policy_action(known) : !is_topic_policy_action(known)))
      return PermissionError{Kind::UnknownAction, std::string(action)};
    names.push_back(json::Value::string((queue ? "SQS:" : "SNS:") + std::string(action)));
  }
  std::vector<json::Value> principals;
  for (const std::string_view account : account_ids) {
    if (!is_account(account)) return PermissionError{Kind::BadAccount, std::string(account)};
    principals.push_back(json::Value::string(fmt::format("arn:aws:iam::{}:root", account)));
  }

  std::string empty;
  if (document.empty()) {
    empty = R"({"Version":"2008-10-17","Id":)";
    json::append_quoted(empty, queue ? std::string(resource) + "/SQSDefaultPolicy" : "__default_policy_ID");
    empty += R"(,"Statement":[]})";
    document = empty;
  }
  auto value = parsed(document);
  if (!value) return value.error();
  std::vector<json::Value> statements = statements_of(*value);
  for (const json::Value& statement : statements)
    if (statement.find_string("Sid") == label) return PermissionError{Kind::LabelExists, std::string(label)};
  const std::size_t statements_max = queue ? kQueueStatementsMax : kTopicStatementsMax;
  if (statements.size() >= statements_max)
    return PermissionError{Kind::TooManyStatements, fmt::format("{} statements are accepted", statements_max)};

  std::vector<json::Member> principal;
  principal.push_back({"AWS", one_or_many(std::move(principals))});
  std::vector<json::Member> statement;
  statement.push_back({"Sid", json::Value::string(std::string(label))});
  statement.push_back({"Effect", json::Value::string("Allow")});
  statement.push_back({"Principal", json::Value::object(std::move(principal))});
  statement.push_back({"Action", one_or_many(std::move(names))});
  statement.push_back({"Resource", json::Value::string(std::string(resource))});
  statements.push_back(json::Value::object(std::move(statement)));
  return with_statements(*value, std::move(statements));
}

Result<std::string, PermissionError> remove_permission(std::string_view document, std::string_view label) {
  if (document.empty()) return PermissionError{Kind::LabelUnknown, std::string(label)};
  auto value = parsed(document);
  if (!value) return value.error();
  std::vector<json::Value> statements = statements_of(*value);
  const auto removed = std::erase_if(statements, [&](const json::Value& s) { return s.find_string("Sid") == label; });
  if (removed == 0) return PermissionError{Kind::LabelUnknown, std::string(label)};
  if (statements.empty()) return std::string();
  return with_statements(*value, std::move(statements));
}

std::string default_topic_policy(std::string_view topic_arn, std::string_view account) {
  std::string out;
  json::Writer w(out);
  w.begin_object().key("Version").string("2008-10-17").key("Id").string("__default_policy_ID");
  w.key("Statement").begin_array().begin_object();
  w.key("Sid").string("__default_statement_ID").key("Effect").string("Allow");
  w.key("Principal").begin_object().key("AWS").string("*").end_object();
  w.key("Action").begin_array();
  for (const std::string_view action : {"GetTopicAttributes", "SetTopicAttributes", "AddPermission", "RemovePermission",
                                        "DeleteTopic", "Subscribe", "ListSubscriptionsByTopic", "Publish"})
    w.string("SNS:" + std::string(action));
  w.end_array().key("Resource").string(topic_arn);
  w.key("Condition").begin_object().key("StringEquals").begin_object();
  w.key("AWS:SourceOwner").string(account);
  w.end_object().end_object().end_object().end_array().end_object();
  return out;
}

}  // namespace fanfare::policy
