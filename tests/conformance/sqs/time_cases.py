"""What time does to messages; all by the movable clock. [SQS visibility timeout, delay queues, retention]"""

from kit import *  # noqa: F403


@alone
def visibility_ends_at_its_time():
    q = Queue()
    q.send("x")
    first = q.receive_one(VisibilityTimeout=30)
    advance("29s")
    equal(q.receive(), [])
    advance("2s")
    second = q.receive_one()
    assert first["ReceiptHandle"] != second["ReceiptHandle"]


@alone
def the_queues_visibility_holds_when_none_is_given():
    q = Queue(VisibilityTimeout=100)
    q.send()
    q.receive_one()
    advance("99s")
    equal(q.receive(), [])
    advance("2s")
    q.receive_one()


@alone
def a_queues_new_visibility_holds_for_the_next_receive_only():
    q = Queue(VisibilityTimeout=10)
    q.send()
    q.receive_one()
    q.set(VisibilityTimeout=1000)
    advance("11s")
    q.receive_one()
    advance("11s")
    equal(q.receive(), [])


@alone
def a_change_counts_from_now():
    q = Queue()
    q.send()
    message = q.receive_one(VisibilityTimeout=30)
    advance("20s")
    q.change(message, 30)
    advance("29s")
    equal(q.receive(), [])
    advance("2s")
    q.receive_one()


@alone
def a_change_can_shorten():
    q = Queue()
    q.send()
    q.change(q.receive_one(VisibilityTimeout=1000), 10)
    advance("11s")
    q.receive_one()


@alone
def twelve_hours_from_the_receive_are_the_limit():
    q = Queue()
    q.send()
    message = q.receive_one(VisibilityTimeout=43_200)
    q.change(message, 43_199)
    advance("1h")
    q.refuses(
        "InvalidParameterValue",
        invalid(
            43_200,
            "VisibilityTimeout",
            "Total VisibilityTimeout for the message is beyond the limit [43200 seconds].",
        ),
        "ChangeMessageVisibility",
        ReceiptHandle=message["ReceiptHandle"],
        VisibilityTimeout=43_200,
    )
    q.change(message, 39_590)


@alone
def a_delete_after_the_visibility_ended_still_deletes():
    q = Queue()
    q.send()
    message = q.receive_one(VisibilityTimeout=10)
    advance("11s")
    equal(q.counts(), (1, 0, 0))
    q.delete(message)
    equal(q.counts(), (0, 0, 0))


@alone
def counters_follow_visibility_and_delay():
    q = Queue()
    q.send("a", DelaySeconds=10)
    q.send("b")
    q.receive_one(VisibilityTimeout=20)
    equal(q.counts(), (0, 1, 1))
    advance("11s")
    equal(q.counts(), (1, 1, 0))
    advance("10s")
    equal(q.counts(), (2, 0, 0))


# --- Delays ----------------------------------------------------------------------------------------------------------------


@alone
def a_message_with_a_delay_comes_at_its_time():
    q = Queue()
    q.send("x", DelaySeconds=900)
    advance("899s")
    equal(q.receive(), [])
    advance("2s")
    equal(q.bodies(), ["x"])


@alone
def a_delay_queue_delays_what_is_sent():
    q = Queue(DelaySeconds=60)
    q.send("x")
    advance("59s")
    equal(q.receive(), [])
    advance("2s")
    equal(q.bodies(), ["x"])


@alone
def a_new_delay_of_a_standard_queue_leaves_what_is_there():
    q = Queue(DelaySeconds=10)
    q.send("early")
    q.set(DelaySeconds=600)
    q.send("late")
    advance("11s")
    equal(q.bodies(), ["early"])


@alone
def a_message_of_its_own_delay_overrides_the_queues():
    q = Queue(DelaySeconds=600)
    q.send("x", DelaySeconds=10)
    advance("11s")
    equal(q.bodies(), ["x"])


@alone
def a_long_poll_wakes_when_a_delay_ends():
    q = Queue()
    q.send("x", DelaySeconds=10)
    poll = long_poll(lambda: q.bodies(WaitTimeSeconds=20))
    advance("10s")
    equal(poll.result(), ["x"])


