#include "bench/answer.h"

#include <gmock/gmock.h>

namespace fanfare::bench {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::string> handles(std::string_view body, Protocol protocol) {
  std::vector<std::string> out;
  find_texts(body, protocol, "ReceiptHandle", out);
  return out;
}

TEST(Answer, ReceiptHandlesOfAJsonAnswerWithAndWithoutSpacesAndEscapes) {
  EXPECT_THAT(handles(R"({"Messages":[{"Body":"a\"b","ReceiptHandle":"one"},{"ReceiptHandle": "two\/\u0041"}]})",
                      Protocol::Json),
              ElementsAre("one", "two/A"));
  EXPECT_THAT(handles(R"({"Messages":[]})", Protocol::Json), IsEmpty());
  EXPECT_THAT(handles("{}", Protocol::Json), IsEmpty());
}

TEST(Answer, ReceiptHandlesOfAnXmlAnswerWithoutTheirEntities) {
  EXPECT_THAT(handles("<M><ReceiptHandle>one</ReceiptHandle></M>\n<M><ReceiptHandle>a&amp;b&#13;</ReceiptHandle></M>",
                      Protocol::Query),
              ElementsAre("one", "a&b&#13;"));
}

TEST(Answer, TornTextsEndTheSearch) {
  EXPECT_THAT(handles(R"({"ReceiptHandle":"on)", Protocol::Json), IsEmpty());
  EXPECT_THAT(handles(R"({"ReceiptHandle":"on\)", Protocol::Json), IsEmpty());
  EXPECT_THAT(handles(R"({"ReceiptHandle")", Protocol::Json), IsEmpty());
  EXPECT_THAT(handles("<ReceiptHandle>on", Protocol::Query), IsEmpty());
}

TEST(Answer, CountsWhatABatchRefused) {
  EXPECT_EQ(count_refused(R"({"Successful":[{"Id":"0"}],"Failed":[]})", Protocol::Json), 0u);
  EXPECT_EQ(count_refused(R"({"Failed":[{"Id":"0","SenderFault":true,"Code":"x"},{"Id":"1","SenderFault":false}]})",
                          Protocol::Json),
            2u);
  EXPECT_EQ(
      count_refused("<BatchResultErrorEntry><SenderFault>true</SenderFault></BatchResultErrorEntry>", Protocol::Query),
      1u);
}

}  // namespace
}  // namespace fanfare::bench
