#!/usr/bin/env python3
"""Permission and signatures, end to end: `fanfare policy evaluate` on the table of cases, and a server of its own with
`--auth enforced` asked with boto3 and with requests signed here, rightly and wrongly, in the header and in the query.

FANFARE_BUILD holds the program. Runs with a current boto3 and with Debian's.
"""
import base64
import datetime
import hashlib
import hmac
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import traceback
import urllib.error
import urllib.parse
import urllib.request
import uuid

import boto3
from botocore.config import Config
from botocore.exceptions import ClientError

import policy_attacks
import policy_tokens
from policy_server import A, B, PROGRAM, SECRETS, Server, allow, deny, identities, policy, queue_arn

HERE = os.path.dirname(os.path.abspath(__file__))
TABLE = os.path.join(HERE, "..", "..", "src", "policy", "testdata", "cases.json")
CASES = []


def case(function):
    CASES.append((function.__name__, function))
    return function


def equal(got, wanted):
    assert got == wanted, "got %r, wanted %r" % (got, wanted)


# ---- The servers ---------------------------------------------------------------------------------------------------


SERVER = None
OPEN = None  # a second one, in development mode


def client(service, key, secret=None, token=None, server=None):
    return boto3.client(service, endpoint_url=(server or SERVER).endpoint, region_name="us-east-1", aws_access_key_id=key,
                        aws_secret_access_key=secret or SECRETS.get(key, "x"), aws_session_token=token, config=Config(retries={"max_attempts": 0}))


def of_session(service, credentials, server=None):
    return client(service, credentials["AccessKeyId"], credentials["SecretAccessKey"], credentials["SessionToken"], server)


def refused(call, **arguments):
    try:
        call(**arguments)
    except ClientError as error:
        return error.response["Error"]["Code"]
    return "allowed"


def assume(role, name="run-1", key="AKIAALICE", account=A, **more):
    return client("sts", key).assume_role(RoleArn="arn:aws:iam::%s:role/%s" % (account, role), RoleSessionName=name, **more)["Credentials"]


def make_queue(prefix="q", key="AKIAROOTA", **attributes):
    name = "%s-%s" % (prefix, uuid.uuid4().hex[:10])
    return name, client("sqs", key).create_queue(QueueName=name, Attributes=attributes)["QueueUrl"]


def set_policy(url, document, key="AKIAROOTA"):
    client("sqs", key).set_queue_attributes(QueueUrl=url, Attributes={"Policy": json.dumps(document)})


def is_refused(code):
    assert re.search("AccessDenied|AuthorizationError", code), code


# ---- The table of cases, by the command ----------------------------------------------------------------------------


def evaluate(document):
    done = subprocess.run([PROGRAM, "policy", "evaluate", "-"], input=json.dumps(document), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          universal_newlines=True)
    return done.returncode, done.stdout, done.stderr


def table_cases():
    with open(TABLE) as table:
        cases = json.load(table)
    fine = [one for one in cases if "decision" in one]
    answers = json.loads(evaluate([one["case"] for one in fine])[1])
    for one, answer in zip(fine, answers):
        def check(one=one, answer=answer):
            equal(answer["decision"], one["decision"])
            if "sid" in one:
                equal(answer["decided_by"]["sid"], one["sid"])
            if answer["decision"] == "ImplicitDeny":
                equal(answer["decided_by"], None)
        yield "policy evaluate: " + one["name"], check
    for one in cases:
        if "malformed" in one:
            def check(one=one):
                code, out, err = evaluate(one["case"])
                equal((code, out), (2, ""))
                assert one["malformed"] in err, err
            yield "policy evaluate: " + one["name"], check


@case
def explain_names_the_statement():
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(policy(dict(allow("sns:Publish"), Principal={"AWS": A}, Sid="Account"),
                         dict(deny("sns:Publish"), Principal="*", Sid="OnlyStage",
                              Condition={"ArnNotEquals": {"aws:PrincipalArn": "arn:aws:iam::%s:role/prod-task" % A}})), file)
        file.flush()
        done = subprocess.run([PROGRAM, "policy", "explain", "--principal", "arn:aws:sts::%s:assumed-role/dev-task/run-1" % A, "--action", "sns:Publish",
                               "--resource", "arn:aws:sns:us-east-1:%s:t" % A, "--resource-policy", file.name], stdout=subprocess.PIPE, universal_newlines=True)
        equal(done.returncode, 0)
        assert done.stdout.startswith("ExplicitDeny") and "OnlyStage" in done.stdout.splitlines()[0], done.stdout


@case
def evaluate_of_no_json_is_exit_2():
    done = subprocess.run([PROGRAM, "policy", "evaluate", "-"], input="{", stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True)
    equal((done.returncode, done.stdout), (2, ""))
    assert "line 1" in done.stderr, done.stderr


# ---- Signatures ----------------------------------------------------------------------------------------------------


def mac(key, text):
    return hmac.new(key, text.encode(), hashlib.sha256).digest()


