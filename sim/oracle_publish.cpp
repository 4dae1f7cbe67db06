// Publications: whom they reach, and what a FIFO topic takes for a duplicate.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "sim/oracle.h"
#include "sim/oracle_terms.h"
#include "wire/json/reader.h"

namespace fanfare::sim {
namespace {

// Signature, URLs and names of an envelope take less than this.
constexpr std::int64_t kEnvelopeMost = 4096;

bool admits_topic(Admission policy, int topic) {
  switch (policy) {
    case Admission::Everybody: return true;
    case Admission::FirstTopic: return topic == 0;
    case Admission::NotFirstTopic: return topic != 0;
    case Admission::Nobody: return false;
  }
  return false;
}

}  // namespace

std::optional<Envelope> unwrap(std::string_view body) {
  static thread_local wire::json::Reader reader;
  const auto root = reader.parse(body);
  if (!root) return std::nullopt;
  const auto text = [&](std::string_view key) {
    const auto found = root->find(key);
    return std::string{found ? found->as_string().value_or("") : ""};
  };
  return Envelope{text("Message"), text("MessageId"), text("TopicArn"), text("Type"), text("SequenceNumber")};
}

const std::array<Filter, 6> kFilters{{
    {"", [](std::string_view) { return true; }},
    {R"({"kind":["a","b"]})", [](std::string_view kind) { return kind == "a" || kind == "b"; }},
    {R"({"kind":[{"anything-but":["a"]}]})", [](std::string_view kind) { return !kind.empty() && kind != "a"; }},
    {R"({"kind":[{"exists":false}]})", [](std::string_view kind) { return kind.empty(); }},
    {R"({"kind":[{"prefix":"b"}]})", [](std::string_view kind) { return kind.substr(0, 1) == "b"; }},
    {R"({"kind":["d",{"suffix":"c"}]})", [](std::string_view kind) { return kind == "d" || (!kind.empty() && kind.back() == 'c'); }},
}};

Oracle::Verdict Oracle::admits(int number, int topic, const Entry& entry, const Subscription& subscription, std::uint64_t turn) const {
  const Queue& queue = queues_[static_cast<std::size_t>(number)];
  const std::int64_t bytes = counted_bytes(entry);
  const bool raw_is_sure = subscription.raw.must_be(true, turn, turn);
  const std::int64_t most = raw_is_sure ? bytes : bytes * 6 + kEnvelopeMost;
  const bool must_fit = most <= queue.max_bytes.lowest(turn, turn);
  const bool can_fit = bytes <= queue.max_bytes.highest(turn, turn);
  const auto lets_in = [&](Admission policy) { return admits_topic(policy, topic); };
  return {must_fit && !queue.may_be_missing(turn, turn) && queue.policy.all(turn, turn, lets_in),
          can_fit && queue.may_exist(turn, turn) && queue.policy.any(turn, turn, lets_in)};
}

void Oracle::add_copies(int number, const Entry& entry, const Moment& moment) {
  const std::uint64_t turn = moment.turn;
  std::vector<int> reached;
  const bool first = publications_[static_cast<std::size_t>(number)].attempts++ == 0;
  const auto add = [&](int subscription, int queue, bool must) {
    const Subscription& by = subscriptions_[static_cast<std::size_t>(subscription)];
    for (const int known : publications_[static_cast<std::size_t>(number)].copies) {
      Instance& copy = instances_[static_cast<std::size_t>(known)];
      if (copy.subscription != subscription || copy.queue != queue) continue;
      copy.certain = copy.certain && must;
      if (!copy.sure) {
        copy.earliest = std::min(copy.earliest, moment.now);
        copy.latest = std::max(copy.latest, moment.now);
        copy.last_turn = turn;
      }
      if (copy.raw && !by.raw.must_be(*copy.raw, turn, turn)) copy.raw.reset();
      reached.push_back(known);
      return;
    }
    Instance copy;
    copy.token = entry.token;
    copy.queue = queue;
    copy.entry = entry;
    copy.publication = number;
    copy.subscription = subscription;
    copy.certain = must && first;
    if (by.raw.must_be(true, turn, turn)) copy.raw = true;
    else if (by.raw.must_be(false, turn, turn)) copy.raw = false;
    else copy.raw.reset();
    copy.earliest = copy.latest = moment.now;
    copy.first_turn = turn;
    copy.starts = starts_;
    const int index = add_instance(std::move(copy));
    publications_[static_cast<std::size_t>(number)].copies.push_back(index);
    reached.push_back(index);
  };
  const int topic = publications_[static_cast<std::size_t>(number)].topic;
  for (int i = 0; i < static_cast<int>(subscriptions_.size()); ++i) {
    const Subscription& subscription = subscriptions_[static_cast<std::size_t>(i)];
    if (subscription.topic != topic) continue;
    const auto wants = [&](int filter) { return kFilters[static_cast<std::size_t>(filter)].wants(entry.kind); };
    const bool can_want = subscription.exists.may_be(true, turn, turn) && subscription.filter.any(turn, turn, wants);
    const bool must_want = subscription.exists.must_be(true, turn, turn) && subscription.filter.all(turn, turn, wants);
    if (!can_want) {
      if (subscription.exists.may_be(true, turn, turn)) note(Property::FilteredOut);
      continue;
    }
    const Verdict main = admits(subscription.queue, topic, entry, subscription, turn);
    if (main.can) add(i, subscription.queue, must_want && main.must);
    else note(Property::CopyRefused);
    if (main.must) continue;
    for (int dead = 0; dead < static_cast<int>(queues_.size()); ++dead) {
      if (!subscription.dead_letter.may_be(dead, turn, turn)) continue;
      const Verdict second = admits(dead, topic, entry, subscription, turn);
      if (second.can && dead != subscription.queue)
        add(i, dead, must_want && !main.can && second.must && subscription.dead_letter.must_be(dead, turn, turn));
    }
  }
  Publication& publication = publications_[static_cast<std::size_t>(number)];
  for (const int index : publication.copies) {
    Instance& copy = instances_[static_cast<std::size_t>(index)];
    if (std::find(reached.begin(), reached.end(), index) == reached.end()) copy.certain = false;
    ++copy.open_attempts;
  }
  ++publication.open_attempts;
}

void Oracle::handled_publish(Call& call, const Moment& moment) {
  const bool fifo = topics_[static_cast<std::size_t>(call.topic)].fifo;
  for (const Entry& entry : call.entries) {
    int number = -1;
    if (fifo) {  // a retry: the same publication again
      if (const auto found = publication_by_token_.find(entry.token); found != publication_by_token_.end()) number = found->second;
      if (number >= 0) {
        const Publication& before = publications_[static_cast<std::size_t>(number)];
        const bool gone = std::any_of(before.copies.begin(), before.copies.end(), [&](int copy) {
          const Instance& one = instances_[static_cast<std::size_t>(copy)];
          return one.never || one.gone != Gone::No || one.by_task;
        });
        if (gone || before.dedup_cleared || moment.now >= before.earliest + kDedupWindow) number = -1;
      }
    }
    if (number < 0) {
      number = static_cast<int>(publications_.size());
      Publication& fresh = publications_.emplace_back();
      fresh.topic = call.topic;
      fresh.token = entry.token;
      fresh.body_bytes = entry.body_bytes;
      fresh.dedup = entry.dedup;
      fresh.earliest = fresh.latest = moment.now;
      fresh.starts = starts_;
      publication_by_token_[entry.token] = number;
    }
    Publication& publication = publications_[static_cast<std::size_t>(number)];
    if (publication.told_turn == 0) {
      publication.earliest = std::min(publication.earliest, moment.now);
      publication.latest = std::max(publication.latest, moment.now);
    }
    add_copies(number, entry, moment);
    call.instances.push_back(number);
  }
}

void Oracle::answered_publish(Call& call, const Answer& answer, const Moment& moment) {
  const bool fifo = topics_[static_cast<std::size_t>(call.topic)].fifo;
  for (std::size_t i = 0; i < call.entries.size(); ++i) {
    const int number = call.instances[i];
    if (!answer.entries[i].ok) {
      require(Property::ErrorsExpected, false, [&] { return fmt::format("call {} entry {}: {}", call.id, i, answer.entries[i].code); });
      continue;
    }
    if (fifo && !accepted_publication(number, answer.entries[i], call, i, moment)) continue;
    Publication& publication = publications_[static_cast<std::size_t>(number)];
    publication.id = answer.entries[i].message_id;
    publication.sequence = answer.entries[i].sequence;
    if (publication.told_turn == 0) publication.told_turn = moment.turn;
    --publication.open_attempts;
    for (const int index : publication.copies) {
      Instance& copy = instances_[static_cast<std::size_t>(index)];
      if (!copy.certain) continue;  // nobody was told whether this queue was reached
      // What another publication with this id left in the queue's own window stops the copy there.
      if (queues_[static_cast<std::size_t>(copy.queue)].fifo) {
        const auto& there = queues_[static_cast<std::size_t>(copy.queue)].instances;
        copy.certain = std::none_of(there.begin(), there.end(), [&](int other) {
          const Instance& one = instances_[static_cast<std::size_t>(other)];
          return one.publication != number && one.entry.dedup == copy.entry.dedup && !one.never && one.latest + kDedupWindow > copy.earliest;
        });
        if (!copy.certain) continue;
      }
      copy.never = false;
      copy.sure = true;
      copy.sure_turn = moment.turn;
      --copy.open_attempts;
    }
  }
}

/// False if it is a duplicate, or may be one.
bool Oracle::accepted_publication(int number, const EntryAnswer& answer, const Call& call, std::size_t i, const Moment&) {
  Publication& publication = publications_[static_cast<std::size_t>(number)];
  Topic& topic = topics_[static_cast<std::size_t>(call.topic)];
  int owner = -1;
  for (int other = 0; other < static_cast<int>(publications_.size()); ++other)
    if (publications_[static_cast<std::size_t>(other)].id == answer.message_id) owner = other;
  const auto text = [&](const Publication& one) { return fmt::format("{} ({} to {}, sequence {})", one.token, time_text(one.earliest), time_text(one.latest), one.sequence); };
  if (owner >= 0) {
    const Publication& original = publications_[static_cast<std::size_t>(owner)];
    require(Property::DedupHolds, original.dedup == publication.dedup && original.topic == publication.topic,
            [&] { return fmt::format("{} is answered with the id of {}", publication.token, text(original)); });
    require(Property::DedupHolds, original.sequence == answer.sequence,
            [&] { return fmt::format("{} is a duplicate of {} and gets sequence {}", publication.token, text(original), answer.sequence); });
    require(Property::DedupEnds, call.handled_at < original.latest + kDedupWindow,
            [&] { return fmt::format("{} at {} is taken for a duplicate of {}", publication.token, time_text(call.handled_at), text(original)); });
    note(Property::TopicDedupHit);
    if (owner == number) return true;
    --publication.open_attempts;
    for (const int copy : publication.copies) {
      end_attempt(copy, false);
      Instance& one = instances_[static_cast<std::size_t>(copy)];
      if (!one.sure && one.open_attempts > 0) one.never = true;  // an earlier attempt would be the original
    }
    return false;
  }
  for (int other = 0; other < static_cast<int>(publications_.size()); ++other) {
    const Publication& open = publications_[static_cast<std::size_t>(other)];
    if (other != number && open.topic == publication.topic && open.dedup == publication.dedup && open.id.empty() && open.open_attempts > 0) return false;
  }
  for (const Publication& earlier : publications_) {
    if (earlier.topic != publication.topic || earlier.dedup != publication.dedup || earlier.dedup_cleared || earlier.id.empty()) continue;
    if (earlier.told_turn >= call.handled_turn) continue;
    require(Property::DedupHolds, call.handled_at >= earlier.earliest + kDedupWindow,
            [&] { return fmt::format("{} at {} is accepted in spite of {}", publication.token, time_text(call.handled_at), text(earlier)); });
  }
  if (publication.earliest == call.handled_at && call.handled_order > topic.sequences_since) {
    const auto place = topic.sequences.emplace(call.handled_order * 16 + i, answer.sequence).first;
    const bool rises = (place == topic.sequences.begin() || std::prev(place)->second < answer.sequence) &&
                       (std::next(place) == topic.sequences.end() || answer.sequence < std::next(place)->second);
    require(Property::SequenceRises, rises && answer.sequence.size() == 20, [&] {
      return fmt::format("{} in {} gets {}, the one before {}", publication.token, topic.name, answer.sequence,
                         place == topic.sequences.begin() ? "nothing" : std::prev(place)->second);
    });
  }
  return true;
}

bool Oracle::check_replay(int topic, const std::vector<ReceivedMessage>& messages, bool must_be_whole) {
  std::map<std::string, std::size_t> place;  // by the publication's id
  std::string last;
  for (std::size_t i = 0; i < messages.size(); ++i) {
    const auto envelope = unwrap(messages[i].body);
    require(Property::Invented, envelope && envelope->topic == topic_arn(topics_[static_cast<std::size_t>(topic)].name),
            [&] { return "no envelope of this topic: " + messages[i].body; });
    require(Property::ReplayedInOrder, last < envelope->sequence && place.emplace(envelope->id, i).second,
            [&] { return fmt::format("publication {} with sequence number {} comes behind number {}", envelope->message, envelope->sequence, last); });
    last = envelope->sequence;
    const std::string token = envelope->message.substr(0, envelope->message.find('|'));
    bool known = false;
    for (const Publication& one : publications_)
      known = known || (one.topic == topic && one.token == token && body_of(token, one.body_bytes) == envelope->message && (one.id.empty() || one.id == envelope->id));
    require(Property::Invented, known, [&] { return fmt::format("{} '{}' is replayed", envelope->id, envelope->message); });
  }
  bool whole = true;
  for (const Publication& one : publications_) {
    if (one.topic != topic || one.id.empty() || place.contains(one.id)) continue;
    // The queue has its own five minutes, which begin when a copy comes to it.
    const bool may_be_suppressed = std::any_of(publications_.begin(), publications_.end(),
                                               [&](const Publication& other) { return &other != &one && other.topic == topic && other.dedup == one.dedup; });
    if (may_be_suppressed) continue;
    whole = false;
    if (must_be_whole)
      fail(Property::ReplayedWhole, fmt::format("{} {} of {} to {}, sequence {}, is missing among {} messages", one.token, one.id, time_text(one.earliest),
                                                time_text(one.latest), one.sequence, messages.size()));
  }
  note(Property::ReplayedWhole);
  return whole;
}

}  // namespace fanfare::sim
