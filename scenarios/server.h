// What answers requests at a level: bytes of HTTP in, bytes out.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "driver.h"
#include "identity/directory.h"

namespace fanfare::scenarios {

class Server {
 public:
  virtual ~Server() = default;

  /// The answer to a request of this client; nullopt: it waits. A client asks nothing while it waits.
  virtual std::optional<std::string> ask(const std::string& client, const std::string& request) = 0;
  /// The answer that has come since; nullopt: it still waits.
  virtual std::optional<std::string> late_answer(const std::string& client) = 0;
  /// The client of a request that waits has gone; false: it does not wait.
  virtual bool leave(const std::string& client) = 0;

  /// The clock stands there, and what the time brings has happened.
  virtual void advance_to(Timestamp time) = 0;
  [[nodiscard]] virtual Timestamp now() const = 0;

  /// From the next request on, these are the identities.
  virtual void set_identities(std::shared_ptr<const identity::Directory> directory) = 0;
  /// The process dies and starts again; `lose_receives`: what nobody had waited for is lost. "ok", or what went wrong.
  virtual std::string restart(bool lose_receives) = 0;
  /// Whether the journal has room.
  virtual void set_storage_full(bool full) = 0;
  virtual Answer metrics(const std::string& name) = 0;
  /// The answer that handed out this receipt handle could not be written; false: this level cannot lose an answer that
  /// was read.
  virtual bool lose(const std::vector<std::string>& handles) = 0;
};

}  // namespace fanfare::scenarios
