// Walks the services' own models, as the extracts SERVICE/model.json hold them: whatever stands in them is known here, in
// the same words. Where the whole models are there, the extracts are compared with them.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "api/aws/sns_model.h"
#include "api/aws/sqs_model.h"
#include "api/aws/sts_model.h"
#include "api/cloudwatch/actions.h"
#include "api/sns/actions.h"
#include "api/sns/errors.h"
#include "api/sqs/actions.h"
#include "api/sqs/attribute_names.h"
#include "api/sqs/errors.h"
#include "api/sts/actions.h"
#include "wire/json/value.h"

namespace fanfare::api {
namespace {

using wire::aws::Kind;
using wire::aws::Shape;
using wire::json::Value;

/// The model of a service, or the extract of it, that the tables are made from.
std::filesystem::path extract_of(const aws::ServiceModel& service) {
  const std::string_view folder = service.service == aws::Service::Cloudwatch ? "cloudwatch" : service.name;
  return std::filesystem::path(FANFARE_SOURCE_DIR) / "src/api" / folder / "model.json";
}

/// The whole models, which are no part of this repository.
std::filesystem::path models_folder() {
  const std::filesystem::path beside =
      std::filesystem::path(FANFARE_SOURCE_DIR) / ".." / "shared" / "data" / "aws-models";
  if (std::filesystem::exists(beside / "sqs.json")) return beside;
  return std::filesystem::path(FANFARE_SOURCE_DIR) / ".." / ".." / "shared" / "data" / "aws-models";
}

std::string read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

class Models : public testing::TestWithParam<const aws::ServiceModel*> {
 protected:
  void SetUp() override {
    const auto path = extract_of(*GetParam());
    ASSERT_TRUE(std::filesystem::exists(path)) << path;
    auto parsed = wire::json::parse(read_file(path));
    ASSERT_TRUE(parsed.has_value());
    model = *std::move(parsed);
    shapes = model.find("shapes");
    operations = model.find("operations");
    ASSERT_NE(shapes, nullptr);
    ASSERT_NE(operations, nullptr);
  }
  const Value& shape(std::string_view name) const {
    const Value* found = shapes->find(name);
    EXPECT_NE(found, nullptr) << name;
    return *found;
  }

  /// Compares a shape of the model with ours, and all that it is made of.
  void compare(std::string_view name, const Shape* ours, const std::string& path) {
    ASSERT_NE(ours, nullptr) << path;
    const Value& theirs = shape(name);
    const auto type = theirs.find_string("type").value_or("");
    static const std::map<std::string_view, Kind> kinds{
        {"string", Kind::String},   {"integer", Kind::Integer}, {"long", Kind::Long},
        {"double", Kind::Double},   {"boolean", Kind::Boolean}, {"blob", Kind::Blob},       {"timestamp", Kind::Timestamp},
        {"list", Kind::List},       {"map", Kind::Map},         {"structure", Kind::Structure}};
    ASSERT_TRUE(kinds.contains(type)) << path << " is of the unknown type " << type;
    EXPECT_EQ(ours->kind, kinds.at(type)) << path;
    if (type == "list") compare(theirs.find("member")->find_string("shape").value(), ours->element, path + "[]");
    if (type == "map") compare(theirs.find("value")->find_string("shape").value(), ours->element, path + "{}");
    if (type != "structure") return;
    std::set<std::string_view> required;
    if (const Value* list = theirs.find("required")) {
      for (const Value& member : list->items()) required.insert(*member.as_string());
    }
    EXPECT_EQ(ours->members.size(), theirs.find("members")->size()) << path;
    for (const auto& [member_name, member] : theirs.find("members")->members()) {
      const auto found = std::ranges::find(ours->members, std::string_view(member_name), &wire::aws::Member::name);
      if (found == ours->members.end()) {
        ADD_FAILURE() << path << " has no member " << member_name;
        continue;
      }
      EXPECT_EQ(found->json_key, "\"" + member_name + "\":");
      EXPECT_EQ(found->required, required.contains(member_name)) << path << "." << member_name;
      EXPECT_LT(found->offset, ours->size);
      compare(member.find_string("shape").value(), found->shape, path + "." + member_name);
    }
  }

