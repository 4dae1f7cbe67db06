#!/usr/bin/env python3
"""Shows every rule of tidy a violation in a small tree of its own and expects the finding and its remedy.

python3 tools/tidy_test.py          also run by `ctest -L arch`
"""

import os
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import tidy  # noqa: E402  (the path above makes it importable)

HEADER = "// A queue.\n#pragma once\n"
UNFINISHED = "TO" + "DO"


class Tidy(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = folder.name

    def write(self, path, text, executable=False):
        full = os.path.join(self.root, path)
        os.makedirs(os.path.dirname(full), exist_ok=True)
        with open(full, "wb") as file:
            file.write(text if isinstance(text, bytes) else text.encode())
        os.chmod(full, 0o755 if executable else 0o644)

    def refuses(self, *parts):
        findings = tidy.check(self.root)
        self.assertEqual(len(findings), 1, findings)
        for part in parts:
            self.assertIn(part, findings[0])

    def fine(self):
        self.assertEqual(tidy.check(self.root), [])

    def test_a_tidy_tree_is_fine(self):
        self.write("src/base/CMakeLists.txt", "fanfare_module(base PURE)\n")
        self.write(
            "src/base/README.md", "# base\n\nSee [the header](ids.h#top) and [elsewhere](https://example.org).\n"
        )
        self.write("src/base/ids.h", HEADER)
        self.write("src/base/ids.cpp", '#include "base/ids.h"\n')
        self.write("src/base/ids_test.cpp", "TEST(Uuid, TextAndBytesAgree) {}\n")
        self.write("tools/look.py", '#!/usr/bin/env python3\n"""Looks."""\n', executable=True)
        self.write("fuzz/corpus/json/seed", b"\xff\x00 \t")
        self.fine()

    def test_a_wide_line_is_counted(self):
        self.write("src/a.h", HEADER + "// " + "x" * 118 + "\n")
        self.refuses("src/a.h:3 is 121 characters wide, 120 are allowed: break the line")

    def test_a_wide_table_in_prose_is_fine(self):
        self.write("docs/a.md", "| " + "x " * 80 + "|\n")
        self.fine()

    def test_a_tab_is_refused(self):
        self.write("src/a.h", HEADER + "\tint x;\n")
        self.refuses("src/a.h:3 has a tab: indent with spaces")

    def test_a_missing_final_newline_is_refused(self):
        self.write("src/a.h", HEADER + "int x;")
        self.refuses("src/a.h:3 does not end in a newline")

    def test_trailing_white_space_is_refused(self):
        self.write("docs/a.md", "Words. \n")
        self.refuses("docs/a.md:1 ends in white space: delete it")

    def test_a_header_without_pragma_once_is_refused(self):
        self.write("src/a.h", "// A queue.\n#include <string>\n")
        self.refuses("src/a.h has no `#pragma once`", "below the opening comment")

    def test_a_file_that_opens_without_a_comment_is_refused(self):
        for path, text in [
            ("src/a.h", "#pragma once\n"),
            ("src/main.cpp", "int main() {}\n"),
            ("tools/a.py", "import os\n"),
            ("tools/a.sh", "#!/bin/sh\ntrue\n"),
            ("clients/a.ts", "export {};\n"),
            ("src/a.sql", "SELECT 1;\n"),
        ]:
            with self.subTest(path=path):
                self.setUp()
                self.write(path, text, executable=path.endswith(".sh"))
                self.refuses(f"{path}:1 does not open with a comment: say in one line what the file is for")

    def test_a_source_is_spoken_for_by_its_header(self):
        self.write("src/sdk/include/fanfare/publisher.h", HEADER)
        self.write("src/sdk/publisher.cpp", "#include <string>\n")
        self.fine()

    def test_unfinished_work_needs_an_issue(self):
        self.write("src/a.h", HEADER + f"// {UNFINISHED}: more\n")
        self.refuses(f"src/a.h:3 has a {UNFINISHED} without an issue", f"{UNFINISHED}(#123)")
        self.write("src/a.h", HEADER + f"// {UNFINISHED}(#7): more\n")
        self.fine()

    def test_a_path_of_one_machine_is_refused(self):
        for top in ("work", "root", "home"):
            self.write("docs/a.md", f"See /{top}/someone/notes.\n")
            self.refuses(f"docs/a.md:1 names a path of one machine (/{top}/s...)", "relative to the repository")
        self.write("docs/a.md", "See ~/work/notes, build/home/x and $HOME/root/x.\n")
        self.fine()

    def test_a_long_file_is_refused(self):
        self.write("src/a.h", HEADER + "int x;\n" * 899)
        self.refuses("src/a.h has 901 lines, 900 are allowed: split it")

    def test_test_names_are_sentences(self):
        for name, remedy in [
            ("TEST(queue, LeaseEndsExactly) {}", "the first part is what is tested"),
            ("TEST(Queue, lease) {}", "the second part says what happens"),
            ("TEST_F(Queue, Works) {}", "the second part says what happens"),
            ("TEST_P(Queue, Lease_Ends) {}", "the second part says what happens"),
            ("RC_GTEST_PROP(Queue, model, ()) {}", "the second part says what happens"),
        ]:
            with self.subTest(name=name):
                self.write("src/a_test.cpp", f"\n{name}\n")
                self.refuses("src/a_test.cpp:2 names a test", remedy)

    def test_requirement_ids_must_be_listed(self):
        self.write("docs/requirements.md", "# R\n\n| id | promise |\n|---|---|\n| L3 | one |\n")
        self.write("src/a_test.cpp", "TEST(Live, L3_UnsubscribeRemovesThatId) {}\nTEST(Live, L3_one_id_only) {}\n")
        self.fine()
        self.write("src/a_test.cpp", "TEST(Live, L99_UnsubscribeRemovesThatId) {}\n")
        self.refuses("src/a_test.cpp:1 names requirement L99, which docs/requirements.md does not list")
        self.write("src/a_test.cpp", "")
        self.write("scenarios/a.scn", "# name: F98_fan_out\n")
        self.refuses("scenarios/a.scn:1 names requirement F98")

    def test_a_module_without_readme_is_counted(self):
        self.write("src/base/CMakeLists.txt", "fanfare_module(base PURE)\n")
        self.refuses("src/base/CMakeLists.txt declares a module without src/base/README.md", "how to run its tests")

    def test_decisions_are_numbered_once(self):
        self.write("docs/adr/0001-one-log.md", "# One log\n")
        self.fine()
        self.write("docs/adr/0001-two-logs.md", "# Two logs\n")
        self.refuses("docs/adr/0001-two-logs.md has the number of docs/adr/0001-one-log.md: take the next free one")
        os.remove(os.path.join(self.root, "docs/adr/0001-two-logs.md"))
        self.write("docs/adr/Why.md", "# Why\n")
        self.refuses("docs/adr/Why.md is not numbered")

    def test_the_frame_stays(self):
        for path in ("run", "test", ".ci/run", "tests/LAYERS"):
            self.write(path, "# Words.\n")
        for path in ("README.md", "ARCHITECTURE.md", "HACKING.md", "LICENSE", "CMakePresets.json"):
            self.write(path, "Words.\n")
        self.fine()
        os.remove(os.path.join(self.root, ".ci/run"))
        self.refuses(".ci/run is gone: bring it back")

    def test_a_dead_link_is_refused(self):
        self.write("docs/a.md", "See [there](../src/gone.h).\n")
        self.refuses("docs/a.md:1 links to ../src/gone.h, which is not there: mend the link")

    def test_a_path_in_prose_that_is_not_there_is_counted(self):
        self.write("src/base/ids.h", HEADER)
        self.write("docs/a.md", "See `src/base/ids.h` and `src/base/gone.h`, `src/api/sqs/<action>.cpp`, `build/x`.\n")
        self.refuses("docs/a.md:1 names src/base/gone.h, which is not there: mend the path")

    def test_a_script_is_executable(self):
        self.write("tools/a.py", '#!/usr/bin/env python3\n"""A."""\n')
        self.refuses("tools/a.py opens with #! but is not executable: chmod +x tools/a.py")

    def test_a_layer_that_is_there_is_required(self):
        self.write("tests/LAYERS", "# Layers.\ncrash tests/crash/run planned\n")
        self.fine()
        self.write("tests/crash/run", '#!/usr/bin/env python3\n"""Runs."""\n', executable=True)
        self.refuses("tests/LAYERS:2 says crash is planned, but tests/crash/run is there: write required")

    def test_what_others_wrote_is_left_alone(self):
        self.write("LICENSE", "Words \n\tmore")
        self.write("tests/mutants/a.patch", "--- a\n \n+\tx")
        self.write("clients/package-lock.json", "{}")
        self.fine()

    def test_code_that_is_not_utf8_is_refused(self):
        self.write("src/a.h", b"// \xff\n#pragma once\n")
        self.refuses("src/a.h is not UTF-8: save it as UTF-8")

    def test_findings_that_come_later_fail_only_a_strict_run(self):
        self.write("src/a.h", HEADER + "// " + "x" * 118 + "\n")
        command = [sys.executable, tidy.__file__, "--root", self.root]
        mild = subprocess.run(command, capture_output=True, text=True, check=False)
        strict = subprocess.run([*command, "--strict"], capture_output=True, text=True, check=False)
        self.assertEqual((mild.returncode, strict.returncode), (0, 1), mild.stdout + strict.stdout)
        self.assertIn("tidy: fine", mild.stdout)
        self.assertIn("tidy: 1 finding(s)", strict.stdout)


if __name__ == "__main__":
    unittest.main()
