"""Sending one message: bodies, attributes, sizes, digests, and what is refused. [SQS SendMessage, message metadata]"""

from kit import *  # noqa: F403

# --- Bodies ----------------------------------------------------------------------------------------------------------------


def body_comes_back(body):
    q = Queue()
    sent = q.send(body)
    equal(sent["MD5OfMessageBody"], md5(body))
    message = q.receive_one()
    equal(message["Body"], body)
    equal(message["MD5OfBody"], md5(body))
    equal(message["MessageId"], sent["MessageId"])


for what, body in {
    "one byte": "x",
    "a space": " ",
    "white space": "\t\n\r ",
    "a carriage return and a line feed": "a\r\nb",
    "XML": "<a b='c'>&amp;]]></a>",
    "JSON": '{"a":"\\u0041","b":[1,2]}',
    "percent signs and pluses": "a+b%20c%",
    "an ampersand and an equals sign": "a=b&c=d",
    "umlauts": "\u00e4\u00f6\u00fc\u00df",
    "Chinese": "\u4e2d\u6587",
    "an emoji": "\U0001f600",
    "the last character of the BMP that may be": "\ufffd",
    "the first private character": "\ue000",
    "the last character before the surrogates": "\ud7ff",
    "the last character of all": "\U0010ffff",
    "leading and trailing space": "  x  ",
    "quotes and backslashes": "\"'\\/\\u0000",
    "a line separator": "\u2028\u2029",
    "a delete character": "\x7f\x80\x9f",
    "a byte order mark": "\ufeffx",
}.items():
    row("body: %s" % what, body_comes_back, body)

ALLOWED = "the set of allowed characters is #x9 | #xA | #xD | [#x20-#xD7FF] | [#xE000-#xFFFD] | [#x10000-#x10FFFF]"


def forbidden_body(code_point):
    Queue().refuses(
        "InvalidMessageContents",
        "Invalid binary character '#x%X' was found in the message body, %s" % (code_point, ALLOWED),
        "SendMessage",
        MessageBody="a%sb" % chr(code_point),
    )


for code_point in (0x0, 0x1, 0x8, 0xB, 0xC, 0xE, 0x1F, 0xFFFE, 0xFFFF):
    row("body: the character #x%X is refused" % code_point, forbidden_body, code_point)
row(
    "body: an empty one counts as a missing one",
    lambda: Queue().refuses("MissingParameter", missing("MessageBody"), "SendMessage", MessageBody=""),
)
row("body: a missing one", lambda: Queue().refuses("MissingParameter", missing("MessageBody"), "SendMessage"))


@case
def a_plain_message_is_answered_with_id_and_digest_only():
    answer = Queue().send("x")
    equal(sorted(answer), ["MD5OfMessageBody", "MessageId"])
    equal(str(uuid.UUID(answer["MessageId"])), answer["MessageId"])


@case
def equal_messages_are_two_messages():
    q = Queue()
    first, second = q.send("same"), q.send("same")
    assert first["MessageId"] != second["MessageId"]
    equal(sorted(q.bodies()), ["same", "same"])


# --- Sizes -----------------------------------------------------------------------------------------------------------------


def too_long(limit):
    return "One or more parameters are invalid. Reason: Message must be shorter than %d bytes." % limit


@case
def a_mebibyte_is_accepted_and_one_byte_more_is_not():
    q = Queue()
    q.send("x" * 1_048_576)
    q.refuses("InvalidParameterValue", too_long(1_048_576), "SendMessage", MessageBody="x" * 1_048_577)


@case
def the_queues_own_limit_counts():
    q = Queue(MaximumMessageSize=1024)
    q.send("x" * 1024)
    q.refuses("InvalidParameterValue", too_long(1024), "SendMessage", MessageBody="x" * 1025)
    q.set(MaximumMessageSize=2048)
    q.send("x" * 1025)


@case
def size_counts_bytes_not_characters():
    q = Queue(MaximumMessageSize=1024)
    q.send("\u00e4" * 512)
    q.refuses("InvalidParameterValue", too_long(1024), "SendMessage", MessageBody="\u00e4" * 513)
    q.send("\U0001f600" * 256)
    q.refuses("InvalidParameterValue", too_long(1024), "SendMessage", MessageBody="\U0001f600" * 256 + "x")


@case
def size_counts_names_types_and_values_of_attributes():
    q = Queue(MaximumMessageSize=1024)
    attributes = {"name": text("value"), "b": binary(b"\x00" * 10, "Binary.gif")}  # 4+6+5 and 1+10+10
    q.send("x" * (1024 - 15 - 21), MessageAttributes=attributes)
    q.refuses(
        "InvalidParameterValue",
        too_long(1024),
        "SendMessage",
        MessageBody="x" * (1024 - 15 - 20),
        MessageAttributes=attributes,
    )