class Signed:
    """One request, signed step by step, so that a case can spoil any of them."""

    def __init__(self, key="AKIAALICE", secret=None, service="sqs", token=None, minutes=0, target="AmazonSQS.ListQueues", body="{}", query=None,
                 expires=None, region="us-east-1", server=None, scope_service=None):
        self.endpoint = (server or SERVER).endpoint
        host = urllib.parse.urlsplit(self.endpoint).netloc
        when = datetime.datetime.utcnow() + datetime.timedelta(minutes=minutes)
        stamp = when.strftime("%Y%m%dT%H%M%SZ")
        scope = "/".join([stamp[:8], region, scope_service or service, "aws4_request"])
        self.headers = {"host": host}
        self.body = body
        if target:
            self.headers.update({"x-amz-target": target, "content-type": "application/x-amz-json-1.0"})
        else:
            self.headers["content-type"] = "application/x-www-form-urlencoded"
        self.query = dict(query or {})
        presigned = expires is not None
        signed = sorted(["host"] if presigned else list(self.headers) + ["x-amz-date"] + (["x-amz-security-token"] if token else []))
        if presigned:
            self.query.update({"X-Amz-Algorithm": "AWS4-HMAC-SHA256", "X-Amz-Credential": key + "/" + scope, "X-Amz-Date": stamp,
                               "X-Amz-Expires": str(expires), "X-Amz-SignedHeaders": ";".join(signed)})
            if token:
                self.query["X-Amz-Security-Token"] = token
            self.headers = {"host": host}
        else:
            self.headers["x-amz-date"] = stamp
            if token:
                self.headers["x-amz-security-token"] = token
        canonical_query = "&".join(urllib.parse.quote(k, safe="-_.~") + "=" + urllib.parse.quote(v, safe="-_.~") for k, v in sorted(self.query.items()))
        method = "GET" if presigned else "POST"
        self.method = method
        canonical = "\n".join([method, "/", canonical_query, "".join("%s:%s\n" % (h, self.headers[h].strip()) for h in signed), ";".join(signed),
                               hashlib.sha256((body or "").encode() if not presigned else b"").hexdigest()])
        to_sign = "\n".join(["AWS4-HMAC-SHA256", stamp, scope, hashlib.sha256(canonical.encode()).hexdigest()])
        signing = mac(mac(mac(mac(("AWS4" + (secret or SECRETS.get(key, "x"))).encode(), stamp[:8]), region), scope_service or service), "aws4_request")
        self.signature = hmac.new(signing, to_sign.encode(), hashlib.sha256).hexdigest()
        self.signed, self.scope, self.key = signed, scope, key
        if presigned:
            self.query["X-Amz-Signature"] = self.signature
        else:
            self.headers["authorization"] = "AWS4-HMAC-SHA256 Credential=%s/%s, SignedHeaders=%s, Signature=%s" % (key, scope, ";".join(signed), self.signature)

    def send(self):
        """(status, error code): (200, "") when it was taken."""
        query = "&".join(urllib.parse.quote(k, safe="-_.~") + "=" + urllib.parse.quote(v, safe="-_.~") for k, v in self.query.items())
        request = urllib.request.Request(self.endpoint + "/" + ("?" + query if query else ""), None if self.method == "GET" else self.body.encode(),
                                         {k: v for k, v in self.headers.items() if k != "host"}, method=self.method)
        try:
            with urllib.request.urlopen(request) as answer:
                return answer.status, ""
        except urllib.error.HTTPError as error:
            text = error.read().decode()
            found = re.search(r"<Code>(.*?)</Code>", text) or re.search(r'"__type":"[^"]*#([^"]*)"', text)
            return error.code, found.group(1) if found else text


FORMS = {
    "json": lambda **more: Signed(**more),
    "query": lambda **more: Signed(target=None, body="Action=ListQueues&Version=2012-11-05", **more),
    "sns": lambda **more: Signed(target=None, service="sns", body="Action=ListTopics&Version=2010-03-31", **more),
    "sts": lambda **more: Signed(target=None, service="sts", body="Action=GetCallerIdentity&Version=2011-06-15", **more),
    "presigned sqs": lambda **more: Signed(target=None, query={"Action": "ListQueues", "Version": "2012-11-05"}, **dict({"expires": 300}, **more)),
    "presigned sns": lambda **more: Signed(target=None, service="sns", query={"Action": "ListTopics", "Version": "2010-03-31"}, **dict({"expires": 300}, **more)),
    "presigned sts": lambda **more: Signed(target=None, service="sts", query={"Action": "GetCallerIdentity", "Version": "2011-06-15"},
                                           **dict({"expires": 300}, **more)),
}


