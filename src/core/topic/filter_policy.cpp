#include "core/topic/filter_policy.h"

#include <algorithm>

namespace fanfare::topic {
namespace json = wire::json;
namespace {

/// A value of the body that stands at a node's path, or above it: `rest` is what its own key still says, "b.c".
struct Part {
  std::string_view rest;  ///< null data: nothing; what follows the dot of "b." is empty and not nothing
  const json::Value* value;

  [[nodiscard]] bool is_here() const { return rest.data() == nullptr; }
  [[nodiscard]] bool is_array() const { return is_here() && value->is_array(); }
};
using Parts = std::vector<Part>;

/// What `part` has under the segment `key`.
void descend(const Part& part, std::string_view key, Parts& out) {
  const auto take = [&](std::string_view path, const json::Value& value) {
    if (!path.starts_with(key)) return;
    if (path.size() == key.size()) {
      out.push_back({{}, &value});
    } else if (path[key.size()] == '.') {
      out.push_back({path.substr(key.size() + 1), &value});
    }
  };
  if (!part.is_here()) return take(part.rest, *part.value);
  for (const json::Member& member : part.value->members()) take(member.key, member.value);
}

/// Whether a scalar stands at `path` anywhere in `value`.
bool is_present(std::string_view path, const Part& part) {
  if (part.is_array()) {
    return std::any_of(part.value->items().begin(), part.value->items().end(),
                       [&](const json::Value& item) { return is_present(path, {{}, &item}); });
  }
  if (path.data() == nullptr) return part.is_here() && !part.value->is_object();
  const std::size_t dot = path.find('.');
  Parts parts;
  descend(part, path.substr(0, dot), parts);
  const std::string_view rest = dot == std::string_view::npos ? std::string_view{} : path.substr(dot + 1);
  return std::any_of(parts.begin(), parts.end(), [&](const Part& one) { return is_present(rest, one); });
}

bool has_absent(const FilterClause& clause) {
  return std::any_of(clause.any.begin(), clause.any.end(),
                     [](const FilterPattern& pattern) { return pattern.kind == FilterPattern::Kind::Absent; });
}

bool accepts(const FilterClause& clause, const FilterScalar& scalar) {
  return std::any_of(clause.any.begin(), clause.any.end(),
                     [&](const FilterPattern& pattern) { return pattern.accepts(scalar); });
}

/// One conjunction against one body.
class BodyMatch {
 public:
  BodyMatch(const FilterConjunction& conjunction, const json::Value& body)
      : conjunction_(conjunction), satisfied_by_absence_(conjunction.clauses.size()) {
    for (std::size_t i = 0; i < conjunction.clauses.size(); ++i) {
      const FilterClause& clause = conjunction.clauses[i];
      satisfied_by_absence_[i] = has_absent(clause) && !is_present(clause.path, {{}, &body});
    }
    Parts parts{{{}, &body}};
    passed_ = node_matches(0, parts);
  }
  [[nodiscard]] bool passed() const { return passed_; }

 private:
  // Recursion ends with the body's depth and the policy's: where there are no parts, only absence can satisfy.
  bool node_matches(std::uint32_t number, Parts& parts) const {
    const FilterConjunction::Node& node = conjunction_.nodes[number];
    if (parts.empty()) {
      return std::all_of(node.below.begin(), node.below.end(),
                         [&](std::uint32_t clause) { return satisfied_by_absence_[clause]; });
    }
    const auto is_array = [](const Part& part) { return part.is_array(); };
    if (std::any_of(parts.begin(), parts.end(), is_array)) {
      // One element stands for the array, for all clauses under it.
      Parts others;
      std::copy_if(parts.begin(), parts.end(), std::back_inserter(others), [&](const Part& part) { return !is_array(part); });
      bool any_element = false;
      Parts chosen;
      for (const Part& part : parts) {
        if (!is_array(part)) continue;
        for (const json::Value& item : part.value->items()) {
          any_element = true;
          chosen = others;
          chosen.push_back({{}, &item});
          if (node_matches(number, chosen)) return true;
        }
      }
      return !any_element && node_matches(number, others);
    }
    for (const std::uint32_t clause : node.clauses) {
      const bool passes = satisfied_by_absence_[clause] || std::any_of(parts.begin(), parts.end(), [&](const Part& part) {
        if (!part.is_here()) return false;
        const auto scalar = FilterScalar::of(*part.value);
        return scalar && accepts(conjunction_.clauses[clause], *scalar);
      });
      if (!passes) return false;
    }
    Parts inner;
    for (const std::uint32_t child : node.children) {
      inner.clear();
      for (const Part& part : parts) descend(part, conjunction_.nodes[child].key, inner);
      if (!node_matches(child, inner)) return false;
    }
    return true;
  }

