#!/usr/bin/env python3
"""Shows every architecture guard a violation in a small tree of its own and expects the refusal and its remedy.

python3 tools/check_arch_test.py          also run by `ctest -L arch`
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import check_arch  # noqa: E402  (the path above makes it importable)

COMPILER = os.environ.get("CXX", "c++")


class Tree(unittest.TestCase):
    """A repository in a temporary folder: write() files, module() declarations, then one of the guards."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = folder.name
        self.build = os.path.join(self.root, "build", "dev")
        os.makedirs(self.build)
        self.modules = []
        self.commands = []

    def write(self, path, text=""):
        full = os.path.join(self.root, path)
        os.makedirs(os.path.dirname(full), exist_ok=True)
        with open(full, "w", encoding="utf-8") as file:
            file.write(text)

    def module(self, name, files, pure=False, folder=None, **lists):
        """Declares a module and writes its files; a file's kind follows from its name."""
        folder = folder or f"src/{name}"
        for path, text in files.items():
            self.write(f"{folder}/{path}", text)
        kinds = {
            "headers": [f for f in files if f.endswith(".h")],
            "tests": [f for f in files if f.endswith("_test.cpp")],
            "sources": [f for f in files if f.endswith(".cpp") and not f.endswith("_test.cpp")],
        }
        declared = {
            "module": name,
            "target": "fanfare_" + name.replace("/", "_"),
            "folder": folder,
            "pure": pure,
            "archive": "",
            "deps": [],
            "external": [],
            "libraries": [],
            "test_deps": [],
            **kinds,
            **lists,
        }
        self.modules.append(declared)
        self.finish()
        return declared

    def clear(self):
        self.modules.clear()
        shutil.rmtree(os.path.join(self.root, "src"), ignore_errors=True)

    def compile(self, module):
        """Builds the archive of a module, as CMake would."""
        objects = []
        for source in module["sources"]:
            unit = os.path.join(self.root, module["folder"], source)
            objects.append(os.path.join(self.build, module["target"], source + ".o"))
            os.makedirs(os.path.dirname(objects[-1]), exist_ok=True)
            subprocess.run(
                [COMPILER, "-std=c++20", "-I", os.path.join(self.root, "src"), "-c", unit, "-o", objects[-1]],
                check=True,
            )
        module["archive"] = os.path.join(self.build, f"lib{module['target']}.a")
        subprocess.run(["ar", "rcs", module["archive"], *objects], check=True)
        self.finish()

    def finish(self):
        with open(os.path.join(self.build, "modules.json"), "w", encoding="utf-8") as file:
            json.dump(self.modules, file)
        commands = [
            {
                "file": os.path.join(self.root, m["folder"], s),
                "directory": self.build,
                "command": f"{COMPILER} -std=c++20 -I{self.root}/src -o x.o -c x.cpp",
            }
            for m in self.modules
            for s in m["sources"]
        ]
        with open(os.path.join(self.build, "compile_commands.json"), "w", encoding="utf-8") as file:
            json.dump(commands, file)

    def includes(self):
        return check_arch.check_includes(self.root, self.build)

    def refuses(self, findings, *parts):
        """Exactly one finding, holding every part."""
        self.assertEqual(len(findings), 1, findings)
        for part in parts:
            self.assertIn(part, findings[0])


