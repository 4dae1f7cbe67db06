"""AWS JSON 1.0 byte by byte."""

from wire_kit import *  # noqa: F403

# --- AWS JSON: answers -------------------------------------------------------------------------------------------------


@case
def json_create_queue_answers_with_the_clients_host():
    name = fresh()
    ask_json("CreateQueue", {"QueueName": name}, body='{"QueueUrl":"http://%s/%s/%s"}' % (HOST, ACCOUNT, name))


@case
def json_says_https_behind_a_proxy_that_ends_tls():
    name = fresh()
    ask_json(
        "CreateQueue",
        {"QueueName": name},
        body='{"QueueUrl":"https://sqs.example.com/%s/%s"}' % (ACCOUNT, name),
        fields=[("X-Forwarded-Proto", "https")],
        host="sqs.example.com",
    )


@case
def json_a_host_that_is_none_is_not_put_into_urls():
    name = fresh()
    answer = exchange(json_request("CreateQueue", {"QueueName": name}, host='x"<evil>'))
    assert answer.status == 400 or "evil" not in answer.body, answer.body


@case
def json_send_message():
    _, url = make()
    ask_json(
        "SendMessage",
        {"QueueUrl": url, "MessageBody": "hello"},
        body='{"MD5OfMessageBody":"5d41402abc4b2a76b9719d911017c592","MessageId":"~"}',
    )


@case
def json_send_message_with_attributes():
    _, url = make()
    ask_json(
        "SendMessage",
        {
            "QueueUrl": url,
            "MessageBody": "hello",
            "MessageAttributes": {"MyAttribute": {"DataType": "String", "StringValue": "foobar"}},
        },
        body='{"MD5OfMessageAttributes":"adb59cd4678ea5a855436b949cd07ab6","MD5OfMessageBody":"5d41402abc4b2a76b9719d911017c592","MessageId":"~"}',
    )


@case
def json_receive_message():
    _, url = make()
    send(url, "hello")
    ask_json(
        "ReceiveMessage",
        {"QueueUrl": url},
        body='{"Messages":[{"Body":"hello","MD5OfBody":"5d41402abc4b2a76b9719d911017c592","MessageId":"~","ReceiptHandle":"~"}]}',
    )
    ask_json("ReceiveMessage", {"QueueUrl": url}, body="{}")


@case
def json_batch_with_both_lists():
    _, url = make()
    ask_json(
        "SendMessageBatch",
        {"QueueUrl": url, "Entries": [{"Id": "a", "MessageBody": "x"}, {"Id": "b", "MessageBody": ""}]},
        body='{"Failed":[{"Code":"MissingParameter","Id":"b","Message":"The request must contain the parameter MessageBody.","SenderFault":true}],'
        '"Successful":[{"Id":"a","MD5OfMessageBody":"9dd4e461268c8034f5c8564e155c67a6","MessageId":"~"}]}',
    )


@case
def json_operations_without_output_answer_with_an_empty_object():
    _, url = make()
    send(url)
    [message] = receive(url)
    handle = message["ReceiptHandle"]
    for operation, members in [
        ("ChangeMessageVisibility", {"ReceiptHandle": handle, "VisibilityTimeout": 1}),
        ("DeleteMessage", {"ReceiptHandle": handle}),
        ("TagQueue", {"Tags": {"a": "b"}}),
        ("UntagQueue", {"TagKeys": ["a"]}),
        ("SetQueueAttributes", {"Attributes": {"DelaySeconds": "1"}}),
        ("PurgeQueue", {}),
        ("DeleteQueue", {}),
    ]:
        ask_json(operation, dict(members, QueueUrl=url), body="{}")


@case
def json_text_is_escaped_as_json_wants_it():
    _, url = make()
    text = "\"\\/\t\n\r\u00e9\u2028\U0001f600<>&'"
    send(url, text)
    answer = ask_json("ReceiveMessage", {"QueueUrl": url})
    equal(json.loads(answer.body)["Messages"][0]["Body"], text)
    assert "\n" not in answer.body and "\t" not in answer.body, answer.body


# --- AWS JSON: errors --------------------------------------------------------------------------------------------------


@case
def json_error_of_a_modelled_shape():
    ask_json(
        "GetQueueUrl",
        {"QueueName": fresh()},
        400,
        json_error("com.amazonaws.sqs#QueueDoesNotExist", "The specified queue does not exist."),
        "AWS.SimpleQueueService.NonExistentQueue;Sender",
    )


@case
def json_error_that_no_model_names():
    _, url = make()
    ask_json(
        "ReceiveMessage",
        {"QueueUrl": url, "MaxNumberOfMessages": 11},
        400,
        json_error(
            "com.amazon.coral.service#InvalidParameterValueException",
            "Value 11 for parameter MaxNumberOfMessages is invalid. Reason: Must be between 1 and 10, if provided.",
        ),
        "InvalidParameterValue;Sender",
    )


@case
def json_purge_twice():
    name, url = make()
    ask_json("PurgeQueue", {"QueueUrl": url})
    ask_json(
        "PurgeQueue",
        {"QueueUrl": url},
        403,
        json_error(
            "com.amazonaws.sqs#PurgeQueueInProgress",
            "Only one PurgeQueue operation on %s is allowed every 60 seconds." % name,
        ),
        "AWS.SimpleQueueService.PurgeQueueInProgress;Sender",
    )


