#include "command_line.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace pipeline {
namespace sdk = fanfare::sdk;

Arguments Arguments::parse(int argc, char** argv, const std::vector<std::string>& known_options, const std::vector<std::string>& known_flags) {
  const auto holds = [](const std::vector<std::string>& names, const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  Arguments arguments;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (!word.starts_with("--")) {
      arguments.rest.push_back(word);
      continue;
    }
    const std::string name = word.substr(2);
    if (holds(known_flags, name)) {
      arguments.flags.insert(name);
      continue;
    }
    const bool known = holds(known_options, name);
    if (!known || i + 1 >= argc) {
      std::fprintf(stderr, "%s: %s %s; accepted are", argv[0], word.c_str(), known ? "has no value" : "is unknown");
      for (const std::string& one : known_options) std::fprintf(stderr, " --%s VALUE", one.c_str());
      for (const std::string& one : known_flags) std::fprintf(stderr, " --%s", one.c_str());
      std::fprintf(stderr, "\n");
      std::exit(2);
    }
    arguments.options[name] = argv[++i];
  }
  return arguments;
}

std::string Arguments::get(const std::string& name, const std::string& otherwise) const {
  const auto found = options.find(name);
  return found == options.end() ? otherwise : found->second;
}

Clients make_clients(boost::asio::io_context& io, const std::string& endpoint) {
  const auto credentials = sdk::first_of({sdk::environment_credentials(), sdk::static_credentials("test", "test")});
  const auto transport = sdk::http_transport(io.get_executor(), endpoint);
  const sdk::ClientOptions options{.endpoint_url = endpoint};
  return {sdk::make_sqs_client(options, credentials, transport), sdk::make_sns_client(options, credentials, transport)};
}

}  // namespace pipeline
