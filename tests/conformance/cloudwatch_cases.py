#!/usr/bin/env python3
"""CloudWatch's metrics of SNS and SQS, read by boto3 (current: JSON; Debian's: Query) and by the aws CLI.

The story of the refused delivery stands here whole: a queue without a policy gets nothing, and everybody who looks is told.
FANFARE_ENDPOINT is the broker's URL, FANFARE_ADMIN the admin port's, FANFARE_LOG the program's log.
"""
import datetime
import json
import os
import re
import subprocess
import sys
import time
import urllib.request

from cases import OPTIONS, arn, equal, error_of, make_queue, name, policy_for, receive, run, sns, sqs

import boto3

cloudwatch = boto3.client("cloudwatch", **OPTIONS)
CASES = []


def case(function):
    CASES.append(function)
    return function


def broker_time():
    """What time it is for the broker, whose clock other cases may have moved."""
    return datetime.datetime.fromisoformat(json.loads(admin("/_fanfare/clock"))["now"].replace("Z", "+00:00"))


def window(minutes=5):
    """From some minutes ago to one minute from now: whole minutes, so that one period of five minutes holds all."""
    now = broker_time().replace(second=0, microsecond=0)
    return dict(StartTime=now - datetime.timedelta(minutes=minutes - 1), EndTime=now + datetime.timedelta(minutes=1))


def dimension(namespace, value):
    return [{"Name": "QueueName" if namespace == "AWS/SQS" else "TopicName", "Value": value}]


def total(namespace, metric, value, statistic="Sum"):
    answer = cloudwatch.get_metric_statistics(Namespace=namespace, MetricName=metric, Dimensions=dimension(namespace, value),
                                              Period=300, Statistics=[statistic], **window())
    equal(answer["Label"], metric)
    return sum(point[statistic] for point in answer["Datapoints"])


def admin(path):
    with urllib.request.urlopen(os.environ["FANFARE_ADMIN"] + path) as answer:
        return answer.read().decode()


def wait_for(what, deadline=10):
    until = time.monotonic() + deadline
    while time.monotonic() < until:
        found = what()
        if found:
            return found
        time.sleep(0.05)
    raise AssertionError("it did not come within %d s" % deadline)


@case
def sent_received_and_deleted_are_counted():
    queue, url = make_queue()
    for body in ("12345", "1", "123456789"):
        sqs.send_message(QueueUrl=url, MessageBody=body)
    for message in receive(url, MaxNumberOfMessages=10):
        sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
    receive(url)
    equal(total("AWS/SQS", "NumberOfMessagesSent", queue), 3)
    equal(total("AWS/SQS", "NumberOfMessagesReceived", queue), 3)
    equal(total("AWS/SQS", "NumberOfMessagesDeleted", queue), 3)
    equal(total("AWS/SQS", "NumberOfEmptyReceives", queue), 1)
    equal(total("AWS/SQS", "SentMessageSize", queue), 15)


@case
def sizes_have_all_statistics():
    queue, url = make_queue()
    for body in ("12345", "1", "123456789"):
        sqs.send_message(QueueUrl=url, MessageBody=body)
    answer = cloudwatch.get_metric_statistics(
        Namespace="AWS/SQS", MetricName="SentMessageSize", Dimensions=dimension("AWS/SQS", queue), Period=300,
        Statistics=["SampleCount", "Average", "Sum", "Minimum", "Maximum"], **window())
    equal(len(answer["Datapoints"]), 1)
    point = answer["Datapoints"][0]
    equal([point[s] for s in ("SampleCount", "Average", "Sum", "Minimum", "Maximum")], [3, 5, 15, 1, 9])
    equal(point["Unit"], "Bytes")


@case
def levels_are_those_of_the_moment():
    queue, url = make_queue(VisibilityTimeout=60)
    for _ in range(3):
        sqs.send_message(QueueUrl=url, MessageBody="m")
    sqs.send_message(QueueUrl=url, MessageBody="later", DelaySeconds=900)
    equal(len(receive(url)), 1)
    equal(total("AWS/SQS", "ApproximateNumberOfMessagesVisible", queue, "Maximum"), 2)
    equal(total("AWS/SQS", "ApproximateNumberOfMessagesNotVisible", queue, "Maximum"), 1)
    equal(total("AWS/SQS", "ApproximateNumberOfMessagesDelayed", queue, "Maximum"), 1)


