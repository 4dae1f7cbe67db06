// The only file that sees simdjson: its views die with the next parse, and its header costs seconds to compile.
#include "wire/json/reader.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <cmath>
#include <new>

#include "wire/json/writer.h"

namespace fanfare::wire::json {

using simdjson::internal::tape_ref;
using simdjson::internal::tape_type;

namespace {

/// What one text may need before its buffers are given back at the next parse.
constexpr std::size_t kKeptBytesMax = 256 * 1024;

tape_ref tape(const void* document, std::size_t index) {
  return {static_cast<const simdjson::dom::document*>(document), index};
}

/// simdjson 3.0 lets some halves of surrogate pairs pass. Every backslash of a valid text is in a string and begins an
/// escape.
bool has_lone_surrogate(std::string_view text) {
  const auto code_at = [&](std::size_t at) {
    unsigned code = 0;
    for (std::size_t i = 0; i < 4; ++i) {
      const char c = text[at + i];
      code = code * 16 + static_cast<unsigned>(c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10);
    }
    return code;
  };
  std::size_t at = 0;
  while ((at = text.find('\\', at)) != std::string_view::npos) {
    if (text[at + 1] != 'u') {
      at += 2;
      continue;
    }
    const unsigned code = code_at(at + 2);
    at += 6;
    if (code < 0xd800 || code > 0xdfff) continue;
    if (code >= 0xdc00 || text.substr(at, 2) != "\\u") return true;
    const unsigned second = code_at(at + 2);
    if (second < 0xdc00 || second > 0xdfff) return true;
    at += 6;
  }
  return false;
}

/// Where the first number of a valid text stands that simdjson cannot hold, and how long it is.
std::optional<std::string_view> unfit_number(std::string_view text) {
  simdjson::dom::parser probe;
  for (std::size_t at = 0; at < text.size();) {
    const char c = text[at];
    if (c == '"') {
      for (++at; text[at] != '"'; ++at) at += text[at] == '\\' ? 1 : 0;
      ++at;
    } else if (c == '-' || (c >= '0' && c <= '9')) {
      const std::string_view number = text.substr(at, text.find_first_not_of("0123456789+-.eE", at) - at);
      at += number.size();
      // What is short and has no large exponent fits: not asked, since a text may have millions of them.
      const std::size_t exponent = number.find_first_of("eE");
      const bool may_be_large = number.size() >= 19 || (exponent != std::string_view::npos && number.size() - exponent > 3);
      if (may_be_large && probe.parse(number.data(), number.size()).error() != simdjson::SUCCESS) return number;
    } else {
      ++at;
    }
  }
  return std::nullopt;
}

}  // namespace

// ---- Node ----

Kind Node::kind() const {
  switch (tape(document_, index_).tape_ref_type()) {
    case tape_type::START_OBJECT: return Kind::Object;
    case tape_type::START_ARRAY: return Kind::Array;
    case tape_type::STRING: return Kind::String;
    case tape_type::INT64:
    case tape_type::UINT64:
    case tape_type::DOUBLE: return Kind::Number;
    case tape_type::TRUE_VALUE:
    case tape_type::FALSE_VALUE: return Kind::Bool;
    default: return Kind::Null;
  }
}

bool Node::is_integer() const {
  const auto type = tape(document_, index_).tape_ref_type();
  return type == tape_type::INT64 || type == tape_type::UINT64;
}

std::optional<bool> Node::as_bool() const {
  const auto ref = tape(document_, index_);
  if (ref.is_true()) return true;
  if (ref.is_false()) return false;
  return std::nullopt;
}

std::optional<std::string_view> Node::as_string() const {
  const auto ref = tape(document_, index_);
  if (ref.tape_ref_type() != tape_type::STRING) return std::nullopt;
  return ref.get_string_view();
}

std::optional<std::int64_t> Node::as_int64() const {
  const auto ref = tape(document_, index_);
  if (ref.is_int64()) return ref.next_tape_value<std::int64_t>();
  if (!ref.is_double()) return std::nullopt;  // a UINT64 on the tape is beyond int64
  const auto value = ref.next_tape_value<double>();
  if (std::trunc(value) != value || std::fabs(value) > 0x1p53) return std::nullopt;
  return static_cast<std::int64_t>(value);
}

std::optional<double> Node::as_double() const {
  const auto ref = tape(document_, index_);
  if (ref.is_double()) return ref.next_tape_value<double>();
  if (ref.is_int64()) return static_cast<double>(ref.next_tape_value<std::int64_t>());
  if (ref.is_uint64()) return static_cast<double>(ref.next_tape_value<std::uint64_t>());
  return std::nullopt;
}

MemberRange Node::members() const {
  const auto ref = tape(document_, index_);
  if (ref.tape_ref_type() != tape_type::START_OBJECT) return {document_, 0, 0};
  return {document_, index_ + 1, ref.after_element() - 1};
}

ItemRange Node::items() const {
  const auto ref = tape(document_, index_);
  if (ref.tape_ref_type() != tape_type::START_ARRAY) return {document_, 0, 0};
  return {document_, index_ + 1, ref.after_element() - 1};
}

std::optional<Node> Node::find(std::string_view key) const {
  std::optional<Node> found;
  for (const auto member : members()) {
    if (member.key == key) found = member.value;
  }
  return found;
}

std::size_t Node::size() const {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto member : members()) ++count;
  for ([[maybe_unused]] const auto item : items()) ++count;
  return count;
}

