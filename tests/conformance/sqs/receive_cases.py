"""Receiving, deleting, changing visibility. [SQS ReceiveMessage, DeleteMessage, ChangeMessageVisibility]"""

from kit import *  # noqa: F403

# --- Parameters ------------------------------------------------------------------------------------------------------------

for value in (0, -1, 11, 100):
    row(
        "receive: MaxNumberOfMessages=%d is refused" % value,
        lambda value=value: Queue().refuses(
            "InvalidParameterValue",
            invalid(value, "MaxNumberOfMessages", "Must be between 1 and 10, if provided."),
            "ReceiveMessage",
            MaxNumberOfMessages=value,
        ),
    )
for value in (-1, 21):
    row(
        "receive: WaitTimeSeconds=%d is refused" % value,
        lambda value=value: Queue().refuses(
            "InvalidParameterValue",
            invalid(value, "WaitTimeSeconds", "Must be >= 0 and <= 20, if provided."),
            "ReceiveMessage",
            WaitTimeSeconds=value,
        ),
    )
for value in (-1, 43_201):
    row(
        "receive: VisibilityTimeout=%d is refused" % value,
        lambda value=value: Queue().refuses(
            "InvalidParameterValue",
            invalid(value, "VisibilityTimeout", "Must be >= 0 and <= 43200, if provided."),
            "ReceiveMessage",
            VisibilityTimeout=value,
        ),
    )
row("receive: VisibilityTimeout=43200", lambda: equal(Queue().receive(VisibilityTimeout=43_200), []))
row(
    "receive: an unknown system attribute is refused",
    lambda: Queue().refuses(
        "InvalidAttributeName", "Unknown Attribute Nonsense.", "ReceiveMessage", AttributeNames=["Nonsense"]
    ),
)
row(
    "receive: an attempt id on a standard queue is refused",
    lambda: Queue().refuses(
        "InvalidParameterValue",
        "The request include parameter ReceiveRequestAttemptId which is not valid for this queue type",
        "ReceiveMessage",
        ReceiveRequestAttemptId="a",
    ),
)


@case
def an_empty_receive_has_no_list():
    equal(Queue()("ReceiveMessage"), {})
    equal(
        Queue()("ReceiveMessage", MaxNumberOfMessages=10, AttributeNames=["All"], MessageAttributeNames=["All"]), {}
    )


@case
def one_message_comes_unless_more_are_asked_for():
    q = Queue()
    q.send_many("a", "b", "c")
    equal(len(q("ReceiveMessage")["Messages"]), 1)


@case
def at_most_so_many_come_as_were_asked_for():
    q = Queue()
    q.send_many(*"abcdefghijkl")
    equal(len(q.receive(4)), 4)
    equal(len(q.receive(10)), 8)
    equal(q.receive(10), [])


@case
def a_message_has_exactly_these_members():
    q = Queue()
    q.send("x", MessageAttributes={"a": text("1")})
    equal(sorted(q.receive_one()), ["Body", "MD5OfBody", "MessageId", "ReceiptHandle"])


# --- Which message attributes come -------------------------------------------------------------------------------------------

SENT = {"Help.Me": text("Me"), "Hello": text("There"), "General": text("Kenobi")}


def selected(names, expected):
    q = Queue()
    q.send("msg", MessageAttributes=SENT)
    message = q.receive_one(**({} if names is None else {"MessageAttributeNames": names}))
    wanted = {name: SENT[name] for name in expected}
    equal(message.get("MessageAttributes", {}), wanted)
    equal(message.get("MD5OfMessageAttributes"), md5_of_attributes(wanted) if wanted else None)


for what, (names, expected) in {
    "no names": (None, []),
    "an empty list": ([], []),
    "All": (["All"], SENT),
    "an asterisk": (["*"], SENT),
    "a dot and an asterisk": ([".*"], SENT),
    "unknown names": (["Foo", "Help"], []),
    "two names": (["Hello", "General"], ["Hello", "General"]),
    "a known and an unknown name": (["Foo", "Hello"], ["Hello"]),
    "a prefix": (["Hel.*"], ["Hello", "Help.Me"]),
    "a prefix with its dot": (["Help.*"], ["Help.Me"]),
    "a name in small letters": (["hello"], []),
    "All beside a name": (["Foo", "All"], SENT),
    "a reserved prefix": (["AWS."], []),
    "a name that cannot be": (["..foo"], []),
    "a name twice": (["Hello", "Hello"], ["Hello"]),
}.items():
    row("receive: message attributes for %s" % what, selected, names, list(expected))


# --- Which system attributes come ------------------------------------------------------------------------------------------

STANDARD_SYSTEM = ["ApproximateFirstReceiveTimestamp", "ApproximateReceiveCount", "SenderId", "SentTimestamp"]


def system_selected(expected, **lists):
    q = Queue()
    q.send()
    message = q.receive_one(**lists)
    equal(sorted(message.get("Attributes", {})), sorted(expected))
    equal("Attributes" in message, bool(expected))


