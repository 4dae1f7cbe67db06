#!/usr/bin/env python3
"""What the program says to a wrong command line: one line that names what is wrong, and where help is."""
import http.client
import json
import tempfile
import unittest

from program import DEADLINE, Server, main, run, url


class CommandLine(unittest.TestCase):
    def refused(self, *arguments):
        code, out, error = run(*arguments)
        self.assertEqual(code, 2, error)
        self.assertEqual(out, "")
        return error

    def test_an_unknown_command_is_named_with_those_that_are_accepted(self):
        self.assertIn("fanfare: 'foo' is unknown; accepted are serve, journal", self.refused("foo"))
        self.assertIn("fanfare journal: 'foo' is unknown; accepted are verify, repair, stats", self.refused("journal", "foo"))

    def test_a_missing_command_is_told(self):
        self.assertIn("fanfare: a command is missing; accepted are serve", self.refused())
        self.assertIn("fanfare journal: a command is missing; accepted are verify", self.refused("journal"))

    def test_a_wrong_option_is_named(self):
        for arguments, says in [
            (("serve", "--foo"), "--foo"),
            (("serve", "--listen"), "--listen"),
            (("serve", "--threads", "1.5"), "--threads: '1.5' is no whole number; accepted are whole numbers from 1 to 256"),
            (("serve", "--threads", "0"), "--threads: 0 is out of range; accepted are whole numbers from 1 to 256"),
            (("serve", "--chaos-seed", "-1"), "--chaos-seed: '-1' is no whole number; accepted are whole numbers from 0 to 999999999"),
            (("bench", "send", "--connections", "0"), "--connections: 0 is out of range; accepted are whole numbers from 1 to 1000000"),
            (("bench", "send", "--requests", "0"), "--requests: 0 is out of range; accepted are whole numbers from 1 on"),
            (("bench", "send", "--rate", "0"), "--rate: '0' is out of range; accepted are numbers above 0"),
            (("bench", "send", "--protocol", "xml"), "--protocol: xml not in {json,query}"),
            (("lint", "--account", "12", "x"), "--account: '12' is no account; accepted are 12 digits"),
            (("journal", "verify"), "DIR is required"),
        ]:
            with self.subTest(arguments):
                error = self.refused(*arguments)
                self.assertIn(says, error.splitlines()[0])
                self.assertEqual(len(error.splitlines()), 2, "the error must not scroll away: " + error)
                self.assertIn("--help", error)

    def test_all_wrong_options_are_told_in_the_order_of_the_command_line(self):
        for arguments, says in [
            (("serve", "--chaos-seed", "x", "--memory", "--threads", "0"),
             "fanfare serve: --chaos-seed: 'x' is no whole number; accepted are whole numbers from 0 to 999999999; "
             "also --threads: 0 is out of range; accepted are whole numbers from 1 to 256"),
            (("serve", "--threads", "0", "--chaos-seed", "x"),
             "fanfare serve: --threads: 0 is out of range; accepted are whole numbers from 1 to 256; "
             "also --chaos-seed: 'x' is no whole number; accepted are whole numbers from 0 to 999999999"),
            (("serve", "--clock", "slow", "--roles", "cook", "--account", "1"),
             "fanfare: --roles: 'cook' is unknown; accepted are broker, live, inbox, console; also --account: '1' is no account; accepted are "
             "12 digits; also --clock: 'slow' is unknown; accepted are real, manual"),
        ]:
            with self.subTest(arguments):
                self.assertEqual(self.refused(*arguments).splitlines()[0], says)

    def test_an_empty_value_is_not_taken_for_an_option_that_was_left_out(self):
        for option in ("--config", "--tls-certificate", "--tls-key", "--identities", "--smtp", "--smtp-from", "--smtp-login-file",
                       "--smtp-ca-file", "--chaos", "--edge-files"):
            with self.subTest(option=option):
                self.assertIn("%s: '' is no value; write one, or leave the option out" % option, self.refused("serve", option, ""))

    def test_a_folder_is_no_configuration(self):
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual(self.refused("serve", "--config", folder), "fanfare: %s: cannot be read: Is a directory\n" % folder)

    def test_explain_wants_a_service_with_its_action_and_a_whole_arn(self):
        arn = "arn:aws:sqs:us-east-1:000000000000:q"
        for action, resource, says in [
            ("SendMessage", arn, "--action SendMessage: a service and its action, such as sns:Publish"),
            ("sqs:SendMessage", "q", "--resource q: an ARN such as "),
        ]:
            with self.subTest(action=action, resource=resource):
                self.assertIn(says, self.refused("policy", "explain", "--principal", "anonymous", "--action", action, "--resource", resource))

    def test_bench_names_the_duration_that_it_cannot_read(self):
        self.assertIn("--duration 1x: ", self.refused("bench", "send", "--duration", "1x"))
        self.assertIn("--warm-up soon: ", self.refused("bench", "send", "--warm-up", "soon"))
        self.assertRegex(self.refused("bench", "send", "--warm-up", "soon", "--duration", "0s"), "--duration 0s: .*; also --warm-up soon: ")

    def test_what_an_endpoint_refuses_is_told_as_its_code_and_message(self):
        with tempfile.TemporaryDirectory() as folder:
            with open(folder + "/identities.yaml", "w", encoding="utf-8") as out:
                out.write('users: [{name: web, account: "444455556666", access_keys: [{id: AKIDEXAMPLE, secret: x}]}]\n')
            server = Server(folder + "/data", arguments=("--auth", "enforced", "--identities", folder + "/identities.yaml"))
            try:
                endpoint = "http://127.0.0.1:%d" % server.port
                says = ": status 403: InvalidClientTokenId: The security token included in the request is invalid.\n"
                self.assertEqual(self.refused("lint", "--endpoint", endpoint), "fanfare: lint: %s: ListQueues%s" % (endpoint, says))
                self.assertEqual(self.refused("policy", "explain", "--principal", "anonymous", "--action", "sns:Publish", "--resource",
                                              "arn:aws:sns:us-east-1:444455556666:t", "--endpoint", endpoint),
                                 "fanfare: policy explain: %s: GetTopicAttributes%s" % (endpoint, says))
            finally:
                server.stop()

    def test_faults_for_a_queue_that_is_not_there_are_taken_with_a_warning(self):
        with tempfile.TemporaryDirectory() as folder:
            server = Server(folder + "/data", arguments=("--chaos", "none"))
            self.addCleanup(server.stop)

            def ask(method, body=None):
                connection = http.client.HTTPConnection("127.0.0.1", server.admin_port, timeout=DEADLINE)
                self.addCleanup(connection.close)
                connection.request(method, "/_fanfare/chaos", body=body and json.dumps(body))
                answer = connection.getresponse()
                return answer.status, json.loads(answer.read())

            server.sqs("CreateQueue", QueueName="orders")
            plan = {"queue": "orders", "faults": "throttle=100%"}
            self.assertEqual(ask("POST", plan)[1]["warnings"], [])
            status, told = ask("PUT", dict(plan, queue="ordrs"))
            self.assertEqual(status, 200)
            self.assertEqual(told["warnings"], ["queues.ordrs: no queue of this name exists yet; its faults begin when it is made"])
            self.assertEqual(ask("GET")[1]["warnings"], told["warnings"])
            server.sqs("CreateQueue", QueueName="ordrs")
            self.assertEqual(ask("GET")[1]["warnings"], [])
            status, told = ask("POST", dict(plan, queue=url("orders")))
            self.assertEqual(status, 400)
            self.assertIn("expected the name alone", told["detail"])


if __name__ == "__main__":
    main()
