#!/usr/bin/env python3
"""`fanfare journal verify|repair|stats` as people run it: over folders that a server wrote, whole and damaged."""
import json
import os
import shutil
import signal
import tempfile
import time
import unittest

from program import DEADLINE, Server, main, run, url

SMALL = "journal: {segment_bytes: 1MiB, snapshot_bytes: 64KiB}\n"


def body(number):
    return "message %d " % number + "x" * 700


class Folder(unittest.TestCase):
    def setUp(self):
        self.root = tempfile.mkdtemp(prefix="fanfare-journal-tool-")
        self.addCleanup(shutil.rmtree, self.root)
        self.data = os.path.join(self.root, "data")
        self.journal = os.path.join(self.data, "journal")

    def fill(self, count=50, stop=signal.SIGTERM, config=""):
        server = Server(self.data, config)
        server.sqs("CreateQueue", QueueName="jobs")
        for first in range(0, count, 10):
            server.sqs("SendMessageBatch", QueueUrl=url("jobs"), Entries=[
                {"Id": str(i), "MessageBody": body(i)} for i in range(first, min(first + 10, count))])
        code, log = server.stop(stop)
        if stop == signal.SIGTERM:
            self.assertEqual(code, 0, log)

    def messages(self):
        server = Server(self.data)
        bodies = server.drain("jobs")
        code, log = server.stop()
        self.assertEqual(code, 0, log)
        return bodies

    def files(self, suffix):
        return sorted(name for name in os.listdir(self.journal) if name.endswith(suffix))

    def flip(self, name, offset):
        with open(os.path.join(self.journal, name), "r+b") as file:
            file.seek(offset)
            byte = file.read(1)[0]
            file.seek(offset)
            file.write(bytes([byte ^ 0x40]))

    def find(self, name, text):
        with open(os.path.join(self.journal, name), "rb") as file:
            return file.read().index(text.encode())

    def contents(self, folder):
        found = {}
        for name in os.listdir(folder):
            with open(os.path.join(folder, name), "rb") as file:
                found[name] = file.read()
        return found

    def tool(self, name, code, *more):
        got, output, error = run("journal", name, self.data, *more)
        self.assertEqual(got, code, output + error)
        return json.loads(output) if "--json" in more else output


class Verify(Folder):
    def test_a_sound_journal_is_called_sound(self):
        self.fill()
        self.assertIn("\nsound\n", self.tool("verify", 0))
        told = self.tool("verify", 0, "--json")
        self.assertTrue(told["sound"])
        self.assertEqual(told["messages"], 50)
        self.assertEqual(told["damage"], [])
        self.assertEqual(told["segments"][0]["records"], told["records"])

    def test_a_killed_server_leaves_a_sound_journal(self):
        self.fill(stop=signal.SIGKILL)
        self.assertEqual(self.tool("verify", 0, "--json")["messages"], 50)

    def test_damage_is_named_with_file_and_byte(self):
        self.fill()
        segment = self.files(".segment")[0]
        at = self.find(segment, body(20))
        self.flip(segment, at + 5)
        before = self.contents(self.journal)
        output = self.tool("verify", 4)
        self.assertIn("damaged: " + segment, output)
        self.assertIn("DAMAGED", output)
        place = self.tool("verify", 4, "--json")["damage"][0]
        self.assertEqual(place["file"], segment)
        self.assertLess(place["offset"], at)
        self.assertGreater(place["offset"], at - 1000)
        self.assertGreater(place["records_beyond"], 0)
        self.assertEqual(self.contents(self.journal), before, "verify changes nothing")

    def test_what_is_no_journal_is_an_error(self):
        code, output, error = run("journal", "verify", os.path.join(self.root, "nothing"))
        self.assertEqual((code, output), (1, ""))
        self.assertIn("nothing", error)
        os.mkdir(self.data)
        code, _, error = run("journal", "verify", self.data)
        self.assertEqual(code, 1)
        self.assertIn("holds no journal", error)
        self.assertEqual(os.listdir(self.data), [])

    def test_segments_that_are_gone_are_named_as_missing(self):
        self.fill()
        for segment in self.files(".segment"):
            os.remove(os.path.join(self.journal, segment))
        for tool in ["verify", "stats"]:
            output = self.tool(tool, 4)
            self.assertIn("missing: all segment files (*.segment) of the log from position 0 on; in %s there is the CONTROL file\n" % self.journal, output)
        self.assertIn("expected a segment file, found none", self.tool("verify", 4))
        os.remove(os.path.join(self.journal, "CONTROL"))
        for tool in ["verify", "stats"]:
            code, _, error = run("journal", tool, self.data)
            self.assertEqual(code, 1)
            self.assertIn("%s holds no journal: there is neither a CONTROL file nor a segment nor a snapshot" % self.journal, error)

    def test_a_folder_in_use_is_named_with_its_user_and_what_helps(self):
        server = Server(self.data)
        self.addCleanup(server.stop)
        code, out, error = run("serve", "--data", self.data, "--listen", "127.0.0.1:0", "--edge", "127.0.0.1:0", "--admin", "127.0.0.1:0")
        self.assertEqual((code, out), (1, ""))
        says = "%s is in use by process %d: stop that one first, or name another folder\n" % (self.journal, server.pid)
        self.assertEqual(error.splitlines(True)[-1], "fanfare: --data %s: %s" % (self.data, says))
        code, _, error = run("journal", "repair", self.data)
        self.assertEqual(code, 1)
        self.assertIn("%s is in use by process %d; stop the server first" % (self.journal, server.pid), error)

    def test_it_runs_beside_a_server(self):
        server = Server(self.data)
        server.sqs("CreateQueue", QueueName="jobs")
        server.sqs("SendMessage", QueueUrl=url("jobs"), MessageBody="here")
        told = self.tool("verify", 0, "--json")
        self.assertTrue(told["in_use"])
        self.assertEqual(told["messages"], 1)
        self.assertEqual(server.stop()[0], 0)

    def test_help_has_examples_and_exit_codes(self):
        for tool in ["verify", "repair", "stats"]:
            code, output, _ = run("journal", tool, "--help")
            self.assertEqual(code, 0)
            self.assertIn("fanfare journal %s ./fanfare-data" % tool, output)
            self.assertIn("Exit codes:", output)
        self.assertEqual(run("journal", "verify")[0], 2)
        self.assertEqual(run("journal", "mend", self.data)[0], 2)