@case
def filtered_out_is_counted_by_its_reason():
    topic = sns.create_topic(Name=name())["TopicArn"]
    queue, url = make_queue()
    sqs.set_queue_attributes(QueueUrl=url, Attributes={"Policy": policy_for(queue, topic)})
    sns.subscribe(TopicArn=topic, Protocol="sqs", Endpoint=arn(queue), Attributes={"FilterPolicy": json.dumps({"kind": ["a"]})})
    sns.publish(TopicArn=topic, Message="none")
    sns.publish(TopicArn=topic, Message="other", MessageAttributes={"kind": {"DataType": "String", "StringValue": "b"}})
    sns.publish(TopicArn=topic, Message="same", MessageAttributes={"kind": {"DataType": "String", "StringValue": "a"}})
    short = topic.rsplit(":", 1)[1]
    equal(total("AWS/SNS", "NumberOfMessagesPublished", short), 3)
    equal(total("AWS/SNS", "NumberOfNotificationsFilteredOut", short), 2)
    equal(total("AWS/SNS", "NumberOfNotificationsFilteredOut-NoMessageAttributes", short), 1)
    equal(total("AWS/SNS", "NumberOfNotificationsDelivered", short), 1)


@case
def metrics_are_listed():
    queue, url = make_queue()
    sqs.send_message(QueueUrl=url, MessageBody="m")
    metrics = []
    for page in cloudwatch.get_paginator("list_metrics").paginate(Namespace="AWS/SQS", Dimensions=dimension("AWS/SQS", queue)):
        metrics += page["Metrics"]
    equal(sorted(m["MetricName"] for m in metrics),
          ["ApproximateNumberOfMessagesVisible", "NumberOfMessagesSent", "SentMessageSize"])
    equal(metrics[0]["Dimensions"], dimension("AWS/SQS", queue))
    equal(cloudwatch.list_metrics(Namespace="AWS/EC2")["Metrics"], [])


@case
def several_metrics_come_in_one_answer():
    queue, url = make_queue()
    sqs.send_message(QueueUrl=url, MessageBody="abc")

    def query(identifier, metric, stat):
        return {"Id": identifier, "MetricStat": {"Metric": {"Namespace": "AWS/SQS", "MetricName": metric,
                                                            "Dimensions": dimension("AWS/SQS", queue)}, "Period": 300, "Stat": stat}}
    answer = cloudwatch.get_metric_data(MetricDataQueries=[query("sent", "NumberOfMessagesSent", "Sum"),
                                                           query("size", "SentMessageSize", "Maximum")], **window())
    results = {one["Id"]: one for one in answer["MetricDataResults"]}
    equal((sum(results["sent"]["Values"]), results["size"]["Values"]), (1, [3]))
    equal((results["sent"]["StatusCode"], results["sent"]["Label"]), ("Complete", "NumberOfMessagesSent"))
    equal(len(results["size"]["Timestamps"]), 1)


@case
def accounts_and_regions_see_their_own():
    queue, url = make_queue()
    sqs.send_message(QueueUrl=url, MessageBody="m")
    for other in (dict(OPTIONS, region_name="eu-west-1"), dict(OPTIONS, aws_access_key_id="111122223333")):
        seen = boto3.client("cloudwatch", **other).list_metrics(Dimensions=dimension("AWS/SQS", queue))["Metrics"]
        equal(seen, [])


@case
def what_is_wrong_is_named():
    good = dict(Namespace="AWS/SQS", MetricName="NumberOfMessagesSent", Period=60, Statistics=["Sum"], **window())
    code, message, status = error_of(cloudwatch.get_metric_statistics, **dict(good, Period=61))
    equal((code, status), ("InvalidParameterValue", 400))
    assert "multiple of 60" in message, message
    code, message, _ = error_of(cloudwatch.get_metric_statistics, **dict(good, Statistics=["Median"]))
    equal(code, "InvalidParameterValue")
    code, message, _ = error_of(cloudwatch.get_metric_statistics, **dict(good, StartTime=0))
    equal(code, "InvalidParameterCombination")
    code, message, _ = error_of(cloudwatch.get_metric_statistics, **dict(good, EndTime=good["StartTime"]))
    equal((code, message), ("InvalidParameterValue", "The parameter StartTime must be less than the parameter EndTime."))


