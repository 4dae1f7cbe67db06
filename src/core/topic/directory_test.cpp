#include "core/topic/directory.h"

#include <gtest/gtest.h>

namespace fanfare::topic {
namespace {

using Action = DirectoryCommand::Action;
using Code = DirectoryError::Code;
using Pairs = std::vector<std::pair<std::string_view, std::string_view>>;

/// Applies what it decides, as the engine does.
class World {
 public:
  Result<DirectoryAnswer, DirectoryError> ask(DirectoryCommand command, const Pairs& attributes = {}) {
    if (command.account.empty()) command.account = "000000000000";
    command.region = "us-east-1";
    command.attributes = attributes;
    auto decision = directory.decide(command, timestamp_from_unix_ms(1'764'500'000'000));
    if (!decision) return decision.error();
    for (const DirectoryChange& change : decision->changes) directory.apply(change);
    return decision->answer;
  }
  Directory directory;
};

DirectoryCommand of(Action action, std::string_view target = {}, std::string_view fresh = {}) {
  DirectoryCommand command;
  command.action = action;
  command.target = target;
  command.fresh = fresh;
  return command;
}

std::string application(World& world) {
  DirectoryCommand create = of(Action::CreateApplication);
  create.name = "phones";
  create.platform = "GCM";
  return world.ask(create, {{"PlatformCredential", "key"}})->arn;
}

TEST(Directory, APlatformApplicationCanBeMadeReadChangedAndDeleted) {
  World world;
  const std::string arn = application(world);
  EXPECT_EQ(arn, "arn:aws:sns:us-east-1:000000000000:app/GCM/phones");
  EXPECT_EQ(application(world), arn);
  ASSERT_TRUE(world.ask(of(Action::SetApplication, arn), {{"Enabled", "false"}}).has_value());
  const auto got = world.ask(of(Action::GetApplication, arn));
  EXPECT_EQ(got->entries.front().attributes, (DirectoryAttributes{{"Enabled", "false"}, {"PlatformCredential", "key"}}));
  EXPECT_EQ(world.ask(of(Action::ListApplications))->entries.size(), 1u);
  EXPECT_TRUE(world.ask(of(Action::DeleteApplication, arn)).has_value());
  EXPECT_TRUE(world.ask(of(Action::DeleteApplication, arn)).has_value());
  EXPECT_EQ(world.ask(of(Action::GetApplication, arn)).error().code, Code::ApplicationDoesNotExist);
  EXPECT_TRUE(world.directory.empty());
}

TEST(Directory, AnEndpointIsOneForEachToken) {
  World world;
  const std::string app = application(world);
  const auto first = world.ask(of(Action::CreateEndpoint, app, "u1"), {{"Token", "t1"}});
  EXPECT_EQ(first->arn, "arn:aws:sns:us-east-1:000000000000:endpoint/GCM/phones/u1");
  EXPECT_EQ(world.ask(of(Action::CreateEndpoint, app, "u2"), {{"Token", "t1"}})->arn, first->arn);
  const auto other = world.ask(of(Action::CreateEndpoint, app, "u3"), {{"Token", "t1"}, {"CustomUserData", "x"}});
  EXPECT_EQ(other.error().code, Code::EndpointExistsWithOtherAttributes);
  EXPECT_EQ(other.error().detail, first->arn);
  EXPECT_NE(world.ask(of(Action::CreateEndpoint, app, "u4"), {{"Token", "t2"}})->arn, first->arn);
  EXPECT_EQ(world.ask(of(Action::ListEndpoints, app))->entries.size(), 2u);
  EXPECT_EQ(world.ask(of(Action::CreateEndpoint, "arn:aws:sns:us-east-1:000000000000:app/GCM/no", "u")).error().code,
            Code::ApplicationDoesNotExist);
  world.ask(of(Action::DeleteApplication, app)).has_value();
  EXPECT_EQ(world.ask(of(Action::GetEndpoint, first->arn)).error().code, Code::EndpointDoesNotExist);
}

TEST(Directory, ListsGoOnBehindAKey) {
  World world;
  const std::string app = application(world);
  for (const std::string_view token : {"a", "b", "c"}) world.ask(of(Action::CreateEndpoint, app, token), {{"Token", token}}).has_value();
  DirectoryCommand page = of(Action::ListEndpoints, app);
  page.limit = 2;
  const auto first = world.ask(page);
  ASSERT_EQ(first->entries.size(), 2u);
  EXPECT_TRUE(first->more);
  page.after = first->entries.back().key;
  const auto second = world.ask(page);
  EXPECT_EQ(second->entries.size(), 1u);
  EXPECT_FALSE(second->more);
}

TEST(Directory, AMessageToADisabledOrUnknownEndpointIsRefused) {
  World world;
  const std::string app = application(world);
  const std::string endpoint = world.ask(of(Action::CreateEndpoint, app, "u"), {{"Token", "t"}})->arn;
  EXPECT_TRUE(world.ask(of(Action::CaptureForEndpoint, endpoint), {{"message", "hi"}}).has_value());
  world.ask(of(Action::SetEndpoint, endpoint), {{"Enabled", "false"}}).has_value();
  EXPECT_EQ(world.ask(of(Action::CaptureForEndpoint, endpoint)).error().code, Code::EndpointDisabled);
  EXPECT_EQ(world.ask(of(Action::CaptureForEndpoint, endpoint + "x")).error().code, Code::NoEndpointForTarget);
}

TEST(Directory, ASandboxNumberIsVerifiedByTheCodeThatWasSentToIt) {
  World world;
  world.ask(of(Action::CreateSandboxNumber, "+14155550100", "123456")).has_value();
  EXPECT_EQ(world.ask(of(Action::VerifySandboxNumber, "+14155550100", "999999")).error().code, Code::WrongCode);
  EXPECT_TRUE(world.ask(of(Action::VerifySandboxNumber, "+14155550100", "123456")).has_value());
  EXPECT_EQ(world.ask(of(Action::ListSandboxNumbers))->entries.front().attributes.back().second, "Verified");
  const auto captured = world.ask(of(Action::ListCaptured));
  ASSERT_EQ(captured->entries.size(), 1u);
  bool shown = false;
  for (const auto& [name, value] : captured->entries.front().attributes)
    shown = shown || (name == "message" && value == "Your verification code is 123456");
  EXPECT_TRUE(shown);
  EXPECT_TRUE(world.ask(of(Action::DeleteSandboxNumber, "+14155550100")).has_value());
  EXPECT_EQ(world.ask(of(Action::DeleteSandboxNumber, "+14155550100")).error().code, Code::NumberDoesNotExist);
}

TEST(Directory, KeepsTheNewestThousandCapturedMessages) {
  World world;
  for (int i = 0; i < 1'005; ++i) world.ask(of(Action::Capture, "+14155550100"), {{"message", std::to_string(i)}}).has_value();
  DirectoryCommand all = of(Action::ListCaptured);
  all.limit = 5'000;
  const auto captured = world.ask(all);
  ASSERT_EQ(captured->entries.size(), 1'000u);
  EXPECT_EQ(captured->entries.front().key, "00000000000000000006");
  EXPECT_EQ(captured->entries.back().key, "00000000000000001005");
}

TEST(Directory, IsRebuiltFromWhatForEachShows) {
  World world;
  const std::string app = application(world);
  world.ask(of(Action::CreateEndpoint, app, "u"), {{"Token", "t"}}).has_value();
  world.ask(of(Action::SetSms), {{"DefaultSMSType", "Promotional"}}).has_value();
  world.ask(of(Action::OptOut, "+14155550100")).has_value();
  world.ask(of(Action::Capture, "+14155550100"), {{"message", "hi"}}).has_value();
  World copy;
  world.directory.for_each([&](const DirectoryChange& change) { copy.directory.apply(change); });
  EXPECT_TRUE(copy.ask(of(Action::IsOptedOut, "+14155550100"))->flag);
  EXPECT_EQ(copy.ask(of(Action::ListEndpoints, app))->entries.size(), 1u);
  EXPECT_EQ(copy.ask(of(Action::GetSms))->entries.front().attributes, (DirectoryAttributes{{"DefaultSMSType", "Promotional"}}));
  EXPECT_EQ(copy.ask(of(Action::Capture, "+1"))->entries.size(), 0u);
  EXPECT_EQ(copy.ask(of(Action::ListCaptured))->entries.back().key, "00000000000000000002");
}

TEST(Directory, AnAbandonedSavingForgetsWhatItKeptInSlices) {
  World world;
  for (const std::string_view name : {"DefaultSMSType", "DefaultSenderID", "MonthlySpendLimit"}) world.ask(of(Action::SetSms), {{name, "1"}}).has_value();
  world.directory.begin_saving();
  for (const std::string_view name : {"DefaultSMSType", "DefaultSenderID", "MonthlySpendLimit"}) world.ask(of(Action::SetSms), {{name, "2"}}).has_value();
  EXPECT_TRUE(world.directory.abandon_saving(2));
  world.ask(of(Action::OptOut, "+14155550100")).has_value();  // is not kept any more
  EXPECT_FALSE(world.directory.abandon_saving(1));
  EXPECT_FALSE(world.directory.save(100, [](const DirectoryChange& change) { ADD_FAILURE() << change.key; }));
  EXPECT_FALSE(world.directory.abandon_saving(1)) << "there is nothing to abandon";
}

TEST(Directory, OtherAccountsSeeNothing) {
  World world;
  application(world);
  DirectoryCommand list = of(Action::ListApplications);
  list.account = "111122223333";
  EXPECT_TRUE(world.ask(list)->entries.empty());
}

}  // namespace
}  // namespace fanfare::topic
