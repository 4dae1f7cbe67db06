// What has to be remembered of a request until its answer is written: all that a parked long poll keeps.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/aws/error.h"
#include "api/aws/operation.h"
#include "base/ids.h"

namespace fanfare::api {

/// One entry of a batch, in the order of the request. Entries that were refused before the engine saw them carry their
/// error.
struct BatchEntry {
  std::string_view id(const std::string& texts) const { return std::string_view(texts).substr(id_begin, id_size); }
  std::string_view handle(const std::string& texts) const {
    return std::string_view(texts).substr(handle_begin, handle_size);
  }

  std::uint32_t id_begin = 0;  ///< in ReplyContext::texts
  std::uint32_t id_size = 0;
  std::uint32_t handle_begin = 0;
  std::uint32_t handle_size = 0;
  std::uint32_t visibility_timeout = 0;  ///< that a change asked for, in seconds
  std::int32_t error = -1;               ///< index in ReplyContext::errors; -1: the engine decides
  std::array<std::uint8_t, 16> body_md5{};
  std::optional<std::array<std::uint8_t, 16>> attributes_md5;
  std::optional<std::array<std::uint8_t, 16>> system_attributes_md5;
};

/// Movable; a few hundred bytes, without heap memory for most requests.
struct ReplyContext {
  const aws::Operation* operation = nullptr;  ///< null: the request named none that exists
  aws::Service service = aws::Service::Sqs;   ///< whose XML namespace and errors an answer uses
  aws::Protocol protocol = aws::Protocol::Query;
  bool keep_alive = true;
  bool http_1_0 = false;
  bool head_only = false;
  bool anonymous = false;  ///< nobody signed it, and that matters here
  Uuid request_id;
  std::string base_url;   ///< "http://localhost:4566": what queue URLs begin with; empty where none is written
  std::string principal;  ///< ARN of the caller, for AccessDenied; empty: the root of the default account

  /// What error texts and answers name: a queue's name, a receipt handle, a redrive policy.
  std::string subject;

  // Send: digests of what was sent.
  std::array<std::uint8_t, 16> body_md5{};
  std::optional<std::array<std::uint8_t, 16>> attributes_md5;
  std::optional<std::array<std::uint8_t, 16>> system_attributes_md5;

  std::uint32_t visibility_timeout = 0;  ///< that a change asked for, in seconds

  // Batches.
  std::vector<BatchEntry> batch;
  std::vector<aws::ApiError> errors;
  std::string texts;

  // Receive and GetQueueAttributes: what was asked for. Bits of the service's own enumeration.
  std::uint32_t wanted = 0;
  bool all_message_attributes = false;
  bool fifo = false;
  std::vector<std::string> message_attributes;  ///< exact names, and prefixes as "name.*"

  // Lists.
  bool paged = false;  ///< the caller limited the page, so a token is due when there is more
};

}  // namespace fanfare::api