row("receive: no system attributes unless asked for", system_selected, [])
row("receive: AttributeNames=All", system_selected, STANDARD_SYSTEM, AttributeNames=["All"])
for name in STANDARD_SYSTEM:
    row("receive: AttributeNames=%s" % name, system_selected, [name], AttributeNames=[name])
row(
    "receive: what a message has not is left out",
    system_selected,
    ["SenderId"],
    AttributeNames=[
        "SenderId",
        "SequenceNumber",
        "MessageDeduplicationId",
        "MessageGroupId",
        "AWSTraceHeader",
        "DeadLetterQueueSourceArn",
    ],
)
row("receive: names of queue attributes select nothing", system_selected, [], AttributeNames=["Policy", "QueueArn"])
if JSON:  # Debian's botocore is older than this member
    row(
        "receive: MessageSystemAttributeNames=All",
        system_selected,
        STANDARD_SYSTEM,
        MessageSystemAttributeNames=["All"],
    )
    for name in STANDARD_SYSTEM:
        row(
            "receive: MessageSystemAttributeNames=%s" % name,
            system_selected,
            [name],
            MessageSystemAttributeNames=[name],
        )
    row(
        "receive: both lists together",
        system_selected,
        ["SenderId", "SentTimestamp"],
        AttributeNames=["SenderId"],
        MessageSystemAttributeNames=["SentTimestamp"],
    )
    row(
        "receive: All in one list and one name in the other",
        system_selected,
        STANDARD_SYSTEM,
        AttributeNames=["All"],
        MessageSystemAttributeNames=["SenderId"],
    )
    row(
        "receive: an unknown name in MessageSystemAttributeNames is refused",
        lambda: Queue().refuses(
            "InvalidAttributeName", None, "ReceiveMessage", MessageSystemAttributeNames=["Nonsense"]
        ),
    )


@case
def counts_and_times_of_a_message():
    q = Queue()
    before = time.time()
    q.send()
    q.receive_one(VisibilityTimeout=0)
    attributes = q.receive_one(AttributeNames=["All"])["Attributes"]
    equal(attributes["ApproximateReceiveCount"], "2")
    sent, first = int(attributes["SentTimestamp"]), int(attributes["ApproximateFirstReceiveTimestamp"])
    assert before * 1000 - 1 <= sent <= first, (before, sent, first)


@case
def the_first_receive_keeps_its_time():
    q = Queue()
    q.send()
    first = q.receive_one(AttributeNames=["ApproximateFirstReceiveTimestamp"], VisibilityTimeout=0)["Attributes"]
    for count in range(2, 5):
        attributes = q.receive_one(
            AttributeNames=["ApproximateFirstReceiveTimestamp", "ApproximateReceiveCount"], VisibilityTimeout=0
        )["Attributes"]
        equal(attributes, dict(first, ApproximateReceiveCount=str(count)))


@case
def the_sender_is_the_account_of_a_root():
    q = Queue()
    q.send()
    equal(q.receive_one(AttributeNames=["SenderId"])["Attributes"], {"SenderId": ACCOUNT})


@case
def a_message_keeps_its_id_and_gets_a_new_handle():
    q = Queue()
    sent = q.send()
    seen = [q.receive_one(VisibilityTimeout=0) for _ in range(3)]
    equal({m["MessageId"] for m in seen}, {sent["MessageId"]})
    equal(len({m["ReceiptHandle"] for m in seen}), 3)


# --- Order -----------------------------------------------------------------------------------------------------------------


@case
def messages_come_in_the_order_in_which_they_were_sent():
    q = Queue()
    q.send_many(*"abcdefg")
    equal(q.drain(), list("abcdefg"))


# --- Visibility ------------------------------------------------------------------------------------------------------------


@case
def what_was_received_is_hidden():
    q = Queue()
    q.send()
    q.receive_one()
    equal(q.receive(10), [])


@case
def a_visibility_of_zero_at_receive_hides_nothing():
    q = Queue()
    q.send("x")
    for _ in range(3):
        equal(q.receive_one(VisibilityTimeout=0)["Body"], "x")
    equal(q.counts(), (1, 0, 0))


@case
def a_change_to_zero_shows_the_message_at_once():
    q = Queue()
    q.send("x")
    equal(q.change(q.receive_one(), 0), {})
    equal(q.receive_one()["Body"], "x")


def refused_change(value):
    q = Queue()
    q.send()
    q.refuses(
        "InvalidParameterValue",
        invalid(value, "VisibilityTimeout", "VisibilityTimeout must be an integer between 0 and 43200."),
        "ChangeMessageVisibility",
        ReceiptHandle=q.receive_one()["ReceiptHandle"],
        VisibilityTimeout=value,
    )


for value in (-1, 43_201):
    row("change visibility: %d is refused" % value, refused_change, value)


@case
def change_visibility_needs_a_timeout():
    q = Queue()
    q.send()
    q.refuses(
        "MissingParameter",
        missing("VisibilityTimeout"),
        "ChangeMessageVisibility",
        ReceiptHandle=q.receive_one()["ReceiptHandle"],
    )


