// What one connection still has to send: a queue of byte strings, gathered into as few pieces as possible.
//
// Rule 1: bytes handed to the kernel by begin_write() stay where they are, unchanged, until end_write(); new bytes go
//         behind them. (An io_uring send reads its buffer long after it was submitted.)
// Rule 2: short pieces are copied together: below kCopyBelow, one memcpy is cheaper than one more piece in a gathered
// write.
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/assert.h"
#include "net/loop.h"

namespace fanfare::net {

class OutputQueue {
 public:
  static constexpr std::size_t kCopyBelow = 1024;

  void append(std::string_view bytes) { tail(bytes.size()).append(bytes); }

  void adopt(std::string&& bytes) {
    if (bytes.size() < kCopyBelow) return append(bytes);
    push(Chunk{std::move(bytes), nullptr});
  }

  void share(SharedBytes bytes) {
    if (bytes->size() < kCopyBelow) return append(*bytes);
    push(Chunk{{}, std::move(bytes)});
  }

  /// A string to which the next bytes may be appended, about `expected` of them.
  std::string& tail(std::size_t expected = 0) {
    if (chunks_.size() > first_ + in_flight_ && chunks_.back().shared == nullptr) {
      std::string& last = chunks_.back().owned;
      // Growing a long string would copy all of it; a further chunk copies nothing.
      if (last.size() < kLongString || last.size() + expected <= last.capacity()) return last;
    }
    push(Chunk{std::exchange(spare_, {}), nullptr});
    std::string& last = chunks_.back().owned;
    // Never inside the string object: a chunk moves when the vector grows, its bytes must not (rule 1).
    if (last.capacity() < kSmallestBuffer) last.reserve(kSmallestBuffer);
    return last;
  }

  /// Bytes not yet reported as written.
  [[nodiscard]] std::size_t pending() const {
    return chunks_.size() == first_ ? 0 : before_tail_ + chunks_.back().view().size() - offset_;
  }
  [[nodiscard]] bool is_writing() const { return in_flight_ > 0; }
  /// Bytes that begin_write() offered.
  [[nodiscard]] std::size_t writing_bytes() const { return writing_bytes_; }

  /// Fills up to `most` pieces from the front and pins them. Returns how many.
  std::size_t begin_write(iovec* pieces, std::size_t most) {
    FANFARE_ASSERT(in_flight_ == 0);
    writing_bytes_ = 0;
    std::size_t count = 0;
    std::size_t skip = offset_;
    for (std::size_t i = first_; i < chunks_.size() && count < most; ++i) {
      const std::string_view bytes = chunks_[i].view().substr(skip);
      skip = 0;
      ++in_flight_;
      writing_bytes_ += bytes.size();
      if (!bytes.empty()) pieces[count++] = {const_cast<char*>(bytes.data()), bytes.size()};
    }
    return count;
  }

  /// The kernel has taken `written` bytes of the pinned ones (0 after an error); the pins are gone.
  void end_write(std::size_t written) {
    in_flight_ = 0;
    offset_ += written;
    while (first_ < chunks_.size()) {
      Chunk& front = chunks_[first_];
      const std::size_t size = front.view().size();
      if (offset_ < size) break;
      offset_ -= size;
      ++first_;
      if (first_ < chunks_.size()) {
        before_tail_ -= size;
      } else {
        keep(front.owned);
      }
      front = Chunk{};
    }
    if (first_ == chunks_.size()) {
      FANFARE_ASSERT(offset_ == 0 && before_tail_ == 0);
      chunks_.clear();
      first_ = 0;
    } else if (first_ >= 64 && first_ * 2 >= chunks_.size()) {
      chunks_.erase(chunks_.begin(), chunks_.begin() + static_cast<std::ptrdiff_t>(first_));
      first_ = 0;
    }
  }

  /// Empties the queue; one buffer of moderate size is kept for the next use.
  void reset() {
    if (!chunks_.empty()) keep(chunks_.back().owned);
    chunks_.clear();
    if (chunks_.capacity() > 64) chunks_.shrink_to_fit();
    first_ = in_flight_ = offset_ = before_tail_ = 0;
  }

  /// Memory held while empty.
  [[nodiscard]] std::size_t footprint() const {
    return sizeof *this + chunks_.capacity() * sizeof(Chunk) + spare_.capacity();
  }

 private:
  static constexpr std::size_t kLongString = 64 * 1024;
  static constexpr std::size_t kSmallestBuffer = 512;

  struct Chunk {
    std::string owned;
    SharedBytes shared;
    [[nodiscard]] std::string_view view() const { return shared ? std::string_view{*shared} : std::string_view{owned}; }
  };

  void push(Chunk&& chunk) {
    if (chunks_.size() > first_) before_tail_ += chunks_.back().view().size();
    chunks_.push_back(std::move(chunk));
  }
  void keep(std::string& buffer) {
    if (buffer.capacity() < kSmallestBuffer || buffer.capacity() > kLongString || buffer.capacity() < spare_.capacity())
      return;
    spare_ = std::move(buffer);
    spare_.clear();
  }

  std::vector<Chunk> chunks_;
  std::size_t first_ = 0;      // chunks before it are written
  std::size_t offset_ = 0;     // bytes of the first chunk that are written
  std::size_t in_flight_ = 0;  // chunks pinned by begin_write()
  std::size_t writing_bytes_ = 0;
  std::size_t before_tail_ = 0;  // bytes of all chunks from first_ but the last, whose size its appender may change
  std::string spare_;
};

}  // namespace fanfare::net
