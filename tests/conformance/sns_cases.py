#!/usr/bin/env python3
"""SNS by boto3 against a running server: every action, AWS's error texts, filters, signatures, HTTP deliveries.

    FANFARE_ENDPOINT=http://127.0.0.1:4566 FANFARE_ADMIN=http://127.0.0.1:4590 tests/conformance/sns_cases.py

Each check is one case. The last line is `N passed, M failed`. Texts in tables were recorded from AWS unless a comment says
otherwise.
"""

import base64
import http.server
import json
import os
import socketserver
import subprocess
import tempfile
import threading
import time
import urllib.parse
import urllib.request
import uuid

import boto3
from botocore.config import Config
from botocore.exceptions import ClientError

from checks import check, equal, finish

ENDPOINT = os.environ["FANFARE_ENDPOINT"]
ADMIN = os.environ["FANFARE_ADMIN"]
ACCOUNT = "000000000000"
REGION = "us-east-1"
SETTINGS = dict(endpoint_url=ENDPOINT, region_name=REGION, aws_access_key_id="AKIDEXAMPLE", aws_secret_access_key="secret",
                config=Config(retries={"max_attempts": 0}, parameter_validation=False))
sns = boto3.client("sns", **SETTINGS)
sqs = boto3.client("sqs", **SETTINGS)


def refused(name, code, message, call, status=None):
    """The call fails with this code and, unless it is None, this message (its first line)."""
    try:
        answer = call()
    except ClientError as error:
        got = error.response["Error"]
        ok = got["Code"] == code and (message is None or got["Message"].split("\n at [Source")[0] == message)
        if status is not None:
            ok = ok and error.response["ResponseMetadata"]["HTTPStatusCode"] == status
        check(name, ok, f"got {got}, wanted {code}: {message}")
        return error.response
    check(name, False, f"succeeded: {answer}")
    return None


def fresh(prefix="t"):
    return f"{prefix}-{uuid.uuid4().hex[:12]}"


def make_topic(**more):
    return sns.create_topic(Name=fresh(), **more)["TopicArn"]


def make_queue():
    name = fresh("q")
    url = sqs.create_queue(QueueName=name)["QueueUrl"]
    arn = f"arn:aws:sqs:{REGION}:{ACCOUNT}:{name}"
    policy = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Principal": {"Service": "sns.amazonaws.com"},
                                                      "Action": "sqs:SendMessage", "Resource": arn}]}
    sqs.set_queue_attributes(QueueUrl=url, Attributes={"Policy": json.dumps(policy)})
    return url, arn


def drain(url):
    messages = []
    while True:
        got = sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10, MessageAttributeNames=["All"]).get("Messages", [])
        if not got:
            return messages
        for message in got:
            sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
        messages += got


# ---- Filter policies ----------------------------------------------------------------------------------------------------

REFUSED_POLICIES = [
    ('{"key":[["value"]]}', "Match value must be String, number, true, false, or null", 10),
    ('{"key":[{"wrong-operator":true}]}', "Unrecognized match type wrong-operator", 31),
    ('{"key":[{"suffix":"value","prefix":"value2"}]}', "Only one key allowed in match expression", 37),
    ('{"key":[{"suffix":100}]}', "suffix match pattern must be a string", 22),
    ('{"key":[{"suffix":null}]}', "suffix match pattern must be a string", 23),
    ('{"key":{"suffix":"value"}}', '"suffix" must be an object or an array', 19),
    ('{"key":[{"suffix":[]}]}', "suffix match pattern must be a string", 20),
    ('{"key":{"not-an-operator":"value"}}', '"not-an-operator" must be an object or an array', 28),
    ('{"key":[{"numeric":[]}]}', "Invalid member in numeric match: ]", 22),
    ('{"key":[{"numeric":["operator"]}]}', "Unrecognized numeric range operator: operator", 32),
    ('{"key":[{"numeric":[1,"<="]}]}', "Invalid member in numeric match: 1", 22),
    ('{"key":[{"numeric":["=","000"]}]}', "Value of equals must be numeric", 26),
    ('{"key":[{"numeric":[">="]}]}', "Value of >= must be numeric", 26),
    ('{"key":[{"numeric":["<",100,">",10]}]}', "Too many elements in numeric expression", 30),
    ('{"key":[{"numeric":[">=",1,">",2]}]}', "Bad numeric range operator: >", 31),
    ('{"key":[{"numeric":[">",3,"<",1]}]}', "Bottom must be less than top", 33),
    ('{"key":[{"numeric":[">",20,"<="]}]}', "Value of <= must be numeric", 33),
    ('{"key":[{"numeric":[">",20,30]}]}', "Bad value in numeric range: 30", 30),
    ('{"key":[{"numeric":[">",20,"test"]}]}', "Bad numeric range operator: test", 34),
    ('{"key":[{"numeric":[">","20","<","30"]}]}', "Value of > must be numeric", 26),
    ('{"key":[{"numeric":[">",20,"<","30"]}]}', "Value of < must be numeric", 33),
    ('{"key":[{"numeric":[">",20,"<",30,"<",50]}]}', "Too many terms in numeric range expression", 36),
    ('{"key":[{"exists":null}]}', "exists match pattern must be either true or false.", 23),
    ('{"key":[{"exists":"no"}]}', "exists match pattern must be either true or false.", 20),
    ('{"key_a":"value_one"}', '"key_a" must be an object or an array', 11),
    ('{"key":[{"anything-but":{"wrong-operator":null}}]}', "Unsupported anything-but pattern: wrong-operator", 47),
    ('{"key":[{"anything-but":{"suffix":"test"}}]}', "Unsupported anything-but pattern: suffix", 36),
    ('{"key":[{"anything-but":{"exists":false}}]}', "Unsupported anything-but pattern: exists", 40),
    ('{"key":[{"anything-but":{"prefix":false}}]}', "prefix match pattern must be a string", 40),
]

# (a rule, JSON values that pass, JSON values that do not)
OPERATORS = [
    ('"rugby"', ['"rugby"', '["x","rugby"]', '[["rugby"]]'], ['"Rugby"', "1", "null", "[]", "{}"]),
    ("17", ["17", "17.0", "1.7e1"], ['"17"', "18"]),
    ("true", ["true"], ["false", '"true"']),
    ("null", ["null"], ['"null"']),
    ('{"prefix":"au"}', ['"auto"', '"au"'], ['"a"', "7"]),
    ('{"suffix":".pdf"}', ['"a.pdf"'], ['"a.pdfx"']),
    ('{"equals-ignore-case":"TENNIS"}', ['"tennis"', '"Tennis"'], ['"tenni"']),
    ('{"wildcard":"doc-*-eu"}', ['"doc-1-eu"'], ['"doc-eu"']),
    ('{"numeric":["=",1.5]}', ["1.5", "15e-1"], ["1.50001", '"1.5"']),
    ('{"numeric":[">",0,"<=",100]}', ["0.00001", "100"], ["0", "100.00001"]),
    ('{"anything-but":["rugby","tennis"]}', ['"ball"', "5", '["rugby","ball"]'], ['"rugby"', '["tennis"]']),
    ('{"anything-but":7}', ["8", '"7"'], ["7"]),
    ('{"anything-but":{"prefix":"order-"}}', ['"data"'], ['"order-1"']),
    ('{"cidr":"10.0.0.0/24"}', ['"10.0.0.255"'], ['"10.0.1.0"', '"text"']),
    ('{"cidr":"2001:db8::/32"}', ['"2001:db8:1::9"'], ['"2001:db9::"']),
    ('{"exists":true}', ['"x"', "null"], ["{}"]),
    ('{"exists":false}', ["{}", "[]"], ['"x"', "null"]),
]


