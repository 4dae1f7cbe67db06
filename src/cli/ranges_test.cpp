// What options accept, and what they say to everything else.
#include "cli/ranges.h"

#include <gtest/gtest.h>

#include <string>

namespace fanfare::cli {
namespace {

std::string says(const CLI::Validator& validator, std::string value) { return validator(value); }

TEST(Ranges, WholeNumbersHaveTwoEnds) {
  const CLI::Validator validator = whole_number(1, 256);
  for (const char* value : {"1", "256", "0256"}) EXPECT_EQ(says(validator, value), "") << value;
  for (const char* value : {"0", "257", "18446744073709551616"})
    EXPECT_EQ(says(validator, value), std::string{value} + " is out of range; accepted are whole numbers from 1 to 256");
  for (const char* value : {"", "-1", "+1", "1.5", "1e2", "0x10", " 1", "many"})
    EXPECT_EQ(says(validator, value), "'" + std::string{value} + "' is no whole number; accepted are whole numbers from 1 to 256");
  EXPECT_EQ(says(whole_number(1, UINT64_MAX), "0"), "0 is out of range; accepted are whole numbers from 1 on");
  EXPECT_EQ(says(whole_number(1, UINT64_MAX), "18446744073709551615"), "");
}

TEST(Ranges, RatesAreAboveNothing) {
  for (const char* value : {"1", "0.5", "2e4"}) EXPECT_EQ(says(positive_number(), value), "") << value;
  for (const char* value : {"", "0", "-1", "inf", "nan", "1e999", "1x"}) EXPECT_NE(says(positive_number(), value).find("accepted are numbers above 0"), std::string::npos) << value;
}

TEST(Ranges, AccountsAndRegionsHaveTheirForm) {
  EXPECT_EQ(says(account_digits(), "000000000000"), "");
  for (const char* value : {"", "12", "00000000000x", "0000000000000"}) EXPECT_NE(says(account_digits(), value).find("accepted are 12 digits"), std::string::npos) << value;
  EXPECT_EQ(says(region_name(), "us-gov-west-1"), "");
  for (const std::string& value : {std::string{}, std::string{"us east"}, std::string(65, 'x')}) EXPECT_NE(says(region_name(), value).find("is no region"), std::string::npos) << value;
}

TEST(Ranges, AnEmptyTextIsNoValue) {
  EXPECT_EQ(says(not_empty(), "x"), "");
  EXPECT_EQ(says(not_empty(), ""), "'' is no value; write one, or leave the option out");
}

}  // namespace
}  // namespace fanfare::cli
