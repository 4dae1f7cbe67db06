#include "identity/sessions.h"

#include <fmt/format.h>

#include <array>
#include <charconv>

#include "wire/digest/digest.h"
#include "wire/digest/encoding.h"
#include "wire/json/value.h"
#include "wire/json/writer.h"

namespace fanfare::identity {
namespace digest = wire::digest;
namespace json = wire::json;
namespace {

constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
constexpr std::string_view kPrefix = "ASIA";
constexpr std::size_t kKeySize = 20;
constexpr std::size_t kMacSize = 32;
constexpr std::size_t kTokenMax = 16 * 1024;

// A minted key's id: the prefix, the account in base 32 (8 digits), 8 digits by chance.
std::string make_key_id(std::string_view account, Secrets& secrets) {
  std::uint64_t number = 0;
  std::from_chars(account.data(), account.data() + account.size(), number);
  std::string id{kPrefix};
  for (int shift = 35; shift >= 0; shift -= 5) id.push_back(kDigits[number >> shift & 31]);
  const auto random = secrets.bytes16();
  for (std::size_t i = 0; i < 8; ++i) id.push_back(kDigits[random[i] & 31]);
  return id;
}

std::string seal(std::string_view key, std::string_view access_key_id, std::string_view body) {
  std::string sealed{access_key_id};
  sealed.push_back('\0');
  sealed.append(body);
  return std::string(digest::bytes_of(digest::hmac_sha256(key, sealed)));
}

std::string text_of(const json::Value& value, std::string_view member) {
  return std::string(value.find_string(member).value_or(std::string_view{}));
}

}  // namespace

std::string Session::arn() const {
  if (kind == Kind::User) return principal;
  return fmt::format("arn:aws:sts::{}:assumed-role/{}/{}", account, principal.substr(principal.rfind('/') + 1), name);
}

SessionTokens::SessionTokens(std::string_view secret)
    : key_(digest::bytes_of(digest::hmac_sha256(secret, "fanfare session credentials"))) {}

std::string SessionTokens::secret_of(std::string_view access_key_id) const {
  const auto mac = digest::hmac_sha256(key_, "secret of " + std::string(access_key_id));
  return digest::base64(digest::bytes_of(mac)).substr(0, 40);
}

Credentials SessionTokens::mint(const Session& session, Secrets& secrets) const {
  Credentials out;
  out.access_key_id = make_key_id(session.account, secrets);
  out.secret = secret_of(out.access_key_id);
  std::string body;
  json::Writer w(body);
  w.begin_object().key("k").string(session.kind == Session::Kind::Role ? "role" : "user");
  w.key("a").string(session.account).key("p").string(session.principal).key("n").string(session.name);
  w.key("w").string(session.provider).key("s").string(session.source_identity);
  w.key("e").integer(unix_ms(session.expires)).key("o").begin_array();
  for (const std::string& one : session.policies) w.string(one);
  w.end_array().key("t").begin_array();
  for (const auto& [key, value] : session.tags) w.begin_array().string(key).string(value).end_array();
  w.end_array().key("m").begin_array();
  for (const std::string& arn : session.policy_arns) w.string(arn);
  w.end_array().key("x").begin_array();
  for (const std::string& key : session.transitive_tags) w.string(key);
  w.end_array().end_object();
  out.token = digest::base64(seal(key_, out.access_key_id, body) + body);
  return out;
}

std::optional<Session> SessionTokens::open(std::string_view token, std::string_view access_key_id) const {
  if (token.size() > kTokenMax) return std::nullopt;
  const auto bytes = digest::decode_base64(token);
  if (!bytes || bytes->size() < kMacSize) return std::nullopt;
  const std::string_view body = std::string_view(*bytes).substr(kMacSize);
  if (!digest::equal_in_constant_time(seal(key_, access_key_id, body), std::string_view(*bytes).substr(0, kMacSize)))
    return std::nullopt;
  const auto value = json::parse(body);
  if (!value) return std::nullopt;
  Session session;
  session.kind = value->find_string("k") == "user" ? Session::Kind::User : Session::Kind::Role;
  session.account = text_of(*value, "a");
  session.principal = text_of(*value, "p");
  session.name = text_of(*value, "n");
  session.provider = text_of(*value, "w");
  session.source_identity = text_of(*value, "s");
  const json::Value* expires = value->find("e");
  const json::Value* policies = value->find("o");
  const json::Value* tags = value->find("t");
  if (expires == nullptr || !expires->as_int64() || policies == nullptr || tags == nullptr) return std::nullopt;
  session.expires = timestamp_from_unix_ms(*expires->as_int64());
  for (const json::Value& one : policies->items()) session.policies.emplace_back(one.as_string().value_or(""));
  for (const json::Value& pair : tags->items()) {
    if (pair.size() != 2) return std::nullopt;
    session.tags.emplace_back(pair.items()[0].as_string().value_or(""), pair.items()[1].as_string().value_or(""));
  }
  for (const auto& [member, into] : {std::pair{"m", &session.policy_arns}, {"x", &session.transitive_tags}})
    if (const json::Value* texts = value->find(member))  // absent in tokens of earlier versions
      for (const json::Value& one : texts->items()) into->emplace_back(one.as_string().value_or(""));
  return session;
}

bool is_session_key(std::string_view access_key_id) {
  return access_key_id.size() == kKeySize && access_key_id.starts_with(kPrefix) &&
         access_key_id.find_first_not_of(kDigits) == std::string_view::npos;
}

std::string account_of_session_key(std::string_view access_key_id) {
  if (!is_session_key(access_key_id)) return {};
  std::uint64_t number = 0;
  for (const char c : access_key_id.substr(kPrefix.size(), 8)) number = number << 5 | kDigits.find(c);
  if (number > 999'999'999'999) return {};
  return fmt::format("{:012}", number);
}

}  // namespace fanfare::identity
