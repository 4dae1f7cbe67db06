"""Queues as such: make, find, list, tag, delete. [SQS CreateQueue, GetQueueUrl, ListQueues, DeleteQueue, TagQueue]"""

from kit import *  # noqa: F403

NAME_RULE = "Can only include alphanumeric characters, hyphens, or underscores. 1 to 80 in length"
FIFO_NAME_RULE = (
    "The name of a FIFO queue can only include alphanumeric characters, hyphens, or underscores, must end with "
    ".fifo suffix and be 1 to 80 in length."
)


# --- Names --------------------------------------------------------------------------------------------------------------


def name_is_accepted(name):
    url = call("CreateQueue", QueueName=name)["QueueUrl"]
    equal(url, "%s/%s/%s" % (ENDPOINT, ACCOUNT, name))


for what, made in {
    "of one character": lambda: "z",
    "of 80 characters": lambda: fresh().ljust(80, "x"),
    "with hyphens and underscores": lambda: fresh("-_-"),
    "that begins with a digit": lambda: "0" + fresh(),
    "in capitals": lambda: fresh().upper(),
}.items():
    row("create: a name %s is accepted" % what, lambda make=made: name_is_accepted(make()))

for what, name in {
    "with a space": "a b",
    "with a dot": "a.b",
    "with a slash": "a/b",
    "with an umlaut": "\u00e4",
    "of 81 characters": "x" * 81,
    "with a colon": "a:b",
    "that only ends like a FIFO queue's": "x" * 77 + ".fif",
}.items():
    row(
        "create: a name %s is refused" % what,
        refused,
        "InvalidParameterValue",
        NAME_RULE,
        "CreateQueue",
        QueueName=name,
    )

row(
    "create: a FIFO name without FifoQueue is refused",
    refused,
    "InvalidParameterValue",
    NAME_RULE,
    "CreateQueue",
    QueueName=fresh(".fifo"),
)
row(
    "create: FifoQueue without a FIFO name is refused",
    refused,
    "InvalidParameterValue",
    FIFO_NAME_RULE,
    "CreateQueue",
    QueueName=fresh(),
    Attributes={"FifoQueue": "true"},
)
row(
    "create: a FIFO name of 81 characters is refused",
    refused,
    "InvalidParameterValue",
    None,
    "CreateQueue",
    QueueName="x" * 76 + ".fifo",
    Attributes={"FifoQueue": "true"},
)
row(
    "create: a FIFO name of 80 characters is accepted",
    lambda: Queue(fifo=True, name=fresh().ljust(75, "x") + ".fifo"),
)
row("create: an empty name is refused", refused, "InvalidParameterValue", None, "CreateQueue", QueueName="")
row("create: no name is refused", refused, "InvalidParameterValue", None, "CreateQueue")


# --- Making the same queue twice -----------------------------------------------------------------------------------------


@case
def create_again_without_attributes_finds_the_queue():
    q = Queue(VisibilityTimeout=10, DelaySeconds=1)
    equal(call("CreateQueue", QueueName=q.name)["QueueUrl"], q.url)


@case
def create_again_with_some_of_the_attributes_finds_the_queue():
    q = Queue(VisibilityTimeout=10, DelaySeconds=1)
    equal(call("CreateQueue", QueueName=q.name, Attributes={"DelaySeconds": "1"})["QueueUrl"], q.url)


@case
def create_again_with_a_default_value_finds_the_queue():
    q = Queue()
    equal(
        call(
            "CreateQueue",
            QueueName=q.name,
            Attributes={"VisibilityTimeout": "30", "MessageRetentionPeriod": "345600"},
        )["QueueUrl"],
        q.url,
    )


@case
def create_again_with_tags_only_finds_the_queue_and_keeps_its_tags():
    q = Queue(tags={"a": "1"})
    equal(call("CreateQueue", QueueName=q.name, tags={"a": "2"})["QueueUrl"], q.url)
    equal(q("ListQueueTags"), {"Tags": {"a": "1"}})


