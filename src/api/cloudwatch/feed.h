// What the engine counts, under CloudWatch's names.
#pragma once

#include "base/time.h"
#include "core/engine/engine.h"
#include "core/metrics/history.h"

namespace fanfare::api::cloudwatch {

/// One look of `history` at everything that the engine has. [SQS Available CloudWatch metrics] [SNS Monitoring topics]
void feed(metrics::History& history, engine::Engine& engine, Timestamp now);

}  // namespace fanfare::api::cloudwatch
