#!/usr/bin/env python3
"""SQS byte by byte over a socket: what no SDK sends or shows. FANFARE_ENDPOINT is the broker's URL. wire_kit.py says how
a row is read. `wire_cases.py PART_OF_A_NAME` runs some.
"""

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


# --- AWS Query: answers ------------------------------------------------------------------------------------------------


@case
def query_create_queue():
    name = fresh()
    ask_query(
        {"Action": "CreateQueue", "QueueName": name, "Version": "2012-11-05"},
        body=xml("CreateQueue", "<QueueUrl>http://%s/%s/%s</QueueUrl>" % (HOST, ACCOUNT, name)),
    )


@case
def query_send_message():
    _, url = make()
    ask_query(
        {"Action": "SendMessage", "QueueUrl": url, "MessageBody": "hello"},
        body=xml(
            "SendMessage",
            "<MD5OfMessageBody>5d41402abc4b2a76b9719d911017c592</MD5OfMessageBody><MessageId>~</MessageId>",
        ),
    )


@case
def query_receive_message():
    _, url = make()
    send(url, "hello", MessageAttributes={"MyAttribute": {"DataType": "String", "StringValue": "foobar"}})
    ask_query(
        {
            "Action": "ReceiveMessage",
            "QueueUrl": url,
            "AttributeName.1": "ApproximateReceiveCount",
            "MessageAttributeName.1": "All",
        },
        body=xml(
            "ReceiveMessage",
            "<Message><Attribute><Name>ApproximateReceiveCount</Name><Value>1</Value></Attribute><Body>hello</Body>"
            "<MD5OfBody>5d41402abc4b2a76b9719d911017c592</MD5OfBody><MD5OfMessageAttributes>adb59cd4678ea5a855436b949cd07ab6</MD5OfMessageAttributes>"
            "<MessageAttribute><Name>MyAttribute</Name><Value><DataType>String</DataType><StringValue>foobar</StringValue></Value></MessageAttribute>"
            "<MessageId>~</MessageId><ReceiptHandle>~</ReceiptHandle></Message>",
        ),
    )
    ask_query({"Action": "ReceiveMessage", "QueueUrl": url}, body=xml("ReceiveMessage", ""))


@case
def query_batch_with_both_kinds_of_entries():
    _, url = make()
    ask_query(
        {
            "Action": "SendMessageBatch",
            "QueueUrl": url,
            "SendMessageBatchRequestEntry.1.Id": "a",
            "SendMessageBatchRequestEntry.1.MessageBody": "x",
            "SendMessageBatchRequestEntry.2.Id": "b",
            "SendMessageBatchRequestEntry.2.MessageBody": "",
        },
        body=xml(
            "SendMessageBatch",
            "<BatchResultErrorEntry><Code>MissingParameter</Code><Id>b</Id><Message>The request must contain the parameter MessageBody.</Message>"
            "<SenderFault>true</SenderFault></BatchResultErrorEntry><SendMessageBatchResultEntry><Id>a</Id>"
            "<MD5OfMessageBody>9dd4e461268c8034f5c8564e155c67a6</MD5OfMessageBody><MessageId>~</MessageId></SendMessageBatchResultEntry>",
        ),
    )


@case
def query_operations_without_output():
    _, url = make()
    send(url)
    [message] = receive(url)
    handle = message["ReceiptHandle"]
    for action, parameters in [
        ("ChangeMessageVisibility", {"ReceiptHandle": handle, "VisibilityTimeout": 1}),
        ("DeleteMessage", {"ReceiptHandle": handle}),
        ("TagQueue", {"Tag.1.Key": "a", "Tag.1.Value": "b"}),
        ("UntagQueue", {"TagKey.1": "a"}),
        ("SetQueueAttributes", {"Attribute.1.Name": "DelaySeconds", "Attribute.1.Value": "1"}),
        ("PurgeQueue", {}),
        ("DeleteQueue", {}),
    ]:
        ask_query(dict(parameters, Action=action, QueueUrl=url), body=xml(action, None))


