#!/usr/bin/env python3
"""What the program says to a wrong command line: one line that names what is wrong, and where help is."""
import tempfile
import unittest

from program import main, run


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
            (("serve", "--threads", "1.5"), "--threads = 1.5"),
            (("journal", "verify"), "DIR is required"),
        ]:
            with self.subTest(arguments):
                error = self.refused(*arguments)
                self.assertIn(says, error.splitlines()[0])
                self.assertEqual(len(error.splitlines()), 2, "the error must not scroll away: " + error)
                self.assertIn("--help", error)

    def test_a_folder_is_no_configuration(self):
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual(self.refused("serve", "--config", folder), "fanfare: %s: cannot be read: Is a directory\n" % folder)


if __name__ == "__main__":
    main()
