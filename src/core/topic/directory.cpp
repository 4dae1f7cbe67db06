#include "core/topic/directory.h"

#include <fmt/format.h>

#include <algorithm>

namespace fanfare::topic {
namespace {

using Kind = DirectoryKind;
using Code = DirectoryError::Code;
using Action = DirectoryCommand::Action;

constexpr std::size_t kCapturedMax = 1'000;
constexpr std::string_view kEverybody;  // captured messages are listed together

std::string owner_of(const DirectoryCommand& command) { return fmt::format("{}/{}", command.account, command.region); }

std::string_view value_of(const DirectoryAttributes& attributes, std::string_view name) {
  const auto found = std::find_if(attributes.begin(), attributes.end(), [&](const auto& one) { return one.first == name; });
  return found == attributes.end() ? std::string_view{} : std::string_view{found->second};
}

void set(DirectoryAttributes& attributes, std::string_view name, std::string_view value) {
  const auto place = std::lower_bound(attributes.begin(), attributes.end(), name,
                                      [](const auto& one, std::string_view wanted) { return one.first < wanted; });
  if (place != attributes.end() && place->first == name) {
    place->second = value;
  } else {
    attributes.insert(place, {std::string{name}, std::string{value}});
  }
}

DirectoryAttributes merged(DirectoryAttributes attributes, const DirectoryCommand& command) {
  for (const auto& [name, value] : command.attributes) set(attributes, name, value);
  return attributes;
}

/// ".../endpoint/GCM/phones/" for ".../app/GCM/phones": what the ARNs of an application's endpoints begin with.
std::string endpoint_prefix(std::string_view application) {
  const std::size_t at = application.rfind(":app/");
  if (at == std::string_view::npos) return {};
  return fmt::format("{}:endpoint/{}/", application.substr(0, at), application.substr(at + 5));
}

}  // namespace

DirectoryKind last_of(DirectoryKind) { return DirectoryKind::Captured; }

const DirectoryAttributes* Directory::find(DirectoryKind kind, const std::string& owner, std::string_view key) const {
  const auto found = entries_.find(Key{kind, owner, std::string{key}});
  return found == entries_.end() ? nullptr : &found->second;
}

void Directory::list(DirectoryKind kind, const std::string& owner, std::string_view prefix, const DirectoryCommand& command,
                     DirectoryAnswer& answer) const {
  const std::string_view from = std::max(prefix, command.after);
  auto at = entries_.lower_bound(Key{kind, owner, std::string{from}});
  for (; at != entries_.end(); ++at) {
    const auto& [its_kind, its_owner, key] = at->first;
    if (its_kind != kind || its_owner != owner || !key.starts_with(prefix)) return;
    if (key == command.after && !command.after.empty()) continue;
    if (answer.entries.size() == command.limit) {
      answer.more = true;
      return;
    }
    answer.entries.push_back({key, at->second});
  }
}

DirectoryChange Directory::capture(std::string kind, const DirectoryCommand& command, const std::string& target,
                                   Timestamp now) const {
  std::uint64_t next = 1;
  const auto behind = entries_.upper_bound(Key{Kind::Captured, std::string{kEverybody}, "~"});
  if (behind != entries_.begin()) {
    const auto& [last_kind, owner, key] = std::prev(behind)->first;
    if (last_kind == Kind::Captured) next = std::stoull(key) + 1;
  }
  DirectoryAttributes attributes = merged({}, command);
  if (value_of(attributes, "kind").empty()) set(attributes, "kind", kind);
  set(attributes, "target", target);
  set(attributes, "account", command.account);
  set(attributes, "region", command.region);
  set(attributes, "at", iso8601(now));
  return {Kind::Captured, std::string{kEverybody}, fmt::format("{:020}", next), false, std::move(attributes)};
}

Result<Directory::Decision, DirectoryError> Directory::decide(const DirectoryCommand& command, Timestamp now) const {
  const std::string owner = owner_of(command);
  const std::string target{command.target};
  Decision decision;
  DirectoryAnswer& answer = decision.answer;
  const auto change = [&](Kind kind, std::string key, DirectoryAttributes attributes) {
    decision.changes.push_back({kind, owner, std::move(key), false, std::move(attributes)});
  };
  const auto remove = [&](Kind kind, std::string key) { decision.changes.push_back({kind, owner, std::move(key), true, {}}); };
  const auto error = [](Code code, std::string detail = {}) { return DirectoryError{code, std::move(detail)}; };

  switch (command.action) {
    case Action::CreateApplication: {
      answer.arn = fmt::format("arn:aws:sns:{}:{}:app/{}/{}", command.region, command.account, command.platform, command.name);
      const auto* known = find(Kind::Application, owner, answer.arn);
      change(Kind::Application, answer.arn, merged(known == nullptr ? DirectoryAttributes{{"Enabled", "true"}} : *known, command));
      break;
    }
    case Action::SetApplication: {
      const auto* known = find(Kind::Application, owner, target);
      if (known == nullptr) return error(Code::ApplicationDoesNotExist);
      change(Kind::Application, target, merged(*known, command));
      break;
    }
    case Action::GetApplication: {
      const auto* known = find(Kind::Application, owner, target);
      if (known == nullptr) return error(Code::ApplicationDoesNotExist);
      answer.entries.push_back({target, *known});
      break;
    }
    case Action::DeleteApplication: {
      if (find(Kind::Application, owner, target) == nullptr) break;
      DirectoryAnswer endpoints;
      DirectoryCommand all = command;
      all.after = {};
      all.limit = entries_.size();
      list(Kind::Endpoint, owner, endpoint_prefix(target), all, endpoints);
      for (DirectoryEntry& endpoint : endpoints.entries) remove(Kind::Endpoint, std::move(endpoint.key));
      remove(Kind::Application, target);
      break;
    }
    case Action::ListApplications: list(Kind::Application, owner, {}, command, answer); break;
    case Action::CreateEndpoint: {
      if (find(Kind::Application, owner, target) == nullptr) return error(Code::ApplicationDoesNotExist);
      const std::string prefix = endpoint_prefix(target);
      const DirectoryAttributes wanted = merged({{"Enabled", "true"}}, command);
      DirectoryAnswer endpoints;
      DirectoryCommand all = command;
      all.after = {};
      all.limit = entries_.size();
      list(Kind::Endpoint, owner, prefix, all, endpoints);
      for (const DirectoryEntry& endpoint : endpoints.entries) {
        if (value_of(endpoint.attributes, "Token") != value_of(wanted, "Token")) continue;
        // The same token: the same endpoint, if nothing else was asked for.
        if (endpoint.attributes != wanted) return error(Code::EndpointExistsWithOtherAttributes, endpoint.key);
        answer.arn = endpoint.key;
        return decision;
      }
      answer.arn = prefix + std::string{command.fresh};
      change(Kind::Endpoint, answer.arn, wanted);
      break;
    }
    case Action::SetEndpoint: {
      const auto* known = find(Kind::Endpoint, owner, target);
      if (known == nullptr) return error(Code::EndpointDoesNotExist);
      change(Kind::Endpoint, target, merged(*known, command));
      break;
    }
    case Action::GetEndpoint: {
      const auto* known = find(Kind::Endpoint, owner, target);
      if (known == nullptr) return error(Code::EndpointDoesNotExist);
      answer.entries.push_back({target, *known});
      break;
    }
    case Action::DeleteEndpoint:
      if (find(Kind::Endpoint, owner, target) != nullptr) remove(Kind::Endpoint, target);
      break;
    case Action::ListEndpoints:
      if (find(Kind::Application, owner, target) == nullptr) return error(Code::ApplicationDoesNotExist);
      list(Kind::Endpoint, owner, endpoint_prefix(target), command, answer);
      break;
    case Action::SetSms:
      for (const auto& [name, value] : command.attributes)
        change(Kind::SmsAttribute, std::string{name}, {{"value", std::string{value}}});
      break;
    case Action::GetSms: {
      DirectoryAnswer all;
      list(Kind::SmsAttribute, owner, {}, command, all);
      DirectoryEntry entry;
      for (DirectoryEntry& one : all.entries) entry.attributes.emplace_back(one.key, std::string{value_of(one.attributes, "value")});
      answer.entries.push_back(std::move(entry));
      break;
    }
    case Action::CreateSandboxNumber: {
      if (find(Kind::OptedOut, owner, target) != nullptr) return error(Code::NumberOptedOut);
      const auto* known = find(Kind::SandboxNumber, owner, target);
      if (known != nullptr && value_of(*known, "status") == "Verified") break;
      change(Kind::SandboxNumber, target, {{"code", std::string{command.fresh}}, {"status", "Pending"}});
      DirectoryChange message = capture("sms", command, target, now);
      set(message.attributes, "message", fmt::format("Your verification code is {}", command.fresh));
      decision.changes.push_back(std::move(message));
      break;
    }
    case Action::VerifySandboxNumber: {
      const auto* known = find(Kind::SandboxNumber, owner, target);
      if (known == nullptr) return error(Code::NumberDoesNotExist);
      if (value_of(*known, "code") != command.fresh) return error(Code::WrongCode);
      change(Kind::SandboxNumber, target, {{"code", std::string{command.fresh}}, {"status", "Verified"}});
      break;
    }
    case Action::DeleteSandboxNumber:
      if (find(Kind::SandboxNumber, owner, target) == nullptr) return error(Code::NumberDoesNotExist);
      remove(Kind::SandboxNumber, target);
      break;
    case Action::ListSandboxNumbers: list(Kind::SandboxNumber, owner, {}, command, answer); break;
    case Action::IsOptedOut: answer.flag = find(Kind::OptedOut, owner, target) != nullptr; break;
    case Action::OptOut: change(Kind::OptedOut, target, {}); break;
    case Action::OptIn:
      if (find(Kind::OptedOut, owner, target) != nullptr) remove(Kind::OptedOut, target);
      break;
    case Action::ListOptedOut: list(Kind::OptedOut, owner, {}, command, answer); break;
    case Action::Capture: decision.changes.push_back(capture("sms", command, target, now)); break;
    case Action::CaptureForEndpoint: {
      const auto* known = find(Kind::Endpoint, owner, target);
      if (known == nullptr) return error(Code::NoEndpointForTarget);
      if (value_of(*known, "Enabled") == "false") return error(Code::EndpointDisabled);
      decision.changes.push_back(capture("push", command, target, now));
      break;
    }
    case Action::ListCaptured: list(Kind::Captured, std::string{kEverybody}, {}, command, answer); break;
  }
  return decision;
}

bool Directory::abandon_saving(std::size_t budget) {
  if (saving_ == nullptr) return false;
  saving_->abandoned = true;
  for (; budget > 0 && !saving_->kept.empty(); --budget) saving_->kept.erase(saving_->kept.begin());
  if (!saving_->kept.empty()) return true;
  saving_.reset();
  return false;
}

void Directory::keep(const Key& key) {
  if (saving_->abandoned) return;
  if (saving_->last && key <= *saving_->last) return;
  const auto found = entries_.find(key);
  saving_->kept.try_emplace(key, found == entries_.end() ? std::nullopt : std::optional{found->second});
}

void Directory::apply(const DirectoryChange& change) {
  Key key{change.kind, change.owner, change.key};
  if (saving_ != nullptr) keep(key);
  if (change.removed) {
    if (entries_.erase(key) > 0 && change.kind == Kind::Captured) --captured_;
    return;
  }
  const auto [place, fresh] = entries_.insert_or_assign(std::move(key), change.attributes);
  if (!fresh || change.kind != Kind::Captured || ++captured_ <= kCapturedMax) return;
  const auto oldest = entries_.lower_bound(Key{Kind::Captured, std::string{}, std::string{}});
  if (saving_ != nullptr) keep(oldest->first);
  entries_.erase(oldest);
  --captured_;
}

}  // namespace fanfare::topic