def filter_validation():
    topic = make_topic()
    _, queue = make_queue()
    subscription = sns.subscribe(TopicArn=topic, Protocol="sqs", Endpoint=queue, ReturnSubscriptionArn=True)["SubscriptionArn"]
    _, other = make_queue()
    for policy, message, column in REFUSED_POLICIES:
        place = f'\n at [Source: (String)"{policy}"; line: 1, column: {column}]'
        answer = refused(f"Subscribe refuses {policy}", "InvalidParameter", f"Invalid parameter: Attributes Reason: FilterPolicy: {message}",
                         lambda: sns.subscribe(TopicArn=topic, Protocol="sqs", Endpoint=other,
                                               Attributes={"FilterPolicy": policy, "FilterPolicyScope": "MessageBody"}), 400)
        check(f"the place in {policy}", answer and answer["Error"]["Message"].endswith(place), answer)
        sns.set_subscription_attributes(SubscriptionArn=subscription, AttributeName="FilterPolicyScope", AttributeValue="MessageBody")
        refused(f"SetSubscriptionAttributes refuses {policy}", "InvalidParameter", f"Invalid parameter: FilterPolicy: {message}",
                lambda: sns.set_subscription_attributes(SubscriptionArn=subscription, AttributeName="FilterPolicy", AttributeValue=policy))
    set_it = lambda policy: sns.set_subscription_attributes(SubscriptionArn=subscription, AttributeName="FilterPolicy", AttributeValue=json.dumps(policy))
    refused("151 values", "InvalidParameter", "Invalid parameter: FilterPolicy: Filter policy is too complex", lambda: set_it({"a": list(range(151))}))
    refused("6 keys", "InvalidParameter", "Invalid parameter: FilterPolicy: Filter policy can not have more than 5 keys",
            lambda: set_it({k: [1] for k in "abcdef"}))
    refused("depth counts", "InvalidParameter", "Invalid parameter: FilterPolicy: Filter policy is too complex",
            lambda: set_it({"a": {"b": {"c": [1, 2, 3, 4]}}, "d": {"e": [1, 2, 3, 4, 5, 6, 7]}}))
    set_it({"a": {"b": {"c": [1, 2, 3, 4]}}, "d": {"e": [1, 2, 3]}})
    equal("the policy is shown as it was given", json.loads(sns.get_subscription_attributes(SubscriptionArn=subscription)["Attributes"]["FilterPolicy"]),
          {"a": {"b": {"c": [1, 2, 3, 4]}}, "d": {"e": [1, 2, 3]}})
    refused("an unknown scope", "InvalidParameter",
            "Invalid parameter: FilterPolicyScope: Invalid value [RandomValue]. Please use either MessageBody or MessageAttributes",
            lambda: sns.set_subscription_attributes(SubscriptionArn=subscription, AttributeName="FilterPolicyScope", AttributeValue="RandomValue"))
    refused("nesting in attributes", "InvalidParameter",
            "Invalid parameter: Filter policy scope MessageAttributes does not support nested filter policy",
            lambda: sns.set_subscription_attributes(SubscriptionArn=subscription, AttributeName="FilterPolicyScope", AttributeValue="MessageAttributes"))
    set_it_away = sns.set_subscription_attributes(SubscriptionArn=subscription, AttributeName="FilterPolicy", AttributeValue="")
    check("an empty policy takes it away", "FilterPolicy" not in sns.get_subscription_attributes(SubscriptionArn=subscription)["Attributes"], set_it_away)


def filter_matching():
    topic = make_topic()
    url, queue = make_queue()
    subscription = sns.subscribe(TopicArn=topic, Protocol="sqs", Endpoint=queue,
                                 Attributes={"RawMessageDelivery": "true", "FilterPolicyScope": "MessageBody"})["SubscriptionArn"]
    for rule, passes, fails in OPERATORS:
        sns.set_subscription_attributes(SubscriptionArn=subscription, AttributeName="FilterPolicy", AttributeValue='{"k":[%s]}' % rule)
        bodies = ['{"k":%s}' % value for value in passes + fails]
        for body in bodies:
            sns.publish(TopicArn=topic, Message=body)
        got = [message["Body"] for message in drain(url)]
        for value in passes:
            check(f"{rule} passes {value}", '{"k":%s}' % value in got, got)
        for value in fails:
            check(f"{rule} refuses {value}", '{"k":%s}' % value not in got, got)
        sns.publish(TopicArn=topic, Message="no JSON")
        equal(f"{rule} refuses what is no JSON", drain(url), [])
    policy = {"$or": [{"metricName": ["CPUUtilization", "ReadLatency"]}, {"namespace": ["AWS/EC2", "AWS/ES"]}],
              "detail": {"scope": ["Service"], "$or": [{"source": ["aws.cloudwatch"]}, {"type": ["Change"]}]}}
    sns.set_subscription_attributes(SubscriptionArn=subscription, AttributeName="FilterPolicy", AttributeValue=json.dumps(policy))
    for body, wanted in [({"metricName": "CPUUtilization", "detail": {"scope": "Service", "source": "aws.cloudwatch"}}, 1),
                         ({"namespace": "AWS/ES", "detail": {"scope": "Service", "type": "Change"}}, 1),
                         ({"metricName": "CPUUtilization", "detail": {"scope": "Service"}}, 0),
                         ({"metricName": "CPUUtilization", "detail": {"scope": "x", "type": "Change"}}, 0),
                         ({"detail": {"scope": "Service", "type": "Change"}}, 0)]:
        sns.publish(TopicArn=topic, Message=json.dumps(body))
        equal(f"$or and {body}", len(drain(url)), wanted)
    sns.set_subscription_attributes(SubscriptionArn=subscription, AttributeName="FilterPolicy", AttributeValue='{"object.nested":["x"]}')
    for body in ['{"object":{"nested":"x"}}', '{"object.nested":"x"}']:
        sns.publish(TopicArn=topic, Message=body)
        equal(f"dotted keys and {body}", len(drain(url)), 1)

    sns.set_subscription_attributes(SubscriptionArn=subscription, AttributeName="FilterPolicy", AttributeValue='{"a":["x"]}')
    sns.set_subscription_attributes(SubscriptionArn=subscription, AttributeName="FilterPolicyScope", AttributeValue="MessageAttributes")
    attribute = lambda kind, value: {"a": {"DataType": kind, ("BinaryValue" if kind == "Binary" else "StringValue"): value}}
    for policy, attributes, wanted in [
        (["x"], attribute("String", "x"), 1), (["x"], attribute("String", "y"), 0), (["x"], {}, 0),
        (["x"], attribute("String.Array", '["y","x"]'), 1), (["x"], attribute("String.Array", '["y"]'), 0),
        ([True], attribute("String.Array", "[true,null,3]"), 1), ([{"numeric": ["=", 3]}], attribute("Number", "3.0"), 1),
        (["3"], attribute("Number", "3"), 0), ([3], attribute("String", "3"), 0), (["x"], attribute("Binary", b"x"), 0),
        ([{"exists": False}], {}, 1), ([{"exists": True}], attribute("String", "x"), 1),
        ([None, {"anything-but": "whatever"}], {}, 0), ([{"anything-but": "whatever"}], attribute("String", "x"), 1),
        (["x"], attribute("String.Array", "no array"), 0),
    ]:
        sns.set_subscription_attributes(SubscriptionArn=subscription, AttributeName="FilterPolicy", AttributeValue=json.dumps({"a": policy}))
        sns.publish(TopicArn=topic, Message="m", MessageAttributes=attributes)
        equal(f"attributes {attributes} and {policy}", len(drain(url)), wanted)


# ---- Topics and subscriptions -------------------------------------------------------------------------------------------


