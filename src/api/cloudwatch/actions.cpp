#include "api/cloudwatch/actions.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/assert.h"

namespace fanfare::api::cloudwatch {
namespace {

using aws::ApiError;
using aws::Next;

constexpr std::string_view kSqs = "AWS/SQS";
constexpr std::string_view kSns = "AWS/SNS";
constexpr std::size_t kMetricsPerPage = 500;
constexpr std::size_t kQueriesMax = 500;
constexpr std::int64_t kDatapointsMax = 1'440;

ApiError invalid_value(std::string message) { return {{"InvalidParameterValueException", "InvalidParameterValue", 400}, std::move(message)}; }
ApiError missing(std::string_view parameter) {
  return {{"MissingRequiredParameterException", "MissingParameter", 400}, fmt::format("The parameter {} is required.", parameter)};
}
ApiError bad_combination(std::string message) {
  return {{"InvalidParameterCombinationException", "InvalidParameterCombination", 400}, std::move(message)};
}
ApiError not_valid(std::string message) { return aws::api_error(aws::CommonError::Validation, std::move(message)); }

std::string_view namespace_of(metrics::Service service) { return service == metrics::Service::Sqs ? kSqs : kSns; }
std::string_view dimension_of(metrics::Service service) { return service == metrics::Service::Sqs ? "QueueName" : "TopicName"; }
std::string_view unit_of(std::string_view metric) {
  if (metric.ends_with("Size")) return "Bytes";
  return metric.starts_with("ApproximateAge") ? "Seconds" : "Count";
}

enum class Statistic : std::uint8_t { SampleCount, Average, Sum, Minimum, Maximum };
constexpr std::array<std::string_view, 5> kStatistics{"SampleCount", "Average", "Sum", "Minimum", "Maximum"};

std::optional<Statistic> statistic_named(std::string_view name) {
  const auto found = std::ranges::find(kStatistics, name);
  if (found == kStatistics.end()) return std::nullopt;
  return static_cast<Statistic>(found - kStatistics.begin());
}
double value_of(const metrics::Statistics& values, Statistic statistic) {
  switch (statistic) {
    case Statistic::SampleCount: return values.samples;
    case Statistic::Average: return values.average();
    case Statistic::Sum: return values.sum;
    case Statistic::Minimum: return values.minimum;
    case Statistic::Maximum: return values.maximum;
  }
  return 0;
}

/// The resource that a namespace and its dimensions name; nullopt: none that this broker could have.
std::optional<metrics::Resource> resource_of(const aws::Call& call, std::string_view name_space,
                                             const wire::aws::List<model::Dimension>& dimensions) {
  const metrics::Service service = name_space == kSqs ? metrics::Service::Sqs : metrics::Service::Sns;
  if (name_space != namespace_of(service) || dimensions.size() != 1) return std::nullopt;
  if (dimensions[0].name.view() != dimension_of(service)) return std::nullopt;
  return metrics::Resource{service, std::string{call.account}, std::string{call.region}, std::string{dimensions[0].value.view()}};
}

/// 60, 120, ...; CloudWatch has shorter ones for metrics that somebody stores with such a resolution.
std::optional<ApiError> check_period(std::int64_t period, std::string_view parameter) {
  if (period >= 60 && period % 60 == 0 && period <= 86'400) return std::nullopt;
  return invalid_value(fmt::format("The parameter {} must be a multiple of 60, at most 86400; it is {}.", parameter, period));
}

// ---- ListMetrics ------------------------------------------------------------------------------------------------------

Result<Next, ApiError> list_metrics(const model::ListMetricsInput& in, aws::Call& call) {
  std::size_t skip = 0;
  if (in.next_token.has_value()) {
    const std::string_view token = in.next_token.view();
    const auto [end, error] = std::from_chars(token.data(), token.data() + token.size(), skip);
    if (error != std::errc() || end != token.data() + token.size()) return invalid_value("The parameter NextToken is not one that ListMetrics gave.");
  }
  if (call.metrics == nullptr) return aws::not_here_yet(nullptr, call);
  std::vector<model::Metric> found;
  std::size_t matching = 0;
  call.metrics->read(call.now, [&](const metrics::History& history) {
    history.for_each([&](const metrics::Metric& metric) {
      const metrics::Resource& resource = *metric.resource;
      if (resource.account != call.account || resource.region != call.region) return true;
      if (in.namespace_.has_value() && in.namespace_.view() != namespace_of(resource.service)) return true;
      if (in.metric_name.has_value() && in.metric_name.view() != metric.name) return true;
      for (const model::DimensionFilter& filter : in.dimensions) {
        if (filter.name.view() != dimension_of(resource.service)) return true;
        if (filter.value.has_value() && filter.value.view() != resource.name) return true;
      }
      if (matching++ < skip) return true;
      if (found.size() == kMetricsPerPage) return false;
      auto* const dimension = call.answer.arena.take_array<model::Dimension>(1);
      dimension->name = dimension_of(resource.service);
      dimension->value = call.answer.arena.copy(resource.name);
      model::Metric& one = found.emplace_back();
      one.namespace_ = namespace_of(resource.service);
      one.metric_name = metric.name;
      one.dimensions = {dimension, 1};
      return true;
    });
  });
  model::ListMetricsOutput out;
  out.metrics = found;
  if (matching > skip + found.size()) out.next_token = call.answer.arena.copy(std::to_string(skip + found.size()));
  call.answer.write(out);
  return Next::Answered;
}

// ---- GetMetricStatistics ----------------------------------------------------------------------------------------------

Result<Next, ApiError> get_metric_statistics(const model::GetMetricStatisticsInput& in, aws::Call& call) {
  if (in.namespace_.empty()) return missing("Namespace");
  if (in.metric_name.empty()) return missing("MetricName");
  if (!in.start_time.has_value()) return missing("StartTime");
  if (!in.end_time.has_value()) return missing("EndTime");
  if (!in.period.has_value()) return missing("Period");
  if (in.statistics.empty() && in.extended_statistics.empty())
    return aws::ApiError{{"MissingRequiredParameterException", "MissingParameter", 400},
                         "At least one of the parameters Statistics and ExtendedStatistics must be specified."};
  if (!in.extended_statistics.empty())
    return invalid_value("The parameter ExtendedStatistics is not supported here: percentiles are not kept. Use Statistics.");
  std::array<bool, kStatistics.size()> wanted{};
  for (std::size_t i = 0; i < in.statistics.size(); ++i) {
    const auto statistic = statistic_named(in.statistics[i].view());
    if (!statistic)
      return invalid_value(fmt::format("The parameter Statistics.member.{} must be a value in the set [ {} ]; it is {}.", i + 1,
                                       fmt::join(kStatistics, ", "), in.statistics[i].view().substr(0, 64)));
    wanted[static_cast<std::size_t>(*statistic)] = true;
  }
  if (auto error = check_period(*in.period, "Period")) return *std::move(error);
  if (*in.start_time >= *in.end_time)
    return invalid_value("The parameter StartTime must be less than the parameter EndTime.");
  const std::int64_t requested = (*in.end_time - *in.start_time) / (*in.period * 1000);
  if (requested > kDatapointsMax)
    return bad_combination(fmt::format("You have requested up to {} datapoints, which exceeds the limit of {}. Increase Period, or "
                                       "the time between StartTime and EndTime.", requested, kDatapointsMax));
  if (call.metrics == nullptr) return aws::not_here_yet(nullptr, call);
  std::vector<metrics::Point> points;
  const auto resource = resource_of(call, in.namespace_.view(), in.dimensions);
  const std::string_view unit = unit_of(in.metric_name.view());
  if (resource && (!in.unit.has_value() || in.unit.view() == unit)) {
    call.metrics->read(call.now, [&](const metrics::History& history) {
      points = history.query(*resource, in.metric_name.view(), timestamp_from_unix_ms(*in.start_time),
                             timestamp_from_unix_ms(*in.end_time), seconds{*in.period});
    });
  }
  std::vector<model::Datapoint> datapoints;
  for (const metrics::Point& point : points) {
    model::Datapoint& one = datapoints.emplace_back();
    one.timestamp = unix_ms(point.at);
    if (wanted[0]) one.sample_count = value_of(point.values, Statistic::SampleCount);
    if (wanted[1]) one.average = value_of(point.values, Statistic::Average);
    if (wanted[2]) one.sum = value_of(point.values, Statistic::Sum);
    if (wanted[3]) one.minimum = value_of(point.values, Statistic::Minimum);
    if (wanted[4]) one.maximum = value_of(point.values, Statistic::Maximum);
    one.unit = unit;
  }
  model::GetMetricStatisticsOutput out;
  out.label = in.metric_name;
  out.datapoints = datapoints;
  call.answer.write(out);
  return Next::Answered;
}

// ---- GetMetricData ----------------------------------------------------------------------------------------------------

bool is_query_id(std::string_view id) {
  if (id.empty() || id.size() > 255 || id[0] < 'a' || id[0] > 'z') return false;
  return std::ranges::all_of(id, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  });
}

std::optional<ApiError> check_query(const model::MetricDataQuery& query, std::size_t index) {
  const std::string place = fmt::format("MetricDataQueries.member.{}", index + 1);
  if (!is_query_id(query.id.view()))
    return not_valid(fmt::format("The value '{}' at {}.Id is not an id: a lower-case letter, then letters, digits and underscores.",
                                 query.id.view().substr(0, 64), place));
  if (query.expression.has_value())
    return not_valid(fmt::format("{}.Expression is not supported here: there is no metric math. Use MetricStat.", place));
  const model::MetricStat& stat = query.metric_stat;
  if (stat.metric.namespace_.empty()) return not_valid(fmt::format("The parameter {}.MetricStat.Metric.Namespace is required.", place));
  if (stat.metric.metric_name.empty()) return not_valid(fmt::format("The parameter {}.MetricStat.Metric.MetricName is required.", place));
  if (!stat.period.has_value()) return not_valid(fmt::format("The parameter {}.MetricStat.Period is required.", place));
  if (check_period(*stat.period, "Period"))
    return not_valid(fmt::format("{}.MetricStat.Period must be a multiple of 60, at most 86400; it is {}.", place, *stat.period));
  if (!statistic_named(stat.stat.view()))
    return not_valid(fmt::format("{}.MetricStat.Stat must be a value in the set [ {} ]; it is '{}'.", place,
                                 fmt::join(kStatistics, ", "), stat.stat.view().substr(0, 64)));
  return std::nullopt;
}

Result<Next, ApiError> get_metric_data(const model::GetMetricDataInput& in, aws::Call& call) {
  if (!in.metric_data_queries.has_value() || in.metric_data_queries.empty()) return not_valid("The parameter MetricDataQueries is required.");
  if (!in.start_time.has_value()) return not_valid("The parameter StartTime is required.");
  if (!in.end_time.has_value()) return not_valid("The parameter EndTime is required.");
  if (*in.start_time >= *in.end_time) return not_valid("The parameter StartTime must be less than the parameter EndTime.");
  if (in.metric_data_queries.size() > kQueriesMax)
    return not_valid(fmt::format("There are {} queries; at most {} are accepted.", in.metric_data_queries.size(), kQueriesMax));
  const std::string_view order = in.scan_by.has_value() ? in.scan_by.view() : "TimestampDescending";
  if (order != "TimestampDescending" && order != "TimestampAscending")
    return not_valid(fmt::format("The parameter ScanBy must be TimestampDescending or TimestampAscending; it is '{}'.", order.substr(0, 64)));
  std::set<std::string_view> ids;
  for (std::size_t i = 0; i < in.metric_data_queries.size(); ++i) {
    const model::MetricDataQuery& query = in.metric_data_queries[i];
    if (auto error = check_query(query, i)) return *std::move(error);
    if (!ids.insert(query.id.view()).second) return not_valid(fmt::format("The id {} is used twice.", query.id.view()));
  }
  if (call.metrics == nullptr) return aws::not_here_yet(nullptr, call);
  std::vector<model::MetricDataResult> results;
  call.metrics->read(call.now, [&](const metrics::History& history) {
    for (const model::MetricDataQuery& query : in.metric_data_queries) {
      if (!query.return_data.value_or(true)) continue;
      const model::MetricStat& stat = query.metric_stat;
      const std::string_view name = stat.metric.metric_name.view();
      // Periods begin at multiples of themselves.
      const std::int64_t period = *stat.period * 1000;
      const std::int64_t from = (*in.start_time - ((*in.start_time % period) + period) % period);
      std::vector<metrics::Point> points;
      const auto resource = resource_of(call, stat.metric.namespace_.view(), stat.metric.dimensions);
      if (resource && (!stat.unit.has_value() || stat.unit.view() == unit_of(name)))
        points = history.query(*resource, name, timestamp_from_unix_ms(from), timestamp_from_unix_ms(*in.end_time), milliseconds{period});
      if (order == "TimestampDescending") std::ranges::reverse(points);
      auto* const times = call.answer.arena.take_array<wire::aws::Time>(points.size());
      auto* const values = call.answer.arena.take_array<wire::aws::Real>(points.size());
      const Statistic statistic = *statistic_named(stat.stat.view());
      for (std::size_t i = 0; i < points.size(); ++i) {
        times[i] = unix_ms(points[i].at);
        values[i] = value_of(points[i].values, statistic);
      }
      model::MetricDataResult& result = results.emplace_back();
      result.id = query.id;
      result.label = query.label.has_value() ? query.label : stat.metric.metric_name;
      result.timestamps = {times, points.size()};
      result.values = {values, points.size()};
      result.status_code = "Complete";
    }
  });
  model::GetMetricDataOutput out;
  out.metric_data_results = results;
  out.messages = wire::aws::List<model::MessageData>(nullptr, 0);
  call.answer.write(out);
  return Next::Answered;
}

template <auto Action, auto Decode>
struct Answering;
template <auto Action, class Input, Result<Next, ApiError> (*Decode)(const Input&, aws::Call&)>
struct Answering<Action, Decode> {
  static_assert(std::is_same_v<Input, typename Types<Action>::Input>);
  static constexpr aws::Handler value{
      [](const void* input, aws::Call& call) { return Decode(*static_cast<const Input*>(input), call); }, nullptr};
};

}  // namespace

const aws::Handler& handler_of(Action action) {
  switch (action) {
    case Action::GetMetricData: return Answering<Action::GetMetricData, get_metric_data>::value;
    case Action::GetMetricStatistics: return Answering<Action::GetMetricStatistics, get_metric_statistics>::value;
    case Action::ListMetrics: return Answering<Action::ListMetrics, list_metrics>::value;
  }
  FANFARE_ASSERT(false, "an action outside its enumeration");
  return Answering<Action::ListMetrics, list_metrics>::value;
}

}  // namespace fanfare::api::cloudwatch
