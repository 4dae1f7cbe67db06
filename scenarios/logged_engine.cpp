// An engine with its log in memory.
#include "logged_engine.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/engine/records.h"
#include "words.h"

namespace fanfare::scenarios {

using namespace engine;

namespace {

EngineOptions options_of(const Settings& settings) {
  EngineOptions options;
  options.frame = {16, 8};
  if (settings.in_flight_max) options.in_flight_max = *settings.in_flight_max;
  return options;
}

}  // namespace

LoggedEngine::LoggedEngine(const Settings& settings)
    : options_(options_of(settings)), engine_(options_), now_(kStart) {}

const Outputs& LoggedEngine::handle(const Input& input) {
  outputs_.clear();
  engine_.handle(input, now_, outputs_);
  for (const RecordSpan& span : outputs_.records) log_.emplace_back(span.position, std::string{outputs_.record(span)});
  return outputs_;
}

void LoggedEngine::advance_to(Timestamp time, const std::function<void(const Outputs&)>& each) {
  if (time < now_) wrong("time runs back");
  for (int i = 0; i < 100'000; ++i) {
    const auto next = engine_.next_deadline();
    if (!next || *next > time) break;
    now_ = std::max(now_, *next);
    each(handle(DeadlineCame{}));
    const std::vector<LogPosition> wanted = engine_.wanted_contents();
    std::vector<ContentsRead::Content> contents;
    for (const LogPosition position : wanted) contents.push_back({position, record(position)});
    if (!wanted.empty()) each(handle(ContentsRead{contents}));
  }
  now_ = time;
}

const std::string& LoggedEngine::record(LogPosition position) const {
  const auto found = std::ranges::find(log_, position, &std::pair<LogPosition, std::string>::first);
  if (found == log_.end()) wrong("the engine asks for a record that was never written");
  return found->second;
}

std::string LoggedEngine::restart(bool lose_receives) {
  ++options_.epoch;
  const LogPosition end = engine_.log_end();
  if (lose_receives) {
    std::erase_if(log_, [](const auto& record) { return record.second[1] == static_cast<char>(RecordKind::Received); });
  }
  engine_ = Engine{options_};
  for (const auto& [position, record] : log_)
    if (!engine_.replay(record, position)) return "Damaged";
  engine_.start(end, now_);
  std::vector<std::string> sections;
  engine_.snapshot([&](std::string_view section) { sections.emplace_back(section); });
  std::size_t next = 0;
  auto loaded = Engine::load(options_, [&]() -> std::optional<std::string> {
    if (next == sections.size()) return std::nullopt;
    return sections[next++];
  });
  if (!loaded) return "snapshot cannot be read";
  if (loaded->debug_state() != engine_.debug_state()) return "snapshot differs";
  engine_ = std::move(*loaded);
  engine_.start(end, now_);
  return "ok";
}

Answer metrics_of(const Engine& engine, const std::string& name) {
  class Visitor final : public MetricsVisitor {
   public:
    explicit Visitor(const std::string& wanted) : wanted_(wanted) {}
    void queue(const QueueKey& key, const MessageCounts&, std::optional<Timestamp>, const QueueCounters& c) override {
      if (key.name.str() != wanted_) return;
      text = fmt::format("sent={} received={} empty={} deleted={} expired={} purged={} dead_lettered={}", c.sent,
                         c.received, c.empty_receives, c.deleted, c.expired, c.purged, c.dead_lettered);
    }
    void topic(const TopicKey& key, const TopicCounters& c) override {
      if (key.name.str() != wanted_) return;
      text =
          fmt::format("published={} delivered={} filtered={} failed={} redriven={}", c.published, c.delivered,
                      c.filtered + c.filtered_no_attributes + c.filtered_invalid_attributes + c.filtered_invalid_body,
                      c.failed, c.redriven);
    }
    std::string text = "unknown";

   private:
    const std::string& wanted_;
  };
  Visitor visitor(name);
  engine.visit_metrics(visitor);
  return {visitor.text, {}};
}

}  // namespace fanfare::scenarios
