// The grammar of filter policies. AWS reads them with a streaming JSON parser (Jackson) and names its position in errors:
// the column after what that parser has consumed. Three habits of it matter: after a key it has looked at the first token
// of the value, too; a string's content is consumed only when it is asked for; everything else is consumed whole.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>

#include "core/topic/filter_policy.h"

namespace fanfare::topic {
namespace json = wire::json;
namespace {

constexpr std::size_t kKeysMax = 5;
constexpr std::uint64_t kCombinationsMax = 150;
constexpr std::size_t kBytesMax = 256 * 1024;
constexpr std::size_t kSegmentsMax = 100;
constexpr double kNumberMax = 1e9;  // [SNS filter policy constraints]
constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Names that cannot be fields of the objects of an `$or`: with one of them it is an ordinary key. [event-ruler $or]
constexpr std::string_view kReserved[] = {"exactly", "exists", "anything-but", "prefix", "suffix", "equals-ignore-case",
                                          "wildcard", "numeric", "cidr", "=", "<", "<=", ">", ">="};

enum class Type : std::uint8_t { Key, String, Number, True, False, Null, BeginArray, EndArray, BeginObject, EndObject };

struct Token {
  Type type;
  std::size_t begin;
  std::size_t end;  ///< byte after its last
};

/// Tokens of a text that is known to be JSON, commas and colons left out.
std::vector<Token> tokenize(std::string_view text) {
  std::vector<Token> tokens;
  std::size_t at = 0;
  while (at < text.size()) {
    const char c = text[at];
    std::size_t end = at + 1;
    std::optional<Type> type;
    switch (c) {
      case '{': type = Type::BeginObject; break;
      case '}': type = Type::EndObject; break;
      case '[': type = Type::BeginArray; break;
      case ']': type = Type::EndArray; break;
      case 't': type = Type::True, end = at + 4; break;
      case 'f': type = Type::False, end = at + 5; break;
      case 'n': type = Type::Null, end = at + 4; break;
      case '"':
        type = Type::String;
        while (text[end] != '"') end += text[end] == '\\' ? 2 : 1;
        ++end;
        break;
      case ':': tokens.back().type = Type::Key; break;
      case ',':
      case ' ':
      case '\t':
      case '\r':
      case '\n': break;
      default:
        type = Type::Number;
        while (end < text.size() && text.find_first_of(",]} \t\r\n", end) != end) ++end;
    }
    if (type) tokens.push_back({*type, at, end});
    at = end;
  }
  return tokens;
}

struct Object {
  std::vector<FilterConjunction> alternatives{{}};
  std::uint64_t combinations = 1;  ///< saturates above the limit
};

class Parser {
 public:
  Parser(std::string_view text, FilterScope scope) : text_(text), scope_(scope), tokens_(tokenize(text)) {}

  std::optional<FilterError> error;

  /// The object that begins at the current token, up to its end. False: `error` says why.
  bool object(std::string_view path, std::size_t depth, Object& out) {
    ++at_;
    std::vector<std::string> seen;
    for (; type() != Type::EndObject; ++at_) {
      std::string key = string_at(at_);
      ++at_;
      if (std::find(seen.begin(), seen.end(), key) != seen.end()) {
        return fail(fmt::format("Path `{}` cannot be allowed multiple times", key), at_);
      }
      seen.push_back(key);
      Object inner;
      if (key == "$or" && is_or()) {
        if (!alternatives(path, depth, inner)) return false;
      } else {
        const std::string inner_path = depth == 1 ? key : fmt::format("{}.{}", path, key);
        if (std::count(inner_path.begin(), inner_path.end(), '.') >= static_cast<std::ptrdiff_t>(kSegmentsMax)) return too_complex();
        if (!value(key, inner_path, depth, inner)) return false;
      }
      if (!join(out, inner)) return false;
    }
    return true;
  }

  [[nodiscard]] std::size_t top_level_keys() const {
    std::size_t keys = 0;
    int depth = 0;
    for (const Token& token : tokens_) {
      if (token.type == Type::BeginArray || token.type == Type::BeginObject) ++depth;
      if (token.type == Type::EndArray || token.type == Type::EndObject) --depth;
      if (token.type == Type::Key && depth == 1) ++keys;
    }
    return keys;
  }