class Repair(Folder):
    def test_a_sound_journal_is_left_alone(self):
        self.fill()
        before = self.contents(self.journal)
        self.assertIn("nothing was changed", self.tool("repair", 0))
        self.assertEqual(self.contents(self.journal), before)
        self.assertNotIn("journal.damaged-1", os.listdir(self.data))

    def test_what_a_deleted_queue_still_holds_is_not_copied_and_not_missed(self):
        self.fill()
        server = Server(self.data)
        server.sqs("CreateQueue", QueueName="old")
        for _ in range(200):
            server.sqs("SendMessageBatch", QueueUrl=url("old"), Entries=[{"Id": str(i), "MessageBody": "x"} for i in range(10)])
        server.sqs("DeleteQueue", QueueUrl=url("old"))
        server.stop()
        segment = self.files(".segment")[0]
        self.flip(segment, self.find(segment, body(20)) + 5)
        self.assertNotIn("torn tail", self.tool("verify", 4))
        self.assertIn("49 messages are on the queues", self.tool("repair", 4))
        self.assertEqual(self.messages(), [body(i) for i in range(50) if i != 20])

    def test_all_but_the_damaged_message_survive_and_the_original_is_kept(self):
        self.fill()
        segment = self.files(".segment")[0]
        self.flip(segment, self.find(segment, body(20)) + 5)
        before = self.contents(self.journal)
        with self.assertRaises(AssertionError) as refused:
            Server(self.data)
        self.assertIn("damaged", str(refused.exception))
        told = self.tool("repair", 4, "--json")
        self.assertEqual(told["messages_kept"], 49)
        self.assertEqual(len(told["losses"]), 1)
        self.assertEqual(told["losses"][0]["file"], segment)
        self.assertEqual(self.contents(told["original"]), before)
        with open(told["report"]) as report:
            self.assertEqual(json.load(report), told)
        self.assertTrue(self.tool("verify", 0, "--json")["sound"])
        self.assertEqual(sorted(self.messages()), sorted(body(i) for i in range(50) if i != 20))

    def test_it_refuses_while_a_server_runs(self):
        self.fill()
        server = Server(self.data)
        code, _, error = run("journal", "repair", self.data)
        self.assertEqual(code, 1)
        self.assertIn("in use", error)
        self.assertEqual(server.stop()[0], 0)

    def test_a_lost_queue_is_made_up_so_that_its_messages_live(self):
        self.fill()
        segment = self.files(".segment")[0]
        self.flip(segment, self.find(segment, "jobs"))
        told = self.tool("repair", 4, "--json")
        self.assertEqual(told["messages_kept"], 50)
        self.assertEqual(told["made_up"], ["queue 1 as arn:aws:sqs:us-east-1:000000000000:repaired-queue-1"])
        server = Server(self.data)
        self.assertEqual(sorted(server.drain("repaired-queue-1")), sorted(body(i) for i in range(50)))
        self.assertEqual(server.stop()[0], 0)

    def test_a_segment_header_is_told_by_what_follows_it(self):
        self.fill()
        for offset in [3, 20, 42, 49, 57]:  # magic, id, first position, epoch, sum
            self.flip(self.files(".segment")[0], offset)
            told = self.tool("repair", 0, "--json")
            self.assertEqual((offset, told["lost"], told["messages_kept"]), (offset, False, 50))
            self.tool("verify", 0)
        self.assertEqual(sorted(self.messages()), sorted(body(i) for i in range(50)))

    def test_without_control_everything_is_found(self):
        self.fill()
        os.remove(os.path.join(self.journal, "CONTROL"))
        self.tool("verify", 4)
        self.assertEqual(self.tool("repair", 0, "--json")["messages_kept"], 50)
        self.assertEqual(sorted(self.messages()), sorted(body(i) for i in range(50)))

    def test_a_missing_segment_costs_its_records_only(self):
        self.fill(4000, config="journal: {segment_bytes: 1MiB}\n")
        segments = self.files(".segment")
        self.assertGreater(len(segments), 2)
        os.remove(os.path.join(self.journal, segments[1]))
        told = self.tool("repair", 4, "--json")
        self.assertGreater(told["messages_kept"], 1500)
        self.assertLess(told["messages_kept"], 3500)
        bodies = self.messages()
        self.assertEqual(len(bodies), told["messages_kept"])
        self.assertEqual(len(set(bodies)), len(bodies))
        self.assertTrue(set(bodies) <= {body(i) for i in range(4000)})

    def test_a_message_whose_content_is_gone_is_dropped_and_named(self):
        # The snapshot that is written at the end knows the messages; their contents lie in the log below it.
        self.fill(13000)
        self.assertEqual(len(self.files(".snapshot")), 1)
        segment = self.files(".segment")[0]
        self.flip(segment, self.find(segment, body(20)) + 5)
        told = self.tool("verify", 4, "--json")
        self.assertEqual(len(told["dropped_messages"]), 1)
        told = self.tool("repair", 4, "--json")
        self.assertEqual(told["messages_kept"], 12999)
        self.assertEqual(told["dropped_messages"][0]["queue"], "arn:aws:sqs:us-east-1:000000000000:jobs")
        self.tool("verify", 0)