@alone
def a_long_poll_wakes_when_a_visibility_ends():
    q = Queue()
    q.send("x")
    q.receive_one(VisibilityTimeout=10)
    poll = long_poll(lambda: q.bodies(WaitTimeSeconds=20))
    advance("10s")
    equal(poll.result(), ["x"])


@alone
def a_long_poll_ends_empty_at_its_time():
    q = Queue()
    begin = time.monotonic()
    poll = long_poll(lambda: q("ReceiveMessage", WaitTimeSeconds=20))
    advance("20s")
    equal(poll.result(), {})
    assert time.monotonic() - begin < 10


# --- Retention -------------------------------------------------------------------------------------------------------------


@alone
def a_message_goes_when_its_retention_ends():
    q = Queue(MessageRetentionPeriod=60)
    q.send("x")
    advance("59s")
    equal(q.counts(), (1, 0, 0))
    advance("2s")
    equal(q.receive(), [])
    equal(q.counts(), (0, 0, 0))


@alone
def four_days_are_the_default_retention():
    q = Queue()
    q.send("x")
    advance("95h59m")
    equal(q.bodies(VisibilityTimeout=0), ["x"])
    advance("2m")
    equal(q.receive(), [])


@alone
def fourteen_days_are_the_longest_retention():
    q = Queue(MessageRetentionPeriod=1_209_600)
    q.send("x")
    advance("335h59m")
    equal(q.bodies(VisibilityTimeout=0), ["x"])
    advance("2m")
    equal(q.receive(), [])


@alone
def a_shorter_retention_holds_for_what_is_there():
    q = Queue()
    q.send("x")
    advance("120s")
    q.set(MessageRetentionPeriod=60)
    equal(q.receive(), [])


@alone
def a_longer_retention_holds_for_what_is_there():
    q = Queue(MessageRetentionPeriod=60)
    q.send("x")
    q.set(MessageRetentionPeriod=600)
    advance("500s")
    equal(q.bodies(), ["x"])


@alone
def a_receive_does_not_prolong_a_messages_life():
    q = Queue(MessageRetentionPeriod=60)
    q.send("x")
    advance("50s")
    q.receive_one(VisibilityTimeout=5)
    advance("11s")
    equal(q.receive(), [])


@alone
def a_delay_counts_into_the_retention():
    q = Queue(MessageRetentionPeriod=60)
    q.send("x", DelaySeconds=50)
    advance("61s")
    equal(q.receive(), [])


# --- Handles whose time is over -----------------------------------------------------------------------------------------


@alone
def a_change_after_the_visibility_ended_changes_nothing():
    q = Queue()
    q.send()
    message = q.receive_one(VisibilityTimeout=10)
    advance("11s")
    q.change(message, 30)
    equal(q.receive_one()["MessageId"], message["MessageId"])


@alone
def an_old_handle_changes_nothing_once_the_message_was_received_again():
    q = Queue()
    q.send()
    old = q.receive_one(VisibilityTimeout=10)
    advance("11s")
    q.receive_one(VisibilityTimeout=10)
    q.change(old, 0)
    equal(q.receive(), [])


# --- Tenants of a standard queue [SQS fair queues in detail] --------------------------------------------------------------


@alone
def a_tenant_whose_messages_take_long_lets_the_others_go_first():
    q = Queue(VisibilityTimeout=1000)
    for body in ("slow-1", "slow-2"):
        q.send(body, MessageGroupId="slow")
    q.send("quick", MessageGroupId="quick")
    slow = q.receive_one()
    equal(slow["Body"], "slow-1")
    advance("35s")
    q.delete(slow)
    q.send("nobody's")
    equal([q.receive_one()["Body"] for _ in range(3)], ["quick", "nobody's", "slow-2"])


@alone
def five_minutes_without_a_send_make_a_tenant_quiet():
    q = Queue(VisibilityTimeout=10_000)
    for batch in range(4):
        q.send_many(*(f"{batch}-{i}" for i in range(10)), MessageGroupId="loud")
    for batch in range(3):
        equal(len(q.receive(10)), 10)
    q.send("1", MessageGroupId="quiet")
    equal(q.receive_one()["Body"], "1")
    advance("299s")
    q.send("2", MessageGroupId="quiet")
    equal(q.receive_one()["Body"], "2")
    q.send("3", MessageGroupId="quiet")
    advance("2s")
    equal([q.receive_one()["Body"] for _ in range(2)], ["3-0", "3"])
