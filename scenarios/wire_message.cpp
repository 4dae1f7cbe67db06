// Requests in both protocols, and answers of both as one tree.
#include "wire_message.h"

#include <fmt/format.h>

#include <algorithm>

#include "wire/http/response.h"
#include "wire/http/url.h"
#include "words.h"

namespace fanfare::scenarios {
namespace {

namespace json = wire::json;
namespace http = wire::http;

constexpr std::string_view kHost = "localhost:4566";

/// How SQS's Query names what is a list or a map in JSON: without a wrapper, and in the singular.
struct Flattened {
  std::string_view json;
  std::string_view query;
  std::string_view key;  ///< of a map; empty: a list
  std::string_view value;
};
constexpr Flattened kFlattened[] = {
    {"Attributes", "Attribute", "Name", "Value"},
    {"MessageAttributes", "MessageAttribute", "Name", "Value"},
    {"tags", "Tag", "Key", "Value"},
    {"Tags", "Tag", "Key", "Value"},
    {"AttributeNames", "AttributeName", "", ""},
    {"MessageAttributeNames", "MessageAttributeName", "", ""},
    {"MessageSystemAttributeNames", "MessageSystemAttributeName", "", ""},
    {"TagKeys", "TagKey", "", ""},
    {"AWSAccountIds", "AWSAccountId", "", ""},
    {"Actions", "ActionName", "", ""},
    {"Messages", "Message", "", ""},
    {"QueueUrls", "QueueUrl", "", ""},
    {"queueUrls", "QueueUrl", "", ""},
    {"Failed", "BatchResultErrorEntry", "", ""},
};

const Flattened* flattened(std::string_view name) {
  const auto* const found = std::ranges::find(kFlattened, name, &Flattened::json);
  return found == std::end(kFlattened) ? nullptr : found;
}

void append_query(std::string& out, std::string_view service, const std::string& action, const std::string& path,
                  std::string_view name, const json::Value& value) {
  const auto inside = [&](const std::string& below, std::string_view member, const json::Value& one) {
    append_query(out, service, action, below, member, one);
  };
  if (value.is_object() || value.is_array()) {
    const Flattened* const flat = service == "sqs" ? flattened(name) : nullptr;
    std::string base = path + std::string(flat != nullptr ? flat->query : name);
    if (service == "sqs" && name == "Entries") base = action + "RequestEntry";
    std::size_t n = 0;
    for (const json::Value& item : value.items()) {
      const std::string at = fmt::format("{}{}.{}", base, service == "sqs" ? "" : ".member", ++n);
      if (item.is_object())
        for (const auto& [key, one] : item.members()) inside(at + ".", key, one);
      else
        inside("", at, item);
    }
    const bool is_map = service == "sqs" ? flat != nullptr : name == "Attributes" || name == "MessageAttributes";
    if (value.is_object() && !is_map) {
      for (const auto& [key, one] : value.members()) inside(base + ".", key, one);
      return;
    }
    for (const auto& [key, one] : value.members()) {
      const std::string at = fmt::format("{}{}.{}.", base, service == "sqs" ? "" : ".entry", ++n);
      const bool named = service == "sqs" || name == "MessageAttributes";
      inside(at, flat != nullptr ? flat->key : named ? "Name" : "key", json::Value::string(key));
      inside(at, flat != nullptr ? flat->value : named ? "Value" : "value", one);
    }
    return;
  }
  std::string text;
  if (value.is_string())
    text = *value.as_string();
  else
    value.append_to(text);
  out += out.empty() ? "" : "&";
  http::append_form_encoded(out, path + std::string(name));
  out += '=';
  http::append_form_encoded(out, text);
}

std::string_view version_of(std::string_view service) {
  if (service == "sqs") return "2012-11-05";
  if (service == "sns") return "2010-03-31";
  return "2011-06-15";
}

/// Reads elements without attributes that matter, as the services write them; anything else ends the program.
class XmlReader {
 public:
  explicit XmlReader(std::string_view text) : text_(text) {
    if (text_.starts_with("<?")) text_.remove_prefix(text_.find("?>") + 2);
  }

