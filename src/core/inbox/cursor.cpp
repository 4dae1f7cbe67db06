#include "core/inbox/cursor.h"

#include <charconv>

#include "core/inbox/operations.h"

namespace fanfare::inbox {
namespace {

void append_hex(std::string& out, std::uint64_t value, std::size_t digits_min) {
  char digits[16];
  const auto written = std::to_chars(digits, digits + sizeof digits, value, 16);
  const auto count = static_cast<std::size_t>(written.ptr - digits);
  if (count < digits_min) out.append(digits_min - count, '0');
  out.append(digits, count);
}

/// The whole of `text` as lower-case hex.
template <class Integer>
bool read_hex(std::string_view text, Integer& value) {
  for (const char c : text)
    if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'))) return false;  // from_chars would also take upper case
  const auto read = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  return read.ec == std::errc{} && read.ptr == text.data() + text.size();
}

}  // namespace

std::string Cursor::text() const {
  std::string out;
  append_hex(out, epoch, 16);
  out.push_back('-');
  append_hex(out, scope, 8);
  out.push_back('-');
  append_hex(out, sequence, 1);
  return out;
}

std::optional<Cursor> Cursor::parse(std::string_view text) {
  if (text.size() < 27 || text.size() > 42 || text[16] != '-' || text[25] != '-') return std::nullopt;
  if (text[26] == '0' && text.size() != 27) return std::nullopt;  // one spelling for one place
  Cursor cursor;
  if (!read_hex(text.substr(0, 16), cursor.epoch) || !read_hex(text.substr(17, 8), cursor.scope) ||
      !read_hex(text.substr(26), cursor.sequence))
    return std::nullopt;
  return cursor;
}

std::uint32_t scope_of(const InboxKey& inbox) {
  // FNV-1a over recipient, a byte that no identifier holds, and workspace.
  std::uint32_t hash = 2166136261u;
  const auto add = [&hash](unsigned char byte) { hash = (hash ^ byte) * 16777619u; };
  for (const char c : inbox.recipient.str()) add(static_cast<unsigned char>(c));
  add(0);
  for (const char c : inbox.workspace.str()) add(static_cast<unsigned char>(c));
  return hash;
}

bool is_known(const Cursor& cursor, const Head& head) {
  return cursor.epoch == head.cursor.epoch && cursor.scope == head.cursor.scope && cursor.sequence >= head.floor &&
         cursor.sequence <= head.cursor.sequence;
}

}  // namespace fanfare::inbox
