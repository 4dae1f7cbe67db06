#!/usr/bin/env python3
"""boto3 over TLS, with a certificate that it verifies, against a server of its own. FANFARE_BUILD holds the program.

    FANFARE_BUILD=build/ci tests/conformance/tls_cases.py

Each check is one case. The last line is `N passed, M failed`.
"""
import json
import os
import subprocess
import tempfile

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError

from checks import check, equal, finish

PROGRAM = os.path.join(os.environ["FANFARE_BUILD"], "fanfare")


def client(service, endpoint, verify):
    return boto3.client(service, endpoint_url=endpoint, region_name="us-east-1", aws_access_key_id="AKIDEXAMPLE", aws_secret_access_key="secret",
                        verify=verify, config=Config(retries={"max_attempts": 0}))


def message_and_topic(endpoint, certificate):
    sqs, sns = client("sqs", endpoint, certificate), client("sns", endpoint, certificate)
    url = sqs.create_queue(QueueName="work")["QueueUrl"]
    equal("the queue's URL", url, endpoint + "/000000000000/work")
    sqs.send_message(QueueUrl=url, MessageBody="hello")
    message, = sqs.receive_message(QueueUrl=url, WaitTimeSeconds=20)["Messages"]
    equal("a message", message["Body"], "hello")
    sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
    sent = sqs.send_message_batch(QueueUrl=url, Entries=[{"Id": str(i), "MessageBody": "x" * 100_000} for i in range(10)])
    equal("a batch of a megabyte", len(sent["Successful"]), 10)
    sqs.purge_queue(QueueUrl=url)

    topic = sns.create_topic(Name="news")["TopicArn"]
    arn = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
    sqs.set_queue_attributes(QueueUrl=url, Attributes={"Policy": json.dumps({"Statement": [
        {"Effect": "Allow", "Principal": {"Service": "sns.amazonaws.com"}, "Action": "sqs:SendMessage", "Resource": arn},
        {"Effect": "Deny", "Principal": "*", "Action": "sqs:ReceiveMessage", "Resource": arn, "Condition": {"Bool": {"aws:SecureTransport": "false"}}}]})})
    sns.subscribe(TopicArn=topic, Protocol="sqs", Endpoint=arn)
    sns.publish(TopicArn=topic, Message="news")
    message, = sqs.receive_message(QueueUrl=url, WaitTimeSeconds=20)["Messages"]
    envelope = json.loads(message["Body"])
    equal("a publication", envelope["Message"], "news")
    for name in "UnsubscribeURL", "SigningCertURL":
        check(name, envelope[name].startswith(endpoint + "/"), envelope[name])
    equal("who asks", client("sts", endpoint, certificate).get_caller_identity()["Account"], "000000000000")


def verification(endpoint, certificate):
    try:
        client("sqs", endpoint, True).list_queues()
        check("an unknown authority is refused", False, "it was trusted")
    except BotoCoreError as error:
        check("an unknown authority is refused", "CERTIFICATE_VERIFY_FAILED" in str(error) or "certificate verify failed" in str(error), error)
    by_name = endpoint.replace("127.0.0.1", "localhost")
    equal("the URL has the name that was asked", client("sqs", by_name, certificate).get_queue_url(QueueName="work")["QueueUrl"], by_name + "/000000000000/work")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="fanfare-tls.") as folder:
        certificate, key = os.path.join(folder, "certificate.pem"), os.path.join(folder, "key.pem")
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj", "/CN=localhost",
                        "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-out", certificate, "-keyout", key], check=True, capture_output=True)
        server = subprocess.Popen([PROGRAM, "serve", "--memory", "--listen", "127.0.0.1:0", "--edge", "127.0.0.1:0", "--admin", "127.0.0.1:0",
                                   "--tls-certificate", certificate, "--tls-key", key], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        try:
            address = json.loads(server.stdout.readline())["aws"]
            for part in message_and_topic, verification:
                try:
                    part(address, certificate)
                except Exception as broken:  # a part that breaks off must not hide the others
                    check(f"{part.__name__} runs to its end", False, f"{type(broken).__name__}: {broken}")
        finally:
            server.terminate()
            equal("the server's exit code", server.wait(timeout=60), 0)
    finish()
