// A SQLite connection and its prepared statements, as the stores use them.
// Rule: the first error of a transaction is kept, and everything after it is passed over, so that the code of an
// operation
//       needs no check after each step; who begins a transaction asks for the error at its end and rolls back.
#pragma once

#include <sqlite3.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/ids.h"
#include "base/strong.h"
#include "base/time.h"
#include "core/inbox/types.h"
#include "store/inbox_store.h"

namespace fanfare::store {

/// Damaged for what is no database or is corrupt, else Unavailable: "COMMIT: database or disk is full".
inline StoreError error_of(int code, std::string_view what, const char* message) {
  StoreErrorKind kind = StoreErrorKind::Unavailable;
  switch (code & 0xff) {
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB: kind = StoreErrorKind::Damaged; break;
    default: break;
  }
  return {kind, std::string{what} + ": " + (message != nullptr ? message : "unknown")};
}

/// The connection and the first error of a transaction. After an error everything else is passed over: rows() say that
/// there are none, and the transaction is rolled back at its end. So the operations need no check after each step.
class Connection {
 public:
  explicit Connection(sqlite3* handle) : handle_(handle) {}
  ~Connection() { sqlite3_close_v2(handle_); }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  sqlite3* handle() { return handle_; }
  [[nodiscard]] bool failed() const { return error_.has_value(); }
  void fail(int code, std::string_view what) {
    if (!error_) error_ = error_of(code, what, sqlite3_errmsg(handle_));
  }
  std::optional<StoreError> take_error() { return std::exchange(error_, std::nullopt); }

  bool run(const char* sql) {
    if (failed()) return false;
    const int code = sqlite3_exec(handle_, sql, nullptr, nullptr, nullptr);
    if (code != SQLITE_OK) fail(code, sql);
    return code == SQLITE_OK;
  }

 private:
  sqlite3* handle_;
  std::optional<StoreError> error_;
};

/// A prepared statement, prepared at its first use. Texts and blobs are bound by reference: they live until the next
/// bind.
class Statement {
 public:
  Statement(Connection& connection, std::string sql) : connection_(connection), sql_(std::move(sql)) {}
  ~Statement() { sqlite3_finalize(statement_); }
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  /// Binds ?1, ?2, ... and makes the statement ready to run.
  template <class... Parameters>
  Statement& bind(const Parameters&... parameters) {
    if (connection_.failed()) return *this;
    if (statement_ == nullptr) {
      const int code = sqlite3_prepare_v3(connection_.handle(), sql_.data(), static_cast<int>(sql_.size()),
                                          SQLITE_PREPARE_PERSISTENT, &statement_, nullptr);
      if (code != SQLITE_OK) {
        connection_.fail(code, sql_);
        return *this;
      }
    }
    sqlite3_reset(statement_);
    int index = 0;
    (put(++index, parameters), ...);
    return *this;
  }
  /// Moves to the next row; false at the end and after any error.
  bool row() {
    if (connection_.failed()) return false;
    const int code = sqlite3_step(statement_);
    if (code == SQLITE_ROW) return true;
    if (code != SQLITE_DONE) connection_.fail(code, sql_);
    sqlite3_reset(statement_);
    return false;
  }
  /// Runs a statement without rows; returns how many it changed.
  std::uint64_t run() {
    while (row()) {
    }
    return connection_.failed() ? 0 : static_cast<std::uint64_t>(sqlite3_changes64(connection_.handle()));
  }
  /// For a loop that ends early: a statement in the middle of its rows would keep the transaction open.
  void done() {
    if (statement_ != nullptr) sqlite3_reset(statement_);
  }

  [[nodiscard]] std::int64_t integer(int column) const { return sqlite3_column_int64(statement_, column); }
  [[nodiscard]] std::uint64_t whole(int column) const { return static_cast<std::uint64_t>(integer(column)); }
  [[nodiscard]] Timestamp time(int column) const { return timestamp_from_unix_ms(integer(column)); }
  [[nodiscard]] bool null(int column) const { return sqlite3_column_type(statement_, column) == SQLITE_NULL; }
  [[nodiscard]] std::string_view bytes(int column) const {
    const void* const data = sqlite3_column_blob(statement_, column);
    return {static_cast<const char*>(data), static_cast<std::size_t>(sqlite3_column_bytes(statement_, column))};
  }
  [[nodiscard]] std::string text(int column) const { return std::string{bytes(column)}; }
  [[nodiscard]] std::array<std::uint8_t, 16> bytes16(int column) const {
    std::array<std::uint8_t, 16> out{};
    const std::string_view stored = bytes(column);
    std::copy_n(stored.begin(), std::min(stored.size(), out.size()), reinterpret_cast<char*>(out.data()));
    return out;
  }
  [[nodiscard]] inbox::NotificationId id(int column) const { return inbox::NotificationId{Uuid{bytes16(column)}}; }

 private:
  void put(int index, std::int64_t value) { sqlite3_bind_int64(statement_, index, value); }
  void put(int index, std::uint64_t value) { put(index, static_cast<std::int64_t>(value)); }
  void put(int index, int value) { put(index, std::int64_t{value}); }
  void put(int index, Timestamp value) { put(index, unix_ms(value)); }
  void put(int index, std::string_view value) {
    // A null pointer would bind NULL.
    sqlite3_bind_text64(statement_, index, value.data() != nullptr ? value.data() : "", value.size(), SQLITE_STATIC,
                        SQLITE_UTF8);
  }
  void put(int index, const std::string& value) { put(index, std::string_view{value}); }
  template <class Tag>
  void put(int index, const Strong<Tag>& value) {
    put(index, std::string_view{value.str()});
  }
  void put(int index, const std::array<std::uint8_t, 16>& value) {
    sqlite3_bind_blob64(statement_, index, value.data(), value.size(), SQLITE_STATIC);
  }
  void put(int index, const Uuid& value) { put(index, value.bytes); }
  template <class T>
  void put(int index, const std::optional<T>& value) {
    if (value) {
      put(index, *value);
    } else {
      sqlite3_bind_null(statement_, index);
    }
  }

  Connection& connection_;
  std::string sql_;
  sqlite3_stmt* statement_ = nullptr;
};

}  // namespace fanfare::store
