"""AddPermission and RemovePermission: what becomes of the queue's policy. [SQS AddPermission]"""

from kit import *  # noqa: F403

OTHER = "668614515564"


def add(queue, label="label", accounts=(OTHER,), actions=("ReceiveMessage",)):
    return queue("AddPermission", Label=label, AWSAccountIds=list(accounts), Actions=list(actions))


def policy(queue):
    text = queue.attribute("Policy")
    return None if text is None else json.loads(text)


def statement(queue, label="label", principals="arn:aws:iam::%s:root" % OTHER, actions="SQS:ReceiveMessage"):
    return {
        "Sid": label,
        "Effect": "Allow",
        "Principal": {"AWS": principals},
        "Action": actions,
        "Resource": queue.arn,
    }


@case
def a_permission_becomes_a_statement():
    q = Queue()
    equal(add(q), {})
    written = policy(q)
    assert written.pop("Id").startswith(q.arn + "/"), written
    equal(written, {"Version": "2008-10-17", "Statement": [statement(q)]})


@case
def several_accounts_and_actions_are_lists():
    q = Queue()
    add(q, accounts=(OTHER, "111122223333"), actions=("SendMessage", "ReceiveMessage"))
    roots = ["arn:aws:iam::%s:root" % a for a in (OTHER, "111122223333")]
    equal(policy(q)["Statement"], [statement(q, "label", roots, ["SQS:SendMessage", "SQS:ReceiveMessage"])])


@case
def permissions_are_added_and_removed_by_their_labels():
    q = Queue()
    add(q, "one")
    add(q, "two")
    equal([s["Sid"] for s in policy(q)["Statement"]], ["one", "two"])
    equal(q("RemovePermission", Label="one"), {})
    equal([s["Sid"] for s in policy(q)["Statement"]], ["two"])
    q("RemovePermission", Label="two")
    equal(policy(q), None)


@case
def a_label_is_given_once():
    q = Queue()
    add(q)
    q.refuses(
        "InvalidParameterValue",
        invalid("label", "Label", "Already exists."),
        "AddPermission",
        Label="label",
        AWSAccountIds=[OTHER],
        Actions=["SendMessage"],
    )


@case
def a_label_that_is_not_there():
    Queue().refuses(
        "InvalidParameterValue", invalid("none", "Label", "can't find label."), "RemovePermission", Label="none"
    )


@case
def a_permission_allows_what_it_says():
    q = Queue()
    other = make_client(OTHER)
    refused("AccessDenied", None, "SendMessage", other, QueueUrl=q.url, MessageBody="x")
    add(q, actions=("SendMessage",))
    call("SendMessage", other, QueueUrl=q.url, MessageBody="x")
    refused("AccessDenied", None, "ReceiveMessage", other, QueueUrl=q.url)
    q("RemovePermission", Label="label")
    refused("AccessDenied", None, "SendMessage", other, QueueUrl=q.url, MessageBody="x")


for parameter in ("Label", "AWSAccountIds", "Actions"):
    given = {"Label": "label", "AWSAccountIds": [OTHER], "Actions": ["SendMessage"]}
    del given[parameter]
    row(
        "AddPermission: no %s" % parameter,
        lambda given=given: Queue().refuses("MissingParameter", None, "AddPermission", **given),
    )
