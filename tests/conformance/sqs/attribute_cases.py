"""Queue attributes: defaults, ranges, texts, what may be set and what is only shown. [SQS SetQueueAttributes]"""

from kit import *  # noqa: F403

STANDARD_DEFAULTS = {
    "ApproximateNumberOfMessages": "0",
    "ApproximateNumberOfMessagesNotVisible": "0",
    "ApproximateNumberOfMessagesDelayed": "0",
    "DelaySeconds": "0",
    "MaximumMessageSize": "1048576",
    "MessageRetentionPeriod": "345600",
    "ReceiveMessageWaitTimeSeconds": "0",
    "SqsManagedSseEnabled": "true",
    "VisibilityTimeout": "30",
}
FIFO_DEFAULTS = dict(
    STANDARD_DEFAULTS,
    ContentBasedDeduplication="false",
    DeduplicationScope="queue",
    FifoQueue="true",
    FifoThroughputLimit="perQueue",
)


def all_attributes_are(expected, **options):
    q = Queue(**options)
    came = q.attributes("All")
    equal(came.pop("QueueArn"), q.arn)
    for name in ("CreatedTimestamp", "LastModifiedTimestamp"):
        assert came.pop(name).isdigit(), name
    equal(came, expected)


row("attributes: All of a new standard queue", all_attributes_are, STANDARD_DEFAULTS)
row("attributes: All of a new FIFO queue", all_attributes_are, FIFO_DEFAULTS, fifo=True)


@case
def attributes_shown_are_those_that_were_asked_for():
    q = Queue()
    equal(q.attributes("DelaySeconds", "QueueArn"), {"DelaySeconds": "0", "QueueArn": q.arn})


@case
def attributes_without_names_show_nothing():
    equal(Queue()("GetQueueAttributes"), {})


@case
def attributes_that_the_queue_has_not_are_left_out():
    equal(
        Queue()("GetQueueAttributes", AttributeNames=["Policy", "RedrivePolicy", "KmsMasterKeyId", "FifoQueue"]), {}
    )


@case
def attributes_All_beside_other_names_shows_all():
    equal(len(Queue().attributes("DelaySeconds", "All")), len(STANDARD_DEFAULTS) + 3)


for name, expected in STANDARD_DEFAULTS.items():
    row(
        "attributes: %s alone" % name,
        lambda name=name, expected=expected: equal(Queue().attributes(name), {name: expected}),
    )
for name in ("ContentBasedDeduplication", "DeduplicationScope", "FifoQueue", "FifoThroughputLimit"):
    row(
        "attributes: %s of a FIFO queue alone" % name,
        lambda name=name: equal(Queue(fifo=True).attributes(name), {name: FIFO_DEFAULTS[name]}),
    )
for name in ("Nonsense", "delaySeconds", "", "all", "SentTimestamp"):
    row(
        "attributes: the unknown name '%s' is refused" % name,
        lambda name=name: Queue().refuses(
            "InvalidAttributeName", "Unknown Attribute %s." % name, "GetQueueAttributes", AttributeNames=[name]
        ),
    )


# --- Numbers ---------------------------------------------------------------------------------------------------------------

RANGES = {
    "VisibilityTimeout": (0, 43_200, 30),
    "DelaySeconds": (0, 900, 0),
    "MaximumMessageSize": (1_024, 1_048_576, 1_048_576),
    "MessageRetentionPeriod": (60, 1_209_600, 345_600),
    "ReceiveMessageWaitTimeSeconds": (0, 20, 0),
}


def number_at_creation(name, value):
    equal(Queue(**{name: value}).attributes(name), {name: str(value)})


def number_set(name, value):
    q = Queue()
    equal(q.set(**{name: value}), {})
    equal(q.attributes(name), {name: str(value)})


