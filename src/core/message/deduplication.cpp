#include "core/message/deduplication.h"

#include <cstring>

namespace fanfare::message {
namespace {

std::uint64_t mixed(std::uint64_t x) {
  x ^= x >> 32;
  x *= 0xd6e8feb86659fd93ULL;
  x ^= x >> 32;
  x *= 0xd6e8feb86659fd93ULL;
  return x ^ (x >> 32);
}

// Takes eight bytes at a time into two lanes that are stirred differently.
void absorb(DeduplicationWindow::Key& key, std::string_view text) {
  const auto take = [&key](std::uint64_t word) {
    key.high = mixed(key.high ^ word);
    key.low = mixed(key.low + word * 0x9e3779b97f4a7c15ULL) + (key.high >> 29);
  };
  take(text.size());  // so that ("ab", "c") and ("a", "bc") differ
  for (; text.size() >= 8; text.remove_prefix(8)) {
    std::uint64_t word = 0;
    std::memcpy(&word, text.data(), 8);
    take(word);
  }
  if (text.empty()) return;
  std::uint64_t word = 0;
  std::memcpy(&word, text.data(), text.size());
  take(word);
}

}  // namespace

DeduplicationWindow::Key DeduplicationWindow::key_of(std::string_view scope, std::string_view deduplication_id) {
  Key key{0x243f6a8885a308d3ULL, 0x13198a2e03707344ULL};  // digits of pi: any constants do
  absorb(key, scope);
  absorb(key, deduplication_id);
  return key;
}

const DeduplicationWindow::Accepted* DeduplicationWindow::find(const Key& key, Timestamp now) const {
  const auto found = accepted_.find(key);
  return found == accepted_.end() || !is_known(found->second.at, now) ? nullptr : &found->second;
}

void DeduplicationWindow::insert(const Key& key, const Accepted& accepted) {
  const auto [entry, fresh] = accepted_.emplace(key, accepted);
  if (!fresh) {
    if (is_known(entry->second.at, accepted.at)) return;
    entry->second = accepted;
  }
  order_.push_back({key, accepted.at});
}

bool DeduplicationWindow::forget_old(Timestamp now, std::size_t budget) {
  for (; !order_.empty() && !is_known(order_.front().at, now); --budget) {
    if (budget == 0) return true;
    const Place& oldest = order_.front();
    const auto entry = accepted_.find(oldest.key);
    if (entry->second.at == oldest.at) accepted_.erase(entry);
    order_.pop_front();
  }
  return false;
}

std::optional<Timestamp> DeduplicationWindow::next_to_forget() const {
  if (order_.empty()) return std::nullopt;
  return order_.front().at + kDeduplicationInterval;
}

}  // namespace fanfare::message
