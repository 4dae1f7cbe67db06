"""Message move tasks. [SQS StartMessageMoveTask, ListMessageMoveTasks, CancelMessageMoveTask]"""

from kit import *  # noqa: F403

GONE = "The resource that you specified for the %s parameter doesn't exist."


def dead_letters(*bodies):
    """A source, its dead-letter queue, and these messages in the latter."""
    dead = Queue()
    source = Queue(RedrivePolicy=redrive(dead, 1))
    source.send_many(*bodies)
    for _ in bodies:
        source.receive(VisibilityTimeout=0)
    equal(source.receive(10), [])
    equal(dead.counts(), (len(bodies), 0, 0))
    return source, dead


def tasks(dead, **members):
    return call("ListMessageMoveTasks", SourceArn=dead.arn, **members).get("Results", [])


def finished(dead):
    """The newest task of the queue, once it no longer runs."""
    deadline = time.monotonic() + 10
    while tasks(dead)[0]["Status"] in ("RUNNING", "CANCELLING"):
        assert time.monotonic() < deadline, "the task does not end: %r" % tasks(dead)[0]
        time.sleep(0.005)
    return tasks(dead)[0]


@case
def messages_go_back_to_where_they_came_from():
    source, dead = dead_letters("a", "b")
    started = call("StartMessageMoveTask", SourceArn=dead.arn)
    equal(list(started), ["TaskHandle"])
    task = finished(dead)
    assert task.pop("StartedTimestamp") > 0
    equal(
        task,
        {
            "ApproximateNumberOfMessagesMoved": 2,
            "ApproximateNumberOfMessagesToMove": 2,
            "SourceArn": dead.arn,
            "Status": "COMPLETED",
        },
    )
    equal(dead.counts(), (0, 0, 0))
    equal(sorted(source.bodies()), ["a", "b"])


@case
def messages_go_to_the_destination_that_is_named():
    source, dead = dead_letters("a", "b")
    other = Queue()
    call("StartMessageMoveTask", SourceArn=dead.arn, DestinationArn=other.arn)
    task = finished(dead)
    equal((task["DestinationArn"], task["Status"]), (other.arn, "COMPLETED"))
    equal(sorted(other.bodies()), ["a", "b"])
    equal(source.receive(10), [])


@case
def a_moved_message_begins_anew():
    source, dead = dead_letters("a")
    before = dead.receive_one(VisibilityTimeout=0)["MessageId"]
    call("StartMessageMoveTask", SourceArn=dead.arn)
    finished(dead)
    message = source.receive_one(AttributeNames=["ApproximateReceiveCount"])
    assert message["MessageId"] != before
    equal(message["Attributes"], {"ApproximateReceiveCount": "1"})


@case
def a_queue_without_tasks_lists_none():
    _, dead = dead_letters()
    equal(tasks(dead), [])


for what, (code, message, members) in {
    "a source that is no dead-letter queue": (
        "InvalidParameterValue",
        "Source queue must be configured as a Dead Letter Queue.",
        lambda dead: {"SourceArn": Queue().arn},
    ),
    "a source that is not there": (
        "ResourceNotFoundException",
        GONE % "SourceArn",
        lambda dead: {"SourceArn": arn(fresh())},
    ),
    "a destination that is not there": (
        "ResourceNotFoundException",
        GONE % "DestinationArn",
        lambda dead: {"SourceArn": dead.arn, "DestinationArn": arn(fresh())},
    ),
    "no source": ("MissingParameter", None, lambda dead: {}),
    "a rate of 0": (
        "InvalidParameterValue",
        None,
        lambda dead: {"SourceArn": dead.arn, "MaxNumberOfMessagesPerSecond": 0},
    ),
    "a rate of 501": (
        "InvalidParameterValue",
        None,
        lambda dead: {"SourceArn": dead.arn, "MaxNumberOfMessagesPerSecond": 501},
    ),
}.items():
    row(
        "move: %s is refused" % what,
        lambda code=code, message=message, members=members: refused(
            code, message, "StartMessageMoveTask", **members(dead_letters()[1])
        ),
    )


@alone
def a_task_keeps_its_rate_and_is_cancelled():
    _, dead = dead_letters(*[str(i) for i in range(10)])
    handle = call("StartMessageMoveTask", SourceArn=dead.arn, MaxNumberOfMessagesPerSecond=1)["TaskHandle"]
    [task] = tasks(dead)
    equal((task["Status"], task["TaskHandle"], task["MaxNumberOfMessagesPerSecond"]), ("RUNNING", handle, 1))
    equal(task["ApproximateNumberOfMessagesToMove"], 10)
    refused(
        "InvalidParameterValue",
        "There is already a task running. Only one active task is allowed for a source queue arn at a given time.",
        "StartMessageMoveTask",
        SourceArn=dead.arn,
    )
    cancelled = call("CancelMessageMoveTask", TaskHandle=handle)
    assert cancelled["ApproximateNumberOfMessagesMoved"] < 10, cancelled
    task = finished(dead)
    equal(task["Status"], "CANCELLED")
    assert "TaskHandle" not in task, task


for what, handle in {"a word": "garbage", "an empty list in base64": "W10="}.items():
    row(
        "cancel: %s is no handle" % what,
        refused,
        "InvalidParameterValue",
        "Value for parameter TaskHandle is invalid.",
        "CancelMessageMoveTask",
        TaskHandle=handle,
    )
for limit in (0, 11):
    row(
        "ListMessageMoveTasks: a limit of %d is refused" % limit,
        lambda limit=limit: refused(
            "InvalidParameterValue", None, "ListMessageMoveTasks", SourceArn=dead_letters()[1].arn, MaxResults=limit
        ),
    )
row(
    "ListMessageMoveTasks: a source that is not there",
    refused,
    "ResourceNotFoundException",
    GONE % "SourceArn",
    "ListMessageMoveTasks",
    SourceArn=arn(fresh()),
)


@case
def queues_and_tasks_of_another_region_are_not_there():
    elsewhere = make_client("test", "eu-west-1")
    far_arn = arn(Queue(client=elsewhere).name, region="eu-west-1")
    Queue(client=elsewhere, RedrivePolicy=redrive(far_arn, 1))
    _, dead = dead_letters("a")
    refused("ResourceNotFoundException", GONE % "SourceArn", "StartMessageMoveTask", SourceArn=far_arn)
    refused("ResourceNotFoundException", GONE % "SourceArn", "ListMessageMoveTasks", SourceArn=far_arn)
    refused(
        "ResourceNotFoundException",
        GONE % "DestinationArn",
        "StartMessageMoveTask",
        SourceArn=dead.arn,
        DestinationArn=far_arn,
    )
    equal(tasks(dead), [])
    task = call("StartMessageMoveTask", elsewhere, SourceArn=far_arn)["TaskHandle"]
    refused("ResourceNotFoundException", "Task does not exist.", "CancelMessageMoveTask", TaskHandle=task)