@case
def create_again_after_an_attribute_was_set_compares_with_the_new_value():
    q = Queue(DelaySeconds=1)
    q.set(DelaySeconds=2)
    refused("QueueAlreadyExists", None, "CreateQueue", QueueName=q.name, Attributes={"DelaySeconds": "1"})
    equal(call("CreateQueue", QueueName=q.name, Attributes={"DelaySeconds": "2"})["QueueUrl"], q.url)


def differing_attribute_is_refused(attribute, other, fifo=False):
    q = Queue(fifo=fifo)
    given = {attribute: other}
    if fifo:
        given["FifoQueue"] = "true"
    refused(
        "QueueAlreadyExists",
        "A queue already exists with the same name and a different value for attribute " + attribute,
        "CreateQueue",
        QueueName=q.name,
        Attributes=given,
    )


for attribute, other in {
    "VisibilityTimeout": "31",
    "DelaySeconds": "1",
    "MaximumMessageSize": "1024",
    "MessageRetentionPeriod": "60",
    "ReceiveMessageWaitTimeSeconds": "1",
    "SqsManagedSseEnabled": "false",
    "KmsMasterKeyId": "alias/mine",
    "Policy": json.dumps(
        {
            "Version": "2012-10-17",
            "Statement": [{"Effect": "Allow", "Principal": "*", "Action": "sqs:SendMessage", "Resource": "*"}],
        }
    ),
    "RedriveAllowPolicy": '{"redrivePermission":"denyAll"}',
}.items():
    row(
        "create: a queue that has another %s is refused" % attribute, differing_attribute_is_refused, attribute, other
    )
for attribute, other in {"ContentBasedDeduplication": "true", "DeduplicationScope": "messageGroup"}.items():
    row(
        "create: a FIFO queue that has another %s is refused" % attribute,
        differing_attribute_is_refused,
        attribute,
        other,
        fifo=True,
    )


@case
def create_again_with_another_redrive_policy_is_refused():
    dead, other = Queue(), Queue()
    q = Queue(RedrivePolicy=redrive(dead, 3))
    equal(
        call("CreateQueue", QueueName=q.name, Attributes={"RedrivePolicy": json.dumps(redrive(dead, 3))})["QueueUrl"],
        q.url,
    )
    for policy in (redrive(dead, 4), redrive(other, 3)):
        refused(
            "QueueAlreadyExists",
            "A queue already exists with the same name and a different value for attribute RedrivePolicy",
            "CreateQueue",
            QueueName=q.name,
            Attributes={"RedrivePolicy": json.dumps(policy)},
        )


# --- Finding ---------------------------------------------------------------------------------------------------------------


@case
def get_queue_url_finds_by_name():
    q = Queue()
    equal(call("GetQueueUrl", QueueName=q.name), {"QueueUrl": q.url})


@case
def get_queue_url_takes_the_owner():
    q = Queue()
    equal(call("GetQueueUrl", QueueName=q.name, QueueOwnerAWSAccountId=ACCOUNT), {"QueueUrl": q.url})
    refused(
        SQS + "NonExistentQueue",
        no_such_queue(),
        "GetQueueUrl",
        QueueName=q.name,
        QueueOwnerAWSAccountId="123456789012",
    )


row(
    "get_queue_url: a queue that is not there",
    refused,
    SQS + "NonExistentQueue",
    no_such_queue(),
    "GetQueueUrl",
    QueueName=fresh(),
)
row("get_queue_url: no name", refused, "InvalidParameterValue", None, "GetQueueUrl")


@case
def get_queue_url_minds_capitals():
    q = Queue()
    refused(SQS + "NonExistentQueue", no_such_queue(), "GetQueueUrl", QueueName=q.name.upper())


