// Cursor: a place in one inbox of one store, as one opaque token.
// Rule 1: (epoch, scope, sequence) is one value; a cursor of another store, of another inbox, or from behind a restore
//         is recognised and never taken for a place of this one.
// Rule 2: the text is safe in URLs and as the id of a server-sent event: [0-9a-f-], 27 to 42 characters.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/inbox/types.h"

namespace fanfare::inbox {

struct Cursor {
  Epoch epoch = 0;          ///< 0: of no store; what an unreadable text stands for.
  std::uint32_t scope = 0;  ///< scope_of() its inbox.
  Sequence sequence = 0;    ///< Everything up to and including this one lies before the cursor.

  friend bool operator==(const Cursor&, const Cursor&) = default;

  /// "9f86d081884c7d65-a1b2c3d4-2a"
  [[nodiscard]] std::string text() const;
  static std::optional<Cursor> parse(std::string_view text);
};

/// A short digest of recipient and workspace. Stable for ever: it stands in cursors that clients keep.
std::uint32_t scope_of(const InboxKey& inbox);

}  // namespace fanfare::inbox
