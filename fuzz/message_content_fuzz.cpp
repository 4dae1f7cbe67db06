// Any bytes as an encoded content; what is accepted is walked through whole.
#include <cstdint>
#include <string_view>

#include "core/message/content.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto view = fanfare::message::ContentView::decode({reinterpret_cast<const char*>(data), size});
  if (!view) return 0;
  std::size_t bytes = view->body().size();
  for (fanfare::message::AttributeReader reader = view->attributes(); const auto attribute = reader.next();)
    bytes += attribute->name.size() + attribute->type.size() + attribute->value.size();
  bytes += view->text_for("http").size() == view->body().size() ? 0 : view->text_for("http").size();
  return bytes > size ? __builtin_trap(), 0 : 0;
}