def signature_cases():
    for form, make in FORMS.items():
        presigned = form.startswith("presigned")

        def right(make=make):
            equal(make().send(), (200, ""))

        def other_region(make=make):
            equal(make(region="eu-west-1").send(), (200, ""))

        def wrong_secret(make=make):
            equal(make(secret="not it").send(), (403, "SignatureDoesNotMatch"))

        def unknown_key(make=make):
            equal(make(key="AKIANOBODY", secret="x").send(), (403, "InvalidClientTokenId"))

        def token_of_a_long_lived_key(make=make):
            equal(make(token="something").send(), (403, "InvalidClientTokenId"))

        def session(make=make):
            credentials = assume("task")
            equal(make(key=credentials["AccessKeyId"], secret=credentials["SecretAccessKey"], token=credentials["SessionToken"]).send(), (200, ""))

        def session_without_its_token(make=make):
            credentials = assume("task")
            equal(make(key=credentials["AccessKeyId"], secret=credentials["SecretAccessKey"]).send(), (403, "InvalidClientTokenId"))

        def token_of_another_session(make=make):
            one, two = assume("task"), assume("task", "run-2")
            equal(make(key=one["AccessKeyId"], secret=one["SecretAccessKey"], token=two["SessionToken"]).send(), (403, "InvalidClientTokenId"))

        def session_with_a_wrong_secret(make=make):
            one = assume("task")
            equal(make(key=one["AccessKeyId"], secret="not it", token=one["SessionToken"]).send(), (403, "SignatureDoesNotMatch"))

        def from_the_future(make=make):
            equal(make(minutes=17).send(), (403, "SignatureDoesNotMatch"))

        def nearly_from_the_future(make=make):
            equal(make(minutes=13).send(), (200, ""))

        def spoilt_signature(make=make, presigned=presigned):
            one = make()
            spoilt = ("0" if one.signature[0] != "0" else "1") + one.signature[1:]
            if presigned:
                one.query["X-Amz-Signature"] = spoilt
            else:
                one.headers["authorization"] = one.headers["authorization"].replace(one.signature, spoilt)
            equal(one.send(), (403, "SignatureDoesNotMatch"))

        def no_signature(make=make, presigned=presigned):
            one = make()
            if presigned:
                del one.query["X-Amz-Signature"]
            else:
                one.headers["authorization"] = one.headers["authorization"].split(", Signature")[0]
            equal(one.send(), (400, "IncompleteSignature"))

        def no_signed_headers(make=make, presigned=presigned):
            one = make()
            if presigned:
                del one.query["X-Amz-SignedHeaders"]
            else:
                one.headers["authorization"] = re.sub(r"SignedHeaders=[^,]*, ", "", one.headers["authorization"])
            equal(one.send(), (400, "IncompleteSignature"))

        def no_date(make=make, presigned=presigned):
            one = make()
            del (one.query if presigned else one.headers)["X-Amz-Date" if presigned else "x-amz-date"]
            equal(one.send(), (400, "IncompleteSignature"))

        def unsigned(make=make, presigned=presigned):
            one = make()
            if presigned:
                one.query = {k: v for k, v in one.query.items() if not k.startswith("X-Amz")}
            else:
                del one.headers["authorization"]
            equal(one.send(), (403, "MissingAuthenticationToken"))

        def another_service_in_the_scope(make=make, form=form):
            status, code = make(scope_service="s3").send()
            equal((status, code), (403, "SignatureDoesNotMatch"))

        checks = [right, other_region, wrong_secret, unknown_key, token_of_a_long_lived_key, session, session_without_its_token, token_of_another_session,
                  session_with_a_wrong_secret, from_the_future, nearly_from_the_future, spoilt_signature, no_signature, no_signed_headers, no_date, unsigned,
                  another_service_in_the_scope]
        if presigned:
            def run_out(make=make):
                equal(make(minutes=-6).send(), (400, "RequestExpired"))

            def still_valid(make=make):
                equal(make(minutes=-20, expires=3600).send(), (200, ""))

            def too_long(make=make):
                equal(make(expires=604801).send(), (400, "IncompleteSignature"))

            def another_parameter(make=make):
                one = make()
                one.query["Extra"] = "1"
                equal(one.send(), (403, "SignatureDoesNotMatch"))
            checks += [run_out, still_valid, too_long, another_parameter]
        else:
            def too_old(make=make):
                equal(make(minutes=-17).send(), (400, "RequestExpired"))

            def nearly_too_old(make=make):
                equal(make(minutes=-13).send(), (200, ""))

            def another_body(make=make):
                one = make()
                one.body = one.body + (" " if one.body.startswith("{") else "&x=1")
                equal(one.send(), (403, "SignatureDoesNotMatch"))

            def another_date(make=make):
                one = make()
                one.headers["x-amz-date"] = one.headers["x-amz-date"][:-3] + "%02dZ" % ((int(one.headers["x-amz-date"][-3:-1]) + 1) % 60)
                equal(one.send(), (403, "SignatureDoesNotMatch"))
            checks += [too_old, nearly_too_old, another_body, another_date]
        for check in checks:
            yield "signature, %s: %s" % (form, check.__name__), check


# ---- Identities and policies, by boto3 -----------------------------------------------------------------------------


@case
def caller_identity_of_each_kind():
    equal(client("sts", "AKIAROOTA").get_caller_identity()["Arn"], "arn:aws:iam::%s:root" % A)
    alice = client("sts", "AKIAALICE").get_caller_identity()
    equal((alice["Arn"], alice["Account"]), ("arn:aws:iam::%s:user/alice" % A, A))
    assert alice["UserId"].startswith("AIDA"), alice
    session = of_session("sts", assume("task", "run-9")).get_caller_identity()
    equal(session["Arn"], "arn:aws:sts::%s:assumed-role/task/run-9" % A)
    assert session["UserId"].startswith("AROA") and session["UserId"].endswith(":run-9"), session


@case
def user_without_policies_may_nothing():
    name, url = make_queue()
    dave = client("sqs", "AKIADAVE")
    is_refused(refused(dave.send_message, QueueUrl=url, MessageBody="x"))
    is_refused(refused(dave.list_queues))
    is_refused(refused(dave.create_queue, QueueName="dave"))
    is_refused(refused(client("sns", "AKIADAVE").create_topic, Name="dave"))


@case
def metrics_are_for_whom_they_are_allowed():
    is_refused(refused(client("cloudwatch", "AKIADAVE").list_metrics))
    equal(refused(client("cloudwatch", "AKIAROOTA").list_metrics), "allowed")


@case
def user_may_what_the_policy_names():
    _, alpha = make_queue("alpha")
    _, beta = make_queue("beta")
    bob = client("sqs", "AKIABOB")
    equal(refused(bob.send_message, QueueUrl=alpha, MessageBody="x"), "allowed")
    equal(refused(bob.send_message_batch, QueueUrl=alpha, Entries=[{"Id": "a", "MessageBody": "x"}]), "allowed")
    is_refused(refused(bob.send_message, QueueUrl=beta, MessageBody="x"))
    is_refused(refused(bob.receive_message, QueueUrl=alpha))
    is_refused(refused(bob.delete_queue, QueueUrl=alpha))
    is_refused(refused(bob.purge_queue, QueueUrl=alpha))


