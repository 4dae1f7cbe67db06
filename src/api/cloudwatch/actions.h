// The actions of CloudWatch by which tools read the metrics of queues and topics: ListMetrics, GetMetricStatistics and
// GetMetricData. Expressions and percentiles are refused by name.
// Source of truth: [CloudWatch API Reference]; names and units of metrics: [SQS Available CloudWatch metrics],
// [SNS Monitoring topics using CloudWatch].
#pragma once

#include "api/aws/call.h"
#include "api/aws/cloudwatch_model.h"

namespace fanfare::api::cloudwatch {

const aws::Handler& handler_of(Action action);

}  // namespace fanfare::api::cloudwatch