  bool too_complex() {
    error = FilterError{FilterError::Kind::TooComplex, "Filter policy is too complex", 0};
    return false;
  }

 private:
  [[nodiscard]] Type type() const { return tokens_[at_].type; }
  [[nodiscard]] std::string_view raw(std::size_t token) const {
    return text_.substr(tokens_[token].begin, tokens_[token].end - tokens_[token].begin);
  }
  [[nodiscard]] std::string string_at(std::size_t token) const { return std::string{*json::parse(raw(token))->as_string()}; }
  [[nodiscard]] double number_at(std::size_t token) const {
    return json::parse(raw(token))->as_double().value_or(kInfinity);
  }

  /// The error at a token that was looked at, and not consumed if it is a string.
  bool fail(std::string message, std::size_t token, FilterError::Kind kind = FilterError::Kind::BadMatch) {
    // After a key the value's first token has been looked at.
    const Token& last = tokens_[tokens_[token].type == Type::Key ? token + 1 : token];
    error = FilterError{kind, std::move(message), last.type == Type::String ? last.begin + 1 : last.end};
    return false;
  }
  bool fail_after(std::string message, std::size_t token, FilterError::Kind kind = FilterError::Kind::BadMatch) {
    error = FilterError{kind, std::move(message), tokens_[token].end};
    return false;
  }

  /// Moves from the beginning of a value to the token behind its end; also right for scalars.
  [[nodiscard]] std::size_t behind(std::size_t token) const {
    int depth = 0;
    do {
      const Type here = tokens_[token].type;
      if (here == Type::BeginArray || here == Type::BeginObject) ++depth;
      if (here == Type::EndArray || here == Type::EndObject) --depth;
      ++token;
    } while (depth > 0);
    return token;
  }

  /// Whether the value at the current token makes its key `$or` an operator: two or more objects without reserved fields.
  [[nodiscard]] bool is_or() const {
    if (type() != Type::BeginArray) return false;
    std::size_t objects = 0;
    std::size_t at = at_ + 1;
    for (; tokens_[at].type != Type::EndArray; at = behind(at)) {
      if (tokens_[at].type != Type::BeginObject || tokens_[at + 1].type == Type::EndObject) return false;
      for (std::size_t key = at + 1; tokens_[key].type == Type::Key; key = behind(key + 1)) {
        if (std::find(std::begin(kReserved), std::end(kReserved), string_at(key)) != std::end(kReserved)) return false;
      }
      ++objects;
    }
    return objects >= 2;
  }

  bool alternatives(std::string_view path, std::size_t depth, Object& out) {
    out.alternatives.clear();
    out.combinations = 0;
    for (++at_; type() != Type::EndArray; ++at_) {
      Object branch;
      if (!object(path, depth, branch)) return false;
      out.combinations += branch.combinations;
      if (out.combinations > kCombinationsMax) return too_complex();
      std::move(branch.alternatives.begin(), branch.alternatives.end(), std::back_inserter(out.alternatives));
    }
    return true;
  }

  bool value(std::string_view key, const std::string& path, std::size_t depth, Object& out) {
    if (type() == Type::BeginObject) {
      if (scope_ == FilterScope::MessageAttributes) {
        return fail(fmt::format("Filter policy scope {} does not support nested filter policy", text_of(scope_)), at_,
                    FilterError::Kind::NestedAttributes);
      }
      if (tokens_[at_ + 1].type == Type::EndObject) {
        ++at_;
        return fail("Empty objects are not allowed", at_);
      }
      return object(path, depth + 1, out);
    }
    if (type() != Type::BeginArray) return fail(fmt::format("\"{}\" must be an object or an array", key), at_);
    FilterClause clause{path, {}};
    if (!leaf(clause.any)) return false;
    // Deeper values cost more. [SNS filter policy constraints]
    out.combinations = clause.any.size() * (scope_ == FilterScope::MessageBody ? depth : 1);
    out.alternatives.front().clauses.push_back(std::move(clause));
    return out.combinations <= kCombinationsMax || too_complex();
  }