@case
def boundary_limits_the_user():
    _, url = make_queue()
    erin = client("sqs", "AKIAERIN")
    equal(refused(erin.send_message, QueueUrl=url, MessageBody="x"), "allowed")
    is_refused(refused(erin.receive_message, QueueUrl=url))


@case
def boundary_does_not_limit_what_the_queue_gives_to_the_user():
    name, url = make_queue()
    set_policy(url, policy(dict(allow("sqs:ReceiveMessage", resource=queue_arn(name)), Principal={"AWS": "arn:aws:iam::%s:user/erin" % A})))
    equal(refused(client("sqs", "AKIAERIN").receive_message, QueueUrl=url), "allowed")


@case
def variables_in_an_identity_policy():
    _, own = make_queue("own-frank")
    _, other = make_queue("own-bob")
    frank = client("sqs", "AKIAFRANK")
    equal(refused(frank.send_message, QueueUrl=own, MessageBody="x"), "allowed")
    is_refused(refused(frank.send_message, QueueUrl=other, MessageBody="x"))
    is_refused(refused(frank.delete_queue, QueueUrl=own))


@case
def organisation_binds_the_root():
    _, keep = make_queue("keep")
    _, other = make_queue("other")
    root = client("sqs", "AKIAROOTA")
    is_refused(refused(root.purge_queue, QueueUrl=keep))
    equal(refused(root.purge_queue, QueueUrl=other), "allowed")


@case
def queue_policy_alone_suffices_at_home():
    name, url = make_queue()
    set_policy(url, policy(dict(allow("sqs:SendMessage", resource=queue_arn(name)), Principal={"AWS": "arn:aws:iam::%s:user/dave" % A})))
    equal(refused(client("sqs", "AKIADAVE").send_message, QueueUrl=url, MessageBody="x"), "allowed")
    is_refused(refused(client("sqs", "AKIADAVE").receive_message, QueueUrl=url))


@case
def queue_policy_that_names_the_account_delegates():
    name, url = make_queue()
    set_policy(url, policy(dict(allow("sqs:SendMessage", resource=queue_arn(name)), Principal={"AWS": A})))
    is_refused(refused(client("sqs", "AKIADAVE").send_message, QueueUrl=url, MessageBody="x"))


@case
def across_accounts_both_sides_must_allow():
    name, url = make_queue()
    carol = client("sqs", "AKIACAROL")
    is_refused(refused(carol.send_message, QueueUrl=url, MessageBody="x"))
    set_policy(url, policy(dict(allow("sqs:*", resource=queue_arn(name)), Principal={"AWS": B})))
    equal(refused(carol.send_message, QueueUrl=url, MessageBody="x"), "allowed")
    equal(refused(carol.receive_message, QueueUrl=url), "allowed")


@case
def owner_only_actions_never_cross():
    name, url = make_queue()
    set_policy(url, policy(dict(allow("sqs:*", resource=queue_arn(name)), Principal="*")))
    carol = client("sqs", "AKIACAROL")
    is_refused(refused(carol.delete_queue, QueueUrl=url))
    is_refused(refused(carol.set_queue_attributes, QueueUrl=url, Attributes={"VisibilityTimeout": "1"}))
    is_refused(refused(carol.tag_queue, QueueUrl=url, Tags={"a": "b"}))
    is_refused(refused(carol.untag_queue, QueueUrl=url, TagKeys=["a"]))
    is_refused(refused(carol.list_queue_tags, QueueUrl=url))


@case
def explicit_deny_hits_the_owner_too():
    name, url = make_queue()
    set_policy(url, policy(dict(deny("sqs:SendMessage", resource=queue_arn(name)), Principal="*")))
    is_refused(refused(client("sqs", "AKIAROOTA").send_message, QueueUrl=url, MessageBody="x"))
    is_refused(refused(client("sqs", "AKIAALICE").send_message, QueueUrl=url, MessageBody="x"))


@case
def anonymous_gets_what_everybody_gets():
    name, url = make_queue()
    body = urllib.parse.urlencode({"Action": "SendMessage", "QueueUrl": url, "MessageBody": "x", "Version": "2012-11-05"})

    def send():
        try:
            with urllib.request.urlopen(urllib.request.Request(SERVER.endpoint + "/", body.encode())) as answer:
                return answer.status
        except urllib.error.HTTPError as error:
            return error.code, re.search("<Code>(.*?)</Code>", error.read().decode()).group(1)
    equal(send(), (403, "MissingAuthenticationToken"))
    set_policy(url, policy(dict(allow("sqs:SendMessage", resource=queue_arn(name)), Principal="*")))
    equal(send(), 200)


@case
def resource_tags_are_seen():
    name = "tagged-" + uuid.uuid4().hex[:8]
    root = client("sqs", "AKIAROOTA")
    url = root.create_queue(QueueName=name, tags={"team": "red"})["QueueUrl"]
    set_policy(url, policy(dict(deny("sqs:SendMessage", resource=queue_arn(name)), Principal="*",
                                Condition={"StringNotEquals": {"aws:PrincipalTag/team": "${aws:ResourceTag/team}"}}),
                           dict(allow("sqs:SendMessage", resource=queue_arn(name)), Principal={"AWS": [
                               "arn:aws:iam::%s:user/frank" % A, "arn:aws:iam::%s:user/dave" % A]})))
    equal(refused(client("sqs", "AKIAFRANK").send_message, QueueUrl=url, MessageBody="x"), "allowed")
    is_refused(refused(client("sqs", "AKIADAVE").send_message, QueueUrl=url, MessageBody="x"))