ON_A_QUEUE = {
    "SendMessage": {"MessageBody": "x"},
    "ReceiveMessage": {},
    "DeleteMessage": {"ReceiptHandle": "x"},
    "ChangeMessageVisibility": {"ReceiptHandle": "x", "VisibilityTimeout": 1},
    "GetQueueAttributes": {"AttributeNames": ["All"]},
    "SetQueueAttributes": {"Attributes": {"DelaySeconds": "1"}},
    "PurgeQueue": {},
    "DeleteQueue": {},
    "ListQueueTags": {},
    "TagQueue": {"Tags": {"a": "1"}},
    "UntagQueue": {"TagKeys": ["a"]},
    "ListDeadLetterSourceQueues": {},
    "SendMessageBatch": {"Entries": [{"Id": "1", "MessageBody": "x"}]},
}


def missing_queue(operation, members):
    if "ReceiptHandle" in members:
        q = Queue()
        q.send()
        members = dict(members, ReceiptHandle=q.receive_one()["ReceiptHandle"])
    refused(
        SQS + "NonExistentQueue",
        no_such_queue(),
        operation,
        QueueUrl="%s/%s/%s" % (ENDPOINT, ACCOUNT, fresh()),
        **members
    )


for operation, members in ON_A_QUEUE.items():
    row("%s: a queue that is not there" % operation, missing_queue, operation, members)
for operation, members in ON_A_QUEUE.items():
    row("%s: no queue URL" % operation, refused, "MissingParameter", missing("QueueUrl"), operation, **members)
for what, url in {
    "a path without an account": "localhost/queue",
    "a URL without an account": "http://localhost/queue",
    "an ARN": arn("q"),
    "a URL with a short account": "http://localhost/123/queue",
    "a URL with letters for the account": "http://localhost/abcdefabcdef/q",
}.items():
    row(
        "queue URL: %s is no address" % what,
        refused,
        "InvalidAddress",
        "The address %s is not valid for this endpoint." % url,
        "SendMessage",
        QueueUrl=url,
        MessageBody="x",
    )


for what, url in {
    "nothing but a host": "http://whatever-incorrect-queue-address",
    "a host and a slash": "http://localhost/",
    "a name that no queue has": "nonsense-" + fresh(),
}.items():
    row(
        "queue URL: %s is no queue" % what,
        refused,
        SQS + "NonExistentQueue",
        no_such_queue(),
        "SendMessage",
        QueueUrl=url,
        MessageBody="x",
    )


def same_queue(rewrite):
    q = Queue()
    call("SendMessage", QueueUrl=rewrite(q), MessageBody="found")
    equal(q.bodies(), ["found"])


for what, rewrite in {
    "that is the name alone": lambda q: q.name,
    "with a foreign host": lambda q: "https://sqs.us-east-1.amazonaws.com/%s/%s" % (ACCOUNT, q.name),
    "with the legacy host": lambda q: "https://queue.amazonaws.com/%s/%s" % (ACCOUNT, q.name),
    "with another port": lambda q: "http://localhost:9999/%s/%s" % (ACCOUNT, q.name),
    "with a slash at its end": lambda q: q.url + "/",
    "with a folder before the account": lambda q: "http://proxy/sqs/%s/%s" % (ACCOUNT, q.name),
    "without a host": lambda q: "/%s/%s" % (ACCOUNT, q.name),
}.items():
    row("queue URL: %s names the same queue" % what, same_queue, rewrite)


# --- Lists -----------------------------------------------------------------------------------------------------------------


def several(count, prefix):
    return [Queue(name="%s-%02d" % (prefix, i)).url for i in range(count)]


@case
def list_queues_is_sorted_and_takes_a_prefix():
    prefix = fresh()
    urls = several(3, prefix)
    Queue(name="x" + prefix)
    equal(call("ListQueues", QueueNamePrefix=prefix), {"QueueUrls": urls})


@case
def list_queues_without_a_match_has_no_list():
    equal(call("ListQueues", QueueNamePrefix=fresh()), {})


@case
def list_queues_gives_no_token_unless_a_limit_was_given():
    prefix = fresh()
    several(3, prefix)
    equal(list(call("ListQueues", QueueNamePrefix=prefix)), ["QueueUrls"])