  bool join(Object& out, Object& inner) {
    out.combinations *= inner.combinations;
    if (out.combinations > kCombinationsMax) return too_complex();
    // A value counts once at least, so there are no more alternatives than combinations.
    std::vector<FilterConjunction> product;
    product.reserve(out.alternatives.size() * inner.alternatives.size());
    for (const FilterConjunction& left : out.alternatives) {
      for (const FilterConjunction& right : inner.alternatives) {
        product.push_back(left);
        product.back().clauses.insert(product.back().clauses.end(), right.clauses.begin(), right.clauses.end());
      }
    }
    out.alternatives = std::move(product);
    return true;
  }

  bool leaf(std::vector<FilterPattern>& any) {
    ++at_;
    if (type() == Type::EndArray) return fail("Empty arrays are not allowed", at_);
    for (; type() != Type::EndArray; ++at_) {
      FilterPattern pattern;
      if (!(type() == Type::BeginObject ? match_expression(pattern) : literal(pattern))) return false;
      any.push_back(std::move(pattern));
    }
    return true;
  }

  bool literal(FilterPattern& pattern) {
    switch (type()) {
      case Type::String:
        pattern.kind = FilterPattern::Kind::String;
        pattern.text = string_at(at_);
        return true;
      case Type::Number:
        pattern.kind = FilterPattern::Kind::Number;
        pattern.low = pattern.high = number_at(at_);
        return true;
      case Type::True: pattern.kind = FilterPattern::Kind::True; return true;
      case Type::False: pattern.kind = FilterPattern::Kind::False; return true;
      case Type::Null: pattern.kind = FilterPattern::Kind::Null; return true;
      default: return fail("Match value must be String, number, true, false, or null", at_);
    }
  }

  bool match_expression(FilterPattern& pattern) {
    const std::size_t name = at_ + 1;
    if (tokens_[name].type != Type::Key) return fail("Match expression name not found", name);
    const std::string operation = string_at(name);
    at_ = name + 1;
    const auto is = [&](std::string_view wanted) { return operation == wanted; };
    bool read = false;
    if (is("prefix")) {
      read = text("prefix", FilterPattern::Kind::Prefix, pattern);
    } else if (is("suffix")) {
      read = text("suffix", FilterPattern::Kind::Suffix, pattern);
    } else if (is("equals-ignore-case")) {
      read = text("equals-ignore-case", FilterPattern::Kind::EqualsIgnoreCase, pattern);
    } else if (is("wildcard")) {
      read = text("wildcard", FilterPattern::Kind::Wildcard, pattern);
    } else if (is("cidr")) {
      read = text("cidr", FilterPattern::Kind::Cidr, pattern);
    } else if (is("numeric")) {
      read = numeric(pattern);
    } else if (is("exists")) {
      if (type() != Type::True && type() != Type::False)
        return fail("exists match pattern must be either true or false.", at_);
      pattern.kind = type() == Type::True ? FilterPattern::Kind::Exists : FilterPattern::Kind::Absent;
      read = true;
    } else if (is("anything-but")) {
      read = anything_but(pattern);
    } else {
      return fail(fmt::format("Unrecognized match type {}", operation), name, FilterError::Kind::UnknownOperator);
    }
    if (!read) return false;
    ++at_;
    return type() == Type::EndObject || fail("Only one key allowed in match expression", at_);
  }

  /// The operators whose value is one string.
  bool text(std::string_view name, FilterPattern::Kind kind, FilterPattern& pattern) {
    // AWS words it so for an address range, too.
    const std::string_view shown = kind == FilterPattern::Kind::Cidr ? "prefix" : name;
    if (type() != Type::String) return fail(fmt::format("{} match pattern must be a string", shown), at_);
    pattern.kind = kind;
    pattern.text = string_at(at_);
    switch (kind) {
      case FilterPattern::Kind::Prefix:
      case FilterPattern::Kind::Suffix:
        return !pattern.text.empty() || fail_after("Null prefix/suffix not allowed", at_);
      case FilterPattern::Kind::EqualsIgnoreCase: pattern.text = lower_case(pattern.text); return true;
      case FilterPattern::Kind::Wildcard: return wildcard(pattern);
      default: return cidr(pattern);
    }
  }