def topics():
    name = fresh()
    arn = sns.create_topic(Name=name, Tags=[{"Key": "team", "Value": "a"}])["TopicArn"]
    equal("the ARN names the topic", arn, f"arn:aws:sns:{REGION}:{ACCOUNT}:{name}")
    equal("creating it again finds it", sns.create_topic(Name=name)["TopicArn"], arn)
    refused("other attributes", "InvalidParameter", "Invalid parameter: Attributes Reason: Topic already exists with different attributes",
            lambda: sns.create_topic(Name=name, Attributes={"DisplayName": "x"}))
    refused("other tags", "InvalidParameter", "Invalid parameter: Tags Reason: Topic already exists with different tags",
            lambda: sns.create_topic(Name=name, Tags=[{"Key": "team", "Value": "b"}]))
    for bad in ["", "a b", "a.b", "x" * 257, "ä", "a/b"]:
        refused(f"the name {bad[:10]!r}", "InvalidParameter", "Invalid parameter: Topic Name", lambda: sns.create_topic(Name=bad))
    attributes = sns.get_topic_attributes(TopicArn=arn)["Attributes"]
    for key in ["DisplayName", "EffectiveDeliveryPolicy", "Owner", "Policy", "SubscriptionsConfirmed", "SubscriptionsDeleted",
                "SubscriptionsPending", "TopicArn"]:
        check(f"a topic has {key}", key in attributes, attributes)
    equal("EffectiveDeliveryPolicy", json.loads(attributes["EffectiveDeliveryPolicy"])["http"]["defaultHealthyRetryPolicy"],
          {"minDelayTarget": 20, "maxDelayTarget": 20, "numRetries": 3, "numMaxDelayRetries": 0, "numNoDelayRetries": 0,
           "numMinDelayRetries": 0, "backoffFunction": "linear"})
    policy = json.loads(attributes["Policy"])
    equal("the default policy's id", policy["Id"], "__default_policy_ID")
    equal("the default policy's actions", sorted(policy["Statement"][0]["Action"]),
          sorted("SNS:" + a for a in ["GetTopicAttributes", "SetTopicAttributes", "AddPermission", "RemovePermission", "DeleteTopic",
                                      "Subscribe", "ListSubscriptionsByTopic", "Publish"]))
    for key, value in [("DisplayName", "shown"), ("SignatureVersion", "2"), ("TracingConfig", "Active"), ("KmsMasterKeyId", "alias/x"),
                       ("HTTPSuccessFeedbackSampleRate", "50"),
                       ("DeliveryPolicy", '{"http":{"defaultHealthyRetryPolicy":{"numRetries":7}}}')]:
        sns.set_topic_attributes(TopicArn=arn, AttributeName=key, AttributeValue=value)
        equal(f"{key} is kept", sns.get_topic_attributes(TopicArn=arn)["Attributes"].get(key), value)
    equal("the delivery policy is in effect",
          json.loads(sns.get_topic_attributes(TopicArn=arn)["Attributes"]["EffectiveDeliveryPolicy"])["http"]["defaultHealthyRetryPolicy"]["numRetries"], 7)
    for key, value in [("SignatureVersion", "3"), ("TracingConfig", "x"), ("DeliveryPolicy", "{"),
                       ("DeliveryPolicy", '{"http":{"defaultHealthyRetryPolicy":{"numRetries":101}}}'),
                       ("DeliveryPolicy", '{"http":{"defaultHealthyRetryPolicy":{"minDelayTarget":0}}}'), ("Policy", "{"), ("Nothing", "x")]:
        refused(f"{key} cannot be {value[:70]}", "InvalidParameter", None, lambda: sns.set_topic_attributes(TopicArn=arn, AttributeName=key, AttributeValue=value))
    refused("an unknown attribute", "InvalidParameter", "Invalid parameter: AttributeName",
            lambda: sns.set_topic_attributes(TopicArn=arn, AttributeName="Nothing", AttributeValue="x"))
    missing = f"arn:aws:sns:{REGION}:{ACCOUNT}:{fresh()}"
    for action, call in {
        "GetTopicAttributes": lambda: sns.get_topic_attributes(TopicArn=missing),
        "SetTopicAttributes": lambda: sns.set_topic_attributes(TopicArn=missing, AttributeName="DisplayName", AttributeValue="x"),
        "Publish": lambda: sns.publish(TopicArn=missing, Message="m"),
        "Subscribe": lambda: sns.subscribe(TopicArn=missing, Protocol="sqs", Endpoint=f"arn:aws:sqs:{REGION}:{ACCOUNT}:x"),
        "ListSubscriptionsByTopic": lambda: sns.list_subscriptions_by_topic(TopicArn=missing),
        "AddPermission": lambda: sns.add_permission(TopicArn=missing, Label="x", AWSAccountId=["111122223333"], ActionName=["Publish"]),
        "RemovePermission": lambda: sns.remove_permission(TopicArn=missing, Label="x"),
        "GetDataProtectionPolicy": lambda: sns.get_data_protection_policy(ResourceArn=missing),
        "PutDataProtectionPolicy": lambda: sns.put_data_protection_policy(ResourceArn=missing, DataProtectionPolicy="{}"),
    }.items():
        refused(f"{action} of a topic that is not there", "NotFound", "Topic does not exist", call, 404)
    for bad, message in [("nothing", "Invalid parameter: TopicArn Reason: An ARN must have at least 6 elements, not 1"),
                         ("a:b:c", "Invalid parameter: TopicArn Reason: An ARN must have at least 6 elements, not 3"),
                         (f"arn:aws:sns:eu-west-1:{ACCOUNT}:x", "Invalid parameter: TopicArn")]:
        refused(f"the ARN {bad}", "InvalidParameter", message, lambda: sns.get_topic_attributes(TopicArn=bad))
    check("ListTopics shows it", any(arn in [t["TopicArn"] for t in page["Topics"]] for page in sns.get_paginator("list_topics").paginate()))
    equal("its tags", sns.list_tags_for_resource(ResourceArn=arn)["Tags"], [{"Key": "team", "Value": "a"}])
    sns.tag_resource(ResourceArn=arn, Tags=[{"Key": "stage", "Value": "b"}])
    sns.untag_resource(ResourceArn=arn, TagKeys=["team"])
    equal("tags change", sns.list_tags_for_resource(ResourceArn=arn)["Tags"], [{"Key": "stage", "Value": "b"}])
    refused("tags of nothing", "ResourceNotFound", "Resource does not exist", lambda: sns.list_tags_for_resource(ResourceArn=missing), 404)
    refused("a tag twice", "InvalidParameter", "Invalid parameter: Duplicated keys are not allowed.",
            lambda: sns.tag_resource(ResourceArn=arn, Tags=[{"Key": "k", "Value": "1"}, {"Key": "k", "Value": "2"}]))
    sns.delete_topic(TopicArn=arn)
    sns.delete_topic(TopicArn=arn)
    refused("a deleted topic", "NotFound", "Topic does not exist", lambda: sns.get_topic_attributes(TopicArn=arn))


def permissions():
    arn = make_topic()
    sns.add_permission(TopicArn=arn, Label="share", AWSAccountId=["111122223333"], ActionName=["Publish"])
    statements = json.loads(sns.get_topic_attributes(TopicArn=arn)["Attributes"]["Policy"])["Statement"]
    equal("AddPermission adds a statement", statements[-1],
          {"Sid": "share", "Effect": "Allow", "Principal": {"AWS": "arn:aws:iam::111122223333:root"}, "Action": "SNS:Publish", "Resource": arn})
    equal("the default statement stays", statements[0]["Sid"], "__default_statement_ID")
    refused("the label again", "InvalidParameter", "Invalid parameter: Statement already exists",
            lambda: sns.add_permission(TopicArn=arn, Label="share", AWSAccountId=["111122223333"], ActionName=["Publish"]))
    refused("an action of nobody", "InvalidParameter", "Invalid parameter: Policy statement action out of service scope!",
            lambda: sns.add_permission(TopicArn=arn, Label="bad", AWSAccountId=["111122223333"], ActionName=["Nothing"]))
    sns.add_permission(TopicArn=arn, Label="two", AWSAccountId=["111122223333", "444455556666"], ActionName=["Publish", "Subscribe"])
    two = json.loads(sns.get_topic_attributes(TopicArn=arn)["Attributes"]["Policy"])["Statement"][-1]
    equal("several accounts", two["Principal"]["AWS"], ["arn:aws:iam::111122223333:root", "arn:aws:iam::444455556666:root"])
    equal("several actions", two["Action"], ["SNS:Publish", "SNS:Subscribe"])
    sns.remove_permission(TopicArn=arn, Label="share")
    sns.remove_permission(TopicArn=arn, Label="nothing")
    equal("RemovePermission takes it away", [s["Sid"] for s in json.loads(sns.get_topic_attributes(TopicArn=arn)["Attributes"]["Policy"])["Statement"]],
          ["__default_statement_ID", "two"])
    policy = json.dumps({"Name": "p", "Version": "2021-06-01", "Statement": []})
    sns.put_data_protection_policy(ResourceArn=arn, DataProtectionPolicy=policy)
    equal("the data protection policy", sns.get_data_protection_policy(ResourceArn=arn)["DataProtectionPolicy"], policy)
    refused("a data protection policy that is no JSON", "InvalidParameter", None,
            lambda: sns.put_data_protection_policy(ResourceArn=arn, DataProtectionPolicy="{"))