@case
def size_does_not_count_system_attributes():
    q = Queue(MaximumMessageSize=1024)
    q.send("x" * 1024, MessageSystemAttributes={"AWSTraceHeader": text("Root=1-5759e988-bd862e3fe1be46a994272793")})


# --- Delays ----------------------------------------------------------------------------------------------------------------

for delay in (-1, 901):
    row(
        "delay: %d is refused" % delay,
        lambda delay=delay: Queue().refuses(
            "InvalidParameterValue",
            invalid(delay, "DelaySeconds", "DelaySeconds must be >= 0 and <= 900."),
            "SendMessage",
            MessageBody="x",
            DelaySeconds=delay,
        ),
    )
row("delay: 900 is accepted", lambda: Queue().send(DelaySeconds=900))


@case
def a_delay_of_zero_overrides_the_queues():
    q = Queue(DelaySeconds=900)
    q.send("at once", DelaySeconds=0)
    q.send("later")
    equal(q.bodies(), ["at once"])
    equal(q.counts(), (0, 1, 1))


# --- Groups and deduplication on standard queues ---------------------------------------------------------------------------


@case
def a_standard_queue_takes_and_shows_a_group():
    q = Queue()
    answer = q.send("x", MessageGroupId="tenant-1")
    equal(sorted(answer), ["MD5OfMessageBody", "MessageId"])
    equal(q.receive_one(AttributeNames=["All"])["Attributes"]["MessageGroupId"], "tenant-1")


ID_RULE = "%s can only include alphanumeric and punctuation characters. 1 to 128 in length."


def bad_id(parameter, value, fifo):
    Queue(fifo=fifo).refuses(
        "InvalidParameterValue",
        invalid(value, parameter, ID_RULE % parameter),
        "SendMessage",
        MessageBody="x",
        **dict({"MessageGroupId": "g", "MessageDeduplicationId": "d"} if fifo else {}, **{parameter: value}),
    )


for what, value in {
    "an empty text": "",
    "129 characters": "a" * 129,
    "a space": "group 123",
    "an umlaut": "\u00e4",
    "a line feed": "a\nb",
}.items():
    row("MessageGroupId of a standard queue: %s is refused" % what, bad_id, "MessageGroupId", value, False)
    row("MessageGroupId of a FIFO queue: %s is refused" % what, bad_id, "MessageGroupId", value, True)
    row("MessageDeduplicationId: %s is refused" % what, bad_id, "MessageDeduplicationId", value, True)
for what, value in {"128 characters": "a" * 128, "all punctuation": "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"}.items():
    row("MessageGroupId of a standard queue: %s" % what, lambda value=value: Queue().send(MessageGroupId=value))


@case
def a_standard_queue_refuses_a_deduplication_id():
    Queue().refuses(
        "InvalidParameterValue",
        "The request include parameter MessageDeduplicationId which is not valid for this queue type",
        "SendMessage",
        MessageBody="x",
        MessageDeduplicationId="d",
    )


# --- Message attributes ------------------------------------------------------------------------------------------------------

VECTORS = {
    "of a text": ({"attribName1": text("attribValue 1")}, "19e27d4e946b072f3f58da80d94fd778"),
    "of bytes": ({"binaryAttribute": binary(b"Hello binary world!")}, "31a92b15d92f8db860eda32aceb656c3"),
    "that the service was seen to give": ({"MyAttribute": text("foobar")}, "adb59cd4678ea5a855436b949cd07ab6"),
    "of bytes with a control character": (
        {"attr1": binary(b"traceparent\x1e00-774062d6c37081a5a0b9b5b88e30627c-2d2482211f6489da-01")},
        "8cbe4db156db8a94db8b801b7addb984",
    ),
    "of three, whatever their order": (
        {"Hello": text("There"), "General": text("Kenobi"), "Help.Me": text("Me")},
        "4c360f3fdafd970e05fae2f149d997f5",
    ),
}


def digest_is(attributes, expected):
    q = Queue()
    equal(q.send(MessageAttributes=attributes)["MD5OfMessageAttributes"], expected)
    equal(md5_of_attributes(attributes), expected)
    equal(q.receive_one(MessageAttributeNames=["All"])["MD5OfMessageAttributes"], expected)


for what, (attributes, expected) in VECTORS.items():
    row("MD5 of attributes: %s" % what, digest_is, attributes, expected)


def attributes_come_back(attributes):
    q = Queue()
    sent = q.send(MessageAttributes=attributes)
    message = q.receive_one(MessageAttributeNames=["All"])
    equal(message["MessageAttributes"], attributes)
    equal(sent["MD5OfMessageAttributes"], md5_of_attributes(attributes))
    equal(message["MD5OfMessageAttributes"], md5_of_attributes(attributes))