  /// `*` stands for any text; a backslash makes a star or a backslash ordinary. [event-ruler wildcard]
  bool wildcard(FilterPattern& pattern) {
    const std::string_view text = pattern.text;
    pattern.literals.emplace_back();
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (text[i] == '\\') {
        if (i + 1 == text.size() || (text[i + 1] != '*' && text[i + 1] != '\\'))
          return fail_after(fmt::format("Invalid escape character at pos {}", i), at_);
        pattern.literals.back() += text[++i];
      } else if (text[i] == '*') {
        if (i + 1 < text.size() && text[i + 1] == '*')
          return fail_after(fmt::format("Consecutive wildcard characters at pos {}", i), at_);
        pattern.literals.emplace_back();
      } else {
        pattern.literals.back() += text[i];
      }
    }
    return true;
  }

  bool cidr(FilterPattern& pattern) {
    const std::string_view text = pattern.text;
    const std::size_t slash = text.find('/');
    if (slash == std::string_view::npos || text.find('/', slash + 1) != std::string_view::npos)
      return fail_after("Malformed CIDR, one '/' required", at_);
    const std::string_view bits = text.substr(slash + 1);
    int mask = 0;
    const auto [end, fault] = std::from_chars(bits.data(), bits.data() + bits.size(), mask);
    if (bits.empty() || fault != std::errc{} || end != bits.data() + bits.size())
      return fail_after("Malformed CIDR, mask bits must be an integer", at_);
    if (mask < 0) return fail_after("Malformed CIDR, mask bits must not be negative", at_);
    const auto address = IpRange::parse_address(text.substr(0, slash));
    if (!address) return fail_after(fmt::format("Nonstandard IP address: {}", text.substr(0, slash)), at_);
    if (mask >= address->bits)
      return fail_after(fmt::format("IPv{} mask bits must be < {}", address->v6 ? 6 : 4, address->bits), at_);
    pattern.range = *address;
    pattern.range.bits = static_cast<std::uint8_t>(mask);
    return true;
  }

  bool number_in_range(double& out) {
    out = number_at(at_);
    return (out >= -kNumberMax && out <= kNumberMax) ||
           fail("Value must be between -1.0E9 and 1.0E9, inclusive", at_);
  }

  /// ["=", 5] · [">", 0] · [">", 0, "<=", 100]
  bool numeric(FilterPattern& pattern) {
    if (type() != Type::BeginArray) return fail("Value of numeric must be an array.", at_);
    ++at_;
    if (type() != Type::String) return fail(fmt::format("Invalid member in numeric match: {}", raw(at_)), at_);
    const std::string first = string_at(at_);
    ++at_;
    const bool is_low = first == ">" || first == ">=";
    const bool is_high = first == "<" || first == "<=";
    if (!is_low && !is_high && first != "=")
      return fail(fmt::format("Unrecognized numeric range operator: {}", first), at_);
    if (type() != Type::Number) return fail(fmt::format("Value of {} must be numeric", first == "=" ? "equals" : first), at_);
    double bound = 0;
    if (!number_in_range(bound)) return false;
    ++at_;
    if (first == "=") {
      pattern.kind = FilterPattern::Kind::Number;
      pattern.low = pattern.high = bound;
      return type() == Type::EndArray || fail("Too many terms in numeric range expression", at_);
    }
    pattern.kind = FilterPattern::Kind::Range;
    if (is_high) {
      pattern.low = -kInfinity;
      pattern.high = bound;
      pattern.high_open = first == "<";
      return type() == Type::EndArray || fail("Too many elements in numeric expression", at_);
    }
    pattern.low = bound;
    pattern.low_open = first == ">";
    pattern.high = kInfinity;
    if (type() == Type::EndArray) return true;
    if (type() != Type::String) return fail(fmt::format("Bad value in numeric range: {}", raw(at_)), at_);
    const std::string second = string_at(at_);
    if (second != "<" && second != "<=") return fail_after(fmt::format("Bad numeric range operator: {}", second), at_);
    ++at_;
    if (type() != Type::Number) return fail(fmt::format("Value of {} must be numeric", second), at_);
    if (!number_in_range(pattern.high)) return false;
    pattern.high_open = second == "<";
    ++at_;
    if (type() != Type::EndArray) return fail("Too many terms in numeric range expression", at_);
    return pattern.low < pattern.high || fail("Bottom must be less than top", at_);
  }

