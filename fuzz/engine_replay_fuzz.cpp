// Records and snapshots as an engine reads them: the input is a row of u16 length and bytes. The first byte chooses: even, the
// pieces are records of a log; odd, they are sections of a snapshot. What is accepted must be a state that works.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "core/engine/engine.h"
#include "core/engine/records.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace fanfare;
  using namespace fanfare::engine;
  if (size == 0) return 0;
  ByteReader reader{{reinterpret_cast<const char*>(data) + 1, size - 1}};
  const auto piece = [&]() -> std::optional<std::string> {
    const auto bytes = reader.take<std::uint16_t>();
    const std::string_view text = reader.take_bytes(bytes);
    if (!reader.ok()) return std::nullopt;
    return std::string{text};
  };
  const auto use = [](Engine& engine) {
    Outputs outputs;
    engine.start(engine.log_end(), timestamp_from_unix_ms(1'764'500'000'000));
    engine.handle(DeadlineCame{}, timestamp_from_unix_ms(1'764'500'000'000), outputs);
    (void)engine.debug_state();
  };
  if (data[0] % 2 == 1) {
    auto loaded = Engine::load({}, piece);
    if (loaded) use(*loaded);
    return 0;
  }
  Engine engine{EngineOptions{}};
  LogPosition position;
  while (const auto record = piece()) {
    (void)content_of_record(*record);
    if (!engine.replay(*record, position)) break;
    position.value += record->size() + 16;
  }
  use(engine);
  return 0;
}
