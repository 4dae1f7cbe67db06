#include "core/topic/filter_index.h"

#include <algorithm>

#include "base/assert.h"

namespace fanfare::topic {
namespace json = wire::json;
namespace {

using Slot = std::uint32_t;
using Slots = std::vector<Slot>;
using Kind = FilterPattern::Kind;

struct TextHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
};
template <class Value>
using ByText = std::unordered_map<std::string, Value, TextHash, std::equal_to<>>;

void take_out(Slots& slots, Slot slot) {
  const auto place = std::find(slots.begin(), slots.end(), slot);
  FANFARE_ASSERT(place != slots.end(), "a subscription that does not wait where it was put");
  *place = slots.back();
  slots.pop_back();
}

/// Who waits under texts of several lengths: the beginnings, ends or address prefixes that occur.
template <class Length>
struct ByLength {
  std::map<Length, std::size_t> lengths;  ///< how many entries have it
  ByText<Slots> entries;

  [[nodiscard]] std::size_t waiting(std::string_view text) const {
    const auto found = entries.find(text);
    return found == entries.end() ? 0 : found->second.size();
  }
  void add(Length length, std::string_view text, Slot slot) {
    ++lengths[length];
    const auto found = entries.find(text);
    (found != entries.end() ? found->second : entries[std::string{text}]).push_back(slot);
  }
  void remove(Length length, std::string_view text, Slot slot) {
    const auto found = entries.find(text);
    FANFARE_ASSERT(found != entries.end());
    take_out(found->second, slot);
    if (found->second.empty()) entries.erase(found);
    if (--lengths[length] == 0) lengths.erase(length);
  }
};

/// All that is known of one field: who waits under which of its values.
struct Field {
  std::string path;
  std::size_t users = 0;  ///< clauses at this path or below it
  ByText<Slots> strings;
  ByText<Slots> lower_case_strings;
  std::unordered_map<double, Slots> numbers;
  Slots truths, falsehoods, nulls;
  ByLength<std::size_t> prefixes;
  ByLength<std::size_t> suffixes;
  ByLength<std::pair<bool, std::uint8_t>> addresses;  ///< IPv6?, bits; entries are the address' first bits, all 16 bytes
  IntervalTree ranges;
  Slots present;
  Slots absent;
  std::uint64_t touched = 0;  ///< the publication that last had a value here
};

std::string address_key(bool v6, std::uint8_t bits, const std::array<std::uint8_t, 16>& bytes) {
  std::string key{v6 ? '6' : '4', static_cast<char>(bits)};
  key.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return key;
}

std::size_t waiting(const ByText<Slots>& entries, std::string_view text) {
  const auto found = entries.find(text);
  return found == entries.end() ? 0 : found->second.size();
}

}  // namespace

class FilterIndex::Impl {
 public:
  void add(std::uint32_t subscription, const FilterPolicy& policy) {
    Slot slot = 0;
    if (free_.empty()) {
      slot = static_cast<Slot>(entries_.size());
      entries_.emplace_back();
    } else {
      slot = free_.back();
      free_.pop_back();
    }
    const bool fresh = slots_.emplace(subscription, slot).second;
    FANFARE_ASSERT(fresh, "a subscription is in the index once");
    Entry& entry = entries_[slot];
    entry = {subscription, &policy, {}, 0, 0};
    Scope& scope = scope_of(policy);
    ++scope.subscriptions;
    for (const FilterConjunction& conjunction : policy.conjunctions()) {
      if (conjunction.clauses.empty()) {
        scope.always.push_back(slot);
        entry.chosen.push_back(0);
        continue;
      }
      const std::size_t chosen = cheapest(scope, conjunction);
      entry.chosen.push_back(static_cast<std::uint32_t>(chosen));
      const FilterClause& clause = conjunction.clauses[chosen];
      Field& field = use(scope, clause.path);
      for (const FilterPattern& pattern : clause.any) wait<true>(scope, field, pattern, slot);
    }
    for_each_name(policy, [&](const std::string& name) { scope.named[name].push_back(slot); });
  }

