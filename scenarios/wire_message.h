// Requests as an SDK writes them, in JSON 1.0 or in Query, signed; and answers of both as one tree.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "wire/json/value.h"
#include "wire/sigv4/sigv4.h"

namespace fanfare::scenarios {

enum class Protocol { Json, Query };  ///< of SQS; SNS and STS have Query only

struct WireRequest {
  std::string_view service;  ///< "sqs", "sns", "sts"
  std::string action;        ///< "SendMessage"
  std::vector<wire::json::Member> members;
};

/// A whole HTTP request. Without credentials it is not signed.
std::string write_request(const WireRequest& request, Protocol protocol, const wire::sigv4::Credentials* credentials,
                          std::string_view region, Timestamp now);

/// An element of an XML answer. JSON is read into the same tree: lists and maps become repeated elements, named as in
/// XML.
struct Element {
  std::string name;
  std::string text;
  std::vector<Element> children;

  /// The first child of this name; null pointer: there is none.
  [[nodiscard]] const Element* find(std::string_view child) const;
  /// Its text; empty if there is none.
  [[nodiscard]] std::string get(std::string_view child) const;
  [[nodiscard]] std::vector<const Element*> all(std::string_view child) const;
  /// {"Attribute", "Name", "Value"}: pairs of repeated children.
  [[nodiscard]] std::map<std::string, std::string> pairs(std::string_view child, std::string_view key,
                                                         std::string_view value) const;
};

struct WireAnswer {
  int status = 0;
  Element result;          ///< <SendMessageResult>, or the whole JSON document
  std::string error_code;  ///< Query's code, also where JSON has another: "AWS.SimpleQueueService.NonExistentQueue"
  std::string error_message;
};

/// Ends the program if the bytes are no answer to this request.
WireAnswer read_answer(std::string_view bytes, const WireRequest& request, Protocol protocol);

}  // namespace fanfare::scenarios
