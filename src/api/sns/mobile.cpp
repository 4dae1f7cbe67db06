// Platform applications and their endpoints, SMS settings, the SMS sandbox and opted-out numbers: bookkeeping. What is
// published to phones and devices is captured, never delivered. [SNS mobile push, SMS]
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "api/sns/actions.h"
#include "api/sns/errors.h"
#include "api/sns/validate.h"

namespace fanfare::api::sns {
namespace {

using Ask = topic::DirectoryCommand::Action;
using Pair = std::pair<std::string_view, std::string_view>;

constexpr std::array<std::string_view, 8> kPlatforms = {"ADM",  "APNS",       "APNS_SANDBOX", "APNS_VOIP",
                                                        "BAIDU", "GCM",       "MPNS",         "WNS"};
constexpr std::array<std::string_view, 6> kSmsAttributes = {
    "MonthlySpendLimit", "DeliveryStatusIAMRole", "DeliveryStatusSuccessSamplingRate",
    "DefaultSenderID",   "DefaultSMSType",        "UsageReportS3Bucket"};
constexpr std::array<std::string_view, 13> kLanguages = {"en-US", "en-GB", "es-419", "es-ES", "de-DE", "fr-CA", "fr-FR",
                                                         "it-IT", "ja-JP", "pt-BR",  "kr-KR", "zh-CN", "zh-TW"};

/// The command of this action, for the caller's account and the request's region.
topic::DirectoryCommand& begin(Ask action, std::string_view operation, Call& call) {
  auto& command = call.request.emplace<engine::UseDirectory>().command;
  command.action = action;
  command.operation = operation;
  command.account = call.account;
  command.region = call.region;
  return command;
}

std::span<const Pair> pairs_of(const wire::aws::Map<wire::aws::Text>& attributes, wire::aws::Arena& arena,
                               std::initializer_list<Pair> more = {}) {
  auto* const pairs = arena.take_array<Pair>(attributes.size() + more.size());
  std::size_t count = 0;
  for (const auto& [name, value] : attributes) pairs[count++] = {name.view(), value.view()};
  for (const Pair& pair : more) {
    if (!pair.second.empty()) pairs[count++] = pair;
  }
  return {pairs, count};
}

/// `kind` is "app" or "endpoint".
std::optional<ApiError> check_mobile_arn(const wire::aws::Text& arn, std::string_view parameter, std::string_view member,
                                         std::string_view kind) {
  if (!arn.has_value()) return must_not_be_null(member);
  const std::string_view text = arn.view();
  const auto elements = 1 + std::ranges::count(text, ':');
  if (elements < 6) {
    return invalid_parameter(parameter, fmt::format("An ARN must have at least 6 elements, not {}", elements));
  }
  const std::size_t colon = text.rfind(':');
  const std::string_view resource = text.substr(colon + 1);
  const auto slashes = std::ranges::count(resource, '/');
  if (!text.starts_with("arn:aws:sns:") || resource.substr(0, resource.find('/')) != kind ||
      slashes != (kind == "app" ? 2 : 3)) {
    return invalid_parameter(parameter, fmt::format("Wrong number of slashes in relative portion of the ARN."));
  }
  return std::nullopt;
}

/// A number of the sandbox or of the opt-out list. [PhoneNumberString]
std::optional<ApiError> check_number(const wire::aws::Text& number, std::string_view member) {
  if (!number.has_value()) return must_not_be_null(member);
  const std::string_view text = number.view();
  const bool plus = text.starts_with('+');
  const std::string_view digits = plus ? text.substr(1) : text;
  const bool all_digits = std::ranges::all_of(digits, [](char c) { return c >= '0' && c <= '9'; });
  if (!all_digits || text.size() > 20 || (plus ? digits.size() < 8 : digits.empty() || digits.size() > 9)) {
    return invalid_parameter("PhoneNumber", "input incorrectly formatted");
  }
  return std::nullopt;
}

Result<std::string_view, ApiError> read_after(const wire::aws::Text& token, Call& call) { return read_token(token, call); }

wire::aws::Map<wire::aws::Text> map_of(const topic::DirectoryAttributes& attributes, aws::Answer& answer) {
  auto* const entries = answer.arena.take_array<wire::aws::Entry<wire::aws::Text>>(attributes.size());
  for (std::size_t i = 0; i < attributes.size(); ++i) {
    entries[i] = {answer.arena.copy(attributes[i].first), answer.arena.copy(attributes[i].second)};
  }
  return {entries, attributes.size()};
}

std::string_view token_of(const topic::DirectoryAnswer& answer, ReplyCall& call) {
  return write_token(answer.entries.back().key, call.answer);
}

/// Credentials go in and never come out, as AWS has it.
topic::DirectoryAttributes without_secrets(topic::DirectoryAttributes attributes) {
  std::erase_if(attributes, [](const auto& one) {
    return one.first == "PlatformCredential" || one.first == "PlatformPrincipal";
  });
  return attributes;
}

template <class Input>
Result<Next, ApiError> about_application(Ask action, std::string_view operation, const Input& in, Call& call) {
  if (auto error = check_mobile_arn(in.platform_application_arn, "PlatformApplicationArn", "platformApplicationArn", "app")) {
    return *std::move(error);
  }
  begin(action, operation, call).target = in.platform_application_arn.view();
  return Next::Engine;
}
template <class Input>
Result<Next, ApiError> about_endpoint(Ask action, std::string_view operation, const Input& in, Call& call) {
  if (auto error = check_mobile_arn(in.endpoint_arn, "EndpointArn", "endpointArn", "endpoint")) return *std::move(error);
  begin(action, operation, call).target = in.endpoint_arn.view();
  return Next::Engine;
}
template <class Input>
Result<Next, ApiError> about_number(Ask action, std::string_view operation, const Input& in, Call& call) {
  if (auto error = check_number(in.phone_number, "phoneNumber")) return *std::move(error);
  begin(action, operation, call).target = in.phone_number.view();
  return Next::Engine;
}

}  // namespace

void directory_done(const topic::DirectoryAnswer&, ReplyCall& call) { call.answer.write_nothing(); }

// ---- Platform applications ----------------------------------------------------------------------------------------

Result<Next, ApiError> create_platform_application(const model::CreatePlatformApplicationInput& in, Call& call) {
  if (!in.name.has_value()) return must_not_be_null("name");
  if (!in.platform.has_value()) return must_not_be_null("platform");
  if (!in.attributes.has_value()) return must_not_be_null("attributes");
  const std::string_view name = in.name.view();
  const bool allowed = !name.empty() && name.size() <= 256 && std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '.';
  });
  if (!allowed) return invalid_parameter(fmt::format("{} Reason: cannot be empty", "Name"));
  if (std::ranges::find(kPlatforms, in.platform.view()) == kPlatforms.end()) {
    return invalid_parameter("Platform", fmt::format("{} is not supported", in.platform.view().substr(0, 64)));
  }
  const auto has = [&](std::string_view wanted) {
    return std::ranges::any_of(in.attributes, [&](const auto& one) { return one.key.view() == wanted && !one.value.empty(); });
  };
  if (!has("PlatformCredential")) return invalid_parameter("Attributes", "Platform credentials are required");
  auto& command = begin(Ask::CreateApplication, "sns:CreatePlatformApplication", call);
  command.name = name;
  command.platform = in.platform.view();
  command.attributes = pairs_of(in.attributes, call.arena);
  return Next::Engine;
}
void create_platform_application_reply(const topic::DirectoryAnswer& answer, ReplyCall& call) {
  model::CreatePlatformApplicationResponse out;
  out.platform_application_arn = std::string_view(answer.arn);
  call.answer.write(out);
}