def subscriptions():
    topic = make_topic()
    url, queue = make_queue()
    arn = sns.subscribe(TopicArn=topic, Protocol="sqs", Endpoint=queue)["SubscriptionArn"]
    check("the subscription's ARN", arn.startswith(topic + ":"), arn)
    equal("subscribing again finds it", sns.subscribe(TopicArn=topic, Protocol="sqs", Endpoint=queue)["SubscriptionArn"], arn)
    refused("with other attributes", "InvalidParameter", "Invalid parameter: Attributes Reason: Subscription already exists with different attributes",
            lambda: sns.subscribe(TopicArn=topic, Protocol="sqs", Endpoint=queue, Attributes={"RawMessageDelivery": "true"}))
    attributes = sns.get_subscription_attributes(SubscriptionArn=arn)["Attributes"]
    for key, value in [("ConfirmationWasAuthenticated", "true"), ("Endpoint", queue), ("Owner", ACCOUNT), ("PendingConfirmation", "false"),
                       ("Protocol", "sqs"), ("RawMessageDelivery", "false"), ("SubscriptionArn", arn), ("TopicArn", topic)]:
        equal(f"a subscription's {key}", attributes.get(key), value)
    for protocol in ["tcp", "SQS", "mqtt"]:
        refused(f"the protocol {protocol}", "InvalidParameter", f"Invalid parameter: Amazon SNS does not support this protocol string: {protocol}",
                lambda: sns.subscribe(TopicArn=topic, Protocol=protocol, Endpoint=queue))
    for protocol, endpoint in [("lambda", f"arn:aws:lambda:{REGION}:{ACCOUNT}:function:f"), ("firehose", f"arn:aws:firehose:{REGION}:{ACCOUNT}:deliverystream/s")]:
        refused(f"{protocol} is not delivered here", "InvalidParameter", None, lambda: sns.subscribe(TopicArn=topic, Protocol=protocol, Endpoint=endpoint))
    for protocol, endpoint, message in [("sqs", "nothing", "Invalid parameter: SQS endpoint ARN"), ("http", "ftp://x", None), ("https", "http://x", None),
                                        ("email", "nobody", None), ("sms", "abc", "Invalid parameter: Invalid SMS endpoint: abc")]:
        refused(f"{protocol} to {endpoint}", "InvalidParameter", message, lambda: sns.subscribe(TopicArn=topic, Protocol=protocol, Endpoint=endpoint))
    refused("a FIFO queue", "InvalidParameter",
            "Invalid parameter: Invalid parameter: Endpoint Reason: FIFO SQS Queues can not be subscribed to standard SNS topics",
            lambda: sns.subscribe(TopicArn=topic, Protocol="sqs", Endpoint=queue + ".fifo"))
    for value in ["", "yes"]:
        refused(f"RawMessageDelivery {value!r}", "InvalidParameter", f"Invalid parameter: RawMessageDelivery: Invalid value [{value}]. Must be true or false.",
                lambda: sns.set_subscription_attributes(SubscriptionArn=arn, AttributeName="RawMessageDelivery", AttributeValue=value))
    _, other = make_queue()
    refused("RawMessageDelivery at Subscribe", "InvalidParameter",
            "Invalid parameter: Attributes Reason: RawMessageDelivery: Invalid value [x]. Must be true or false.",
            lambda: sns.subscribe(TopicArn=topic, Protocol="sqs", Endpoint=other, Attributes={"RawMessageDelivery": "x"}))
    refused("a redrive policy without a queue", "InvalidParameter", "Invalid parameter: RedrivePolicy: deadLetterTargetArn is an invalid arn",
            lambda: sns.set_subscription_attributes(SubscriptionArn=arn, AttributeName="RedrivePolicy", AttributeValue='{"deadLetterTargetArn":"x"}'))
    for policy, part in [('{"healthyRetryPolicy":{"numRetries":101}}', "numRetries must be less than or equal to 100"),
                         ('{"healthyRetryPolicy":{"minDelayTarget":0}}', "minDelayTarget must be greater than or equal to 1"),
                         ('{"throttlePolicy":{"maxReceivesPerSecond":0}}', "maxReceivesPerSecond must be greater than or equal to 1"),
                         ('{"healthyRetryPolicy":{"backoffFunction":"cubic"}}', "backoffFunction")]:
        answer = refused(f"the delivery policy {policy}", "InvalidParameter", None,
                         lambda: sns.set_subscription_attributes(SubscriptionArn=arn, AttributeName="DeliveryPolicy", AttributeValue=policy))
        check(f"says what is wrong with {policy}", answer and part in answer["Error"]["Message"], answer)
    missing = f"{topic}:{uuid.uuid4()}"
    refused("attributes of nothing", "NotFound", "Subscription does not exist", lambda: sns.get_subscription_attributes(SubscriptionArn=missing), 404)
    refused("an ARN too short", "InvalidParameter", "Invalid parameter: SubscriptionArn Reason: An ARN must have at least 6 elements, not 1",
            lambda: sns.unsubscribe(SubscriptionArn="x"))
    refused("no subscription's ARN", "InvalidParameter", "Invalid parameter: SubscriptionId", lambda: sns.unsubscribe(SubscriptionArn=topic + ":x"))
    refused("a wrong token", "InvalidParameter", "Invalid parameter: Token", lambda: sns.confirm_subscription(TopicArn=topic, Token="x" * 64))
    listed = sns.list_subscriptions_by_topic(TopicArn=topic)["Subscriptions"]
    equal("it is listed", [s["SubscriptionArn"] for s in listed], [arn])
    check("it is listed of all", any(arn in [s["SubscriptionArn"] for s in page["Subscriptions"]] for page in sns.get_paginator("list_subscriptions").paginate()))
    sns.unsubscribe(SubscriptionArn=arn)
    sns.unsubscribe(SubscriptionArn=arn)
    equal("it is gone", sns.list_subscriptions_by_topic(TopicArn=topic)["Subscriptions"], [])
    equal("and counted", sns.get_topic_attributes(TopicArn=topic)["Attributes"]["SubscriptionsDeleted"], "1")
    equal("pending confirmation", sns.subscribe(TopicArn=topic, Protocol="email", Endpoint="a@example.com")["SubscriptionArn"], "pending confirmation")
    equal("listed as PendingConfirmation", sns.list_subscriptions_by_topic(TopicArn=topic)["Subscriptions"][0]["SubscriptionArn"], "PendingConfirmation")
    equal("counted as pending", sns.get_topic_attributes(TopicArn=topic)["Attributes"]["SubscriptionsPending"], "1")


