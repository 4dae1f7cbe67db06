#include "core/topic/filter_policy.h"

#include <fmt/format.h>

#include <algorithm>
#include <variant>
#include <vector>

namespace fanfare::topic {
namespace json = wire::json;
namespace {

constexpr std::size_t kKeysMax = 5;
constexpr std::size_t kCombinationsMax = 150;

FilterError bad(FilterError::Kind kind, std::string message) { return {kind, std::move(message), 0}; }

}  // namespace

std::string_view text_of(FilterScope scope) { return scope == FilterScope::MessageBody ? "MessageBody" : "MessageAttributes"; }

std::optional<FilterScope> parse_filter_scope(std::string_view text) {
  for (const FilterScope scope : {FilterScope::MessageAttributes, FilterScope::MessageBody})
    if (text == text_of(scope)) return scope;
  return std::nullopt;
}

const json::Value* LazyBody::object() {
  if (!parsed_) {
    parsed_ = true;
    if (auto value = json::parse(text_); value && value->is_object()) value_ = std::move(*value);
  }
  return value_ ? &*value_ : nullptr;
}

/// One node is one object of the policy: its keys are joined by AND. A key leads to another node or to a leaf's values.
struct FilterPolicy::Node {
  struct Exact {
    json::Value value;  // a string, number, boolean or null
  };
  using Matcher = std::variant<Exact>;
  using Leaf = std::vector<Matcher>;  // joined by OR
  struct Key {
    std::string name;
    std::variant<Leaf, std::unique_ptr<Node>> rule;
  };
  std::vector<Key> keys;

  static bool matches(const Leaf& leaf, const json::Value& value) {
    // Any element of an array may match.
    if (value.is_array())
      return std::any_of(value.items().begin(), value.items().end(), [&](const json::Value& item) { return matches(leaf, item); });
    return std::any_of(leaf.begin(), leaf.end(), [&](const Matcher& matcher) {
      return std::visit([&](const Exact& exact) { return exact.value == value; }, matcher);
    });
  }
  // An array of objects matches when one of them satisfies all keys.
  static bool matches(const Node& node, const json::Value& value) {
    if (value.is_array())
      return std::any_of(value.items().begin(), value.items().end(), [&](const json::Value& item) { return matches(node, item); });
    return std::all_of(node.keys.begin(), node.keys.end(), [&](const Key& key) {
      const json::Value* member = value.find(key.name);
      if (member == nullptr) return false;
      if (const auto* leaf = std::get_if<Leaf>(&key.rule)) return matches(*leaf, *member);
      return matches(*std::get<std::unique_ptr<Node>>(key.rule), *member);
    });
  }
};

namespace {

/// Reads a policy; `error` says why when it gives null.
class Parser {
 public:
  using Node = FilterPolicy::Node;
  explicit Parser(FilterScope scope) : scope_(scope) {}

  std::unique_ptr<Node> node(const json::Value& object, std::size_t depth) {
    auto node = std::make_unique<Node>();
    for (const json::Member& member : object.members()) {
      if (member.value.is_array()) {
        Node::Leaf leaf;
        if (!read_leaf(member.value, leaf)) return nullptr;
        // Deeper values cost more. [SNS filter policy constraints]
        combinations_ *= member.value.size() * (scope_ == FilterScope::MessageBody ? depth : 1);
        if (combinations_ > kCombinationsMax) return fail(FilterError::Kind::TooComplex, "Filter policy is too complex");
        node->keys.push_back({member.key, std::move(leaf)});
      } else if (member.value.is_object()) {
        if (scope_ == FilterScope::MessageAttributes)
          return fail(FilterError::Kind::NestedAttributes,
                      fmt::format("Filter policy scope {} does not support nested filter policy", text_of(scope_)));
        auto inner = this->node(member.value, depth + 1);
        if (inner == nullptr) return nullptr;
        node->keys.push_back({member.key, std::move(inner)});
      } else {
        return fail(FilterError::Kind::BadMatch, fmt::format("\"{}\" must be an object or an array", member.key));
      }
    }
    return node;
  }