Result<Next, ApiError> delete_platform_application(const model::DeletePlatformApplicationInput& in, Call& call) {
  return about_application(Ask::DeleteApplication, "sns:DeletePlatformApplication", in, call);
}

Result<Next, ApiError> get_platform_application_attributes(const model::GetPlatformApplicationAttributesInput& in,
                                                           Call& call) {
  return about_application(Ask::GetApplication, "sns:GetPlatformApplicationAttributes", in, call);
}
void get_platform_application_attributes_reply(const topic::DirectoryAnswer& answer, ReplyCall& call) {
  model::GetPlatformApplicationAttributesResponse out;
  out.attributes = map_of(without_secrets(answer.entries.front().attributes), call.answer);
  call.answer.write(out);
}

Result<Next, ApiError> set_platform_application_attributes(const model::SetPlatformApplicationAttributesInput& in,
                                                           Call& call) {
  if (!in.attributes.has_value()) return must_not_be_null("attributes");
  auto next = about_application(Ask::SetApplication, "sns:SetPlatformApplicationAttributes", in, call);
  if (next) std::get<engine::UseDirectory>(call.request).command.attributes = pairs_of(in.attributes, call.arena);
  return next;
}

Result<Next, ApiError> list_platform_applications(const model::ListPlatformApplicationsInput& in, Call& call) {
  auto after = read_after(in.next_token, call);
  if (!after) return after.error();
  begin(Ask::ListApplications, "sns:ListPlatformApplications", call).after = *after;
  return Next::Engine;
}
void list_platform_applications_reply(const topic::DirectoryAnswer& answer, ReplyCall& call) {
  auto* const shown = call.answer.arena.take_array<model::PlatformApplication>(answer.entries.size());
  for (std::size_t i = 0; i < answer.entries.size(); ++i) {
    shown[i].platform_application_arn = call.answer.arena.copy(answer.entries[i].key);
    shown[i].attributes = map_of(without_secrets(answer.entries[i].attributes), call.answer);
  }
  model::ListPlatformApplicationsResponse out;
  out.platform_applications = {shown, answer.entries.size()};
  if (answer.more) out.next_token = token_of(answer, call);
  call.answer.write(out);
}

