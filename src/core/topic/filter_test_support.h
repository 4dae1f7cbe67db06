// Random filter policies and messages over small alphabets, so that they meet often, and the filter language a second time,
// written as plainly as possible: policy and message as JSON values, every alternative and every assignment tried.
#pragma once

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/message/content.h"
#include "core/topic/filter_policy.h"
#include "wire/json/value.h"

namespace fanfare::topic::testing {

using wire::json::Member;
using wire::json::Value;

/// Choices from a fixed stream of numbers; zeros when it is used up.
class Choices {
 public:
  explicit Choices(std::vector<std::uint16_t> stream) : stream_(std::move(stream)) {}
  std::size_t below(std::size_t count) { return at_ < stream_.size() ? stream_[at_++] % count : 0; }
  template <class T>
  const T& of(const std::vector<T>& all) {
    return all[below(all.size())];
  }

 private:
  std::vector<std::uint16_t> stream_;
  std::size_t at_ = 0;
};

inline const std::vector<std::string> kWords = {"a", "ab", "abc", "B", "Ab", "10.0.0.1", "10.0.1.9", "::1", "a.b*", ""};
inline const std::vector<std::string> kKeys = {"k", "l", "m"};

inline Value scalar(Choices& choices) {
  switch (choices.below(6)) {
    case 0: return Value::boolean(choices.below(2) == 0);
    case 1: return Value{};
    case 2: return Value::real(static_cast<double>(choices.below(9)) / 2);
    default: return Value::string(choices.of(kWords));
  }
}

inline Value object_of(std::string key, Value value) {
  std::vector<Member> members;
  members.push_back({std::move(key), std::move(value)});
  return Value::object(std::move(members));
}
inline Value array_of(std::vector<Value> items) { return Value::array(std::move(items)); }

inline Value rule(Choices& choices) {
  const auto word = [&] {
    std::string text = choices.of(kWords);
    return Value::string(text.empty() ? "a" : text);
  };
  const auto number = [&] { return Value::real(static_cast<double>(choices.below(9)) / 2); };
  switch (choices.below(14)) {
    case 0: return object_of("prefix", word());
    case 1: return object_of("suffix", word());
    case 2: return object_of("equals-ignore-case", word());
    case 3: return object_of("exists", Value::boolean(choices.below(2) == 0));
    case 4: {
      const std::vector<std::string> ranges = {"10.0.0.0/24", "10.0.0.0/8", "::/64", "10.0.1.8/31"};
      return object_of("cidr", Value::string(choices.of(ranges)));
    }
    case 5: {
      const std::vector<std::string> patterns = {"a*", "*b", "a*c", "*", "a", "*b*", R"(a.b\*)"};
      return object_of("wildcard", Value::string(choices.of(patterns)));
    }
    case 6: {
      const std::vector<std::string> operators = {"=", "<", "<=", ">", ">="};
      return object_of("numeric", array_of({Value::string(choices.of(operators)), number()}));
    }
    case 7: {
      const double low = static_cast<double>(choices.below(6)) / 2;
      return object_of("numeric", array_of({Value::string(choices.below(2) == 0 ? ">" : ">="), Value::real(low),
                                            Value::string(choices.below(2) == 0 ? "<" : "<="),
                                            Value::real(low + 0.5 + static_cast<double>(choices.below(4)) / 2)}));
    }
    case 8: return object_of("anything-but", array_of({word(), word()}));
    case 9: return object_of("anything-but", number());
    case 10: return object_of("anything-but", object_of("prefix", word()));
    case 11: return object_of("anything-but", object_of("wildcard", array_of({Value::string("a*"), Value::string("*9")})));
    default: return scalar(choices);
  }
}

inline Value rules(Choices& choices) {
  std::vector<Value> items;
  for (std::size_t i = 0; i < 1 + choices.below(2); ++i) items.push_back(rule(choices));
  return array_of(std::move(items));
}

/// An object of the policy language; `nested`: scope MessageBody.
inline Value policy_object(Choices& choices, bool nested, int depth) {
  std::vector<Member> members;
  const std::size_t keys = 1 + choices.below(2);
  for (std::size_t i = 0; i < keys; ++i) {
    const bool inner = nested && depth < 3 && choices.below(3) == 0;
    members.push_back({kKeys[i + choices.below(2)], inner ? policy_object(choices, nested, depth + 1) : rules(choices)});
    if (i > 0 && members[i].key == members[i - 1].key) members.pop_back();
  }
  if (nested && choices.below(6) == 0) members.push_back({"k.l", rules(choices)});
  if (depth < 3 && choices.below(4) == 0) {
    members.push_back({"$or", array_of({policy_object(choices, nested, depth + 1), policy_object(choices, nested, depth + 1)})});
  }
  return Value::object(std::move(members));
}

inline Value body_value(Choices& choices, int depth);
inline Value body_object(Choices& choices, int depth) {
  std::vector<Member> members;
  for (const std::string& key : kKeys)
    if (choices.below(3) != 0) members.push_back({key, body_value(choices, depth + 1)});
  // A dotted key beside arrays at the same path would have no single element to stand for both.
  if (choices.below(5) == 0) members.push_back({"k.l", scalar(choices)});
  return Value::object(std::move(members));
}
inline Value body_value(Choices& choices, int depth) {
  const std::size_t kind = choices.below(depth < 4 ? 5 : 3);
  if (kind < 3) return scalar(choices);
  if (kind == 3) return body_object(choices, depth);
  std::vector<Value> items;
  for (std::size_t i = 0; i < choices.below(3); ++i) items.push_back(body_value(choices, depth + 1));
  return array_of(std::move(items));
}

/// Attributes and the texts that they point into.
struct Attributes {
  struct Owned {
    std::string name, type, value;
  };
  std::vector<Owned> owned;
  [[nodiscard]] std::vector<message::MessageAttribute> views() const {
    std::vector<message::MessageAttribute> all;
    for (const Owned& one : owned) all.push_back({one.name, one.type, one.value});
    return all;
  }
};

inline Attributes attributes_of(Choices& choices) {
  Attributes attributes;
  for (const std::string& key : kKeys) {
    switch (choices.below(6)) {
      case 0: break;
      case 1: attributes.owned.push_back({key, "Number", Value::real(static_cast<double>(choices.below(9)) / 2).to_string()}); break;
      case 2: {
        std::vector<Value> items;
        for (std::size_t i = 0; i < choices.below(3); ++i) items.push_back(scalar(choices));
        attributes.owned.push_back({key, "String.Array", array_of(std::move(items)).to_string()});
        break;
      }
      case 3:
        attributes.owned.push_back(choices.below(4) == 0 ? Attributes::Owned{key, "String.Array", "no array"}
                                                         : Attributes::Owned{key, "Binary", "a"});
        break;
      default: {
        const std::string& word = choices.of(kWords);
        attributes.owned.push_back({key, "String", word.empty() ? "a" : word});
      }
    }
  }
  return attributes;
}

// ---- The language, naively ----------------------------------------------------------------------------------------------

inline std::string lower(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

inline bool wildcard_matches(std::string_view pattern, std::string_view text) {
  if (pattern.empty()) return text.empty();
  if (pattern[0] == '*') {
    for (std::size_t i = 0; i <= text.size(); ++i)
      if (wildcard_matches(pattern.substr(1), text.substr(i))) return true;
    return false;
  }
  if (pattern[0] == '\\') pattern.remove_prefix(1);
  return !text.empty() && text[0] == pattern[0] && wildcard_matches(pattern.substr(1), text.substr(1));
}

/// IPv4 and "::x" only: what the alphabets have.
inline std::optional<std::pair<int, std::uint64_t>> naive_address(std::string_view text) {
  if (text == "::1") return std::pair{6, std::uint64_t{1}};
  if (text == "::") return std::pair{6, std::uint64_t{0}};
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (std::sscanf(std::string{text}.c_str(), "%u.%u.%u.%u", &a, &b, &c, &d) != 4) return std::nullopt;
  return std::pair{4, std::uint64_t{a} << 24 | b << 16 | c << 8 | d};
}

inline bool naive_accepts(const Value& wanted, const Value& value) {
  if (!wanted.is_object()) return wanted == value && !wanted.is_array();
  const auto& [name, operand] = wanted.members().front();
  const auto text = value.as_string();
  if (name == "exists") return *operand.as_bool();
  if (name == "prefix") return text && text->starts_with(*operand.as_string());
  if (name == "suffix") return text && text->ends_with(*operand.as_string());
  if (name == "equals-ignore-case") return text && lower(std::string{*text}) == lower(std::string{*operand.as_string()});
  if (name == "wildcard") return text && wildcard_matches(*operand.as_string(), *text);
  if (name == "cidr") {
    const std::string_view range = *operand.as_string();
    const auto base = naive_address(range.substr(0, range.find('/')));
    const auto address = text ? naive_address(*text) : std::nullopt;
    if (!address || address->first != base->first) return false;
    const int bits = std::stoi(std::string{range.substr(range.find('/') + 1)});
    const int shift = address->first == 4 ? 32 - bits : 0;  // the alphabets' IPv6 range covers all its addresses
    if (address->first == 6) return true;
    return address->second >> shift == base->second >> shift;
  }
  if (name == "numeric") {
    const auto number = value.as_double();
    if (!number) return false;
    bool all = true;
    for (std::size_t i = 0; i + 1 < operand.size(); i += 2) {
      const std::string_view op = *operand.items()[i].as_string();
      const double bound = *operand.items()[i + 1].as_double();
      all = all && (op == "=" ? *number == bound : op == "<" ? *number < bound : op == "<=" ? *number <= bound
                    : op == ">" ? *number > bound : *number >= bound);
    }
    return all;
  }
  // anything-but
  if (operand.is_array())
    return std::none_of(operand.items().begin(), operand.items().end(), [&](const Value& one) { return one == value; });
  if (!operand.is_object()) return !(operand == value);
  const auto& [inner, values] = operand.members().front();
  const auto excluded = [&](const Value& one) { return naive_accepts(object_of(inner, one), value); };
  if (!values.is_array()) return !excluded(values);
  return std::none_of(values.items().begin(), values.items().end(), excluded);
}

using NaiveClauses = std::vector<std::pair<std::string, Value>>;
inline std::vector<NaiveClauses> naive_alternatives(const Value& object, const std::string& path) {
  std::vector<NaiveClauses> all{{}};
  for (const Member& member : object.members()) {
    std::vector<NaiveClauses> inner;
    const std::string here = path.empty() ? member.key : path + "." + member.key;
    if (member.key == "$or") {
      for (const Value& branch : member.value.items())
        for (const NaiveClauses& one : naive_alternatives(branch, path)) inner.push_back(one);
    } else if (member.value.is_object()) {
      inner = naive_alternatives(member.value, here);
    } else {
      inner = {{{here, member.value}}};
    }
    std::vector<NaiveClauses> joined;
    for (const NaiveClauses& left : all)
      for (const NaiveClauses& right : inner) {
        joined.push_back(left);
        joined.back().insert(joined.back().end(), right.begin(), right.end());
      }
    all = std::move(joined);
  }
  return all;
}

struct NaiveField {
  std::string path;
  Value value;
  std::map<int, std::size_t> elements;  ///< which element of which array
};
inline void flatten(const Value& value, const std::string& path, const std::map<int, std::size_t>& elements, int& arrays,
                    std::vector<NaiveField>& out) {
  if (value.is_object()) {
    for (const Member& member : value.members())
      flatten(member.value, path.empty() ? member.key : path + "." + member.key, elements, arrays, out);
  } else if (value.is_array()) {
    const int id = arrays++;
    for (std::size_t i = 0; i < value.size(); ++i) {
      auto inner = elements;
      inner[id] = i;
      flatten(value.items()[i], path, inner, arrays, out);
    }
  } else {
    out.push_back({path, value, elements});
  }
}

inline bool assign(const NaiveClauses& clauses, std::size_t next, const std::vector<NaiveField>& fields,
                   const std::map<int, std::size_t>& elements) {
  if (next == clauses.size()) return true;
  const auto& [path, values] = clauses[next];
  bool present = false;
  for (const NaiveField& field : fields) {
    if (field.path != path) continue;
    present = true;
    const bool consistent = std::all_of(field.elements.begin(), field.elements.end(), [&](const auto& one) {
      const auto known = elements.find(one.first);
      return known == elements.end() || known->second == one.second;
    });
    if (!consistent) continue;
    if (std::none_of(values.items().begin(), values.items().end(),
                     [&](const Value& one) { return naive_accepts(one, field.value); }))
      continue;
    auto more = elements;
    more.insert(field.elements.begin(), field.elements.end());
    if (assign(clauses, next + 1, fields, more)) return true;
  }
  if (present) return false;
  const bool wants_absence = std::any_of(values.items().begin(), values.items().end(), [](const Value& one) {
    return one.is_object() && one.members().front().key == "exists" && one.members().front().value.as_bool() == false;
  });
  return wants_absence && assign(clauses, next + 1, fields, elements);
}

inline bool naive_passes(const Value& policy, const std::vector<NaiveField>& fields) {
  const auto alternatives = naive_alternatives(policy, {});
  return std::any_of(alternatives.begin(), alternatives.end(),
                     [&](const NaiveClauses& clauses) { return assign(clauses, 0, fields, {}); });
}

inline std::vector<NaiveField> fields_of(const Value& body) {
  std::vector<NaiveField> fields;
  int arrays = 0;
  flatten(body, {}, {}, arrays, fields);
  return fields;
}

/// Nullopt: an attribute that the policy names cannot be read.
inline std::optional<std::vector<NaiveField>> fields_of(const Attributes& attributes, const Value& policy) {
  std::vector<NaiveField> fields;
  int arrays = 0;
  for (const Attributes::Owned& one : attributes.owned) {
    if (one.type == "Binary") continue;
    if (one.type == "String") {
      fields.push_back({one.name, Value::string(one.value), {}});
      continue;
    }
    const auto parsed = wire::json::parse(one.value);
    if (parsed) {
      flatten(*parsed, one.name, {}, arrays, fields);
      continue;
    }
    for (const NaiveClauses& clauses : naive_alternatives(policy, {}))
      for (const auto& [path, values] : clauses)
        if (path == one.name) return std::nullopt;
  }
  return fields;
}

}  // namespace fanfare::topic::testing