@case
def change_visibility_of_a_deleted_message_is_refused():
    q = Queue()
    q.send()
    message = q.receive_one()
    q.delete(message)
    q.refuses(
        "InvalidParameterValue",
        invalid(
            message["ReceiptHandle"],
            "ReceiptHandle",
            "Message does not exist or is not available for visibility timeout change.",
        ),
        "ChangeMessageVisibility",
        ReceiptHandle=message["ReceiptHandle"],
        VisibilityTimeout=10,
    )


# --- Handles ---------------------------------------------------------------------------------------------------------------

BAD_HANDLES = {
    "a word": "garbage",
    "a space": " ",
    "what looks like a handle": "A" * 52,
    "a long text": "x" * 2000,
    "an umlaut": "\u00e4",
}
ON_A_HANDLE = {"DeleteMessage": {}, "ChangeMessageVisibility": {"VisibilityTimeout": 1}}


def not_valid(handle):
    return 'The input receipt handle "%s" is not a valid receipt handle.' % handle[:1024]


for operation, members in ON_A_HANDLE.items():
    for what, handle in BAD_HANDLES.items():
        row(
            "%s: %s is no handle" % (operation, what),
            lambda operation=operation, handle=handle, members=members: Queue().refuses(
                "ReceiptHandleIsInvalid", not_valid(handle), operation, ReceiptHandle=handle, **members
            ),
        )
    row(
        "%s: no handle" % operation,
        lambda operation=operation, members=members: Queue().refuses(
            "MissingParameter", missing("ReceiptHandle"), operation, **members
        ),
    )
    row(
        "%s: an empty handle" % operation,
        lambda operation=operation, members=members: Queue().refuses(
            "MissingParameter", missing("ReceiptHandle"), operation, ReceiptHandle="", **members
        ),
    )


def foreign_handle(operation, members):
    mine, other = Queue(), Queue()
    other.send()
    handle = other.receive_one()["ReceiptHandle"]
    mine.refuses("ReceiptHandleIsInvalid", not_valid(handle), operation, ReceiptHandle=handle, **members)
    equal(other.counts(), (0, 1, 0))


for operation, members in ON_A_HANDLE.items():
    row("%s: the handle of another queue" % operation, foreign_handle, operation, members)


def tampered_handle(operation, members):
    q = Queue()
    q.send()
    handle = q.receive_one()["ReceiptHandle"]
    for at in (0, len(handle) // 2, len(handle) - 1):
        changed = handle[:at] + ("A" if handle[at] != "A" else "B") + handle[at + 1 :]
        q.refuses("ReceiptHandleIsInvalid", not_valid(changed), operation, ReceiptHandle=changed, **members)
    equal(q.counts(), (0, 1, 0))


for operation, members in ON_A_HANDLE.items():
    row("%s: a handle that was changed" % operation, tampered_handle, operation, members)


@case
def delete_says_nothing_and_succeeds_each_time():
    q = Queue()
    q.send()
    message = q.receive_one()
    equal(q.delete(message), {})
    equal(q.delete(message), {})
    equal(q.counts(), (0, 0, 0))


@case
def a_delete_with_a_handle_from_an_earlier_receive_succeeds():
    q = Queue()
    q.send()
    early = q.receive_one(VisibilityTimeout=0)
    q.receive_one()
    equal(q.delete(early), {})


@case
def delete_removes_a_message_that_became_visible_again():
    q = Queue()
    q.send()
    message = q.receive_one(VisibilityTimeout=0)
    equal(q.counts(), (1, 0, 0))
    q.delete(message)
    equal(q.counts(), (0, 0, 0))


# --- Long polls ------------------------------------------------------------------------------------------------------------


@case
def a_long_poll_that_finds_a_message_does_not_wait():
    q = Queue()
    q.send("x")
    begin = time.monotonic()
    equal(q.bodies(WaitTimeSeconds=20), ["x"])
    assert time.monotonic() - begin < 5


@alone
def a_long_poll_wakes_with_the_message_that_arrives():
    q = Queue()
    poll = long_poll(lambda: q.bodies(WaitTimeSeconds=20))
    q.send("x")
    equal(poll.result(), ["x"])


@alone
def a_long_poll_wakes_when_a_message_becomes_visible_by_a_change():
    q = Queue()
    q.send("x")
    message = q.receive_one()
    poll = long_poll(lambda: q.bodies(WaitTimeSeconds=20))
    q.change(message, 0)
    equal(poll.result(), ["x"])


@alone
def the_queues_own_wait_holds_when_none_is_given():
    q = Queue(ReceiveMessageWaitTimeSeconds=20)
    poll = long_poll(lambda: q.bodies())
    q.send("x")
    equal(poll.result(), ["x"])


@case
def a_wait_of_zero_overrides_the_queues():
    q = Queue(ReceiveMessageWaitTimeSeconds=20)
    begin = time.monotonic()
    equal(q.receive(WaitTimeSeconds=0), [])
    assert time.monotonic() - begin < 5


@alone
def two_long_polls_get_one_message_each():
    q = Queue()
    polls = long_poll(lambda: q.bodies(WaitTimeSeconds=20), 2)
    q.send("a")
    q.send("b")
    equal(sorted(polls[0].result() + polls[1].result()), ["a", "b"])