  const FilterConjunction& conjunction_;
  std::vector<bool> satisfied_by_absence_;
  bool passed_ = false;
};

/// A clause against the attribute of its name; none: the message does not have it.
bool clause_matches(const FilterClause& clause, const FilterAttribute* attribute, std::vector<FilterScalar>& scalars) {
  scalars.clear();
  if (attribute != nullptr) attribute->scalars(scalars);
  if (scalars.empty()) return has_absent(clause);
  return std::any_of(scalars.begin(), scalars.end(), [&](const FilterScalar& scalar) { return accepts(clause, scalar); });
}

void collect_scalars(const json::Value& value, std::vector<FilterScalar>& out) {
  if (const auto scalar = FilterScalar::of(value)) out.push_back(*scalar);
  for (const json::Value& item : value.items()) collect_scalars(item, out);
}

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

void FilterAttribute::scalars(std::vector<FilterScalar>& out) const { collect_scalars(value, out); }

std::optional<FilterAttribute> FilterAttribute::of(const message::MessageAttribute& attribute) {
  if (attribute.is_binary()) return std::nullopt;
  if (attribute.type != "String.Array" && !attribute.type.starts_with("Number"))
    return FilterAttribute{false, json::Value::string(std::string{attribute.value})};
  auto parsed = json::parse(attribute.value);
  const bool fits = parsed && (attribute.type == "String.Array" ? parsed->is_array() : parsed->is_number());
  if (!fits) return FilterAttribute{true, {}};
  return FilterAttribute{false, std::move(*parsed)};
}

Result<FilterPolicy, FilterError> FilterPolicy::parse(std::string_view text, FilterScope scope) {
  auto conjunctions = parse_filter_conjunctions(text, scope);
  if (!conjunctions) return conjunctions.error();
  FilterPolicy policy;
  policy.scope_ = scope;
  policy.text_ = text;
  policy.conjunctions_ = std::move(*conjunctions);
  if (scope == FilterScope::MessageBody)
    for (FilterConjunction& conjunction : policy.conjunctions_) conjunction.build_tree();
  return policy;
}

FilterOutcome FilterPolicy::matches(std::span<const message::MessageAttribute> attributes, LazyBody& body) const {
  const auto outcome = [](bool passed, FilterOutcome otherwise) { return passed ? FilterOutcome::Passed : otherwise; };
  // `{}` asks for nothing, not even for a body that is JSON.
  if (conjunctions_.front().clauses.empty()) return FilterOutcome::Passed;
  if (scope_ == FilterScope::MessageBody) {
    const json::Value* object = body.object();
    if (object == nullptr) return FilterOutcome::InvalidMessageBody;
    const bool passed = std::any_of(conjunctions_.begin(), conjunctions_.end(), [&](const FilterConjunction& conjunction) {
      return BodyMatch(conjunction, *object).passed();
    });
    return outcome(passed, FilterOutcome::Mismatch);
  }
  // The attributes that the policy names, each read once.
  std::vector<std::pair<std::string_view, FilterAttribute>> read;
  for (const FilterConjunction& conjunction : conjunctions_) {
    for (const FilterClause& clause : conjunction.clauses) {
      if (std::any_of(read.begin(), read.end(), [&](const auto& one) { return one.first == clause.path; })) continue;
      const auto named =
          std::find_if(attributes.begin(), attributes.end(), [&](const auto& one) { return one.name == clause.path; });
      if (named == attributes.end()) continue;
      auto attribute = FilterAttribute::of(*named);
      if (!attribute) continue;
      if (attribute->invalid) return FilterOutcome::InvalidAttributes;
      read.emplace_back(named->name, std::move(*attribute));
    }
  }
  std::vector<FilterScalar> scalars;
  const bool passed = std::any_of(conjunctions_.begin(), conjunctions_.end(), [&](const FilterConjunction& conjunction) {
    return std::all_of(conjunction.clauses.begin(), conjunction.clauses.end(), [&](const FilterClause& clause) {
      const auto found = std::find_if(read.begin(), read.end(), [&](const auto& one) { return one.first == clause.path; });
      return clause_matches(clause, found == read.end() ? nullptr : &found->second, scalars);
    });
  });
  return outcome(passed, attributes.empty() ? FilterOutcome::NoMessageAttributes : FilterOutcome::Mismatch);
}

}  // namespace fanfare::topic
