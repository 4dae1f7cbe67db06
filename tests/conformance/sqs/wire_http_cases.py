"""Paths, methods, regions by host and credential, and HTTP itself."""

from wire_kit import *  # noqa: F403

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


@case
def a_queues_path_takes_no_actions_about_no_queue():
    path = "/%s/%s" % (ACCOUNT, fresh())
    for action in ("ListQueues", "CreateQueue&QueueName=" + fresh()):
        ask_query(
            "Action=" + action,
            400,
            xml_error("InvalidAction", "The action %s is not valid for this endpoint." % action.split("&")[0]),
            path=path,
        )
    equal(exchange(request("GET", path, b"")).status, 404)


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
