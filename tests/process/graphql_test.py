#!/usr/bin/env python3
"""`fanfare graphql check`: files in, text or JSON out, and the exit code."""
import json
import os
import shutil
import subprocess
import tempfile
import unittest

from program import DEADLINE, PROGRAM, main

SCHEMA = "type Query { user: User }\ntype User { name: String }\n"


class Check(unittest.TestCase):
    def setUp(self):
        self.root = tempfile.mkdtemp(prefix="fanfare-graphql-check-")
        self.addCleanup(shutil.rmtree, self.root)

    def write(self, name, text):
        path = os.path.join(self.root, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)

    def check(self, *arguments, given=""):
        """The exit code and both streams together."""
        done = subprocess.run([PROGRAM, "graphql", "check", *arguments], cwd=self.root, input=given, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, timeout=DEADLINE)
        return done.returncode, done.stdout

    def test_a_right_schema_and_document_give_zero(self):
        self.write("schema.graphql", SCHEMA)
        self.write("query.graphql", "{ user { name } }")
        self.assertEqual(self.check("schema.graphql", "query.graphql"),
                         (0, "schema: 2 types, right\nquery.graphql: 1 operation, right\n"))

    def test_errors_show_their_line_with_a_caret_and_give_one(self):
        self.write("schema.graphql", SCHEMA)
        self.write("query.graphql", "{\n  user { nam }\n}\n")
        self.assertEqual(self.check("schema.graphql", "query.graphql"), (
            1,
            "schema: 2 types, right\n"
            "query.graphql:2:10: error: The type \"User\" has no field \"nam\". Did you mean \"name\"? [5.3.1 Field Selections]\n"
            "2 |   user { nam }\n"
            "  |          ^\n"
            "1 error\n"))

    def test_schemas_come_from_several_files_and_folders(self):
        self.write("schema.graphql", "type Query { user: User }\n")
        self.write("more.graphql", "type User { name: String }\n")
        self.write("folder/a.graphqls", "extend type User { posts: [Post!]! }\n")
        self.write("folder/b.gql", "type Post { title: String }\n")
        self.write("folder/notes.txt", "not a schema")
        self.write("query.graphql", "{ user { name posts { title } } }")
        right = (0, "schema: 3 types, right\nquery.graphql: 1 operation, right\n")
        self.assertEqual(self.check("schema.graphql", "query.graphql", "--schema", "more.graphql", "--schema", "folder"), right)
        self.assertEqual(self.check("--schema", "more.graphql", "--schema", "folder", "schema.graphql", "query.graphql"), right)
        self.assertEqual(self.check("schema.graphql", "--schema", "folder"), (
            1,
            "folder/a.graphqls:1:13: error: Cannot extend the type \"User\": it is not defined. [3.4.3 Type Extensions]\n"
            "1 | extend type User { posts: [Post!]! }\n"
            "  |             ^\n"
            "1 error in the schema\n"))

    def test_documents_are_left_alone_when_the_schema_is_wrong(self):
        self.write("schema.graphql", "type Query {\n  user: Usr\n}\ntype User { a: Int }\n")
        self.write("query.graphql", "{ nothing }")
        self.assertEqual(self.check("schema.graphql", "query.graphql"), (
            1,
            "schema.graphql:2:9: error: Unknown type \"Usr\". Did you mean \"User\"? [3.4 Types]\n"
            "2 |   user: Usr\n"
            "  |         ^\n"
            "1 error in the schema\n"))

    def test_syntax_errors_have_their_place_in_both_kinds_of_file(self):
        self.write("schema.graphql", "type Query { user: User ")
        self.assertIn("schema.graphql:1:25: error: Syntax error: ", self.check("schema.graphql")[1])
        self.write("schema.graphql", "type Query { a: Int }")
        self.write("query.graphql", "{ a(x: 1a) }")
        code, output = self.check("schema.graphql", "query.graphql")
        self.assertEqual(code, 1)
        self.assertIn("query.graphql:1:9: error: Syntax error: ", output)

    def test_json_is_one_line_for_programs(self):
        self.write("schema.graphql", "type Query { a: Int }")
        self.write("query.graphql", "{ b }")
        code, output = self.check("--json", "schema.graphql", "query.graphql")
        self.assertEqual(code, 1)
        self.assertEqual(output.count("\n"), 1)
        self.assertEqual(json.loads(output), {
            "ok": False,
            "types": 1,
            "documents": [{"source": "query.graphql", "operations": 1, "errors": 1}],
            "errors": [{
                "source": "query.graphql",
                "rule": "FieldSelections",
                "section": "5.3.1 Field Selections",
                "message": "The type \"Query\" has no field \"b\". Did you mean \"a\"?",
                "locations": [{"line": 1, "column": 3}],
            }],
        })
        self.assertEqual(self.check("--json", "schema.graphql"), (0, '{"ok":true,"types":1,"documents":[],"errors":[]}\n'))

    def test_reads_standard_input(self):
        self.write("schema.graphql", "type Query { a: Int }")
        self.write("query.graphql", "{ a }")
        self.assertEqual(self.check("schema.graphql", "-", given="{ a }"),
                         (0, "schema: 1 type, right\nstandard input: 1 operation, right\n"))
        self.assertEqual(self.check("-", "query.graphql", given="type Query { a: Int }")[0], 0)

    def test_what_cannot_be_read_gives_two(self):
        self.write("schema.graphql", "type Query { a: Int }")
        os.mkdir(os.path.join(self.root, "empty"))
        code, output = self.check("schema.graphql", "missing.graphql")
        self.assertEqual(code, 2)
        self.assertIn("cannot read missing.graphql: No such file or directory", output)
        for arguments in (["empty"], ["schema.graphql", "empty"], [], ["schema.graphql", "--nonsense"]):
            self.assertEqual(self.check(*arguments)[0], 2, arguments)

    def test_help_has_an_example(self):
        code, output = self.check("--help")
        self.assertEqual(code, 0)
        for part in ("SCHEMA", "DOCUMENT", "--schema", "--json", "Exit code: 0", "$ fanfare graphql check schema.graphql queries/inbox.graphql"):
            self.assertIn(part, output)


if __name__ == "__main__":
    main()
