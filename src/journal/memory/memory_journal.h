// A journal that keeps its records in memory: `--memory`, and tests of what lies above. Nothing outlives the process.
#pragma once

#include <memory>

#include "journal/journal.h"

namespace fanfare::journal {

/// An empty journal with epoch 1. Every commit succeeds, whichever Sync. Memory is given back by trim(), in steps of 256 KiB.
std::unique_ptr<Journal> make_memory_journal();

}  // namespace fanfare::journal
