// STS's actions. [STS GetCallerIdentity]
#pragma once

#include "api/aws/call.h"
#include "api/aws/sts_model.h"

namespace fanfare::api::sts {

const aws::Handler& handler_of(Action action);

}  // namespace fanfare::api::sts
