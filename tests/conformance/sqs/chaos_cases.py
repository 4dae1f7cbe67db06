"""Faults on purpose (--chaos), one queue at a time by the admin port: what a stock client sees of them."""

from kit import *  # noqa: F403
from botocore.exceptions import ConnectionError, HTTPClientError


def inject(queue, faults):
    return admin("/_fanfare/chaos", {"queue": queue.name, "faults": faults})


@case
def chaos_throttles():
    q = Queue()
    inject(q, "throttle=100%")
    q.refuses("RequestThrottled", None, "SendMessage", MessageBody="x")
    inject(q, "none")
    equal(q.receive(), [])


@case
def chaos_gives_empty_receives():
    q = Queue()
    q.send("x")
    inject(q, "receive-empty=100%")
    equal(q("ReceiveMessage", WaitTimeSeconds=20), {})
    inject(q, "none")
    equal(q.bodies(), ["x"])


@case
def chaos_duplicates():
    q = Queue()
    sent = q.send("x")
    inject(q, "duplicate=100%")
    seen = [q.receive_one() for _ in range(3)]
    equal({m["MessageId"] for m in seen}, {sent["MessageId"]})
    q.delete(seen[-1])
    equal(q.receive(), [])


@case
def chaos_loses_responses_of_what_was_done():
    q = Queue()
    inject(q, "lose-response=100%")
    try:
        q.send("x")
    except (ConnectionError, HTTPClientError):
        pass
    else:
        raise AssertionError("expected the connection to end\n  came     an answer")
    inject(q, "none")
    equal(q.bodies(), ["x"])


@case
def chaos_holds_messages_back():
    q = Queue()
    inject(q, "delay=900s")
    q.send("x")
    q("SendMessageBatch", Entries=[{"Id": "a", "MessageBody": "y"}])
    equal(q.counts(), (0, 0, 2))


@alone
def chaos_reorders():
    q = Queue()
    before = inject(q, "reorder")["injected"]["reorder"]
    # What is held back comes a second later: only a round that is over by then must show another order. A machine that
    # is too slow for that is given some rounds.
    for _ in range(5):
        bodies = ["%02d" % i for i in range(20)]
        begin = time.monotonic()
        q.send_many(*bodies)
        came = q.drain()
        fast = time.monotonic() - begin < 1
        advance("2s")
        came += q.drain()
        equal(sorted(came), bodies)
        if fast:
            assert came != bodies, came
            break
    assert inject(q, "reorder")["injected"]["reorder"] > before


@case
def chaos_leaves_other_queues_and_other_requests_alone():
    q, other = Queue(), Queue()
    inject(q, "throttle=100%")
    other.send("x")
    equal(other.bodies(), ["x"])
    equal(q.counts(), (0, 0, 0))
    q("PurgeQueue")


@case
def chaos_counts_what_it_does():
    q = Queue()
    before = inject(q, "throttle=100%")["injected"]["throttle"]
    for _ in range(3):
        q.refuses("RequestThrottled", None, "ReceiveMessage")
    after = inject(q, "none")
    assert after["injected"]["throttle"] >= before + 3, after
    equal(after["queues"][q.name], "none")