  std::optional<FilterError> error;

 private:
  bool read_leaf(const json::Value& values, Node::Leaf& leaf) {
    if (values.size() == 0) return fail(FilterError::Kind::BadMatch, "Empty arrays are not allowed") != nullptr;
    for (const json::Value& value : values.items()) {
      if (value.is_object()) {
        if (value.size() != 1)
          return fail(FilterError::Kind::BadMatch, "Only one key allowed in match expression") != nullptr;
        return fail(FilterError::Kind::UnknownOperator,
                    fmt::format("Unrecognized match type {}", value.members().front().key)) != nullptr;
      }
      if (value.is_array())
        return fail(FilterError::Kind::BadMatch, "Match value must be String, number, true, false, or null") != nullptr;
      leaf.push_back(Node::Exact{value});
    }
    return true;
  }

  std::unique_ptr<Node> fail(FilterError::Kind kind, std::string message) {
    error = bad(kind, std::move(message));
    return nullptr;
  }

  FilterScope scope_;
  std::size_t combinations_ = 1;
};

/// What an attribute's value is for a filter; nullopt: it has none (a Binary), or cannot be read (then `invalid` is set).
std::optional<json::Value> value_of(const message::MessageAttribute& attribute, bool& invalid) {
  if (attribute.is_binary()) return std::nullopt;
  if (attribute.type == "String.Array" || attribute.type.starts_with("Number")) {
    auto parsed = json::parse(attribute.value);
    const bool fits = parsed && (attribute.type == "String.Array" ? parsed->is_array() : parsed->is_number());
    if (fits) return std::move(*parsed);
    invalid = true;
    return std::nullopt;
  }
  return json::Value::string(std::string{attribute.value});
}

}  // namespace

FilterPolicy::FilterPolicy() = default;
FilterPolicy::FilterPolicy(FilterPolicy&&) noexcept = default;
FilterPolicy& FilterPolicy::operator=(FilterPolicy&&) noexcept = default;
FilterPolicy::~FilterPolicy() = default;

Result<FilterPolicy, FilterError> FilterPolicy::parse(std::string_view text, FilterScope scope) {
  auto document = json::parse(text, {.depth_max = 32});
  if (!document) return bad(FilterError::Kind::NotJson, document.error().message());
  if (!document->is_object()) return bad(FilterError::Kind::NotJson, "a filter policy is a JSON object");
  if (document->size() > kKeysMax)
    return bad(FilterError::Kind::TooManyKeys, fmt::format("Filter policy can not have more than {} keys", kKeysMax));
  Parser parser(scope);
  auto root = parser.node(*document, 1);
  if (root == nullptr) return std::move(*parser.error);
  FilterPolicy policy;
  policy.scope_ = scope;
  policy.text_ = text;
  policy.root_ = std::move(root);
  return policy;
}

FilterOutcome FilterPolicy::matches(std::span<const message::MessageAttribute> attributes, LazyBody& body) const {
  if (scope_ == FilterScope::MessageBody) {
    const json::Value* object = body.object();
    if (object == nullptr) return FilterOutcome::InvalidMessageBody;
    return Node::matches(*root_, *object) ? FilterOutcome::Passed : FilterOutcome::Mismatch;
  }
  if (attributes.empty() && !root_->keys.empty()) return FilterOutcome::NoMessageAttributes;
  for (const Node::Key& key : root_->keys) {
    const auto attribute =
        std::find_if(attributes.begin(), attributes.end(), [&](const auto& one) { return one.name == key.name; });
    if (attribute == attributes.end()) return FilterOutcome::Mismatch;
    bool invalid = false;
    const auto value = value_of(*attribute, invalid);
    if (invalid) return FilterOutcome::InvalidAttributes;
    if (!value || !Node::matches(std::get<Node::Leaf>(key.rule), *value)) return FilterOutcome::Mismatch;
  }
  return FilterOutcome::Passed;
}

}  // namespace fanfare::topic
