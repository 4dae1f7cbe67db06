#include "core/live/observation.h"

#include <algorithm>

namespace fanfare::live {

std::string_view name(Phase phase) {
  switch (phase) {
    case Phase::Receive: return "receive";
    case Phase::Dispatch: return "dispatch";
    case Phase::Delete: return "delete";
    case Phase::Publish: return "publish";
    case Phase::Lifecycle: return "lifecycle";
    case Phase::Validation: return "validation";
    case Phase::ListenerFailure: return "listener_failure";
  }
  return "";
}

std::vector<Observation> observations(const Event& event, const Published& published) {
  const auto about = [&](Phase phase, std::size_t listeners, std::string_view category) {
    return Observation{phase, event.trigger.str(), event.id.str(), listeners, category};
  };
  std::vector<Observation> seen;
  if (published.outcome == Outcome::Closed) {
    seen.push_back(about(Phase::Receive, 0, "closed"));
    return seen;
  }
  seen.push_back(about(Phase::Receive, 0, {}));
  switch (published.outcome) {
    case Outcome::Malformed:
      seen.push_back(about(Phase::Validation, 0, published.fault ? name(*published.fault) : std::string_view{}));
      break;
    case Outcome::Duplicate: seen.push_back(about(Phase::Dispatch, 0, "duplicate")); break;
    case Outcome::NoListener: seen.push_back(about(Phase::Dispatch, 0, "no_listener")); break;
    case Outcome::Dispatched: seen.push_back(about(Phase::Dispatch, published.matches.size(), {})); break;
    case Outcome::Closed: break;
  }
  const auto failures = static_cast<std::size_t>(
      std::count_if(published.matches.begin(), published.matches.end(),
                    [](const Match& match) { return match.acceptance != Acceptance::Accepted; }));
  if (failures > 0) seen.push_back(about(Phase::ListenerFailure, failures, "overflow"));
  return seen;
}

}  // namespace fanfare::live
