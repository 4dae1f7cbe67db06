// What SNS keeps beside topics: platform applications and their endpoints, SMS settings, sandbox and opted-out numbers, and
// the messages to phones and devices, which never leave this machine: they are captured.
//
// Rule 1: decide() is const and yields changes; apply() is the only mutator and cannot fail, so that replaying stored changes
//         rebuilds the directory.
// Rule 2: begin_saving() fixes the entries as they are, save() gives them out in slices; one that changes before its turn is copied first.
// Rule 3: nothing here is ever delivered, and nothing claims to be.
// Source: [SNS mobile push, SMS]; the newest 1,000 captured messages of all accounts are kept.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/time.h"

namespace fanfare::topic {

/// What an entry is. Durable: numbers never change their meaning.
enum class DirectoryKind : std::uint8_t {
  Application = 1,   ///< key: "arn:aws:sns:us-east-1:000000000000:app/GCM/phones"
  Endpoint = 2,      ///< key: "arn:aws:sns:us-east-1:000000000000:endpoint/GCM/phones/UUID"
  SmsAttribute = 3,  ///< key: "DefaultSMSType"; its value is the attribute "value"
  SandboxNumber = 4, ///< key: "+14155550100"; attributes: status "Pending" or "Verified", code
  OptedOut = 5,      ///< key: a number that wants nothing
  Captured = 6,      ///< key: a number that grows, 20 digits; attributes: kind, target, message, subject, id, at
};
DirectoryKind last_of(DirectoryKind);

using DirectoryAttributes = std::vector<std::pair<std::string, std::string>>;  ///< sorted by name

struct DirectoryChange {
  DirectoryKind kind{};
  std::string owner;  ///< "000000000000/us-east-1"
  std::string key;
  bool removed = false;
  DirectoryAttributes attributes;  ///< all that the entry has from now on
};

/// One request. Views live as long as the call.
struct DirectoryCommand {
  enum class Action : std::uint8_t {
    CreateApplication,    ///< name, platform, attributes -> arn; the same name again: its attributes are set
    SetApplication,       ///< target, attributes
    GetApplication,       ///< target -> one entry
    DeleteApplication,    ///< target; its endpoints go, too
    ListApplications,     ///< after -> entries
    CreateEndpoint,       ///< target (the application), attributes (Token, CustomUserData, ..), fresh -> arn
    SetEndpoint,          ///< target, attributes
    GetEndpoint,          ///< target -> one entry
    DeleteEndpoint,       ///< target; succeeds also if there is none
    ListEndpoints,        ///< target (the application), after -> entries
    SetSms,               ///< attributes
    GetSms,               ///< -> one entry with all that are set
    CreateSandboxNumber,  ///< target, fresh (the code, which is captured as a message to the number)
    VerifySandboxNumber,  ///< target, fresh (the code that the caller knows)
    DeleteSandboxNumber,  ///< target
    ListSandboxNumbers,   ///< after -> entries
    IsOptedOut,           ///< target -> flag
    OptOut,               ///< target
    OptIn,                ///< target
    ListOptedOut,         ///< after -> entries
    Capture,              ///< target, attributes (message, subject, id; kind, else "sms"): to a phone number or mail box
    CaptureForEndpoint,   ///< target (an endpoint's ARN), attributes
    ListCaptured,         ///< after -> entries, of all accounts
  };
  Action action{};
  std::string_view operation;  ///< "sns:SetSMSAttributes", for permissions
  std::string_view account;
  std::string_view region;
  std::string_view target;
  std::string_view name;
  std::string_view platform;  ///< "GCM"
  std::span<const std::pair<std::string_view, std::string_view>> attributes;
  std::string_view fresh;  ///< randomness from the shell: an endpoint's last part, a code
  std::string_view after;  ///< keys behind this one
  std::size_t limit = 100;
};

struct DirectoryEntry {
  std::string key;
  DirectoryAttributes attributes;
};
struct DirectoryAnswer {
  std::string arn;
  std::vector<DirectoryEntry> entries;
  bool more = false;
  bool flag = false;
};

struct DirectoryError {
  enum class Code : std::uint8_t {
    ApplicationDoesNotExist,
    EndpointDoesNotExist,
    EndpointExistsWithOtherAttributes,  ///< `detail`: its ARN
    EndpointDisabled,                   ///< Enabled is false
    NoEndpointForTarget,                ///< publishing to an endpoint that is not there
    NumberDoesNotExist,                 ///< in the sandbox
    NumberOptedOut,
    WrongCode,
  };
  Code code;
  std::string detail;
};

class Directory {
 public:
  struct Decision {
    DirectoryAnswer answer;
    std::vector<DirectoryChange> changes;
  };
  [[nodiscard]] Result<Decision, DirectoryError> decide(const DirectoryCommand& command, Timestamp now) const;
  void apply(const DirectoryChange& change);

