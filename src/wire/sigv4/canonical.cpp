// What is signed: the canonical request, the string to sign, the signing key.
#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

#include "wire/digest/encoding.h"
#include "wire/sigv4/canonical.h"
#include "wire/sigv4/sigv4.h"

namespace fanfare::wire::sigv4 {

// ---- dates ----

AmzDate amz_date_array(Timestamp time) {
  using namespace std::chrono;
  const auto day = floor<days>(time);
  const year_month_day date{day};
  const hh_mm_ss clock{floor<seconds>(time - day)};
  AmzDate out;
  const auto digits = [&out](std::size_t at, unsigned value, std::size_t count) {
    for (auto i = at + count; i > at; value /= 10) out[--i] = static_cast<char>('0' + value % 10);
  };
  digits(0, static_cast<unsigned>(static_cast<int>(date.year())), 4);
  digits(4, static_cast<unsigned>(date.month()), 2);
  digits(6, static_cast<unsigned>(date.day()), 2);
  digits(9, static_cast<unsigned>(clock.hours().count()), 2);
  digits(11, static_cast<unsigned>(clock.minutes().count()), 2);
  digits(13, static_cast<unsigned>(clock.seconds().count()), 2);
  out[8] = 'T';
  out[15] = 'Z';
  return out;
}

std::string amz_date(Timestamp time) {
  const auto text = amz_date_array(time);
  return {text.data(), text.size()};
}

std::optional<Timestamp> parse_amz_date(std::string_view text) {
  using namespace std::chrono;
  if (text.size() != 16 || text[8] != 'T' || text[15] != 'Z') return std::nullopt;
  bool ok = true;
  const auto number = [&](std::size_t at, std::size_t count) {
    unsigned value = 0;
    for (auto i = at; i < at + count; ++i) {
      ok = ok && text[i] >= '0' && text[i] <= '9';
      value = value * 10 + static_cast<unsigned>(text[i] - '0');
    }
    return value;
  };
  const auto year_number = number(0, 4);
  const auto month_number = number(4, 2);
  const auto day_number = number(6, 2);
  const auto hour = number(9, 2);
  const auto minute = number(11, 2);
  const auto second = number(13, 2);
  if (!ok || hour > 23 || minute > 59 || second > 59) return std::nullopt;
  const year_month_day date{year{static_cast<int>(year_number)}, month{month_number}, day{day_number}};
  if (!date.ok()) return std::nullopt;
  return Timestamp{sys_days{date}.time_since_epoch() + hours{hour} + minutes{minute} + seconds{second}};
}

// ---- canonical request ----

namespace {

constexpr bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

/// Without white space around it, and one space for each run inside.
void append_collapsed(std::string& out, std::string_view value) {
  while (!value.empty() && is_space(value.front())) value.remove_prefix(1);
  while (!value.empty() && is_space(value.back())) value.remove_suffix(1);
  std::size_t copied = 0;
  for (std::size_t i = 0; i < value.size(); ++i) {
    // A single space is copied with what is around it; nearly all values have no other white space.
    if (!is_space(value[i]) || (value[i] == ' ' && !is_space(value[i + 1]))) continue;
    out.append(value, copied, i - copied).push_back(' ');
    while (is_space(value[i + 1])) ++i;
    copied = i + 1;
  }
  out.append(value, copied, value.size() - copied);
}

/// Without empty, `.` and `..` segments, encoded once more. `/a//b/../c%20d` becomes `/a/c%2520d`.
void append_path(std::string& out, std::string_view path) {
  if (path.size() <= 1) {
    out.push_back('/');
    return;
  }
  std::vector<std::string_view> segments;
  for (auto rest = path; !rest.empty();) {
    const auto slash = std::min(rest.find('/'), rest.size());
    const auto segment = rest.substr(0, slash);
    rest.remove_prefix(std::min(slash + 1, rest.size()));
    if (segment == "..") {
      if (!segments.empty()) segments.pop_back();
    } else if (!segment.empty() && segment != ".") {
      segments.push_back(segment);
    }
  }
  for (const auto segment : segments) {
    out.push_back('/');
    digest::append_percent_encoded(out, segment);
  }
  if (segments.empty() || path.back() == '/') out.push_back('/');
}

/// Decodes and encodes again, so that every spelling of a parameter becomes AWS's. A `%` without digits stands for
/// itself.
std::string recode(std::string_view text) {
  std::string decoded;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const int high = text[i] == '%' && i + 2 < text.size() ? digest::hex_value(text[i + 1]) : -1;
    const int low = high >= 0 ? digest::hex_value(text[i + 2]) : -1;
    if (low >= 0) {
      decoded.push_back(static_cast<char>(high * 16 + low));
      i += 2;
    } else {
      decoded.push_back(text[i] == '+' ? ' ' : text[i]);
    }
  }
  return digest::percent_encode(decoded);
}

void append_query(std::string& out, std::string_view query) {
  if (query.empty()) return;
  std::vector<std::pair<std::string, std::string>> fields;
  while (!query.empty()) {
    const auto end = std::min(query.find('&'), query.size());
    const auto field = query.substr(0, end);
    query.remove_prefix(std::min(end + 1, query.size()));
    if (field.empty()) continue;
    const auto equals = std::min(field.find('='), field.size());
    auto name = recode(field.substr(0, equals));
    if (name != "X-Amz-Signature")
      fields.emplace_back(std::move(name), recode(field.substr(std::min(equals + 1, field.size()))));
  }
  std::sort(fields.begin(), fields.end());
  bool first = true;
  for (const auto& [name, value] : fields) {
    if (!std::exchange(first, false)) out.push_back('&');
    out.append(name).append("=").append(value);
  }
}

}  // namespace

