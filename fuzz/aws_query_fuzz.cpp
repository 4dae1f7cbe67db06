// AWS Query forms for all services: the whole input is a form body. Checks that nothing falls over, and that a
// structure that was read from a form is the same when it is written and read as JSON: both protocols read by one
// table.
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "api/aws/operation.h"
#include "aws_fuzz_service.h"
#include "wire/aws_json/document.h"
#include "wire/aws_query/form.h"
#include "wire/aws_query/xml.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace fanfare;
  const std::string_view body(reinterpret_cast<const char*>(data), size);
  const wire::http::Header fields[] = {{"Host", "localhost"}, {"Content-Type", "application/x-www-form-urlencoded"}};
  wire::http::Request request;
  request.method = "POST";
  request.path = "/";
  request.authority = "localhost";
  request.headers = wire::http::Headers(fields);
  request.body = body;
  fuzz::decode_request(request);

  wire::http::Form form;
  if (form.parse(body)) return 0;
  const auto action = form.find("Action");
  for (const api::aws::ServiceModel* model : api::aws::all_models()) {
    const api::aws::Operation* const operation = action ? model->find(*action) : nullptr;
    if (operation == nullptr || operation->input == nullptr) continue;
    const wire::aws::Shape& shape = *operation->input;
    wire::aws::Arena arena;
    std::vector<std::uint64_t> structure(shape.size / 8 + 1);
    if (!wire::aws_query::decode(form.fields(), shape, structure.data(), arena)) continue;
    std::string xml;
    wire::aws_query::append_members(xml, shape, structure.data());
    std::string json;
    wire::aws_json::append(json, shape, structure.data());
    wire::json::Reader reader;
    const auto root = reader.parse(json);
    if (!root) std::abort();
    std::vector<std::uint64_t> again(shape.size / 8 + 1);
    if (!wire::aws_json::decode(*root, shape, again.data(), arena)) std::abort();
    std::string json_again;
    wire::aws_json::append(json_again, shape, again.data());
    if (json_again != json) std::abort();
  }
  return 0;
}
