// Filter policies against the same language written naively, and the index against asking every policy.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "core/topic/filter_index.h"
#include "core/topic/filter_test_support.h"

namespace fanfare::topic {
namespace {

using namespace testing;

Choices choices_of(std::size_t count) {
  return Choices{*rc::gen::container<std::vector<std::uint16_t>>(count, rc::gen::arbitrary<std::uint16_t>())};
}

RC_GTEST_PROP(FilterPolicy, DecidesAboutBodiesAsTheNaiveLanguage, ()) {
  Choices choices = choices_of(160);
  const Value policy = policy_object(choices, true, 1);
  const Value body = body_object(choices, 0);
  const std::string policy_text = policy.to_string();
  const std::string body_text = body.to_string();
  const auto parsed = FilterPolicy::parse(policy_text, FilterScope::MessageBody);
  if (!parsed) RC_ASSERT(parsed.error().kind == FilterError::Kind::TooComplex);
  RC_PRE(parsed.has_value());
  LazyBody lazy(body_text);
  const bool passed = parsed->matches({}, lazy) == FilterOutcome::Passed;
  RC_TAG(passed);
  RC_LOG() << policy_text << "\n" << body_text << "\n";
  RC_ASSERT(passed == naive_passes(policy, fields_of(body)));
}

RC_GTEST_PROP(FilterPolicy, DecidesAboutAttributesAsTheNaiveLanguage, ()) {
  Choices choices = choices_of(100);
  const Value policy = policy_object(choices, false, 1);
  const Attributes attributes = attributes_of(choices);
  const auto parsed = FilterPolicy::parse(policy.to_string(), FilterScope::MessageAttributes);
  RC_ASSERT(parsed.has_value());
  LazyBody lazy("");
  const auto outcome = parsed->matches(attributes.views(), lazy);
  const auto fields = fields_of(attributes, policy);
  RC_LOG() << policy.to_string() << "\n";
  RC_ASSERT((outcome == FilterOutcome::InvalidAttributes) == !fields.has_value());
  if (fields) RC_ASSERT((outcome == FilterOutcome::Passed) == naive_passes(policy, *fields));
}

RC_GTEST_PROP(FilterIndex, AnswersAsAskingEveryPolicy, ()) {
  Choices choices = choices_of(900);
  std::map<std::uint32_t, FilterPolicy> policies;
  FilterIndex index;
  std::uint32_t next = 1;
  const std::size_t rounds = 1 + choices.below(6);
  for (std::size_t round = 0; round < rounds; ++round) {
    const std::size_t additions = choices.below(12);
    for (std::size_t i = 0; i < additions; ++i) {
      const bool nested = choices.below(2) == 0;
      auto policy = FilterPolicy::parse(policy_object(choices, nested, 1).to_string(),
                                        nested ? FilterScope::MessageBody : FilterScope::MessageAttributes);
      if (!policy) continue;
      const auto [place, fresh] = policies.emplace(next++, std::move(*policy));
      index.add(place->first, place->second);
    }
    if (choices.below(4) == 0) {
      const auto [place, fresh] = policies.emplace(next++, *FilterPolicy::parse("{}", FilterScope::MessageBody));
      index.add(place->first, place->second);
    }
    const std::size_t removals = choices.below(5);
    for (std::size_t i = 0; i < removals && !policies.empty(); ++i) {
      auto victim = policies.begin();
      std::advance(victim, choices.below(policies.size()));
      index.remove(victim->first);
      policies.erase(victim);
    }
    const Attributes attributes = attributes_of(choices);
    const auto views = attributes.views();
    const std::string body_text = choices.below(8) == 0 ? "no JSON" : body_object(choices, 0).to_string();
    LazyBody body(body_text);
    std::vector<std::uint32_t> passed;
    FilterTally tally;
    index.match(views, body, passed, tally);

    std::vector<std::uint32_t> expected;
    FilterTally expected_tally;
    for (const auto& [subscription, policy] : policies) {
      switch (policy.matches(views, body)) {
        case FilterOutcome::Passed: expected.push_back(subscription); break;
        case FilterOutcome::NoMessageAttributes: ++expected_tally.no_attributes; break;
        case FilterOutcome::InvalidAttributes: ++expected_tally.invalid_attributes; break;
        case FilterOutcome::InvalidMessageBody: ++expected_tally.invalid_body; break;
        case FilterOutcome::Mismatch: ++expected_tally.mismatch; break;
      }
    }
    RC_ASSERT(passed == expected);
    RC_ASSERT(tally == expected_tally);
    RC_ASSERT(index.size() == policies.size());
  }
}

}  // namespace
}  // namespace fanfare::topic
