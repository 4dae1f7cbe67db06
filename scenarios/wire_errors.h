// What the errors of SQS and SNS mean, read from what a client sees: the code of Query and the text.
#pragma once

#include <string>
#include <string_view>

namespace fanfare::scenarios {

/// The enumerator's name in core/engine/commands.h that this code and text stand for; "A|B" where they stand for
/// several. An error that the core does not know is named by its code, without "AWS.SimpleQueueService.":
/// "EmptyBatchRequest".
std::string name_of_error(std::string_view service, std::string_view code, std::string_view message);

}  // namespace fanfare::scenarios