// ---- Endpoints ----------------------------------------------------------------------------------------------------

Result<Next, ApiError> create_platform_endpoint(const model::CreatePlatformEndpointInput& in, Call& call) {
  if (!in.token.has_value()) return must_not_be_null("token");
  if (in.token.empty()) return invalid_parameter("Token", "cannot be empty");
  auto next = about_application(Ask::CreateEndpoint, "sns:CreatePlatformEndpoint", in, call);
  if (!next) return next;
  auto& command = std::get<engine::UseDirectory>(call.request).command;
  command.attributes =
      pairs_of(in.attributes, call.arena, {{"Token", in.token.view()}, {"CustomUserData", in.custom_user_data.view()}});
  command.fresh = call.arena.copy(Uuid::from_random(call.secrets.bytes16()).str());
  return next;
}
void create_platform_endpoint_reply(const topic::DirectoryAnswer& answer, ReplyCall& call) {
  model::CreateEndpointResponse out;
  out.endpoint_arn = std::string_view(answer.arn);
  call.answer.write(out);
}

Result<Next, ApiError> delete_endpoint(const model::DeleteEndpointInput& in, Call& call) {
  return about_endpoint(Ask::DeleteEndpoint, "sns:DeleteEndpoint", in, call);
}

Result<Next, ApiError> get_endpoint_attributes(const model::GetEndpointAttributesInput& in, Call& call) {
  return about_endpoint(Ask::GetEndpoint, "sns:GetEndpointAttributes", in, call);
}
void get_endpoint_attributes_reply(const topic::DirectoryAnswer& answer, ReplyCall& call) {
  model::GetEndpointAttributesResponse out;
  out.attributes = map_of(answer.entries.front().attributes, call.answer);
  call.answer.write(out);
}

Result<Next, ApiError> set_endpoint_attributes(const model::SetEndpointAttributesInput& in, Call& call) {
  if (!in.attributes.has_value()) return must_not_be_null("attributes");
  for (const auto& [name, value] : in.attributes) {
    if (name.view() != "CustomUserData" && name.view() != "Enabled" && name.view() != "Token") {
      return invalid_parameter("Attributes", fmt::format("Invalid attribute name: {}", name.view().substr(0, 64)));
    }
    if (name.view() == "Enabled" && value.view() != "true" && value.view() != "false") {
      return invalid_parameter("Attributes", "Invalid value for attribute: Enabled: must be true or false");
    }
  }
  auto next = about_endpoint(Ask::SetEndpoint, "sns:SetEndpointAttributes", in, call);
  if (next) std::get<engine::UseDirectory>(call.request).command.attributes = pairs_of(in.attributes, call.arena);
  return next;
}