  void remove(std::uint32_t subscription) {
    const auto found = slots_.find(subscription);
    if (found == slots_.end()) return;
    const Slot slot = found->second;
    slots_.erase(found);
    Entry& entry = entries_[slot];
    const FilterPolicy& policy = *entry.policy;
    Scope& scope = scope_of(policy);
    --scope.subscriptions;
    for (std::size_t i = 0; i < policy.conjunctions().size(); ++i) {
      const FilterConjunction& conjunction = policy.conjunctions()[i];
      if (conjunction.clauses.empty()) {
        take_out(scope.always, slot);
        continue;
      }
      const FilterClause& clause = conjunction.clauses[entry.chosen[i]];
      Field& field = *scope.fields.find(clause.path)->second;
      for (const FilterPattern& pattern : clause.any) wait<false>(scope, field, pattern, slot);
      leave(scope, clause.path);
    }
    for_each_name(policy, [&](const std::string& name) {
      const auto named = scope.named.find(name);
      take_out(named->second, slot);
      if (named->second.empty()) scope.named.erase(named);
    });
    entry = {};
    free_.push_back(slot);
  }

  [[nodiscard]] std::size_t size() const { return slots_.size(); }
  [[nodiscard]] std::size_t asked() const { return asked_; }

  void match(std::span<const message::MessageAttribute> attributes, LazyBody& body, std::vector<std::uint32_t>& passed,
             FilterTally& tally) {
    ++publication_;
    asked_ = 0;
    const std::size_t before = passed.size();
    if (attributes_.subscriptions > 0) match_attributes(attributes, body, passed, tally);
    if (body_.subscriptions > 0) match_body(attributes, body, passed, tally);
    std::sort(passed.begin() + static_cast<std::ptrdiff_t>(before), passed.end());
  }

 private:
  struct Entry {
    std::uint32_t subscription = 0;
    const FilterPolicy* policy = nullptr;
    std::vector<std::uint32_t> chosen;  ///< for each conjunction the clause that it waits under
    std::uint64_t seen = 0;             ///< the publication that last made it a candidate
    std::uint64_t invalid = 0;          ///< the publication that last had an unreadable attribute of its policy
  };
  struct Scope {
    ByText<std::unique_ptr<Field>> fields;  ///< by path; in bodies every beginning of a path is there, too
    ByText<Slots> named;                    ///< scope MessageAttributes: who names the attribute at all
    std::vector<Field*> with_absent;        ///< fields where somebody waits for absence
    Slots always;                           ///< the policy {}
    std::size_t subscriptions = 0;
  };

  Scope& scope_of(const FilterPolicy& policy) {
    return policy.scope() == FilterScope::MessageBody ? body_ : attributes_;
  }

  template <class Visit>
  static void for_each_name(const FilterPolicy& policy, Visit&& visit) {
    if (policy.scope() != FilterScope::MessageAttributes) return;
    std::vector<std::string_view> seen;
    for (const FilterConjunction& conjunction : policy.conjunctions()) {
      for (const FilterClause& clause : conjunction.clauses) {
        if (std::find(seen.begin(), seen.end(), clause.path) != seen.end()) continue;
        seen.push_back(clause.path);
        visit(clause.path);
      }
    }
  }

  /// Every place where a walk through a message has to go on: the ends of the path's segments, and the path.
  template <class Visit>
  void for_each_beginning(const Scope& scope, std::string_view path, Visit&& visit) const {
    if (&scope == &body_)
      for (std::size_t dot = path.find('.'); dot != std::string_view::npos; dot = path.find('.', dot + 1))
        visit(path.substr(0, dot));
    visit(path);
  }

  Field& use(Scope& scope, std::string_view path) {
    for_each_beginning(scope, path, [&](std::string_view beginning) {
      auto found = scope.fields.find(beginning);
      if (found == scope.fields.end()) {
        found = scope.fields.emplace(std::string{beginning}, std::make_unique<Field>()).first;
        found->second->path = beginning;
      }
      ++found->second->users;
    });
    return *scope.fields.find(path)->second;
  }
  void leave(Scope& scope, std::string_view path) {
    for_each_beginning(scope, path, [&](std::string_view beginning) {
      const auto found = scope.fields.find(beginning);
      if (--found->second->users == 0) scope.fields.erase(found);
    });
  }

