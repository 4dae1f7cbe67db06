#include "server/options.h"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <functional>
#include <system_error>

#include "net/address.h"
#include "net/smtp_client.h"
#include "server/chaos.h"
#include "wire/http/url.h"
#include "wire/mail/mail.h"

namespace fanfare::server {
namespace {

constexpr std::array<std::string_view, 4> kRoles{"broker", "live", "inbox", "console"};

/// Thrown inside the reader only; becomes the error text.
struct Refused {
  std::string text;
};

std::string place(const YAML::Node& node) {
  const YAML::Mark mark = node.Mark();
  return mark.is_null() ? std::string{} : fmt::format("line {}: ", mark.line + 1);
}

[[noreturn]] void refuse(const YAML::Node& node, const std::string& key, const std::string& accepted) {
  throw Refused{fmt::format("{}{}: {}", place(node), key, accepted)};
}

std::string text(const YAML::Node& node, const std::string& key) {
  if (!node.IsScalar()) refuse(node, key, "expected one value");
  return node.Scalar();
}

bool boolean(const YAML::Node& node, const std::string& key) {
  const std::string value = text(node, key);
  if (value == "true") return true;
  if (value == "false") return false;
  refuse(node, key, fmt::format("'{}' is neither true nor false", value));
}

/// "64MiB", "512KiB", "1GiB", "4096".
std::uint64_t bytes(const YAML::Node& node, const std::string& key) {
  const std::string value = text(node, key);
  std::size_t digits = 0;
  while (digits < value.size() && value[digits] >= '0' && value[digits] <= '9') ++digits;
  const std::string unit = value.substr(digits);
  const int shift = unit.empty() ? 0 : unit == "KiB" ? 10 : unit == "MiB" ? 20 : unit == "GiB" ? 30 : -1;
  if (digits == 0 || digits > 12 || shift < 0) refuse(node, key, fmt::format("'{}' is no size; write 4096, 512KiB, 64MiB or 1GiB", value));
  const std::uint64_t number = std::stoull(value.substr(0, digits));
  if (number > (std::uint64_t{1} << 50) >> shift) refuse(node, key, fmt::format("'{}' is more than 1,048,576GiB", value));
  return number << shift;
}

int whole(const YAML::Node& node, const std::string& key) {
  const std::string value = text(node, key);
  if (value.empty() || value.size() > 9 || !std::all_of(value.begin(), value.end(), [](char c) { return c >= '0' && c <= '9'; }))
    refuse(node, key, fmt::format("'{}' is no whole number from 0 to 999999999", value));
  return std::stoi(value);
}

std::vector<SourceOptions> sources(const YAML::Node& node, const std::string& key) {
  if (!node.IsSequence()) refuse(node, key, "expected a list of {topic: NAME} or {queue: NAME}");
  std::vector<SourceOptions> list;
  for (const YAML::Node& entry : node) {
    if (!entry.IsMap()) refuse(entry, key, "expected {topic: NAME} or {queue: NAME}");
    SourceOptions source;
    for (const auto& member : entry) {
      const std::string name = member.first.Scalar();
      if (name == "topic") source.topic = text(member.second, key + ".topic");
      else if (name == "queue") source.queue = text(member.second, key + ".queue");
      else if (name == "create") source.create = boolean(member.second, key + ".create");
      else refuse(member.first, fmt::format("{}.{}", key, name), "unknown; accepted are topic, queue, create");
    }
    if (source.topic.empty() == source.queue.empty()) refuse(entry, key, "name either a topic or a queue");
    list.push_back(std::move(source));
  }
  return list;
}

using Setter = std::function<void(const YAML::Node&, const std::string& key, ServeOptions&)>;

template <class T>
Setter set(T ServeOptions::*member) {
  return [member](const YAML::Node& node, const std::string& key, ServeOptions& options) {
    if constexpr (std::is_same_v<T, std::string>) {
      options.*member = text(node, key);
      // An empty value stands for a missing one inside: as from a variable that is not set, it must not turn TLS off without a word.
      if ((options.*member).empty() && (ServeOptions{}.*member).empty()) refuse(node, key, "'' is no value; write one, or leave the key out");
    } else if constexpr (std::is_same_v<T, bool>) {
      options.*member = boolean(node, key);
    } else if constexpr (std::is_same_v<T, int> || std::is_same_v<T, std::optional<int>>) {
      options.*member = whole(node, key);
    } else if constexpr (std::is_same_v<T, std::uint64_t>) {
      options.*member = bytes(node, key);
    } else {
      options.*member = sources(node, key);
    }
  };
}

void set_access_keys(const YAML::Node& node, const std::string& key, ServeOptions& options) {
  if (!node.IsMap()) refuse(node, key, "expected a map of access key id to secret");
  for (const auto& member : node) options.access_keys[member.first.Scalar()] = text(member.second, key + "." + member.first.Scalar());
}

void set_origins(const YAML::Node& node, const std::string& key, ServeOptions& options) {
  if (!node.IsSequence()) refuse(node, key, "expected a list of origins such as https://app.example.com");
  for (const YAML::Node& entry : node) options.allowed_origins.push_back(text(entry, key));
}

void set_permitted(const YAML::Node& node, const std::string& key, ServeOptions& options) {
  if (!node.IsSequence()) refuse(node, key, "expected a list of networks such as 10.0.0.0/8");
  for (const YAML::Node& entry : node) {
    options.sns_permitted.push_back(text(entry, key));
    if (!net::IpBlock::parse(options.sns_permitted.back()))
      refuse(entry, key, fmt::format("'{}' is no network; write 10.0.0.0/8 or one address", options.sns_permitted.back()));
  }
}

const std::map<std::string, Setter>& settings() {
  static const std::map<std::string, Setter> known{
      {"data", set(&ServeOptions::data)},
      {"memory", set(&ServeOptions::memory)},
      {"listen", set(&ServeOptions::listen)},
      {"edge.listen", set(&ServeOptions::edge)},
      {"admin", set(&ServeOptions::admin)},
      {"roles", set(&ServeOptions::roles)},
      {"auth.mode", set(&ServeOptions::auth)},
      {"auth.access_keys", set_access_keys},
      {"identities", set(&ServeOptions::identities)},
      {"policies", set(&ServeOptions::policies)},
      {"region", set(&ServeOptions::region)},
      {"account", set(&ServeOptions::account)},
      {"durability", set(&ServeOptions::durability)},
      {"inbox-store", set(&ServeOptions::inbox_store)},
      {"clock", set(&ServeOptions::clock)},
      {"loop", set(&ServeOptions::loop)},
      {"chaos", set(&ServeOptions::chaos)},
      {"chaos-seed", set(&ServeOptions::chaos_seed)},
      {"threads", set(&ServeOptions::threads)},
      {"allow-public-development", set(&ServeOptions::allow_public_development)},
      {"live.sources", set(&ServeOptions::live_sources)},
      {"inbox.sources", set(&ServeOptions::inbox_sources)},
      {"sns.signing_url", set(&ServeOptions::sns_signing_url)},
      {"sns.public_url", set(&ServeOptions::sns_public_url)},
      {"sns.ca_file", set(&ServeOptions::sns_ca_file)},
      {"sns.permitted_networks", set_permitted},
      {"smtp.server", set(&ServeOptions::smtp)},
      {"smtp.from", set(&ServeOptions::smtp_from)},
      {"smtp.login_file", set(&ServeOptions::smtp_login_file)},
      {"smtp.ca_file", set(&ServeOptions::smtp_ca_file)},
      {"smtp.plain", set(&ServeOptions::smtp_plain)},
      {"tls.certificate", set(&ServeOptions::tls_certificate)},
      {"tls.key", set(&ServeOptions::tls_key)},
      {"edge.allowed_origins", set_origins},
      {"edge.files", set(&ServeOptions::edge_files)},
      {"journal.resident_bytes", set(&ServeOptions::resident_bytes)},
      {"journal.segment_bytes", set(&ServeOptions::segment_bytes)},
      {"journal.snapshot_bytes", set(&ServeOptions::snapshot_bytes)},
  };
  return known;
}

void read_section(const YAML::Node& node, const std::string& prefix, ServeOptions& options) {
  for (const auto& member : node) {
    const std::string key = prefix + member.first.Scalar();
    const auto setter = settings().find(key);
    if (setter != settings().end()) {
      setter->second(member.second, key, options);
      continue;
    }
    // `edge: 127.0.0.1:4580` is the flag; `edge: {files: ..}` is the section. The same with auth and smtp.
    if (member.second.IsScalar() && (key == "edge" || key == "auth" || key == "smtp")) {
      (key == "edge" ? options.edge : key == "auth" ? options.auth : options.smtp) = member.second.Scalar();
      continue;
    }
    const bool section = std::any_of(settings().begin(), settings().end(),
                                     [&](const auto& known) { return known.first.starts_with(key + "."); });
    if (section && member.second.IsMap()) {
      read_section(member.second, key + ".", options);
      continue;
    }
    std::string accepted;
    for (const auto& [name, unused] : settings())
      if (name.starts_with(prefix)) accepted += (accepted.empty() ? "" : ", ") + name;
    refuse(member.first, key, "unknown; accepted are " + accepted);
  }
}

bool is_region_character(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-'; }

bool is_readable(const std::string& path) {
  std::ifstream file{path};
  return file && file.peek() != std::ifstream::traits_type::eof();
}

/// `https://app.example.com:8443`: scheme, host and perhaps a port.
Result<Success, std::string> is_origin(std::string_view name, const std::string& text) {
  const auto url = wire::http::parse_url(text);
  if (!url) return fmt::format("{}: '{}': {}; expected such as https://app.example.com", name, text, wire::http::describe(url.error()));
  if (url->path != "/" || url->has_query || !url->userinfo.empty() || text.ends_with('/'))
    return fmt::format("{}: '{}' has more than scheme, host and port; expected such as https://app.example.com", name, text);
  return Success{};
}

Result<Success, std::string> one_of(std::string_view flag, const std::string& value, std::initializer_list<std::string_view> accepted) {
  std::string list;
  for (const std::string_view word : accepted) {
    if (value == word) return Success{};
    list += fmt::format("{}{}", list.empty() ? "" : ", ", word);
  }
  return fmt::format("--{}: '{}' is unknown; accepted are {}", flag, value, list);
}

Result<Success, std::string> check_mail(const ServeOptions& options) {
  if (options.smtp.empty()) {
    if (!options.smtp_from.empty() || options.smtp_plain || !options.smtp_login_file.empty() || !options.smtp_ca_file.empty())
      return std::string{"--smtp: names the mail server that the other settings of mail are for; it is missing"};
    return Success{};
  }
  if (const auto server = net::check_smtp_url(options.smtp); !server) return "--smtp: " + server.error();
  if (!wire::mail::is_address(options.smtp_from))
    return fmt::format("--smtp-from: '{}' is no e-mail address; say where mails come from, such as news@example.com", options.smtp_from);
  if (options.smtp_plain && options.smtp.starts_with("smtps:")) return std::string{"--smtp-plain: an smtps:// server has TLS from the first byte; write smtp://"};
  return Success{};
}

Result<Success, std::string> check_roles(const ServeOptions& options) {
  std::string_view rest = options.roles;
  if (rest.empty()) return std::string{"--roles: name at least one of broker, live, inbox, console"};
  while (!rest.empty()) {
    const std::size_t comma = std::min(rest.find(','), rest.size());
    if (std::find(kRoles.begin(), kRoles.end(), rest.substr(0, comma)) == kRoles.end())
      return fmt::format("--roles: '{}' is unknown; accepted are broker, live, inbox, console", rest.substr(0, comma));
    rest.remove_prefix(std::min(comma + 1, rest.size()));
  }
  if (!options.has_role("broker")) return std::string{"--roles: this version runs the other roles beside its own broker only; add broker"};
  return Success{};
}

}  // namespace

bool ServeOptions::has_role(std::string_view role) const {
  std::string_view rest = roles;
  while (!rest.empty()) {
    const std::size_t comma = std::min(rest.find(','), rest.size());
    if (rest.substr(0, comma) == role) return true;
    rest.remove_prefix(std::min(comma + 1, rest.size()));
  }
  return false;
}

Result<Success, std::string> read_config_file(const std::string& path, ServeOptions& options) {
  try {
    // Not YAML::LoadFile(): of a folder it throws what is no exception of YAML's.
    std::ifstream file{path, std::ios::binary};
    std::string text;
    for (char part[4096]; file.read(part, sizeof part), file.gcount() > 0;) text.append(part, static_cast<std::size_t>(file.gcount()));
    if (!file.eof()) return fmt::format("{}: cannot be read: {}", path, std::generic_category().message(errno));
    const YAML::Node root = YAML::Load(text);
    if (root.IsNull()) return Success{};
    if (!root.IsMap()) return fmt::format("{}: expected a map of settings", path);
    read_section(root, "", options);
    return Success{};
  } catch (const Refused& refused) {
    return fmt::format("{}: {}", path, refused.text);
  } catch (const YAML::Exception& error) {
    return fmt::format("{}: line {}: {}", path, error.mark.line + 1, error.msg);
  }
}

std::uint64_t fitting_segment_bytes(std::uint64_t configured, std::uint64_t disk_bytes) {
  if (disk_bytes == 0) return configured;
  return std::min(configured, std::max<std::uint64_t>(std::bit_floor(disk_bytes / 16), 1 << 20));
}

Result<Success, std::string> check(const ServeOptions& options) {
  std::string problems;  // all of them, in one line
  const auto note = [&problems](std::string_view problem) { problems.append(problems.empty() ? "" : "; also ").append(problem); };
  const auto note_unless = [&note](const Result<Success, std::string>& fine) {
    if (!fine) note(fine.error());
  };
  if (options.data.empty()) note("--data: '' is no folder; name one, or say --memory");
  for (const auto& [flag, address] : {std::pair{"listen", options.listen}, {"edge", options.edge}, {"admin", options.admin}})
    if (const auto parsed = net::HostPort::parse(address); !parsed) note(fmt::format("--{} {}: {}", flag, address, net::describe(parsed.error())));
  note_unless(check_roles(options));
  note_unless(one_of("auth", options.auth, {"development", "enforced"}));
  if (options.auth == "enforced" && options.identities.empty()) note("--auth enforced: name the users and their keys with --identities FILE");
  note_unless(one_of("policies", options.policies, {"full", "off"}));
  if (options.region.empty() || options.region.size() > 64 || !std::all_of(options.region.begin(), options.region.end(), is_region_character))
    note(fmt::format("--region: '{}' is no region; accepted are 1 to 64 letters, digits and hyphens, such as us-east-1", options.region));
  if (options.account.size() != 12 || !std::all_of(options.account.begin(), options.account.end(), [](char c) { return c >= '0' && c <= '9'; }))
    note(fmt::format("--account: '{}' is no account; accepted are 12 digits", options.account));
  note_unless(one_of("durability", options.durability, {"sync", "relaxed"}));
  note_unless(one_of("inbox-store", options.inbox_store, {"sqlite"}));
  note_unless(one_of("clock", options.clock, {"real", "manual"}));
  if (options.threads && (*options.threads < 1 || *options.threads > 256))
    note(fmt::format("--threads: {} is out of range; accepted are 1 to 256, and without the option there is one a core", *options.threads));
  note_unless(one_of("loop", options.loop, {"auto", "io_uring", "epoll"}));
  if (const auto plan = FaultPlan::parse(options.chaos); !plan) note("--chaos: " + plan.error());
  if (options.chaos_seed < 0 || options.chaos_seed > 999'999'999)
    note(fmt::format("--chaos-seed: {} is out of range; accepted are 0 to 999999999", options.chaos_seed));
  if (std::error_code ignored; !options.edge_files.empty() && !std::filesystem::is_directory(options.edge_files, ignored))
    note(fmt::format("--edge-files: {} is no folder", options.edge_files));
  note_unless(check_mail(options));
  if (options.tls_certificate.empty() != options.tls_key.empty())
    note(fmt::format("--{}: a certificate and its key belong together; the {} is missing",
                     options.tls_certificate.empty() ? "tls-certificate" : "tls-key", options.tls_certificate.empty() ? "certificate" : "key"));
  for (const auto& [name, file] : {std::pair{"--smtp-ca-file", options.smtp_ca_file}, {"sns.ca_file", options.sns_ca_file}})
    if (!file.empty() && !is_readable(file)) note(fmt::format("{} {}: expected a file of certificates in PEM; it cannot be read, or is empty", name, file));
  for (const auto& [name, url] : {std::pair{"sns.signing_url", options.sns_signing_url}, {"sns.public_url", options.sns_public_url}})
    if (!url.empty()) note_unless(is_origin(name, url));
  for (const std::string& origin : options.allowed_origins) {
    // Pages of applications have schemes of their own: capacitor://localhost.
    const bool other_scheme = !origin.starts_with("http") && origin.find("://") != std::string::npos;
    if (origin != "*" && origin != "null" && !other_scheme) note_unless(is_origin("edge.allowed_origins", origin));
  }
  for (const auto* sources : {&options.live_sources, &options.inbox_sources})
    for (const SourceOptions& source : *sources)
      if (!source.topic.empty())
        note(fmt::format("sources: {{topic: {}}}: this version polls queues only; subscribe a queue to the topic and name it", source.topic));
  if (options.segment_bytes < (1u << 20) || options.segment_bytes > (4ull << 30))
    note(fmt::format("journal.segment_bytes: {} bytes are out of range; accepted are 1MiB to 4GiB", options.segment_bytes));
  if (options.snapshot_bytes < (64u << 10)) note(fmt::format("journal.snapshot_bytes: {} bytes are out of range; accepted are 64KiB and more", options.snapshot_bytes));
  if (!problems.empty()) return problems;
  return Success{};
}

}  // namespace fanfare::server
