"""Attempts to get past signatures and permissions of a server with `--auth enforced`. Imported by policy_cases.py.

Each case is an attack; it passes when the server refuses, and the honest request beside it is served.
"""
import hashlib
import hmac
import http.client
import json
import re
import time
import urllib.parse
import uuid
from datetime import datetime, timedelta

from policy_server import A, B, SECRETS, allow, deny, policy, queue_arn

PARTNER_QUEUE = "arn:aws:sqs:us-east-1:%s:*" % A
ROLE = "arn:aws:iam::%s:role/%%s" % A


def mac(key, text):
    return hmac.new(key, text.encode(), hashlib.sha256).digest()


def encode(text):
    return urllib.parse.quote(text, safe="-_.~")


class Request:
    """A request whose signature covers what `signed` names, and which can be changed afterwards. Fields are a list, so that
    they can stand twice."""

    def __init__(self, cases, method="POST", path="/", query="", fields=(), body="", key="AKIAALICE", secret=None, service="sqs", region="us-east-1",
                 signed=None, payload=None, seconds=0, token=None):
        self.cases = cases
        self.method, self.path, self.query, self.body = method, path, query, body
        host = urllib.parse.urlsplit(cases.SERVER.endpoint).netloc
        self.when = datetime.utcnow() + timedelta(seconds=seconds)
        stamp = self.when.strftime("%Y%m%dT%H%M%SZ")
        self.fields = [("host", host), ("x-amz-date", stamp)] + list(fields)
        if token:
            self.fields.append(("x-amz-security-token", token))
        names = sorted(set(signed if signed is not None else [name for name, _ in self.fields]))
        self.scope = "/".join([stamp[:8], region, service, "aws4_request"])
        pairs = sorted(tuple((part + "=").split("=")[:2]) for part in query.split("&") if part)
        canonical = "\n".join([method, urllib.parse.quote(path, safe="/-_.~"), "&".join("=".join(pair) for pair in pairs),
                               "".join("%s:%s\n" % (name, ",".join(v for n, v in self.fields if n == name)) for name in names), ";".join(names),
                               payload or hashlib.sha256(body.encode()).hexdigest()])
        to_sign = "\n".join(["AWS4-HMAC-SHA256", stamp, self.scope, hashlib.sha256(canonical.encode()).hexdigest()])
        signing = mac(mac(mac(mac(("AWS4" + (secret or SECRETS.get(key, "x"))).encode(), stamp[:8]), region), service), "aws4_request")
        self.key, self.names = key, names
        self.signature = hmac.new(signing, to_sign.encode(), hashlib.sha256).hexdigest()
        self.authorization = "AWS4-HMAC-SHA256 Credential=%s/%s, SignedHeaders=%s, Signature=%s" % (key, self.scope, ";".join(names), self.signature)

    def send(self, authorization=True):
        """(status, error code or "", body)"""
        address = urllib.parse.urlsplit(self.cases.SERVER.endpoint)
        connection = http.client.HTTPConnection(address.hostname, address.port, timeout=30)
        connection.putrequest(self.method, self.path + ("?" + self.query if self.query else ""), skip_host=True, skip_accept_encoding=True)
        for name, value in self.fields:
            connection.putheader(name, value)
        if authorization:
            connection.putheader("authorization", self.authorization)
        if self.method != "GET":
            connection.putheader("content-length", str(len(self.body.encode())))
        connection.endheaders()
        if self.method != "GET":
            connection.send(self.body.encode())
        answer = connection.getresponse()
        text = answer.read().decode()
        connection.close()
        found = re.search(r"<Code>(.*?)</Code>", text) or re.search(r'"__type":"[^"]*#([^"]*)"', text)
        return answer.status, found.group(1) if found else "", text


JSON = ("content-type", "application/x-amz-json-1.0")
FORM = ("content-type", "application/x-www-form-urlencoded")


def target(action):
    return ("x-amz-target", "AmazonSQS." + action)


