#include "journal/file/frame_walker.h"

#include <fmt/format.h>

#include <algorithm>

namespace fanfare::journal {
namespace {

constexpr std::uint64_t kWindowBytes = 1u << 20;

}  // namespace

std::string_view FrameWalker::bytes_at(std::uint64_t offset, std::uint64_t size) {
  if (window_offset_ <= offset && offset + size <= window_offset_ + window_.size()) {
    return std::string_view(window_).substr(offset - window_offset_, size);
  }
  if (offset > file_bytes_ || file_bytes_ - offset < size) return {};
  window_.resize(std::min(std::max(size, kWindowBytes), file_bytes_ - offset));
  window_offset_ = offset;
  const auto got = file_.read_at(window_.data(), window_.size(), offset);
  window_.resize(got ? *got : 0);
  if (!got) error_ = got.error();
  return window_.size() < size ? std::string_view{} : std::string_view(window_).substr(0, size);
}

FrameWalker::Step FrameWalker::look() {
  header_held_ = false;
  record_ = {};
  const std::string_view raw = bytes_at(byte_offset(), kFrameHeaderBytes);
  if (error_) return Step::Error;
  if (raw.empty()) return Step::Bad;
  header_ = load_frame_header(raw.data());
  if (!header_holds(header_, seed_, position_)) return Step::Bad;
  header_held_ = true;
  const std::uint64_t whole = frame_size(header_.record_bytes);
  const std::string_view frame = bytes_at(byte_offset(), whole);
  if (error_) return Step::Error;
  if (frame.empty() || record_sum(header_, frame.substr(kFrameHeaderBytes)) != header_.record_sum) return Step::Bad;
  record_ = frame.substr(kFrameHeaderBytes, header_.record_bytes);
  return Step::Record;
}

bool FrameWalker::search() {
  position_ = position_ + 8;
  while (true) {
    // Whatever is left of the window is looked through without asking again.
    if (bytes_at(byte_offset(), kFrameHeaderBytes).empty()) return false;
    const std::uint64_t start = byte_offset() - window_offset_;
    std::uint64_t at = start;
    for (; at + kFrameHeaderBytes <= window_.size(); at += 8) {
      const FrameHeader header = load_frame_header(window_.data() + at);
      if (header.header_sum == 0 || header.record_bytes > kRecordBytesMax) continue;
      const LogPosition here = position_ + (at - start);
      if (header_holds(header, seed_, here)) {
        position_ = here;
        header_ = header;
        return true;
      }
    }
    position_ = position_ + (at - start);
  }
}

std::string FrameWalker::expectation() {
  const std::string_view raw = bytes_at(byte_offset(), kFrameHeaderBytes);
  if (raw.empty()) return fmt::format("a record, found the end of the file at byte {}", file_bytes_);
  const FrameHeader header = load_frame_header(raw.data());
  if (!header_holds(header, seed_, position_)) {
    return fmt::format("a record header whose checksum is 0x{:08x}, found 0x{:08x}",
                       header_sum(seed_, position_, header.record_bytes, header.floor_distance), header.header_sum);
  }
  const std::string_view frame = bytes_at(byte_offset(), frame_size(header.record_bytes));
  if (frame.empty()) return fmt::format("a record of {} bytes, found the end of the file at byte {}", header.record_bytes, file_bytes_);
  return fmt::format("a record of {} bytes whose checksum is 0x{:08x}, found 0x{:08x}", header.record_bytes, header.record_sum,
                     record_sum(header, frame.substr(kFrameHeaderBytes)));
}

}  // namespace fanfare::journal
