// Reads JSON on hot paths: one pass, nothing allocated once the reader has warmed up, strings unescaped into views.
//
//   json::Reader reader;                                  // one a thread or loop, kept
//   auto root = reader.parse(body);
//   if (!root) return bad_request(root.error().message());
//   for (auto [key, value] : root->members()) {
//     if (key == "MessageBody") body = value.as_string(); // optional<string_view>
//   }
//
// Rule 1: nodes and views are valid until the next parse() of the same reader, or its end; the text itself may go away.
// Rule 2: the whole text is checked before parse() returns, also what nobody looks at. Accepted is what json::parse
//         accepts, but for integers beyond 64 bits and numbers beyond doubles (Reason::NumberOutOfRange); and an empty
//         array or object may stand one level deeper than Limits::depth_max.
// Rule 3: duplicate keys are all visited; who assigns while iterating takes the last.
// Source: [RFC 8259]; simdjson does the work and stays behind this header.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <string_view>

#include "base/result.h"
#include "wire/json/value.h"

namespace fanfare::wire::json {

class MemberRange;
class ItemRange;

/// One value in a parsed text: two words, to be passed by value.
class Node {
 public:
  [[nodiscard]] Kind kind() const;
  [[nodiscard]] bool is_null() const { return kind() == Kind::Null; }

  /// Nullopt if the value is of another kind.
  [[nodiscard]] std::optional<bool> as_bool() const;
  [[nodiscard]] std::optional<std::string_view> as_string() const;
  /// A whole number in range. Written with a fraction or an exponent (5.0, 5e0) it counts up to 2^53.
  [[nodiscard]] std::optional<std::int64_t> as_int64() const;
  [[nodiscard]] std::optional<double> as_double() const;
  /// Whether it is a number written without fraction and exponent: 5, not 5.0.
  [[nodiscard]] bool is_integer() const;

  /// Members in the order of the text; empty unless this is an object.
  [[nodiscard]] MemberRange members() const;
  /// Elements; empty unless this is an array.
  [[nodiscard]] ItemRange items() const;
  /// The last member of this name; linear in the number of members.
  [[nodiscard]] std::optional<Node> find(std::string_view key) const;
  /// Number of members or elements (counted by walking them); 0 for other kinds.
  [[nodiscard]] std::size_t size() const;

  /// A copy that outlives the reader. Numbers are written anew: 1.10 becomes 1.1.
  [[nodiscard]] Value to_value() const;
  /// The value as compact JSON text.
  void append_to(std::string& out) const;

 private:
  friend class Reader;
  friend class MemberRange;
  friend class ItemRange;
  Node(const void* document, std::size_t index) : document_(document), index_(index) {}
  const void* document_;
  std::size_t index_;
};

struct NodeMember {
  std::string_view key;
  Node value;
};

class MemberRange {
 public:
  class iterator {
   public:
    using value_type = NodeMember;
    using difference_type = std::ptrdiff_t;
    NodeMember operator*() const;
    iterator& operator++();
    void operator++(int) { ++*this; }
    friend bool operator==(const iterator& a, const iterator& b) { return a.index_ == b.index_; }

   private:
    friend class MemberRange;
    iterator(const void* document, std::size_t index) : document_(document), index_(index) {}
    const void* document_;
    std::size_t index_;
  };
  [[nodiscard]] iterator begin() const { return {document_, begin_}; }
  [[nodiscard]] iterator end() const { return {document_, end_}; }

 private:
  friend class Node;
  MemberRange(const void* document, std::size_t begin, std::size_t end)
      : document_(document), begin_(begin), end_(end) {}
  const void* document_;
  std::size_t begin_;
  std::size_t end_;
};

class ItemRange {
 public:
  class iterator {
   public:
    using value_type = Node;
    using difference_type = std::ptrdiff_t;
    Node operator*() const { return {document_, index_}; }
    iterator& operator++();
    void operator++(int) { ++*this; }
    friend bool operator==(const iterator& a, const iterator& b) { return a.index_ == b.index_; }

   private:
    friend class ItemRange;
    iterator(const void* document, std::size_t index) : document_(document), index_(index) {}
    const void* document_;
    std::size_t index_;
  };
  [[nodiscard]] iterator begin() const { return {document_, begin_}; }
  [[nodiscard]] iterator end() const { return {document_, end_}; }

 private:
  friend class Node;
  ItemRange(const void* document, std::size_t begin, std::size_t end) : document_(document), begin_(begin), end_(end) {}
  const void* document_;
  std::size_t begin_;
  std::size_t end_;
};

/// Not thread-safe: one a thread. Movable; a move ends the validity of nodes.
/// Holds about 13 bytes per byte of the longest recent text; what a text beyond 256 KiB needed is given back at the
/// next parse.
class Reader {
 public:
  /// `limits.duplicate_keys` has no meaning here (rule 3).
  explicit Reader(const Limits& limits = {});
  ~Reader();
  Reader(Reader&&) noexcept;
  Reader& operator=(Reader&&) noexcept;

  /// The document's root. The text needs no padding; it is copied.
  Result<Node, Error> parse(std::string_view text);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace fanfare::wire::json
