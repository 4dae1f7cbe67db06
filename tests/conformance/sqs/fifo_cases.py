"""FIFO queues: groups, order, deduplication, sequence numbers, attempts. [SQS FIFO queues]"""

from kit import *  # noqa: F403


class Fifo(Queue):
    def __init__(self, **attributes):
        super().__init__(fifo=True, **attributes)

    def send(self, body="m", group="g", **members):
        """The deduplication id is the body's unless one is given."""
        members.setdefault("MessageDeduplicationId", body)
        return super().send(body, MessageGroupId=group, **members)


# --- What a message must have -----------------------------------------------------------------------------------------

NO_DEDUPLICATION = (
    "The queue should either have ContentBasedDeduplication enabled or MessageDeduplicationId provided explicitly"
)
row(
    "fifo: a message without a group is refused",
    lambda: Queue(fifo=True).refuses(
        "MissingParameter", missing("MessageGroupId"), "SendMessage", MessageBody="m", MessageDeduplicationId="d"
    ),
)
row(
    "fifo: a message without a deduplication id is refused",
    lambda: Queue(fifo=True).refuses(
        "InvalidParameterValue", NO_DEDUPLICATION, "SendMessage", MessageBody="m", MessageGroupId="g"
    ),
)
row(
    "fifo: content-based deduplication needs no id",
    lambda: Queue(fifo=True, ContentBasedDeduplication="true").send(MessageGroupId="g"),
)
row(
    "fifo: a delay of one message is refused",
    lambda: Fifo().refuses(
        "InvalidParameterValue",
        invalid(2, "DelaySeconds", "The request include parameter that is not valid for this queue type."),
        "SendMessage",
        MessageBody="m",
        MessageGroupId="g",
        MessageDeduplicationId="d",
        DelaySeconds=2,
    ),
)


def batch_is_refused_whole(message, bad):
    q = Fifo()
    good = {"Id": "a", "MessageBody": "m", "MessageGroupId": "g", "MessageDeduplicationId": "d"}
    q.refuses(
        "InvalidParameterValue",
        message,
        "SendMessageBatch",
        Entries=[good, dict({"Id": "b", "MessageBody": "m"}, **bad)],
    )
    equal(q.receive(10), [])


row(
    "fifo batch: an entry without a group refuses the batch",
    batch_is_refused_whole,
    missing("MessageGroupId"),
    {"MessageDeduplicationId": "e"},
)
row(
    "fifo batch: an entry without a deduplication id refuses the batch",
    batch_is_refused_whole,
    NO_DEDUPLICATION,
    {"MessageGroupId": "g"},
)


@case
def fifo_batch_entries_fail_alone_for_other_reasons():
    answer = Fifo()(
        "SendMessageBatch",
        Entries=[
            {"Id": "a", "MessageBody": "m", "MessageGroupId": "g", "MessageDeduplicationId": "1"},
            {"Id": "b", "MessageBody": "m", "MessageGroupId": "g", "MessageDeduplicationId": "2", "DelaySeconds": 5},
        ],
    )
    equal([e["Id"] for e in answer["Successful"]], ["a"])
    equal([(e["Id"], e["Code"]) for e in answer["Failed"]], [("b", "InvalidParameterValue")])


# --- Answers ----------------------------------------------------------------------------------------------------------


@case
def fifo_send_answers_with_a_sequence_number_of_20_digits():
    answer = Fifo().send()
    equal(sorted(answer), ["MD5OfMessageBody", "MessageId", "SequenceNumber"])
    assert len(answer["SequenceNumber"]) == 20 and answer["SequenceNumber"].isdigit(), answer


@case
def sequence_numbers_rise():
    q = Fifo()
    numbers = [q.send(str(i))["SequenceNumber"] for i in range(20)]
    batch = q(
        "SendMessageBatch",
        Entries=[
            {"Id": str(i), "MessageBody": "b%d" % i, "MessageGroupId": "g", "MessageDeduplicationId": "b%d" % i}
            for i in range(5)
        ],
    )
    numbers += [e["SequenceNumber"] for e in batch["Successful"]]
    equal(numbers, sorted(set(numbers)))


@case
def fifo_system_attributes():
    q = Fifo()
    sent = q.send("m", group="group-1", MessageDeduplicationId="dedup-1")
    attributes = q.receive_one(AttributeNames=["All"])["Attributes"]
    equal(
        {k: v for k, v in attributes.items() if "Timestamp" not in k},
        {
            "ApproximateReceiveCount": "1",
            "MessageDeduplicationId": "dedup-1",
            "MessageGroupId": "group-1",
            "SenderId": ACCOUNT,
            "SequenceNumber": sent["SequenceNumber"],
        },
    )