@case
def request_tags_are_seen():
    session = assume("task", Policy=json.dumps(policy(allow("sqs:CreateQueue", "sqs:TagQueue", Condition={"StringEquals": {"aws:RequestTag/env": "test"}}))))
    tagged = of_session("sqs", session)
    equal(refused(tagged.create_queue, QueueName="rt-" + uuid.uuid4().hex[:8], tags={"env": "test"}), "allowed")
    is_refused(refused(tagged.create_queue, QueueName="rt-" + uuid.uuid4().hex[:8], tags={"env": "prod"}))
    is_refused(refused(tagged.create_queue, QueueName="rt-" + uuid.uuid4().hex[:8]))


@case
def subscribe_by_protocol():
    sns = client("sns", "AKIAROOTA")
    topic = sns.create_topic(Name="t-" + uuid.uuid4().hex[:8])["TopicArn"]
    session = of_session("sns", assume("task", Policy=json.dumps(policy(allow("sns:Subscribe", Condition={"StringEquals": {"sns:Protocol": "sqs"}})))))
    name, _ = make_queue()
    equal(refused(session.subscribe, TopicArn=topic, Protocol="sqs", Endpoint=queue_arn(name)), "allowed")
    is_refused(refused(session.subscribe, TopicArn=topic, Protocol="email", Endpoint="a@example.com"))


@case
def publish_batch_is_publish():
    topic = client("sns", "AKIAROOTA").create_topic(Name="t-" + uuid.uuid4().hex[:8])["TopicArn"]
    session = of_session("sns", assume("task", Policy=json.dumps(policy(allow("sns:Publish")))))
    equal(refused(session.publish_batch, TopicArn=topic, PublishBatchRequestEntries=[{"Id": "a", "Message": "x"}]), "allowed")
    is_refused(refused(session.delete_topic, TopicArn=topic))


@case
def malformed_policies_are_refused():
    name, url = make_queue()
    root = client("sqs", "AKIAROOTA")
    for bad in ["{", "[]", "{}", json.dumps(policy(dict(allow("sqs:SendMessage"), Principal="*", Effect="allow"))),
                json.dumps(policy(dict(allow("SendMessage"), Principal="*"))), json.dumps(policy(allow("sqs:SendMessage"))),
                json.dumps(policy(dict(allow("sqs:SendMessage"), Principal={"AWS": "arn:aws:iam::*:root"}))),
                json.dumps(policy(dict(allow("sqs:SendMessage"), Principal="*", Condition={"StringEqual": {"aws:SourceArn": "x"}}))),
                json.dumps(policy(dict(allow("sns:Publish"), Principal="*"))),
                json.dumps(policy(*[dict(allow("sqs:SendMessage"), Principal="*")] * 21)),
                json.dumps(policy(dict(allow("sqs:SendMessage", resource="arn:aws:sqs:::" + "a" * 8200), Principal="*")))]:
        equal((bad[:40], refused(root.set_queue_attributes, QueueUrl=url, Attributes={"Policy": bad})), (bad[:40], "InvalidAttributeValue"))
    sns = client("sns", "AKIAROOTA")
    topic = sns.create_topic(Name="t-" + uuid.uuid4().hex[:8])["TopicArn"]
    try:
        sns.set_topic_attributes(TopicArn=topic, AttributeName="Policy", AttributeValue=json.dumps(policy(dict(allow("sns:CreateTopic"), Principal="*"))))
        raise AssertionError("accepted")
    except ClientError as error:
        equal(error.response["Error"]["Code"], "InvalidParameter")
        assert "Policy statement action out of service scope!" in error.response["Error"]["Message"], error


@case
def refusals_name_the_kind_of_policy_and_no_more():
    name, url = make_queue()
    try:
        client("sqs", "AKIADAVE").send_message(QueueUrl=url, MessageBody="x")
        raise AssertionError("allowed")
    except ClientError as error:
        message = error.response["Error"]["Message"]
        assert message.startswith("User: arn:aws:iam::%s:user/dave is not authorized to perform: sqs:" % A), message
        assert message.endswith("because no identity-based policy allows the sqs:SendMessage action"), message
    set_policy(url, policy(dict(deny("sqs:SendMessage", resource=queue_arn(name)), Principal="*", Sid="Secret")))
    try:
        client("sqs", "AKIAALICE").send_message(QueueUrl=url, MessageBody="x")
        raise AssertionError("allowed")
    except ClientError as error:
        message = error.response["Error"]["Message"]
        assert message.endswith("with an explicit deny in a resource-based policy"), message


@case
def refusals_are_explained_in_the_log():
    name, url = make_queue()
    set_policy(url, policy(dict(deny("sqs:SendMessage", resource=queue_arn(name)), Principal="*", Sid="Sealed" + name[-6:])))
    is_refused(refused(client("sqs", "AKIAALICE").send_message, QueueUrl=url, MessageBody="x"))
    deadline = time.time() + 10
    while True:
        lines = [json.loads(line) for line in open(SERVER.log.name) if "request.refused" in line]
        found = [line for line in lines if "Sealed" + name[-6:] in line["why"]]
        if found:
            break
        assert time.time() < deadline, "nothing in the log after 10 s"
        time.sleep(0.05)
    equal((found[0]["action"], found[0]["principal"]), ("SendMessage", "arn:aws:iam::%s:user/alice" % A))


# ---- STS -----------------------------------------------------------------------------------------------------------


def sts_code(key="AKIAALICE", **arguments):
    return refused(client("sts", key).assume_role, **dict({"RoleArn": "arn:aws:iam::%s:role/task" % A, "RoleSessionName": "run-1"}, **arguments))


