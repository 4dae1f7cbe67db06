// How a message body is framed, and an incremental decoder for it: for streams (server-sent events) and inside the
// parsers. Source: [RFC 9112 6, 7.1].
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace fanfare::wire::http {

enum class Framing : std::uint8_t {
  None,        ///< no body
  Length,      ///< Content-Length
  Chunked,     ///< Transfer-Encoding: chunked
  UntilClose,  ///< responses only: the body ends with the connection
};

/// Hands out body bytes as they come. Each step() looks at the front of `buffer`; the caller drops `consumed` bytes
/// before the next one. Chunk extensions and trailers are skipped, and limited: 4 KiB a line of a chunk's size, 32 KiB
/// of trailers.
class BodyDecoder {
 public:
  enum class State : std::uint8_t {
    NeedMore,  ///< nothing to hand out until more bytes come
    Data,      ///< `data` holds the next piece, not empty
    Done,      ///< the body has ended; the rest of the buffer belongs to the next message
    Error,     ///< the framing is broken; see error()
  };
  struct Step {
    State state;
    std::size_t consumed;   ///< bytes of the buffer that are done with, framing included; also with NeedMore
    std::string_view data;  ///< view into the buffer
  };

  BodyDecoder() = default;
  /// `length` counts only for Framing::Length.
  explicit BodyDecoder(Framing framing, std::uint64_t length = 0);

  Step step(std::string_view buffer);
  /// What is wrong: `a chunk's size is not a hexadecimal number`. Static text.
  [[nodiscard]] std::string_view error() const { return error_; }
  /// Bytes still to come of the body (Length) or of the current chunk, as far as they are announced.
  [[nodiscard]] std::uint64_t announced() const { return phase_ == Phase::Data ? left_ : 0; }
  /// The peer has closed: true if that is where the body may end.
  [[nodiscard]] bool may_end() const { return framing_ == Framing::UntilClose || phase_ == Phase::Done; }

 private:
  enum class Phase : std::uint8_t {
    Data,
    Size,
    AfterSize,
    Extension,
    SizeLineFeed,
    DataEnd,
    DataLineFeed,
    TrailerLine,
    TrailerLineFeed,
    Done,
    Failed
  };
  /// Takes one byte of the framing around chunks. Null, or what is wrong.
  const char* take(char c);

  Framing framing_ = Framing::None;
  Phase phase_ = Phase::Done;
  std::uint8_t digits_ = 0;    // hexadecimal digits of the chunk's size so far
  bool line_is_empty_ = true;  // of the current trailer line
  std::uint32_t skipped_ = 0;  // bytes of the current extension, or of all trailers
  std::uint64_t left_ = 0;     // bytes left of the body or of the chunk
  std::string_view error_;
};

}  // namespace fanfare::wire::http