@case
def content_based_deduplication_shows_the_digest_of_the_body():
    q = Queue(fifo=True, ContentBasedDeduplication="true")
    q.send("hello", MessageGroupId="g")
    equal(
        q.receive_one(AttributeNames=["MessageDeduplicationId"])["Attributes"],
        {"MessageDeduplicationId": hashlib.sha256(b"hello").hexdigest()},
    )


# --- Order ------------------------------------------------------------------------------------------------------------


@case
def a_group_comes_in_order():
    q = Fifo()
    for i in range(12):
        q.send(str(i))
    equal(q.drain(), [str(i) for i in range(12)])


@case
def a_receive_takes_as_many_of_one_group_as_it_can():
    q = Fifo()
    for i in range(6):
        q.send("a%d" % i, "a")
        q.send("b%d" % i, "b")
    equal(q.bodies(5), ["a0", "a1", "a2", "a3", "a4"])


@case
def a_group_is_locked_while_one_of_its_messages_is_in_flight():
    q = Fifo()
    q.send("a0", "a")
    q.send("a1", "a")
    q.send("b0", "b")
    equal(q.bodies(1), ["a0"])
    equal(q.bodies(10), ["b0"])
    equal(q.receive(10), [])


@case
def a_group_is_free_when_its_message_is_deleted():
    q = Fifo()
    q.send("a0", "a")
    q.send("a1", "a")
    q.delete(q.receive_one())
    equal(q.bodies(), ["a1"])


@case
def a_change_to_zero_gives_the_same_message_again():
    q = Fifo()
    q.send("a0")
    q.send("a1")
    q.change(q.receive_one(), 0)
    equal(q.bodies(10), ["a0", "a1"])


@case
def receives_of_several_consumers_never_share_a_group():
    q = Fifo()
    for i in range(3):
        for group in "abc":
            q.send(group + str(i), group)
    taken = [q.bodies(10) for _ in range(4)]
    equal(sorted(b for bodies in taken for b in bodies), sorted(g + str(i) for g in "abc" for i in range(3)))
    groups = [{b[0] for b in bodies} for bodies in taken]
    for i, mine in enumerate(groups):
        for other in groups[i + 1 :]:
            assert not mine & other, groups


# --- Deduplication ----------------------------------------------------------------------------------------------------


@case
def a_duplicate_is_answered_like_the_first_and_comes_once():
    q = Fifo()
    first, second = q.send("x", MessageDeduplicationId="d"), q.send("y", MessageDeduplicationId="d")
    equal((second["MessageId"], second["SequenceNumber"]), (first["MessageId"], first["SequenceNumber"]))
    equal(second["MD5OfMessageBody"], md5("y"))
    equal(q.bodies(), ["x"])


def not_again_after_delete(content_based):
    q = Queue(fifo=True, ContentBasedDeduplication=content_based)
    members = {"MessageGroupId": "g"}
    if content_based == "false":
        members["MessageDeduplicationId"] = "d"
    q.send('{"foo": "bar"}', **members)
    q.delete(q.receive_one())
    q.send('{"foo": "bar"}', **members)
    equal(q.receive(10), [])


for content_based in ("true", "false"):
    row(
        "fifo: a duplicate of a deleted message does not come, content-based %s" % content_based,
        not_again_after_delete,
        content_based,
    )


@case
def content_based_deduplication_looks_at_the_body_only():
    q = Queue(fifo=True, ContentBasedDeduplication="true")
    q.send("x", MessageGroupId="g", MessageAttributes={"a": text("1")})
    q.send("x", MessageGroupId="g", MessageAttributes={"a": text("2")})
    q.send("y", MessageGroupId="g")
    equal(q.bodies(), ["x", "y"])


@case
def an_explicit_id_beats_the_content():
    q = Queue(fifo=True, ContentBasedDeduplication="true")
    q.send("x", MessageGroupId="g", MessageDeduplicationId="1")
    q.send("x", MessageGroupId="g", MessageDeduplicationId="2")
    equal(q.bodies(), ["x", "x"])


@case
def the_queues_scope_does_not_mind_groups():
    q = Fifo()
    q.send("x", "g1", MessageDeduplicationId="d")
    q.send("y", "g2", MessageDeduplicationId="d")
    equal(q.bodies(), ["x"])


@case
def the_groups_scope_minds_groups():
    q = Fifo(DeduplicationScope="messageGroup")
    q.send("x", "g1", MessageDeduplicationId="d")
    q.send("y", "g2", MessageDeduplicationId="d")
    q.send("z", "g2", MessageDeduplicationId="d")
    equal(sorted(q.drain()), ["x", "y"])