  /// How many candidates a publication with one of the pattern's values would meet here, roughly.
  static std::size_t crowd(const Field* field, const FilterPattern& pattern) {
    constexpr std::size_t kUnselective = 1'000;
    switch (pattern.kind) {
      case Kind::AnythingBut:
      case Kind::Exists: return kUnselective + (field == nullptr ? 0 : field->present.size());
      case Kind::Absent: return kUnselective + (field == nullptr ? 0 : field->absent.size());
      case Kind::Range: return 2 + (field == nullptr ? 0 : field->ranges.size() / 2);
      default: break;
    }
    if (field == nullptr) return 1;
    switch (pattern.kind) {
      case Kind::String: return 1 + waiting(field->strings, pattern.text);
      case Kind::EqualsIgnoreCase: return 1 + waiting(field->lower_case_strings, pattern.text);
      case Kind::Number: {
        const auto found = field->numbers.find(pattern.low);
        return 1 + (found == field->numbers.end() ? 0 : found->second.size());
      }
      case Kind::True: return 2 + field->truths.size();
      case Kind::False: return 2 + field->falsehoods.size();
      case Kind::Null: return 2 + field->nulls.size();
      case Kind::Prefix: return 2 + field->prefixes.waiting(pattern.text);
      case Kind::Suffix: return 2 + field->suffixes.waiting(pattern.text);
      case Kind::Cidr: return 2 + field->addresses.entries.size() / 16;
      default: return 4 + field->present.size();
    }
  }

  static std::size_t cheapest(const Scope& scope, const FilterConjunction& conjunction) {
    std::size_t best = 0;
    std::size_t best_crowd = ~std::size_t{0};
    for (std::size_t i = 0; i < conjunction.clauses.size(); ++i) {
      const FilterClause& clause = conjunction.clauses[i];
      const auto found = scope.fields.find(clause.path);
      const Field* field = found == scope.fields.end() ? nullptr : found->second.get();
      std::size_t all = 0;
      for (const FilterPattern& pattern : clause.any) all += crowd(field, pattern);
      if (all < best_crowd) {
        best_crowd = all;
        best = i;
      }
    }
    return best;
  }

  template <bool in, class Entries, class Key>
  static void wait_under(Entries& entries, const Key& key, Slot slot) {
    if constexpr (in) {
      entries[key].push_back(slot);
    } else {
      const auto found = entries.find(key);
      take_out(found->second, slot);
      if (found->second.empty()) entries.erase(found);
    }
  }
  template <bool in>
  static void wait_in(Slots& slots, Slot slot) {
    if constexpr (in) {
      slots.push_back(slot);
    } else {
      take_out(slots, slot);
    }
  }
  template <bool in, class Lengths, class Length>
  static void wait_by_length(Lengths& lengths, Length length, std::string_view text, Slot slot) {
    if constexpr (in) {
      lengths.add(length, text, slot);
    } else {
      lengths.remove(length, text, slot);
    }
  }

