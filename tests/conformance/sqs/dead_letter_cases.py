"""Dead-letter queues. [SQS dead-letter queues, ListDeadLetterSourceQueues]"""

from kit import *  # noqa: F403

NO_SOURCES = {"queueUrls": []} if JSON else {}  # XML cannot tell an empty list from none


def pair(count, **attributes):
    dead = Queue()
    return Queue(RedrivePolicy=redrive(dead, count), **attributes), dead


def moves_after(count):
    q, dead = pair(count)
    sent = q.send("poison")
    for n in range(1, count + 1):
        equal(
            q.receive_one(VisibilityTimeout=0, AttributeNames=["ApproximateReceiveCount"])["Attributes"],
            {"ApproximateReceiveCount": str(n)},
        )
    equal(q.receive(VisibilityTimeout=0), [])
    equal(q.counts(), (0, 0, 0))
    message = dead.receive_one(AttributeNames=["All"])
    equal((message["Body"], message["MessageId"]), ("poison", sent["MessageId"]))
    equal(message["Attributes"]["ApproximateReceiveCount"], str(count + 1))  # goes on where it was
    equal(message["Attributes"]["DeadLetterQueueSourceArn"], q.arn)


for count in (1, 2, 5):
    row("dead letters: a message moves after %d receives" % count, moves_after, count)


@case
def a_dead_letter_keeps_attributes_times_and_trace_header():
    q, dead = pair(1)
    trace = "Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8;Sampled=1"
    q.send(
        "x",
        MessageAttributes={"MyAttribute": text("foobar")},
        MessageSystemAttributes={"AWSTraceHeader": text(trace)},
        MessageGroupId="tenant",
    )
    names = ["SentTimestamp", "ApproximateFirstReceiveTimestamp", "AWSTraceHeader", "SenderId", "MessageGroupId"]
    before = q.receive_one(VisibilityTimeout=0, AttributeNames=names)["Attributes"]
    equal(q.receive(), [])
    message = dead.receive_one(AttributeNames=names, MessageAttributeNames=["All"])
    equal(message["Attributes"], before)
    equal(message["MessageAttributes"], {"MyAttribute": text("foobar")})
    equal(message["MD5OfMessageAttributes"], "adb59cd4678ea5a855436b949cd07ab6")


@case
def a_handle_of_the_source_does_not_delete_the_dead_letter():
    q, dead = pair(1)
    q.send("x")
    message = q.receive_one(VisibilityTimeout=0)
    equal(q.receive(), [])
    q.delete(message)
    equal(dead.bodies(), ["x"])


@case
def one_receive_moves_dead_letters_and_gives_what_is_behind_them():
    q, dead = pair(1)
    q.send_many("old 1", "old 2")
    q.receive(2, VisibilityTimeout=0)
    q.send("new")
    equal(q.bodies(), ["new"])
    equal(sorted(dead.bodies()), ["old 1", "old 2"])


@case
def without_a_redrive_policy_nothing_moves():
    q, dead = pair(1)
    q.set(RedrivePolicy="")
    q.send("x")
    for _ in range(3):
        q.receive_one(VisibilityTimeout=0)
    equal(dead.receive(), [])


@case
def a_new_count_holds_for_what_is_there():
    q, dead = pair(10)
    q.send("x")
    for _ in range(3):
        q.receive_one(VisibilityTimeout=0)
    q.set(RedrivePolicy=redrive(dead, 3))
    equal(q.receive(), [])
    equal(dead.bodies(), ["x"])


@alone
def a_long_poll_on_the_dead_letter_queue_wakes():
    q, dead = pair(1)
    q.send("x")
    q.receive_one(VisibilityTimeout=0)
    poll = long_poll(lambda: dead.bodies(WaitTimeSeconds=20))
    equal(q.receive(), [])
    equal(poll.result(), ["x"])


@case
def sources_of_a_dead_letter_queue_are_listed():
    dead = Queue()
    equal(dead("ListDeadLetterSourceQueues"), NO_SOURCES)
    urls = sorted(Queue(RedrivePolicy=redrive(dead, 3)).url for _ in range(3))
    equal(dead("ListDeadLetterSourceQueues"), {"queueUrls": urls})


@case
def sources_come_in_pages():
    dead = Queue()
    urls = sorted(Queue(RedrivePolicy=redrive(dead, 3)).url for _ in range(3))
    first = dead("ListDeadLetterSourceQueues", MaxResults=2)
    equal(first["queueUrls"], urls[:2])
    second = dead("ListDeadLetterSourceQueues", MaxResults=2, NextToken=first["NextToken"])
    equal(second, {"queueUrls": urls[2:]})


@case
def a_source_that_gave_up_its_policy_is_listed_no_more():
    q, dead = pair(1)
    q.set(RedrivePolicy="")
    equal(dead("ListDeadLetterSourceQueues"), NO_SOURCES)


for limit in (0, 1001):
    row(
        "ListDeadLetterSourceQueues: a limit of %d is refused" % limit,
        lambda limit=limit: Queue().refuses(
            "InvalidParameterValue", None, "ListDeadLetterSourceQueues", MaxResults=limit
        ),
    )


@alone
def a_dead_letter_lives_from_the_time_when_it_was_first_sent():
    dead = Queue(MessageRetentionPeriod=600)
    q = Queue(RedrivePolicy=redrive(dead, 1))
    q.send("x")
    advance("500s")
    q.receive_one(VisibilityTimeout=0)
    equal(q.receive(), [])
    equal(dead.counts(), (1, 0, 0))
    advance("101s")
    equal(dead.receive(), [])


@alone
def a_message_that_ran_out_of_its_visibility_moves_at_the_next_receive():
    q, dead = pair(1)
    q.send("x")
    q.receive_one(VisibilityTimeout=10)
    advance("11s")
    equal(dead.counts(), (0, 0, 0))
    equal(q.receive(), [])
    equal(dead.bodies(), ["x"])