Result<Next, ApiError> list_endpoints_by_platform_application(const model::ListEndpointsByPlatformApplicationInput& in,
                                                              Call& call) {
  auto after = read_after(in.next_token, call);
  if (!after) return after.error();
  auto next = about_application(Ask::ListEndpoints, "sns:ListEndpointsByPlatformApplication", in, call);
  if (next) std::get<engine::UseDirectory>(call.request).command.after = *after;
  return next;
}
void list_endpoints_by_platform_application_reply(const topic::DirectoryAnswer& answer, ReplyCall& call) {
  auto* const shown = call.answer.arena.take_array<model::Endpoint>(answer.entries.size());
  for (std::size_t i = 0; i < answer.entries.size(); ++i) {
    shown[i].endpoint_arn = call.answer.arena.copy(answer.entries[i].key);
    shown[i].attributes = map_of(answer.entries[i].attributes, call.answer);
  }
  model::ListEndpointsByPlatformApplicationResponse out;
  out.endpoints = {shown, answer.entries.size()};
  if (answer.more) out.next_token = token_of(answer, call);
  call.answer.write(out);
}

// ---- SMS ----------------------------------------------------------------------------------------------------------

Result<Next, ApiError> set_sms_attributes(const model::SetSMSAttributesInput& in, Call& call) {
  if (!in.attributes.has_value()) return must_not_be_null("attributes");
  for (const auto& [name, value] : in.attributes) {
    if (std::ranges::find(kSmsAttributes, name.view()) == kSmsAttributes.end()) {
      return invalid_parameter(fmt::format("{} is not a valid attribute", name.view().substr(0, 64)));
    }
    if (name.view() == "DefaultSMSType" && value.view() != "Promotional" && value.view() != "Transactional") {
      return invalid_parameter("DefaultSMSType", "must be Promotional or Transactional");
    }
  }
  begin(Ask::SetSms, "sns:SetSMSAttributes", call).attributes = pairs_of(in.attributes, call.arena);
  return Next::Engine;
}

Result<Next, ApiError> get_sms_attributes(const model::GetSMSAttributesInput& in, Call& call) {
  for (const auto& name : in.attributes) call.context.message_attributes.emplace_back(name.view());
  begin(Ask::GetSms, "sns:GetSMSAttributes", call);
  return Next::Engine;
}
void get_sms_attributes_reply(const topic::DirectoryAnswer& answer, ReplyCall& call) {
  topic::DirectoryAttributes shown = answer.entries.front().attributes;
  const auto& wanted = call.context.message_attributes;
  if (!wanted.empty()) {
    std::erase_if(shown, [&](const auto& one) { return std::ranges::find(wanted, one.first) == wanted.end(); });
  }
  model::GetSMSAttributesResponse out;
  out.attributes = map_of(shown, call.answer);
  call.answer.write(out);
}

Result<Next, ApiError> get_sms_sandbox_account_status(const model::GetSMSSandboxAccountStatusInput&, Call& call) {
  model::GetSMSSandboxAccountStatusResult out;
  out.is_in_sandbox = true;  // nothing ever leaves it
  call.answer.write(out);
  return Next::Answered;
}

Result<Next, ApiError> create_sms_sandbox_phone_number(const model::CreateSMSSandboxPhoneNumberInput& in, Call& call) {
  if (in.language_code.has_value() && std::ranges::find(kLanguages, in.language_code.view()) == kLanguages.end()) {
    return invalid_parameter("LanguageCode");
  }
  auto next = about_number(Ask::CreateSandboxNumber, "sns:CreateSMSSandboxPhoneNumber", in, call);
  if (!next) return next;
  const auto bytes = call.secrets.bytes16();
  const unsigned number = (bytes[0] | bytes[1] << 8 | bytes[2] << 16) % 1'000'000u;
  std::get<engine::UseDirectory>(call.request).command.fresh = call.arena.copy(fmt::format("{:06}", number));
  return next;
}

Result<Next, ApiError> verify_sms_sandbox_phone_number(const model::VerifySMSSandboxPhoneNumberInput& in, Call& call) {
  if (!in.one_time_password.has_value()) return must_not_be_null("oneTimePassword");
  const std::string_view code = in.one_time_password.view();
  if (code.size() < 5 || code.size() > 8 || !std::ranges::all_of(code, [](char c) { return c >= '0' && c <= '9'; })) {
    return invalid_parameter("OneTimePassword", "input incorrectly formatted");
  }
  auto next = about_number(Ask::VerifySandboxNumber, "sns:VerifySMSSandboxPhoneNumber", in, call);
  if (next) std::get<engine::UseDirectory>(call.request).command.fresh = code;
  return next;
}