def bad_number(name, value):
    text = "Invalid value for the parameter %s." % name
    refused("InvalidAttributeValue", text, "CreateQueue", QueueName=fresh(), Attributes={name: value})
    q = Queue()
    q.refuses("InvalidAttributeValue", text, "SetQueueAttributes", Attributes={name: value})
    equal(q.attributes(name), {name: str(RANGES[name][2])})


def empty_means_default(name, other):
    q = Queue(**{name: other})
    q.set(**{name: ""})
    equal(q.attributes(name), {name: str(RANGES[name][2])})


for name, (low, high, default) in RANGES.items():
    for value in (low, high):
        row("attributes: %s=%d at creation" % (name, value), number_at_creation, name, value)
        row("attributes: %s=%d set" % (name, value), number_set, name, value)
    for value in (str(low - 1), str(high + 1), "1.5", "ten", " 60", "0x40", "99999999999999999999"):
        row("attributes: %s='%s' is refused" % (name, value), bad_number, name, value)
    row(
        "attributes: an empty %s means the default" % name,
        empty_means_default,
        name,
        high if high != default else low,
    )


@case
def set_attributes_changes_all_or_nothing():
    q = Queue()
    q.refuses(
        "InvalidAttributeValue",
        None,
        "SetQueueAttributes",
        Attributes={"DelaySeconds": "5", "VisibilityTimeout": "-1"},
    )
    equal(q.attributes("DelaySeconds", "VisibilityTimeout"), {"DelaySeconds": "0", "VisibilityTimeout": "30"})


@case
def set_attributes_needs_attributes():
    Queue().refuses("MissingParameter", missing("Attributes"), "SetQueueAttributes")


for name in (
    "ApproximateNumberOfMessages",
    "ApproximateNumberOfMessagesNotVisible",
    "ApproximateNumberOfMessagesDelayed",
    "CreatedTimestamp",
    "LastModifiedTimestamp",
    "QueueArn",
    "All",
    "Nonsense",
):
    row(
        "attributes: %s cannot be set" % name,
        lambda name=name: Queue().refuses(
            "InvalidAttributeName", "Unknown Attribute %s." % name, "SetQueueAttributes", Attributes={name: "1"}
        ),
    )
    row(
        "attributes: %s cannot be given at creation" % name,
        refused,
        "InvalidAttributeName",
        "Unknown Attribute %s." % name,
        "CreateQueue",
        QueueName=fresh(),
        Attributes={name: "1"},
    )


@alone
def last_modified_moves_and_created_stays():
    q = Queue()
    before = q.attributes("CreatedTimestamp", "LastModifiedTimestamp")
    equal(before["CreatedTimestamp"], before["LastModifiedTimestamp"])
    advance("100s")
    q.set(DelaySeconds=1)
    after = q.attributes("CreatedTimestamp", "LastModifiedTimestamp")
    equal(after["CreatedTimestamp"], before["CreatedTimestamp"])
    moved = int(after["LastModifiedTimestamp"]) - int(before["LastModifiedTimestamp"])
    assert 100 <= moved <= 110, moved


# --- FIFO attributes -----------------------------------------------------------------------------------------------------

ONLY_FIFO = {
    "ContentBasedDeduplication": ("true", "Unknown Attribute ContentBasedDeduplication."),
    "DeduplicationScope": ("queue", "You can specify the DeduplicationScope only when FifoQueue is set to true."),
    "FifoThroughputLimit": (
        "perQueue",
        "You can specify the FifoThroughputLimit only when FifoQueue is set to true.",
    ),
    "FifoQueue": ("false", "Unknown Attribute FifoQueue."),
}
for name, (value, message) in ONLY_FIFO.items():
    row(
        "attributes: %s at the creation of a standard queue is refused" % name,
        refused,
        "InvalidAttributeName",
        message,
        "CreateQueue",
        QueueName=fresh(),
        Attributes={name: value},
    )
    row(
        "attributes: %s set on a standard queue is refused" % name,
        lambda name=name, value=value, message=message: Queue().refuses(
            "InvalidAttributeName", message, "SetQueueAttributes", Attributes={name: value}
        ),
    )
