// A property that does not hold: ends the run of a seed.
#pragma once

#include <stdexcept>
#include <string>

namespace fanfare::sim {

class Failure : public std::runtime_error {
 public:
  Failure(std::string property, const std::string& text) : std::runtime_error(text), property_(std::move(property)) {}
  [[nodiscard]] const std::string& property() const { return property_; }

 private:
  std::string property_;
};

}  // namespace fanfare::sim
