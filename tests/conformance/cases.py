#!/usr/bin/env python3
"""boto3 against the broker: the same cases with Debian's (AWS Query) and a current one (AWS JSON 1.0).

Each case makes its own queues and topics, named after itself. FANFARE_ENDPOINT is the broker's URL.
"""
import json
import os
import sys
import threading
import time
import traceback
import uuid

import boto3
import botocore
from botocore.config import Config
from botocore.exceptions import ClientError

ENDPOINT = os.environ["FANFARE_ENDPOINT"]
ACCOUNT = "000000000000"
OPTIONS = dict(endpoint_url=ENDPOINT, region_name="us-east-1", aws_access_key_id="test", aws_secret_access_key="test",
               config=Config(retries={"max_attempts": 0}))
sqs, sns, sts = (boto3.client(name, **OPTIONS) for name in ("sqs", "sns", "sts"))
CASES = []


def case(function):
    CASES.append(function)
    return function


def name(suffix=""):
    return "c-" + uuid.uuid4().hex[:12] + suffix


def arn(queue):
    return "arn:aws:sqs:us-east-1:%s:%s" % (ACCOUNT, queue)


def make_queue(**attributes):
    queue = name()
    return queue, sqs.create_queue(QueueName=queue, Attributes={k: str(v) for k, v in attributes.items()})["QueueUrl"]


def policy_for(queue, topic_arn):
    return json.dumps({"Version": "2012-10-17", "Statement": [{
        "Effect": "Allow", "Principal": {"Service": "sns.amazonaws.com"}, "Action": "sqs:SendMessage", "Resource": arn(queue),
        "Condition": {"ArnEquals": {"aws:SourceArn": topic_arn}}}]})


def receive(url, **options):
    return sqs.receive_message(QueueUrl=url, **options).get("Messages", [])


def error_of(call, *arguments, **options):
    try:
        call(*arguments, **options)
    except ClientError as error:
        return error.response["Error"]["Code"], error.response["Error"]["Message"], error.response["ResponseMetadata"]["HTTPStatusCode"]
    raise AssertionError("the call succeeded")


def equal(got, wanted):
    assert got == wanted, "got %r, wanted %r" % (got, wanted)


@case
def queue_is_created_found_listed_and_deleted():
    queue, url = make_queue()
    equal(sqs.get_queue_url(QueueName=queue)["QueueUrl"], url)
    assert url.startswith(ENDPOINT), url
    assert url in sqs.list_queues(QueueNamePrefix=queue)["QueueUrls"]
    sqs.delete_queue(QueueUrl=url)
    equal(error_of(sqs.get_queue_url, QueueName=queue)[0], "AWS.SimpleQueueService.NonExistentQueue")


@case
def create_is_idempotent_and_refuses_other_attributes():
    queue, url = make_queue(VisibilityTimeout=10)
    equal(sqs.create_queue(QueueName=queue, Attributes={"VisibilityTimeout": "10"})["QueueUrl"], url)
    equal(sqs.create_queue(QueueName=queue)["QueueUrl"], url)
    code, message, status = error_of(sqs.create_queue, QueueName=queue, Attributes={"VisibilityTimeout": "11"})
    equal((code, status), ("QueueAlreadyExists", 400))
    equal(message, "A queue already exists with the same name and a different value for attribute VisibilityTimeout")


@case
def default_attributes_are_those_of_the_service():
    queue, url = make_queue()
    attributes = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["All"])["Attributes"]
    for key, value in {"VisibilityTimeout": "30", "DelaySeconds": "0", "MaximumMessageSize": "1048576", "MessageRetentionPeriod": "345600",
                       "ReceiveMessageWaitTimeSeconds": "0", "SqsManagedSseEnabled": "true", "QueueArn": arn(queue),
                       "ApproximateNumberOfMessages": "0", "ApproximateNumberOfMessagesNotVisible": "0",
                       "ApproximateNumberOfMessagesDelayed": "0"}.items():
        equal((key, attributes.get(key)), (key, value))
    assert "Policy" not in attributes