@case
def query_attributes_and_tags_and_lists():
    name, url = make(DelaySeconds="7")
    ask_query(
        {"Action": "GetQueueAttributes", "QueueUrl": url, "AttributeName.1": "DelaySeconds"},
        body=xml("GetQueueAttributes", "<Attribute><Name>DelaySeconds</Name><Value>7</Value></Attribute>"),
    )
    ask_query({"Action": "GetQueueAttributes", "QueueUrl": url}, body=xml("GetQueueAttributes", ""))
    ask_json("TagQueue", {"QueueUrl": url, "Tags": {"a": "1", "b": ""}})
    ask_query(
        {"Action": "ListQueueTags", "QueueUrl": url},
        body=xml("ListQueueTags", "<Tag><Key>a</Key><Value>1</Value></Tag><Tag><Key>b</Key><Value></Value></Tag>"),
    )
    ask_query(
        {"Action": "ListQueues", "QueueNamePrefix": name}, body=xml("ListQueues", "<QueueUrl>%s</QueueUrl>" % url)
    )


@case
def query_text_is_escaped_as_xml_wants_it():
    _, url = make()
    send(url, '<a b="c">&\'\r\n\t]]>')
    answer = ask_query({"Action": "ReceiveMessage", "QueueUrl": url})
    body = re.search("<Body>(.*?)</Body>", answer.body, re.DOTALL).group(1)
    assert "<" not in body and "\r" not in body, body  # a bare carriage return would be read as a line feed
    import xml.etree.ElementTree as tree

    [found] = [e for e in tree.fromstring(answer.body).iter() if e.tag.endswith("}Body")]
    equal(found.text, '<a b="c">&\'\r\n\t]]>')


# --- AWS Query: errors -------------------------------------------------------------------------------------------------


@case
def query_error_of_a_missing_queue_has_its_own_text():
    ask_query(
        {"Action": "GetQueueUrl", "QueueName": fresh()},
        400,
        xml_error(
            "AWS.SimpleQueueService.NonExistentQueue", "The specified queue does not exist for this wsdl version."
        ),
    )


@case
def query_error_of_a_parameter():
    _, url = make()
    ask_query(
        {"Action": "ReceiveMessage", "QueueUrl": url, "WaitTimeSeconds": "21"},
        400,
        xml_error(
            "InvalidParameterValue",
            "Value 21 for parameter WaitTimeSeconds is invalid. Reason: Must be &gt;= 0 and &lt;= 20, if provided.",
        ),
    )


row(
    "query: an unknown action",
    ask_query,
    {"Action": "Explode", "Version": "2012-11-05"},
    400,
    xml_error("InvalidAction", "The action Explode is not valid for this endpoint."),
)
row("query: no action", lambda: equal(exchange(query_request({"Version": "2012-11-05"})).status, 400))
row(
    "query: no queue URL",
    ask_query,
    {"Action": "SendMessage", "MessageBody": "m"},
    400,
    xml_error("MissingParameter", "The request must contain the parameter QueueUrl."),
)
for what, value in {
    "a word": "soon",
    "a fraction": "1.5",
    "nothing": "",
    "a space": " 1",
    "a huge number": "9" * 30,
}.items():
    row(
        "query: %s for an integer" % what,
        lambda value=value: ask_query(
            {"Action": "ReceiveMessage", "QueueUrl": make()[1], "WaitTimeSeconds": value},
            400,
            xml_error("InvalidParameterValue", "~"),
        ),
    )


# --- AWS Query: what is taken ------------------------------------------------------------------------------------------


def queue_has(parameters, attributes):
    name = fresh()
    ask_query("Action=CreateQueue&QueueName=%s&%s" % (name, parameters))
    answer = ask_json(
        "GetQueueAttributes", {"QueueUrl": "http://x/%s/%s" % (ACCOUNT, name), "AttributeNames": list(attributes)}
    )
    equal(json.loads(answer.body)["Attributes"], attributes)


