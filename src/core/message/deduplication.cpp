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
  const auto number = number_of(key);
  return number && is_known(at(*number).accepted.at, now) ? &at(*number).accepted : nullptr;
}

void DeduplicationWindow::insert(const Key& key, const Accepted& accepted) {
  if (const auto number = number_of(key)) {
    if (is_known(at(*number).accepted.at, accepted.at)) return;
    numbers_.erase(hash_of(key), *number);
  }
  numbers_.insert(hash_of(key), number_at(known_.size()));
  known_.push_back({key, accepted});
}

bool DeduplicationWindow::forget_old(Timestamp now, std::size_t budget) {
  for (; !known_.empty() && !is_known(known_.front().accepted.at, now); --budget) {
    if (budget == 0) return true;
    numbers_.erase(hash_of(known_.front().key), first_);  // unless its key was accepted again
    known_.pop_front();
    ++first_;
    ++forgotten_;
  }
  return false;
}

std::optional<Timestamp> DeduplicationWindow::next_to_forget() const {
  if (known_.empty()) return std::nullopt;
  return known_.front().accepted.at + kDeduplicationInterval;
}

}  // namespace fanfare::message
