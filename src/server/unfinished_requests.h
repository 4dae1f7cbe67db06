// How many bytes of requests that are not whole yet the connections of a plane hold together, and which of them are refused when that
// is too much: a few hundred peers that send all of a long body but its end would otherwise take all memory, and the process with it.
//
// Rule: requests below kShortBytes are never refused for that. The longest unfinished are refused first, because a client that only
//       wants to send its request is soon done with it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <vector>

namespace fanfare::server {

class UnfinishedRequests {
 public:
  static constexpr std::size_t kShortBytes = 64 * 1024;

  explicit UnfinishedRequests(std::size_t bytes_max) : bytes_max_(bytes_max) {}

  /// To be called whenever `connection.input` may have changed, and with an empty one before the connection goes.
  template <class Connection>
  void count(Connection& connection) {
    bytes_ += connection.input.size() - connection.counted_bytes;
    connection.counted_bytes = connection.input.size();
  }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }
  [[nodiscard]] bool are_too_long() const { return bytes_ > bytes_max_; }

  /// Those to be refused so that an eighth of the room is free again, the longest unfinished first. `may_refuse` says whether a
  /// connection is in the middle of a request.
  template <class Connection, class MayRefuse>
  [[nodiscard]] std::vector<Connection*> to_refuse(const std::vector<std::unique_ptr<Connection>>& connections, const MayRefuse& may_refuse) const {
    std::vector<Connection*> found;
    for (const auto& connection : connections)
      if (connection != nullptr && connection->input.size() >= kShortBytes && may_refuse(*connection)) found.push_back(connection.get());
    std::stable_sort(found.begin(), found.end(), [](const Connection* a, const Connection* b) { return a->input_since < b->input_since; });
    std::size_t left = bytes_;
    std::size_t count = 0;
    for (; count < found.size() && left > bytes_max_ - bytes_max_ / 8; ++count) left -= found[count]->input.size();
    found.resize(count);
    return found;
  }

 private:
  const std::size_t bytes_max_;
  std::size_t bytes_ = 0;
};

}  // namespace fanfare::server