Result<Next, ApiError> delete_sms_sandbox_phone_number(const model::DeleteSMSSandboxPhoneNumberInput& in, Call& call) {
  return about_number(Ask::DeleteSandboxNumber, "sns:DeleteSMSSandboxPhoneNumber", in, call);
}

Result<Next, ApiError> list_sms_sandbox_phone_numbers(const model::ListSMSSandboxPhoneNumbersInput& in, Call& call) {
  auto after = read_after(in.next_token, call);
  if (!after) return after.error();
  const auto limit = in.max_results.value_or(100);
  if (limit < 1 || limit > 100) return invalid_parameter("MaxResults", "must be between 1 and 100");
  auto& command = begin(Ask::ListSandboxNumbers, "sns:ListSMSSandboxPhoneNumbers", call);
  command.after = *after;
  command.limit = static_cast<std::size_t>(limit);
  return Next::Engine;
}
void list_sms_sandbox_phone_numbers_reply(const topic::DirectoryAnswer& answer, ReplyCall& call) {
  auto* const shown = call.answer.arena.take_array<model::SMSSandboxPhoneNumber>(answer.entries.size());
  for (std::size_t i = 0; i < answer.entries.size(); ++i) {
    shown[i].phone_number = call.answer.arena.copy(answer.entries[i].key);
    for (const auto& [name, value] : answer.entries[i].attributes) {
      if (name == "status") shown[i].status = call.answer.arena.copy(value);
    }
  }
  model::ListSMSSandboxPhoneNumbersResult out;
  out.phone_numbers = {shown, answer.entries.size()};
  if (answer.more) out.next_token = token_of(answer, call);
  call.answer.write(out);
}

Result<Next, ApiError> check_if_phone_number_is_opted_out(const model::CheckIfPhoneNumberIsOptedOutInput& in, Call& call) {
  return about_number(Ask::IsOptedOut, "sns:CheckIfPhoneNumberIsOptedOut", in, call);
}
void check_if_phone_number_is_opted_out_reply(const topic::DirectoryAnswer& answer, ReplyCall& call) {
  model::CheckIfPhoneNumberIsOptedOutResponse out;
  out.is_opted_out = answer.flag;
  call.answer.write(out);
}

Result<Next, ApiError> opt_in_phone_number(const model::OptInPhoneNumberInput& in, Call& call) {
  return about_number(Ask::OptIn, "sns:OptInPhoneNumber", in, call);
}

Result<Next, ApiError> list_phone_numbers_opted_out(const model::ListPhoneNumbersOptedOutInput& in, Call& call) {
  auto after = read_after(in.next_token, call);
  if (!after) return after.error();
  begin(Ask::ListOptedOut, "sns:ListPhoneNumbersOptedOut", call).after = *after;
  return Next::Engine;
}
void list_phone_numbers_opted_out_reply(const topic::DirectoryAnswer& answer, ReplyCall& call) {
  auto* const shown = call.answer.arena.take_array<wire::aws::Text>(answer.entries.size());
  for (std::size_t i = 0; i < answer.entries.size(); ++i) shown[i] = call.answer.arena.copy(answer.entries[i].key);
  model::ListPhoneNumbersOptedOutResponse out;
  out.phone_numbers = {shown, answer.entries.size()};
  if (answer.more) out.next_token = token_of(answer, call);
  call.answer.write(out);
}

Result<Next, ApiError> list_origination_numbers(const model::ListOriginationNumbersRequest& in, Call& call) {
  const auto limit = in.max_results.value_or(30);
  if (limit < 1 || limit > 30) {
    return api_error(Error::Validation,
                     fmt::format("1 validation error detected: Value '{}' at 'maxResults' failed to satisfy constraint: "
                                 "Member must have value between 1 and 30",
                                 limit));
  }
  model::ListOriginationNumbersResult out;  // this machine has none
  out.phone_numbers = {static_cast<const model::PhoneNumberInformation*>(nullptr), 0};
  call.answer.write(out);
  return Next::Answered;
}

}  // namespace fanfare::api::sns