@case
def list_queues_in_pages_gives_each_queue_once():
    prefix = fresh()
    urls = several(5, prefix)
    pages, token = [], None
    while True:
        page = call("ListQueues", QueueNamePrefix=prefix, MaxResults=2, **({"NextToken": token} if token else {}))
        pages.append(page["QueueUrls"])
        token = page.get("NextToken")
        if token is None:
            break
        equal(base64.b64decode(token).decode(), page["QueueUrls"][-1])  # as the real service's was seen to be
    equal(pages, [urls[0:2], urls[2:4], urls[4:5]])


@case
def list_queues_whose_last_page_is_full_gives_no_token():
    prefix = fresh()
    urls = several(2, prefix)
    equal(call("ListQueues", QueueNamePrefix=prefix, MaxResults=2), {"QueueUrls": urls})


for limit in (0, -1, 1001):
    row(
        "list_queues: a limit of %d is refused" % limit,
        refused,
        "InvalidParameterValue",
        None,
        "ListQueues",
        MaxResults=limit,
    )
row("list_queues: a limit of 1000 is accepted", call, "ListQueues", MaxResults=1000)
row(
    "list_queues: a token that is none is refused",
    refused,
    "InvalidParameterValue",
    "Invalid or expired next token.",
    "ListQueues",
    MaxResults=1,
    NextToken="%%%",
)


@case
def a_deleted_queue_is_listed_no_more():
    prefix = fresh()
    urls = several(2, prefix)
    call("DeleteQueue", QueueUrl=urls[0])
    equal(call("ListQueues", QueueNamePrefix=prefix), {"QueueUrls": urls[1:]})


# --- Deleting --------------------------------------------------------------------------------------------------------------


@case
def delete_queue_says_nothing_and_the_queue_is_gone():
    q = Queue()
    equal(q("DeleteQueue"), {})
    refused(SQS + "NonExistentQueue", no_such_queue(), "GetQueueUrl", QueueName=q.name)
    q.refuses(SQS + "NonExistentQueue", no_such_queue(), "DeleteQueue")


@case
def a_name_is_free_again_only_after_60_seconds():
    q = Queue()
    q("DeleteQueue")
    refused(
        SQS + "QueueDeletedRecently",
        "You must wait 60 seconds after deleting a queue before you can create another with the same name.",
        "CreateQueue",
        QueueName=q.name,
    )


@alone
def a_queue_made_again_after_60_seconds_is_empty_and_new():
    q = Queue(VisibilityTimeout=5, tags={"a": "1"})
    q.send("of the first life")
    old = q.receive_one(VisibilityTimeout=0)
    q("DeleteQueue")
    advance("59s")
    refused(SQS + "QueueDeletedRecently", None, "CreateQueue", QueueName=q.name)
    advance("2s")
    again = Queue(name=q.name)
    equal(again.url, q.url)
    equal(again.receive(), [])
    equal(again.attribute("VisibilityTimeout"), "30")
    equal(again("ListQueueTags"), {})
    again.refuses("ReceiptHandleIsInvalid", None, "DeleteMessage", ReceiptHandle=old["ReceiptHandle"])


@alone
def a_long_poll_ends_when_its_queue_is_deleted():
    q = Queue()
    poll = long_poll(
        lambda: refused(
            SQS + "NonExistentQueue", no_such_queue(), "ReceiveMessage", QueueUrl=q.url, WaitTimeSeconds=20
        )
    )
    begin = time.monotonic()
    q("DeleteQueue")
    poll.result()
    assert time.monotonic() - begin < 5


# --- Purging ---------------------------------------------------------------------------------------------------------------


@case
def purge_takes_visible_messages_those_in_flight_and_delayed_ones():
    q = Queue()
    q.send_many("visible", "in flight")
    handle = q.receive_one()
    q.send("delayed", DelaySeconds=60)
    equal(q.counts(), (1, 1, 1))
    equal(q("PurgeQueue"), {})
    equal(q.counts(), (0, 0, 0))
    equal(q.receive(10), [])
    q.delete(handle)  # a good handle of a message that is gone


