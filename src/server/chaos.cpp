#include "server/chaos.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/arn.h"
#include "server/metrics.h"
#include "wire/json/value.h"
#include "wire/json/writer.h"

namespace fanfare::server {
namespace {

constexpr std::array<std::string_view, kFaults> kTexts{"duplicate", "reorder",       "delay",
                                                       "throttle",  "lose-response", "receive-empty"};
constexpr std::uint32_t kAlways = 1'000'000;
constexpr std::uint32_t kUnlessSaid = kAlways / 2;
constexpr std::int64_t kDelayMax = queue::DeliveryDelay::kMax;
constexpr std::int64_t kHeldBackToReorder = 1;
constexpr std::string_view kAccepted =
    "accepted are duplicate, reorder, throttle, lose-response, receive-empty with a share such as 5% or 0.25%, and "
    "delay with seconds such as 2s or 0..2s, joined by commas; or none";

/// "5%", "0.25%": per million; nullopt for anything else.
std::optional<std::uint32_t> parse_share(std::string_view text) {
  if (!text.ends_with('%')) return std::nullopt;
  text.remove_suffix(1);
  const std::size_t point = text.find('.');
  const std::string_view whole = text.substr(0, point);
  std::string decimals(point == std::string_view::npos ? std::string_view() : text.substr(point + 1));
  if (whole.empty() || whole.size() > 3 || decimals.size() > 4 || (point != std::string_view::npos && decimals.empty()))
    return std::nullopt;
  decimals.resize(4, '0');
  std::uint32_t share = 0;
  for (const char c : std::string(whole) + decimals) {
    if (c < '0' || c > '9') return std::nullopt;
    share = share * 10 + static_cast<std::uint32_t>(c - '0');
  }
  return share <= kAlways ? std::optional(share) : std::nullopt;
}

std::optional<std::int64_t> parse_seconds(std::string_view text) {
  std::int64_t seconds = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (error != std::errc() || end != text.data() + text.size() || seconds < 0 || seconds > kDelayMax) return std::nullopt;
  return seconds;
}

/// "2s" or "0..2s"
bool parse_delay(std::string_view text, FaultPlan& plan) {
  if (!text.ends_with('s')) return false;
  text.remove_suffix(1);
  const std::size_t dots = text.find("..");
  const auto low = parse_seconds(text.substr(0, dots));
  const auto high = dots == std::string_view::npos ? low : parse_seconds(text.substr(dots + 2));
  if (!low || !high || *low > *high) return false;
  plan.delay_min_seconds = *low;
  plan.delay_max_seconds = *high;
  return true;
}

/// The queue of a request on messages; nullptr for any other request.
const queue::QueueKeyView* queue_of(const engine::Request& request) {
  return std::visit(
      []<class T>(const T& command) -> const queue::QueueKeyView* {
        if constexpr (std::is_same_v<T, engine::SendMessage> || std::is_same_v<T, engine::SendMessageBatch> ||
                      std::is_same_v<T, engine::ReceiveMessages> || std::is_same_v<T, engine::DeleteMessage> ||
                      std::is_same_v<T, engine::DeleteMessageBatch> || std::is_same_v<T, engine::ChangeVisibility> ||
                      std::is_same_v<T, engine::ChangeVisibilityBatch>) {
          return &command.queue;
        } else {
          return nullptr;
        }
      },
      request);
}

/// FNV-1a: the same on every machine, unlike std::hash.
std::uint64_t hash_of(std::string_view text) {
  std::uint64_t hash = 0xcbf2'9ce4'8422'2325;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x0000'0100'0000'01b3;
  return hash;
}

}  // namespace

std::string_view text_of(Fault fault) { return kTexts[static_cast<std::size_t>(fault)]; }

Result<FaultPlan, std::string> FaultPlan::parse(std::string_view text) {
  FaultPlan plan;
  if (text.empty() || text == "none") return plan;
  while (true) {
    const std::size_t comma = text.find(',');
    const std::string_view part = text.substr(0, comma);
    const std::size_t equals = part.find('=');
    const auto known = std::ranges::find(kTexts, part.substr(0, equals));
    const auto refuse = [&] { return fmt::format("'{}': {}", part, kAccepted); };
    if (known == kTexts.end()) return refuse();
    std::uint32_t& share = plan.per_million[static_cast<std::size_t>(known - kTexts.begin())];
    if (*known == text_of(Fault::Delay)) {
      if (equals == std::string_view::npos || !parse_delay(part.substr(equals + 1), plan)) return refuse();
      share = plan.delay_max_seconds > 0 ? kAlways : 0;
    } else if (equals == std::string_view::npos) {
      share = kUnlessSaid;
    } else {
      const auto given = parse_share(part.substr(equals + 1));
      if (!given) return refuse();
      share = *given;
    }
    if (comma == std::string_view::npos) return plan;
    text.remove_prefix(comma + 1);
  }
}

std::string FaultPlan::str() const {
  std::string text;
  for (std::size_t i = 0; i < kFaults; ++i) {
    if (per_million[i] == 0) continue;
    if (!text.empty()) text += ',';
    text += kTexts[i];
    if (static_cast<Fault>(i) == Fault::Delay) {
      text += fmt::format("={}..{}s", delay_min_seconds, delay_max_seconds);
      continue;
    }
    const std::uint32_t decimals = per_million[i] % 10'000;
    text += fmt::format("={}", per_million[i] / 10'000);
    if (decimals != 0) text += fmt::format(".{:04}", decimals);
    text += '%';
  }
  return text.empty() ? "none" : text;
}

bool FaultPlan::any() const {
  return std::ranges::any_of(per_million, [](std::uint32_t share) { return share > 0; });
}

Chaos::Chaos(FaultPlan everywhere, std::uint64_t seed, Log& log)
    : seed_(seed), log_(log), active_(everywhere.any()), everywhere_(everywhere) {}

bool Chaos::happens(Fault fault, const FaultPlan& plan, Rng& rng) const {
  const std::uint32_t share = plan.per_million[static_cast<std::size_t>(fault)];
  return share > 0 && rng.chance(share, kAlways);
}

void Chaos::note(Fault fault, const queue::QueueKeyView& queue) {
  ++injected_[static_cast<std::size_t>(fault)];
  log_.info("chaos.fault", {{"fault", text_of(fault)}, {"queue", queue.name}, {"account", queue.account}});
}

void Chaos::hold_back(engine::OutgoingMessage& message, const queue::QueueKeyView& queue, const FaultPlan& plan, Rng& rng) {
  std::int64_t seconds = 0;
  if (happens(Fault::Delay, plan, rng)) {
    seconds = rng.between(plan.delay_min_seconds, plan.delay_max_seconds);
    if (seconds > 0) note(Fault::Delay, queue);
  }
  if (happens(Fault::Reorder, plan, rng)) {
    seconds += kHeldBackToReorder;
    note(Fault::Reorder, queue);
  }
  if (seconds == 0) return;
  if (message.delay) seconds += message.delay->count();
  if (const auto delay = queue::DeliveryDelay::of(std::min(seconds, kDelayMax))) message.delay = *delay;
}

Chaos::Verdict Chaos::meddle(engine::Request& request, std::vector<engine::OutgoingMessage>& messages) {
  const queue::QueueKeyView* const queue = queue_of(request);
  if (queue == nullptr) return {};
  const std::lock_guard lock{mutex_};
  const auto own = by_name_.find(queue->name);
  const FaultPlan& plan = own == by_name_.end() ? everywhere_ : own->second;
  if (!plan.any()) return {};
  const std::string key = queue::QueueKey(*queue).arn().str();
  auto state = queues_.find(key);
  if (state == queues_.end()) state = queues_.emplace(key, QueueChaos{Rng(seed_ ^ hash_of(key))}).first;
  Rng& rng = state->second.rng;

  Verdict verdict;
  if (happens(Fault::Throttle, plan, rng)) {
    verdict.throttle = true;
    note(Fault::Throttle, *queue);
    return verdict;
  }
  const bool fifo = is_fifo_name(queue->name);  // whose order holds, and whose messages cannot be delayed alone
  if (auto* const send = std::get_if<engine::SendMessage>(&request); send != nullptr && !fifo) {
    hold_back(send->message, *queue, plan, rng);
  } else if (auto* const batch = std::get_if<engine::SendMessageBatch>(&request); batch != nullptr && !fifo) {
    messages.assign(batch->messages.begin(), batch->messages.end());
    for (engine::OutgoingMessage& message : messages) hold_back(message, *queue, plan, rng);
    batch->messages = messages;
  } else if (auto* const receive = std::get_if<engine::ReceiveMessages>(&request)) {
    if (happens(Fault::ReceiveEmpty, plan, rng)) {
      verdict.receive_empty = true;
      note(Fault::ReceiveEmpty, *queue);
      return verdict;
    }
    if (happens(Fault::Duplicate, plan, rng)) {
      if (const auto none = queue::VisibilityTimeout::of(0)) receive->visibility_timeout = *none;
      note(Fault::Duplicate, *queue);
    }
  }
  if (happens(Fault::LoseResponse, plan, rng)) {
    verdict.lose_response = true;
    note(Fault::LoseResponse, *queue);
  }
  return verdict;
}

void Chaos::set(std::optional<std::string_view> queue, const FaultPlan& plan) {
  const std::lock_guard lock{mutex_};
  if (queue) {
    by_name_.insert_or_assign(std::string(*queue), plan);
  } else {
    everywhere_ = plan;
  }
  active_ = everywhere_.any() || std::ranges::any_of(by_name_, [](const auto& one) { return one.second.any(); });
}

Result<ChaosCommand, std::string> ChaosCommand::parse(std::string_view body) {
  const std::string expected = "expected {\"faults\":\"duplicate=5%\"}, with \"queue\":\"NAME\" for one queue";
  const auto root = wire::json::parse(body);
  if (!root) return fmt::format("{}: {}", expected, root.error().message());
  if (root->kind() != wire::json::Kind::Object) return expected;
  ChaosCommand command;
  bool has_faults = false;
  for (const wire::json::Member& member : root->members()) {
    const auto text = member.value.as_string();
    if (member.key != "faults" && member.key != "queue") return fmt::format("{}; there is no {}", expected, member.key);
    if (!text) return fmt::format("{}; {} must be a string", expected, member.key);
    if (member.key == "faults") {
      const auto plan = FaultPlan::parse(*text);
      if (!plan) return plan.error();
      command.plan = *plan;
      has_faults = true;
      continue;
    }
    std::string_view name = *text;
    if (name.ends_with(".fifo")) name.remove_suffix(5);
    const bool fits = !name.empty() && text->size() <= 80 && std::ranges::all_of(name, [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
    });
    if (!fits) return fmt::format("queue: '{}' is no queue's name; expected the name alone, 1 to 80 letters, digits, hyphens and underscores", *text);
    command.queue = std::string{*text};
  }
  if (!has_faults) return expected;
  return command;
}

std::string Chaos::json(const QueueNames& existing) const {
  const std::lock_guard lock{mutex_};
  std::string text;
  wire::json::Writer out{text};
  out.begin_object().key("seed").unsigned_integer(seed_).key("everywhere").string(everywhere_.str());
  out.key("queues").begin_object();
  for (const auto& [name, plan] : by_name_) out.key(name).string(plan.str());
  out.end_object().key("injected").begin_object();
  for (std::size_t i = 0; i < kFaults; ++i) out.key(kTexts[i]).unsigned_integer(injected_[i]);
  out.end_object().key("warnings").begin_array();
  for (const auto& [name, plan] : by_name_) {
    if (!plan.any()) continue;
    if (!existing.contains(name)) out.string(fmt::format("queues.{}: no queue of this name exists yet; its faults begin when it is made", name));
    const auto share = [&plan = plan](Fault fault) { return plan.per_million[static_cast<std::size_t>(fault)]; };
    if (is_fifo_name(name) && (share(Fault::Reorder) > 0 || share(Fault::Delay) > 0))
      out.string(fmt::format("queues.{}: reorder and delay do not happen to FIFO queues", name));
  }
  out.end_array().end_object();
  return text;
}

void Chaos::append_metrics(std::string& out) const {
  const std::lock_guard lock{mutex_};
  MetricsWriter writer{out};
  writer.describe("fanfare_chaos_faults_total", "counter", "Faults that --chaos injected.");
  for (std::size_t i = 0; i < kFaults; ++i) writer.sample("fanfare_chaos_faults_total", {{"fault", kTexts[i]}}, injected_[i]);
}

}  // namespace fanfare::server
