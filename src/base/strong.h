// Strong<Tag>: a string with a meaning. Two of them with different tags do not convert into each other.
#pragma once

#include <compare>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

namespace fanfare {

template <class Tag>
class Strong {
 public:
  Strong() = default;
  explicit Strong(std::string text) : text_(std::move(text)) {}
  explicit Strong(std::string_view text) : text_(text) {}
  explicit Strong(const char* text) : text_(text) {}

  [[nodiscard]] const std::string& str() const { return text_; }
  [[nodiscard]] bool empty() const { return text_.empty(); }

  friend bool operator==(const Strong&, const Strong&) = default;
  friend std::strong_ordering operator<=>(const Strong&, const Strong&) = default;

 private:
  std::string text_;
};

}  // namespace fanfare

template <class Tag>
struct std::hash<fanfare::Strong<Tag>> {
  std::size_t operator()(const fanfare::Strong<Tag>& value) const noexcept {
    return std::hash<std::string>{}(value.str());
  }
};