@case
def attributes_are_changed_and_bad_values_refused():
    _, url = make_queue()
    sqs.set_queue_attributes(QueueUrl=url, Attributes={"VisibilityTimeout": "7", "DelaySeconds": "1"})
    got = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["VisibilityTimeout", "DelaySeconds"])["Attributes"]
    equal(got, {"VisibilityTimeout": "7", "DelaySeconds": "1"})
    equal(error_of(sqs.set_queue_attributes, QueueUrl=url, Attributes={"VisibilityTimeout": "43201"})[0], "InvalidAttributeValue")
    equal(error_of(sqs.set_queue_attributes, QueueUrl=url, Attributes={"NoSuch": "1"})[0], "InvalidAttributeName")


@case
def message_is_sent_received_and_deleted():
    _, url = make_queue()
    sent = sqs.send_message(QueueUrl=url, MessageBody="hello", MessageAttributes={
        "text": {"DataType": "String", "StringValue": "v"}, "number": {"DataType": "Number.int", "StringValue": "17"},
        "binary": {"DataType": "Binary", "BinaryValue": b"\x00\x01"}})
    [message] = receive(url, MessageAttributeNames=["All"], AttributeNames=["All"])
    equal(message["MessageId"], sent["MessageId"])
    equal(message["Body"], "hello")
    equal(message["MD5OfBody"], sent["MD5OfMessageBody"])
    equal(message["MD5OfMessageAttributes"], sent["MD5OfMessageAttributes"])
    equal(message["MessageAttributes"]["binary"]["BinaryValue"], b"\x00\x01")
    equal(message["Attributes"]["ApproximateReceiveCount"], "1")
    assert {"SenderId", "SentTimestamp", "ApproximateFirstReceiveTimestamp"} <= set(message["Attributes"])
    sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
    equal(sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["ApproximateNumberOfMessagesNotVisible"])["Attributes"],
          {"ApproximateNumberOfMessagesNotVisible": "0"})


@case
def only_the_asked_attributes_come():
    _, url = make_queue()
    sqs.send_message(QueueUrl=url, MessageBody="b", MessageAttributes={
        "app.one": {"DataType": "String", "StringValue": "1"}, "app.two": {"DataType": "String", "StringValue": "2"},
        "other": {"DataType": "String", "StringValue": "3"}})
    [message] = receive(url, MessageAttributeNames=["app.*"], AttributeNames=["SentTimestamp"], VisibilityTimeout=0)
    equal(sorted(message["MessageAttributes"]), ["app.one", "app.two"])
    equal(list(message["Attributes"]), ["SentTimestamp"])
    [message] = receive(url)
    assert "MessageAttributes" not in message and "Attributes" not in message


@case
def a_batch_succeeds_entry_by_entry():
    _, url = make_queue()
    answer = sqs.send_message_batch(QueueUrl=url, Entries=[{"Id": "a", "MessageBody": "1"}, {"Id": "b", "MessageBody": "bad\u0001"},
                                                           {"Id": "c", "MessageBody": "3", "DelaySeconds": 0}])
    equal(sorted(e["Id"] for e in answer["Successful"]), ["a", "c"])
    equal([(e["Id"], e["Code"], e["SenderFault"]) for e in answer["Failed"]], [("b", "InvalidMessageContents", True)])
    messages = receive(url, MaxNumberOfMessages=10)
    equal(sorted(m["Body"] for m in messages), ["1", "3"])
    changed = sqs.change_message_visibility_batch(QueueUrl=url, Entries=[
        {"Id": str(i), "ReceiptHandle": m["ReceiptHandle"], "VisibilityTimeout": 60} for i, m in enumerate(messages)])
    equal(len(changed["Successful"]), 2)
    deleted = sqs.delete_message_batch(QueueUrl=url, Entries=[
        {"Id": "0", "ReceiptHandle": messages[0]["ReceiptHandle"]}, {"Id": "1", "ReceiptHandle": "garbage"}])
    equal([e["Id"] for e in deleted["Successful"]], ["0"])
    equal([(e["Id"], e["Code"]) for e in deleted["Failed"]], [("1", "ReceiptHandleIsInvalid")])


