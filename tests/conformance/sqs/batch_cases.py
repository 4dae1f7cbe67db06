"""The three batches: what refuses them whole, and what refuses one entry. [SQS SendMessageBatch and its siblings]"""

from kit import *  # noqa: F403

HANDLES = {"DeleteMessageBatch": {}, "ChangeMessageVisibilityBatch": {"VisibilityTimeout": 60}}


def entry(operation, id_, **more):
    """An entry of the batch that is right in itself; its receipt handle belongs to nothing."""
    base = {"Id": id_}
    if operation == "SendMessageBatch":
        base["MessageBody"] = "x"
    else:
        base.update(ReceiptHandle="x", **HANDLES[operation])
    base.update(more)
    return base


for operation in ("SendMessageBatch", *HANDLES):
    row(
        "%s: no entries" % operation,
        lambda operation=operation: Queue().refuses(
            SQS + "EmptyBatchRequest",
            "There should be at least one %sRequestEntry in the request." % operation,
            operation,
            Entries=[],
        ),
    )
    for count in (11, 20):
        row(
            "%s: %d entries" % (operation, count),
            lambda operation=operation, count=count: Queue().refuses(
                SQS + "TooManyEntriesInBatchRequest",
                "Maximum number of entries per request are 10. You have sent %d." % count,
                operation,
                Entries=[entry(operation, str(i)) for i in range(count)],
            ),
        )
    row(
        "%s: one id twice" % operation,
        lambda operation=operation: Queue().refuses(
            SQS + "BatchEntryIdsNotDistinct",
            "Id a repeated.",
            operation,
            Entries=[entry(operation, i) for i in ("a", "b", "a")],
        ),
    )
    for what, id_ in {
        "an empty id": "",
        "an id with a space": "a b",
        "an id with a colon": "invalid:id",
        "an id of 81 characters": "x" * 81,
        "an id with a dot": "a.b",
        "an id with an umlaut": "\u00e4",
    }.items():
        row(
            "%s: %s" % (operation, what),
            lambda operation=operation, id_=id_: Queue().refuses(
                SQS + "InvalidBatchEntryId",
                "A batch entry id can only contain alphanumeric characters, hyphens and underscores. It can be at most 80 letters long.",
                operation,
                Entries=[entry(operation, id_)],
            ),
        )
    row(
        "%s: an entry without an id" % operation,
        lambda operation=operation: Queue().refuses(
            "MissingParameter",
            missing("%sRequestEntry.2.Id" % operation),
            operation,
            Entries=[entry(operation, "a"), {k: v for k, v in entry(operation, "b").items() if k != "Id"}],
        ),
    )


@case
def ids_of_80_characters_with_hyphens_and_underscores_are_accepted():
    ids = ["x" * 80, "-", "_", "a-b_c", "0"]
    answer = Queue()("SendMessageBatch", Entries=[{"Id": i, "MessageBody": "x"} for i in ids])
    equal([e["Id"] for e in answer["Successful"]], ids)


@case
def a_batch_of_ten_is_sent_received_changed_and_deleted():
    q = Queue()
    sent = q("SendMessageBatch", Entries=[{"Id": "e%d" % i, "MessageBody": "body %d" % i} for i in range(10)])
    equal(sent.get("Failed", []), [])
    equal([e["Id"] for e in sent["Successful"]], ["e%d" % i for i in range(10)])
    equal([e["MD5OfMessageBody"] for e in sent["Successful"]], [md5("body %d" % i) for i in range(10)])
    messages = q.receive(10)
    equal([m["MessageId"] for m in messages], [e["MessageId"] for e in sent["Successful"]])
    handles = [{"Id": str(i), "ReceiptHandle": m["ReceiptHandle"]} for i, m in enumerate(messages)]
    changed = q("ChangeMessageVisibilityBatch", Entries=[dict(h, VisibilityTimeout=0) for h in handles])
    equal([e["Id"] for e in changed["Successful"]], [str(i) for i in range(10)])
    equal(q.counts(), (10, 0, 0))
    deleted = q("DeleteMessageBatch", Entries=handles)
    equal([e["Id"] for e in deleted["Successful"]], [str(i) for i in range(10)])
    equal(q.counts(), (0, 0, 0))