@case
def purge_is_refused_within_60_seconds():
    q = Queue()
    q("PurgeQueue")
    q.refuses(
        SQS + "PurgeQueueInProgress",
        "Only one PurgeQueue operation on %s is allowed every 60 seconds." % q.name,
        "PurgeQueue",
    )


@alone
def purge_is_allowed_again_after_60_seconds():
    q = Queue()
    q("PurgeQueue")
    advance("59s")
    q.refuses(SQS + "PurgeQueueInProgress", None, "PurgeQueue")
    advance("2s")
    equal(q("PurgeQueue"), {})


@case
def what_is_sent_after_a_purge_stays():
    q = Queue()
    q("PurgeQueue")
    q.send("later")
    equal(q.bodies(), ["later"])


# --- Tags ------------------------------------------------------------------------------------------------------------------


@case
def a_queue_without_tags_lists_none():
    equal(Queue()("ListQueueTags"), {})


@case
def tags_given_at_creation_are_listed():
    equal(Queue(tags={"team": "search", "empty": ""})("ListQueueTags"), {"Tags": {"team": "search", "empty": ""}})


@case
def tag_queue_adds_and_replaces():
    q = Queue(tags={"a": "1", "b": "2"})
    equal(q("TagQueue", Tags={"b": "3", "c": "4"}), {})
    equal(q("ListQueueTags"), {"Tags": {"a": "1", "b": "3", "c": "4"}})


@case
def untag_queue_removes_and_does_not_mind_unknown_keys():
    q = Queue(tags={"a": "1", "b": "2"})
    equal(q("UntagQueue", TagKeys=["a", "nosuch"]), {})
    equal(q("ListQueueTags"), {"Tags": {"b": "2"}})
    q("UntagQueue", TagKeys=["b"])
    equal(q("ListQueueTags"), {})


@case
def tag_keys_mind_capitals():
    q = Queue(tags={"a": "1"})
    q("TagQueue", Tags={"A": "2"})
    equal(q("ListQueueTags"), {"Tags": {"a": "1", "A": "2"}})


@case
def fifty_tags_are_accepted_and_one_more_is_not():
    q = Queue(tags={"k%d" % i: "v" for i in range(50)})
    equal(len(q("ListQueueTags")["Tags"]), 50)
    q.refuses(
        "InvalidParameterValue", "Too many tags added for queue. The limit is 50.", "TagQueue", Tags={"one more": "v"}
    )
    q("TagQueue", Tags={"k0": "replaced"})


def tag_is_accepted(key, value):
    q = Queue(tags={key: value})
    equal(q("ListQueueTags"), {"Tags": {key: value}})


row("tag: a key of 128 characters", tag_is_accepted, "\u00e9" * 128, "v")
row("tag: a value of 256 characters", tag_is_accepted, "k", "\u4e2d" * 256)
row("tag: signs that tags may have", tag_is_accepted, "a:b/c=d+e-f@g h_i.j", "\u00fc + = . _ : / @")
for what, tags in {
    "an empty key": {"": "v"},
    "a key of 129 characters": {"k" * 129: "v"},
    "a value of 257 characters": {"k": "v" * 257},
    "a reserved key": {"aws:mine": "v"},
    "a reserved key in capitals": {"AWS:mine": "v"},
    "a reserved value": {"k": "aws:mine"},
    "a key with an exclamation mark": {"k!": "v"},
    "a value with a comma": {"k": "a,b"},
    "a value with a symbol outside ASCII": {"k": "\u20ac"},
}.items():
    row(
        "tag: %s is refused" % what,
        lambda tags=tags: Queue().refuses("InvalidParameterValue", None, "TagQueue", Tags=tags),
    )
    row(
        "tag at creation: %s is refused" % what,
        refused,
        "InvalidParameterValue",
        None,
        "CreateQueue",
        QueueName=fresh(),
        tags=tags,
    )
row("tag_queue: no tags", lambda: Queue().refuses("MissingParameter", missing("Tags"), "TagQueue"))
row("untag_queue: no keys", lambda: Queue().refuses("MissingParameter", missing("TagKeys"), "UntagQueue"))