@case
def batch_rules_have_their_errors():
    _, url = make_queue()
    equal(error_of(sqs.send_message_batch, QueueUrl=url, Entries=[])[0], "AWS.SimpleQueueService.EmptyBatchRequest")
    entries = [{"Id": str(i), "MessageBody": "x"} for i in range(11)]
    code, message, _ = error_of(sqs.send_message_batch, QueueUrl=url, Entries=entries)
    equal((code, message), ("AWS.SimpleQueueService.TooManyEntriesInBatchRequest", "Maximum number of entries per request are 10. You have sent 11."))
    equal(error_of(sqs.send_message_batch, QueueUrl=url, Entries=[{"Id": "a", "MessageBody": "1"}, {"Id": "a", "MessageBody": "2"}])[0],
          "AWS.SimpleQueueService.BatchEntryIdsNotDistinct")
    equal(error_of(sqs.send_message_batch, QueueUrl=url, Entries=[{"Id": "a b", "MessageBody": "1"}])[0],
          "AWS.SimpleQueueService.InvalidBatchEntryId")
    big = [{"Id": str(i), "MessageBody": "x" * 600_000} for i in range(2)]
    equal(error_of(sqs.send_message_batch, QueueUrl=url, Entries=big)[0], "AWS.SimpleQueueService.BatchRequestTooLong")


@case
def size_limit_is_one_mebibyte():
    _, url = make_queue()
    sqs.send_message(QueueUrl=url, MessageBody="x" * 1_048_576)
    code, message, _ = error_of(sqs.send_message, QueueUrl=url, MessageBody="x" * 1_048_577)
    equal(code, "InvalidParameterValue")
    equal(message, "One or more parameters are invalid. Reason: Message must be shorter than 1048576 bytes.")


@case
def visibility_ends_and_can_be_reset():
    _, url = make_queue(VisibilityTimeout=1)
    sqs.send_message(QueueUrl=url, MessageBody="x")
    [first] = receive(url)
    equal(receive(url), [])
    [second] = receive(url, WaitTimeSeconds=5)  # when the visibility ends
    assert first["ReceiptHandle"] != second["ReceiptHandle"]
    sqs.change_message_visibility(QueueUrl=url, ReceiptHandle=second["ReceiptHandle"], VisibilityTimeout=0)
    [third] = receive(url, AttributeNames=["ApproximateReceiveCount"])
    equal(third["Attributes"]["ApproximateReceiveCount"], "3")
    sqs.delete_message(QueueUrl=url, ReceiptHandle=third["ReceiptHandle"])


@case
def delayed_message_comes_later():
    _, url = make_queue()
    begin = time.monotonic()
    sqs.send_message(QueueUrl=url, MessageBody="later", DelaySeconds=1)
    equal(receive(url), [])
    [message] = receive(url, WaitTimeSeconds=5)
    assert 0.9 <= time.monotonic() - begin <= 3, time.monotonic() - begin
    equal(message["Body"], "later")