  bool anything_but(FilterPattern& pattern) {
    pattern.kind = FilterPattern::Kind::AnythingBut;
    if (type() == Type::BeginObject) return anything_but_operator(pattern);
    if (type() == Type::String || type() == Type::Number) {
      pattern.excluded.emplace_back();
      return literal(pattern.excluded.back());
    }
    if (type() != Type::BeginArray)
      return fail("Value of anything-but must be an array or single string/number value.", at_);
    return anything_but_list([this](FilterPattern& one) { return literal(one); }, true, pattern);
  }

  template <class Read>
  bool anything_but_list(Read&& read, bool numbers_too, FilterPattern& pattern) {
    const Type wanted = tokens_[at_ + 1].type;
    for (++at_; type() != Type::EndArray; ++at_) {
      if (type() != Type::String && !(numbers_too && type() == Type::Number))
        return fail("Inside anything but list, start|null|boolean is not supported.", at_);
      if (type() != wanted)
        return fail("Inside anything but list, either all values are number or string, mixed type is not supported", at_);
      pattern.excluded.emplace_back();
      if (!read(pattern.excluded.back())) return false;
    }
    return !pattern.excluded.empty() || fail("Empty arrays are not allowed", at_);
  }

  /// {"prefix":"a"} · {"wildcard":["a*","*b"]} · {"equals-ignore-case":["x","y"]}. AWS refuses a suffix here.
  bool anything_but_operator(FilterPattern& pattern) {
    const std::size_t name = at_ + 1;
    if (tokens_[name].type != Type::Key) return fail("Anything-But expression name not found", name);
    const std::string operation = string_at(name);
    FilterPattern::Kind kind{};
    if (operation == "prefix") {
      kind = FilterPattern::Kind::Prefix;
    } else if (operation == "wildcard") {
      kind = FilterPattern::Kind::Wildcard;
    } else if (operation == "equals-ignore-case") {
      kind = FilterPattern::Kind::EqualsIgnoreCase;
    } else {
      return fail(fmt::format("Unsupported anything-but pattern: {}", operation), name);
    }
    at_ = name + 1;
    const auto read = [&](FilterPattern& one) { return text(operation, kind, one); };
    if (type() == Type::BeginArray) {
      if (!anything_but_list(read, false, pattern)) return false;
    } else {
      pattern.excluded.emplace_back();
      if (!read(pattern.excluded.back())) return false;
    }
    ++at_;
    return type() == Type::EndObject || fail("Only one key allowed in match expression", at_);
  }

  std::string_view text_;
  FilterScope scope_;
  std::vector<Token> tokens_;
  std::size_t at_ = 0;
};

}  // namespace

Result<std::vector<FilterConjunction>, FilterError> parse_filter_conjunctions(std::string_view text, FilterScope scope) {
  using Kind = FilterError::Kind;
  if (text.size() > kBytesMax) return FilterError{Kind::TooComplex, "Filter policy is too complex", 0};
  const auto document = json::parse(text, {.depth_max = kSegmentsMax, .duplicate_keys = json::DuplicateKeys::KeepAll});
  if (!document) return FilterError{Kind::NotJson, "failed to parse JSON. " + document.error().message(), 0};
  if (!document->is_object()) return FilterError{Kind::NotJson, "Filter must be an object", 0};
  Parser parser(text, scope);
  if (parser.top_level_keys() > kKeysMax)
    return FilterError{Kind::TooManyKeys, fmt::format("Filter policy can not have more than {} keys", kKeysMax), 0};
  Object object;
  if (!parser.object({}, 1, object)) return std::move(*parser.error);
  return std::move(object.alternatives);
}

}  // namespace fanfare::topic
