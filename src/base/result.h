// Result<T, E>: a value, or an error from a closed enumeration (or a small error struct) of the module that returns it.
// It is [[nodiscard]], and value() does not compile on our own error types: callers look at the error.
//
//   Result<Lease, QueueError> lease = decide(...);
//   if (!lease) return lease.error();
//   use(*lease);
#pragma once

#include <boost/system/result.hpp>

namespace fanfare {

template <class T, class E>
class [[nodiscard]] Result : public boost::system::result<T, E> {
 public:
  using boost::system::result<T, E>::result;
};

/// The value of a Result<Success, E> that has nothing more to say.
struct Success {
  friend constexpr bool operator==(Success, Success) = default;
};

}  // namespace fanfare