def attacks(cases):
    """(name, check) of each. `cases` is the module policy_cases."""
    client, refused, equal, is_refused, make_queue, set_policy = (
        cases.client, cases.refused, cases.equal, cases.is_refused, cases.make_queue, cases.set_policy)
    of_session, assume = cases.of_session, cases.assume

    def request(**more):
        return Request(cases, **more)

    def role_of(name, **more):
        return dict({"RoleArn": ROLE % name, "RoleSessionName": "run-1"}, **more)

    # ---- Signatures ----------------------------------------------------------------------------------------------

    def target_that_is_not_signed():
        _, url = make_queue()
        body = json.dumps({"QueueUrl": url})
        one = request(fields=[JSON, target("GetQueueAttributes")], body=body, signed=["host", "x-amz-date"])
        equal(one.send()[:2], (400, "IncompleteSignature"))
        equal(request(fields=[JSON, target("GetQueueAttributes")], body=body).send()[0], 200)

    def target_swapped_after_signing():
        _, url = make_queue()
        one = request(fields=[JSON, target("GetQueueAttributes")], body=json.dumps({"QueueUrl": url}), signed=["content-type", "host", "x-amz-date"])
        one.fields[-1] = target("DeleteQueue")
        equal(one.send()[:2], (400, "IncompleteSignature"))
        equal(refused(client("sqs", "AKIAROOTA").get_queue_attributes, QueueUrl=url), "allowed")

    def target_twice():
        _, url = make_queue()
        one = request(fields=[JSON, target("GetQueueAttributes")], body=json.dumps({"QueueUrl": url}))
        one.fields.append(target("DeleteQueue"))
        equal(one.send()[0], 403)

    def target_added_to_a_form():
        one = request(fields=[FORM], body="Action=ListQueues&Version=2012-11-05")
        one.fields.append(target("ListQueues"))
        assert one.send()[0] in (400, 403, 404)

    def session_token_of_another_put_in_after_signing():
        """Some clients add the token after signing; it holds for its own key only."""
        made, other = assume("task"), assume("prod-task")
        for token, wanted in ((made["SessionToken"], (200, "")), (other["SessionToken"], (403, "InvalidClientTokenId"))):
            one = request(fields=[JSON, target("ListQueues")], body="{}", key=made["AccessKeyId"], secret=made["SecretAccessKey"])
            one.fields.append(("x-amz-security-token", token))
            equal(one.send()[:2], wanted)

    def session_token_twice():
        made, other = assume("task"), assume("task", "run-2")
        one = request(fields=[JSON, target("ListQueues")], body="{}", key=made["AccessKeyId"], secret=made["SecretAccessKey"], token=made["SessionToken"])
        one.fields.append(("x-amz-security-token", other["SessionToken"]))
        equal(one.send()[0], 403)

    def credential_twice_for_another_service():
        one = request(fields=[FORM], body="Action=ListTopics&Version=2010-03-31", service="sqs")
        one.authorization = one.authorization.replace("Credential=", "Credential=%s/%s, Credential=" % (one.key, one.scope.replace("/sqs/", "/sns/")))
        equal(one.send()[0] in (400, 403), True)

    def credential_twice_for_another_region():
        one = request(fields=[JSON, target("ListQueues")], body="{}", region="us-east-1")
        one.authorization = one.authorization.replace("Credential=", "Credential=%s/%s, Credential=" % (one.key, one.scope.replace("us-east-1", "eu-west-1")))
        equal(one.send()[0] in (400, 403), True)

    def credential_hidden_in_another_name():
        one = request(fields=[JSON, target("ListQueues")], body="{}", region="us-east-1")
        one.authorization = one.authorization.replace("Credential=", "XCredential=%s/%s, Credential=" % (one.key, one.scope.replace("us-east-1", "eu-west-1")))
        equal(one.send()[0] in (400, 403), True)

    def authorization_twice():
        for first in (True, False):
            one = request(fields=[FORM], body="Action=ListTopics&Version=2010-03-31", service="sqs")
            forged = ("authorization", one.authorization.replace("/sqs/", "/sns/"))
            if first:
                one.fields.insert(0, forged)
            else:
                one.fields.append(("authorization", one.authorization))
                one.authorization = forged[1]
            equal(one.send()[0] in (400, 403), True)

    def body_that_is_not_signed():
        _, url = make_queue()
        for payload in ("UNSIGNED-PAYLOAD", "STREAMING-UNSIGNED-PAYLOAD-TRAILER", "STREAMING-AWS4-HMAC-SHA256-PAYLOAD"):
            one = request(fields=[JSON, target("SendMessage"), ("x-amz-content-sha256", payload)], body=json.dumps({"QueueUrl": url, "MessageBody": "mine"}),
                          payload=payload)
            one.body = json.dumps({"QueueUrl": url, "MessageBody": "not mine"})
            equal((payload, one.send()[:2]), (payload, (403, "SignatureDoesNotMatch")))

    def body_hash_of_another_body():
        _, url = make_queue()
        body = json.dumps({"QueueUrl": url, "MessageBody": "mine"})
        digest = hashlib.sha256(body.encode()).hexdigest()
        one = request(fields=[JSON, target("SendMessage"), ("x-amz-content-sha256", digest)], body=body)
        equal(one.send()[0], 200)
        one.body = body.replace("mine", "your")
        equal(one.send()[:2], (403, "SignatureDoesNotMatch"))

    def method_swapped():
        one = request(method="GET", query="Action=ListQueues&Version=2012-11-05")
        one.method = "POST"
        equal(one.send()[0], 403)

    def paths_that_look_alike():
        name, url = make_queue()
        for path in ("/%s/%s" % (A, name.replace("-", "%2D")), "/%s/%s" % (A, name.replace("-", "%252D")), "//%s/%s" % (A, name), "/%s/x/../%s" % (A, name),
                     "/./%s/%s" % (A, name), "/%s/%s;x" % (A, name)):
            one = request(fields=[FORM], path="/%s/%s" % (A, name), body="Action=SendMessage&MessageBody=x&Version=2012-11-05")
            one.path = path
            assert one.send()[0] in (403, 404), path

    def path_of_another_queue():
        """bob may send to alpha-*; the queue that the path and the body name must be the one that is asked about."""
        _, alpha = make_queue("alpha")
        name, beta = make_queue("beta")
        alpha_path, beta_path = (urllib.parse.urlsplit(url).path for url in (alpha, beta))
        for path, url in ((alpha_path, beta), (beta_path, alpha)):
            request(fields=[JSON, target("SendMessage")], path=path, body=json.dumps({"QueueUrl": url, "MessageBody": "x"}), key="AKIABOB").send()
            request(fields=[FORM], path=path, body=urllib.parse.urlencode({"Action": "SendMessage", "QueueUrl": url, "MessageBody": "x"}), key="AKIABOB").send()
        request(fields=[FORM], path=beta_path, body="Action=SendMessage&MessageBody=x", key="AKIABOB").send()
        request(fields=[FORM], body="Action=SendMessage&MessageBody=x&QueueUrl=%s&QueueUrl=%s" % (encode(alpha), encode(beta)), key="AKIABOB").send()
        request(fields=[FORM], body="Action=SendMessage&MessageBody=x&QueueUrl=%s&QueueUrl=%s" % (encode(beta), encode(alpha)), key="AKIABOB").send()
        equal(client("sqs", "AKIAROOTA").get_queue_attributes(QueueUrl=beta, AttributeNames=["ApproximateNumberOfMessages"])["Attributes"],
              {"ApproximateNumberOfMessages": "0"})

    def action_twice():
        """The action of the body, then that of the query string; whichever runs is the one that is asked about."""
        _, alpha = make_queue("alpha")
        for order in ("Action=SendMessage&Action=PurgeQueue", "Action=PurgeQueue&Action=SendMessage"):
            one = request(fields=[FORM], body="%s&MessageBody=x&QueueUrl=%s" % (order, encode(alpha)), key="AKIABOB")
            code = one.send()[1]
            assert code in ("", "AccessDenied"), code
        one = request(fields=[FORM], query="Action=PurgeQueue", body="Action=SendMessage&MessageBody=x&QueueUrl=%s" % encode(alpha), key="AKIABOB")
        one.send()
        count = client("sqs", "AKIAROOTA").get_queue_attributes(QueueUrl=alpha, AttributeNames=["ApproximateNumberOfMessages"])["Attributes"]
        assert int(count["ApproximateNumberOfMessages"]) >= 1, "purged"

    def presigned(expires=300, seconds=0, extra="", signed="host", **more):
        host = urllib.parse.urlsplit(cases.SERVER.endpoint).netloc
        when = datetime.utcnow() + timedelta(seconds=seconds)
        stamp = when.strftime("%Y%m%dT%H%M%SZ")
        key, service = more.get("key", "AKIAALICE"), more.get("service", "sqs")
        scope = "/".join([stamp[:8], "us-east-1", service, "aws4_request"])
        query = dict({"Action": "ListQueues", "Version": "2012-11-05", "X-Amz-Algorithm": "AWS4-HMAC-SHA256", "X-Amz-Credential": key + "/" + scope,
                      "X-Amz-Date": stamp, "X-Amz-SignedHeaders": signed}, **more.get("query", {}))
        if expires is not None:
            query["X-Amz-Expires"] = str(expires)
        text = "&".join(encode(k) + "=" + encode(v) for k, v in sorted(query.items()))
        canonical = "\n".join([more.get("method", "GET"), "/", text, "host:%s\n" % host, "host", hashlib.sha256(b"").hexdigest()])
        to_sign = "\n".join(["AWS4-HMAC-SHA256", stamp, scope, hashlib.sha256(canonical.encode()).hexdigest()])
        signing = mac(mac(mac(mac(("AWS4" + SECRETS[key]).encode(), stamp[:8]), "us-east-1"), service), "aws4_request")
        one = request(method=more.get("method", "GET"))
        one.fields = [("host", host)]
        one.query = text + "&X-Amz-Signature=" + hmac.new(signing, to_sign.encode(), hashlib.sha256).hexdigest()
        return one

    def presigned_parameters_changed():
        equal(presigned().send(False)[0], 200)
        for change in (lambda q: q.replace("ListQueues", "CreateQueue") + "&QueueName=evil", lambda q: q + "&Action=PurgeQueue", lambda q: "Action=PurgeQueue&" + q,
                       lambda q: q.replace("X-Amz-Expires=300", "X-Amz-Expires=3000"), lambda q: q.replace("X-Amz-Expires=300&", ""),
                       lambda q: q + "&X-Amz-Expires=604800", lambda q: "X-Amz-Expires=604800&" + q, lambda q: q.replace("AKIAALICE", "AKIAROOTA"),
                       lambda q: "X-Amz-Credential=AKIAROOTA&" + q, lambda q: q.replace("%2Fsqs%2F", "%2Fsns%2F"), lambda q: q + "&x-amz-security-token=x"):
            one = presigned()
            one.query = change(one.query)
            assert one.send(False)[0] in (400, 403), one.query

    def presigned_of_a_post_takes_no_body():
        one = presigned(method="POST")
        equal(one.send(False)[0], 200)
        one = presigned(method="POST")
        one.fields += [FORM, ("x-amz-content-sha256", "UNSIGNED-PAYLOAD")]
        one.body = "Action=CreateQueue&QueueName=evil"
        equal(one.send(False)[:2], (403, "SignatureDoesNotMatch"))
        one = presigned(method="POST")
        one.fields += [JSON, target("ListQueues")]
        equal(one.send(False)[:2], (400, "IncompleteSignature"))

    def presigned_at_its_end():
        equal(presigned(expires=60, seconds=-40).send(False)[0], 200)
        equal(presigned(expires=60, seconds=-65).send(False)[:2], (400, "RequestExpired"))
        equal(presigned(expires=604800, seconds=-604700).send(False)[0], 200)
        equal(presigned(expires=0).send(False)[0], 400)
        equal(presigned(expires=-1).send(False)[0], 400)
        equal(presigned(expires=None, seconds=-1000).send(False)[:2], (400, "RequestExpired"))

    def skew_at_its_limits():
        def code(seconds):
            return request(fields=[JSON, target("ListQueues")], body="{}", seconds=seconds).send()[:2]
        equal(code(-890), (200, ""))
        equal(code(-905), (400, "RequestExpired"))
        equal(code(890), (200, ""))
        equal(code(910), (403, "SignatureDoesNotMatch"))

    def date_of_another_day_in_the_scope():
        one = request(fields=[JSON, target("ListQueues")], body="{}")
        one.authorization = one.authorization.replace(one.scope, "20200101" + one.scope[8:])
        equal(one.send()[0], 403)

    def key_of_another_for_ones_own_signature():
        one = request(fields=[JSON, target("ListQueues")], body="{}", key="AKIABOB")
        one.authorization = one.authorization.replace("AKIABOB", "AKIAROOTA")
        equal(one.send()[:2], (403, "SignatureDoesNotMatch"))

    # ---- Roles ----------------------------------------------------------------------------------------------------

    def role_that_trusts_others_only():
        """The identity policy allows sts:AssumeRole on everything; the role's trust must name the caller all the same."""
        equal(refused(client("sts", "AKIAALICE").assume_role, **role_of("partner")), "AccessDenied")
        equal(refused(client("sts", "AKIAALICE").assume_role, **role_of("web")), "AccessDenied")
        equal(refused(client("sts", "AKIAROOTA").assume_role, **role_of("web")), "AccessDenied")

    def tags_that_nobody_allowed():
        tagged = role_of("task", Tags=[{"Key": "team", "Value": "admin"}])
        equal(refused(client("sts", "AKIAGRACE").assume_role, **role_of("task")), "allowed")
        equal(refused(client("sts", "AKIAGRACE").assume_role, **tagged), "AccessDenied")
        equal(refused(client("sts", "AKIAALICE").assume_role, **tagged), "AccessDenied")  # the trust does not have it
        equal(refused(client("sts", "AKIAALICE").assume_role, **role_of("tagged", Tags=[{"Key": "team", "Value": "blue"}])), "allowed")
        equal(refused(client("sts", "AKIAALICE").assume_role, **role_of("tagged", Tags=[{"Key": "team", "Value": "admin"}])), "AccessDenied")
        equal(refused(client("sts", "AKIAALICE").assume_role, **role_of("tagged", SourceIdentity="somebody")), "AccessDenied")

    def source_identity_is_kept_and_must_be_allowed():
        equal(refused(client("sts", "AKIAALICE").assume_role, **role_of("task", SourceIdentity="somebody")), "AccessDenied")

    def managed_policies_of_others():
        own, other = ("arn:aws:iam::%s:policy/only-send" % account for account in (A, B))
        equal(refused(client("sts", "AKIAALICE").assume_role, **role_of("task", PolicyArns=[{"arn": other}])), "ValidationError")
        equal(refused(client("sts", "AKIAALICE").assume_role, **role_of("task", PolicyArns=[{"arn": own + "-not"}])), "ValidationError")
        _, url = make_queue()
        session = of_session("sqs", assume("task", PolicyArns=[{"arn": own}]))
        equal(refused(session.send_message, QueueUrl=url, MessageBody="x"), "allowed")
        is_refused(refused(session.receive_message, QueueUrl=url))
        both = of_session("sqs", assume("task", PolicyArns=[{"arn": own}], Policy=json.dumps(policy(allow("sqs:ReceiveMessage")))))
        equal(refused(both.send_message, QueueUrl=url, MessageBody="x"), "allowed")
        equal(refused(both.receive_message, QueueUrl=url), "allowed")
        is_refused(refused(both.purge_queue, QueueUrl=url))

    # ---- Actions --------------------------------------------------------------------------------------------------

    def batches_are_asked_for_as_singles():
        name, url = make_queue("alpha")
        bob = client("sqs", "AKIABOB")
        equal(refused(bob.send_message_batch, QueueUrl=url, Entries=[{"Id": "a", "MessageBody": "x"}]), "allowed")
        is_refused(refused(bob.delete_message_batch, QueueUrl=url, Entries=[{"Id": "a", "ReceiptHandle": "x"}]))
        is_refused(refused(bob.change_message_visibility_batch, QueueUrl=url, Entries=[{"Id": "a", "ReceiptHandle": "x", "VisibilityTimeout": 1}]))
        set_policy(url, policy(dict(deny("sqs:SendMessage", resource=queue_arn(name)), Principal="*")))
        is_refused(refused(bob.send_message_batch, QueueUrl=url, Entries=[{"Id": "a", "MessageBody": "x"}]))

    def queues_of_others_in_lists():
        name, _ = make_queue()
        urls = client("sqs", "AKIACAROL").list_queues().get("QueueUrls", [])
        assert not [url for url in urls if "/%s/" % A in url], urls
        is_refused(refused(client("sqs", "AKIACAROL").get_queue_url, QueueName=name, QueueOwnerAWSAccountId=A))

    def queue_with_tags_needs_the_right_to_tag():
        session = of_session("sqs", assume("task", Policy=json.dumps(policy(allow("sqs:CreateQueue")))))
        equal(refused(session.create_queue, QueueName="t-" + uuid.uuid4().hex[:8]), "allowed")
        is_refused(refused(session.create_queue, QueueName="t-" + uuid.uuid4().hex[:8], tags={"team": "red"}))
        session = of_session("sns", assume("task", Policy=json.dumps(policy(allow("sns:CreateTopic")))))
        equal(refused(session.create_topic, Name="t-" + uuid.uuid4().hex[:8]), "allowed")
        is_refused(refused(session.create_topic, Name="t-" + uuid.uuid4().hex[:8], Tags=[{"Key": "team", "Value": "red"}]))

    def dead_letters(prefix="q"):
        """A queue, its dead-letter queue with one message in it."""
        dlq, dlq_url = make_queue("dlq")
        name, url = make_queue(prefix, RedrivePolicy=json.dumps({"deadLetterTargetArn": queue_arn(dlq), "maxReceiveCount": "1"}), VisibilityTimeout="0")
        root = client("sqs", "AKIAROOTA")
        root.send_message(QueueUrl=url, MessageBody="x")
        root.receive_message(QueueUrl=url)
        root.receive_message(QueueUrl=url)
        return name, url, dlq, dlq_url

    def move_task_without_its_rights():
        name, url, dlq, dlq_url = dead_letters()
        may = ["sqs:StartMessageMoveTask", "sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:GetQueueAttributes"]
        other, _ = make_queue()

        if not hasattr(client("sqs", "AKIAROOTA"), "start_message_move_task"):
            return  # an SDK from before move tasks

        def start(*statements, **more):
            session = of_session("sqs", assume("task", Policy=json.dumps(policy(*statements))))
            return refused(session.start_message_move_task, SourceArn=queue_arn(dlq), **more)
        for left_out in may:
            is_refused(start(allow(*[one for one in may if one != left_out], resource=queue_arn(dlq)), allow("sqs:SendMessage")))
        is_refused(start(allow(*may, resource=queue_arn(dlq))))
        is_refused(start(allow(*may, resource=queue_arn(dlq)), allow("sqs:SendMessage", resource=queue_arn(other))))
        is_refused(start(allow(*may, resource=queue_arn(dlq)), allow("sqs:SendMessage", resource=queue_arn(name)), DestinationArn=queue_arn(other)))
        equal(start(allow(*may, resource=queue_arn(dlq)), allow("sqs:SendMessage", resource=queue_arn(name))), "allowed")

    def what_exists_is_told_to_nobody_else():
        """Who may not ask about a name gets the same answer whether it is taken or not."""
        name, url = make_queue()
        topic = client("sns", "AKIAROOTA").create_topic(Name="t-" + uuid.uuid4().hex[:8])["TopicArn"]
        for key in ("AKIADAVE",):
            sqs, sns = client("sqs", key), client("sns", key)
            equal((key, refused(sqs.send_message, QueueUrl=url + "-not", MessageBody="x")), (key, refused(sqs.send_message, QueueUrl=url, MessageBody="x")))
            equal((key, refused(sns.publish, TopicArn=topic + "-not", Message="x")), (key, refused(sns.publish, TopicArn=topic, Message="x")))
            equal((key, refused(sns.delete_topic, TopicArn=topic + "-not")), (key, refused(sns.delete_topic, TopicArn=topic)))
        for key in ("AKIAROOTA", "AKIAALICE"):
            assert "NonExistentQueue" in refused(client("sqs", key).send_message, QueueUrl=url + "-not", MessageBody="x"), key
            equal(refused(client("sns", key).publish, TopicArn=topic + "-not", Message="x"), "NotFound")

    # ---- Subscriptions ----------------------------------------------------------------------------------------------

    def subscribed(key="AKIAROOTA", **attributes):
        sns = client("sns", key)
        topic = sns.create_topic(Name="t-" + uuid.uuid4().hex[:8])["TopicArn"]
        name, url = make_queue()
        return topic, sns.subscribe(TopicArn=topic, Protocol="sqs", Endpoint=queue_arn(name), ReturnSubscriptionArn=True, Attributes=attributes)["SubscriptionArn"]

    def subscriptions_of_the_account_are_not_everybodys():
        topic, subscription = subscribed()
        dave = client("sns", "AKIADAVE")
        is_refused(refused(dave.get_subscription_attributes, SubscriptionArn=subscription))
        is_refused(refused(dave.set_subscription_attributes, SubscriptionArn=subscription, AttributeName="RawMessageDelivery", AttributeValue="true"))
        is_refused(refused(dave.unsubscribe, SubscriptionArn=subscription))
        limited = of_session("sns", assume("task", Policy=json.dumps(policy(allow("sns:GetSubscriptionAttributes")))))
        equal(refused(limited.get_subscription_attributes, SubscriptionArn=subscription), "allowed")
        is_refused(refused(limited.unsubscribe, SubscriptionArn=subscription))
        stranger = client("sns", "AKIACAROL")
        is_refused(refused(stranger.get_subscription_attributes, SubscriptionArn=subscription))
        is_refused(refused(stranger.set_subscription_attributes, SubscriptionArn=subscription, AttributeName="RawMessageDelivery", AttributeValue="true"))
        is_refused(refused(stranger.unsubscribe, SubscriptionArn=subscription))
        equal(refused(client("sns", "AKIAALICE").unsubscribe, SubscriptionArn=subscription), "allowed")

    def unsubscribe_without_a_signature():
        topic, subscription = subscribed()
        one = request(method="GET", query="Action=Unsubscribe&SubscriptionArn=" + encode(subscription))
        one.fields = one.fields[:1]
        equal(one.send(False)[0], 403)
        equal(client("sns", "AKIAROOTA").get_subscription_attributes(SubscriptionArn=subscription)["Attributes"]["SubscriptionArn"], subscription)

    def confirm_with_a_guess():
        topic, _ = subscribed()
        one = request(method="GET", query="Action=ConfirmSubscription&TopicArn=%s&Token=%s" % (encode(topic), "0" * 64))
        one.fields = one.fields[:1]
        equal(one.send(False)[0] in (400, 403), True)
        one.query = "Action=ConfirmSubscription&TopicArn=%s&Token=" % encode(topic)
        equal(one.send(False)[0] in (400, 403), True)

    def queue_of_another_account_is_not_subscribed():
        """carol's topic may name alice's queue; nothing arrives before somebody of that account confirms."""
        name, url = make_queue()
        set_policy(url, policy(dict(allow("sqs:SendMessage", resource=queue_arn(name)), Principal="*")))
        sns = client("sns", "AKIACAROL")
        topic = sns.create_topic(Name="t-" + uuid.uuid4().hex[:8])["TopicArn"]
        answer = sns.subscribe(TopicArn=topic, Protocol="sqs", Endpoint=queue_arn(name))["SubscriptionArn"]
        equal(answer, "pending confirmation")
        sns.publish(TopicArn=topic, Message="spam")
        got = client("sqs", "AKIAROOTA").receive_message(QueueUrl=url).get("Messages", [])
        assert not [one for one in got if "spam" in one["Body"]], got

    def applications_of_another_account():
        mine = client("sns", "AKIAROOTA")
        application = mine.create_platform_application(Name="app" + uuid.uuid4().hex[:6], Platform="GCM", Attributes={"PlatformCredential": "x"})["PlatformApplicationArn"]
        endpoint = mine.create_platform_endpoint(PlatformApplicationArn=application, Token="t")["EndpointArn"]
        for key in ("AKIACAROL", "AKIAROOTB"):
            other = client("sns", key)
            for call, more in ((other.get_platform_application_attributes, {"PlatformApplicationArn": application}),
                               (other.create_platform_endpoint, {"PlatformApplicationArn": application, "Token": "u"}),
                               (other.list_endpoints_by_platform_application, {"PlatformApplicationArn": application}),
                               (other.get_endpoint_attributes, {"EndpointArn": endpoint}),
                               (other.publish, {"TargetArn": endpoint, "Message": "x"}),
                               (other.delete_endpoint, {"EndpointArn": endpoint}),
                               (other.delete_platform_application, {"PlatformApplicationArn": application})):
                refused(call, **more)
        equal(mine.get_platform_application_attributes(PlatformApplicationArn=application)["Attributes"]["Enabled"], "true")
        equal(len(mine.list_endpoints_by_platform_application(PlatformApplicationArn=application)["Endpoints"]), 1)
        for call, more in ((client("sns", "AKIACAROL").get_endpoint_attributes, {"EndpointArn": endpoint}),
                           (client("sns", "AKIACAROL").publish, {"TargetArn": endpoint, "Message": "x"})):
            assert refused(call, **more) != "allowed", more

    def protection_of_data_has_rights_of_its_own():
        topic, _ = subscribed()
        document = json.dumps({"Name": "p", "Version": "2021-06-01", "Statement": []})
        session = of_session("sns", assume("task", Policy=json.dumps(policy(allow("sns:SetTopicAttributes", "sns:GetTopicAttributes")))))
        is_refused(refused(session.put_data_protection_policy, ResourceArn=topic, DataProtectionPolicy=document))
        is_refused(refused(session.get_data_protection_policy, ResourceArn=topic))
        session = of_session("sns", assume("task", Policy=json.dumps(policy(allow("sns:PutDataProtectionPolicy", "sns:GetDataProtectionPolicy")))))
        equal(refused(session.put_data_protection_policy, ResourceArn=topic, DataProtectionPolicy=document), "allowed")
        equal(refused(session.get_data_protection_policy, ResourceArn=topic), "allowed")
        is_refused(refused(session.get_topic_attributes, TopicArn=topic))

    def dead_letters_of_a_subscription_stay_in_its_account():
        """carol subscribes her queue to alice's topic; her dead letters may not go to a queue of alice."""
        root = client("sns", "AKIAROOTA")
        topic = root.create_topic(Name="t-" + uuid.uuid4().hex[:8])["TopicArn"]
        root.set_topic_attributes(TopicArn=topic, AttributeName="Policy", AttributeValue=json.dumps(policy(
            dict(allow("sns:Subscribe", resource=topic), Principal={"AWS": B}))))
        mine, _ = make_queue()
        hers, _ = make_queue(key="AKIAROOTB")
        code = refused(client("sns", "AKIACAROL").subscribe, TopicArn=topic, Protocol="sqs", Endpoint=queue_arn(hers, B),
                       Attributes={"RedrivePolicy": json.dumps({"deadLetterTargetArn": queue_arn(mine)})})
        equal(code, "InvalidParameter")
        other, _ = make_queue(key="AKIAROOTB")
        equal(refused(client("sns", "AKIACAROL").subscribe, TopicArn=topic, Protocol="sqs", Endpoint=queue_arn(hers, B),
                      Attributes={"RedrivePolicy": json.dumps({"deadLetterTargetArn": queue_arn(other, B)})}), "allowed")

    # ---- Beside the API -----------------------------------------------------------------------------------------------

    def admin_paths_on_the_public_port():
        for path in ("/_fanfare/state", "/_fanfare/captured", "/_fanfare/clock", "/metrics", "/_fanfare/chaos"):
            for method in ("GET", "POST"):
                one = request(method=method, path=path)
                one.fields = one.fields[:1]
                assert one.send(False)[0] in (403, 404), path

    def admin_port_for_a_name_that_was_pointed_here():
        address = urllib.parse.urlsplit(cases.SERVER.urls["admin"])
        for host, origin, wanted in (("evil.example:%d" % address.port, None, 421), (address.netloc, "http://evil.example", 403),
                                     (address.netloc, "http://localhost:3000", 403), (address.netloc, None, 200), ("localhost", None, 200)):
            connection = http.client.HTTPConnection(address.hostname, address.port, timeout=30)
            connection.request("GET", "/_fanfare/captured", headers=dict({"Host": host}, **({"Origin": origin} if origin else {})))
            equal((host, origin, connection.getresponse().status), (host, origin, wanted))
            connection.close()

    def pages_of_foreign_origins_in_development():
        address = urllib.parse.urlsplit(cases.OPEN.endpoint)
        for fields, wanted in (({"Origin": "https://evil.example"}, 403), ({"Sec-Fetch-Site": "cross-site"}, 403), ({}, 200), ({"Origin": "http://localhost:3000"}, 200)):
            connection = http.client.HTTPConnection(address.hostname, address.port, timeout=30)
            connection.request("GET", "/?Action=ListQueues", headers=fields)
            equal((fields, connection.getresponse().status), (fields, wanted))
            connection.close()

    def certificate_is_read_and_no_more():
        path = "/SimpleNotificationService-x.pem"
        for method in ("GET", "POST"):
            one = request(method=method, path=path + "/../" + A, body="")
            one.fields = one.fields[:1]
            assert one.send(False)[0] in (403, 404)

    def edge_takes_no_development_tokens():
        address = urllib.parse.urlsplit(cases.SERVER.urls["edge"])
        for token in ("dev:alice:docs", "dev-service"):
            connection = http.client.HTTPConnection(address.hostname, address.port, timeout=30)
            connection.request("GET", "/v1/workspaces/docs/inbox", headers={"Authorization": "Bearer " + token})
            assert connection.getresponse().status in (401, 403, 404)
            connection.close()

    found = dict(locals())
    for name, check in found.items():
        if callable(check) and getattr(check, "__code__", None) and check.__code__.co_argcount == 0 and check.__qualname__.startswith("attacks.<locals>."):
            yield "attack: " + name, check
