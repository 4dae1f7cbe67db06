#include "graphql/cache.h"

#include <fmt/format.h>

namespace fanfare::graphql {
namespace {

std::vector<Error> not_trusted(std::string message) {
  Error error;
  error.rule = Rule::TrustedDocumentsOnly;
  error.message = std::move(message);
  return {error};
}

}  // namespace

Result<PreparedPtr, std::vector<Error>> DocumentCache::get(std::string_view text) {
  if (const auto trusted = trusted_by_text_.find(text); trusted != trusted_by_text_.end()) return trusted->second;
  if (options_.trusted_only) return not_trusted("Only documents that this server knows can be executed.");
  if (const auto found = by_text_.find(text); found != by_text_.end()) {
    ++hits_;
    order_.splice(order_.begin(), order_, found->second);
    return order_.front();
  }
  ++misses_;
  auto prepared = Prepared::prepare(bindings_, {"request", text}, options_.prepare);
  if (!prepared) return prepared.error();
  const std::size_t bytes = (*prepared)->bytes();
  if (options_.entries == 0 || bytes > options_.bytes) return *prepared;
  order_.push_front(*prepared);
  by_text_.emplace((*prepared)->document().text, order_.begin());
  bytes_ += bytes;
  while (order_.size() > options_.entries || bytes_ > options_.bytes) give_up_oldest();
  return *prepared;
}

void DocumentCache::give_up_oldest() {
  by_text_.erase(order_.back()->document().text);
  bytes_ -= order_.back()->bytes();
  order_.pop_back();
}

Result<PreparedPtr, std::vector<Error>> DocumentCache::get_trusted(std::string_view id) {
  const auto found = trusted_by_id_.find(std::string(id));
  if (found != trusted_by_id_.end()) return found->second;
  return not_trusted(fmt::format("This server knows no document \"{}\".", id.substr(0, 100)));
}

Result<Success, std::vector<Error>> DocumentCache::trust(std::string id, std::string_view text) {
  PrepareOptions options = options_.prepare;
  options.limits = {};
  options.limits.depth = Limits::kDeepest;
  options.limits.aliases = 0;
  options.limits.directives = 0;
  options.limits.root_fields = 0;
  options.limits.complexity = 0;
  auto prepared = Prepared::prepare(bindings_, {id, text}, options);
  if (!prepared) return prepared.error();
  trusted_by_text_.erase(text);  // its key is the text of the document that it maps to
  trusted_by_text_.emplace((*prepared)->document().text, *prepared);
  trusted_by_id_.insert_or_assign(std::move(id), *prepared);
  return Success{};
}

}  // namespace fanfare::graphql
