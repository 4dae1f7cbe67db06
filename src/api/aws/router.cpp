#include "api/aws/router.h"

#include <fmt/format.h>

#include <algorithm>

#include "wire/aws_shape/text.h"

namespace fanfare::api::aws {
namespace {

/// For those who look at this port as at a web site, or for health at it.
constexpr std::string_view kWhereHealthIs = "This is the endpoint of SNS, SQS and STS; health is told at /livez and /readyz of the admin port, serve --admin.";

using wire::http::equal_ignoring_case;

/// More than any request needs: ten entries with a hundred attributes of three parameters each are 3,000.
constexpr std::size_t kParametersMax = 10'000;

bool is_account(std::string_view text) {
  return text.size() == 12 && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

/// "/000000000000/work", with or without a slash at the end.
bool is_queue_path(std::string_view path) {
  if (path.size() < 15 || path[0] != '/' || path[13] != '/' || !is_account(path.substr(1, 12))) return false;
  std::string_view name = path.substr(14);
  if (name.ends_with('/')) name.remove_suffix(1);
  return !name.empty() && name.find('/') == std::string_view::npos;
}

/// "us-east-1", "ap-southeast-2", "us-gov-west-1"
bool looks_like_region(std::string_view label) {
  return label.size() >= 9 && label.size() <= 20 && label[2] == '-' && label.back() >= '0' && label.back() <= '9' &&
         std::ranges::all_of(label,
                             [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-'; });
}

std::optional<Service> service_named(std::string_view name) {
  for (const ServiceModel* model : all_models()) {
    if (model->name == name) return model->service;
  }
  return std::nullopt;
}

struct Host {
  std::optional<Service> service;
  std::string_view region;
};

/// "sqs.eu-west-1.amazonaws.com", "queue.amazonaws.com", "eu-west-1.queue.amazonaws.com", "sns.us-east-1.api.aws"
Host read_host(std::string_view authority) {
  Host host;
  authority = authority.substr(0, authority.find(':'));
  for (int i = 0; i < 3 && !authority.empty(); ++i) {
    const std::size_t dot = authority.find('.');
    const std::string_view label = authority.substr(0, dot);
    if (!host.service) host.service = label == "queue" ? Service::Sqs : service_named(label);
    if (host.region.empty() && looks_like_region(label)) host.region = label;
    if (dot == std::string_view::npos) break;
    authority.remove_prefix(dot + 1);
  }
  return host;
}

bool is_media_type(std::string_view content_type, std::string_view wanted) {
  std::string_view type = content_type.substr(0, content_type.find(';'));
  while (type.ends_with(' ')) type.remove_suffix(1);
  return equal_ignoring_case(type, wanted);
}

std::string_view find(std::span<const wire::http::FormField> parameters, std::string_view name) {
  const auto found = std::ranges::find(parameters, name, &wire::http::FormField::name);
  return found == parameters.end() ? std::string_view() : found->value;
}

std::optional<ApiError> parse_form(wire::http::Form& form, std::string_view text, std::string_view where) {
  if (static_cast<std::size_t>(std::ranges::count(text, '&')) >= kParametersMax) {
    return api_error(CommonError::MalformedQueryString,
                     fmt::format("The {} has more than {} parameters.", where, kParametersMax));
  }
  if (const auto offset = form.parse(text)) {
    return api_error(
        CommonError::MalformedQueryString,
        fmt::format("The {} has a percent sign without two hexadecimal digits at byte {}.", where, *offset));
  }
  for (const auto& [name, value] : form.fields()) {
    if (wire::aws::classify(name) == wire::aws::TextClass::NotUtf8 ||
        wire::aws::classify(value) == wire::aws::TextClass::NotUtf8) {
      return api_error(CommonError::MalformedQueryString,
                       fmt::format("The {} has a parameter that is not UTF-8.", where));
    }
  }
  return std::nullopt;
}

}  // namespace

Head::Head(const wire::http::Request& request) {
  for (const auto& [name, value] : request.headers) {
    switch (name.size()) {  // most fields are told apart by their length
      case 6:
        if (equal_ignoring_case(name, "Origin")) origin = value;
        break;
      case 10:
        if (equal_ignoring_case(name, "User-Agent")) user_agent = value;
        break;
      case 12:
        if (equal_ignoring_case(name, "X-Amz-Target")) target = value;
        if (equal_ignoring_case(name, "Content-Type")) content_type = value;
        break;
      case 13:
        if (equal_ignoring_case(name, "Authorization")) authorization = value;
        break;
      case 14:
        if (equal_ignoring_case(name, "Sec-Fetch-Site")) fetch_site = value;
        break;
      case 15:
        if (equal_ignoring_case(name, "X-Amzn-Trace-Id")) trace_id = value;
        break;
      case 16:
        if (equal_ignoring_case(name, "Content-Encoding")) content_encoding = value;
        break;
      case 17:
        if (equal_ignoring_case(name, "X-Forwarded-Proto")) forwarded_proto = value;
        break;
      default: break;
    }
  }
}

Credential parse_credential(std::string_view authorization, const wire::http::Form& query) {
  Credential credential;
  std::string_view scope;
  if (authorization.starts_with("AWS4-HMAC-SHA256")) {
    credential.present = true;
    const std::size_t at = authorization.find("Credential=");
    if (at != std::string_view::npos) {
      scope = authorization.substr(at + 11);
      scope = scope.substr(0, scope.find(','));  // find_first_of would look at each byte by a call of its own
      scope = scope.substr(0, scope.find(' '));
    }
  } else if (const auto in_query = query.find("X-Amz-Credential")) {
    credential.present = true;
    credential.in_query = true;
    scope = *in_query;
  } else {
    return credential;
  }
  std::string_view* const parts[] = {&credential.access_key, &credential.date, &credential.region, &credential.service};
  for (std::string_view* part : parts) {
    const std::size_t slash = scope.find('/');
    *part = scope.substr(0, slash);
    if (slash == std::string_view::npos) break;
    scope.remove_prefix(slash + 1);
  }
  return credential;
}

std::optional<ApiError> Router::route(const wire::http::Request& request, const Head& head,
                                      std::string_view default_region, Route& route) {
  parameters_ = {};
  const bool is_json = !head.target.empty();
  route.protocol = is_json ? Protocol::Json : Protocol::Query;
  route.queue_path = is_queue_path(request.path) ? request.path : std::string_view();

  std::optional<ApiError> broken_query = parse_form(query_, request.query, "query string");
  route.credential = parse_credential(head.authorization, query_);
  const Host host = read_host(request.authority);
  route.region = looks_like_region(route.credential.region) ? route.credential.region
                 : !host.region.empty()                     ? host.region
                                                            : default_region;
  if (const auto named = service_named(route.credential.service)) {
    route.service = *named;
  } else if (host.service) {
    route.service = *host.service;
  }

  if (request.method != "POST" && request.method != "GET") {
    return api_error(CommonError::MethodNotAllowed,
                     fmt::format("The method {} is not allowed: use POST or GET.", request.method.substr(0, 32)));
  }
  if (request.path != "/" && route.queue_path.empty()) {
    return api_error(CommonError::NotFound,
                     fmt::format("There is nothing at this path: use / or the path of a queue URL. {}", kWhereHealthIs));
  }
  if (!head.content_encoding.empty() && !equal_ignoring_case(head.content_encoding, "identity")) {
    return api_error(CommonError::UnsupportedMediaType,
                     fmt::format("The Content-Encoding {} is not supported: send the body as it is.",
                                 head.content_encoding.substr(0, 32)));
  }
  if (broken_query) return broken_query;
  return is_json ? route_json(request, head, route) : route_query(request, head, route);
}

std::optional<ApiError> Router::route_json(const wire::http::Request& request, const Head& head, Route& route) {
  const std::size_t dot = head.target.rfind('.');
  const std::string_view prefix = head.target.substr(0, dot);
  const std::string_view name = dot == std::string_view::npos ? std::string_view() : head.target.substr(dot + 1);
  for (const ServiceModel* model : all_models()) {
    if (model->target_prefix.empty() || model->target_prefix != prefix) continue;
    route.service = model->service;
    route.operation = model->find(name);
  }
  if (request.method != "POST") {
    return api_error(CommonError::MethodNotAllowed, "X-Amz-Target needs the method POST.");
  }
  if (!head.content_type.empty() && !is_media_type(head.content_type, "application/x-amz-json-1.0") &&
      !is_media_type(head.content_type, "application/x-amz-json-1.1") &&
      !is_media_type(head.content_type, "application/json")) {
    route.operation = nullptr;
    return api_error(CommonError::UnknownOperation,
                     fmt::format("X-Amz-Target needs the Content-Type application/x-amz-json-1.0, not {}.",
                                 head.content_type.substr(0, 64)));
  }
  if (route.operation == nullptr) {
    return api_error(CommonError::UnknownOperation,
                     fmt::format("The operation {} does not exist.", head.target.substr(0, 128)));
  }
  return std::nullopt;
}

std::optional<ApiError> Router::route_query(const wire::http::Request& request, const Head& head, Route& route) {
  parameters_ = query_.fields();
  if (request.method == "POST" && !request.body.empty()) {
    if (!head.content_type.empty() && !is_media_type(head.content_type, "application/x-www-form-urlencoded")) {
      return api_error(CommonError::UnknownOperation,
                       fmt::format("A request without X-Amz-Target needs the Content-Type "
                                   "application/x-www-form-urlencoded, not {}.",
                                   head.content_type.substr(0, 64)));
    }
    if (auto error = parse_form(body_, request.body, "body")) return error;
    if (parameters_.empty()) {
      parameters_ = body_.fields();
    } else {
      both_.assign(body_.fields().begin(), body_.fields().end());
      both_.insert(both_.end(), query_.fields().begin(), query_.fields().end());
      parameters_ = both_;
    }
  }
  const std::string_view action = find(parameters_, "Action");
  if (action.empty()) {
    // A queue's URL opened as a page: seen at AWS.
    if (parameters_.empty() && !route.queue_path.empty())
      return api_error(CommonError::UnknownOperation, "A queue's URL takes actions: the request must contain the parameter Action.");
    return api_error(CommonError::MissingAction, parameters_.empty() ? fmt::format("The request must contain the parameter Action. {}", kWhereHealthIs)
                                                                     : "The request must contain the parameter Action.");
  }
  const std::string_view version = find(parameters_, "Version");
  const auto knows = [&](const ServiceModel& model) {
    route.operation = model.find(action);
    if (route.operation != nullptr) route.service = model.service;
    return route.operation != nullptr;
  };
  if (service_named(route.credential.service)) {
    knows(model_of(route.service));
  } else if (read_host(request.authority).service) {
    knows(model_of(route.service));
  } else if (!route.queue_path.empty()) {
    knows(model_of(Service::Sqs));
  } else {
    const auto of_version =
        std::ranges::find(all_models(), version, [](const ServiceModel* m) { return m->api_version; });
    if (of_version != all_models().end() && !knows(**of_version)) route.service = (*of_version)->service;
    if (of_version == all_models().end()) {
      for (const ServiceModel* model : all_models()) {
        if (knows(*model)) break;
      }
    }
  }
  // What is about no queue in particular is no action of a queue's URL: seen at AWS.
  if (!route.queue_path.empty() && route.service == Service::Sqs && (action == "CreateQueue" || action == "ListQueues"))
    route.operation = nullptr;
  if (route.operation == nullptr) {
    const std::string_view shown = action.substr(0, 128);
    return api_error(CommonError::InvalidAction,
                     route.service == Service::Sqs
                         ? fmt::format("The action {} is not valid for this endpoint.", shown)
                         : fmt::format("Could not find operation {} for version {}", shown,
                                       version.empty() ? model_of(route.service).api_version : version.substr(0, 32)));
  }
  return std::nullopt;
}

}  // namespace fanfare::api::aws