row(
    "attributes: FifoQueue=true set on a standard queue is refused",
    lambda: Queue().refuses(
        "InvalidAttributeName", "Unknown Attribute FifoQueue.", "SetQueueAttributes", Attributes={"FifoQueue": "true"}
    ),
)
row(
    "attributes: FifoQueue=false set on a FIFO queue is refused",
    lambda: Queue(fifo=True).refuses(
        "InvalidAttributeValue",
        "Invalid value for the parameter FifoQueue. Reason: Modifying queue type is not supported.",
        "SetQueueAttributes",
        Attributes={"FifoQueue": "false"},
    ),
)
row("attributes: FifoQueue=true set on a FIFO queue is accepted", lambda: Queue(fifo=True).set(FifoQueue="true"))


@case
def content_based_deduplication_is_set_and_taken_back():
    q = Queue(fifo=True, ContentBasedDeduplication="true")
    equal(q.attribute("ContentBasedDeduplication"), "true")
    q.set(ContentBasedDeduplication="false")
    equal(q.attribute("ContentBasedDeduplication"), "false")


@case
def high_throughput_needs_both_attributes():
    q = Queue(fifo=True)
    q.refuses(
        "InvalidAttributeValue", None, "SetQueueAttributes", Attributes={"FifoThroughputLimit": "perMessageGroupId"}
    )
    q.set(FifoThroughputLimit="perMessageGroupId", DeduplicationScope="messageGroup")
    equal(
        q.attributes("FifoThroughputLimit", "DeduplicationScope"),
        {"FifoThroughputLimit": "perMessageGroupId", "DeduplicationScope": "messageGroup"},
    )
    q.refuses("InvalidAttributeValue", None, "SetQueueAttributes", Attributes={"DeduplicationScope": "queue"})
    q.set(FifoThroughputLimit="perQueue", DeduplicationScope="queue")


@case
def the_group_scope_alone_is_accepted():
    q = Queue(fifo=True, DeduplicationScope="messageGroup")
    equal(
        q.attributes("FifoThroughputLimit", "DeduplicationScope"),
        {"FifoThroughputLimit": "perQueue", "DeduplicationScope": "messageGroup"},
    )


for name, value in {
    "ContentBasedDeduplication": "yes",
    "DeduplicationScope": "group",
    "FifoThroughputLimit": "fast",
    "FifoQueue": "1",
}.items():
    row(
        "attributes: %s='%s' is refused" % (name, value),
        refused,
        "InvalidAttributeValue",
        None,
        "CreateQueue",
        QueueName=fresh(".fifo"),
        Attributes=dict({"FifoQueue": "true"}, **{name: value}),
    )
for spelling in ("TRUE", "True"):
    row(
        "attributes: FifoQueue=%s is true" % spelling,
        lambda spelling=spelling: equal(Queue(fifo=True, FifoQueue=spelling).attribute("FifoQueue"), "true"),
    )


# --- Encryption ----------------------------------------------------------------------------------------------------------


@case
def a_key_turns_managed_encryption_off_and_shows_its_period():
    q = Queue(KmsMasterKeyId="alias/mine")
    equal(
        q.attributes("KmsMasterKeyId", "KmsDataKeyReusePeriodSeconds", "SqsManagedSseEnabled"),
        {"KmsMasterKeyId": "alias/mine", "KmsDataKeyReusePeriodSeconds": "300", "SqsManagedSseEnabled": "false"},
    )


@case
def a_key_taken_away_leaves_managed_encryption_off():
    q = Queue()
    q.set(KmsMasterKeyId="alias/mine", KmsDataKeyReusePeriodSeconds=6000)
    equal(q.attribute("KmsDataKeyReusePeriodSeconds"), "6000")
    q.set(KmsMasterKeyId="", KmsDataKeyReusePeriodSeconds="")
    equal(
        q.attributes("KmsMasterKeyId", "KmsDataKeyReusePeriodSeconds", "SqsManagedSseEnabled"),
        {"SqsManagedSseEnabled": "false"},
    )