for what, parameters in {
    "with numbers": "Attribute.1.Name=DelaySeconds&Attribute.1.Value=5&Attribute.2.Name=VisibilityTimeout&Attribute.2.Value=6",
    "in any order": "Attribute.2.Value=6&Attribute.1.Name=DelaySeconds&Attribute.2.Name=VisibilityTimeout&Attribute.1.Value=5",
    "with gaps": "Attribute.3.Name=DelaySeconds&Attribute.3.Value=5&Attribute.90.Name=VisibilityTimeout&Attribute.90.Value=6",
    "from ten on": "Attribute.10.Name=DelaySeconds&Attribute.10.Value=5&Attribute.9.Name=VisibilityTimeout&Attribute.9.Value=6",
    "with leading zeros": "Attribute.01.Name=DelaySeconds&Attribute.1.Value=5&Attribute.2.Name=VisibilityTimeout&Attribute.02.Value=6",
    "with member": "Attribute.member.1.Name=DelaySeconds&Attribute.member.1.Value=5&Attribute.member.2.Name=VisibilityTimeout&Attribute.member.2.Value=6",
    "with unknown parameters between": "Foo=1&Attribute.1.Name=DelaySeconds&Attribute.1.Foo=x&Attribute.1.Value=5&Bar.1.Baz=2&Attribute.2.Name=VisibilityTimeout&Attribute.2.Value=6",
    "percent-encoded": "%41ttribute.1.Name=Delay%53econds&Attribute.1.Value=%35&Attribute%2E2.Name=VisibilityTimeout&Attribute.2.Value=6",
}.items():
    row("query: attributes %s" % what, queue_has, parameters, {"VisibilityTimeout": "6", "DelaySeconds": "5"})
row(
    "query: one attribute without a number",
    queue_has,
    "Attribute.Name=DelaySeconds&Attribute.Value=5",
    {"DelaySeconds": "5"},
)
row("query: an empty list", queue_has, "Attribute=&Tag=", {"DelaySeconds": "0"})


def names_select(parameters):
    _, url = make()
    ask_query(
        "Action=GetQueueAttributes&QueueUrl=%s&%s" % (url, parameters),
        body=xml("GetQueueAttributes", "<Attribute><Name>DelaySeconds</Name><Value>0</Value></Attribute>"),
    )


for what, parameters in {
    "with a number": "AttributeName.1=DelaySeconds",
    "without a number": "AttributeName=DelaySeconds",
    "with member": "AttributeName.member.1=DelaySeconds",
    "twice": "AttributeName.1=DelaySeconds&AttributeName.2=DelaySeconds",
}.items():
    row("query: attribute names %s" % what, names_select, parameters)


@case
def query_message_attributes():
    _, url = make()
    ask_query(
        {
            "Action": "SendMessage",
            "QueueUrl": url,
            "MessageBody": "m",
            "MessageAttribute.1.Name": "t",
            "MessageAttribute.1.Value.DataType": "String",
            "MessageAttribute.1.Value.StringValue": "v",
            "MessageAttribute.2.Name": "b",
            "MessageAttribute.2.Value.DataType": "Binary",
            "MessageAttribute.2.Value.BinaryValue": "AAEC",
            "MessageSystemAttribute.1.Name": "AWSTraceHeader",
            "MessageSystemAttribute.1.Value.DataType": "String",
            "MessageSystemAttribute.1.Value.StringValue": "Root=1",
        }
    )
    [message] = receive(url, MessageAttributeNames=["All"], AttributeNames=["AWSTraceHeader"])
    equal(
        message["MessageAttributes"],
        {"t": {"DataType": "String", "StringValue": "v"}, "b": {"DataType": "Binary", "BinaryValue": "AAEC"}},
    )
    equal(message["Attributes"], {"AWSTraceHeader": "Root=1"})


