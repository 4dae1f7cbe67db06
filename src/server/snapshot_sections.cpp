#include "server/snapshot_sections.h"

#include <memory>
#include <string_view>
#include <utility>

#include "base/bytes.h"

namespace fanfare::server {

void append_framed(std::string& out, std::string_view section) {
  append_le(out, static_cast<std::uint64_t>(section.size()));
  out.append(section);
}

journal::SnapshotSource source_of(std::vector<std::string> sections) {
  struct State {
    std::vector<std::string> sections;
    std::size_t next = 0;
    std::string framed;
  };
  auto state = std::make_shared<State>();  // shared: a SnapshotSource is copied
  state->sections = std::move(sections);
  return [state]() -> std::optional<std::string_view> {
    if (state->next == state->sections.size()) return std::string_view{};
    std::string& section = state->sections[state->next++];
    state->framed.clear();
    append_framed(state->framed, section);
    std::string().swap(section);  // the whole is large; it is not needed twice
    return std::string_view{state->framed};
  };
}

std::optional<std::string> SectionReader::next() {
  if (!fill(8)) {
    broken_ = broken_ || buffer_.size() != used_;
    return std::nullopt;
  }
  const auto bytes = load_le<std::uint64_t>(buffer_.data() + used_);
  used_ += 8;
  if (bytes > reader_.bytes() || !fill(bytes)) {
    broken_ = true;
    return std::nullopt;
  }
  std::string section = buffer_.substr(used_, bytes);
  used_ += bytes;
  return section;
}

bool SectionReader::fill(std::uint64_t bytes) {
  while (buffer_.size() - used_ < bytes) {
    if (used_ > 0) {
      buffer_.erase(0, used_);
      used_ = 0;
    }
    const auto piece = reader_.next();
    if (!piece) {
      broken_ = true;
      return false;
    }
    if (piece->empty()) return false;
    buffer_.append(*piece);
  }
  return true;
}

}  // namespace fanfare::server
