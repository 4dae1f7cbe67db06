#include "api/aws/operation.h"

#include <algorithm>
#include <array>

#include "api/aws/cloudwatch_model.h"
#include "api/aws/sns_model.h"
#include "api/aws/sqs_model.h"
#include "api/aws/sts_model.h"

namespace fanfare::api::aws {

const Operation* ServiceModel::find(std::string_view operation_name) const {
  const auto found = std::ranges::lower_bound(operations, operation_name, {}, &Operation::name);
  return found != operations.end() && found->name == operation_name ? &*found : nullptr;
}

std::span<const ServiceModel* const> all_models() {
  static constexpr std::array<const ServiceModel*, 4> models{&sqs::kModel, &sns::kModel, &sts::kModel,
                                                             &cloudwatch::kModel};
  return models;
}

const ServiceModel& model_of(Service service) { return *all_models()[static_cast<std::size_t>(service)]; }

}  // namespace fanfare::api::aws
