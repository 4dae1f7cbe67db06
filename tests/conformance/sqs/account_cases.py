"""Accounts and regions as keys, and what one account may do with another's queue. [SQS access policies]"""

from kit import *  # noqa: F403

MINE, OTHER = "111122223333", "444455556666"
mine, other, elsewhere = make_client(MINE), make_client(OTHER), make_client(MINE, "eu-west-1")


def allow(queue, *actions, principal=OTHER, **members):
    queue.set(
        Policy={
            "Version": "2012-10-17",
            "Statement": [
                dict(
                    {
                        "Effect": "Allow",
                        "Principal": {"AWS": principal},
                        "Action": list(actions),
                        "Resource": arn(queue.name, MINE),
                    },
                    **members
                )
            ],
        }
    )


@case
def a_queue_belongs_to_the_account_of_the_access_key():
    q = Queue(client=mine)
    equal(q.url, "%s/%s/%s" % (ENDPOINT, MINE, q.name))
    equal(q.attribute("QueueArn"), arn(q.name, MINE))


@case
def one_name_in_two_accounts_is_two_queues():
    name = fresh()
    a, b = Queue(client=mine, name=name), Queue(client=other, name=name)
    assert a.url != b.url
    a.send("in a")
    equal(b.receive(), [])
    equal(a.bodies(), ["in a"])


@case
def one_name_in_two_regions_is_two_queues():
    name = fresh()
    a = Queue(client=mine, name=name)
    b = Queue(client=elsewhere, name=name)
    equal(b.attribute("QueueArn"), arn(name, MINE, "eu-west-1"))
    a.send("in a")
    equal(b.receive(), [])


@case
def queues_of_other_accounts_and_regions_are_not_listed():
    name = fresh()
    Queue(client=mine, name=name)
    equal(call("ListQueues", other, QueueNamePrefix=name), {})
    equal(call("ListQueues", elsewhere, QueueNamePrefix=name), {})


@case
def a_queue_of_another_region_is_not_found():
    q = Queue(client=mine)
    refused(SQS + "NonExistentQueue", no_such_queue(), "GetQueueUrl", elsewhere, QueueName=q.name)


@case
def a_bare_name_is_the_queue_of_the_callers_account_and_region():
    name = fresh()
    Queue(client=mine, name=name)
    for client in (other, elsewhere):
        refused(SQS + "NonExistentQueue", no_such_queue(), "SendMessage", client, QueueUrl=name, MessageBody="x")
    Queue(client=other, name=name)
    Queue(client=elsewhere, name=name)
    for client, owner, region in ((mine, MINE, "us-east-1"), (other, OTHER, "us-east-1"), (elsewhere, MINE, "eu-west-1")):
        got = call("GetQueueAttributes", client, QueueUrl=name, AttributeNames=["QueueArn"])
        equal(got, {"Attributes": {"QueueArn": arn(name, owner, region)}})


ON_A_QUEUE = {
    "SendMessage": {"MessageBody": "x"},
    "ReceiveMessage": {},
    "GetQueueAttributes": {"AttributeNames": ["All"]},
    "PurgeQueue": {},
}


def another_account(operation, members):
    q = Queue(client=mine)
    refused("AccessDenied", None, operation, other, QueueUrl=q.url, **members)
    allow(q, "sqs:" + operation)
    call(operation, other, QueueUrl=q.url, **members)


for operation, members in ON_A_QUEUE.items():
    row("accounts: %s on another account's queue needs its policy" % operation, another_account, operation, members)


@case
def a_policy_for_one_action_allows_no_other():
    q = Queue(client=mine)
    allow(q, "sqs:SendMessage")
    call("SendMessage", other, QueueUrl=q.url, MessageBody="x")
    refused("AccessDenied", None, "ReceiveMessage", other, QueueUrl=q.url)


@case
def a_policy_for_another_account_does_not_help():
    q = Queue(client=mine)
    allow(q, "sqs:*", principal="777788889999")
    refused("AccessDenied", None, "SendMessage", other, QueueUrl=q.url, MessageBody="x")


@case
def a_policy_for_everybody_helps():
    q = Queue(client=mine)
    allow(q, "sqs:SendMessage", principal="*")
    call("SendMessage", other, QueueUrl=q.url, MessageBody="x")


@case
def an_allowed_batch_goes_by_the_single_action():
    q = Queue(client=mine)
    allow(q, "sqs:SendMessage")
    equal(
        len(call("SendMessageBatch", other, QueueUrl=q.url, Entries=[{"Id": "a", "MessageBody": "x"}])["Successful"]),
        1,
    )


@case
def a_denial_holds_for_the_owner_too():
    q = Queue(client=mine)
    q.set(
        Policy={
            "Version": "2012-10-17",
            "Statement": [{"Effect": "Deny", "Principal": "*", "Action": "sqs:SendMessage", "Resource": "*"}],
        }
    )
    refusal = q.refuses("AccessDenied", None, "SendMessage", MessageBody="x")
    assert "explicit deny" in refusal.message, refusal.message


@case
def a_condition_of_a_policy_holds():
    q = Queue(client=mine)
    allow(q, "sqs:SendMessage", Condition={"Bool": {"aws:SecureTransport": "false"}})
    call("SendMessage", other, QueueUrl=q.url, MessageBody="x")
    allow(q, "sqs:SendMessage", Condition={"Bool": {"aws:SecureTransport": "true"}})
    refused("AccessDenied", None, "SendMessage", other, QueueUrl=q.url, MessageBody="x")


NEVER = {
    "DeleteQueue": {},
    "SetQueueAttributes": {"Attributes": {"DelaySeconds": "1"}},
    "ListQueueTags": {},
    "TagQueue": {"Tags": {"a": "1"}},
    "UntagQueue": {"TagKeys": ["a"]},
}


def never_across_accounts(operation, members):
    q = Queue(client=mine)
    allow(q, "sqs:*")
    call("SendMessage", other, QueueUrl=q.url, MessageBody="x")
    refused("AccessDenied", None, operation, other, QueueUrl=q.url, **members)


for operation, members in NEVER.items():
    row("accounts: %s is never allowed across accounts" % operation, never_across_accounts, operation, members)


@case
def the_sender_of_another_account_is_shown():
    q = Queue(client=mine)
    allow(q, "sqs:SendMessage")
    call("SendMessage", other, QueueUrl=q.url, MessageBody="x")
    equal(q.receive_one(AttributeNames=["SenderId"])["Attributes"], {"SenderId": OTHER})


@case
def an_owner_finds_the_url_of_another_accounts_queue_when_allowed():
    q = Queue(client=mine)
    allow(q, "sqs:GetQueueUrl")
    equal(call("GetQueueUrl", other, QueueName=q.name, QueueOwnerAWSAccountId=MINE), {"QueueUrl": q.url})
