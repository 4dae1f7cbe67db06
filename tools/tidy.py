#!/usr/bin/env python3
"""What a machine can check in the files themselves. Runs under `ctest -L arch`; each message ends with the remedy.

    tools/tidy.py                 looks at every file that git tracks or would track

1. Rules on lines hold for code (CODE below); prose, data and corpora are held to the lighter ones.
2. A rule exists only here, and tools/tidy_test.py shows each of them a violation.
3. Exit code 0: nothing found; 1: findings. Findings that are Later are counted, and fail only with --strict.

Standard library only.
"""

import argparse
import os
import re
import subprocess
import sys

LINE_WIDTH_MAX = 120
FILE_LINES_MAX = 900

CODE = (".h", ".hpp", ".cpp", ".cc", ".py", ".sh", ".cmake", ".ts", ".tsx", ".js", ".mjs", ".css", ".sql")
CODE_NAMES = ("CMakeLists.txt", "run", "test", "LAYERS")
CPP = (".h", ".hpp", ".cpp", ".cc")
# Files that hold what others wrote or machines made.
MADE_ELSEWHERE = re.compile(
    r"(^|/)(LICENSE|package-lock\.json)$|^fuzz/corpus/|\.(patch|svg|png|ico|lock|jsonl|pem|der|bin)$"
)
MACHINE_PATH = re.compile(r"(?<![\w.$}~*-])/(work|root|home)/(?!\.\.\.)[\w.-]")
UNFINISHED = re.compile(r"\b(TO" r"DO|FIX" r"ME|XX" r"X|HA" r"CK)\b(?!\(#\d+\))")
TEST = re.compile(
    r"^[ \t]*(?:TYPED_)?(?:TEST|TEST_F|TEST_P|TEST_S|RC_GTEST_PROP|RC_GTEST_FIXTURE_PROP)"
    r"\(\s*(\w+)\s*,\s*(\w+)\s*[,)]",
    re.MULTILINE,
)
REQUIREMENT = re.compile(r"(?<![A-Za-z0-9])([LFSN]\d{1,2})_(?=[A-Za-z])")
NAMED_PATH = re.compile(r"`((?:src|tools|tests|docs|fuzz|cmake|sim|scenarios|bench|examples|clients)/[\w./-]+)`")
LINK = re.compile(r"\[[^\]\n]*\]\(([^)\s#]+)(?:#[^)\s]*)?\)")


