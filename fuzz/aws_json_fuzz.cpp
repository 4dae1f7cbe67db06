// AWS JSON bodies for every SQS operation: the first byte chooses the operation, the rest is the body.
// Checks that nothing falls over, and that what was read reads back the same after it was written.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "api/aws/sqs_model.h"
#include "aws_fuzz_service.h"
#include "wire/aws_json/document.h"

namespace {

using namespace fanfare;

/// The text of what `body` decodes to; nothing if it is refused.
std::optional<std::string> rewritten(std::string_view body, const wire::aws::Shape& shape) {
  wire::json::Reader reader;
  wire::aws::Arena arena;
  const auto root = reader.parse(body);
  if (!root) return std::nullopt;
  std::vector<std::uint64_t> structure(shape.size / 8 + 1);
  if (!wire::aws_json::decode(*root, shape, structure.data(), arena)) return std::nullopt;
  std::string text;
  wire::aws_json::append(text, shape, structure.data());
  return text;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const auto operations = api::sqs::kModel.operations;
  const api::aws::Operation& operation = operations[data[0] % operations.size()];
  const std::string_view body(reinterpret_cast<const char*>(data) + 1, size - 1);

  const std::string target = "AmazonSQS." + std::string(operation.name);
  const wire::http::Header fields[] = {{"Host", "localhost"}, {"X-Amz-Target", target}};
  wire::http::Request request;
  request.method = "POST";
  request.path = "/";
  request.authority = "localhost";
  request.headers = wire::http::Headers(fields);
  request.body = body;
  fuzz::decode_request(request);

  if (operation.input == nullptr) return 0;
  const auto once = rewritten(body, *operation.input);
  if (!once) return 0;
  const auto twice = rewritten(*once, *operation.input);
  if (!twice || *twice != *once) std::abort();
  return 0;
}