def failed_entry(answer, id_, code, message):
    """The one entry that failed."""
    equal([e["Id"] for e in answer.get("Failed", [])], [id_])
    [failed] = answer["Failed"]
    equal((failed["Code"], failed["SenderFault"]), (code, True))
    if message is not None:
        equal(failed["Message"], message)


def send_entry_fails(code, message, bad, attributes):
    q = Queue(**attributes)
    answer = q(
        "SendMessageBatch",
        Entries=[
            {"Id": "a", "MessageBody": "first"},
            dict({"Id": "bad", "MessageBody": "x"}, **bad),
            {"Id": "c", "MessageBody": "last"},
        ],
    )
    equal([e["Id"] for e in answer["Successful"]], ["a", "c"])
    failed_entry(answer, "bad", code, message)
    equal(q.bodies(), ["first", "last"])


for what, (code, message, bad, attributes) in {
    "a forbidden character": ("InvalidMessageContents", None, {"MessageBody": "\x01"}, {}),
    "no body": ("MissingParameter", None, {"MessageBody": ""}, {}),
    "a delay of 901": ("InvalidParameterValue", None, {"DelaySeconds": 901}, {}),
    "more than the queue takes": (
        "InvalidParameterValue",
        "One or more parameters cannot be validated. Reason: Message must be shorter than 1024 bytes.",
        {"MessageBody": "x" * 1025},
        {"MaximumMessageSize": 1024},
    ),
    "a bad attribute": (
        "InvalidParameterValue",
        "Message (user) attribute 'a' must contain a non-empty value of type 'String'.",
        {"MessageAttributes": {"a": text("")}},
        {},
    ),
    "a bad system attribute": (
        "InvalidParameterValue",
        None,
        {"MessageSystemAttributes": {"Nonsense": text("x")}},
        {},
    ),
    "a bad group": ("InvalidParameterValue", None, {"MessageGroupId": "a b"}, {}),
    "a deduplication id on a standard queue": ("InvalidParameterValue", None, {"MessageDeduplicationId": "d"}, {}),
}.items():
    row("SendMessageBatch: an entry with %s fails alone" % what, send_entry_fails, code, message, bad, attributes)


@case
def a_batch_in_which_all_fail_has_no_list_of_successes():
    answer = Queue()("SendMessageBatch", Entries=[{"Id": "a", "MessageBody": "\x01"}])
    assert not answer.get("Successful"), answer
    equal(len(answer["Failed"]), 1)


def handle_entry_fails(operation):
    q = Queue()
    q.send_many("a", "b")
    messages = q.receive(2)
    entries = [
        entry(operation, "0", ReceiptHandle=messages[0]["ReceiptHandle"]),
        entry(operation, "bad", ReceiptHandle="garbage"),
        entry(operation, "1", ReceiptHandle=messages[1]["ReceiptHandle"]),
    ]
    answer = q(operation, Entries=entries)
    equal([e["Id"] for e in answer["Successful"]], ["0", "1"])
    failed_entry(
        answer, "bad", "ReceiptHandleIsInvalid", 'The input receipt handle "garbage" is not a valid receipt handle.'
    )


def entry_without_handle_fails(operation):
    answer = Queue()(operation, Entries=[{k: v for k, v in entry(operation, "a").items() if k != "ReceiptHandle"}])
    failed_entry(answer, "a", "MissingParameter", missing("ReceiptHandle"))


for operation in HANDLES:
    row("%s: an entry with a bad handle fails alone" % operation, handle_entry_fails, operation)
    row("%s: an entry without a handle fails" % operation, entry_without_handle_fails, operation)