@case
def query_tags_at_creation():
    name = fresh()
    ask_query("Action=CreateQueue&QueueName=%s&Tag.1.Key=a&Tag.1.Value=1&Tag.2.Key=b&Tag.2.Value=" % name)
    answer = ask_json("ListQueueTags", {"QueueUrl": "http://x/%s/%s" % (ACCOUNT, name)})
    equal(json.loads(answer.body), {"Tags": {"a": "1", "b": ""}})


@case
def query_delete_and_change_batches():
    _, url = make()
    send(url, "a")
    send(url, "b")
    handles = [m["ReceiptHandle"] for m in receive(url)]
    ask_query(
        {
            "Action": "ChangeMessageVisibilityBatch",
            "QueueUrl": url,
            **{
                "ChangeMessageVisibilityBatchRequestEntry.%d.%s" % (i + 1, k): v
                for i, h in enumerate(handles)
                for k, v in {"Id": "e%d" % i, "ReceiptHandle": h, "VisibilityTimeout": "60"}.items()
            },
        },
        body=xml(
            "ChangeMessageVisibilityBatch",
            "".join(
                "<ChangeMessageVisibilityBatchResultEntry><Id>e%d</Id></ChangeMessageVisibilityBatchResultEntry>" % i
                for i in range(2)
            ),
        ),
    )
    ask_query(
        {
            "Action": "DeleteMessageBatch",
            "QueueUrl": url,
            **{
                "DeleteMessageBatchRequestEntry.%d.%s" % (i + 1, k): v
                for i, h in enumerate(handles)
                for k, v in {"Id": "e%d" % i, "ReceiptHandle": h}.items()
            },
        },
        body=xml(
            "DeleteMessageBatch",
            "".join(
                "<DeleteMessageBatchResultEntry><Id>e%d</Id></DeleteMessageBatchResultEntry>" % i for i in range(2)
            ),
        ),
    )


@case
def query_pluses_and_percent_signs():
    _, url = make()
    ask_query("Action=SendMessage&MessageBody=a+b%%2Bc%%25%%C3%%A9&QueueUrl=%s" % urllib.parse.quote(url, safe=""))
    equal(bodies(url), ["a b+c%\u00e9"])


for what, suffix in {
    "without a version": "",
    "with an older version": "&Version=2011-10-01",
    "with the current version": "&Version=2012-11-05",
}.items():
    row(
        "query: %s" % what,
        ask_query,
        "Action=ListQueues&QueueNamePrefix=none-such" + suffix,
        200,
        xml("ListQueues", ""),
    )
row(
    "query: a content type with its character set",
    lambda: ask(
        request(
            body=b"Action=ListQueues&QueueNamePrefix=none-such", fields=[("Content-Type", FORM + "; charset=utf-8")]
        ),
        200,
        xml("ListQueues", ""),
    ),
)
row(
    "query: without a content type",
    lambda: ask(request(body=b"Action=ListQueues&QueueNamePrefix=none-such"), 200, xml("ListQueues", "")),
)


# --- Paths and methods -------------------------------------------------------------------------------------------------


@case
def post_to_the_queues_path():
    name, url = make()
    ask_query("Action=SendMessage&MessageBody=m", path="/%s/%s" % (ACCOUNT, name))
    equal(bodies(url), ["m"])


@case
def post_to_the_queues_path_with_a_slash_at_its_end():
    name, url = make()
    ask_query("Action=SendMessage&MessageBody=m", path="/%s/%s/" % (ACCOUNT, name))
    equal(bodies(url), ["m"])


@case
def get_with_a_query_string():
    name, url = make()
    ask(
        request("GET", "/?Action=GetQueueUrl&QueueName=%s&Version=2012-11-05" % name),
        200,
        xml("GetQueueUrl", "<QueueUrl>%s</QueueUrl>" % url),
    )