def publishing():
    topic = make_topic()
    url, queue = make_queue()
    sns.subscribe(TopicArn=topic, Protocol="sqs", Endpoint=queue)
    publish = lambda **more: sns.publish(TopicArn=topic, **more)
    for name, message, call in [
        ("nothing", "Invalid parameter: Empty message", lambda: publish(Message="")),
        ("too much", "Invalid parameter: Message too long", lambda: publish(Message="x" * 262_145)),
        ("an empty subject", "Invalid parameter: Subject", lambda: publish(Message="m", Subject="")),
        ("a long subject", "Invalid parameter: Subject", lambda: publish(Message="m", Subject="s" * 101)),
        ("a subject with a line break", "Invalid parameter: Subject", lambda: publish(Message="m", Subject="a\nb")),
        ("a structure without default", "Invalid parameter: Message Structure - No default entry in JSON message body",
         lambda: publish(Message='{"sqs":"x"}', MessageStructure="json")),
        ("a structure that is no JSON", "Invalid parameter: Message Structure - JSON message body failed to parse",
         lambda: publish(Message="{", MessageStructure="json")),
        ("an endpoint that is not there", "Invalid parameter: TargetArn Reason: No endpoint found for the target arn specified",
         lambda: sns.publish(TargetArn=f"arn:aws:sns:{REGION}:{ACCOUNT}:endpoint/GCM/x/{uuid.uuid4()}", Message="m")),
        ("no phone number", "Invalid parameter: PhoneNumber Reason: abc is not valid to publish to", lambda: sns.publish(PhoneNumber="abc", Message="m")),
        ("an id on a standard topic",
         "Invalid parameter: MessageDeduplicationId Reason: The request includes MessageDeduplicationId parameter that is not valid for this topic type",
         lambda: publish(Message="m", MessageDeduplicationId="d")),
    ]:
        refused(f"publishing {name}", "InvalidParameter", message, call, 400)
    attribute = lambda name, **value: {name: value}
    for name, message, attributes in [
        ("type", "The message attribute 'a' has an invalid message attribute type, the set of supported type prefixes is Binary, Number, and String.",
         attribute("a", DataType="Text", StringValue="x")),
        ("empty value", "The message attribute 'a' must contain non-empty message attribute value for message attribute type 'String'.",
         attribute("a", DataType="String", StringValue="")),
        ("binary by text", "The message attribute 'a' with type 'Binary' must use field 'Binary'.", attribute("a", DataType="Binary", StringValue="x")),
        ("long name", "Length of message attribute name must be less than 256 bytes.", attribute("a" * 300, DataType="String", StringValue="x")),
        ("dot first", "Invalid message attribute name starting with character '.' was found.", attribute(".a", DataType="String", StringValue="x")),
        ("dot last", "Invalid message attribute name ending with character '.' was found.", attribute("a.", DataType="String", StringValue="x")),
        ("two dots", "Message attribute name can not have successive '.' character.", attribute("a..b", DataType="String", StringValue="x")),
        ("a caret", "Invalid non-alphanumeric character '#x5E' was found in the message attribute name. Can only include alphanumeric characters, "
         "hyphens, underscores, or dots.", attribute("a^", DataType="String", StringValue="x")),
    ]:
        refused(f"an attribute's {name}", "ParameterValueInvalid", message, lambda: publish(Message="m", MessageAttributes=attributes), 400)
    equal("nothing of it arrived", drain(url), [])
    answer = publish(Message='{"default":"d","sqs":"for the queue"}', MessageStructure="json")
    body = json.loads(drain(url)[0]["Body"])
    equal("MessageStructure chooses", body["Message"], "for the queue")
    equal("the MessageId", body["MessageId"], answer["MessageId"])
    for entries, code, message in [
        ([], "EmptyBatchRequest", None),
        ([{"Id": str(i), "Message": "m"} for i in range(11)], "TooManyEntriesInBatchRequest", "The batch request contains more entries than permissible."),
        ([{"Id": "a", "Message": "m"}, {"Id": "a", "Message": "m"}], "BatchEntryIdsNotDistinct", "Two or more batch entries in the request have the same Id."),
        ([{"Id": "a.b", "Message": "m"}], "InvalidBatchEntryId", "The Id of a batch entry in the batch request contains an impermissible character: a.b"),
        ([{"Id": str(i), "Message": "x" * 100_000} for i in range(3)], "BatchRequestTooLong", "The length of all the messages put together is more than the limit."),
    ]:
        refused(f"a batch: {code}", code, message, lambda: sns.publish_batch(TopicArn=topic, PublishBatchRequestEntries=entries), 400)
    refused("a batch with one bad attribute is refused whole", "ParameterValueInvalid", None, lambda: sns.publish_batch(
        TopicArn=topic, PublishBatchRequestEntries=[{"Id": "good", "Message": "m"},
                                                    {"Id": "bad", "Message": "m", "MessageAttributes": attribute("a", DataType="Text", StringValue="x")}]), 400)
    ordered = sns.create_topic(Name=fresh() + ".fifo", Attributes={"FifoTopic": "true"})["TopicArn"]
    refused("a batch with one entry without a group", "InvalidParameter", "Invalid parameter: The MessageGroupId parameter is required for FIFO topics",
            lambda: sns.publish_batch(TopicArn=ordered, PublishBatchRequestEntries=[
                {"Id": "good", "Message": "m", "MessageGroupId": "g", "MessageDeduplicationId": "1"}, {"Id": "bad", "Message": "m"}]), 400)
    equal("nothing of a refused batch arrives", drain(url), [])
    answer = sns.publish_batch(TopicArn=topic, PublishBatchRequestEntries=[{"Id": str(i), "Message": f"m{i}"} for i in range(10)])
    equal("a batch of ten", [e["Id"] for e in answer["Successful"]], [str(i) for i in range(10)])
    equal("all of it arrives", sorted(json.loads(m["Body"])["Message"] for m in drain(url)), sorted(f"m{i}" for i in range(10)))


# ---- FIFO topics: archive and replay ------------------------------------------------------------------------------------


def archives():
    # The text of DeleteTopic and that of other protocols were seen from AWS; those of the policies say what is wrong in words of ours.
    days = lambda n: json.dumps({"MessageRetentionPeriod": str(n)})
    fifo = lambda **more: sns.create_topic(Name=fresh() + ".fifo", Attributes={"FifoTopic": "true", **more})["TopicArn"]
    for name, policy in [("0 days", days(0)), ("366 days", days(366)), ("text", days("x")), ("no JSON", "{"), ("nothing", ""),
                         ("another key", '{"Days":"1"}')]:
        refused(f"an archive policy of {name}", "InvalidParameter", None, lambda: fifo(ArchivePolicy=policy), 400)
    standard = make_topic()
    refused("an archive of a standard topic", "InvalidParameter", None,
            lambda: sns.set_topic_attributes(TopicArn=standard, AttributeName="ArchivePolicy", AttributeValue=days(1)), 400)
    topic = fifo(ArchivePolicy=days(7))
    attributes = sns.get_topic_attributes(TopicArn=topic)["Attributes"]
    equal("the archive policy", json.loads(attributes["ArchivePolicy"]), {"MessageRetentionPeriod": "7"})
    check("BeginningArchiveTime", attributes.get("BeginningArchiveTime", "").endswith("Z"), attributes)
    refused("BeginningArchiveTime is read-only", "InvalidParameter", "Invalid parameter: AttributeName",
            lambda: sns.set_topic_attributes(TopicArn=topic, AttributeName="BeginningArchiveTime", AttributeValue="2023-01-29T22:22:47.111Z"))
    refused("a topic that archives is not deleted", "InvalidState", "Invalid state: Cannot delete a topic with an ArchivePolicy",
            lambda: sns.delete_topic(TopicArn=topic), 400)
    for protocol, endpoint in [("sms", "+15550100"), ("lambda", f"arn:aws:lambda:{REGION}:{ACCOUNT}:function:f"),
                               ("http", "http://localhost/x"), ("email", "a@example.com")]:
        refused(f"{protocol} behind a FIFO topic", "InvalidParameter", f"Invalid parameter: Invalid protocol type: {protocol}",
                lambda: sns.subscribe(TopicArn=topic, Protocol=protocol, Endpoint=endpoint), 400)

    def fifo_queue():
        name = fresh("q") + ".fifo"
        arn = f"arn:aws:sqs:{REGION}:{ACCOUNT}:{name}"
        policy = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Principal": {"Service": "sns.amazonaws.com"},
                                                          "Action": "sqs:SendMessage", "Resource": arn}]}
        return sqs.create_queue(QueueName=name, Attributes={"FifoQueue": "true", "Policy": json.dumps(policy)})["QueueUrl"], arn

    sent = [sns.publish(TopicArn=topic, Message=f"m{i}", MessageGroupId="g", MessageDeduplicationId=str(i)) for i in range(3)]
    replay = lambda **more: json.dumps({"PointType": "Timestamp", "StartingPoint": attributes["BeginningArchiveTime"], **more})
    url, queue = fifo_queue()
    for name, policy in [("no JSON", "{"), ("no type", '{"StartingPoint":"2023-01-29T22:22:47.111Z"}'), ("the future", replay(StartingPoint="2100-01-01T00:00:00.000Z")),
                         ("an end before its start", replay(EndingPoint="2001-01-01T00:00:00.000Z"))]:
        refused(f"a replay policy of {name}", "InvalidParameter", None,
                lambda: sns.subscribe(TopicArn=topic, Protocol="sqs", Endpoint=queue, Attributes={"ReplayPolicy": policy}), 400)
    subscription = sns.subscribe(TopicArn=topic, Protocol="sqs", Endpoint=queue, Attributes={"ReplayPolicy": replay()})["SubscriptionArn"]
    status = lambda: sns.get_subscription_attributes(SubscriptionArn=subscription)["Attributes"].get("ReplayStatus")

    def completed():
        deadline = time.time() + 10
        while time.time() < deadline and status() != "Completed":
            time.sleep(0.05)
        return status()

    equal("a replay completes", completed(), "Completed")
    got = [json.loads(m["Body"]) for m in drain(url)]
    equal("what was published before", [m["Message"] for m in got], ["m0", "m1", "m2"])
    equal("with its ids", [m["MessageId"] for m in got], [m["MessageId"] for m in sent])
    equal("and its sequence", [m["SequenceNumber"] for m in got], [m["SequenceNumber"] for m in sent])
    equal("marked", [m.get("Replayed") for m in got], [True] * 3)
    sns.publish(TopicArn=topic, Message="m3", MessageGroupId="g", MessageDeduplicationId="3")
    got = [json.loads(m["Body"]) for m in drain(url)]
    equal("and then what is new", [(m["Message"], m.get("Replayed")) for m in got], [("m3", None)])
    sns.set_subscription_attributes(SubscriptionArn=subscription, AttributeName="ReplayPolicy",
                                    AttributeValue=replay(EndingPoint=json.loads(json.dumps(attributes["BeginningArchiveTime"]))))
    equal("another replay takes its place", completed(), "Completed")
    sns.set_subscription_attributes(SubscriptionArn=subscription, AttributeName="ReplayPolicy", AttributeValue="{}")
    equal("an empty policy takes it away", status(), None)
    sns.set_topic_attributes(TopicArn=topic, AttributeName="ArchivePolicy", AttributeValue="{}")
    check("the archive is ended", "BeginningArchiveTime" not in sns.get_topic_attributes(TopicArn=topic)["Attributes"])
    sns.delete_topic(TopicArn=topic)


