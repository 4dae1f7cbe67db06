#!/usr/bin/env python3
"""deploy/Dockerfile without Docker: what it names must exist, and what it runs must start, answer its health check and stop."""
import json
import os
import re
import shutil
import subprocess
import tempfile
import unittest
import http.client

from program import DEADLINE, PROGRAM, Server, main, run

ROOT = os.path.realpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))


def read(name):
    with open(os.path.join(ROOT, name), encoding="utf-8") as file:
        return file.read()


class Dockerfile(unittest.TestCase):
    def setUp(self):
        text = re.sub(r"\\\n", " ", read("deploy/Dockerfile"))
        self.lines = [line for line in text.splitlines() if line and not line.startswith("#")]

    def only(self, instruction):
        found, = [line[len(instruction) + 1:] for line in self.lines if line.startswith(instruction + " ")]
        return found

    def packages(self, stage):
        return set(re.findall(r"--no-install-recommends ([^&]*)&&", "\n".join(self.lines))[stage].split())

    def test_it_builds_with_the_packages_preset_and_target_that_there_are(self):
        listed = set(re.search(r'FANFARE_PACKAGES_build="([^"]*)"', read("tools/install_packages.sh")).group(1).split())
        self.assertEqual(self.packages(0), listed - {"ccache"})
        commands = " ".join(self.lines)
        presets = {preset["name"] for preset in json.loads(read("CMakePresets.json"))["configurePresets"]}
        self.assertLessEqual(set(re.findall(r"--preset (\w+)", commands)), presets)
        self.assertIn("add_executable(%s " % re.search(r"--target (\w+)", commands).group(1), read("src/cli/CMakeLists.txt"))
        self.assertIn("COMPONENT %s)" % re.search(r"--component (\w+)", commands).group(1), read("cmake/fanfare_install.cmake"))

    @unittest.skipUnless(shutil.which("dpkg-query") and shutil.which("readelf"), "needs dpkg and binutils to tell whose a library is")
    def test_it_installs_every_library_that_the_program_needs(self):
        installed = self.packages(1) | {"libc6", "libgcc-s1"}  # of every Debian
        needed = re.findall(r"NEEDED.*\[(.*)\]", subprocess.run(["readelf", "-d", PROGRAM], capture_output=True, text=True, check=True).stdout)
        self.assertIn("libfmt.so.9", needed)
        for library in needed:
            if re.match(r"lib(a|t|ub)san", library):
                continue  # of a build with sanitizers, which is not what the image holds
            owners = subprocess.run(["dpkg-query", "-S", "*/" + library], capture_output=True, text=True).stdout
            self.assertTrue({line.split(":")[0] for line in owners.splitlines()} & installed, "%s is of\n%s" % (library, owners))

    def test_its_paths_belong_together(self):
        program = self.only("COPY --from=build").split()[1]
        self.assertEqual(json.loads(self.only("ENTRYPOINT")), [program])
        data = self.only("VOLUME")
        arguments = json.loads(self.only("CMD"))
        self.assertEqual(arguments[arguments.index("--data") + 1], data)
        self.assertTrue(any(" -o %s " % self.only("USER") in line and line.endswith(data) for line in self.lines), "the user owns the data")
        exposed = {arguments[arguments.index(flag) + 1].split(":")[1] for flag in ("--listen", "--edge")}
        self.assertEqual(set(self.only("EXPOSE").split()), exposed)

    def test_every_option_is_one_that_serve_has(self):
        shown = run("serve", "--help")[1]
        for option in set(re.findall(r"(--[a-z-]+)", self.only("CMD") + " ".join(re.findall(r"^# .*serve .*$", read("deploy/Dockerfile"), re.MULTILINE)))):
            self.assertRegex(shown, r"(?m)^ +%s\b" % option)

    def test_what_it_runs_is_healthy_and_stops_in_order(self):
        arguments = json.loads(self.only("CMD"))
        check = re.search(r'"http://(.*)(/.*)"\]', self.only("HEALTHCHECK"))
        self.assertEqual(check.group(1), arguments[arguments.index("--admin") + 1])
        with tempfile.TemporaryDirectory() as folder:
            server = Server(folder + "/data", arguments=[one for one in arguments if one == "--allow-public-development"])
            self.addCleanup(server.stop)
            connection = http.client.HTTPConnection("127.0.0.1", server.admin_port, timeout=DEADLINE)
            connection.request("GET", check.group(2))
            self.assertEqual(connection.getresponse().status, 200)
            connection.close()
            self.assertEqual(server.stop()[0], 0)


if __name__ == "__main__":
    main()
