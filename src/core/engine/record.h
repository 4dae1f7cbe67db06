// EngineCore::record, for the files that call it.
#pragma once

#include "core/engine/engine_core.h"

namespace fanfare::engine {

template <class OneEvent>
void EngineCore::record(const OneEvent& event) {
  const std::size_t start = outputs_->record_bytes.size();
  encode_record(event, now_, {}, outputs_->record_bytes);
  finish_record(start);
  apply(event);
}

}  // namespace fanfare::engine
