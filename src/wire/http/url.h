// URLs and form fields: absolute http(s) URLs taken apart, query strings and form bodies decoded into ordered pairs.
// Source: [RFC 3986], [WHATWG URL application/x-www-form-urlencoded].
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace fanfare::wire::http {

/// `https://user@example.com:8443/a%20b?x=1#top`. Owns its parts.
struct Url {
  bool secure = false;   ///< https
  std::string userinfo;  ///< `user` or `user:password`, still encoded; mostly empty
  std::string host;      ///< lower case; an IPv6 address without its brackets
  std::uint16_t port = 80;
  std::string path;   ///< still encoded; `/` if the URL has none
  std::string query;  ///< still encoded, without `?`
  bool has_query = false;

  /// `/a%20b?x=1`: what a request line wants.
  [[nodiscard]] std::string target() const;
  /// `example.com:8443`; without the port if it is the scheme's; IPv6 in brackets. For the Host field.
  [[nodiscard]] std::string authority() const;
  /// The whole URL again, without userinfo and fragment.
  [[nodiscard]] std::string text() const;
};

enum class UrlError : std::uint8_t {
  NotHttp,  ///< neither `http://` nor `https://`
  NoHost,
  BadHost,       ///< a character that no host name has, or a broken IPv6 address
  BadPort,       ///< not a number from 1 to 65535
  BadCharacter,  ///< white space, a control character or a byte beyond ASCII: encode it first
};
/// `the port is not a number from 1 to 65535`
std::string_view describe(UrlError error);

Result<Url, UrlError> parse_url(std::string_view text);

/// Whether a host text is `localhost`, in 127/8 or ::1.
bool is_loopback_host(std::string_view host);

struct FormField {
  std::string_view name;
  std::string_view value;
};

/// The fields of a query string or form body, decoded, in order. Reusable: nothing is allocated once it has warmed up.
class Form {
 public:
  /// Decodes `Action=SendMessage&MessageBody=a+b%21`: `+` is a space, %XX a byte; a field without `=` has an empty
  /// value; empty fields (`a&&b`) are skipped. Views are valid until the next parse() or move, and while `text` is
  /// (fields without escapes point into it). Returns the offset of a `%` that two hex digits do not follow, or nullopt.
  std::optional<std::size_t> parse(std::string_view text);

  [[nodiscard]] std::span<const FormField> fields() const { return fields_; }
  /// Value of the first field of this name, case matters; nullopt if there is none. Linear.
  [[nodiscard]] std::optional<std::string_view> find(std::string_view name) const;

 private:
  std::vector<FormField> fields_;
  std::string decoded_;  // at least as long as the text; only its front is used
};

/// Appends with `+` for a space, as HTML forms do: the client's side of Form.
void append_form_encoded(std::string& out, std::string_view text);
/// Appends `name=value`, after an `&` unless `out` is empty.
void append_form_field(std::string& out, std::string_view name, std::string_view value);

}  // namespace fanfare::wire::http
