// DocumentCache: prepared documents by their text, the least recently used given up first; and documents that are trusted.
#pragma once

#include <list>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "graphql/prepared.h"

namespace fanfare::graphql {

struct CacheOptions {
  std::size_t entries = 1000;
  std::size_t bytes = std::size_t{64} << 20;  ///< of the documents' trees, not of their plans
  bool trusted_only = false;                  ///< refuse every document that trust() was not given
  PrepareOptions prepare;
};

/// Not thread-safe: one a loop. The bindings outlive it. A document that is in use stays valid when it is given up.
class DocumentCache {
 public:
  DocumentCache(const Bindings& bindings, CacheOptions options) : bindings_(bindings), options_(std::move(options)) {}

  /// The document of this text, from the cache or prepared now. Texts are compared whole, so no two are ever confused. With
  /// trusted_only the error is Rule::TrustedDocumentsOnly for others.
  Result<PreparedPtr, std::vector<Error>> get(std::string_view text);
  /// The trusted document of this id; Rule::TrustedDocumentsOnly if there is none.
  Result<PreparedPtr, std::vector<Error>> get_trusted(std::string_view id);
  /// Adds a trusted document under an id that clients send instead of it, such as its SHA-256. It is never given up and
  /// kept to no limits but the parser's. The errors are those of prepare().
  Result<Success, std::vector<Error>> trust(std::string id, std::string_view text);

  [[nodiscard]] std::size_t size() const { return by_text_.size(); }
  [[nodiscard]] std::size_t hits() const { return hits_; }
  [[nodiscard]] std::size_t misses() const { return misses_; }

 private:
  using Order = std::list<PreparedPtr>;  // the most recently used first

  void give_up_oldest();

  const Bindings& bindings_;
  CacheOptions options_;
  Order order_;
  std::unordered_map<std::string_view, Order::iterator> by_text_;  // keys are the documents' own texts
  std::unordered_map<std::string, PreparedPtr> trusted_by_id_;
  std::unordered_map<std::string_view, PreparedPtr> trusted_by_text_;
  std::size_t bytes_ = 0;
  std::size_t hits_ = 0;
  std::size_t misses_ = 0;
};

}  // namespace fanfare::graphql
