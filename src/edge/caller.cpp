#include "edge/caller.h"

#include <algorithm>

#include "core/inbox/input.h"

namespace fanfare::edge {
namespace {

/// What stands before the first `separator`, which is taken away with it; the whole text if there is none.
std::string_view take_until(std::string_view& text, char separator) {
  const std::size_t at = text.find(separator);
  const std::string_view part = text.substr(0, at);
  text = at == std::string_view::npos ? std::string_view{} : text.substr(at + 1);
  return part;
}

}  // namespace

bool Caller::holds(const inbox::Workspace& workspace) const {
  return std::find(workspaces.begin(), workspaces.end(), workspace) != workspaces.end();
}

Result<Caller, TokenError> DevelopmentTokens::verify(std::string_view token, Timestamp) const {
  Caller caller;
  if (token == "dev-service") {
    caller.may_notify = true;
    return caller;
  }
  if (take_until(token, ':') != "dev") return TokenError::Unreadable;
  const std::string_view person = take_until(token, ':');
  if (inbox::check_identifier("sub", person, inbox::kRecipientBytesMax)) return TokenError::Unreadable;
  caller.person = inbox::Recipient{person};
  while (!token.empty()) {
    const std::string_view workspace = take_until(token, ',');
    if (inbox::check_identifier("workspaces", workspace, inbox::kWorkspaceBytesMax)) return TokenError::Unreadable;
    caller.workspaces.emplace_back(workspace);
  }
  return caller;
}

}  // namespace fanfare::edge
