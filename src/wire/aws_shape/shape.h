// What an AWS service model says about a structure, as data: the one description that both protocols read and write by.
// A structure of the model is a plain C++ struct of the field types below; its Shape names each member, its place in
// the struct and its spellings. Decoders store through a Shape, encoders read through it, so no operation is written
// down twice.
//
// Rule 1: decoded values are views: into the request's bytes, or into the Arena when they had to be unescaped. They
// live as
//         long as both.
// Rule 2: every field type is trivially copyable, so that the elements of a growing list can be moved as bytes.
// Rule 3: an absent member differs from an empty one: has_value().
//
// Source of truth: the services' models (tools/generate_operations.py makes the tables from them).
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

namespace fanfare::wire::aws {

/// A string, or (as Bytes) the decoded bytes of a blob.
class Text {
 public:
  constexpr Text() = default;
  constexpr Text(std::string_view text) : data_(text.data() == nullptr ? "" : text.data()), size_(text.size()) {}
  constexpr Text(const char* text) : Text(std::string_view(text)) {}

  [[nodiscard]] constexpr bool has_value() const { return data_ != nullptr; }
  /// Empty when absent.
  [[nodiscard]] constexpr std::string_view view() const { return {data_ == nullptr ? "" : data_, size_}; }
  [[nodiscard]] constexpr bool empty() const { return size_ == 0; }

 private:
  const char* data_ = nullptr;
  std::size_t size_ = 0;
};
using Bytes = Text;

template <class T>
class Field {
 public:
  constexpr Field() = default;
  constexpr Field(T value) : value_(value), present_(true) {}
  [[nodiscard]] constexpr bool has_value() const { return present_; }
  constexpr const T& operator*() const { return value_; }
  [[nodiscard]] constexpr T value_or(T otherwise) const { return present_ ? value_ : otherwise; }

 private:
  T value_{};
  bool present_ = false;
};
using Number = Field<std::int64_t>;  ///< integer (checked to fit 32 bits when read) and long
using Flag = Field<bool>;
using Real = Field<double>;
using Time = Field<std::int64_t>;  ///< milliseconds since 1970-01-01T00:00:00Z

/// How a List looks to code that knows its elements only by their Shape.
struct RawList {
  const void* data = nullptr;
  std::uint32_t size = 0;
  bool present = false;
};

/// A list member, or a map member as its entries in the order in which they came.
template <class T>
class List : private RawList {
 public:
  constexpr List() = default;
  constexpr List(const T* items, std::size_t count) : RawList{items, static_cast<std::uint32_t>(count), true} {}
  constexpr List(std::span<const T> items) : List(items.data(), items.size()) {}
  List(const std::vector<T>& items) : List(items.data(), items.size()) {}

  [[nodiscard]] constexpr bool has_value() const { return present; }
  [[nodiscard]] constexpr std::size_t size() const { return RawList::size; }
  [[nodiscard]] constexpr bool empty() const { return RawList::size == 0; }
  constexpr const T& operator[](std::size_t index) const { return begin()[index]; }
  [[nodiscard]] constexpr const T* begin() const { return static_cast<const T*>(data); }
  [[nodiscard]] constexpr const T* end() const { return begin() + RawList::size; }
};

template <class V>
struct Entry {
  Text key;
  V value;
};
template <class V>
using Map = List<Entry<V>>;

static_assert(sizeof(RawList) == sizeof(List<Text>) && std::is_standard_layout_v<List<Text>>);

enum class Kind : std::uint8_t { String, Integer, Long, Double, Boolean, Blob, Timestamp, List, Map, Structure };

struct Shape;

struct Member {
  std::string_view name;      ///< the model's and JSON's spelling: "QueueUrl"
  std::string_view json_key;  ///< "\"QueueUrl\":"
  std::string_view
      query_name;  ///< the Query protocol's spelling; of a flattened list that of its elements: "AttributeName"
  const Shape* shape;
  std::uint16_t offset;  ///< of the field in the struct
  bool required;
};

struct Shape {
  std::string_view name;  ///< the model's: "SendMessageRequest"
  Kind kind;
  std::uint16_t size = 0;             ///< Structure: of the struct. List, Map: of one element
  std::span<const Member> members{};  ///< Structure
  const Shape* element = nullptr;     ///< List: of an element. Map: of a value
  std::uint16_t value_offset = 0;     ///< Map: of the value in an entry
  bool flattened = false;             ///< List, Map: the Query protocol repeats the member's own name
  std::string_view element_name{};    ///< List, not flattened: "member"
  std::string_view key_name{};        ///< Map: "Name" or "key"
  std::string_view value_name{};      ///< Map: "Value" or "value"
};

inline constexpr Shape kStringShape{"String", Kind::String};
inline constexpr Shape kIntegerShape{"Integer", Kind::Integer};
inline constexpr Shape kLongShape{"Long", Kind::Long};
inline constexpr Shape kDoubleShape{"Double", Kind::Double};
inline constexpr Shape kBooleanShape{"Boolean", Kind::Boolean};
inline constexpr Shape kBlobShape{"Blob", Kind::Blob};
inline constexpr Shape kTimestampShape{"Timestamp", Kind::Timestamp};

/// The error of both decoders, in the protocols' own terms; `api` says it in the service's words.
struct DecodeError {
  enum class What : std::uint8_t {
    Malformed,   ///< nested or numbered in a way that no structure can have
    WrongType,   ///< a member has a value of another type than the model's
    OutOfRange,  ///< a number that the member's type cannot hold
    TooMany,     ///< more parameters than one request may hold
  };
  What what;
  std::string_view member{};  ///< the member of the Shape that was being read; empty if none
  Kind expected = Kind::String;
  std::string_view found{};  ///< what stood there instead, static text: "a number"
  bool element = false;      ///< it stood in the list that the member is
  std::string_view key{};    ///< it stood under this key in the map that the member is; lives as long as the document
};

/// "String", "Integer": a kind's name, for messages.
constexpr std::string_view name_of(Kind kind) {
  switch (kind) {
    case Kind::String: return "String";
    case Kind::Integer: return "Integer";
    case Kind::Long: return "Long";
    case Kind::Boolean: return "Boolean";
    case Kind::Blob: return "Blob";
    case Kind::Double: return "Double";
    case Kind::Timestamp: return "Timestamp";
    case Kind::List: return "List";
    case Kind::Map: return "Map";
    case Kind::Structure: return "Structure";
  }
  return {};
}

/// Memory of one request: given out front to back, taken back all at once by reset(), which keeps one block for the
/// next request. Holds trivially destructible values only. Not thread-safe.
class Arena {
 public:
  explicit Arena(std::size_t first_block = std::size_t{16} << 10) : first_size_(first_block) {}