@case
def long_poll_wakes_within_50_ms_of_a_send():
    _, url = make_queue()
    woken = []
    for _ in range(5):
        got = {}

        def wait():
            client = boto3.client("sqs", **OPTIONS)
            client.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])  # the connection is there
            ready.set()
            answer = client.receive_message(QueueUrl=url, WaitTimeSeconds=10)
            got["at"] = time.monotonic()
            [message] = answer["Messages"]
            client.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
        ready = threading.Event()
        waiter = threading.Thread(target=wait)
        waiter.start()
        ready.wait(10)
        deadline = time.monotonic() + 10
        while waiting() == 0 and time.monotonic() < deadline:
            time.sleep(0.005)
        sqs.send_message(QueueUrl=url, MessageBody="now")
        answered = time.monotonic()
        waiter.join(15)
        woken.append(got["at"] - answered)
    assert sorted(woken)[len(woken) // 2] < 0.05, woken


def waiting():
    """Long polls that wait now, as the broker counts them."""
    import urllib.request
    return json.load(urllib.request.urlopen(os.environ["FANFARE_ADMIN"] + "/_fanfare/state"))["long_polls"]


@case
def long_poll_ends_empty_in_time():
    _, url = make_queue()
    begin = time.monotonic()
    equal(receive(url, WaitTimeSeconds=1), [])
    assert 0.9 <= time.monotonic() - begin <= 2.5


@case
def message_moves_to_the_dead_letter_queue():
    dead, dead_url = make_queue()
    queue, url = make_queue(RedrivePolicy=json.dumps({"deadLetterTargetArn": arn(dead), "maxReceiveCount": "2"}), VisibilityTimeout=0)
    sqs.send_message(QueueUrl=url, MessageBody="poison")
    for _ in range(2):
        equal(len(receive(url)), 1)
    equal(receive(url), [])
    [message] = receive(dead_url, AttributeNames=["All"], WaitTimeSeconds=2)
    equal(message["Body"], "poison")
    equal(message["Attributes"]["DeadLetterQueueSourceArn"], arn(queue))
    equal(message["Attributes"]["ApproximateReceiveCount"], "3")
    equal(sqs.list_dead_letter_source_queues(QueueUrl=dead_url)["queueUrls"], [url])


@case
def purge_empties_and_is_limited():
    queue, url = make_queue()
    sqs.send_message(QueueUrl=url, MessageBody="x")
    sqs.purge_queue(QueueUrl=url)
    equal(receive(url), [])
    code, message, status = error_of(sqs.purge_queue, QueueUrl=url)
    equal((code, status), ("AWS.SimpleQueueService.PurgeQueueInProgress", 403))
    equal(message, "Only one PurgeQueue operation on %s is allowed every 60 seconds." % queue)


@case
def tags_of_queues():
    _, url = make_queue()
    sqs.tag_queue(QueueUrl=url, Tags={"team": "search", "stage": "test"})
    sqs.untag_queue(QueueUrl=url, TagKeys=["stage"])
    equal(sqs.list_queue_tags(QueueUrl=url)["Tags"], {"team": "search"})


@case
def parameter_errors_have_the_services_texts():
    _, url = make_queue()
    for options, text in [
            ({"WaitTimeSeconds": 21}, "Value 21 for parameter WaitTimeSeconds is invalid. Reason: Must be >= 0 and <= 20, if provided."),
            ({"MaxNumberOfMessages": 11}, "Value 11 for parameter MaxNumberOfMessages is invalid. Reason: Must be between 1 and 10, if provided.")]:
        equal(error_of(sqs.receive_message, QueueUrl=url, **options)[:2], ("InvalidParameterValue", text))
    code, message, status = error_of(sqs.delete_message, QueueUrl=url, ReceiptHandle="garbage")
    equal((code, message, status), ("ReceiptHandleIsInvalid", 'The input receipt handle "garbage" is not a valid receipt handle.', 404))
    equal(error_of(sqs.send_message, QueueUrl=ENDPOINT + "/%s/%s" % (ACCOUNT, name()), MessageBody="x")[0],
          "AWS.SimpleQueueService.NonExistentQueue")


@case
def text_of_every_kind_survives():
    _, url = make_queue()
    for body in ["\t\n\r", "<&>\"'", "\u00e9\u4e2d\U0001f600", "{\"a\":\"\\u0041\"}", "a+b%20c", "]]>"]:
        sqs.send_message(QueueUrl=url, MessageBody=body)
        [message] = receive(url)
        equal(message["Body"], body)
        sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])


# --- SNS --------------------------------------------------------------------------------------------------------------

def make_topic():
    return sns.create_topic(Name=name())["TopicArn"]


def subscribed_queue(topic, policy=True, **attributes):
    queue, url = make_queue()
    if policy:
        sqs.set_queue_attributes(QueueUrl=url, Attributes={"Policy": policy_for(queue, topic)})
    subscription = sns.subscribe(TopicArn=topic, Protocol="sqs", Endpoint=arn(queue), ReturnSubscriptionArn=True, Attributes=attributes)
    return url, subscription["SubscriptionArn"]


@case
def topics_are_created_listed_and_deleted():
    topic = make_topic()
    equal(sns.create_topic(Name=topic.rsplit(":", 1)[1])["TopicArn"], topic)
    assert any(t["TopicArn"] == topic for page in sns.get_paginator("list_topics").paginate() for t in page["Topics"])
    attributes = sns.get_topic_attributes(TopicArn=topic)["Attributes"]
    equal((attributes["TopicArn"], attributes["Owner"], attributes["SubscriptionsConfirmed"]), (topic, ACCOUNT, "0"))
    sns.delete_topic(TopicArn=topic)
    code, message, status = error_of(sns.get_topic_attributes, TopicArn=topic)
    equal((code, message, status), ("NotFound", "Topic does not exist", 404))