@case
def managed_encryption_takes_the_key_away():
    q = Queue(KmsMasterKeyId="alias/mine")
    q.set(KmsMasterKeyId="", SqsManagedSseEnabled="true")
    equal(q.attributes("KmsMasterKeyId", "SqsManagedSseEnabled"), {"SqsManagedSseEnabled": "true"})


@case
def managed_encryption_alone_takes_the_key_away():
    q = Queue(KmsMasterKeyId="alias/mine")
    q.set(SqsManagedSseEnabled="true")
    equal(
        q.attributes("KmsMasterKeyId", "KmsDataKeyReusePeriodSeconds", "SqsManagedSseEnabled"),
        {"SqsManagedSseEnabled": "true"},
    )


BOTH_KINDS = (
    "You can use one type of server-side encryption (SSE) at one time. You can either enable KMS SSE or SQS SSE."
)
row(
    "attributes: both kinds of encryption at creation are refused",
    refused,
    "InvalidAttributeName",
    BOTH_KINDS,
    "CreateQueue",
    QueueName=fresh(),
    Attributes={"KmsMasterKeyId": "alias/mine", "SqsManagedSseEnabled": "true"},
)
row(
    "attributes: both kinds of encryption set are refused",
    lambda: Queue().refuses(
        "InvalidAttributeName",
        BOTH_KINDS,
        "SetQueueAttributes",
        Attributes={"KmsMasterKeyId": "alias/mine", "SqsManagedSseEnabled": "true"},
    ),
)
for value in ("59", "86401", "x"):
    row(
        "attributes: KmsDataKeyReusePeriodSeconds='%s' is refused" % value,
        refused,
        "InvalidAttributeValue",
        "Invalid value for the parameter KmsDataKeyReusePeriodSeconds.",
        "CreateQueue",
        QueueName=fresh(),
        Attributes={"KmsMasterKeyId": "alias/mine", "KmsDataKeyReusePeriodSeconds": value},
    )
for value in ("60", "86400"):
    row(
        "attributes: KmsDataKeyReusePeriodSeconds=%s is accepted" % value,
        lambda value=value: equal(
            Queue(KmsMasterKeyId="alias/mine", KmsDataKeyReusePeriodSeconds=value).attribute(
                "KmsDataKeyReusePeriodSeconds"
            ),
            value,
        ),
    )
row(
    "attributes: SqsManagedSseEnabled='maybe' is refused",
    refused,
    "InvalidAttributeValue",
    None,
    "CreateQueue",
    QueueName=fresh(),
    Attributes={"SqsManagedSseEnabled": "maybe"},
)


# --- Policies ------------------------------------------------------------------------------------------------------------


def statement(**members):
    return dict({"Effect": "Allow", "Principal": "*", "Action": "sqs:SendMessage", "Resource": "*"}, **members)


@case
def policy_is_kept_as_it_was_written():
    written = '{ "Version": "2012-10-17",\n "Statement": [' + json.dumps(statement()) + "] }"
    q = Queue(Policy=written)
    equal(json.loads(q.attribute("Policy")), json.loads(written))
    q.set(Policy="")
    equal(q.attributes("Policy"), {})


