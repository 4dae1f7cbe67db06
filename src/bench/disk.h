// What the disk alone can do: the floor under everything durable.
#pragma once

#include <string>

#include "base/result.h"
#include "bench/endpoint.h"
#include "bench/histogram.h"

namespace fanfare::bench {

struct DiskResult {
  Histogram latency;  ///< of one write with its fdatasync
  double seconds = 0;
};

/// Writes `bytes` at a time, one after the other, into a file of `folder` whose blocks have been written before, and
/// makes each write durable by fdatasync. The file is removed.
Result<DiskResult, Trouble> measure_disk(const std::string& folder, std::size_t bytes, nanoseconds duration);

}  // namespace fanfare::bench
