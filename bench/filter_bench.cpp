// What filters cost a publication: 10,000 filtered subscriptions of which 10 match, against 10 that all match.
//
//   cmake --preset release -DFANFARE_BENCH=ON && cmake --build --preset release --target bench_filter
//   build/release/bench/bench_filter
//
// One line a workload: nanoseconds a publication for both, and their ratio.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "core/topic/filter_index.h"

namespace fanfare::topic {
namespace {

constexpr std::uint32_t kMany = 10'000;
constexpr std::uint32_t kMatching = 10;

/// The policy of a subscription: those up to kMatching match the message, the others do not.
using PolicyOf = std::function<std::string(std::uint32_t)>;

double nanoseconds_a_publication(const PolicyOf& policy_of, std::uint32_t count, FilterScope scope,
                                 std::span<const message::MessageAttribute> attributes, std::string_view text) {
  std::vector<FilterPolicy> policies;
  policies.reserve(count);
  FilterIndex index;
  for (std::uint32_t i = 0; i < count; ++i) {
    // The matching ones are spread over all.
    const std::uint32_t stride = count / kMatching;
    const std::uint32_t number = i % stride == 0 ? i / stride : kMatching + i;
    policies.push_back(*FilterPolicy::parse(policy_of(number), scope));
    index.add(i + 1, policies.back());
  }
  std::vector<std::uint32_t> passed;
  FilterTally tally;
  double best = 1e18;
  for (int round = 0; round < 7; ++round) {
    constexpr int kRepeats = 3'000;
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < kRepeats; ++i) {
      passed.clear();
      LazyBody body(text);
      index.match(attributes, body, passed, tally);
    }
    const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - begin;
    best = std::min(best, took.count() / kRepeats);
    if (passed.size() != kMatching) {
      fmt::print("wrong: {} passed\n", passed.size());
      std::exit(1);
    }
  }
  return best;
}

void run(std::string_view name, const PolicyOf& policy_of, FilterScope scope) {
  const std::vector<message::MessageAttribute> attributes = {
      {"kind", "String", "document.uploaded"}, {"tenant", "String", "tenant-0"}, {"price", "Number", "5"}};
  constexpr std::string_view body =
      R"({"kind":"document.uploaded","tenant":"tenant-0","price":5,"detail":{"path":"/in/0/report.pdf","ip":"10.0.0.9"}})";
  const double many = nanoseconds_a_publication(policy_of, kMany, scope, attributes, body);
  const double few = nanoseconds_a_publication(policy_of, kMatching, scope, attributes, body);
  fmt::print("{:<28} {:>9.0f} ns with {}  {:>9.0f} ns with {}  ratio {:.2f}\n", name, many, kMany, few, kMatching, many / few);
}

}  // namespace
}  // namespace fanfare::topic

int main() {
  using namespace fanfare::topic;
  const auto tenant = [](std::uint32_t i) { return i < kMatching ? 0 : i; };
  const auto scope = FilterScope::MessageAttributes;
  const auto body = FilterScope::MessageBody;
  run("exact", [&](auto i) { return fmt::format(R"({{"tenant":["tenant-{}"]}})", tenant(i)); }, scope);
  run("exact, shared second key",
      [&](auto i) { return fmt::format(R"({{"kind":["document.uploaded"],"tenant":["tenant-{}"]}})", tenant(i)); }, scope);
  run("numeric ranges",
      [&](auto i) { return fmt::format(R"({{"price":[{{"numeric":[">=",{},"<",{}]}}]}})", i < kMatching ? 1 : i, i + 20); }, scope);
  run("prefix in body", [&](auto i) { return fmt::format(R"({{"detail":{{"path":[{{"prefix":"/in/{}/"}}]}}}})", tenant(i)); }, body);
  run("anything-but beside exact",
      [&](auto i) { return fmt::format(R"({{"kind":[{{"anything-but":"x"}}],"tenant":["tenant-{}"]}})", tenant(i)); }, body);
  run("cidr in body",
      [&](auto i) { return fmt::format(R"({{"detail":{{"ip":[{{"cidr":"10.{}.{}.0/24"}}]}}}})", tenant(i) / 200, tenant(i) % 200); }, body);
  return 0;
}