for what, policy in {
    "no JSON": "nonsense",
    "a JSON list": "[]",
    "no statement": '{"Version":"2012-10-17"}',
    "an unknown version": json.dumps({"Version": "2020-01-01", "Statement": [statement()]}),
    "an unknown effect": json.dumps({"Version": "2012-10-17", "Statement": [statement(Effect="Maybe")]}),
    "no action": json.dumps(
        {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Principal": "*", "Resource": "*"}]}
    ),
    "an unknown operator": json.dumps(
        {"Version": "2012-10-17", "Statement": [statement(Condition={"Sounds": {"a": "b"}})]}
    ),
}.items():
    row(
        "policy: %s is refused" % what,
        lambda policy=policy: Queue().refuses(
            "InvalidAttributeValue", None, "SetQueueAttributes", Attributes={"Policy": policy}
        ),
    )


# --- Redrive policies ----------------------------------------------------------------------------------------------------


def redrive_policy_is(written, shown):
    dead = Queue()
    q = Queue(RedrivePolicy=written(dead))
    equal(json.loads(q.attribute("RedrivePolicy")), shown(dead))


row("redrive: a count as a number", redrive_policy_is, lambda d: redrive(d, 5), lambda d: redrive(d, 5))
row(
    "redrive: a count as a text is shown as a number",
    redrive_policy_is,
    lambda d: redrive(d, "5"),
    lambda d: redrive(d, 5),
)
row("redrive: a count of 1", redrive_policy_is, lambda d: redrive(d, 1), lambda d: redrive(d, 1))
row("redrive: a count of 1000", redrive_policy_is, lambda d: redrive(d, 1000), lambda d: redrive(d, 1000))


@case
def redrive_policy_is_taken_away_by_an_empty_text():
    q = Queue(RedrivePolicy=redrive(Queue(), 5))
    q.set(RedrivePolicy="")
    equal(q.attributes("RedrivePolicy"), {})


def bad_redrive(reason, policy):
    written = policy(Queue().arn)
    Queue().refuses(
        "InvalidParameterValue",
        reason and invalid(written, "RedrivePolicy", reason),
        "SetQueueAttributes",
        Attributes={"RedrivePolicy": written},
    )


COUNT_RULE = "Invalid value for maxReceiveCount, valid values are from 1 to 1000 both inclusive."
for what, (reason, policy) in {
    "no JSON": ("Redrive policy is not a valid JSON map.", lambda a: "nonsense"),
    "a JSON list": ("Redrive policy is not a valid JSON map.", lambda a: "[]"),
    "no count": (
        "Redrive policy does not contain mandatory attribute: maxReceiveCount.",
        lambda a: json.dumps({"deadLetterTargetArn": a}),
    ),
    "no target": (
        "Redrive policy does not contain mandatory attribute: deadLetterTargetArn.",
        lambda a: '{"maxReceiveCount": 1}',
    ),
    "an unknown member": (None, lambda a: json.dumps(dict(redrive(a, 1), other=1))),
    "a count of 0": (COUNT_RULE, lambda a: json.dumps(redrive(a, 0))),
    "a count of 1001": (COUNT_RULE, lambda a: json.dumps(redrive(a, 1001))),
    "a count that is none": (COUNT_RULE, lambda a: json.dumps(redrive(a, "many"))),
    "a fraction for the count": (COUNT_RULE, lambda a: json.dumps(redrive(a, 1.5))),
    "a target that is no ARN": ("Invalid value for deadLetterTargetArn.", lambda a: json.dumps(redrive("dummy", 42))),
    "a topic as target": (
        "Invalid value for deadLetterTargetArn.",
        lambda a: json.dumps(redrive("arn:aws:sns:us-east-1:000000000000:t", 1)),
    ),
    "a target that is not there": ("Dead letter target does not exist.", lambda a: json.dumps(redrive(a + "x", 1))),
    "a target of another region": (None, lambda a: json.dumps(redrive(a.replace("us-east-1", "eu-west-1"), 1))),
    "a target of another account": (None, lambda a: json.dumps(redrive(a.replace(ACCOUNT, "123456789012"), 1))),
}.items():
    row("redrive: %s is refused" % what, bad_redrive, reason, policy)


@case
def redrive_to_a_queue_of_the_other_type_is_refused():
    standard, fifo = Queue(), Queue(fifo=True)
    standard.refuses(
        "InvalidParameterValue",
        None,
        "SetQueueAttributes",
        Attributes={"RedrivePolicy": json.dumps(redrive(fifo, 1))},
    )
    fifo.refuses(
        "InvalidParameterValue",
        None,
        "SetQueueAttributes",
        Attributes={"RedrivePolicy": json.dumps(redrive(standard, 1))},
    )


@case
def redrive_to_itself_is_refused():
    q = Queue()
    q.refuses(
        "InvalidParameterValue", None, "SetQueueAttributes", Attributes={"RedrivePolicy": json.dumps(redrive(q, 1))}
    )


# --- Redrive allow policies ------------------------------------------------------------------------------------------------

for permission in ("allowAll", "denyAll"):
    row(
        "redrive allow: %s is kept" % permission,
        lambda permission=permission: equal(
            json.loads(Queue(RedriveAllowPolicy={"redrivePermission": permission}).attribute("RedriveAllowPolicy")),
            {"redrivePermission": permission},
        ),
    )


@case
def redrive_allow_by_queue_is_kept_and_taken_away():
    source = Queue()
    policy = {"redrivePermission": "byQueue", "sourceQueueArns": [source.arn]}
    q = Queue(RedriveAllowPolicy=policy)
    equal(json.loads(q.attribute("RedriveAllowPolicy")), policy)
    q.set(RedriveAllowPolicy="")
    equal(q.attributes("RedriveAllowPolicy"), {})


def admitted(policy, name, accepted):
    name = name or fresh()
    dead = Queue(RedriveAllowPolicy=policy(name))
    given = {"RedrivePolicy": json.dumps(redrive(dead, 1))}
    if accepted:
        call("CreateQueue", QueueName=name, Attributes=given)
    else:
        refused("InvalidParameterValue", None, "CreateQueue", QueueName=name, Attributes=given)


row("redrive allow: allowAll admits a source", admitted, lambda n: {"redrivePermission": "allowAll"}, None, True)
row("redrive allow: denyAll admits no source", admitted, lambda n: {"redrivePermission": "denyAll"}, None, False)
row(
    "redrive allow: byQueue admits the source that it names",
    admitted,
    lambda n: {"redrivePermission": "byQueue", "sourceQueueArns": [arn("other"), arn(n)]},
    None,
    True,
)
row(
    "redrive allow: byQueue admits no other source",
    admitted,
    lambda n: {"redrivePermission": "byQueue", "sourceQueueArns": [arn("other")]},
    None,
    False,
)

for what, policy in {
    "no JSON": "nonsense",
    "an unknown permission": '{"redrivePermission":"some"}',
    "no permission": "{}",
    "byQueue without sources": '{"redrivePermission":"byQueue"}',
    "allowAll with sources": json.dumps({"redrivePermission": "allowAll", "sourceQueueArns": [arn("q")]}),
    "eleven sources": json.dumps(
        {"redrivePermission": "byQueue", "sourceQueueArns": [arn("q%d" % i) for i in range(11)]}
    ),
    "a source that is no ARN": '{"redrivePermission":"byQueue","sourceQueueArns":["q"]}',
}.items():
    row(
        "redrive allow: %s is refused" % what,
        lambda policy=policy: Queue().refuses(
            "InvalidParameterValue", None, "SetQueueAttributes", Attributes={"RedriveAllowPolicy": policy}
        ),
    )
row(
    "redrive allow: ten sources are accepted",
    lambda: Queue(
        RedriveAllowPolicy={"redrivePermission": "byQueue", "sourceQueueArns": [arn("q%d" % i) for i in range(10)]}
    ),
)


# --- Counters ------------------------------------------------------------------------------------------------------------


@case
def counters_follow_a_message_through_its_life():
    q = Queue()
    q.send("a")
    q.send("b", DelaySeconds=60)
    equal(q.counts(), (1, 0, 1))
    message = q.receive_one()
    equal(q.counts(), (0, 1, 1))
    q.change(message, 0)
    equal(q.counts(), (1, 0, 1))
    q.delete(q.receive_one())
    equal(q.counts(), (0, 0, 1))
