// Header fields as views, in the order they came.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

#include "wire/http/ascii.h"

namespace fanfare::wire::http {

/// One field: `Content-Type: text/plain`; the value without white space around it. Views.
struct Header {
  std::string_view name;
  std::string_view value;
};

/// ASCII only: `Content-Type` equals `content-type`.
inline bool equal_ignoring_case(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] != b[i] && to_lower(a[i]) != to_lower(b[i])) return false;
  }
  return true;
}

/// Whether `list` (`keep-alive, Upgrade`) has this element, ignoring case [RFC 9110 5.6.1].
bool list_has(std::string_view list, std::string_view element);

/// The fields of one message; a view, cheap to copy.
class Headers {
 public:
  Headers() = default;
  explicit Headers(std::span<const Header> fields) : fields_(fields) {}

  /// Value of the first field of this name in any case; nullopt if there is none.
  [[nodiscard]] std::optional<std::string_view> find(std::string_view name) const;
  /// The same, empty if there is none.
  [[nodiscard]] std::string_view get(std::string_view name) const { return find(name).value_or(std::string_view{}); }
  /// Whether a field of this name, or several together, list this element: has("Connection", "Upgrade").
  [[nodiscard]] bool has(std::string_view name, std::string_view element) const;
  [[nodiscard]] std::size_t count(std::string_view name) const;

  [[nodiscard]] auto begin() const { return fields_.begin(); }
  [[nodiscard]] auto end() const { return fields_.end(); }
  [[nodiscard]] std::size_t size() const { return fields_.size(); }
  [[nodiscard]] std::span<const Header> fields() const { return fields_; }

 private:
  std::span<const Header> fields_;
};

}  // namespace fanfare::wire::http