for what, attributes in {
    "a text": {"a": text("x")},
    "a text with a type of its own": {"a": text("x", "String.uuid")},
    "a number": {"a": number("17")},
    "a number with a type of its own": {"a": number("1.5", "Number.float")},
    "bytes": {"a": binary(bytes(range(256)))},
    "bytes with a type of their own": {"a": binary(b"GIF", "Binary.gif")},
    "ten of them": {"a%d" % i: text(str(i)) for i in range(10)},
    "names that differ in their capitals": {"a": text("1"), "A": text("2")},
    "a name of 256 characters": {"n" * 256: text("x")},
    "a name with dots, hyphens, underscores": {"a.b-c_d": text("x")},
    "a name with aws inside": {"my.aws.name": text("x")},
    "a type of 256 characters": {"a": text("x", "String." + "t" * 249)},
    "characters of every kind": {"a": text("<&>\"'\t\n\u00e4\U0001f600")},
    "one zero byte": {"a": binary(b"\x00")},
}.items():
    row("attributes of messages: %s" % what, attributes_come_back, attributes)
for value in (
    "0",
    "-1",
    "+1",
    "1e10",
    "-1.5E-10",
    ".5",
    "5.",
    "1" * 38,
    "0." + "0" * 127 + "1",
    "1e126",
    "1e-128",
    "00012",
    "0" * 50,
):
    row(
        "attributes of messages: the number %s" % (value if len(value) < 60 else value[:20] + "..."),
        attributes_come_back,
        {"a": number(value)},
    )

NAME_CHARACTERS = (
    "Invalid non-alphanumeric character '%s' was found in the message attribute name. Can only include alphanumeric characters, "
    "hyphens, underscores, or dots."
)
for what, (name, message) in {
    "with a space": ("a b", NAME_CHARACTERS % "#x20"),
    "with a circumflex": ("a^b", NAME_CHARACTERS % "#x5E"),
    "that begins with a dot": (".a", "Invalid message attribute name starting with character '.' was found."),
    "that ends with a dot": ("a.", "Invalid message attribute name ending with character '.' was found."),
    "with two dots in a row": ("a..b", "Message attribute name can not have successive '.' character."),
    "of 257 characters": ("n" * 257, "Length of message attribute name must be less than 256 bytes."),
    "that begins with AWS.": ("AWS.a", None),
    "that begins with aws.": ("aws.a", None),
    "that begins with Amazon.": ("Amazon.a", None),
    "that begins with amazon.": ("amazon.a", None),
    "with an umlaut": ("\u00e4", None),
}.items():
    row(
        "attributes of messages: a name %s is refused" % what,
        lambda name=name, message=message: Queue().refuses(
            "InvalidParameterValue", message, "SendMessage", MessageBody="x", MessageAttributes={name: text("x")}
        ),
    )

TYPE_RULE = "The message attribute 'a' has an invalid message attribute type, the set of supported type prefixes is Binary, Number, and String."
for what, (value, message) in {
    "no type": ({"StringValue": "x"}, "Message (user) attribute 'a' must contain a non-empty attribute type."),
    "an empty type": (text("x", ""), "Message (user) attribute 'a' must contain a non-empty attribute type."),
    "an unknown type": (text("x", "Text"), TYPE_RULE),
    "a type in small letters": (text("x", "string"), TYPE_RULE),
    "a type with nothing behind its dot": (text("x", "String."), TYPE_RULE),
    "a type without its dot": (text("x", "Stringuuid"), TYPE_RULE),
    "a type of 257 characters": (text("x", "String." + "t" * 250), TYPE_RULE),
    "an empty text": (text(""), "Message (user) attribute 'a' must contain a non-empty value of type 'String'."),
    "no value for a text": (
        {"DataType": "String"},
        "Message (user) attribute 'a' must contain a non-empty value of type 'String'.",
    ),
    "no value for a number": (
        {"DataType": "Number"},
        "Message (user) attribute 'a' must contain a non-empty value of type 'String'.",
    ),
    "empty bytes": (binary(b""), "Message (user) attribute 'a' must contain a non-empty value of type 'Binary'."),
    "bytes for a text": (
        {"DataType": "String", "BinaryValue": b"x"},
        "Message (user) attribute 'a' must contain a non-empty value of type 'String'.",
    ),
    "a text for bytes": (
        {"DataType": "Binary", "StringValue": "x"},
        "Message (user) attribute 'a' must contain a non-empty value of type 'Binary'.",
    ),
    "both kinds of value": ({"DataType": "String", "StringValue": "x", "BinaryValue": b"x"}, None),
    "a word for a number": (number("ten"), "Can't cast the value of message (user) attribute 'a' to a number."),
    "a number of 39 digits": (number("1" * 39), "Can't cast the value of message (user) attribute 'a' to a number."),
    "a number that is too big": (
        number("1e127"),
        "Can't cast the value of message (user) attribute 'a' to a number.",
    ),
    "a number that is too small": (
        number("1e-129"),
        "Can't cast the value of message (user) attribute 'a' to a number.",
    ),
    "a number with a space": (number("1 "), "Can't cast the value of message (user) attribute 'a' to a number."),
    "a number in hexadecimal": (number("0x10"), "Can't cast the value of message (user) attribute 'a' to a number."),
}.items():
    row(
        "attributes of messages: %s is refused" % what,
        lambda value=value, message=message: Queue().refuses(
            "InvalidParameterValue", message, "SendMessage", MessageBody="x", MessageAttributes={"a": value}
        ),
    )