@case
def json_a_bad_handle_is_404():
    _, url = make()
    ask_json(
        "DeleteMessage",
        {"QueueUrl": url, "ReceiptHandle": "garbage"},
        404,
        json_error(
            "com.amazonaws.sqs#ReceiptHandleIsInvalid",
            'The input receipt handle "garbage" is not a valid receipt handle.',
        ),
        "ReceiptHandleIsInvalid;Sender",
    )


row("json: an unknown operation", ask_json, "Explode", {}, 404, None, "UnknownOperationException;Sender")
row(
    "json: a target in small letters",
    ask_json,
    "createqueue",
    {"QueueName": "x"},
    404,
    None,
    "UnknownOperationException;Sender",
)
row("json: a broken body", ask_json, "ListQueues", b'{"a":', 400, None, "SerializationException;Sender")
row("json: a body that is a list", ask_json, "ListQueues", b"[]", 400, None, "SerializationException;Sender")
row("json: an empty body", ask_json, "ListQueues", b"", 400, None, "SerializationException;Sender")
for what, members in {
    "a number for a text": {"QueueName": 1},
    "a list for a text": {"QueueName": []},
    "a text for a map": {"QueueName": "q", "Attributes": "x"},
    "a number in a map of texts": {"QueueName": "q", "Attributes": {"DelaySeconds": 1}},
}.items():
    row("json: %s" % what, ask_json, "CreateQueue", members, 400, None, "SerializationException;Sender")
for what, value in {
    "a text": "5",
    "a fraction": 1.5,
    "true": True,
    "a list": [1],
    "more than 32 bits": 2**31,
}.items():
    row(
        "json: %s for an integer" % what,
        ask_json,
        "ReceiveMessage",
        {"QueueUrl": "http://x/000000000000/q", "WaitTimeSeconds": value},
        400,
        None,
        "SerializationException;Sender",
    )


# --- AWS JSON: what is taken ---------------------------------------------------------------------------------------------

for content_type in (
    "application/x-amz-json-1.0",
    "application/x-amz-json-1.1",
    "application/json",
    "application/x-amz-json-1.0; charset=utf-8",
    None,
):
    row(
        "json: the content type %s" % content_type,
        ask_json,
        "ListQueues",
        {"QueueNamePrefix": "none-such"},
        200,
        "{}",
        content_type=content_type,
    )


def members_are_taken(members):
    name, url = make()
    ask_json("SendMessage", {"QueueUrl": url, "MessageBody": "m", **members})
    equal(bodies(url), ["m"])


for what, members in {
    "unknown": {"Unknown": {"a": [1, None, {"b": True}]}},
    "null": {"DelaySeconds": None, "MessageAttributes": None},
    "empty": {"MessageAttributes": {}, "MessageSystemAttributes": {}},
    "in small letters": {"delayseconds": 900},
    "unknown inside an attribute": {
        "MessageAttributes": {"a": {"DataType": "String", "StringValue": "x", "Extra": 1}}
    },
    "of an attribute null": {
        "MessageAttributes": {"a": {"DataType": "String", "StringValue": "x", "BinaryValue": None}}
    },
    "of an attribute empty lists": {
        "MessageAttributes": {"a": {"DataType": "String", "StringValue": "x", "StringListValues": []}}
    },
}.items():
    row("json: members that are %s" % what, members_are_taken, members)


@case
def json_with_white_space_everywhere():
    name = fresh()
    ask_json("CreateQueue", b' \r\n\t{ "QueueName" :\n"' + name.encode() + b'" , "tags" : { } } \n')


@case
def json_with_escaped_keys_and_values():
    name = fresh()
    ask_json(
        "CreateQueue",
        b'{"\\u0051ueueName":"\\u0077' + name[1:].encode() + b'"}',
        body='{"QueueUrl":"http://%s/%s/%s"}' % (HOST, ACCOUNT, name),
    )


@case
def json_on_the_queues_path_needs_no_queue_url():
    name, url = make()
    ask_json("SendMessage", {"MessageBody": "m"}, path="/%s/%s" % (ACCOUNT, name))
    equal(bodies(url), ["m"])


@case
def json_queue_url_beats_the_path():
    name, url = make()
    other, other_url = make()
    ask_json("SendMessage", {"QueueUrl": other_url, "MessageBody": "m"}, path="/%s/%s" % (ACCOUNT, name))
    equal(bodies(other_url), ["m"])
    equal(bodies(url), [])


@case
def json_binary_values_are_base64():
    _, url = make()
    data = bytes(range(256))
    send(url, "m", MessageAttributes={"b": {"DataType": "Binary", "BinaryValue": base64.b64encode(data).decode()}})
    [message] = receive(url, MessageAttributeNames=["All"])
    equal(base64.b64decode(message["MessageAttributes"]["b"]["BinaryValue"]), data)


row(
    "json: bytes that are no base64",
    lambda: ask_json(
        "SendMessage",
        {
            "QueueUrl": make()[1],
            "MessageBody": "m",
            "MessageAttributes": {"b": {"DataType": "Binary", "BinaryValue": "%%%"}},
        },
        400,
        None,
        "SerializationException;Sender",
    ),
)
row(
    "json: the header x-amzn-query-mode",
    ask_json,
    "ListQueues",
    {"QueueNamePrefix": "none-such"},
    200,
    "{}",
    fields=[("x-amzn-query-mode", "true")],
)
row("json: by GET is refused", lambda: equal(exchange(json_request("ListQueues", {}, method="GET")).status, 405))