@case
def get_on_the_queues_path():
    name, url = make()
    ask(request("GET", "/%s/%s?Action=SendMessage&MessageBody=a%%20b+c" % (ACCOUNT, name)), 200)
    equal(bodies(url), ["a b c"])


@case
def get_receive_and_delete_on_the_queues_path():
    name, url = make()
    send(url, "m")
    answer = ask(request("GET", "/%s/%s?Action=ReceiveMessage" % (ACCOUNT, name)), 200)
    handle = re.search("<ReceiptHandle>(.*?)</ReceiptHandle>", answer.body).group(1)
    ask(
        request("GET", "/%s/%s?Action=DeleteMessage&ReceiptHandle=%s" % (ACCOUNT, name, urllib.parse.quote(handle))),
        200,
        xml("DeleteMessage", None),
    )


@case
def post_with_the_action_in_the_query_string():
    name, url = make()
    ask(
        request("POST", "/%s/%s?Action=SendMessage" % (ACCOUNT, name), b"MessageBody=m", [("Content-Type", FORM)]),
        200,
    )
    equal(bodies(url), ["m"])


@case
def get_presigned():
    name, url = make()
    scope = urllib.parse.quote("test/20300101/us-east-1/sqs/aws4_request", safe="")
    ask(
        request(
            "GET",
            "/?Action=GetQueueUrl&QueueName=%s&X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=%s&X-Amz-Date=20300101T000000Z"
            "&X-Amz-Expires=60&X-Amz-SignedHeaders=host&X-Amz-Signature=00" % (name, scope),
        ),
        200,
        xml("GetQueueUrl", "<QueueUrl>%s</QueueUrl>" % url),
    )


@case
def the_queue_of_a_path_that_is_not_there():
    ask_query(
        "Action=SendMessage&MessageBody=m",
        400,
        xml_error(
            "AWS.SimpleQueueService.NonExistentQueue", "The specified queue does not exist for this wsdl version."
        ),
        path="/%s/%s" % (ACCOUNT, fresh()),
    )


for path in ("/nothing", "/123/q", "/%s" % ACCOUNT, "/%s/a/b" % ACCOUNT, "//"):
    row(
        "the path %s is nowhere" % path,
        lambda path=path: equal(exchange(query_request("Action=ListQueues", path=path)).status, 404),
    )
for method in ("PUT", "DELETE", "PATCH", "OPTIONS"):
    row(
        "the method %s is refused" % method,
        lambda method=method: equal(exchange(request(method, "/", b"Action=ListQueues")).status, 405),
    )


# --- Regions and services by host and credential ------------------------------------------------------------------------


def region_of(expected, host=HOST, fields=()):
    name = fresh()
    answer = ask_json("CreateQueue", {"QueueName": name}, host=host, fields=fields)
    url = json.loads(answer.body)["QueueUrl"]
    answer = ask_json(
        "GetQueueAttributes", {"QueueUrl": url, "AttributeNames": ["QueueArn"]}, host=host, fields=fields
    )
    equal(json.loads(answer.body)["Attributes"]["QueueArn"], "arn:aws:sqs:%s:%s:%s" % (expected, ACCOUNT, name))


def signed_for(region, service="sqs", key="test"):
    return [
        (
            "Authorization",
            "AWS4-HMAC-SHA256 Credential=%s/20300101/%s/%s/aws4_request, SignedHeaders=host, Signature=00"
            % (key, region, service),
        )
    ]


row("region: of the credential", region_of, "eu-central-1", fields=signed_for("eu-central-1"))
row("region: of the host", region_of, "eu-west-3", host="sqs.eu-west-3.amazonaws.com")
row("region: of the dual-stack host", region_of, "ap-southeast-2", host="sqs.ap-southeast-2.api.aws")
row("region: of the legacy host", region_of, "eu-west-1", host="eu-west-1.queue.amazonaws.com")
row(
    "region: the credential beats the host",
    region_of,
    "eu-central-1",
    host="sqs.eu-west-3.amazonaws.com",
    fields=signed_for("eu-central-1"),
)
row("region: none is the default", region_of, "us-east-1", host="localhost")