class Includes(Tree):
    def test_a_tree_that_keeps_the_rules_is_fine(self):
        self.module("base", {"time.h": "#pragma once\n#include <chrono>\n"})
        self.module(
            "wire/json",
            {"writer.h": "", "reader.cpp": '#include <simdjson.h>\n#include "base/time.h"\n'},
            deps=["base"],
        )
        self.module(
            "core/queue",
            {
                "queue.h": '#include "base/time.h"\n',
                "queue_test.cpp": '#include "queue.h"\n' '#include "wire/json/writer.h"\n#include <gtest/gtest.h>\n',
            },
            deps=["base"],
            test_deps=["wire/json"],
        )
        self.assertEqual(self.includes(), [])

    def test_an_include_upwards_is_refused(self):
        self.module("net", {"loop.h": ""})
        self.module("core/queue", {"queue.h": '// A queue.\n#pragma once\n\n#include "net/loop.h"\n'})
        self.refuses(
            self.includes(),
            "src/core/queue/queue.h:4 includes net/loop.h; core/queue may include base, wire/json, policy",
            "move the code to a module above both",
        )

    def test_an_include_between_siblings_is_refused(self):
        self.module("core/topic", {"topic.h": ""})
        self.module("core/queue", {"queue.cpp": '#include "core/topic/topic.h"\n'})
        self.refuses(self.includes(), "src/core/queue/queue.cpp:1 includes core/topic/topic.h; core/queue may include")

    def test_the_engine_may_include_queue_and_topic_but_not_live(self):
        self.module("core/topic", {"topic.h": ""})
        self.module("core/live", {"session.h": ""})
        self.module(
            "core/engine",
            {"engine.h": '#include "core/topic/topic.h"\n#include "core/live/session.h"\n'},
            deps=["core/topic"],
        )
        self.refuses(self.includes(), "src/core/engine/engine.h:2 includes core/live/session.h")

    def test_an_allowed_include_without_deps_is_refused(self):
        self.module("base", {"time.h": ""})
        self.module("wire/json", {"writer.h": '#include "base/time.h"\n'}, deps=["base"])
        self.module(
            "policy", {"policy.h": '#include "wire/json/writer.h"\n#include "base/time.h"\n'}, deps=["wire/json"]
        )
        self.refuses(
            self.includes(),
            "src/policy/policy.h:2 includes base/time.h of base, which policy does not name",
            "add base to DEPS in src/policy/CMakeLists.txt",
        )

    def test_deps_against_the_table_are_refused(self):
        self.module("core/inbox", {"inbox.h": ""})
        self.module("net", {"loop.h": ""})
        self.module("store", {"store.h": ""}, deps=["core/inbox", "net"])
        self.refuses(
            self.includes(), "src/store/CMakeLists.txt: store names net in DEPS; store may include base, core/inbox"
        )

    def test_deps_that_nobody_declares_are_refused(self):
        self.module("policy", {"policy.h": ""}, deps=["base"])
        self.refuses(self.includes(), "policy names base in DEPS, which no fanfare_module() call declares")

    def test_a_module_outside_the_table_is_refused(self):
        self.module("helpers", {"helpers.h": ""})
        self.refuses(
            self.includes(), "module helpers stands in no row of the table", "MAY_INCLUDE in tools/check_arch.py"
        )

    def test_a_test_needs_test_deps_for_other_modules(self):
        self.module("core/queue", {"queue.h": ""})
        self.module("api", {"api.h": "", "api_test.cpp": '#include "core/queue/queue.h"\n'})
        self.refuses(
            self.includes(),
            "names neither in DEPS nor in TEST_DEPS",
            "add TEST_DEPS core/queue to src/api/CMakeLists.txt",
        )

    def test_a_file_in_no_list_is_refused(self):
        self.module("base", {"time.h": ""})
        self.write("src/base/forgotten.h")
        self.refuses(self.includes(), "src/base/forgotten.h is in no list of module base: add it to HEADERS")

    def test_a_module_that_no_build_reaches_is_refused(self):
        self.module("base", {"time.h": ""})
        self.write("src/wire/new/CMakeLists.txt", "fanfare_module(wire/new PURE)\n")
        self.refuses(self.includes(), "src/wire/new/CMakeLists.txt declares a module that is not configured")

    def test_an_include_of_nothing_is_refused(self):
        self.module("base", {"time.h": '#include "fmt/format.h"\n'})
        self.refuses(self.includes(), 'includes "fmt/format.h", which is no file of this repository', "#include <...>")

    def test_our_own_header_in_angle_brackets_is_refused(self):
        self.module("base", {"time.h": "", "ids.h": "#include <base/time.h>\n"})
        self.refuses(self.includes(), 'write #include "base/time.h"')

    def test_a_public_sdk_header_belongs_to_the_sdk(self):
        self.module("sdk", {"include/fanfare/publisher.h": ""})
        self.module("core/live", {"live.h": '#include "fanfare/publisher.h"\n'})
        self.refuses(self.includes(), "src/core/live/live.h:1 includes fanfare/publisher.h; core/live may include")

    def test_confined_headers_are_refused_elsewhere(self):
        for header, module, file, remedy in [
            ("simdjson.h", "wire/json", "reader.h", "simdjson itself stays in wire/json's .cpp files"),
            ("simdjson.h", "policy", "policy.cpp", "use wire/json"),
            ("boost/asio/io_context.hpp", "journal", "journal.cpp", "Asio stays in net, sdk and server"),
            ("boost/asio.hpp", "edge", "edge.cpp", "Asio stays in net, sdk and server"),
            ("sqlite3.h", "server", "inbox.cpp", "only store knows SQL"),
            ("libpq-fe.h", "server", "inbox.cpp", "only store knows SQL"),
            ("postgresql/libpq-fe.h", "core/inbox", "inbox.cpp", "only store knows SQL"),
            ("liburing.h", "journal", "journal.cpp", "io_uring stays behind net's loop port"),
            ("boost/beast/http.hpp", "net", "client.cpp", "Beast is an oracle for *_test.cpp files only"),
        ]:
            with self.subTest(header=header, module=module):
                self.clear()
                self.module(module, {file: f"#include <{header}>\n"})
                self.refuses(self.includes(), f"src/{module}/{file}:1 includes {header}", remedy)

    def test_confined_headers_are_fine_at_home(self):
        self.module("wire/json", {"reader.cpp": "#include <simdjson.h>\n"})
        self.module("wire/http", {"parser_test.cpp": "#include <boost/beast/http.hpp>\n"})
        self.module("net", {"uring_loop.cpp": "#include <liburing.h>\n#include <boost/asio/ip/tcp.hpp>\n"})
        self.module(
            "store", {"sqlite/store.cpp": "#include <sqlite3.h>\n", "postgres/store.cpp": "#include <libpq-fe.h>\n"}
        )
        self.assertEqual(self.includes(), [])

    def test_banned_words_are_refused(self):
        for word, remedy in [
            ("auto t = std::chrono::system_clock::now();", "take `Timestamp now` as an argument"),
            ('const char* home = std::getenv("HOME");', "only server and cli read the environment"),
            ("std::mt19937_64 random;", "use base/rng.h"),
            ("std::uniform_int_distribution<int> d;", "differs between libraries"),
            ("int x = std::rand();", "use base/rng.h"),
            ("int x = rand();", "use base/rng.h"),
            ("std::random_device device;", "only server and sdk make the real source"),
            ("using namespace std;", "write std::"),
        ]:
            with self.subTest(word=word):
                self.modules.clear()
                self.module("journal", {"journal.cpp": f"// A journal.\n{word}\n"})
                self.refuses(self.includes(), "src/journal/journal.cpp:2 uses", remedy)

    def test_banned_words_in_comments_and_strings_are_fine(self):
        self.module(
            "journal",
            {
                "journal.cpp": "// std::rand() is banned\n/* using namespace std; */\n"
                'auto a = "std::mt19937"; auto b = R"(system_clock::now)"; int strand(int); int c = strand(1\'000);\n'
            },
        )
        self.assertEqual(self.includes(), [])

    def test_the_real_clock_and_environment_are_fine_in_the_server(self):
        self.module("server", {"clock.cpp": 'auto t = std::chrono::system_clock::now(); auto e = getenv("X");\n'})
        self.module("sdk", {"credentials.cpp": 'auto e = std::getenv("AWS_ACCESS_KEY_ID");\n'})
        self.assertEqual(self.includes(), [])

    def test_the_sdk_reads_the_environment_only_in_its_credentials(self):
        self.module("sdk", {"publisher.cpp": 'auto e = std::getenv("AWS_REGION");\n'})
        self.refuses(self.includes(), "src/sdk/publisher.cpp:1 uses getenv", "pass the value in")

    def test_aws_spellings_are_refused_outside_wire_and_api(self):
        for module, literal in [
            ("core/queue", "ReceiptHandle"),
            ("core/engine", "MessageAttributes"),
            ("server", "x-amz-target"),
            ("net", "AmazonSQS.SendMessage"),
        ]:
            with self.subTest(module=module):
                self.clear()
                self.module(module, {"text.cpp": f'auto a = "{literal}";\n'})
                self.refuses(
                    self.includes(), f"src/{module}/text.cpp:1 spells", "only wire and api know AWS's spellings"
                )

    def test_aws_spellings_are_fine_at_home_and_as_our_own_types(self):
        self.module("api", {"send.cpp": 'auto a = "ReceiptHandle";\n'})
        self.module("wire/aws_json", {"codec.cpp": 'auto a = "X-Amz-Target";\n'})
        self.module(
            "core/topic",
            {"envelope.cpp": 'auto a = "MessageAttributes";\n', "topic_test.cpp": 'auto a = "QueueUrl";\n'},
        )
        self.module("core/queue", {"queue.h": 'struct ReceiptHandle {}; // "ReceiptHandle" on the wire\n'})
        self.assertEqual(self.includes(), [])

    def test_code_outside_src_may_use_any_module_it_names(self):
        self.module("net", {"loop.h": ""})
        self.module("core/engine", {"engine.h": ""})
        self.module(
            "sim",
            {"world.cpp": '#include "core/engine/engine.h"\n#include "net/loop.h"\n'},
            folder="sim",
            deps=["core/engine"],
        )
        self.refuses(self.includes(), "sim/world.cpp:2 includes net/loop.h of net, which sim does not name")


