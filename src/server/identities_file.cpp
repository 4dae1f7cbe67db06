#include "server/identities_file.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <initializer_list>
#include <sstream>
#include <utility>

#include "base/time.h"
#include "server/log.h"
#include "server/yaml_as_json.h"

namespace fanfare::server {
namespace {

/// Thrown inside the reader only; becomes the error's text.
struct Refused {
  std::string text;
};

[[noreturn]] void refuse(const YAML::Node& node, const std::string& where, const std::string& why) {
  const YAML::Mark mark = node.Mark();
  throw Refused{mark.is_null() ? fmt::format("{}: {}", where, why)
                               : fmt::format("line {}: {}: {}", mark.line + 1, where, why)};
}

std::string text_of(const YAML::Node& node, const std::string& where) {
  if (!node.IsScalar()) refuse(node, where, "expected one text");
  return node.Scalar();
}

std::string account_of(const YAML::Node& node, const std::string& where) {
  std::string account = text_of(node, where);
  if (account.size() != 12 || account.find_first_not_of("0123456789") != std::string::npos)
    refuse(node, where, fmt::format("'{}' is no account: 12 digits in quotes are accepted", account));
  return account;
}

/// Where files beside the identities file are, and which have been read.
struct Beside {
  std::string folder;
  FilesRead* read;
};

std::string read_file(const YAML::Node& node, const std::string& where, const Beside& beside) {
  const std::string name = text_of(node, where);
  const std::string path = beside.folder.empty() || name.starts_with('/') ? name : beside.folder + "/" + name;
  if (beside.read != nullptr) beside.read->emplace_back(path);
  std::ifstream file(path, std::ios::binary);
  if (!file) refuse(node, where, fmt::format("the file '{}' cannot be read", name));
  std::stringstream content;
  content << file.rdbuf();
  std::string secret = content.str();
  while (!secret.empty() && (secret.back() == '\n' || secret.back() == '\r')) secret.pop_back();
  return secret;
}

policy::Policy policy_of(const YAML::Node& node, const std::string& where, policy::PolicyKind kind) {
  std::string text;
  if (node.IsScalar()) {
    text = node.Scalar();  // a policy may stand as its JSON text
  } else {
    text = json_of(node);
  }
  auto parsed = policy::Policy::parse(text, kind);
  if (!parsed) refuse(node, where, parsed.error().message());
  return std::move(*parsed);
}

std::vector<policy::Policy> policies_of(const YAML::Node& node, const std::string& where) {
  if (!node.IsSequence()) refuse(node, where, "expected a list of policies");
  std::vector<policy::Policy> out;
  for (const YAML::Node& item : node)
    out.push_back(policy_of(item, fmt::format("{}[{}]", where, out.size()), policy::PolicyKind::Identity));
  return out;
}

using Fields =
    std::initializer_list<std::pair<std::string_view, std::function<void(const YAML::Node&, const std::string&)>>>;

/// Hands each member to its reader; unknown ones, and `needed` ones that are missing, are refused.
void read_members(const YAML::Node& node, const std::string& where, Fields fields,
                  std::initializer_list<std::string_view> needed) {
  if (!node.IsMap()) refuse(node, where, "expected keys and values");
  std::vector<std::string> seen;
  for (const auto& member : node) {
    const std::string name = member.first.Scalar();
    if (std::find(seen.begin(), seen.end(), name) != seen.end())
      refuse(member.first, where, fmt::format("'{}' stands twice", name));
    seen.push_back(name);
    bool known = false;
    std::string accepted;
    for (const auto& [key, read] : fields) {
      accepted += (accepted.empty() ? "" : ", ") + std::string(key);
      if (key != name) continue;
      known = true;
      read(member.second, where + "." + name);
    }
    if (!known) refuse(member.first, where, fmt::format("unknown key '{}'; accepted are {}", name, accepted));
  }
  for (const std::string_view name : needed)
    if (std::find(seen.begin(), seen.end(), name) == seen.end())
      refuse(node, where, fmt::format("'{}' is missing", name));
}

template <class Read>
void each(const YAML::Node& node, const std::string& where, Read read) {
  if (!node.IsSequence()) refuse(node, where, "expected a list");
  std::size_t index = 0;
  for (const YAML::Node& item : node) read(item, fmt::format("{}[{}]", where, index++));
}

std::vector<identity::AccessKey> keys_of(const YAML::Node& node, const std::string& where, const Beside& beside) {
  std::vector<identity::AccessKey> keys;
  each(node, where, [&](const YAML::Node& item, const std::string& place) {
    identity::AccessKey key;
    read_members(
        item, place,
        {{"id", [&](const YAML::Node& n, const std::string& w) { key.id = text_of(n, w); }},
         {"secret", [&](const YAML::Node& n, const std::string& w) { key.secret = text_of(n, w); }},
         {"secret_file", [&](const YAML::Node& n, const std::string& w) { key.secret = read_file(n, w, beside); }}},
        {"id"});
    if (key.id.empty() || key.id.find('/') != std::string::npos)
      refuse(item, place, "the key's id is empty or has a slash");
    if (key.secret.empty()) refuse(item, place, "the key has no secret: secret or secret_file is accepted");
    keys.push_back(std::move(key));
  });
  return keys;
}

std::string name_of(const YAML::Node& node, const std::string& where) {
  std::string name = text_of(node, where);
  if (!identity::is_iam_name(name))
    refuse(node, where, fmt::format("'{}' is no name: 1 to 64 letters, digits and _+=,.@- are accepted", name));
  return name;
}

std::vector<std::pair<std::string, std::string>> tags_of(const YAML::Node& node, const std::string& where) {
  if (!node.IsMap()) refuse(node, where, "expected tags as {name: value}");
  std::vector<std::pair<std::string, std::string>> tags;
  for (const auto& member : node)
    tags.emplace_back(member.first.Scalar(), text_of(member.second, where + "." + member.first.Scalar()));
  return tags;
}

std::string path_of(const YAML::Node& node, const std::string& where) {
  std::string path = text_of(node, where);
  const bool plain = std::ranges::all_of(path, [](char c) { return c > ' ' && c <= '~' && c != ':' && c != '*' && c != '?'; });
  if (!path.starts_with('/') || !path.ends_with('/') || path.size() > 512 || !plain)
    refuse(node, where, fmt::format("'{}' is no path: what begins and ends with / and has no space, colon, * or ? is accepted", path));
  return path;
}

identity::Account read_account(const YAML::Node& node, const std::string& where, const Beside& beside) {
  identity::Account account;
  read_members(
      node, where,
      {{"id", [&](const YAML::Node& n, const std::string& w) { account.id = account_of(n, w); }},
       {"organization", [&](const YAML::Node& n, const std::string& w) { account.organization = text_of(n, w); }},
       {"access_keys", [&](const YAML::Node& n, const std::string& w) { account.access_keys = keys_of(n, w, beside); }},
       {"service_control_policies",
        [&](const YAML::Node& n, const std::string& w) {
          // A list of policies is one level; a list of lists, a level each.
          if (n.IsSequence() && n.size() > 0 && n[0].IsSequence())
            each(n, w, [&](const YAML::Node& level, const std::string& place) {
              account.service_control_policies.push_back(policies_of(level, place));
            });
          else
            account.service_control_policies.push_back(policies_of(n, w));
        }}},
      {"id"});
  return account;
}

identity::User read_user(const YAML::Node& node, const std::string& where, const Beside& beside) {
  identity::User user;
  read_members(
      node, where,
      {{"name", [&](const YAML::Node& n, const std::string& w) { user.name = name_of(n, w); }},
       {"account", [&](const YAML::Node& n, const std::string& w) { user.account = account_of(n, w); }},
       {"path", [&](const YAML::Node& n, const std::string& w) { user.path = path_of(n, w); }},
       {"access_keys", [&](const YAML::Node& n, const std::string& w) { user.access_keys = keys_of(n, w, beside); }},
       {"policies", [&](const YAML::Node& n, const std::string& w) { user.policies = policies_of(n, w); }},
       {"permissions_boundary",
        [&](const YAML::Node& n, const std::string& w) {
          user.permissions_boundary = policy_of(n, w, policy::PolicyKind::Identity);
        }},
       {"tags", [&](const YAML::Node& n, const std::string& w) { user.tags = tags_of(n, w); }}},
      {"name", "account"});
  return user;
}

identity::Role read_role(const YAML::Node& node, const std::string& where) {
  identity::Role role;
  read_members(node, where,
               {{"name", [&](const YAML::Node& n, const std::string& w) { role.name = name_of(n, w); }},
                {"account", [&](const YAML::Node& n, const std::string& w) { role.account = account_of(n, w); }},
                {"path", [&](const YAML::Node& n, const std::string& w) { role.path = path_of(n, w); }},
                {"trust", [&](const YAML::Node& n,
                              const std::string& w) { role.trust = policy_of(n, w, policy::PolicyKind::Resource); }},
                {"policies", [&](const YAML::Node& n, const std::string& w) { role.policies = policies_of(n, w); }},
                {"permissions_boundary",
                 [&](const YAML::Node& n, const std::string& w) {
                   role.permissions_boundary = policy_of(n, w, policy::PolicyKind::Identity);
                 }},
                {"tags", [&](const YAML::Node& n, const std::string& w) { role.tags = tags_of(n, w); }},
                {"max_session",
                 [&](const YAML::Node& n, const std::string& w) {
                   const auto duration = parse_duration(text_of(n, w));
                   if (!duration || *duration < std::chrono::hours{1} || *duration > std::chrono::hours{12})
                     refuse(n, w, "a duration from 1h to 12h is accepted");
                   role.max_session_seconds = std::chrono::duration_cast<seconds>(*duration).count();
                 }}},
               {"name", "account", "trust"});
  return role;
}

/// The keys of a provider, as its jwks_uri serves them.
wire::jwt::KeySet keys_of_provider(const YAML::Node& node, const std::string& where, const std::string& text) {
  const auto document = wire::json::parse(text);
  if (!document) refuse(node, where, "no JSON: " + document.error().message());
  auto keys = wire::jwt::KeySet::parse(*document);
  if (!keys) refuse(node, where, keys.error());
  return std::move(*keys);
}

identity::Provider read_provider(const YAML::Node& node, const std::string& where, const Beside& beside) {
  identity::Provider provider;
  read_members(
      node, where,
      {{"url",
        [&](const YAML::Node& n, const std::string& w) {
          provider.url = text_of(n, w);
          if (provider.url.starts_with("https://")) provider.url.erase(0, 8);
        }},
       {"account", [&](const YAML::Node& n, const std::string& w) { provider.account = account_of(n, w); }},
       {"client_ids",
        [&](const YAML::Node& n, const std::string& w) {
          each(n, w, [&](const YAML::Node& item, const std::string& place) {
            provider.client_ids.push_back(text_of(item, place));
          });
        }},
       {"jwks",
        [&](const YAML::Node& n, const std::string& w) {
          provider.keys = keys_of_provider(n, w, n.IsScalar() ? n.Scalar() : json_of(n));
        }},
       {"jwks_file",
        [&](const YAML::Node& n, const std::string& w) { provider.keys = keys_of_provider(n, w, read_file(n, w, beside)); }},
       {"hs256_secret", [&](const YAML::Node& n, const std::string& w) { provider.hs256_secret = text_of(n, w); }},
       {"hs256_secret_file",
        [&](const YAML::Node& n, const std::string& w) { provider.hs256_secret = read_file(n, w, beside); }}},
      {"url"});
  if (provider.url.empty() || provider.url.find("://") != std::string::npos)
    refuse(node, where, fmt::format("'{}' is no https URL of an issuer", provider.url));
  if (provider.hs256_secret.empty() && provider.keys.empty())
    refuse(node, where, "its keys are missing: jwks, jwks_file, hs256_secret or hs256_secret_file is accepted");
  return provider;
}

identity::ManagedPolicy read_managed_policy(const YAML::Node& node, const std::string& where) {
  identity::ManagedPolicy managed;
  read_members(node, where,
               {{"arn",
                 [&](const YAML::Node& n, const std::string& w) {
                   managed.arn = text_of(n, w);
                   const std::string_view arn = managed.arn;
                   const std::string_view rest = arn.substr(std::min<std::size_t>(arn.size(), 13));
                   const std::size_t colon = rest.find(':');
                   const std::string_view account = rest.substr(0, colon);
                   const bool known = account == "aws" || (account.size() == 12 &&
                                                           account.find_first_not_of("0123456789") == std::string_view::npos);
                   if (!arn.starts_with("arn:aws:iam::") || !known || !rest.substr(colon + 1).starts_with("policy/") ||
                       arn.ends_with('/'))
                     refuse(n, w, fmt::format("'{}' is no ARN of a policy: arn:aws:iam::444455556666:policy/NAME is accepted", arn));
                 }},
                {"policy", [&](const YAML::Node& n, const std::string& w) {
                   managed.policy = policy_of(n, w, policy::PolicyKind::Identity);
                 }}},
               {"arn", "policy"});
  return managed;
}

/// Changes when the file does.
std::string mark_of(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return "none";
  return fmt::format("{} {} {}.{}", status.st_ino, status.st_size, status.st_mtim.tv_sec, status.st_mtim.tv_nsec);
}

}  // namespace

FileRead::FileRead(std::string its_path) : path(std::move(its_path)), mark(mark_of(path)) {}

bool FileRead::has_changed() const { return mark_of(path) != mark; }

Result<std::unique_ptr<const identity::Directory>, IdentitiesError> parse_identities(const std::string& text,
                                                                                     const std::string& folder,
                                                                                     FilesRead* files) {
  const Beside beside{folder, files};
  try {
    const YAML::Node document = YAML::Load(text);
    identity::Directory::Parts parts;
    if (document.IsDefined() && !document.IsNull())
      read_members(document, "identities",
                   {{"accounts",
                     [&](const YAML::Node& n, const std::string&) {
                       each(n, "accounts", [&](const YAML::Node& item, const std::string& place) {
                         parts.accounts.push_back(read_account(item, place, beside));
                       });
                     }},
                    {"users",
                     [&](const YAML::Node& n, const std::string&) {
                       each(n, "users", [&](const YAML::Node& item, const std::string& place) {
                         parts.users.push_back(read_user(item, place, beside));
                       });
                     }},
                    {"roles",
                     [&](const YAML::Node& n, const std::string&) {
                       each(n, "roles", [&](const YAML::Node& item, const std::string& place) {
                         parts.roles.push_back(read_role(item, place));
                       });
                     }},
                    {"providers",
                     [&](const YAML::Node& n, const std::string&) {
                       each(n, "providers", [&](const YAML::Node& item, const std::string& place) {
                         parts.providers.push_back(read_provider(item, place, beside));
                       });
                     }},
                    {"managed_policies",
                     [&](const YAML::Node& n, const std::string&) {
                       each(n, "managed_policies", [&](const YAML::Node& item, const std::string& place) {
                         parts.managed_policies.push_back(read_managed_policy(item, place));
                       });
                     }}},
                   {});
    auto built = identity::Directory::build(std::move(parts));
    if (!built) return IdentitiesError{built.error()};
    return std::move(*built);
  } catch (const Refused& refused) {
    return IdentitiesError{refused.text};
  } catch (const YAML::Exception& error) {
    return IdentitiesError{fmt::format("line {}: {}", error.mark.line + 1, error.msg)};
  }
}

Result<std::unique_ptr<const identity::Directory>, IdentitiesError> read_identities_file(const std::string& path,
                                                                                         FilesRead* files) {
  if (files != nullptr) files->emplace_back(path);
  std::ifstream file(path, std::ios::binary);
  if (!file) return IdentitiesError{path + ": cannot be read"};
  std::stringstream text;
  text << file.rdbuf();
  const std::size_t slash = path.rfind('/');
  auto parsed = parse_identities(text.str(), slash == std::string::npos ? std::string{} : path.substr(0, slash), files);
  if (!parsed) return IdentitiesError{path + ": " + parsed.error().message};
  return parsed;
}

Identities::Identities() : directory_(std::make_shared<const identity::Directory>()) {}

Result<std::unique_ptr<Identities>, IdentitiesError> Identities::open(std::string path, Log& log) {
  auto opened = std::make_unique<Identities>();
  opened->path_ = std::move(path);
  opened->log_ = &log;
  if (auto wrong = opened->read()) return *std::move(wrong);
  opened->watcher_ = std::thread{[identities = opened.get()] { identities->watch(); }};
  return opened;
}

Identities::~Identities() {
  {
    const std::lock_guard lock{mutex_};
    stop_ = true;
  }
  stopping_.notify_all();
  if (watcher_.joinable()) watcher_.join();
}

std::shared_ptr<const identity::Directory> Identities::now() const {
  const std::lock_guard lock{mutex_};
  return directory_;
}

std::uint64_t Identities::refused_count() const {
  const std::lock_guard lock{mutex_};
  return refused_count_;
}

std::optional<IdentitiesError> Identities::read() {
  files_.clear();
  auto directory = read_identities_file(path_, &files_);
  if (!directory) return directory.error();
  std::shared_ptr<const identity::Directory> fresh{std::move(*directory)};
  const std::lock_guard swap{mutex_};
  directory_ = std::move(fresh);
  return std::nullopt;
}

void Identities::watch() {
  const auto have_changed = [](const FilesRead& files) {
    return std::ranges::any_of(files, [](const FileRead& file) { return file.has_changed(); });
  };
  FilesRead changed;  // as they were at the last look, if they had changed
  std::unique_lock lock{mutex_};
  while (!stopping_.wait_for(lock, std::chrono::milliseconds{300}, [this] { return stop_; })) {
    lock.unlock();
    if (!have_changed(files_)) {
      changed.clear();
    } else if (changed.empty() || have_changed(changed)) {
      changed.clear();
      for (const FileRead& file : files_) changed.emplace_back(file.path);
    } else {
      changed.clear();
      if (const auto wrong = read()) {
        log_->error("identities.refused",
                    {{"file", path_}, {"reason", wrong->message}, {"meaning", "the identities from before stay"}});
        const std::lock_guard count{mutex_};
        ++refused_count_;
      } else {
        log_->info("identities.reloaded", {{"file", path_}, {"identities", static_cast<std::int64_t>(now()->size())}});
      }
    }
    lock.lock();
  }
}

}  // namespace fanfare::server