  /// Puts a subscription under a pattern of a field, or takes it out.
  template <bool in>
  static void wait(Scope& scope, Field& field, const FilterPattern& pattern, Slot slot) {
    switch (pattern.kind) {
      case Kind::String: return wait_under<in>(field.strings, pattern.text, slot);
      case Kind::EqualsIgnoreCase: return wait_under<in>(field.lower_case_strings, pattern.text, slot);
      case Kind::Number: return wait_under<in>(field.numbers, pattern.low, slot);
      case Kind::True: return wait_in<in>(field.truths, slot);
      case Kind::False: return wait_in<in>(field.falsehoods, slot);
      case Kind::Null: return wait_in<in>(field.nulls, slot);
      case Kind::Prefix: return wait_by_length<in>(field.prefixes, pattern.text.size(), pattern.text, slot);
      case Kind::Suffix: return wait_by_length<in>(field.suffixes, pattern.text.size(), pattern.text, slot);
      case Kind::Wildcard: {
        const std::string& first = pattern.literals.front();
        const std::string& last = pattern.literals.back();
        if (!first.empty()) return wait_by_length<in>(field.prefixes, first.size(), first, slot);
        if (!last.empty()) return wait_by_length<in>(field.suffixes, last.size(), last, slot);
        return wait_in<in>(field.present, slot);
      }
      case Kind::Range: {
        const Interval interval{pattern.low, pattern.high, pattern.low_open, pattern.high_open};
        if constexpr (in) {
          field.ranges.insert(interval, slot);
        } else {
          field.ranges.erase(interval, slot);
        }
        return;
      }
      case Kind::Cidr: {
        const IpRange& range = pattern.range;
        const std::string key = address_key(range.v6, range.bits, range.prefix(range.bits));
        return wait_by_length<in>(field.addresses, std::pair{range.v6, range.bits}, key, slot);
      }
      case Kind::Exists:
      case Kind::AnythingBut: return wait_in<in>(field.present, slot);
      case Kind::Absent:
        if (in && field.absent.empty()) scope.with_absent.push_back(&field);
        wait_in<in>(field.absent, slot);
        if (!in && field.absent.empty()) std::erase(scope.with_absent, &field);
        return;
    }
  }

  void consider(const Slots& slots) {
    for (const Slot slot : slots) consider(slot);
  }
  void consider(Slot slot) {
    Entry& entry = entries_[slot];
    if (entry.seen == publication_) return;
    entry.seen = publication_;
    candidates_.push_back(slot);
  }
  void consider(const ByText<Slots>& entries, std::string_view text) {
    if (entries.empty()) return;
    if (const auto found = entries.find(text); found != entries.end()) consider(found->second);
  }

  /// A message has this value at the field: who waits under it?
  void visit(Field& field, const FilterScalar& scalar) {
    field.touched = publication_;
    consider(field.present);
    switch (scalar.kind) {
      case FilterScalar::Kind::True: return consider(field.truths);
      case FilterScalar::Kind::False: return consider(field.falsehoods);
      case FilterScalar::Kind::Null: return consider(field.nulls);
      case FilterScalar::Kind::Number:
        if (const auto found = field.numbers.find(scalar.number); found != field.numbers.end()) consider(found->second);
        return field.ranges.for_each_containing(scalar.number, [&](Slot slot) { consider(slot); });
      case FilterScalar::Kind::String: break;
    }
    const std::string_view text = scalar.text;
    consider(field.strings, text);
    if (!field.lower_case_strings.empty()) consider(field.lower_case_strings, lower_case(text));
    for (const auto& [length, count] : field.prefixes.lengths) {
      if (length > text.size()) break;
      consider(field.prefixes.entries, text.substr(0, length));
    }
    for (const auto& [length, count] : field.suffixes.lengths) {
      if (length > text.size()) break;
      consider(field.suffixes.entries, text.substr(text.size() - length));
    }
    if (field.addresses.lengths.empty()) return;
    const auto address = IpRange::parse_address(text);
    if (!address) return;
    for (const auto& [length, count] : field.addresses.lengths) {
      const auto& [v6, bits] = length;
      if (v6 == address->v6) consider(field.addresses.entries, address_key(v6, bits, address->prefix(bits)));
    }
  }

  void consider_absent(const Scope& scope) {
    for (const Field* field : scope.with_absent)
      if (field->touched != publication_) consider(field->absent);
    consider(scope.always);
  }

  /// Asks the candidates; the number that passed.
  std::uint64_t ask(std::span<const message::MessageAttribute> attributes, LazyBody& body, std::vector<std::uint32_t>& passed) {
    std::uint64_t count = 0;
    for (const Slot slot : candidates_) {
      const Entry& entry = entries_[slot];
      if (entry.invalid == publication_) continue;
      ++asked_;
      if (entry.policy->matches(attributes, body) != FilterOutcome::Passed) continue;
      passed.push_back(entry.subscription);
      ++count;
    }
    return count;
  }