# --- HTTP --------------------------------------------------------------------------------------------------------------

LIST = {"QueueNamePrefix": "none-such"}


@case
def http_many_requests_on_one_connection():
    connection = Connection()
    for _ in range(20):
        connection.send(json_request("ListQueues", LIST))
        equal(connection.answer().body, "{}")


@case
def http_pipelined_answers_come_in_order():
    connection = Connection()
    names = [fresh() for _ in range(10)]
    connection.send(b"".join(json_request("CreateQueue", {"QueueName": n}) for n in names))
    equal([json.loads(connection.answer().body)["QueueUrl"].rsplit("/", 1)[1] for _ in names], names)


@case
def http_a_long_poll_holds_back_the_answers_behind_it():
    _, url = make()
    connection = Connection()
    connection.send(
        json_request("ReceiveMessage", {"QueueUrl": url, "WaitTimeSeconds": 20}) + json_request("ListQueues", LIST)
    )
    send(url, "m")
    equal(json.loads(connection.answer().body)["Messages"][0]["Body"], "m")
    equal(connection.answer().body, "{}")


@case
def http_a_body_in_chunks():
    body = json.dumps(LIST).encode()
    chunks = (
        b"".join(b"%x\r\n%s\r\n" % (len(body[i : i + 7]), body[i : i + 7]) for i in range(0, len(body), 7))
        + b"0\r\n\r\n"
    )
    head = request(fields=[("X-Amz-Target", "AmazonSQS.ListQueues"), ("Transfer-Encoding", "chunked")], length=False)
    ask(head + chunks, 200, "{}")


@case
def http_expect_100_continue():
    connection = Connection()
    head, body = json_request("ListQueues", LIST, fields=[("Expect", "100-continue")]).split(b"\r\n\r\n", 1)
    connection.send(head + b"\r\n\r\n")
    first, _ = connection.head()
    equal(first, "HTTP/1.1 100 Continue")
    connection.send(body)
    equal(connection.answer().body, "{}")


@case
def http_connection_close_is_obeyed():
    connection = Connection()
    connection.send(json_request("ListQueues", LIST, fields=[("Connection", "close")]))
    answer = connection.answer()
    equal((answer.status, answer.fields.get("connection")), (200, "close"))
    assert connection.is_closed()


@case
def http_1_0_ends_the_connection():
    connection = Connection()
    connection.send(json_request("ListQueues", LIST, version="1.0"))
    equal(connection.answer().status, 200)
    assert connection.is_closed()


@case
def http_in_single_bytes():
    connection = Connection()
    data = json_request("ListQueues", LIST)
    for i in range(len(data)):
        connection.send(data[i : i + 1])
    equal(connection.answer().body, "{}")


@case
def http_a_compressed_body_is_refused():
    equal(exchange(json_request("ListQueues", b"\x1f\x8b", fields=[("Content-Encoding", "gzip")])).status, 415)


@case
def http_field_names_in_any_capitals():
    ask(
        request(
            body=b"{}",
            fields=[("x-AMZ-target", "AmazonSQS.ListQueues"), ("content-TYPE", "application/x-amz-json-1.0")],
        ),
        200,
    )


@case
def http_answers_have_a_date_and_a_length():
    answer = ask_json("ListQueues", LIST)
    equal(answer.fields["content-length"], "2")
    assert re.fullmatch(
        r"[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT", answer.fields["date"]
    ), answer.fields


@case
def request_ids_differ():
    equal(len({ask_json("ListQueues", LIST).fields["x-amzn-requestid"] for _ in range(5)}), 5)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