@case
def assume_role_is_checked():
    equal(sts_code(), "allowed")
    equal(sts_code(key="AKIADAVE"), "AccessDenied")
    equal(sts_code(key="AKIACAROL"), "AccessDenied")
    equal(sts_code(RoleArn="arn:aws:iam::%s:role/no-such" % A), "AccessDenied")
    equal(sts_code(RoleSessionName="a b"), "ValidationError")
    equal(sts_code(DurationSeconds=3601), "ValidationError")
    equal(sts_code(Policy="{"), "MalformedPolicyDocument")
    equal(sts_code(Policy=json.dumps(policy(allow("sqs:*"))) + " " * 2048), "PackedPolicyTooLarge")


@case
def external_id_is_wanted():
    root_of_b = dict(RoleArn="arn:aws:iam::%s:role/partner" % A, key="AKIAROOTB")
    equal(sts_code(**root_of_b), "AccessDenied")
    equal(sts_code(ExternalId="wrong", **root_of_b), "AccessDenied")
    equal(sts_code(ExternalId="shibboleth", **root_of_b), "allowed")


@case
def session_acts_as_its_role_and_session_policies_take_away():
    _, url = make_queue()
    whole = of_session("sqs", assume("task"))
    part = of_session("sqs", assume("task", Policy=json.dumps(policy(allow("sqs:SendMessage")))))
    for one in (whole, part):
        equal(refused(one.send_message, QueueUrl=url, MessageBody="x"), "allowed")
    equal(refused(whole.receive_message, QueueUrl=url), "allowed")
    is_refused(refused(part.receive_message, QueueUrl=url))


@case
def session_token_of_a_user_acts_as_the_user():
    credentials = client("sts", "AKIABOB").get_session_token()["Credentials"]
    equal(of_session("sts", credentials).get_caller_identity()["Arn"], "arn:aws:iam::%s:user/bob" % A)
    _, alpha = make_queue("alpha")
    _, beta = make_queue("beta")
    equal(refused(of_session("sqs", credentials).send_message, QueueUrl=alpha, MessageBody="x"), "allowed")
    is_refused(refused(of_session("sqs", credentials).send_message, QueueUrl=beta, MessageBody="x"))
    equal(refused(of_session("sts", credentials).get_session_token), "AccessDenied")


@case
def access_key_info():
    sts = client("sts", "AKIAALICE")
    equal(sts.get_access_key_info(AccessKeyId=assume("task")["AccessKeyId"])["Account"], A)
    equal(refused(sts.get_access_key_info, AccessKeyId="AKIANOBODYATALL00000"), "ValidationError")


def jwt(secret="web secret", **claims):
    def part(value):
        return base64.urlsafe_b64encode(value).rstrip(b"=").decode()
    content = dict({"iss": "https://accounts.example.com", "sub": "user-1", "aud": "app", "exp": int(time.time()) + 600}, **claims)
    head = part(json.dumps({"alg": "HS256", "typ": "JWT"}).encode()) + "." + part(json.dumps(content).encode())
    return head + "." + part(hmac.new(secret.encode(), head.encode(), hashlib.sha256).digest())


@case
def web_identity():
    from botocore import UNSIGNED
    sts = boto3.client("sts", endpoint_url=SERVER.endpoint, region_name="us-east-1", config=Config(signature_version=UNSIGNED, retries={"max_attempts": 0}))

    def code(token, role="web"):
        return refused(sts.assume_role_with_web_identity, RoleArn="arn:aws:iam::%s:role/%s" % (A, role), RoleSessionName="app", WebIdentityToken=token)
    equal(code(jwt()), "allowed")
    answer = sts.assume_role_with_web_identity(RoleArn="arn:aws:iam::%s:role/web" % A, RoleSessionName="app", WebIdentityToken=jwt())
    equal((answer["SubjectFromWebIdentityToken"], answer["Audience"], answer["Provider"]), ("user-1", "app", "accounts.example.com"))
    equal(of_session("sts", answer["Credentials"]).get_caller_identity()["Arn"], "arn:aws:sts::%s:assumed-role/web/app" % A)
    equal(code(jwt(secret="another")), "InvalidIdentityToken")
    equal(code(jwt(aud="stranger")), "IDPRejectedClaim")
    equal(code(jwt(aud="other")), "AccessDenied")
    equal(code(jwt(exp=int(time.time()) - 10)), "ExpiredTokenException")
    equal(code(jwt(iss="https://evil.example.com")), "InvalidIdentityToken")
    equal(code("a.b.c"), "InvalidIdentityToken")
    equal(code(jwt(), role="task"), "AccessDenied")


# ---- The lock-out story --------------------------------------------------------------------------------------------


STAGE_ARN = "arn:aws:iam::%s:role/prod-task" % A
SESSION_ARN = "arn:aws:sts::%s:assumed-role/prod-task/run-1" % A
ROOT_ARN = "arn:aws:iam::%s:root" % A
LOCKS = {  # the Deny, and who may publish: the stage's task, another stage's task
    "right": ({"Principal": "*", "Condition": {"ArnNotEquals": {"aws:PrincipalArn": STAGE_ARN}}}, (True, False)),
    "equals instead of not equals": ({"Principal": "*", "Condition": {"ArnEquals": {"aws:PrincipalArn": STAGE_ARN}}}, (False, True)),
    "the session's ARN": ({"Principal": "*", "Condition": {"ArnNotEquals": {"aws:PrincipalArn": SESSION_ARN}}}, (False, False)),
    "NotPrincipal with the role alone": ({"NotPrincipal": {"AWS": STAGE_ARN}}, (False, False)),
    "NotPrincipal without the session": ({"NotPrincipal": {"AWS": [STAGE_ARN, ROOT_ARN]}}, (False, False)),
    "NotPrincipal with all three": ({"NotPrincipal": {"AWS": [STAGE_ARN, SESSION_ARN, ROOT_ARN]}}, (True, False)),
    "StringNotEquals with a star": ({"Principal": "*", "Condition": {"StringNotEquals": {"aws:PrincipalArn": STAGE_ARN[:-4] + "*"}}}, (False, False)),
    "StringNotLike with a star": ({"Principal": "*", "Condition": {"StringNotLike": {"aws:PrincipalArn": STAGE_ARN[:-4] + "*"}}}, (True, False)),
    "username of a role": ({"Principal": "*", "Condition": {"StringNotEquals": {"aws:username": "prod-task"}}}, (False, False)),
    "two stages in one list": ({"Principal": "*", "Condition": {"ArnNotEquals": {"aws:PrincipalArn": [STAGE_ARN, STAGE_ARN.replace("prod", "dev")]}}},
                               (True, True)),
}