# ---- Phones and devices -------------------------------------------------------------------------------------------------


def captured():
    return json.load(urllib.request.urlopen(ADMIN + "/_fanfare/captured"))["captured"]


def mobile():
    name = fresh("app")
    app = sns.create_platform_application(Name=name, Platform="GCM", Attributes={"PlatformCredential": "key"})["PlatformApplicationArn"]
    equal("the application's ARN", app, f"arn:aws:sns:{REGION}:{ACCOUNT}:app/GCM/{name}")
    refused("an unknown platform", "InvalidParameter", None, lambda: sns.create_platform_application(Name=name, Platform="PAGER", Attributes={"PlatformCredential": "k"}))
    refused("no credentials", "InvalidParameter", None, lambda: sns.create_platform_application(Name=name, Platform="GCM", Attributes={"x": "y"}))
    sns.set_platform_application_attributes(PlatformApplicationArn=app, Attributes={"SuccessFeedbackSampleRate": "50"})
    attributes = sns.get_platform_application_attributes(PlatformApplicationArn=app)["Attributes"]
    equal("its attributes", attributes, {"Enabled": "true", "SuccessFeedbackSampleRate": "50"})
    check("it is listed", app in [a["PlatformApplicationArn"] for a in sns.list_platform_applications()["PlatformApplications"]])
    missing = f"arn:aws:sns:{REGION}:{ACCOUNT}:app/GCM/{fresh()}"
    for action, call in {
        "GetPlatformApplicationAttributes": lambda: sns.get_platform_application_attributes(PlatformApplicationArn=missing),
        "SetPlatformApplicationAttributes": lambda: sns.set_platform_application_attributes(PlatformApplicationArn=missing, Attributes={"a": "b"}),
        "CreatePlatformEndpoint": lambda: sns.create_platform_endpoint(PlatformApplicationArn=missing, Token="t"),
        "ListEndpointsByPlatformApplication": lambda: sns.list_endpoints_by_platform_application(PlatformApplicationArn=missing),
    }.items():
        refused(f"{action} of none", "NotFound", "PlatformApplication does not exist", call, 404)
    endpoint = sns.create_platform_endpoint(PlatformApplicationArn=app, Token="token-1", CustomUserData="u")["EndpointArn"]
    check("the endpoint's ARN", endpoint.startswith(app.replace(":app/", ":endpoint/") + "/"), endpoint)
    equal("the same token finds it", sns.create_platform_endpoint(PlatformApplicationArn=app, Token="token-1", CustomUserData="u")["EndpointArn"], endpoint)
    refused("the same token with other data", "InvalidParameter",
            f"Invalid parameter: Token Reason: Endpoint {endpoint} already exists with the same Token, but different attributes.",
            lambda: sns.create_platform_endpoint(PlatformApplicationArn=app, Token="token-1", CustomUserData="v"))
    equal("its attributes are kept", sns.get_endpoint_attributes(EndpointArn=endpoint)["Attributes"], {"CustomUserData": "u", "Enabled": "true", "Token": "token-1"})
    equal("endpoints are listed", [e["EndpointArn"] for e in sns.list_endpoints_by_platform_application(PlatformApplicationArn=app)["Endpoints"]], [endpoint])
    sent = sns.publish(TargetArn=endpoint, Message="to the device")["MessageId"]
    check("it is captured", any(m.get("id") == sent and m["target"] == endpoint and m["kind"] == "push" for m in captured()))
    sns.set_endpoint_attributes(EndpointArn=endpoint, Attributes={"Enabled": "false"})
    refused("a disabled endpoint", "EndpointDisabled", "Endpoint is disabled", lambda: sns.publish(TargetArn=endpoint, Message="m"), 400)
    refused("an unknown attribute of an endpoint", "InvalidParameter", None, lambda: sns.set_endpoint_attributes(EndpointArn=endpoint, Attributes={"x": "y"}))
    sns.delete_endpoint(EndpointArn=endpoint)
    sns.delete_endpoint(EndpointArn=endpoint)
    refused("a deleted endpoint", "NotFound", "Endpoint does not exist", lambda: sns.get_endpoint_attributes(EndpointArn=endpoint), 404)
    sns.delete_platform_application(PlatformApplicationArn=app)
    sns.delete_platform_application(PlatformApplicationArn=app)
    refused("a deleted application", "NotFound", "PlatformApplication does not exist", lambda: sns.get_platform_application_attributes(PlatformApplicationArn=app))

    sns.set_sms_attributes(attributes={"DefaultSMSType": "Promotional", "DefaultSenderID": "me"})
    equal("SMS attributes", sns.get_sms_attributes()["attributes"], {"DefaultSMSType": "Promotional", "DefaultSenderID": "me"})
    equal("those asked for", sns.get_sms_attributes(attributes=["DefaultSenderID"])["attributes"], {"DefaultSenderID": "me"})
    refused("an unknown SMS attribute", "InvalidParameter", None, lambda: sns.set_sms_attributes(attributes={"x": "y"}))
    refused("an unknown SMS type", "InvalidParameter", None, lambda: sns.set_sms_attributes(attributes={"DefaultSMSType": "x"}))
    number = "+1415555" + str(int(time.time() * 1000) % 10_000).zfill(4)
    equal("not opted out", sns.check_if_phone_number_is_opted_out(phoneNumber=number)["isOptedOut"], False)
    equal("opting in", sns.opt_in_phone_number(phoneNumber=number)["ResponseMetadata"]["HTTPStatusCode"], 200)
    equal("nobody opted out", sns.list_phone_numbers_opted_out()["phoneNumbers"], [])
    refused("no number", "InvalidParameter", "Invalid parameter: PhoneNumber Reason: input incorrectly formatted",
            lambda: sns.check_if_phone_number_is_opted_out(phoneNumber="abc"))
    equal("in the sandbox", sns.get_sms_sandbox_account_status()["IsInSandbox"], True)
    equal("no numbers of its own", sns.list_origination_numbers()["PhoneNumbers"], [])
    sns.create_sms_sandbox_phone_number(PhoneNumber=number)
    equal("pending", [p["Status"] for p in sns.list_sms_sandbox_phone_numbers()["PhoneNumbers"] if p["PhoneNumber"] == number], ["Pending"])
    code = [m["message"] for m in captured() if m["target"] == number][-1].split()[-1]
    refused("a wrong code", "VerificationException", None, lambda: sns.verify_sms_sandbox_phone_number(PhoneNumber=number, OneTimePassword="00000" if code != "00000" else "11111"))
    sns.verify_sms_sandbox_phone_number(PhoneNumber=number, OneTimePassword=code)
    equal("verified", [p["Status"] for p in sns.list_sms_sandbox_phone_numbers()["PhoneNumbers"] if p["PhoneNumber"] == number], ["Verified"])
    sns.delete_sms_sandbox_phone_number(PhoneNumber=number)
    refused("deleted", "ResourceNotFound", None, lambda: sns.delete_sms_sandbox_phone_number(PhoneNumber=number), 404)
    sent = sns.publish(PhoneNumber=number, Message="to the phone", Subject="s")["MessageId"]
    entry = [m for m in captured() if m.get("id") == sent]
    check("a text is captured", entry and entry[0]["message"] == "to the phone" and entry[0]["kind"] == "sms", entry)
    topic = make_topic()
    check("sms needs no confirmation", sns.subscribe(TopicArn=topic, Protocol="sms", Endpoint=number)["SubscriptionArn"].startswith(topic))
    sent = sns.publish(TopicArn=topic, Message="to all phones")["MessageId"]
    check("a topic's text is captured", any(m.get("id") == sent and m["target"] == number for m in captured()))


