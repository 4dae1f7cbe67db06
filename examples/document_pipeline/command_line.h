// What the pipeline's programs share: their arguments, and clients for the broker.
#pragma once

#include <boost/asio/io_context.hpp>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "fanfare/sns.h"
#include "fanfare/sqs.h"

namespace pipeline {

/// `--name value` pairs, `--flag`s, and everything else.
struct Arguments {
  std::map<std::string, std::string> options;
  std::set<std::string> flags;
  std::vector<std::string> rest;
  /// Prints what is wrong and leaves with 2 when one is unknown, or an option has no value.
  static Arguments parse(int argc, char** argv, const std::vector<std::string>& known_options, const std::vector<std::string>& known_flags = {});
  [[nodiscard]] std::string get(const std::string& name, const std::string& otherwise) const;
};

struct Clients {
  std::shared_ptr<fanfare::sdk::SqsClient> sqs;
  std::shared_ptr<fanfare::sdk::SnsClient> sns;
};
/// Keys come from the environment; without them the development keys "test"/"test" are used.
Clients make_clients(boost::asio::io_context& io, const std::string& endpoint);

inline constexpr const char* kWorkspace = "documents";

}  // namespace pipeline