void append_canonical_request(std::string& out, const RequestView& request, std::string_view signed_headers,
                              std::string_view payload_hash) {
  out.append(request.method).append("\n");
  append_path(out, request.path);
  out.append("\n");
  append_query(out, request.query);
  out.append("\n");
  for (auto rest = signed_headers; !rest.empty();) {
    const auto end = std::min(rest.find(';'), rest.size());
    const auto name = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    out.append(name).append(":");
    bool first = true;
    for (const auto& field : request.headers) {
      if (!http::equal_ignoring_case(field.name, name)) continue;
      if (!std::exchange(first, false)) out.push_back(',');
      append_collapsed(out, field.value);
    }
    out.append("\n");
  }
  out.append("\n").append(signed_headers).append("\n").append(payload_hash);
}

void append_string_to_sign(std::string& out, const digest::Sha256& canonical_hash, Timestamp time,
                           std::string_view region, std::string_view service) {
  const auto date = amz_date_array(time);
  const std::string_view text{date.data(), date.size()};
  out.append(kAlgorithm).append("\n").append(text).append("\n").append(text.substr(0, 8));
  out.append("/").append(region).append("/").append(service).append("/aws4_request\n");
  const auto hash = digest::hex_array(canonical_hash);
  out.append(hash.data(), hash.size());
}

std::string string_to_sign(std::string_view canonical_request, Timestamp time, std::string_view region,
                           std::string_view service) {
  std::string out;
  append_string_to_sign(out, digest::sha256(canonical_request), time, region, service);
  return out;
}

// ---- keys ----

digest::HmacSha256 derive_signing_key(std::string_view secret, std::string_view date, std::string_view region,
                                      std::string_view service) {
  auto key = digest::hmac_sha256("AWS4" + std::string(secret), date);
  key = digest::hmac_sha256(digest::bytes_of(key), region);
  key = digest::hmac_sha256(digest::bytes_of(key), service);
  key = digest::hmac_sha256(digest::bytes_of(key), "aws4_request");
  return digest::HmacSha256{digest::bytes_of(key)};
}

const digest::HmacSha256* SigningKeyCache::find(std::string_view credential, std::string_view secret) const {
  const auto found = keys_.find(credential);
  if (found == keys_.end() || !digest::equal_in_constant_time(found->second.secret, secret)) return nullptr;
  return &found->second.key;
}

void SigningKeyCache::keep(std::string_view credential, std::string_view secret, const digest::HmacSha256& key) {
  if (keys_.size() >= entries_max_) keys_.clear();
  keys_.insert_or_assign(std::string(credential), Entry{std::string(secret), key});
}

}  // namespace fanfare::wire::sigv4
