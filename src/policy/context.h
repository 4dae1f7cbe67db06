// A request's condition keys: those that it brings and those that follow from who asks for what.
//
// Rule 1: names of keys are compared without regard to case.
// Rule 2: a key that the request brings wins over one that is derived.
// Source: [IAM global condition context keys].
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace fanfare::policy {

struct Request;

/// Keys that are derived; every other key is looked up in the request alone.
enum class Key : std::uint8_t {
  Other,
  PrincipalArn,  ///< of a role session the role's ARN
  PrincipalAccount,
  PrincipalType,          ///< Account, User, AssumedRole, FederatedUser, Anonymous; absent for services
  PrincipalIsAwsService,  ///< "true" or "false"
  PrincipalServiceName,
  PrincipalServiceNamesList,
  Username,       ///< of users only
  ViaAwsService,  ///< "false" unless the request says otherwise
  ResourceAccount,
};
Key key_of(std::string_view name);

/// The values of one key; empty: the key is absent.
class KeyValues {
 public:
  KeyValues() = default;
  explicit KeyValues(std::span<const std::string_view> values) : many_(values.data()), size_(values.size()) {}
  explicit KeyValues(std::string_view one) : one_(one), size_(one.empty() ? 0 : 1) {}
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] bool empty() const { return size_ == 0; }
  std::string_view operator[](std::size_t i) const { return many_ == nullptr ? one_ : many_[i]; }

 private:
  const std::string_view* many_ = nullptr;
  std::string_view one_;
  std::size_t size_ = 0;
};

/// `key` is key_of(name).
KeyValues values_of(const Request& request, Key key, std::string_view name);

/// "arn:aws:sqs:us-east-1:000000000000:work" -> "000000000000"; empty if there is none.
std::string_view account_of_arn(std::string_view arn);

}  // namespace fanfare::policy