  void match_attributes(std::span<const message::MessageAttribute> attributes, LazyBody& body,
                        std::vector<std::uint32_t>& passed, FilterTally& tally) {
    candidates_.clear();
    std::uint64_t invalid = 0;
    for (const message::MessageAttribute& attribute : attributes) {
      const auto named = attributes_.named.find(attribute.name);
      if (named == attributes_.named.end()) continue;
      const auto value = FilterAttribute::of(attribute);
      if (!value) continue;
      if (value->invalid) {
        for (const Slot slot : named->second) {
          if (entries_[slot].invalid == publication_) continue;
          entries_[slot].invalid = publication_;
          ++invalid;
        }
        continue;
      }
      const auto field = attributes_.fields.find(attribute.name);
      if (field == attributes_.fields.end()) continue;
      scalars_.clear();
      value->scalars(scalars_);
      for (const FilterScalar& scalar : scalars_) visit(*field->second, scalar);
    }
    consider_absent(attributes_);
    const std::uint64_t matched = ask(attributes, body, passed);
    tally.invalid_attributes += invalid;
    (attributes.empty() ? tally.no_attributes : tally.mismatch) += attributes_.subscriptions - matched - invalid;
  }

  void match_body(std::span<const message::MessageAttribute> attributes, LazyBody& body,
                  std::vector<std::uint32_t>& passed, FilterTally& tally) {
    candidates_.clear();
    const json::Value* object = body.object();
    if (object != nullptr) {
      path_.clear();
      walk(*object, true);
      consider_absent(body_);
    } else {
      consider(body_.always);
    }
    const std::uint64_t matched = ask(attributes, body, passed);
    (object == nullptr ? tally.invalid_body : tally.mismatch) += body_.subscriptions - matched;
  }

  /// Visits what stands at paths that somebody knows. Recursion ends with the body's depth.
  void walk(const json::Value& object, bool top) {
    const std::size_t length = path_.size();
    for (const json::Member& member : object.members()) {
      path_.resize(length);
      if (!top) path_ += '.';
      path_ += member.key;
      const auto field = body_.fields.find(path_);
      if (field != body_.fields.end()) enter(*field->second, member.value);
    }
    path_.resize(length);
  }
  void enter(Field& field, const json::Value& value) {
    if (const auto scalar = FilterScalar::of(value)) return visit(field, *scalar);
    if (value.is_object()) return walk(value, false);
    for (const json::Value& item : value.items()) enter(field, item);
  }

  std::vector<Entry> entries_;
  std::vector<Slot> free_;
  std::unordered_map<std::uint32_t, Slot> slots_;
  Scope attributes_;
  Scope body_;

  // Kept between publications for their memory.
  std::uint64_t publication_ = 0;
  std::vector<Slot> candidates_;
  std::vector<FilterScalar> scalars_;
  std::string path_;
  std::size_t asked_ = 0;
};

FilterIndex::FilterIndex() : impl_(std::make_unique<Impl>()) {}
FilterIndex::FilterIndex(FilterIndex&&) noexcept = default;
FilterIndex& FilterIndex::operator=(FilterIndex&&) noexcept = default;
FilterIndex::~FilterIndex() = default;

void FilterIndex::add(std::uint32_t subscription, const FilterPolicy& policy) { impl_->add(subscription, policy); }
void FilterIndex::remove(std::uint32_t subscription) { impl_->remove(subscription); }
std::size_t FilterIndex::size() const { return impl_->size(); }
void FilterIndex::match(std::span<const message::MessageAttribute> attributes, LazyBody& body,
                        std::vector<std::uint32_t>& passed, FilterTally& tally) {
  impl_->match(attributes, body, passed, tally);
}
std::size_t FilterIndex::asked() const { return impl_->asked(); }

}  // namespace fanfare::topic