@case
def change_batch_entries_have_timeouts_of_their_own():
    q = Queue()
    q.send_many("a", "b", "c")
    messages = q.receive(3)
    answer = q(
        "ChangeMessageVisibilityBatch",
        Entries=[
            {"Id": "shown", "ReceiptHandle": messages[0]["ReceiptHandle"], "VisibilityTimeout": 0},
            {"Id": "hidden", "ReceiptHandle": messages[1]["ReceiptHandle"], "VisibilityTimeout": 600},
            {"Id": "bad", "ReceiptHandle": messages[2]["ReceiptHandle"], "VisibilityTimeout": 43_201},
        ],
    )
    equal([e["Id"] for e in answer["Successful"]], ["shown", "hidden"])
    failed_entry(answer, "bad", "InvalidParameterValue", None)
    equal(q.bodies(), ["a"])


@case
def delete_batch_succeeds_again_for_what_is_deleted():
    q = Queue()
    q.send()
    handle = q.receive_one()["ReceiptHandle"]
    for _ in range(2):
        equal(q("DeleteMessageBatch", Entries=[{"Id": "a", "ReceiptHandle": handle}])["Successful"], [{"Id": "a"}])


# --- Sizes -----------------------------------------------------------------------------------------------------------------


@case
def the_bodies_of_a_batch_may_have_a_mebibyte_together():
    q = Queue()
    half = "x" * 524_288
    equal(
        len(
            q("SendMessageBatch", Entries=[{"Id": "a", "MessageBody": half}, {"Id": "b", "MessageBody": half}])[
                "Successful"
            ]
        ),
        2,
    )
    q.refuses(
        SQS + "BatchRequestTooLong",
        "Batch requests cannot be longer than 1048576 bytes. You have sent 1048577 bytes.",
        "SendMessageBatch",
        Entries=[{"Id": "a", "MessageBody": half}, {"Id": "b", "MessageBody": half + "x"}],
    )
    equal(q.counts(), (2, 0, 0))


@case
def the_attributes_of_a_batch_count():
    body = "x" * (524_288 - 4 - 6 - 5)
    attributes = {"name": text("value")}
    entries = [{"Id": i, "MessageBody": body, "MessageAttributes": attributes} for i in "ab"]
    equal(len(Queue()("SendMessageBatch", Entries=entries)["Successful"]), 2)
    entries[1]["MessageBody"] += "x"
    Queue().refuses(
        SQS + "BatchRequestTooLong",
        "Batch requests cannot be longer than 1048576 bytes. You have sent 1048577 bytes.",
        "SendMessageBatch",
        Entries=entries,
    )


@case
def a_batch_counts_bytes_not_characters():
    Queue().refuses(
        SQS + "BatchRequestTooLong",
        "Batch requests cannot be longer than 1048576 bytes. You have sent 1200000 bytes.",
        "SendMessageBatch",
        Entries=[{"Id": str(i), "MessageBody": "\u00e4" * 60_000} for i in range(10)],
    )


# --- What an entry can have -------------------------------------------------------------------------------------------------


@case
def entries_have_attributes_delays_groups_and_trace_headers_of_their_own():
    q = Queue()
    trace = "Root=1-5759e988-bd862e3fe1be46a994272793"
    answer = q(
        "SendMessageBatch",
        Entries=[
            {
                "Id": "a",
                "MessageBody": "a",
                "MessageAttributes": {"n": number("1")},
                "MessageSystemAttributes": {"AWSTraceHeader": text(trace)},
            },
            {"Id": "b", "MessageBody": "b", "DelaySeconds": 60},
            {"Id": "c", "MessageBody": "c", "MessageGroupId": "g"},
        ],
    )
    by_id = {e["Id"]: e for e in answer["Successful"]}
    equal(by_id["a"]["MD5OfMessageAttributes"], md5_of_attributes({"n": number("1")}))
    equal(by_id["a"]["MD5OfMessageSystemAttributes"], md5_of_attributes({"AWSTraceHeader": text(trace)}))
    assert "MD5OfMessageAttributes" not in by_id["b"]
    equal(q.counts(), (2, 0, 1))
    messages = {
        m["Body"]: m
        for m in q.receive(10, AttributeNames=["AWSTraceHeader", "MessageGroupId"], MessageAttributeNames=["All"])
    }
    equal(messages["a"]["Attributes"], {"AWSTraceHeader": trace})
    equal(messages["a"]["MessageAttributes"], {"n": number("1")})
    equal(messages["c"]["Attributes"], {"MessageGroupId": "g"})
