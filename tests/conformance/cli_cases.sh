#!/usr/bin/env bash
# The aws CLI against the broker: queue with a policy, topic, subscription, publish, receive, batch, delete, dead letters.
# FANFARE_ENDPOINT is the broker's URL; AWS_CLI the command (default /usr/bin/aws).
set -uo pipefail
export AWS_ACCESS_KEY_ID=test AWS_SECRET_ACCESS_KEY=test AWS_DEFAULT_REGION=us-east-1 AWS_EC2_METADATA_DISABLED=true AWS_PAGER=""
cli=${AWS_CLI:-/usr/bin/aws}
aws_() { "$cli" --endpoint-url "$FANFARE_ENDPOINT" --output text "$@"; }
passed=0 failed=0
check() { # check NAME GOT WANTED
  if [ "$2" = "$3" ]; then passed=$((passed + 1)); else
    failed=$((failed + 1))
    printf 'FAILED %s\n  got    %s\n  wanted %s\n' "$1" "$2" "$3"
  fi
}
run=cli-$$-$RANDOM
arn() { echo "arn:aws:sqs:us-east-1:000000000000:$1"; }
"$cli" --version

dead=$(aws_ sqs create-queue --queue-name "$run-dead" --query QueueUrl)
check "create-queue gives a URL" "$dead" "$FANFARE_ENDPOINT/000000000000/$run-dead"
topic=$(aws_ sns create-topic --name "$run" --query TopicArn)
check "create-topic gives an ARN" "$topic" "arn:aws:sns:us-east-1:000000000000:$run"
cat >"${TMPDIR:-/tmp}/$run.json" <<JSON
{"VisibilityTimeout": "0",
 "RedrivePolicy": "{\"deadLetterTargetArn\":\"$(arn "$run-dead")\",\"maxReceiveCount\":\"2\"}",
 "Policy": "{\"Version\":\"2012-10-17\",\"Statement\":[{\"Effect\":\"Allow\",\"Principal\":{\"Service\":\"sns.amazonaws.com\"},\"Action\":\"sqs:SendMessage\",\"Resource\":\"$(arn "$run")\",\"Condition\":{\"ArnEquals\":{\"aws:SourceArn\":\"$topic\"}}}]}"}
JSON
url=$(aws_ sqs create-queue --queue-name "$run" --attributes "file://${TMPDIR:-/tmp}/$run.json" --query QueueUrl)
rm -f "${TMPDIR:-/tmp}/$run.json"
subscription=$(aws_ sns subscribe --topic-arn "$topic" --protocol sqs --notification-endpoint "$(arn "$run")" \
  --attributes RawMessageDelivery=true --return-subscription-arn --query SubscriptionArn)
check "subscribe gives an ARN of the topic" "${subscription%:*}" "$topic"
published=$(aws_ sns publish --topic-arn "$topic" --message "good news" --query MessageId)
check "publish gives an id" "${#published}" 36
check "the queue has the message" "$(aws_ sqs receive-message --queue-url "$url" --wait-time-seconds 2 --query 'Messages[0].Body')" "good news"
check "it is seen a second time" "$(aws_ sqs receive-message --queue-url "$url" --wait-time-seconds 2 --query 'Messages[0].Body')" "good news"
check "then it has moved away" "$(aws_ sqs receive-message --queue-url "$url" --query 'Messages')" "None"
check "to the dead-letter queue" "$(aws_ sqs receive-message --queue-url "$dead" --wait-time-seconds 2 --visibility-timeout 0 --query 'Messages[0].Body')" "good news"
handle=$(aws_ sqs receive-message --queue-url "$dead" --wait-time-seconds 2 --query 'Messages[0].ReceiptHandle')
aws_ sqs delete-message --queue-url "$dead" --receipt-handle "$handle"
check "where delete-message removes it" "$(aws_ sqs get-queue-attributes --queue-url "$dead" --attribute-names All \
  --query 'Attributes.[ApproximateNumberOfMessages,ApproximateNumberOfMessagesNotVisible]')" "$(printf '0\t0')"
check "send-message-batch takes two" "$(aws_ sqs send-message-batch --queue-url "$dead" --entries \
  'Id=a,MessageBody=1' 'Id=b,MessageBody=2' --query 'length(Successful)')" 2
check "a wrong queue has the service's error" "$(aws_ sqs get-queue-url --queue-name "$run-none" 2>&1 | grep -c NonExistentQueue)" 1
check "list-subscriptions-by-topic knows it" "$(aws_ sns list-subscriptions-by-topic --topic-arn "$topic" --query 'Subscriptions[0].Protocol')" sqs
check "get-caller-identity" "$(aws_ sts get-caller-identity --query Account)" 000000000000
aws_ sns unsubscribe --subscription-arn "$subscription"
aws_ sns delete-topic --topic-arn "$topic"
aws_ sqs delete-queue --queue-url "$url"
check "delete-queue removes it" "$(aws_ sqs list-queues --queue-name-prefix "$run" --query 'length(QueueUrls)')" 1

# The README's first session as it stands there, with this endpoint and this CLI.
session=$(sed -n '/^## A first session/,/^## What/s/^    //p' "$(dirname "${BASH_SOURCE[0]}")/../../README.md" |
  sed "s|http://127.0.0.1:4566|$FANFARE_ENDPOINT|g; s|command aws |$cli --output json |")
told=$(bash -euc "$session" 2>&1)
check "the README's first session ends with the message" "$(grep -c '"Body": "{\\"kind\\":\\"document.uploaded\\"}"' <<<"$told")" 1
aws_ sns delete-topic --topic-arn arn:aws:sns:us-east-1:000000000000:doc-events
aws_ sqs delete-queue --queue-url "$FANFARE_ENDPOINT/000000000000/summarise"
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
