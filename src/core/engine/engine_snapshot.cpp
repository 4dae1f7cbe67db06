// The state as a whole: snapshot and load, relocation of contents, and the state as text.
#include <fmt/format.h>

#include "core/engine/archive.h"
#include "core/engine/engine_core.h"

namespace fanfare::engine {

void EngineCore::snapshot(const std::function<void(std::string_view)>&) const {}
Result<Success, ReplayError> EngineCore::load(const std::function<std::optional<std::string>()>&) { return Success{}; }
bool EngineCore::relocate(LogPosition, std::uint64_t, const std::function<std::optional<std::string>(LogPosition)>&, Outputs&) {
  return false;
}
std::string EngineCore::debug_state() const { return {}; }

}  // namespace fanfare::engine
