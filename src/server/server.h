// The composition root: makes every part from the options, starts the threads, waits for a signal, and stops in order.
#pragma once

#include "server/options.h"

namespace fanfare::server {

/// Runs until SIGTERM or SIGINT. When everything is ready, one line goes to standard output:
/// {"event":"ready","aws":"http://127.0.0.1:4566","edge":"http://127.0.0.1:4580","admin":"http://127.0.0.1:4590","pid":123}
/// With TLS the first two begin with https://.
/// Exit code: 0 stopped cleanly, 2 configuration, 3 a port, 4 damaged data, 1 anything else, 130 a second signal.
int serve(const ServeOptions& options);

}  // namespace fanfare::server