class Stats(Folder):
    def test_live_share_and_kinds(self):
        self.fill()
        told = self.tool("stats", 0, "--json")
        self.assertEqual(told["messages"], 50)
        self.assertEqual(told["kinds"]["Sent"]["records"], 50)
        self.assertEqual(told["kinds"]["QueueCreated"]["records"], 1)
        self.assertEqual(told["segments"][0]["live_records"], 50)
        self.assertIsNone(told["snapshot"])
        self.assertGreater(told["live_bytes"], 50 * 700)
        self.assertEqual(sorted(self.messages()), sorted(body(i) for i in range(50)))
        told = self.tool("stats", 0, "--json")
        self.assertEqual((told["messages"], told["live_bytes"]), (0, 0))
        self.assertEqual(told["kinds"]["Deleted"]["records"], 50)
        text = self.tool("stats", 0)
        self.assertIn("records by type", text)
        self.assertIn("no snapshot yet", text)

    def test_the_snapshots_age(self):
        self.fill(13000)
        snapshot = self.tool("stats", 0, "--json")["snapshot"]
        self.assertLess(snapshot["age_seconds"], DEADLINE)
        self.assertGreater(snapshot["bytes"], 0)


class Compaction(Folder):
    def test_one_old_message_in_each_segment_does_not_pin_the_disk(self):
        megabyte = 1 << 20
        server = Server(self.data, "journal: {segment_bytes: 1MiB}\n")
        for queue in ["old", "busy"]:
            server.sqs("CreateQueue", QueueName=queue)
        old = 16
        for number in range(old):
            server.sqs("SendMessage", QueueUrl=url("old"), MessageBody=body(number))
            for _ in range(6):
                server.sqs("SendMessage", QueueUrl=url("busy"), MessageBody="y" * 200_000)
            while True:
                messages = server.sqs("ReceiveMessage", QueueUrl=url("busy"), MaxNumberOfMessages=10).get("Messages", [])
                if not messages:
                    break
                server.sqs("DeleteMessageBatch", QueueUrl=url("busy"), Entries=[
                    {"Id": str(i), "ReceiptHandle": m["ReceiptHandle"]} for i, m in enumerate(messages)])
        # What is needed, twice, and two segments; CONTROL, LOCK and the snapshot are small.
        bound = 2 * old * 1000 + 2 * megabyte + 64 * 1024
        deadline = time.monotonic() + DEADLINE
        while self.size() > bound and time.monotonic() < deadline:
            time.sleep(0.1)
        self.assertLessEqual(self.size(), bound, os.listdir(self.journal))
        metrics = server.metrics()
        self.assertGreater(metrics["fanfare_journal_relocated_bytes_total"], 0)
        self.assertGreater(metrics["fanfare_journal_snapshots_total"], 0)
        self.assertEqual(sorted(server.drain("old")), sorted(body(i) for i in range(old)))
        code, log = server.stop()
        self.assertEqual(code, 0, log)
        self.assertTrue(self.tool("verify", 0, "--json")["sound"])

    def size(self):
        total = 0
        for name in os.listdir(self.journal):
            try:
                total += os.path.getsize(os.path.join(self.journal, name))
            except FileNotFoundError:
                pass  # given up a moment ago
        return total


if __name__ == "__main__":
    main()
