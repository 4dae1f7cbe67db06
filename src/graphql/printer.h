// Prints syntax trees as GraphQL text.
#pragma once

#include <string>

#include "graphql/ast.h"

namespace fanfare::graphql {

/// The document with one definition after the other, indented by two spaces. Parsing the result gives an equal tree.
std::string print(const Document& document);
void print(std::string& out, const ValueNode& value);
/// `[Int!]!`
void print(std::string& out, const TypeNode& type);
/// The type `name` in its wrappers.
void print_type(std::string& out, std::string_view name, Wrappers wrappers);
/// `text` as a string literal with its quotation marks and escapes.
void print_string(std::string& out, std::string_view text);

}  // namespace fanfare::graphql