class Link(Tree):
    def link(self):
        return check_arch.check_link(self.root, self.build, COMPILER)

    def test_an_archive_that_uses_what_it_does_not_name_is_refused(self):
        base = self.module("base", {"clock.cpp": "int base_clock() { return 1; }\n"})
        self.compile(base)
        user = self.module("policy", {"policy.cpp": "int base_clock();\nint policy() { return base_clock(); }\n"})
        self.compile(user)
        self.refuses(self.link(), "policy uses base_clock()", "add the module or library to src/policy/CMakeLists.txt")
        user["deps"] = ["base"]
        self.finish()
        self.assertEqual(self.link(), [])

    def test_a_library_that_is_not_in_external_is_refused(self):
        user = self.module(
            "base",
            {
                "zip.cpp": 'extern "C" unsigned long crc32(unsigned long, const char*, unsigned);\n'
                "unsigned long sum() { return crc32(0, nullptr, 0); }\n"
            },
        )
        self.compile(user)
        self.refuses(self.link(), "base uses crc32", "EXTERNAL")
        user["libraries"] = ["-lz"]
        self.finish()
        self.assertEqual(self.link(), [])

    def test_an_archive_that_is_not_built_is_said(self):
        self.module("base", {"clock.cpp": ""}, archive=os.path.join(self.build, "libnone.a"))
        self.refuses(self.link(), "libnone.a is not built: `cmake --build` target fanfare_base first")


