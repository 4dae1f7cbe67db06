#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "documents.h"
#include "embed.h"
#include "moderate.h"
#include "summarise.h"
#include "text.h"

namespace pipeline {
namespace {

constexpr const char* kText =
    "A queue keeps messages until a worker has handled them. The weather was pleasant on that day in spring. "
    "Each message in the queue is handled by one worker, and a message that fails comes back to the queue. "
    "Workers take messages from the queue in batches. Somebody had left an umbrella near the door of the house.";

TEST(Text, SentencesEndWhereTheyEnd) {
  EXPECT_EQ(sentences(kText).size(), 5u);
  EXPECT_EQ(sentences("Version 3.4 of the program, e.g. on Debian, works well enough.").size(), 1u);
  EXPECT_TRUE(sentences("+--+--+\n| 1| 2|\n").empty());
}

TEST(Text, WordsAreLowerCaseAndWhole) { EXPECT_EQ(words("The Queue's 3 messages"), (std::vector<std::string>{"the", "queue", "messages"})); }

TEST(Summarise, ChoosesTheSentencesAboutTheSubject) {
  const Summary summary = summarise(kText, 2);
  ASSERT_EQ(summary.sentences.size(), 2u);
  for (const std::string& sentence : summary.sentences) EXPECT_NE(sentence.find("queue"), std::string::npos) << sentence;
  EXPECT_NE(std::find(summary.key_words.begin(), summary.key_words.end(), "queue"), summary.key_words.end());
  EXPECT_TRUE(summarise("", 3).sentences.empty());
}

TEST(Embed, SimilarTextsAreNearerThanOthers) {
  const Embedding a = embed("queues deliver messages to workers");
  const Embedding b = embed("workers receive messages from queues");
  const Embedding c = embed("the umbrella stands beside the wooden door");
  EXPECT_NEAR(similarity(a, a), 1.0f, 1e-5f);
  EXPECT_GT(similarity(a, b), similarity(a, c));
  EXPECT_EQ(embed(""), Embedding{});
}

TEST(Embed, TheIndexFindsEarlierDocumentsOnly) {
  EmbeddingIndex index;
  EXPECT_TRUE(index.nearest(embed("queue"), 3).empty());
  index.add("a", embed("queues deliver messages"));
  index.add("b", embed("umbrella door house"));
  const auto nearest = index.nearest(embed("messages in queues"), 1);
  ASSERT_EQ(nearest.size(), 1u);
  EXPECT_EQ(nearest[0].document, "a");
}

TEST(Moderate, ScoresWordsAndPatterns) {
  EXPECT_EQ(moderate("A perfectly polite changelog entry.").verdict, Verdict::Accepted);
  const Moderation rude = moderate("This idiotic crap of a stupid parser SUCKS, damn it.");
  EXPECT_EQ(rude.verdict, Verdict::Rejected);
  EXPECT_GE(rude.findings.size(), 4u);
  EXPECT_FALSE(moderate("PLEASE STOP SHOUTING EVERYWHERE NOW").findings.empty());
}

TEST(Documents, RoffBecomesText) {
  EXPECT_EQ(strip_roff(".\\\" comment\n.SH NAME\n\\fBls\\fR \\- list directory contents\n"), "\nNAME\nls - list directory contents\n");
}

TEST(Documents, FindsAndReadsTextFilesOnly) {
  const auto folder = std::filesystem::temp_directory_path() / ("fanfare-documents-" + std::to_string(::getpid()));
  std::filesystem::create_directories(folder / "doc" / "x");
  std::ofstream{folder / "doc" / "x" / "changelog"} << "first release\n";
  std::ofstream{folder / "doc" / "x" / "README.txt"} << "caf\xe9 \x01 text\n";  // Latin-1 and a control character
  std::ofstream{folder / "doc" / "x" / "image.png"} << "no";
  const auto found = find_documents({folder.string()}, 10);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(read_document(found[0]), "caf\xEF\xBF\xBD  text\n");
  EXPECT_TRUE(found[1].user_generated);
  EXPECT_EQ(find_documents({folder.string()}, 1).size(), 1u);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace pipeline
