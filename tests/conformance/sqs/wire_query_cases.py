"""AWS Query byte by byte."""

from wire_kit import *  # noqa: F403

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