  Value model;
  const Value* shapes = nullptr;
  const Value* operations = nullptr;
};

TEST_P(Models, EveryOperationAndEveryMemberIsKnown) {
  const aws::ServiceModel& ours = *GetParam();
  EXPECT_EQ(ours.operations.size(), operations->size());
  for (const auto& [name, operation] : operations->members()) {
    const aws::Operation* const found = ours.find(name);
    ASSERT_NE(found, nullptr) << name;
    EXPECT_EQ(&ours.operations[found->action], found) << "the action's number is its place in the table";
    const Value* const input = operation.find("input");
    ASSERT_EQ(input != nullptr, found->input != nullptr) << name;
    if (input != nullptr) compare(input->find_string("shape").value(), found->input, name);
    const Value* const output = operation.find("output");
    ASSERT_EQ(output != nullptr, found->output != nullptr) << name;
    if (output != nullptr) compare(output->find_string("shape").value(), found->output, name);
  }
}

TEST_P(Models, EveryOperationHasAHandler) {
  for (const aws::Operation& operation : GetParam()->operations) {
    switch (operation.service) {
      case aws::Service::Sqs:
        EXPECT_NE(sqs::handler_of(static_cast<sqs::Action>(operation.action)).decode, nullptr);
        EXPECT_NE(sqs::handler_of(static_cast<sqs::Action>(operation.action)).encode, nullptr)
            << operation.name << " is not there: only what needs no engine has no encoder, and of SQS nothing does";
        break;
      case aws::Service::Sns:
        EXPECT_NE(sns::handler_of(static_cast<sns::Action>(operation.action)).decode, nullptr);
        break;
      case aws::Service::Sts:
        EXPECT_NE(sts::handler_of(static_cast<sts::Action>(operation.action)).decode, nullptr);
        break;
      case aws::Service::Cloudwatch:
        EXPECT_NE(cloudwatch::handler_of(static_cast<cloudwatch::Action>(operation.action)).decode, nullptr);
        break;
    }
  }
}

TEST_P(Models, EveryErrorHasTheModelsCodeAndStatus) {
  if (GetParam()->service == aws::Service::Sts) return;  // none of its errors can occur yet
  if (GetParam()->service == aws::Service::Cloudwatch) return;  // api/cloudwatch/cloudwatch_test.cpp looks at them
  std::map<std::string, aws::WireError> ours;
  if (GetParam()->service == aws::Service::Sqs) {
    for (int i = 0; i <= static_cast<int>(sqs::Error::AccessDenied); ++i) {
      const auto error = sqs::wire_error(static_cast<sqs::Error>(i));
      EXPECT_TRUE(ours.emplace(std::string(error.shape), error).second) << error.shape;
    }
  } else {
    for (int i = 0; i <= static_cast<int>(sns::Error::ValidationError); ++i) {
      const auto error = sns::wire_error(static_cast<sns::Error>(i));
      EXPECT_TRUE(ours.emplace(std::string(error.shape), error).second) << error.shape;
    }
  }
  std::size_t modelled = 0;
  for (const auto& [name, of] : shapes->members()) {
    if (!of.find("exception") || of.find("exception")->as_bool() != true) continue;
    ++modelled;
    ASSERT_TRUE(ours.contains(name)) << name;
    const aws::WireError& error = ours.at(name);
    EXPECT_TRUE(error.modelled) << name;
    const Value* const said = of.find("error");
    if (said == nullptr) continue;
    EXPECT_EQ(error.query_code, said->find_string("code").value()) << name;
    EXPECT_EQ(error.status, said->find("httpStatusCode")->as_int64()) << name;
    EXPECT_EQ(error.sender_fault, said->find("senderFault") != nullptr) << name;
  }
  EXPECT_EQ(modelled, static_cast<std::size_t>(
                          std::ranges::count_if(ours, [](const auto& pair) { return pair.second.modelled; })));
  std::size_t declared = 0;
  for (const auto& [name, operation] : operations->members()) {
    const Value* const errors = operation.find("errors");
    if (errors == nullptr) continue;
    for (const Value& error : errors->items()) {
      ++declared;
      const std::string error_shape(error.find_string("shape").value());
      EXPECT_TRUE(ours.contains(error_shape)) << name << " can answer " << error_shape;
    }
  }
  EXPECT_GT(declared, operations->size()) << "the model declares several errors for each operation";
}

/// The shape that a member, an element, an input or an output is of; "" for none.
std::string shape_in(const Value& of, std::string_view part) {
  const Value* const found = of.find(part);
  return found == nullptr ? std::string() : std::string(found->find_string("shape").value_or("?"));
}

std::multiset<std::string> texts_in(const Value& of, std::string_view list, std::string_view member) {
  std::multiset<std::string> texts;
  if (const Value* const found = of.find(list)) {
    for (const Value& one : found->items())
      texts.emplace(member.empty() ? *one.as_string() : one.find_string(member).value_or("?"));
  }
  return texts;
}

std::multiset<std::string> names_in(const Value& of) {
  std::multiset<std::string> names;
  for (const auto& [name, value] : of.members()) names.insert(name);
  return names;
}

// Skipped where the whole models are not beside the tree: they are AWS's own, and no part of the repository. What is kept of them, the
// extract, is walked by the other tests in every clone. Of CloudWatch there is no whole model at all.
TEST_P(Models, TheExtractIsWhatTheWholeModelSays) {
  const auto path = models_folder() / (std::string(GetParam()->name) + ".json");
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "only the extract is there, not the whole model: " << path;
  const auto whole = wire::json::parse(read_file(path));
  ASSERT_TRUE(whole.has_value());
  const Value& whole_operations = *whole->find("operations");
  const Value& whole_shapes = *whole->find("shapes");
  ASSERT_EQ(names_in(*operations), names_in(whole_operations));
  for (const auto& [name, ours] : operations->members()) {
    const Value& theirs = *whole_operations.find(name);
    EXPECT_EQ(shape_in(ours, "input"), shape_in(theirs, "input")) << name;
    EXPECT_EQ(shape_in(ours, "output"), shape_in(theirs, "output")) << name;
    EXPECT_EQ(texts_in(ours, "errors", "shape"), texts_in(theirs, "errors", "shape")) << name;
  }
  ASSERT_EQ(names_in(*shapes), names_in(whole_shapes));
  for (const auto& [name, ours] : shapes->members()) {
    const Value& theirs = *whole_shapes.find(name);
    EXPECT_EQ(ours.find_string("type"), theirs.find_string("type")) << name;
    EXPECT_EQ(texts_in(ours, "required", ""), texts_in(theirs, "required", "")) << name;
    for (const std::string_view part : {"member", "key", "value"}) EXPECT_EQ(shape_in(ours, part), shape_in(theirs, part)) << name;
    EXPECT_EQ(ours.find("exception") != nullptr, theirs.find("exception") != nullptr) << name;
    EXPECT_EQ(ours.find("flattened") != nullptr, theirs.find("flattened") != nullptr) << name;
    const Value* const our_error = ours.find("error");
    const Value* const their_error = theirs.find("error");
    ASSERT_EQ(our_error != nullptr, their_error != nullptr) << name;
    if (our_error != nullptr) {
      EXPECT_EQ(our_error->find_string("code"), their_error->find_string("code")) << name;
      EXPECT_EQ(our_error->find("httpStatusCode")->as_int64(), their_error->find("httpStatusCode")->as_int64()) << name;
    }
    const Value* const our_members = ours.find("members");
    const Value* const their_members = theirs.find("members");
    ASSERT_EQ(our_members != nullptr, their_members != nullptr) << name;
    if (our_members == nullptr) continue;
    EXPECT_EQ(names_in(*our_members), names_in(*their_members)) << name;
    for (const auto& [member, of] : our_members->members())
      EXPECT_EQ(shape_in(*our_members, member), shape_in(*their_members, member)) << name << "." << member;
  }
}

INSTANTIATE_TEST_SUITE_P(AllServices, Models, testing::ValuesIn(aws::all_models().begin(), aws::all_models().end()),
                         [](const auto& of) { return std::string(of.param->name); });

TEST(SqsErrors, HaveTheQueryCodesOfTheirShapes) {
  struct Case {
    sqs::Error error;
    std::string_view code;
    int status;
  };
  using enum sqs::Error;
  const Case cases[] = {
      {QueueDoesNotExist, "AWS.SimpleQueueService.NonExistentQueue", 400},
      {QueueDeletedRecently, "AWS.SimpleQueueService.QueueDeletedRecently", 400},
      {QueueNameExists, "QueueAlreadyExists", 400},
      {BatchEntryIdsNotDistinct, "AWS.SimpleQueueService.BatchEntryIdsNotDistinct", 400},
      {BatchRequestTooLong, "AWS.SimpleQueueService.BatchRequestTooLong", 400},
      {EmptyBatchRequest, "AWS.SimpleQueueService.EmptyBatchRequest", 400},
      {InvalidBatchEntryId, "AWS.SimpleQueueService.InvalidBatchEntryId", 400},
      {TooManyEntriesInBatchRequest, "AWS.SimpleQueueService.TooManyEntriesInBatchRequest", 400},
      {MessageNotInflight, "AWS.SimpleQueueService.MessageNotInflight", 400},
      {UnsupportedOperation, "AWS.SimpleQueueService.UnsupportedOperation", 400},
      {PurgeQueueInProgress, "AWS.SimpleQueueService.PurgeQueueInProgress", 403},
      {ReceiptHandleIsInvalid, "ReceiptHandleIsInvalid", 404},
      {InvalidAddress, "InvalidAddress", 404},
      {InvalidSecurity, "InvalidSecurity", 403},
      {OverLimit, "OverLimit", 403},
      {RequestThrottled, "RequestThrottled", 403},
      {ResourceNotFoundException, "ResourceNotFoundException", 404},
      {InvalidAttributeName, "InvalidAttributeName", 400},
      {InvalidAttributeValue, "InvalidAttributeValue", 400},
      {InvalidIdFormat, "InvalidIdFormat", 400},
      {InvalidMessageContents, "InvalidMessageContents", 400},
      {InvalidParameterValue, "InvalidParameterValue", 400},
      {MissingParameter, "MissingParameter", 400},
      {KmsAccessDenied, "KMS.AccessDeniedException", 400},
      {KmsDisabled, "KMS.DisabledException", 400},
      {KmsInvalidKeyUsage, "KMS.InvalidKeyUsageException", 400},
      {KmsInvalidState, "KMS.InvalidStateException", 400},
      {KmsNotFound, "KMS.NotFoundException", 400},
      {KmsThrottled, "KMS.ThrottlingException", 400},
      {KmsOptInRequired, "KMS.OptInRequired", 403},
      {AccessDenied, "AccessDenied", 403},
  };
  for (const auto& c : cases) {
    EXPECT_EQ(sqs::wire_error(c.error).query_code, c.code);
    EXPECT_EQ(sqs::wire_error(c.error).status, c.status) << c.code;
  }
  EXPECT_EQ(std::size(cases), static_cast<std::size_t>(AccessDenied) + 1);
}

TEST(SqsAttributeNames, AreThoseOfTheModel) {
  for (std::size_t i = 0; i < sqs::kQueueAttributeNames; ++i) {
    const auto name = static_cast<sqs::QueueAttributeName>(i);
    EXPECT_EQ(sqs::parse_queue_attribute_name(sqs::text_of(name)), name);
  }
  for (std::size_t i = 0; i < sqs::kSystemAttributeNames; ++i) {
    const auto name = static_cast<sqs::SystemAttributeName>(i);
    EXPECT_EQ(sqs::parse_system_attribute_name(sqs::text_of(name)), name);
  }
  EXPECT_EQ(sqs::parse_queue_attribute_name("visibilityTimeout"), std::nullopt);
  EXPECT_EQ(sqs::parse_system_attribute_name(""), std::nullopt);
}

TEST(SqsQueryNames, AreThoseOfApiVersion20121105) {
  const auto name_of = [](std::string_view operation, std::string_view member) {
    const Shape& input = *sqs::kModel.find(operation)->input;
    return std::ranges::find(input.members, member, &wire::aws::Member::name)->query_name;
  };
  EXPECT_EQ(name_of("CreateQueue", "Attributes"), "Attribute");
  EXPECT_EQ(name_of("CreateQueue", "tags"), "Tag");
  EXPECT_EQ(name_of("GetQueueAttributes", "AttributeNames"), "AttributeName");
  EXPECT_EQ(name_of("SendMessage", "MessageAttributes"), "MessageAttribute");
  EXPECT_EQ(name_of("SendMessage", "MessageSystemAttributes"), "MessageSystemAttribute");
  EXPECT_EQ(name_of("SendMessageBatch", "Entries"), "SendMessageBatchRequestEntry");
  EXPECT_EQ(name_of("DeleteMessageBatch", "Entries"), "DeleteMessageBatchRequestEntry");
  EXPECT_EQ(name_of("ChangeMessageVisibilityBatch", "Entries"), "ChangeMessageVisibilityBatchRequestEntry");
  EXPECT_EQ(name_of("ReceiveMessage", "MessageAttributeNames"), "MessageAttributeName");
  EXPECT_EQ(name_of("UntagQueue", "TagKeys"), "TagKey");
  EXPECT_EQ(name_of("AddPermission", "AWSAccountIds"), "AWSAccountId");
  EXPECT_EQ(name_of("AddPermission", "Actions"), "ActionName");
}

}  // namespace
}  // namespace fanfare::api
