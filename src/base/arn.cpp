#include "base/arn.h"

#include <algorithm>

#include <fmt/format.h>

namespace fanfare {
namespace {

constexpr std::string_view kPrefix = "arn:aws:";
constexpr std::string_view kFifoSuffix = ".fifo";

/// Takes what stands before the next ':' off the front; empty if there is none.
std::string_view take_part(std::string_view& rest) {
  const std::size_t colon = rest.find(':');
  if (colon == std::string_view::npos) return {};
  const std::string_view part = rest.substr(0, colon);
  rest.remove_prefix(colon + 1);
  return part;
}

bool is_name_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
}

}  // namespace

std::optional<ArnParts> parse_arn(std::string_view arn, std::string_view service) {
  if (!arn.starts_with(kPrefix)) return std::nullopt;
  arn.remove_prefix(kPrefix.size());
  if (take_part(arn) != service) return std::nullopt;
  ArnParts parts;
  parts.region = take_part(arn);
  parts.account = take_part(arn);
  parts.name = arn;
  if (parts.region.empty() || parts.account.empty() || parts.name.empty()) return std::nullopt;
  if (parts.name.find(':') != std::string_view::npos) return std::nullopt;
  return parts;
}

std::string make_arn(std::string_view service, const ArnParts& parts) {
  return fmt::format("{}{}:{}:{}:{}", kPrefix, service, parts.region, parts.account, parts.name);
}

bool is_fifo_name(std::string_view name) { return name.ends_with(kFifoSuffix); }

bool is_resource_name(std::string_view name, std::size_t longest) {
  if (name.size() > longest) return false;
  if (is_fifo_name(name)) name.remove_suffix(kFifoSuffix.size());
  return !name.empty() && std::all_of(name.begin(), name.end(), is_name_character);
}

}  // namespace fanfare
