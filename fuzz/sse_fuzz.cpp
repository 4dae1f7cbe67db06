// Server-sent events: what the parser reads does not depend on how the bytes arrive, and what it read reads back when
// written. The first byte seeds the splits.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/assert.h"
#include "base/rng.h"
#include "wire/sse/sse.h"

using namespace fanfare;
using namespace fanfare::wire;

namespace {

template <class Piece>
std::string read(std::string_view stream, Piece piece, std::size_t event_bytes_max, std::string* written = nullptr) {
  sse::Parser parser{event_bytes_max};
  std::string out;
  for (std::size_t at = 0; at < stream.size();) {
    const auto size = piece(stream.size() - at);
    parser.feed(stream.substr(at, size));
    at += size;
    while (const auto event = parser.next()) {
      out += event->type + '\x1f' + event->data + '\x1f' + event->last_event_id + '\x1f';
      if (written != nullptr) sse::append_event(*written, event->type, event->data, event->last_event_id);
    }
  }
  // Splits decide how much of a line that is too long is read before the parser gives up; events before it are the
  // same.
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 1) return 0;
  const std::string_view stream{reinterpret_cast<const char*>(data) + 1, size - 1};
  Rng rng{data[0]};
  const auto whole = [](std::size_t left) { return left; };
  std::string written;
  const auto expected = read(stream, whole, 200, &written);
  const auto got = read(
      stream, [&rng](std::size_t left) { return 1 + rng.below(left < 20 ? left : 20); }, 200);
  FANFARE_ASSERT(got == expected, got + "\n---\n" + expected);
  const auto again = read(written, whole, 2000);
  FANFARE_ASSERT(again == expected, again + "\n---\n" + expected);
  return 0;
}