# ---- Signatures and HTTP ------------------------------------------------------------------------------------------------


def verify(envelope, names):
    """By openssl alone, with the certificate that the envelope names."""
    pem = urllib.request.urlopen(envelope["SigningCertURL"]).read()
    text = "".join(f"{name}\n{envelope[name]}\n" for name in names if name in envelope)
    with tempfile.TemporaryDirectory() as folder:
        path = lambda name: os.path.join(folder, name)
        for name, content in [("cert.pem", pem), ("text", text.encode()), ("signature", base64.b64decode(envelope["Signature"]))]:
            with open(path(name), "wb") as file:
                file.write(content)
        key = subprocess.run(["openssl", "x509", "-in", path("cert.pem"), "-pubkey", "-noout"], capture_output=True).stdout
        with open(path("key.pem"), "wb") as file:
            file.write(key)
        digest = "-sha1" if envelope["SignatureVersion"] == "1" else "-sha256"
        return subprocess.run(["openssl", "dgst", digest, "-verify", path("key.pem"), "-signature", path("signature"), path("text")],
                              capture_output=True).returncode == 0


NOTIFICATION = ["Message", "MessageId", "Subject", "Timestamp", "TopicArn", "Type"]


def signatures():
    url, queue = make_queue()
    for version in ["1", "2"]:
        topic = make_topic(Attributes={"SignatureVersion": version})
        sns.subscribe(TopicArn=topic, Protocol="sqs", Endpoint=queue)
        for more in [{}, {"Subject": "About"}, {"MessageAttributes": {"a": {"DataType": "String", "StringValue": "x"}}}]:
            sns.publish(TopicArn=topic, Message='hello "ä"\n', **more)
            envelope = json.loads(drain(url)[0]["Body"])
            keys = ["Type", "MessageId", "TopicArn"] + (["Subject"] if "Subject" in more else []) + [
                "Message", "Timestamp", "SignatureVersion", "Signature", "SigningCertURL", "UnsubscribeURL"] + (
                ["MessageAttributes"] if "MessageAttributes" in more else [])
            equal(f"keys in order, version {version}, {list(more)}", list(envelope), keys)
            equal(f"SignatureVersion {version}", envelope["SignatureVersion"], version)
            check(f"the signature verifies, version {version}, {list(more)}", verify(envelope, NOTIFICATION))
            envelope["Message"] += "!"
            check(f"another text does not, version {version}, {list(more)}", not verify(envelope, NOTIFICATION))
        urllib.request.urlopen(envelope["UnsubscribeURL"]).read()
        equal("UnsubscribeURL works", sns.list_subscriptions_by_topic(TopicArn=topic)["Subscriptions"], [])


class Receiver(http.server.BaseHTTPRequestHandler):
    """Keeps what comes, by path; answers with the statuses that were laid out for the path, then 200."""
    received, statuses, lock = {}, {}, threading.Lock()

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        with Receiver.lock:
            Receiver.received.setdefault(self.path, []).append((dict((k.lower(), v) for k, v in self.headers.items()), body.decode(), time.time()))
            left = Receiver.statuses.get(self.path, [])
            status = left.pop(0) if left else 200
        if status == "hang":
            time.sleep(30)
            return
        self.send_response(status)
        if status in (301, 302, 307):
            self.send_header("Location", "/redirected")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *args):
        pass


class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True
    request_queue_size = 128


def wait_for(path, count, seconds=12):
    deadline = time.time() + seconds
    while time.time() < deadline:
        with Receiver.lock:
            got = list(Receiver.received.get(path, []))
        if len(got) >= count:
            return got
        time.sleep(0.02)
    return got


