// The registry against a model that compares every subscription with every event.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/rng.h"
#include "core/live/pubsub.h"
#include "wire/json/value.h"

namespace fanfare::live {
namespace {

struct ModelSubscription {
  std::set<std::string> triggers;
  std::vector<std::pair<std::string, std::string>> terms;  ///< path and kind-tagged value: "t:x", "n:1", "b:true"
  std::vector<std::string> expected;
};

/// What a payload member looks like to a term of each kind, written without the registry's code.
bool equal_by_value(const wire::json::Value* member, const std::string& wanted) {
  if (member == nullptr) return false;
  const std::string_view value = std::string_view{wanted}.substr(2);
  switch (wanted[0]) {
    case 't':
      if (const auto text = member->as_string()) return *text == value;
      if (const auto number = member->number_text())
        return number->find('.') == std::string_view::npos && *number == value;
      return false;
    case 'n': return member->is_number() && member->as_double() == std::stod(std::string{value});
    default: return member->as_bool() && *member->as_bool() == (value == "true");
  }
}

MatchValue match_value(const std::string& tagged) {
  const std::string value = tagged.substr(2);
  switch (tagged[0]) {
    case 't': return MatchValue::text(value);
    case 'n':
      return value.find('.') == std::string::npos ? MatchValue::number(std::int64_t{std::stoll(value)})
                                                  : MatchValue::number(std::stod(value));
    default: return MatchValue::boolean(value == "true");
  }
}

RC_GTEST_PROP(PubSub, MatchingEqualsBruteForce, (std::uint64_t seed)) {
  Rng rng{seed};
  const std::vector<std::string> triggers{"a", "b", "c"};
  const std::vector<std::string> paths{"x", "y", "z.w"};
  const std::vector<std::string> values{"t:1", "t:2", "t:one", "n:1", "n:2", "n:1.5", "b:true", "b:false"};
  const std::vector<std::string> members{"1", "2", "\"1\"", "\"one\"", "1.5", "1.0", "true", "false", "null", "[]"};
  PubSub pubsub;
  std::map<SubscriptionId, ModelSubscription> model;
  const auto pick = [&](const std::vector<std::string>& from) { return from[rng.below(from.size())]; };

  for (int step = 0; step < 120; ++step) {
    const std::uint64_t what = rng.below(10);
    if (what < 4) {
      ModelSubscription subscription;
      std::vector<Trigger> names;
      for (std::uint64_t i = 0, n = 1 + rng.below(2); i < n; ++i) {
        names.emplace_back(pick(triggers));
        subscription.triggers.insert(names.back().str());
      }
      Filter filter;
      for (std::uint64_t i = 0, n = rng.below(4); i < n; ++i) {
        subscription.terms.emplace_back(pick(paths), pick(values));
        filter.terms.push_back({subscription.terms.back().first, match_value(subscription.terms.back().second)});
      }
      const auto id = pubsub.subscribe(names, filter);
      RC_ASSERT(id.has_value());
      RC_ASSERT(model.emplace(*id, std::move(subscription)).second);
    } else if (what < 6 && !model.empty()) {
      auto victim = model.begin();
      std::advance(victim, static_cast<std::ptrdiff_t>(rng.below(model.size())));
      RC_ASSERT(pubsub.unsubscribe(victim->first));
      model.erase(victim);
    } else {
      std::string payload = "{";
      if (rng.chance(3, 4)) payload += "\"x\":" + pick(members) + ",";
      if (rng.chance(3, 4)) payload += "\"y\":" + pick(members) + ",";
      payload += "\"z\":{\"w\":" + pick(members) + "},\"step\":" + std::to_string(step) + "}";
      const std::string trigger = pick(triggers);
      const auto parsed = wire::json::parse(payload);
      RC_ASSERT(parsed.has_value());
      std::vector<SubscriptionId> expected;
      for (auto& [id, subscription] : model) {
        if (!subscription.triggers.contains(trigger)) continue;
        const bool all = std::all_of(subscription.terms.begin(), subscription.terms.end(), [&](const auto& term) {
          const wire::json::Value* member =
              term.first == "z.w" ? parsed->find("z")->find("w") : parsed->find(term.first);
          return equal_by_value(member, term.second);
        });
        if (!all) continue;
        expected.push_back(id);
        subscription.expected.push_back(payload);
      }
      const Published published =
          pubsub.publish(std::make_shared<const Event>(Event{Trigger{trigger}, payload, EventId{}}), Timestamp{});
      std::vector<SubscriptionId> got;
      for (const Match& match : published.matches) got.push_back(match.subscription);
      std::sort(got.begin(), got.end());
      RC_ASSERT(got == expected);
    }
  }
  RC_ASSERT(pubsub.subscriptions() == model.size());
  for (auto& [id, subscription] : model) {
    std::vector<std::string> got;
    for (const auto& event : pubsub.take(id).events) got.push_back(event->payload);
    RC_ASSERT(got == subscription.expected);
    RC_ASSERT(pubsub.unsubscribe(id));
  }
  for (const std::string& trigger : triggers) RC_ASSERT(pubsub.listeners(Trigger{trigger}) == 0u);
}

}  // namespace
}  // namespace fanfare::live
