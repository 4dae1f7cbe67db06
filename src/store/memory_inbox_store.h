// An inbox store in memory, for --memory and for tests: obvious code, and therefore the reference for the others.
#pragma once

#include <memory>

#include "store/inbox_store.h"

namespace fanfare::store {

/// `epoch` is random and not 0, so that cursors of an earlier process are recognised as foreign.
std::unique_ptr<InboxStore> make_memory_inbox_store(inbox::Epoch epoch);

}  // namespace fanfare::store