def lock_out_cases():
    for story, (statement, wanted) in LOCKS.items():
        def check(statement=statement, wanted=wanted):
            root = client("sns", "AKIAROOTA")
            topic = root.create_topic(Name="lock-" + uuid.uuid4().hex[:8])["TopicArn"]
            document = policy(dict(allow("sns:Publish", resource=topic), Principal={"AWS": A}, Sid="Account"),
                              dict(statement, Effect="Deny", Action="sns:Publish", Resource=topic, Sid="OnlyStage"))
            root.set_topic_attributes(TopicArn=topic, AttributeName="Policy", AttributeValue=json.dumps(document))
            got = tuple(refused(of_session("sns", assume(role)).publish, TopicArn=topic, Message="x") == "allowed" for role in ("prod-task", "dev-task"))
            equal(got, wanted)
        yield "lock-out: " + story, check


# ---- Reload and development ----------------------------------------------------------------------------------------


@case
def sessions_expire():
    credentials = assume("task", DurationSeconds=900)
    sts = of_session("sts", credentials)
    sts.get_caller_identity()
    server = Server("--auth", "enforced")
    try:
        made = client("sts", "AKIAALICE", server=server).assume_role(RoleArn="arn:aws:iam::%s:role/task" % A, RoleSessionName="run", DurationSeconds=900)["Credentials"]
        one = Signed(target=None, service="sts", body="Action=GetCallerIdentity&Version=2011-06-15", key=made["AccessKeyId"], secret=made["SecretAccessKey"],
                     token=made["SessionToken"], server=server)
        equal(one.send(), (200, ""))
        server.advance("16m")
        later = Signed(target=None, service="sts", body="Action=GetCallerIdentity&Version=2011-06-15", key=made["AccessKeyId"],
                       secret=made["SecretAccessKey"], token=made["SessionToken"], server=server, minutes=16)
        equal(later.send(), (403, "ExpiredToken"))
    finally:
        server.stop()


@case
def file_is_read_anew():
    server = Server("--auth", "enforced")
    try:
        changed = identities()
        changed["users"].append({"name": "new", "account": A, "access_keys": [{"id": "AKIANEW", "secret": "new"}]})
        equal(refused(client("sts", "AKIANEW", "new", server=server).get_caller_identity), "InvalidClientTokenId")
        server.write(changed)
        deadline = time.time() + 10
        while refused(client("sts", "AKIANEW", "new", server=server).get_caller_identity) != "allowed":
            assert time.time() < deadline, "the new user is not known after 10 s"
            time.sleep(0.1)
        server.write({"users": [{"name": "broken"}]})
        time.sleep(1)
        equal(refused(client("sts", "AKIANEW", "new", server=server).get_caller_identity), "allowed")
    finally:
        server.stop()