Value Node::to_value() const {
  const auto ref = tape(document_, index_);
  switch (kind()) {
    case Kind::Null: return {};
    case Kind::Bool: return Value::boolean(ref.is_true());
    case Kind::String: return Value::string(std::string{ref.get_string_view()});
    case Kind::Number: {
      std::string text;
      append_to(text);
      return *json::parse(text);
    }
    case Kind::Array: {
      std::vector<Value> copies;
      for (const auto item : items()) copies.push_back(item.to_value());
      return Value::array(std::move(copies));
    }
    case Kind::Object: {
      std::vector<Member> copies;
      for (const auto member : members()) copies.push_back({std::string{member.key}, member.value.to_value()});
      return Value::object(std::move(copies));
    }
  }
  return {};
}

namespace {

void write(Writer& writer, const tape_ref& ref) {
  switch (ref.tape_ref_type()) {
    case tape_type::START_OBJECT: {
      writer.begin_object();
      const auto end = ref.after_element() - 1;
      for (auto at = ref.json_index + 1; at < end;) {
        const tape_ref value{ref.doc, at + 1};
        writer.key(tape_ref{ref.doc, at}.get_string_view());
        write(writer, value);
        at = value.after_element();
      }
      writer.end_object();
      return;
    }
    case tape_type::START_ARRAY: {
      writer.begin_array();
      const auto end = ref.after_element() - 1;
      for (auto at = ref.json_index + 1; at < end;) {
        const tape_ref item{ref.doc, at};
        write(writer, item);
        at = item.after_element();
      }
      writer.end_array();
      return;
    }
    case tape_type::STRING: writer.string(ref.get_string_view()); return;
    case tape_type::INT64: writer.integer(ref.next_tape_value<std::int64_t>()); return;
    case tape_type::UINT64: writer.unsigned_integer(ref.next_tape_value<std::uint64_t>()); return;
    case tape_type::DOUBLE: writer.real(ref.next_tape_value<double>()); return;
    case tape_type::TRUE_VALUE: writer.boolean(true); return;
    case tape_type::FALSE_VALUE: writer.boolean(false); return;
    default: writer.null(); return;
  }
}

}  // namespace

void Node::append_to(std::string& out) const {
  Writer writer{out};
  write(writer, tape(document_, index_));
}

NodeMember MemberRange::iterator::operator*() const {
  return {tape(document_, index_).get_string_view(), Node{document_, index_ + 1}};
}

MemberRange::iterator& MemberRange::iterator::operator++() {
  index_ = tape(document_, index_ + 1).after_element();
  return *this;
}

ItemRange::iterator& ItemRange::iterator::operator++() {
  index_ = tape(document_, index_).after_element();
  return *this;
}

// ---- Reader ----

struct Reader::State {
  Limits limits;
  simdjson::dom::parser parser;
  bool grown = false;  // whether the last text was one of the large ones
};

Reader::Reader(const Limits& limits) : state_(std::make_unique<State>()) {
  state_->limits = limits;
  if (state_->limits.depth_max > 1024) state_->limits.depth_max = 1024;
}
Reader::~Reader() = default;
Reader::Reader(Reader&&) noexcept = default;
Reader& Reader::operator=(Reader&&) noexcept = default;

Result<Node, Error> Reader::parse(std::string_view text) {
  auto& state = *state_;
  if (state.grown) state.parser = simdjson::dom::parser{};
  state.grown = text.size() > kKeptBytesMax;

  simdjson::error_code failed = simdjson::CAPACITY;
  if (text.size() <= state.limits.bytes_max) {
    if (state.parser.capacity() < text.size() || state.parser.capacity() == 0) {
      // One more: simdjson counts the scalars inside the innermost container as a level.
      failed = state.parser.allocate(std::max<std::size_t>(text.size(), 4096), state.limits.depth_max + 1);
      if (failed != simdjson::SUCCESS) throw std::bad_alloc{};
    }
    const auto parsed = state.parser.parse(text.data(), text.size());
    failed = parsed.error();
    if (failed == simdjson::SUCCESS && !has_lone_surrogate(text)) return Node{&state.parser.doc, 1};
  }

  // Only bad texts come here: the careful parser says what is wrong and where.
  auto careful = json::parse(text, {state.limits.depth_max, state.limits.bytes_max, DuplicateKeys::KeepAll});
  if (!careful) return careful.error();
  const std::string_view number = unfit_number(text).value_or(text.substr(0, 0));
  const auto offset = static_cast<std::size_t>(number.data() - text.data());
  const std::string_view before = text.substr(0, offset);
  const std::size_t line_start = before.rfind('\n') + 1;  // 0 on the first line
  return Error{Reason::NumberOutOfRange, offset, static_cast<std::uint32_t>(1 + std::ranges::count(before, '\n')),
               static_cast<std::uint32_t>(1 + offset - line_start),
               fmt::format("the number {}{} is beyond 64 bits, or beyond the range of doubles", number.substr(0, 40), number.size() > 40 ? "..." : "")};
}

}  // namespace fanfare::wire::json
