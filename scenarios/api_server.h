// The API over an engine in memory, without sockets: the level "api".
#pragma once

#include <memory>

#include "server.h"

namespace fanfare::scenarios {

std::unique_ptr<Server> make_api_server(const Settings& settings);

}  // namespace fanfare::scenarios