  /// Every entry, in a fixed order: changes that make an empty directory equal to this one.
  template <class Visit>
  void for_each(Visit&& visit) const {
    for (const auto& [key, attributes] : entries_)
      visit(DirectoryChange{std::get<0>(key), std::get<1>(key), std::get<2>(key), false, attributes});
  }
  [[nodiscard]] bool empty() const { return entries_.empty(); }

  /// From now on save() gives the entries as they are now, until end_saving().
  void begin_saving() { saving_ = std::make_unique<Saving>(); }
  /// Calls visit(change) as for_each does, for up to `budget` of them, from where the call before stopped. Returns whether there may be more.
  template <class Visit>
  bool save(std::size_t budget, Visit&& visit);
  void end_saving() { saving_.reset(); }
  /// Instead, before save() has given out everything: nothing is kept any more, and up to `budget` entries that were kept are forgotten.
  /// Returns whether there are more, for another call.
  bool abandon_saving(std::size_t budget);

 private:
  using Key = std::tuple<DirectoryKind, std::string, std::string>;
  using Entries = std::map<Key, DirectoryAttributes>;
  [[nodiscard]] const DirectoryAttributes* find(DirectoryKind kind, const std::string& owner, std::string_view key) const;
  void list(DirectoryKind kind, const std::string& owner, std::string_view prefix, const DirectoryCommand& command,
            DirectoryAnswer& answer) const;
  DirectoryChange capture(std::string kind, const DirectoryCommand& command, const std::string& target, Timestamp now) const;

  struct Saving {
    std::optional<Key> last;  // given out last; nullopt: none yet
    std::map<Key, std::optional<DirectoryAttributes>> kept;  // what changed before its turn; nullopt: it was not there
    bool abandoned = false;
  };
  void keep(const Key& key);

  Entries entries_;
  std::size_t captured_ = 0;
  std::unique_ptr<Saving> saving_;  // null: nobody saves
};

template <class Visit>
bool Directory::save(std::size_t budget, Visit&& visit) {
  if (saving_ == nullptr) return false;
  const auto give = [&](const Key& key, const DirectoryAttributes& attributes) {
    visit(DirectoryChange{std::get<0>(key), std::get<1>(key), std::get<2>(key), false, attributes});
  };
  auto live = saving_->last ? entries_.upper_bound(*saving_->last) : entries_.begin();
  auto kept = saving_->kept.begin();
  for (; live != entries_.end() || kept != saving_->kept.end(); --budget) {
    if (budget == 0) return true;
    if (live != entries_.end() && (kept == saving_->kept.end() || live->first < kept->first)) {
      give(live->first, live->second);
      saving_->last = live->first;
      ++live;
      continue;
    }
    if (live != entries_.end() && live->first == kept->first) ++live;
    if (kept->second) give(kept->first, *kept->second);
    saving_->last = kept->first;
    kept = saving_->kept.erase(kept);
  }
  return false;
}

}  // namespace fanfare::topic
