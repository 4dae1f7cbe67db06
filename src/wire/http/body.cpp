// The decoder of message bodies: a machine of one byte a step around chunks, whole pieces inside them.
#include "wire/http/body.h"

#include <algorithm>

#include "wire/digest/encoding.h"

namespace fanfare::wire::http {

namespace {

constexpr std::uint32_t kExtensionBytesMax = 4 * 1024;
constexpr std::uint32_t kTrailerBytesMax = 32 * 1024;
constexpr std::uint8_t kSizeDigitsMax = 15;  // below 2^60, so that sums with it cannot overflow

}  // namespace

BodyDecoder::BodyDecoder(Framing framing, std::uint64_t length) : framing_(framing) {
  switch (framing) {
    case Framing::None: phase_ = Phase::Done; break;
    case Framing::Length:
      left_ = length;
      phase_ = length == 0 ? Phase::Done : Phase::Data;
      break;
    case Framing::Chunked: phase_ = Phase::Size; break;
    case Framing::UntilClose: phase_ = Phase::Data; break;
  }
}

BodyDecoder::Step BodyDecoder::step(std::string_view buffer) {
  std::size_t at = 0;
  for (;;) {
    if (phase_ == Phase::Done) return {State::Done, at, {}};
    if (phase_ == Phase::Failed) return {State::Error, at, {}};
    if (at == buffer.size()) return {State::NeedMore, at, {}};
    if (phase_ != Phase::Data) {
      if (const char* wrong = take(buffer[at])) {
        error_ = wrong;
        phase_ = Phase::Failed;
      } else {
        ++at;
      }
      continue;
    }
    auto data = buffer.substr(at);
    if (framing_ == Framing::UntilClose) return {State::Data, buffer.size(), data};
    data = data.substr(0, std::min<std::uint64_t>(data.size(), left_));
    left_ -= data.size();
    if (left_ == 0) phase_ = framing_ == Framing::Chunked ? Phase::DataEnd : Phase::Done;
    return {State::Data, at + data.size(), data};
  }
}

const char* BodyDecoder::take(char c) {
  switch (phase_) {
    case Phase::Size: {
      const int digit = digest::hex_value(c);
      if (digit >= 0) {
        if (digits_ == kSizeDigitsMax) return "a chunk's size has too many digits";
        left_ = (digits_ == 0 ? 0 : left_ * 16) + static_cast<std::uint64_t>(digit);
        ++digits_;
        return nullptr;
      }
      if (digits_ == 0) return "a chunk's size is not a hexadecimal number";
      skipped_ = 0;
      phase_ = Phase::AfterSize;
      [[fallthrough]];
    }
    case Phase::AfterSize:
      if (c == '\r' && skipped_ == 0) {
        phase_ = Phase::SizeLineFeed;
      } else if (c == ';') {
        phase_ = Phase::Extension;
      } else if (c == ' ' || c == '\t') {
        if (++skipped_ > kExtensionBytesMax) return "a chunk's extension is too long";
      } else {
        return "a chunk's size is not a hexadecimal number";
      }
      return nullptr;
    case Phase::Extension:
      if (c == '\r') {
        phase_ = Phase::SizeLineFeed;
      } else if (++skipped_ > kExtensionBytesMax) {
        return "a chunk's extension is too long";
      } else if (static_cast<unsigned char>(c) < 0x20 && c != '\t') {
        return "a control character in a chunk's extension";
      }
      return nullptr;
    case Phase::SizeLineFeed:
      if (c != '\n') return "a carriage return without a line feed after a chunk's size";
      digits_ = 0;
      if (left_ > 0) {
        phase_ = Phase::Data;
      } else {
        phase_ = Phase::TrailerLine;
        line_is_empty_ = true;
        skipped_ = 0;
      }
      return nullptr;
    case Phase::DataEnd:
      if (c != '\r') return "a chunk is longer than its size";
      phase_ = Phase::DataLineFeed;
      return nullptr;
    case Phase::DataLineFeed:
      if (c != '\n') return "a chunk is longer than its size";
      phase_ = Phase::Size;
      return nullptr;
    case Phase::TrailerLine:
      if (c == '\r') {
        phase_ = Phase::TrailerLineFeed;
        return nullptr;
      }
      if (++skipped_ > kTrailerBytesMax) return "the trailer fields are too long";
      if (static_cast<unsigned char>(c) < 0x20 && c != '\t') return "a control character in a trailer field";
      line_is_empty_ = false;
      return nullptr;
    case Phase::TrailerLineFeed:
      if (c != '\n') return "a carriage return without a line feed in a trailer field";
      phase_ = line_is_empty_ ? Phase::Done : Phase::TrailerLine;
      line_is_empty_ = true;
      return nullptr;
    case Phase::Data:
    case Phase::Done:
    case Phase::Failed: break;
  }
  return nullptr;
}

}  // namespace fanfare::wire::http
