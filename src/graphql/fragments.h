// FragmentIndex: a document's fragments by name. Sorted, so that no choice of names makes it slow.
#pragma once

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "graphql/ast.h"

namespace fanfare::graphql {

class FragmentIndex {
 public:
  static constexpr std::uint32_t kNone = 0xFFFFFFFF;

  explicit FragmentIndex(const Document& document) {
    names_.reserve(document.fragments.size());
    for (std::uint32_t i = 0; i < document.fragments.size(); ++i) names_.emplace_back(document.fragments[i]->name.text(), i);
    std::sort(names_.begin(), names_.end());
  }

  /// Index in Document::fragments, of several with one name the last; kNone if there is none.
  [[nodiscard]] std::uint32_t find(std::string_view name) const {
    const auto after = std::upper_bound(names_.begin(), names_.end(), std::pair(name, kNone));
    if (after == names_.begin()) return kNone;
    const auto& found = *std::prev(after);
    return found.first == name ? found.second : kNone;
  }

 private:
  std::vector<std::pair<std::string_view, std::uint32_t>> names_;
};

}  // namespace fanfare::graphql