@case
def enforced_needs_identities():
    done = subprocess.run([PROGRAM, "serve", "--memory", "--auth", "enforced"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True)
    equal(done.returncode, 2)
    assert "--identities" in done.stderr, done.stderr


@case
def development_takes_any_key_and_keeps_resource_policies():
    sqs = client("sqs", "whoever", "x", server=OPEN)
    name = "q-" + uuid.uuid4().hex[:8]
    url = sqs.create_queue(QueueName=name)["QueueUrl"]
    sqs.set_queue_attributes(QueueUrl=url, Attributes={"Policy": json.dumps(policy(
        dict(deny("sqs:SendMessage"), Principal="*", Sid="Closed")))})
    try:
        sqs.send_message(QueueUrl=url, MessageBody="x")
        raise AssertionError("allowed")
    except ClientError as error:
        assert "Closed" in error.response["Error"]["Message"], "development explains: %s" % error


@case
def development_knows_sessions_of_any_role():
    sts = client("sts", "whoever", "x", server=OPEN)
    made = sts.assume_role(RoleArn="arn:aws:iam::000000000000:role/anything", RoleSessionName="one")["Credentials"]
    equal(of_session("sts", made, OPEN).get_caller_identity()["Arn"], "arn:aws:sts::000000000000:assumed-role/anything/one")
    equal(client("sts", A, "x", server=OPEN).get_caller_identity()["Arn"], "arn:aws:iam::%s:root" % A)


# ---- Explain and lint, live and from files -------------------------------------------------------------------------


def run(*arguments, text=None):
    environment = dict(os.environ, AWS_ACCESS_KEY_ID="test", AWS_SECRET_ACCESS_KEY="test")
    done = subprocess.run([PROGRAM, *arguments], input=text, stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True, env=environment)
    return done.returncode, done.stdout, done.stderr


def open_fan_out(with_policy):
    sqs, sns = client("sqs", "x", "x", server=OPEN), client("sns", "x", "x", server=OPEN)
    name = "lint-" + uuid.uuid4().hex[:8]
    url = sqs.create_queue(QueueName=name)["QueueUrl"]
    topic = sns.create_topic(Name=name)["TopicArn"]
    arn = queue_arn(name, "000000000000")
    if with_policy:
        sqs.set_queue_attributes(QueueUrl=url, Attributes={"Policy": json.dumps(policy(
            dict(allow("sqs:SendMessage", resource=arn), Principal={"Service": "sns.amazonaws.com"}, Sid="topic",
                 Condition={"ArnEquals": {"aws:SourceArn": topic}})))})
    sns.subscribe(TopicArn=topic, Protocol="sqs", Endpoint=arn)
    return arn, topic


@case
def explain_reads_a_live_policy():
    arn, topic = open_fan_out(True)
    code, out, err = run("policy", "explain", "--principal", "sns.amazonaws.com", "--action", "sqs:SendMessage", "--resource", arn,
                         "--context", "aws:SourceArn=" + topic, "--endpoint", OPEN.endpoint, "--json")
    equal(code, 0)
    equal(json.loads(out)["decided_by"]["sid"], "topic")
    code, out, err = run("policy", "explain", "--principal", "sns.amazonaws.com", "--action", "sqs:SendMessage", "--resource", arn,
                         "--context", "aws:SourceArn=" + topic + "2", "--endpoint", OPEN.endpoint, "--json")
    answer = json.loads(out)
    equal((answer["decision"], answer["explanation"][0]["first_mismatch"]), ("ImplicitDeny", "Condition"))


@case
def explain_reads_identities():
    code, out, err = run("policy", "explain", "--principal", "arn:aws:iam::%s:user/bob" % A, "--action", "sqs:SendMessage", "--resource", queue_arn("alpha-1"),
                         "--identities", SERVER.file, "--json")
    equal((code, err), (0, ""))
    equal(json.loads(out)["decision"], "Allow")
    code, out, err = run("policy", "explain", "--principal", "arn:aws:iam::%s:user/nobody" % A, "--action", "sqs:SendMessage", "--resource", queue_arn("q"),
                         "--identities", SERVER.file)
    equal(code, 2)


@case
def lint_looks_at_a_live_endpoint():
    shut, _ = open_fan_out(False)
    admitted, _ = open_fan_out(True)
    code, out, err = run("lint", "--endpoint", OPEN.endpoint, "--json")
    equal((code, err), (1, ""))
    findings = json.loads(out)["findings"]
    assert any(f["id"] == "D021" and shut in f["detail"] for f in findings), out
    assert not any(f["id"] == "D021" and admitted in f["detail"] for f in findings), out
    assert any(f["id"] == "D014" and f["place"] == shut for f in findings), out


@case
def lint_of_files():
    with tempfile.TemporaryDirectory() as folder:
        def write(name, content):
            path = os.path.join(folder, name)
            with open(path, "w") as out:
                out.write(content)
            return path
        wide = write("wide.json", json.dumps(policy(dict(allow("sqs:*"), Principal="*", Sid="wide"))))
        code, out, err = run("lint", wide)
        equal(code, 1)
        assert "D001 error" in out and "(wide)" in out and "Mend:" in out, out
        code, out, err = run("lint", "--format", "sarif", wide)
        sarif = json.loads(out)
        equal((code, sarif["version"]), (1, "2.1.0"))
        assert {"D001", "D010"} <= {r["ruleId"] for r in sarif["runs"][0]["results"]}, out
        right = write("right.json", json.dumps(policy(
            dict(allow("sqs:SendMessage", resource=queue_arn("q")), Principal={"Service": "sns.amazonaws.com"},
                 Condition={"ArnEquals": {"aws:SourceArn": "arn:aws:sns:us-east-1:%s:t" % A}}),
            dict(deny("sqs:SendMessage", resource=queue_arn("q")), Principal="*", Condition={"Bool": {"aws:SecureTransport": "false"}}))))
        equal(run("lint", right, "--resource", queue_arn("q")), (0, "", ""))
        equal(run("lint", write("bad.json", "{"))[0], 2)
        equal(run("lint", os.path.join(folder, "none.json"))[0], 2)
        equal(run("lint")[0], 2)
        topology = write("topology.yaml", """
version: 1
topics: {doc-events: {fifo: false}}
queues:
  summarise: {visibility: 30s, handler: 10s, dlq: {max_receives: 1}}
  bare: {visibility: 5m}
subscriptions:
  - {topic: doc-events, queue: summarise, raw: true, filter: {kind: {nested: [a]}}, dlq: true}
  - {topic: doc-events, queue: summarise, dlq: true}
""")
        code, out, err = run("lint", "-f", topology, "--json")
        equal((code, err), (1, ""))
        found = {f["id"] for f in json.loads(out)["findings"]}
        equal({"D014", "D019", "D020", "D023", "D035"} - found, set())


def main():
    global SERVER, OPEN
    SERVER = Server("--auth", "enforced")
    OPEN = Server()
    passed = failed = 0
    only = sys.argv[1:]
    try:
        for name, check in list(table_cases()) + list(signature_cases()) + list(lock_out_cases()) + list(policy_attacks.attacks(sys.modules[__name__])) + list(policy_tokens.cases(sys.modules[__name__])) + CASES:
            if only and not any(word in name for word in only):
                continue
            try:
                check()
                passed += 1
            except Exception:
                failed += 1
                print("FAILED", name)
                traceback.print_exc(limit=-2, file=sys.stdout)
    finally:
        SERVER.stop()
        OPEN.stop()
    print("%d passed, %d failed" % (passed, failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