row(
    "attributes of messages: eleven of them are refused",
    lambda: Queue().refuses(
        "InvalidParameterValue",
        "Number of message attributes [11] exceeds the allowed maximum [10].",
        "SendMessage",
        MessageBody="x",
        MessageAttributes={"a%d" % i: text("x") for i in range(11)},
    ),
)
row(
    "attributes of messages: a control character is refused",
    lambda: Queue().refuses(
        "InvalidMessageContents", None, "SendMessage", MessageBody="x", MessageAttributes={"a": text("\x01")}
    ),
)
row(
    "attributes of messages: lists of values are refused",
    lambda: Queue().refuses(
        SQS + "UnsupportedOperation",
        "Message attribute list values in SendMessage operation are not supported.",
        "SendMessage",
        MessageBody="x",
        MessageAttributes={"a": {"DataType": "String", "StringListValues": ["x"]}},
    ),
)
row(
    "attributes of messages: no attributes at all",
    lambda: equal(sorted(Queue().send(MessageAttributes={})), ["MD5OfMessageBody", "MessageId"]),
)


# --- System attributes -------------------------------------------------------------------------------------------------------

TRACE = "Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8;Sampled=1"


@case
def a_trace_header_has_a_digest_of_its_own():
    q = Queue()
    plain = q.send("x", MessageAttributes={"a": text("1")})
    traced = q.send("x", MessageAttributes={"a": text("1")}, MessageSystemAttributes={"AWSTraceHeader": text(TRACE)})
    equal(traced["MD5OfMessageAttributes"], plain["MD5OfMessageAttributes"])
    equal(traced["MD5OfMessageSystemAttributes"], md5_of_attributes({"AWSTraceHeader": text(TRACE)}))
    assert "MD5OfMessageSystemAttributes" not in plain


@case
def a_trace_header_comes_back_as_a_system_attribute():
    q = Queue()
    q.send(MessageSystemAttributes={"AWSTraceHeader": text(TRACE)})
    message = q.receive_one(AttributeNames=["AWSTraceHeader"], MessageAttributeNames=["All"])
    equal(message["Attributes"], {"AWSTraceHeader": TRACE})
    assert "MessageAttributes" not in message


@case
def the_tracing_header_of_http_becomes_the_trace_header():
    client = make_client()
    client.meta.events.register(
        "before-sign.sqs.SendMessage", lambda request, **_: request.headers.add_header("X-Amzn-Trace-Id", TRACE)
    )
    q = Queue(client=client)
    answer = q.send()
    assert "MD5OfMessageSystemAttributes" not in answer, answer
    equal(q.receive_one(AttributeNames=["AWSTraceHeader"])["Attributes"], {"AWSTraceHeader": TRACE})


for what, attributes in {
    "an unknown name": {"Trace": text("x")},
    "SenderId": {"SenderId": text("x")},
    "bytes": {"AWSTraceHeader": binary(b"x")},
    "a number": {"AWSTraceHeader": number("1")},
    "an empty text": {"AWSTraceHeader": text("")},
}.items():
    row(
        "system attributes: %s is refused" % what,
        lambda attributes=attributes: Queue().refuses(
            "InvalidParameterValue", None, "SendMessage", MessageBody="x", MessageSystemAttributes=attributes
        ),
    )
row(
    "system attributes: a trace header of 1025 bytes is refused",
    lambda: Queue().refuses(
        "InvalidParameterValue",
        None,
        "SendMessage",
        MessageBody="x",
        MessageSystemAttributes={"AWSTraceHeader": text("x" * 1025)},
    ),
)
row(
    "system attributes: a trace header of 100,000 bytes is refused",
    lambda: Queue().refuses(
        "InvalidParameterValue",
        None,
        "SendMessage",
        MessageBody="x",
        MessageSystemAttributes={"AWSTraceHeader": text("x" * 100_000)},
    ),
)