@case
def published_message_comes_in_its_envelope():
    topic = make_topic()
    url, _ = subscribed_queue(topic)
    published = sns.publish(TopicArn=topic, Message="news", Subject="s", MessageAttributes={"a": {"DataType": "String", "StringValue": "1"}})
    [message] = receive(url, WaitTimeSeconds=2)
    envelope = json.loads(message["Body"])
    equal((envelope["Type"], envelope["MessageId"], envelope["TopicArn"], envelope["Message"], envelope["Subject"]),
          ("Notification", published["MessageId"], topic, "news", "s"))
    equal(envelope["MessageAttributes"], {"a": {"Type": "String", "Value": "1"}})
    order = [k for k in envelope if k in ("Type", "MessageId", "TopicArn", "Subject", "Message", "Timestamp", "SignatureVersion", "MessageAttributes")]
    equal(order, ["Type", "MessageId", "TopicArn", "Subject", "Message", "Timestamp", "SignatureVersion", "MessageAttributes"])


@case
def raw_delivery_hands_the_payload_on():
    topic = make_topic()
    url, _ = subscribed_queue(topic, RawMessageDelivery="true")
    sns.publish(TopicArn=topic, Message="payload", MessageAttributes={"a": {"DataType": "Number", "StringValue": "1"}})
    [message] = receive(url, WaitTimeSeconds=2, MessageAttributeNames=["All"])
    equal(message["Body"], "payload")
    equal(message["MessageAttributes"], {"a": {"DataType": "Number", "StringValue": "1"}})


@case
def each_queue_gets_its_own_copy():
    topic = make_topic()
    urls = [subscribed_queue(topic, RawMessageDelivery="true")[0] for _ in range(3)]
    sns.publish(TopicArn=topic, Message="copy")
    for url in urls:
        [message] = receive(url, WaitTimeSeconds=2)
        sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
        equal(message["Body"], "copy")


@case
def filter_policies_choose_by_attribute_and_by_body():
    topic = make_topic()
    by_attribute, _ = subscribed_queue(topic, RawMessageDelivery="true", FilterPolicy=json.dumps({"kind": ["a"]}))
    by_body, _ = subscribed_queue(topic, RawMessageDelivery="true", FilterPolicy=json.dumps({"doc": {"kind": ["b"]}}), FilterPolicyScope="MessageBody")
    sns.publish(TopicArn=topic, Message=json.dumps({"doc": {"kind": "b"}}), MessageAttributes={"kind": {"DataType": "String", "StringValue": "x"}})
    sns.publish(TopicArn=topic, Message="plain", MessageAttributes={"kind": {"DataType": "String", "StringValue": "a"}})
    equal([m["Body"] for m in receive(by_attribute, WaitTimeSeconds=2, MaxNumberOfMessages=10)], ["plain"])
    equal([m["Body"] for m in receive(by_body, WaitTimeSeconds=2, MaxNumberOfMessages=10)], ['{"doc": {"kind": "b"}}'])


@case
def a_queue_without_policy_gets_nothing():
    topic = make_topic()
    allowed, _ = subscribed_queue(topic, RawMessageDelivery="true")
    refused, _ = subscribed_queue(topic, policy=False, RawMessageDelivery="true")
    sns.publish(TopicArn=topic, Message="m")
    equal(len(receive(allowed, WaitTimeSeconds=2)), 1)
    equal(receive(refused), [])


@case
def a_policy_for_another_topic_does_not_help():
    topic, other = make_topic(), make_topic()
    queue, url = make_queue()
    sqs.set_queue_attributes(QueueUrl=url, Attributes={"Policy": policy_for(queue, other)})
    sns.subscribe(TopicArn=topic, Protocol="sqs", Endpoint=arn(queue))
    control, _ = subscribed_queue(topic)
    sns.publish(TopicArn=topic, Message="m")
    equal(len(receive(control, WaitTimeSeconds=2)), 1)
    equal(receive(url), [])