@case
def every_metric_of_the_alert_rules_exists():
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../deploy/alerts.yaml")) as file:
        rules = file.read()
    queue, url = make_queue()
    sns.create_topic(Name=name())
    shown = admin("/metrics")
    for metric in sorted(set(re.findall(r"fanfare_(?!tls_)[a-z_]+", rules))):  # those of TLS: tests/process/tls_test.py
        assert re.search(r"^%s[{ ]" % metric, shown, re.MULTILINE), metric
    for label, value in sorted(set(re.findall(r'(metric|event)="(\w+)"', rules))):
        assert '%s="%s"' % (label, value) in shown, (label, value)


@case
def a_refused_delivery_is_told_to_everybody_who_looks():
    topic = sns.create_topic(Name=name())["TopicArn"]
    short = topic.rsplit(":", 1)[1]
    queue, url = make_queue()  # without a policy
    dead, dead_url = make_queue()
    sqs.set_queue_attributes(QueueUrl=dead_url, Attributes={"Policy": policy_for(dead, topic)})
    subscription = sns.subscribe(TopicArn=topic, Protocol="sqs", Endpoint=arn(queue), ReturnSubscriptionArn=True,
                                 Attributes={"RedrivePolicy": json.dumps({"deadLetterTargetArn": arn(dead)})})["SubscriptionArn"]
    # The publisher is not told: the publish succeeds, and nothing arrives.
    published = sns.publish(TopicArn=topic, Message="news")["MessageId"]
    equal(receive(url), [])
    # The subscription's dead-letter queue has it.
    messages = receive(dead_url)
    equal(len(messages), 1)
    equal(json.loads(messages[0]["Body"])["MessageId"], published)
    # The metric of the documented alarm, by boto3 and by the aws CLI.
    equal(total("AWS/SNS", "NumberOfNotificationsFailed", short), 1)
    equal(total("AWS/SNS", "NumberOfNotificationsRedrivenToDlq", short), 1)
    times = {key: value.strftime("%Y-%m-%dT%H:%M:%SZ") for key, value in window().items()}
    cli = subprocess.run(["aws", "--endpoint-url", OPTIONS["endpoint_url"], "cloudwatch", "get-metric-statistics", "--namespace", "AWS/SNS",
                          "--metric-name", "NumberOfNotificationsFailed", "--dimensions", "Name=TopicName,Value=" + short,
                          "--start-time", times["StartTime"], "--end-time", times["EndTime"], "--period", "300", "--statistics", "Sum",
                          "--output", "json"], capture_output=True, text=True, check=False,
                         env=dict(os.environ, AWS_ACCESS_KEY_ID="test", AWS_SECRET_ACCESS_KEY="test", AWS_DEFAULT_REGION="us-east-1"))
    equal(cli.returncode, 0)
    equal([point["Sum"] for point in json.loads(cli.stdout)["Datapoints"]], [1.0])
    # Prometheus has it under the same name.
    assert 'metric="NumberOfNotificationsFailed",account="000000000000",region="us-east-1",topic="%s"} 1' % short in admin("/metrics")
    # The admin port says why, and what to write.
    failed = [one for one in json.loads(admin("/_fanfare/state"))["failed_deliveries"] if one["subscription"] == subscription]
    equal((len(failed), failed[0]["reason"], failed[0]["redriven"]), (1, "AccessDenied", True))
    for part in ("sns.amazonaws.com", "sqs:SendMessage", "aws:SourceArn", topic, arn(queue)):
        assert part in failed[0]["why"], failed[0]["why"]
    # So does the log.
    if "FANFARE_LOG" in os.environ:
        def line():
            with open(os.environ["FANFARE_LOG"]) as log:
                return [text for text in log if "sns.delivery_failed" in text and subscription in text]
        told = json.loads(wait_for(line)[0])
        equal((told["event"], told["reason"], told["redriven"], told["times"]), ("sns.delivery_failed", "AccessDenied", True, 1))
        assert "aws:SourceArn" in told["why"], told


if __name__ == "__main__":
    sys.exit(run(CASES))
