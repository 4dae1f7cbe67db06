#include "core/engine/payloads.h"

#include <algorithm>
#include <cstring>
#include <new>

#include "base/assert.h"
#include "base/prefetch.h"

namespace fanfare::engine {
PayloadStore::~PayloadStore() {
  free_condemned();
  while (oldest_ != nullptr) {
    Resident* next = oldest_->next;
    ::operator delete(oldest_);
    oldest_ = next;
  }
}

std::uint32_t PayloadStore::add(LogPosition position, std::string_view content, std::uint32_t content_bytes,
                                std::uint32_t references) {
  FANFARE_ASSERT(references > 0);
  const std::uint32_t index = payloads_.allocate();
  payloads_[index] = {position, nullptr, content_bytes, references, references > 1};
  references_ += references;
  count(position, content_bytes, true);
  content_bytes_ += content_bytes;
  if (!content.empty()) make_resident(index, content);
  return index;
}

void PayloadStore::release(std::uint32_t index) {
  Payload& payload = payloads_[index];
  FANFARE_ASSERT(payload.references > 0);
  --references_;
  if (--payload.references > 0) {
    if (!holding_ && payload.references == 1) payload.shared = 0;
    return;
  }
  if (payload.resident != nullptr) evict(payload.resident);
  count(payload.position, payload.bytes, false);
  content_bytes_ -= payload.bytes;
  if (holding_) held_.push_back(index);
  else payloads_.free(index);
}

bool PayloadStore::let_go(std::size_t budget) {
  holding_ = false;
  for (; budget > 0 && !held_.empty(); --budget) {
    payloads_.free(held_.back());
    held_.pop_back();
  }
  if (held_.empty()) std::deque<std::uint32_t>().swap(held_);  // its table of pieces, 8 bytes for 128 numbers
  return !held_.empty();
}

std::string_view PayloadStore::content(std::uint32_t index) const {
  Resident* resident = payloads_[index].resident;
  if (resident == nullptr) return {};
  return {resident->data(), resident->bytes};
}

void PayloadStore::prefetch_content(std::uint32_t index, std::size_t bytes_most) const {
  constexpr std::size_t kLine = 64;
  const Payload& payload = payloads_[index];
  if (payload.resident == nullptr) return;
  const auto* bytes = reinterpret_cast<const char*>(payload.resident);
  const std::size_t end = sizeof(Resident) + std::min<std::size_t>(payload.bytes, bytes_most);
  for (std::size_t at = 0; at < end; at += kLine) fanfare::prefetch(bytes + at);
}

void PayloadStore::prefetch_neighbours(std::uint32_t index) const {
  const Resident* resident = payloads_[index].resident;
  if (resident == nullptr) return;
  fanfare::prefetch(resident->previous);
  fanfare::prefetch(resident->next);
}

void PayloadStore::move(std::uint32_t index, LogPosition position) {
  Payload& payload = payloads_[index];
  count(position, payload.bytes, true);
  count(payload.position, payload.bytes, false);
  payload.position = position;
}

void PayloadStore::free_condemned() {
  for (Resident* resident : condemned_) ::operator delete(resident);
  condemned_.clear();
}

std::optional<LogPosition> PayloadStore::oldest_position() const {
  if (size() == 0) return std::nullopt;
  return LogPosition{first_region_ * kRegionBytes};
}

std::uint64_t PayloadStore::resident_limit() const {
  if (resident_bytes_max_ == ~std::uint64_t{0}) return resident_bytes_max_;
  const std::uint64_t index = references_ * kEntryBytes + payloads_.size() * kPayloadBytes;
  if (index <= kIndexForFree) return resident_bytes_max_;
  const std::uint64_t most_less = resident_bytes_max_ - resident_bytes_max_ / 32;
  return resident_bytes_max_ - std::min((index - kIndexForFree) / 4, most_less);
}

void PayloadStore::make_resident(std::uint32_t index, std::string_view content) {
  const std::uint64_t limit = resident_limit();
  if (content.size() > limit) return;
  while (resident_bytes_ + content.size() > limit) {
    evict(oldest_);
    prefetch_oldest();
  }
  void* memory = ::operator new(sizeof(Resident) + content.size());
  auto* resident = new (memory) Resident{newest_, nullptr, index, static_cast<std::uint32_t>(content.size())};
  std::memcpy(resident->data(), content.data(), content.size());
  (newest_ == nullptr ? oldest_ : newest_->next) = resident;
  newest_ = resident;
  resident_bytes_ += content.size();
  payloads_[index].resident = resident;
}

void PayloadStore::evict(Resident* resident) {
  (resident->previous == nullptr ? oldest_ : resident->previous->next) = resident->next;
  (resident->next == nullptr ? newest_ : resident->next->previous) = resident->previous;
  resident_bytes_ -= resident->bytes;
  payloads_[resident->payload].resident = nullptr;
  condemned_.push_back(resident);
}

// What the next eviction will look at, and the one after it first: all that was last seen when it arrived. The allocator looks at what
// lies right before and behind what is freed.
void PayloadStore::prefetch_oldest() const {
  if (oldest_ == nullptr) return;
  const auto* begin = reinterpret_cast<const char*>(oldest_);
  fanfare::prefetch(begin - 1);
  fanfare::prefetch(begin + sizeof(Resident) + oldest_->bytes + sizeof(void*));
  fanfare::prefetch(oldest_->next);
  payloads_.prefetch(oldest_->payload);
}

void PayloadStore::count(LogPosition position, std::uint32_t bytes, bool added) {
  const std::uint64_t at = position.value / kRegionBytes;
  if (regions_.empty()) first_region_ = at;
  while (at < first_region_) {  // only when a snapshot is loaded, which has no order
    regions_.emplace_front();
    --first_region_;
  }
  if (at - first_region_ >= regions_.size()) regions_.resize(at - first_region_ + 1);
  Region& region = regions_[at - first_region_];
  region.payloads += added ? 1 : ~std::uint32_t{0};
  region.bytes += added ? bytes : 0 - bytes;
  while (!regions_.empty() && regions_.front().payloads == 0) {
    regions_.pop_front();
    ++first_region_;
  }
}

std::uint64_t PayloadStore::needed_bytes_before(LogPosition before) const {
  std::uint64_t bytes = 0;
  std::uint64_t start = first_region_ * kRegionBytes;
  for (auto region = regions_.begin(); region != regions_.end() && start < before.value; ++region, start += kRegionBytes)
    bytes += region->bytes + region->payloads * kBytesAround;
  return bytes;
}

}  // namespace fanfare::engine
