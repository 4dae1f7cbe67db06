// How many requests ended how, by service, action and error code; for fanfare_sqs_requests_total and its kin.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "api/service.h"

namespace fanfare::server {

/// Texts of an Outcome are static, so equal addresses mean equal texts; a text that occurs at two addresses has two rows,
/// which whoever prints them adds up.
class RequestCounters {
 public:
  struct Row {
    std::string_view service;
    std::string_view action;
    std::string_view code;  ///< empty: success
    std::uint64_t count;
  };
  void add(const api::Outcome& outcome) {
    for (Row& row : rows_)
      if (row.action.data() == outcome.action.data() && row.code.data() == outcome.error_code.data()) {
        ++row.count;
        return;
      }
    rows_.push_back({outcome.service, outcome.action, outcome.error_code, 1});
  }
  [[nodiscard]] const std::vector<Row>& rows() const { return rows_; }

 private:
  std::vector<Row> rows_;  // some dozens at most; the common ones come first because they happen first
};

}  // namespace fanfare::server