def http_delivery():
    server = Server(("127.0.0.1", 0), Receiver)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    base = f"http://127.0.0.1:{server.server_address[1]}"

    def confirmed(path, **attributes):
        topic = make_topic()
        sns.subscribe(TopicArn=topic, Protocol="http", Endpoint=base + path, Attributes=attributes)
        got = wait_for(path, 1)
        envelope = json.loads(got[0][1])
        urllib.request.urlopen(envelope["SubscribeURL"]).read()
        with Receiver.lock:
            Receiver.received[path] = []
        return topic

    topic = make_topic(Attributes={"DisplayName": "shown"})
    pending = sns.subscribe(TopicArn=topic, Protocol="http", Endpoint=base + "/plain")["SubscriptionArn"]
    equal("an HTTP subscription is pending", pending, "pending confirmation")
    got = wait_for("/plain", 1)
    check("the confirmation comes", len(got) == 1, got)
    headers, body, _ = got[0]
    envelope = json.loads(body)
    equal("its keys in order", list(envelope), ["Type", "MessageId", "Token", "TopicArn", "Message", "SubscribeURL", "Timestamp",
                                                "SignatureVersion", "Signature", "SigningCertURL"])
    equal("its text", envelope["Message"], f"You have chosen to subscribe to the topic {topic}.\nTo confirm the subscription, visit the "
                                           "SubscribeURL included in this message.")
    for name, value in [("x-amz-sns-message-type", "SubscriptionConfirmation"), ("x-amz-sns-message-id", envelope["MessageId"]),
                        ("x-amz-sns-topic-arn", topic), ("content-type", "text/plain; charset=UTF-8"),
                        ("user-agent", "Amazon Simple Notification Service Agent"), ("accept-encoding", "gzip,deflate")]:
        equal(f"the header {name} of a confirmation", headers.get(name), value)
    check("no subscription ARN in it", "x-amz-sns-subscription-arn" not in headers, headers)
    check("its signature verifies", verify(envelope, ["Message", "MessageId", "SubscribeURL", "Timestamp", "Token", "TopicArn", "Type"]))
    sns.publish(TopicArn=topic, Message="too early")
    answer = urllib.request.urlopen(envelope["SubscribeURL"]).read().decode()
    check("SubscribeURL answers", "<ConfirmSubscriptionResponse" in answer and "<SubscriptionArn>" in answer, answer)
    arn = answer.split("<SubscriptionArn>")[1].split("<")[0]
    equal("it is confirmed", sns.get_subscription_attributes(SubscriptionArn=arn)["Attributes"]["PendingConfirmation"], "false")
    sent = sns.publish(TopicArn=topic, Message="hello", Subject="About")["MessageId"]
    got = wait_for("/plain", 2)
    check("the notification comes", len(got) == 2, got)
    headers, body, _ = got[-1]
    envelope = json.loads(body)
    equal("it is the one", (envelope["Type"], envelope["MessageId"], envelope["Message"], envelope["Subject"]), ("Notification", sent, "hello", "About"))
    for name, value in [("x-amz-sns-message-type", "Notification"), ("x-amz-sns-message-id", sent), ("x-amz-sns-topic-arn", topic),
                        ("x-amz-sns-subscription-arn", arn)]:
        equal(f"the header {name} of a notification", headers.get(name), value)
    check("the notification's signature verifies", verify(envelope, NOTIFICATION))
    urllib.request.urlopen(envelope["UnsubscribeURL"]).read()
    sns.publish(TopicArn=topic, Message="too late")
    refused("what was left is not there", "NotFound", "Subscription does not exist", lambda: sns.get_subscription_attributes(SubscriptionArn=arn), 404)
    got = wait_for("/plain", 3)
    check("the endpoint is told that it has left", len(got) == 3, got)
    headers, body, _ = got[-1]
    envelope = json.loads(body)
    equal("the farewell's keys in order", list(envelope), ["Type", "MessageId", "Token", "TopicArn", "Message", "SubscribeURL", "Timestamp",
                                                          "SignatureVersion", "Signature", "SigningCertURL"])
    equal("the farewell's text", envelope["Message"], f"You have chosen to deactivate subscription {arn}.\nTo cancel this operation and restore the "
                                                      "subscription, visit the SubscribeURL included in this message.")
    for name, value in [("x-amz-sns-message-type", "UnsubscribeConfirmation"), ("x-amz-sns-message-id", envelope["MessageId"]),
                        ("x-amz-sns-topic-arn", topic), ("x-amz-sns-subscription-arn", arn)]:
        equal(f"the header {name} of a farewell", headers.get(name), value)
    check("the farewell's signature verifies", verify(envelope, ["Message", "MessageId", "SubscribeURL", "Timestamp", "Token", "TopicArn", "Type"]))
    answer = urllib.request.urlopen(envelope["SubscribeURL"]).read().decode()
    check("its SubscribeURL restores the subscription", arn in answer, answer)
    sns.publish(TopicArn=topic, Message="back again")
    equal("and it gets what is new", json.loads(wait_for("/plain", 4)[-1][1])["Message"], "back again")
    sns.unsubscribe(SubscriptionArn=arn)
    equal("its owner is told nothing", len(wait_for("/plain", 5, 1)), 4)

    topic = confirmed("/raw", RawMessageDelivery="true")
    sns.publish(TopicArn=topic, Message="just this", MessageAttributes={"a": {"DataType": "String", "StringValue": "x"}})
    headers, body, _ = wait_for("/raw", 1)[0]
    equal("raw delivery", body, "just this")
    equal("says so", headers.get("x-amz-sns-rawdelivery"), "true")
    sns.publish(TopicArn=topic, Message='{"default":"d","sqs":"q","http":"for http","https":"no"}', MessageStructure="json")
    equal("MessageStructure chooses for http", wait_for("/raw", 2)[-1][1], "for http")
    sns.publish(TopicArn=topic, Message='{"default":"d","sqs":"q","https":"no"}', MessageStructure="json")
    equal("and takes the default without an entry", wait_for("/raw", 3)[-1][1], "d")

    topic = confirmed("/structured")
    sns.publish(TopicArn=topic, Message='{"default":"d","sqs":"q","http":"for http"}', MessageStructure="json")
    envelope = json.loads(wait_for("/structured", 1)[-1][1])
    equal("an envelope holds the text for http", envelope["Message"], "for http")
    check("its signature is of that text", verify(envelope, NOTIFICATION))

    retry = lambda **more: json.dumps({"healthyRetryPolicy": {"minDelayTarget": 1, "maxDelayTarget": 1, "numRetries": 2, **more}})
    topic = confirmed("/typed", DeliveryPolicy=json.dumps({"requestPolicy": {"headerContentType": "application/json"}}))
    sns.publish(TopicArn=topic, Message="m")
    equal("headerContentType", wait_for("/typed", 1)[0][0].get("content-type"), "application/json")

    topic = confirmed("/flaky", DeliveryPolicy=retry(numNoDelayRetries=1))
    Receiver.statuses["/flaky"] = [500, 503]
    sns.publish(TopicArn=topic, Message="m")
    got = wait_for("/flaky", 3)
    equal("it is tried until it succeeds", len(got), 3)
    check("first without delay, then after one second", len(got) == 3 and got[1][2] - got[0][2] < 0.8 and got[2][2] - got[1][2] > 0.5,
          [g[2] - got[0][2] for g in got])
    equal("each try is the same message", len({g[0]["x-amz-sns-message-id"] for g in got}), 1)

    dead_url, dead = make_queue()
    for status, path in [(404, "/gone"), (302, "/moved"), (400, "/bad")]:
        topic = confirmed(path, DeliveryPolicy=retry(), RedrivePolicy=json.dumps({"deadLetterTargetArn": dead}))
        Receiver.statuses[path] = [status]
        sns.publish(TopicArn=topic, Message=f"refused by {status}")
        deadline = time.time() + 10
        messages = []
        while time.time() < deadline and not messages:
            messages = drain(dead_url)
            time.sleep(0.05)
        equal(f"{status} goes to the dead-letter queue", [json.loads(m["Body"])["Message"] for m in messages], [f"refused by {status}"])
        equal(f"{status} is not tried again", len(wait_for(path, 2, 1.5)), 1)
    equal("redirects are not followed", Receiver.received.get("/redirected"), None)
    topic = confirmed("/never", DeliveryPolicy=retry(numRetries=1, numNoDelayRetries=1), RedrivePolicy=json.dumps({"deadLetterTargetArn": dead}))
    Receiver.statuses["/never"] = [500] * 10
    sns.publish(TopicArn=topic, Message="never taken")
    deadline = time.time() + 10
    messages = []
    while time.time() < deadline and not messages:
        messages = drain(dead_url)
        time.sleep(0.05)
    equal("after the last try it is dead", [json.loads(m["Body"])["Message"] for m in messages], ["never taken"])
    equal("and was tried twice", len(Receiver.received["/never"]), 2)

    hung = confirmed("/hung")
    well = confirmed("/well")
    Receiver.statuses["/hung"] = ["hang"] * 50
    for i in range(8):
        sns.publish(TopicArn=hung, Message=str(i))
    begin = time.time()
    sns.publish(TopicArn=well, Message="m")
    check("a hung endpoint holds up nobody", len(wait_for("/well", 1)) == 1 and time.time() - begin < 3, time.time() - begin)

    topic = make_topic()
    sns.subscribe(TopicArn=topic, Protocol="email", Endpoint="box@example.com")
    deadline = time.time() + 10
    mails = []
    while time.time() < deadline and not mails:
        mails = [m for m in captured() if m["target"] == "box@example.com" and topic in m["message"]]
        time.sleep(0.05)
    check("a mail's confirmation is captured", mails and mails[0]["kind"] == "email", mails)
    if mails:
        urllib.request.urlopen(json.loads(mails[0]["message"])["SubscribeURL"]).read()
        sent = sns.publish(TopicArn=topic, Message="a letter", Subject="s")["MessageId"]
        deadline = time.time() + 10
        mails = []
        while time.time() < deadline and not mails:
            mails = [m for m in captured() if m.get("id") == sent]
            time.sleep(0.05)
        check("a mail is captured as its text", mails and mails[0]["message"] == "a letter", mails)
    server.shutdown()


PARTS = [filter_validation, filter_matching, topics, permissions, subscriptions, publishing, archives, mobile, signatures, http_delivery]

if __name__ == "__main__":
    for part in PARTS:
        try:
            part()
        except Exception as error:  # a part that breaks off must not hide the others
            check(f"{part.__name__} runs to its end", False, f"{type(error).__name__}: {error}")
    finish()