  /// Aligned to 8 bytes, not initialised; never null.
  char* take(std::size_t bytes) {
    bytes = (bytes + 7) & ~std::size_t{7};
    if (static_cast<std::size_t>(end_ - next_) < bytes) grow(bytes);
    char* taken = next_;
    next_ += bytes;
    return taken;
  }
  /// The same for `count` values of T, each value-initialised.
  template <class T>
  T* take_array(std::size_t count) {
    static_assert(std::is_trivially_destructible_v<T> && alignof(T) <= 8);
    return new (take(count * sizeof(T))) T[count]{};
  }
  std::string_view copy(std::string_view text) {
    if (text.empty()) return {"", 0};
    char* to = take(text.size());
    std::memcpy(to, text.data(), text.size());
    return {to, text.size()};
  }
  /// All values given out so far become invalid.
  void reset() {
    if (blocks_.size() > 1) blocks_.erase(blocks_.begin() + 1, blocks_.end());
    next_ = blocks_.empty() ? nullptr : blocks_.front().get();
    end_ = blocks_.empty() ? nullptr : next_ + first_size_;
  }

 private:
  void grow(std::size_t bytes) {
    // A request that needs more than the first block gets blocks that double, so their number stays small.
    std::size_t size = first_size_ << (blocks_.size() < 8 ? blocks_.size() : 8);
    if (blocks_.empty()) size = first_size_;
    if (size < bytes && !blocks_.empty()) size = bytes;
    if (blocks_.empty() && size < bytes) {
      // The first block keeps its size for ever, or one huge request would be remembered by every later one.
      blocks_.push_back(std::make_unique_for_overwrite<char[]>(first_size_));
      size = bytes;
    }
    blocks_.push_back(std::make_unique_for_overwrite<char[]>(size));
    next_ = blocks_.back().get();
    end_ = next_ + size;
  }

  std::size_t first_size_;
  std::vector<std::unique_ptr<char[]>> blocks_;
  char* next_ = nullptr;
  char* end_ = nullptr;
};

/// Grows a List through its Shape: elements lie in the Arena behind a header that remembers the room.
class ListBuilder {
 public:
  ListBuilder(Arena& arena, RawList& list, std::size_t element_size)
      : arena_(arena), list_(list), element_size_(element_size) {}

  /// A zeroed element at the end. Earlier elements may move: keep no pointer to one across this call.
  char* append() {
    if (!list_.present) list_ = {nullptr, 0, true};
    Header* header = list_.data == nullptr ? nullptr : header_of(list_);
    if (header == nullptr || list_.size == header->capacity) header = make_room(header);
    char* element = reinterpret_cast<char*>(header + 1) + list_.size * element_size_;
    ++list_.size;
    std::memset(element, 0, element_size_);
    return element;
  }
  /// The last element, for decoders that return to it.
  char* last() { return reinterpret_cast<char*>(header_of(list_) + 1) + (list_.size - 1) * element_size_; }
  /// A number that the decoder keeps with the list (the index of its last element in the Query protocol).
  std::uint32_t& note() { return header_of(list_)->note; }

 private:
  struct Header {
    std::uint32_t capacity;
    std::uint32_t note;
  };
  static Header* header_of(RawList& list) { return static_cast<Header*>(const_cast<void*>(list.data)) - 1; }

  Header* make_room(Header* old) {
    const std::uint32_t capacity = old == nullptr ? 4 : old->capacity * 2;
    auto* header = reinterpret_cast<Header*>(arena_.take(sizeof(Header) + capacity * element_size_));
    *header = {capacity, old == nullptr ? 0 : old->note};
    if (old != nullptr) std::memcpy(header + 1, old + 1, list_.size * element_size_);
    list_.data = header + 1;
    return header;
  }

  Arena& arena_;
  RawList& list_;
  std::size_t element_size_;
};

template <class T>
T& field_at(void* structure, std::size_t offset) {
  return *std::launder(reinterpret_cast<T*>(static_cast<char*>(structure) + offset));
}
template <class T>
const T& field_at(const void* structure, std::size_t offset) {
  return *std::launder(reinterpret_cast<const T*>(static_cast<const char*>(structure) + offset));
}

}  // namespace fanfare::wire::aws
