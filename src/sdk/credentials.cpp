#include "fanfare/credentials.h"

#include <fmt/format.h>

#include <cstdlib>

namespace fanfare::sdk {
namespace {

class StaticCredentials final : public CredentialsProvider {
 public:
  explicit StaticCredentials(Credentials keys) : keys_(std::move(keys)) {}
  Result<Credentials, Error> credentials() override { return keys_; }

 private:
  const Credentials keys_;
};

class EnvironmentCredentials final : public CredentialsProvider {
 public:
  using Variable = std::function<std::optional<std::string>(const std::string&)>;
  explicit EnvironmentCredentials(Variable variable) : variable_(std::move(variable)) {}

  Result<Credentials, Error> credentials() override {
    const auto id = variable_("AWS_ACCESS_KEY_ID");
    const auto secret = variable_("AWS_SECRET_ACCESS_KEY");
    if (!id || id->empty() || !secret || secret->empty())
      return Error{.kind = ErrorKind::Credentials,
                   .message = fmt::format("the environment variable {} is not set",
                                          !id || id->empty() ? "AWS_ACCESS_KEY_ID" : "AWS_SECRET_ACCESS_KEY")};
    return Credentials{*id, SecretText{*secret}, SecretText{variable_("AWS_SESSION_TOKEN").value_or("")}, std::nullopt};
  }

 private:
  const Variable variable_;
};

class FirstOf final : public CredentialsProvider {
 public:
  explicit FirstOf(std::vector<std::shared_ptr<CredentialsProvider>> providers) : providers_(std::move(providers)) {}

  Result<Credentials, Error> credentials() override {
    Result<Credentials, Error> last = Error{.kind = ErrorKind::Credentials, .message = "no credentials provider is configured"};
    for (const auto& provider : providers_) {
      last = provider->credentials();
      if (last) break;
    }
    return last;
  }

 private:
  const std::vector<std::shared_ptr<CredentialsProvider>> providers_;
};

}  // namespace

std::shared_ptr<CredentialsProvider> static_credentials(std::string access_key_id, std::string secret_access_key,
                                                        std::string session_token) {
  return std::make_shared<StaticCredentials>(
      Credentials{std::move(access_key_id), SecretText{std::move(secret_access_key)}, SecretText{std::move(session_token)}, {}});
}

std::shared_ptr<CredentialsProvider> environment_credentials(
    std::function<std::optional<std::string>(const std::string& name)> variable) {
  return std::make_shared<EnvironmentCredentials>(std::move(variable));
}

std::shared_ptr<CredentialsProvider> environment_credentials() {
  return environment_credentials([](const std::string& name) -> std::optional<std::string> {
    const char* value = std::getenv(name.c_str());
    return value ? std::optional<std::string>{value} : std::nullopt;
  });
}

std::shared_ptr<CredentialsProvider> first_of(std::vector<std::shared_ptr<CredentialsProvider>> providers) {
  return std::make_shared<FirstOf>(std::move(providers));
}

}  // namespace fanfare::sdk