@case
def ids_mind_capitals():
    q = Fifo()
    q.send("x", MessageDeduplicationId="d")
    q.send("y", MessageDeduplicationId="D")
    equal(q.bodies(), ["x", "y"])


@case
def duplicates_inside_a_batch_are_sent_once():
    q = Fifo()
    answer = q(
        "SendMessageBatch",
        Entries=[{"Id": i, "MessageBody": i, "MessageGroupId": "g", "MessageDeduplicationId": "d"} for i in "ab"],
    )
    equal(len({e["MessageId"] for e in answer["Successful"]}), 1)
    equal(q.bodies(), ["a"])


@case
def a_purge_forgets_deduplication_ids():
    q = Fifo()
    q.send("x", MessageDeduplicationId="d")
    q("PurgeQueue")
    q.send("y", MessageDeduplicationId="d")
    equal(q.bodies(), ["y"])


@alone
def an_id_is_free_again_after_five_minutes():
    q = Fifo()
    first = q.send("x", MessageDeduplicationId="d")
    advance("299s")
    equal(q.send("y", MessageDeduplicationId="d")["MessageId"], first["MessageId"])
    advance("2s")
    assert q.send("z", MessageDeduplicationId="d")["MessageId"] != first["MessageId"]
    equal(q.bodies(), ["x", "z"])


# --- Handles and time ---------------------------------------------------------------------------------------------------


@alone
def a_fifo_delete_after_the_visibility_ended_is_refused():
    q = Fifo()
    q.send("x")
    handle = q.receive_one(VisibilityTimeout=10)["ReceiptHandle"]
    advance("11s")
    q.refuses(
        "InvalidParameterValue",
        invalid(handle, "ReceiptHandle", "The receipt handle has expired."),
        "DeleteMessage",
        ReceiptHandle=handle,
    )
    equal(q.bodies(), ["x"])


@alone
def a_fifo_delete_within_a_prolonged_visibility_succeeds():
    q = Fifo()
    q.send("x")
    message = q.receive_one(VisibilityTimeout=10)
    advance("5s")
    q.change(message, 100)
    advance("50s")
    equal(q.delete(message), {})
    equal(q.counts(), (0, 0, 0))


@alone
def a_group_is_free_when_the_visibility_ends():
    q = Fifo()
    q.send("a0", "a")
    q.send("a1", "a")
    q.receive_one(VisibilityTimeout=10)
    equal(q.receive(10), [])
    advance("11s")
    equal(q.bodies(10), ["a0", "a1"])


@alone
def a_fifo_queues_delay_holds_each_message():
    q = Fifo(DelaySeconds=10)
    q.send("x")
    equal(q.receive(), [])
    advance("11s")
    equal(q.bodies(), ["x"])


@alone
def a_zero_delay_on_a_fifo_queue_means_the_queues():
    q = Fifo(DelaySeconds=10)
    q.send("x", DelaySeconds=0)
    equal(q.receive(), [])
    advance("11s")
    equal(q.bodies(), ["x"])


# --- Attempts -----------------------------------------------------------------------------------------------------------


@case
def the_same_attempt_gets_the_same_messages_and_handles():
    q = Fifo()
    q.send("a")
    q.send("b")
    first = q.receive(10, ReceiveRequestAttemptId="attempt")
    again = q.receive(10, ReceiveRequestAttemptId="attempt")
    equal(
        [(m["MessageId"], m["ReceiptHandle"]) for m in again], [(m["MessageId"], m["ReceiptHandle"]) for m in first]
    )
    equal(q.receive(10, ReceiveRequestAttemptId="another"), [])


for what, value in {"an empty text": "", "129 characters": "a" * 129, "a space": "a b"}.items():
    row(
        "fifo: ReceiveRequestAttemptId: %s is refused" % what,
        lambda value=value: Fifo().refuses(
            "InvalidParameterValue", None, "ReceiveMessage", ReceiveRequestAttemptId=value
        ),
    )


# --- Dead letters -------------------------------------------------------------------------------------------------------


@case
def a_fifo_dead_letter_frees_its_group_and_keeps_its_ids():
    dead = Fifo()
    q = Fifo(RedrivePolicy=redrive(dead, 1))
    sent = q.send("poison", "g")
    q.send("next", "g")
    q.receive_one(VisibilityTimeout=0)
    equal(q.bodies(10), ["next"])
    message = dead.receive_one(AttributeNames=["All"])
    equal((message["Body"], message["MessageId"]), ("poison", sent["MessageId"]))
    equal(message["Attributes"]["MessageGroupId"], "g")
    equal(message["Attributes"]["MessageDeduplicationId"], "poison")
    equal(message["Attributes"]["DeadLetterQueueSourceArn"], q.arn)
