// A broker with its journal and a data-plane loop behind a loopback socket: the level "http".
#pragma once

#include <memory>

#include "server.h"

namespace fanfare::scenarios {

std::unique_ptr<Server> make_http_server(const Settings& settings);

}  // namespace fanfare::scenarios
