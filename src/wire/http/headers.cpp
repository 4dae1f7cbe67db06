// Looking up header fields, in any case.
#include "wire/http/headers.h"

#include "wire/http/ascii.h"

namespace fanfare::wire::http {

bool list_has(std::string_view list, std::string_view element) {
  for (;;) {
    const auto comma = list.find(',');
    if (equal_ignoring_case(trim(list.substr(0, comma)), element)) return true;
    if (comma == std::string_view::npos) return false;
    list.remove_prefix(comma + 1);
  }
}

std::optional<std::string_view> Headers::find(std::string_view name) const {
  for (const auto& field : fields_) {
    if (equal_ignoring_case(field.name, name)) return field.value;
  }
  return std::nullopt;
}

bool Headers::has(std::string_view name, std::string_view element) const {
  for (const auto& field : fields_) {
    if (equal_ignoring_case(field.name, name) && list_has(field.value, element)) return true;
  }
  return false;
}

std::size_t Headers::count(std::string_view name) const {
  std::size_t count = 0;
  for (const auto& field : fields_) count += equal_ignoring_case(field.name, name) ? 1 : 0;
  return count;
}

}  // namespace fanfare::wire::http