class Purity(Tree):
    def purity(self, text, pure=True, name="core/queue"):
        self.modules.clear()
        module = self.module(name, {"queue.cpp": text}, pure=pure)
        self.compile(module)
        return check_arch.check_purity(self.build)

    def test_the_outer_world_is_refused(self):
        for text, symbol, what in [
            (
                "#include <chrono>\nauto t() { return std::chrono::system_clock::now(); }",
                "system_clock::now()",
                "a clock",
            ),
            (
                "#include <chrono>\nauto t() { return std::chrono::steady_clock::now(); }",
                "steady_clock::now()",
                "a clock",
            ),
            ("#include <ctime>\nauto t() { return time(nullptr); }", "calls time", "a clock"),
            ("#include <sys/socket.h>\nint s() { return socket(1, 2, 3); }", "calls socket", "a socket"),
            ("#include <sys/socket.h>\nauto s() { return recv(1, nullptr, 0, 0); }", "calls recv", "a socket"),
            ('#include <unistd.h>\nauto s() { return write(1, "", 0); }', "calls write", "a file"),
            ('#include <cstdio>\nauto s() { return fopen("a", "r"); }', "calls fopen", "a file"),
            ('#include <fstream>\nvoid s() { std::ifstream f("a"); }', "fstream", "a file"),
            ("#include <iostream>\nvoid s() { std::cout << 1; }", "std::cout", "standard input or output"),
            ("#include <thread>\nvoid s() { std::thread t([] {}); t.join(); }", "std::thread::", "a thread"),
            ("#include <mutex>\nstd::mutex m; void s() { m.lock(); }", "pthread_mutex_lock", "a thread"),
            ('#include <cstdlib>\nauto s() { return getenv("A"); }', "calls getenv", "the environment"),
            ("#include <cstdlib>\nauto s() { return rand(); }", "calls rand", "randomness"),
            ("#include <random>\nauto s() { return std::random_device{}(); }", "std::random_device", "randomness"),
            ("#include <sys/random.h>\nauto s() { return getrandom(nullptr, 0, 0); }", "calls getrandom", "randomness"),
        ]:
            with self.subTest(symbol=symbol):
                findings = self.purity(text)
                self.assertTrue(findings)
                self.assertTrue(
                    any(
                        f.startswith("src/core/queue/queue.cpp calls")
                        and symbol in f
                        and what in f
                        and "core/queue is PURE" in f
                        for f in findings
                    ),
                    findings,
                )

    def test_values_and_memory_are_fine(self):
        self.assertEqual(
            self.purity(
                "#include <map>\n#include <string>\n#include <memory>\n#include <stdexcept>\n"
                "std::map<std::string, std::shared_ptr<int>> m; void read(int) {}\n"
                'void f() { m["a"] = std::make_shared<int>(std::stoi("1")); read(1); }\n'
            ),
            [],
        )

    def test_a_module_that_is_not_pure_may_do_it(self):
        self.assertEqual(
            self.purity("#include <ctime>\nauto t() { return time(nullptr); }", pure=False, name="net"), []
        )

    def test_only_the_assertion_in_base_may_print(self):
        text = '#include <cstdio>\nvoid f(int x) { std::fprintf(stderr, "%d", x); }'
        self.assertEqual(self.purity(text, name="base"), [])
        self.assertTrue(self.purity(text, name="policy"))