@case
def what_a_queue_refuses_goes_to_the_subscriptions_dead_letter_queue():
    topic = make_topic()
    dead, dead_url = make_queue()
    sqs.set_queue_attributes(QueueUrl=dead_url, Attributes={"Policy": policy_for(dead, topic)})
    subscribed_queue(topic, policy=False, RawMessageDelivery="true", RedrivePolicy=json.dumps({"deadLetterTargetArn": arn(dead)}))
    sns.publish(TopicArn=topic, Message="refused")
    [message] = receive(dead_url, WaitTimeSeconds=2)
    equal(message["Body"], "refused")


@case
def publish_batch_succeeds_entry_by_entry():
    topic = make_topic()
    url, _ = subscribed_queue(topic, RawMessageDelivery="true")
    answer = sns.publish_batch(TopicArn=topic, PublishBatchRequestEntries=[{"Id": "1", "Message": "a"}, {"Id": "2", "Message": "b"}])
    equal(sorted(e["Id"] for e in answer["Successful"]), ["1", "2"])
    equal(sorted(m["Body"] for m in receive(url, MaxNumberOfMessages=10, WaitTimeSeconds=2)), ["a", "b"])


@case
def subscriptions_are_listed_changed_and_removed():
    topic = make_topic()
    url, subscription = subscribed_queue(topic)
    listed = sns.list_subscriptions_by_topic(TopicArn=topic)["Subscriptions"]
    equal([(s["SubscriptionArn"], s["Protocol"]) for s in listed], [(subscription, "sqs")])
    sns.set_subscription_attributes(SubscriptionArn=subscription, AttributeName="RawMessageDelivery", AttributeValue="true")
    equal(sns.get_subscription_attributes(SubscriptionArn=subscription)["Attributes"]["RawMessageDelivery"], "true")
    sns.unsubscribe(SubscriptionArn=subscription)
    equal(sns.list_subscriptions_by_topic(TopicArn=topic)["Subscriptions"], [])


@case
def sns_errors_have_the_services_texts():
    topic = make_topic()
    equal(error_of(sns.publish, TopicArn=topic, Message="")[:2], ("InvalidParameter", "Invalid parameter: Empty message"))
    equal(error_of(sns.publish, TopicArn=topic, Message="x" * 262_145)[0], "InvalidParameter")
    equal(error_of(sns.subscribe, TopicArn=topic, Protocol="pigeon", Endpoint="x")[:2],
          ("InvalidParameter", "Invalid parameter: Amazon SNS does not support this protocol string: pigeon"))
    equal(error_of(sns.publish, TopicArn=topic + "x", Message="m"), ("NotFound", "Topic does not exist", 404))


@case
def caller_identity_is_the_root_of_the_default_account():
    answer = sts.get_caller_identity()
    equal((answer["Account"], answer["Arn"]), (ACCOUNT, "arn:aws:iam::%s:root" % ACCOUNT))


@case
def a_twelve_digit_access_key_is_an_account():
    other = boto3.client("sqs", **dict(OPTIONS, aws_access_key_id="111122223333"))
    queue = name()
    url = other.create_queue(QueueName=queue)["QueueUrl"]
    assert "/111122223333/" in url, url
    equal(error_of(sqs.get_queue_url, QueueName=queue)[0], "AWS.SimpleQueueService.NonExistentQueue")
    region = boto3.client("sqs", **dict(OPTIONS, region_name="eu-west-1"))
    equal(error_of(region.get_queue_url, QueueName=queue)[0], "AWS.SimpleQueueService.NonExistentQueue")


def run(cases):
    print("boto3 %s, botocore %s, %s" % (boto3.__version__, botocore.__version__, sqs.meta.service_model.metadata["protocol"]))
    failed = 0
    for one in cases:
        try:
            one()
        except Exception:  # whatever goes wrong is this case's failure, and the others still run
            failed += 1
            print("FAILED %s" % one.__name__)
            traceback.print_exc(file=sys.stdout)
    print("%d passed, %d failed" % (len(cases) - failed, failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(run(CASES))
