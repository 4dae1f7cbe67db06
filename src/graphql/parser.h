// Parses request documents and schema texts into a Document.
#pragma once

#include <memory>
#include <string_view>

#include "base/result.h"
#include "graphql/ast.h"
#include "graphql/error.h"

namespace fanfare::graphql {

struct ParseLimits {
  std::size_t bytes = std::size_t{64} << 20;
  std::uint32_t tokens = 10'000'000;
  /// Selection sets, lists and objects inside each other, in one definition. At most kDeepest, whatever is asked for.
  std::uint32_t depth = 200;
  static constexpr std::uint32_t kDeepest = 1000;  ///< one level costs about 300 bytes of stack

  /// For documents from outside.
  static ParseLimits for_requests() { return {std::size_t{1} << 20, 50'000, 200}; }
};

using DocumentPtr = std::shared_ptr<const Document>;

/// The whole text as a Document; `source.text` is copied. Definitions of both kinds, executable and type system, are
/// accepted: the validation rules say which of them may stand where. The error is Rule::Syntax or
/// Rule::DocumentTooLarge, with one location. [GraphQL 2.2]
Result<DocumentPtr, Error> parse(Source source, const ParseLimits& limits = {});

}  // namespace fanfare::graphql
