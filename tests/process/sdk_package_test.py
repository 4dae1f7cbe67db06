#!/usr/bin/env python3
"""The SDK as a package: installed into a prefix, found by somebody else's project, built, and run against a server."""
import json
import os
import shutil
import subprocess
import tempfile
import unittest

from program import ACCOUNT, DEADLINE, PROGRAM, Server, main

BUILD = os.path.dirname(PROGRAM)
# The same folder each time, so that a compiler cache knows what it has seen.
FOLDER = os.path.join(BUILD, "sdk_package_test")
PREFIX = os.path.join(FOLDER, "prefix")
CONSUMER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "consumer")


def call(*command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=4 * DEADLINE)
    assert done.returncode == 0, "%s\n%s" % (" ".join(command), done.stdout)
    return done.stdout


class Package(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        shutil.rmtree(FOLDER, ignore_errors=True)
        call("cmake", "--install", BUILD, "--prefix", PREFIX, "--component", "sdk")

    def test_a_project_finds_builds_and_runs_it(self):
        out = os.path.join(FOLDER, "build")
        cache = shutil.which("ccache")
        call("cmake", "-S", CONSUMER, "-B", out, "-G", "Ninja", "-DCMAKE_PREFIX_PATH=" + PREFIX, "-DCMAKE_BUILD_TYPE=None",
             *(["-DCMAKE_CXX_COMPILER_LAUNCHER=" + cache] if cache else []))
        call("cmake", "--build", out)
        with open(os.path.join(out, "compile_commands.json"), encoding="utf-8") as file:
            command = json.load(file)[0]["command"]
        self.assertNotIn(" -W", command)
        source = os.path.realpath(os.path.join(CONSUMER, "../../.."))
        self.assertNotIn(" -I%s/src" % source, command)
        self.assertNotIn(" -isystem %s/src" % source, command)
        with tempfile.TemporaryDirectory() as data:
            server = Server(data + "/data")
            self.addCleanup(server.stop)
            endpoint = "http://127.0.0.1:%d" % server.port
            self.assertEqual(call(os.path.join(out, "hello"), endpoint), "%s/%s/greetings\n" % (endpoint, ACCOUNT))

    def test_the_package_names_no_path_of_the_source(self):
        source = os.path.realpath(os.path.join(CONSUMER, "../../.."))
        seen = 0
        for folder, _, files in os.walk(PREFIX):
            for name in files:
                if name.endswith((".cmake", ".h")):
                    seen += 1
                    with open(os.path.join(folder, name), encoding="utf-8") as file:
                        self.assertNotIn(source, file.read().replace(PREFIX, ""), name)
        self.assertGreater(seen, 10)

    def test_the_program_is_installed_by_its_component(self):
        call("cmake", "--install", BUILD, "--prefix", PREFIX, "--component", "program")
        self.assertTrue(call(os.path.join(PREFIX, "bin/fanfare"), "version").startswith("fanfare "))


if __name__ == "__main__":
    main()