class Headers(Tree):
    def headers(self):
        return check_arch.check_headers(self.root, self.build)

    def test_a_header_that_leans_on_its_includer_is_refused(self):
        self.module(
            "base",
            {"ids.h": "#pragma once\nstd::string name();\n", "ids.cpp": '#include <string>\n#include "base/ids.h"\n'},
        )
        self.refuses(self.headers(), "src/base/ids.h does not compile by itself: include in it what it uses", "string")

    def test_a_mended_header_is_looked_at_again(self):
        self.module(
            "base",
            {
                "ids.h": '#pragma once\n#include "base/inner.h"\nusing A = Inner;\n',
                "inner.h": "#pragma once\nstruct Inner {};\n",
                "ids.cpp": "",
            },
        )
        self.assertEqual(self.headers(), [])
        self.write("src/base/inner.h", "#pragma once\nstruct Other {};\n")
        self.refuses(self.headers(), "src/base/ids.h does not compile by itself")
        self.write("src/base/inner.h", "#pragma once\nstruct Inner {};\n")
        self.assertEqual(self.headers(), [])

    def test_what_was_fine_is_not_compiled_again(self):
        self.module("base", {"ids.h": "#pragma once\n", "ids.cpp": ""})
        self.assertEqual(self.headers(), [])
        ran = []
        real = subprocess.run
        check_arch.subprocess.run = lambda *a, **k: ran.append(a) or real(*a, **k)
        self.addCleanup(setattr, check_arch.subprocess, "run", real)
        self.assertEqual(self.headers(), [])
        self.assertEqual(ran, [])

    def test_a_header_that_a_built_source_includes_first_is_not_compiled_again(self):
        self.module("base", {"ids.h": "#pragma once\nstruct Id {};\n", "ids.cpp": '// Ids.\n#include "base/ids.h"\n'})
        self.write("build/dev/x.o", "")
        for path in ("src/base/ids.h", "src/base/ids.cpp"):
            os.utime(os.path.join(self.root, path), (1, 1))
        self.assertEqual(check_arch.compiled_first(self.root, self.build), {os.path.join(self.root, "src/base/ids.h")})
        self.assertEqual(self.headers(), [])
        os.utime(os.path.join(self.root, "build/dev/x.o"), (0, 0))
        self.assertEqual(check_arch.compiled_first(self.root, self.build), set())
        self.write("src/base/ids.cpp", '#include <string>\n#include "base/ids.h"\n')
        os.utime(os.path.join(self.root, "build/dev/x.o"), None)
        self.assertEqual(check_arch.compiled_first(self.root, self.build), set())

    def test_a_header_that_is_not_there_is_said(self):
        self.module("base", {"ids.cpp": ""}, headers=["gone.h"])
        self.refuses(self.headers(), "HEADERS names gone.h, which is not there")


class CommandLine(Tree):
    def test_findings_make_the_exit_code_one_and_a_fine_tree_zero(self):
        script = check_arch.__file__
        self.module("net", {"loop.h": ""})
        self.module("policy", {"policy.h": '#include "net/loop.h"\n'})
        refused = subprocess.run(
            [sys.executable, script, "includes", "--root", self.root], capture_output=True, text=True, check=False
        )
        self.assertEqual(refused.returncode, 1, refused.stdout)
        self.assertIn("1 finding(s)", refused.stdout)
        self.write("src/policy/policy.h", "")
        fine = subprocess.run(
            [sys.executable, script, "includes", "--root", self.root], capture_output=True, text=True, check=False
        )
        self.assertEqual((fine.returncode, fine.stdout), (0, "check_arch includes: fine\n"))


if __name__ == "__main__":
    unittest.main()