def tracked_files(root):
    """Every file that git tracks or would track, as paths relative to the root."""
    listed = subprocess.run(
        ["git", "-C", root, "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        capture_output=True,
        text=True,
        check=False,
    )
    if listed.returncode == 0 and os.path.exists(os.path.join(root, ".git")):
        return sorted(f for f in set(listed.stdout.split("\0")) if f and os.path.isfile(os.path.join(root, f)))
    found = []
    for folder, folders, files in os.walk(root):
        folders[:] = [f for f in folders if f not in (".git", "build", "node_modules", "__pycache__")]
        found += [os.path.relpath(os.path.join(folder, f), root) for f in files]
    return sorted(found)


class Later(str):
    """A finding of a rule that fails a run only with --strict."""


def is_code(path):
    name = os.path.basename(path)
    return name.endswith(CODE) or name in CODE_NAMES or path == ".ci/run"


def line_of(text, at):
    return text.count("\n", 0, at) + 1


def check_text(path, text, files=()):
    """Rules that look at one file; `files` are all paths, to see what lies beside it."""
    findings = []
    if MADE_ELSEWHERE.search(path):
        return findings
    lines = text.split("\n")
    if text and not text.endswith("\n"):
        findings.append(f"{path}:{len(lines)} does not end in a newline: add one")
    for number, line in enumerate(lines, 1):
        if line != line.rstrip():
            findings.append(f"{path}:{number} ends in white space: delete it")
        if MACHINE_PATH.search(line):
            findings.append(
                f"{path}:{number} names a path of one machine ({MACHINE_PATH.search(line).group(0)}...):"
                " write it relative to the repository, or a neutral one such as /srv/app"
            )
    if not is_code(path):
        return findings
    for number, line in enumerate(lines, 1):
        if "\t" in line and not path.endswith("Makefile"):
            findings.append(f"{path}:{number} has a tab: indent with spaces, or write \\t in a literal")
        if len(line) > LINE_WIDTH_MAX and not re.search(r"https?://\S{60,}", line):
            findings.append(
                Later(
                    f"{path}:{number} is {len(line)} characters wide, {LINE_WIDTH_MAX} are allowed: break the line,"
                    " or clang-format -i"
                )
            )
        if UNFINISHED.search(line):
            word = UNFINISHED.search(line).group(1)
            findings.append(f"{path}:{number} has a {word} without an issue: do it, or write {word}(#123)")
    if len(lines) - 1 > FILE_LINES_MAX:
        findings.append(
            f"{path} has {len(lines) - 1} lines, {FILE_LINES_MAX} are allowed: split it by what changes together"
        )
    if not has_header(path, files):
        findings += check_opening(path, lines)
    if path.endswith(CPP):
        findings += check_cpp(path, text, lines)
    return findings


def has_header(path, files):
    """Whether x.cpp has its x.h, beside it or in the public include folder of the same module."""
    if not path.endswith(".cpp"):
        return False
    header = os.path.basename(path)[:-4] + ".h"
    module = "/".join(path.split("/")[:2]) + "/"
    return any(f.startswith(module) and os.path.basename(f) == header for f in files)


def check_opening(path, lines):
    """A file opens with what it is for; tests and CMakeLists.txt are spoken for by what they test and declare."""
    first = next((line for line in lines if line and not line.startswith("#!")), "")
    if path.endswith(("_test.cpp", "CMakeLists.txt")) or not first:
        return []
    if path.endswith((".cpp", ".cc", ".h", ".hpp", ".ts", ".tsx", ".js", ".mjs", ".css")):
        opens = first.startswith(("//", "/*"))
    elif path.endswith(".sql"):
        opens = first.startswith("--")
    elif path.endswith(".py") or "python" in lines[0]:
        opens = first.startswith(("#", '"""', 'r"""'))
    else:
        opens = first.startswith("#")
    return [] if opens else [f"{path}:1 does not open with a comment: say in one line what the file is for"]


def check_cpp(path, text, lines):
    findings = []
    if path.endswith((".h", ".hpp")):
        code = [line for line in lines if line and not line.startswith(("//", " *", "/*"))]
        if not code or code[0] != "#pragma once":
            findings.append(f"{path} has no `#pragma once` above its code: put it below the opening comment")
    for match in TEST.finditer(text):
        suite, name = match.groups()
        at = f"{path}:{line_of(text, match.start())} names a test {suite}.{name}"
        if not re.fullmatch(r"(?:[A-Z]\w*/)?[A-Z][A-Za-z0-9]*", suite):
            findings.append(f"{at}: the first part is what is tested, in PascalCase, such as Queue")
        sentence = re.sub(r"^(?:[LFSN]\d{1,2}_)+", "", name)
        plain = re.fullmatch(r"[A-Z][A-Za-z0-9]*", sentence) and len(re.findall(r"[A-Z][a-z0-9]*", sentence)) > 1
        told = sentence != name and re.fullmatch(r"[a-z0-9]+(_[a-z0-9]+)+", sentence)
        if not (plain or told):
            findings.append(
                f"{at}: the second part says what happens, as a sentence, such as LeaseEndsExactlyAtItsTimeout"
            )
    return findings


def requirement_ids(root):
    """Ids of docs/requirements.md: rows that open `| L3 |`."""
    try:
        with open(os.path.join(root, "docs", "requirements.md"), encoding="utf-8") as file:
            return set(re.findall(r"^\| ([LFSN]\d{1,2}) \|", file.read(), re.MULTILINE))
    except OSError:
        return set()


def is_test_file(path):
    return bool(re.search(r"(_test\.(cpp|py)|\.test\.(ts|js|mjs)|\.scn)$", path)) or path.startswith("tests/")


def check_tree(root, files, texts):
    """Rules that need to see several files."""
    findings = []
    known = requirement_ids(root)
    for path, text in texts.items():
        if is_test_file(path) and path != "tools/tidy_test.py":
            for match in REQUIREMENT.finditer(text):
                if match.group(1) not in known:
                    findings.append(
                        f"{path}:{line_of(text, match.start())} names requirement {match.group(1)}, which"
                        " docs/requirements.md does not list: mend the id, or add the row"
                    )
        if path.endswith(".md"):
            for match in LINK.finditer(text):
                target = match.group(1)
                if re.match(r"[a-z]+:", target) or target.startswith("/"):
                    continue
                if not os.path.exists(os.path.join(root, os.path.dirname(path), target)):
                    findings.append(
                        f"{path}:{line_of(text, match.start())} links to {target}, which is not there: mend the link"
                    )
            for match in NAMED_PATH.finditer(text):
                if not os.path.exists(os.path.join(root, match.group(1))):
                    at = f"{path}:{line_of(text, match.start())}"
                    findings.append(Later(f"{at} names {match.group(1)}, which is not there: mend the path"))
        if path.endswith("CMakeLists.txt") and re.search(r"^\s*fanfare_module\(", text, re.MULTILINE):
            readme = os.path.join(os.path.dirname(path), "README.md")
            if readme not in files:
                findings.append(
                    Later(
                        f"{path} declares a module without {readme}: write there what it is, what it must never do,"
                        " which file to open first, and how to run its tests"
                    )
                )
        if text.startswith("#!") and not os.access(os.path.join(root, path), os.X_OK) and not path.endswith(".patch"):
            findings.append(f"{path} opens with #! but is not executable: chmod +x {path}")
    findings += check_frame(files)
    findings += check_decisions(files)
    findings += check_layers(files, texts)
    return findings


def check_frame(files):
    """The files that everything outside counts on; a careless commit must not take them along."""
    if "CMakePresets.json" not in files:
        return []  # not the repository: a small tree of tidy_test.py
    frame = ("run", "test", ".ci/run", "README.md", "ARCHITECTURE.md", "HACKING.md", "LICENSE", "tests/LAYERS")
    return [f"{path} is gone: bring it back, git log -- {path}" for path in frame if path not in files]


def check_decisions(files):
    findings, numbers = [], {}
    for path in sorted(files):
        if not path.startswith("docs/adr/") or path == "docs/adr/README.md":
            continue
        match = re.fullmatch(r"docs/adr/(\d{4})-[a-z0-9-]+\.md", path)
        if not match:
            findings.append(f"{path} is not numbered: name decisions docs/adr/NNNN-words-in-lower-case.md")
        elif match.group(1) in numbers:
            findings.append(f"{path} has the number of {numbers[match.group(1)]}: take the next free one")
        else:
            numbers[match.group(1)] = path
    return findings


def check_layers(files, texts):
    findings = []
    for number, line in enumerate(texts.get("tests/LAYERS", "").split("\n"), 1):
        words = line.split()
        if len(words) == 3 and not line.startswith("#") and words[2] == "planned" and words[1] in files:
            findings.append(
                f"tests/LAYERS:{number} says {words[0]} is planned, but {words[1]} is there: write required"
            )
    return findings


def check(root):
    files = set(tracked_files(root))
    findings, texts = [], {}
    for path in sorted(files):
        with open(os.path.join(root, path), "rb") as file:
            raw = file.read()
        try:
            text = raw.decode("utf-8")
        except UnicodeDecodeError:
            if is_code(path):
                findings.append(f"{path} is not UTF-8: save it as UTF-8")
            continue
        if "\0" in text:
            continue
        texts[path] = text
        findings += check_text(path, text, files)
    return findings + check_tree(root, files, texts)


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", default=os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    parser.add_argument("--strict", action="store_true", help="rules that are only counted otherwise fail too")
    options = parser.parse_args(arguments)
    findings = check(os.path.abspath(options.root))
    later = [f for f in findings if isinstance(f, Later) and not options.strict]
    findings = [f for f in findings if f not in later]
    for finding in findings:
        print(finding)
    if later:
        print(f"{len(later)} wide lines, missing READMEs and paths still to come (tools/tidy.py --strict lists them)")
    print("tidy: " + (f"{len(findings)} finding(s)" if findings else "fine"))
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