  Element element() {
    Element out;
    expect('<');
    const std::size_t end = text_.find('>');
    if (end == std::string_view::npos) wrong("XML: a tag without an end");
    std::string_view tag = text_.substr(0, end);
    text_.remove_prefix(end + 1);
    const bool empty = tag.ends_with('/');
    if (empty) tag.remove_suffix(1);
    out.name = tag.substr(0, tag.find(' '));
    if (empty) return out;
    while (!text_.starts_with("</")) {
      if (text_.starts_with('<'))
        out.children.push_back(element());
      else
        append_text(out.text);
    }
    const std::string closing = "</" + out.name + ">";
    if (!text_.starts_with(closing)) wrong(fmt::format("XML: {} is not closed", out.name));
    text_.remove_prefix(closing.size());
    return out;
  }
  [[nodiscard]] bool at_end() const { return text_.find_first_not_of("\r\n ") == std::string_view::npos; }

 private:
  void expect(char c) {
    if (!text_.starts_with(c)) wrong(fmt::format("XML: '{}' expected", c));
    text_.remove_prefix(1);
  }
  void append_text(std::string& out) {
    if (text_.empty()) wrong("XML: it ends inside an element");
    if (text_.front() != '&') {
      const std::size_t end = std::min(text_.find_first_of("<&"), text_.size());
      out += text_.substr(0, end);
      text_.remove_prefix(end);
      return;
    }
    const std::size_t end = text_.find(';');
    const std::string_view entity = text_.substr(1, end - 1);
    text_.remove_prefix(end + 1);
    if (entity == "lt")
      out += '<';
    else if (entity == "gt")
      out += '>';
    else if (entity == "amp")
      out += '&';
    else if (entity == "quot")
      out += '"';
    else if (entity == "apos")
      out += '\'';
    else if (entity.starts_with("#x"))
      out += static_cast<char>(std::stoi(std::string(entity.substr(2)), nullptr, 16));
    else
      wrong(fmt::format("XML: there is no entity '{}'", entity));
  }
  std::string_view text_;
};

Element element_of(std::string name, const json::Value& value, const std::string& action);

void append_members(Element& out, const json::Value& object, const std::string& action) {
  for (const auto& [key, value] : object.members()) {
    const Flattened* const flat = flattened(key);
    if (value.is_array()) {
      std::string name{flat != nullptr ? flat->query : std::string_view{key}};
      if (key == "Successful") name = action + "ResultEntry";
      if (key == "Results") name = "ListMessageMoveTasksResultEntry";
      for (const json::Value& item : value.items()) out.children.push_back(element_of(name, item, action));
    } else if (value.is_object() && flat != nullptr && !flat->key.empty()) {
      for (const auto& [entry, one] : value.members()) {
        Element pair{std::string(flat->query), {}, {}};
        pair.children.push_back({std::string(flat->key), entry, {}});
        pair.children.push_back(element_of(std::string(flat->value), one, action));
        out.children.push_back(std::move(pair));
      }
    } else {
      out.children.push_back(element_of(key, value, action));
    }
  }
}

Element element_of(std::string name, const json::Value& value, const std::string& action) {
  Element out{std::move(name), {}, {}};
  if (value.is_object())
    append_members(out, value, action);
  else if (value.is_string())
    out.text = *value.as_string();
  else
    value.append_to(out.text);
  return out;
}

/// "com.amazonaws.sqs#QueueDoesNotExist" -> "QueueDoesNotExist"; what has no code of its own in Query is named as
/// there.
std::string code_of_type(std::string_view type) {
  std::string code{type.substr(type.find('#') + 1)};
  if (code == "MissingRequiredParameterException") return "MissingParameter";
  if (code == "InvalidParameterValueException" || code == "AccessDeniedException")
    code.resize(code.size() - std::string_view("Exception").size());
  return code;
}

}  // namespace

std::string write_request(const WireRequest& request, Protocol protocol, const wire::sigv4::Credentials* credentials,
                          std::string_view region, Timestamp now) {
  std::string body;
  std::vector<http::Header> headers{{"Host", kHost}};
  const std::string target = "AmazonSQS." + request.action;
  if (protocol == Protocol::Json && request.service == "sqs") {
    json::Value::object(request.members).append_to(body);
    headers.push_back({"X-Amz-Target", target});
    headers.push_back({"Content-Type", "application/x-amz-json-1.0"});
  } else {
    body = fmt::format("Action={}&Version={}", request.action, version_of(request.service));
    for (const auto& [name, value] : request.members)
      append_query(body, request.service, request.action, "", name, value);
    headers.push_back({"Content-Type", "application/x-www-form-urlencoded; charset=utf-8"});
  }
  wire::sigv4::SignedFields fields;
  if (credentials != nullptr) {
    wire::sigv4::SigningKeyCache cache;
    fields = wire::sigv4::sign({"POST", "/", "", http::Headers{headers}, body}, *credentials,
                               {region, request.service, now}, cache);
    headers.push_back({"X-Amz-Date", fields.date});
    if (!fields.session_token.empty()) headers.push_back({"X-Amz-Security-Token", fields.session_token});
    headers.push_back({"Authorization", fields.authorization});
  }
  std::string out = "POST / HTTP/1.1\r\n";
  for (const auto& [name, value] : headers) out += fmt::format("{}: {}\r\n", name, value);
  out += fmt::format("Content-Length: {}\r\n\r\n", body.size());
  return out + body;
}

const Element* Element::find(std::string_view child) const {
  const auto found = std::ranges::find(children, child, &Element::name);
  return found == children.end() ? nullptr : &*found;
}
std::string Element::get(std::string_view child) const {
  const Element* const found = find(child);
  return found == nullptr ? std::string{} : found->text;
}
std::vector<const Element*> Element::all(std::string_view child) const {
  std::vector<const Element*> found;
  for (const Element& one : children)
    if (one.name == child) found.push_back(&one);
  return found;
}
std::map<std::string, std::string> Element::pairs(std::string_view child, std::string_view key,
                                                  std::string_view value) const {
  std::map<std::string, std::string> found;
  for (const Element* one : all(child)) found.emplace(one->get(key), one->get(value));
  return found;
}

WireAnswer read_answer(std::string_view bytes, const WireRequest& request, Protocol protocol) {
  http::ResponseParser parser;
  if (parser.parse(bytes) != http::ResponseParser::State::Complete || parser.consumed() != bytes.size())
    wrong(fmt::format("this is no whole HTTP response: {}", bytes));
  const http::Response& response = parser.response();
  WireAnswer answer;
  answer.status = response.status;
  if (protocol == Protocol::Json && request.service == "sqs") {
    const auto document = json::parse(response.body);
    if (!document || !document->is_object()) wrong(fmt::format("this is no JSON object: {}", response.body));
    if (response.status == 200) {
      append_members(answer.result, *document, request.action);
      return answer;
    }
    answer.error_code = code_of_type(document->find_string("__type").value_or(""));
    if (const auto code = response.headers.find("x-amzn-query-error"))
      answer.error_code = code->substr(0, code->find(';'));
    answer.error_message = document->find_string("message").value_or("");
    return answer;
  }
  XmlReader reader(response.body);
  Element root = reader.element();
  if (!reader.at_end()) wrong("XML: more behind its end");
  if (response.status == 200) {
    if (root.name != request.action + "Response")
      wrong(fmt::format("{} was answered with {}", request.action, root.name));
    for (Element& child : root.children)
      if (child.name == request.action + "Result") answer.result = std::move(child);
    return answer;
  }
  const Element* const error = root.find("Error");
  if (error == nullptr) wrong(fmt::format("status {} without an error: {}", response.status, response.body));
  answer.error_code = error->get("Code");
  answer.error_message = error->get("Message");
  return answer;
}

}  // namespace fanfare::scenarios
