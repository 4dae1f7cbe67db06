#!/usr/bin/env python3
"""The architecture guards: what may include, link and call what. They run under `ctest -L arch`.

    tools/check_arch.py includes --build build/dev    every #include against DEPS, and DEPS against MAY_INCLUDE
    tools/check_arch.py link     --build build/dev    every archive links whole with only what it declares
    tools/check_arch.py purity   --build build/dev    archives of PURE modules ask nothing of the outer world
    tools/check_arch.py headers  --build build/dev    every header compiles alone

1. Nothing is declared here that a module's fanfare_module() call already says: the guards read <build>/modules.json.
2. The table of layers (MAY_INCLUDE) and the lists of confined and banned things below exist only here.
3. Every message ends with the remedy. Exit code 0: nothing found; 1: findings; 2: could not look.

Standard library only. tools/check_arch_test.py shows each guard a violation and expects the refusal.
"""

import argparse
import concurrent.futures
import hashlib
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile

# --- The table of layers ------------------------------------------------------------------------------------------
# Which modules a module may name in DEPS. A trailing /* means every module of that folder. Arrows go only down;
# siblings do not know each other, but for the few that are made to be shared: wire/json, wire/digest and wire/http
# within wire, core/message within core.
# fmt: off
MAY_INCLUDE = {
    "base": [],
    "wire/json": ["base"],
    "wire/digest": ["base"],
    "wire/http": ["base", "wire/digest"],
    "wire/aws_json": ["base", "wire/json", "wire/digest", "wire/http", "wire/aws_shape"],
    "wire/aws_query": ["base", "wire/json", "wire/digest", "wire/http", "wire/aws_shape"],
    "wire/*": ["base", "wire/json", "wire/digest", "wire/http"],
    "policy": ["base", "wire/json"],
    "identity": ["base", "wire/json", "wire/digest", "wire/jwt", "policy"],
    "core/message": ["base"],
    "core/engine": ["base", "wire/json", "policy", "core/message", "core/queue", "core/topic"],
    "core/*": ["base", "wire/json", "policy", "core/message"],
    "graphql": ["base", "wire/json"],
    "api": ["base", "wire/*", "policy", "identity", "core/*"],
    "api/*": ["base", "wire/*", "policy", "identity", "core/*", "api"],
    "edge": ["base", "wire/*", "core/live", "core/inbox"],
    "journal": ["base"],
    "store": ["base", "core/inbox"],
    "store/*": ["base", "core/inbox", "store"],
    "net": ["base", "wire/*"],
    "sdk": ["base", "wire/*", "net"],
    "topology": ["base", "policy", "sdk"],
    "server": ["base", "wire/*", "policy", "identity", "core/*", "graphql", "api", "api/*", "edge", "journal", "store", "store/*",
               "net", "sdk", "topology"],
    "bench": ["base", "wire/*", "net"],
    "cli": ["base", "wire/*", "policy", "identity", "graphql", "net", "sdk", "topology", "server", "bench"],
}

# Headers that few may include: (pattern of the header, where it may stand, the remedy).
# A place is a module, a folder of modules with /*, or "tests" for *_test.cpp and test_support.h files everywhere and tests/, "bench" for
# *_bench.cpp, bench/ and src/bench, "examples" for examples/.
CONFINED_HEADERS = [
    (r"simdjson(/.*)?(\.h)?", ["wire/json .cpp"], "use wire/json/*.h; simdjson itself stays in wire/json's .cpp files"),
    (r"boost/asio(/.*|\.hpp)", ["net", "sdk", "server", "tests", "examples", "bench"],
     "Asio stays in net, sdk and server: pass values in, or move the code there"),
    (r"boost/beast(/.*|\.hpp)", ["tests"], "Beast is an oracle for *_test.cpp files only: use wire/http or"
     " wire/websocket"),
    (r"sqlite3(ext)?\.h", ["store", "store/*"], "only store knows SQL: go through store's port"),
    (r"(postgresql/)?libpq-fe\.h", ["store", "store/*"], "only store knows SQL: go through store's port"),
    (r"curl/.*", ["net .cpp"], "libcurl stays in net/smtp_client.cpp: use net/smtp_client.h"),
    (r"liburing(/.*)?(\.h)?", ["net"], "io_uring stays behind net's loop port"),
]

# Words that few may use in code: (pattern, where it may stand, the remedy). Comments and strings do not count.
CONFINED_WORDS = [
    (r"\b(secure_)?getenv\s*\(", ["server", "cli", "tests", "examples", "bench", "sdk credentials"],
     "only server and cli read the environment (and the SDK's credential chain, src/sdk/**/*credentials*.cpp):"
     " pass the value in"),
    (r"\bsystem_clock\s*::\s*now\b", ["server", "cli", "net", "sdk", "examples", "bench", "tests"],
     "take `Timestamp now` as an argument; server owns the one Clock"),
    (r"\bmt19937(_64)?\b", [], "use base/rng.h: fanfare::Rng gives the same numbers everywhere"),
    (r"\b(uniform_int|uniform_real|normal|bernoulli|binomial|geometric|poisson|exponential|gamma|weibull|discrete"
     r"|lognormal|cauchy|fisher_f|student_t|chi_squared|extreme_value|negative_binomial|piecewise_constant"
     r"|piecewise_linear)_distribution\b", [],
     "std::*_distribution differs between libraries: use fanfare::Rng's below(), between(), chance()"),
    (r"\bstd\s*::\s*s?rand\b|(?<![\w:.>])s?rand\s*\(", [], "use base/rng.h: fanfare::Rng, or Secrets for what must not"
     " be guessed"),
    (r"\brandom_device\b", ["server", "sdk"], "randomness comes from Rng or Secrets; only server and sdk make the real"
     " source"),
    (r"\busing\s+namespace\s+std\s*;", [], "write std:: or name the one thing: `using std::chrono::seconds;`"),
]

# AWS's own spellings as string literals: only wire and api know them, and the SDK, which speaks as AWS's client.
# The envelope and what it carries are AWS's format by their nature: core/topic writes it, core/live reads it.
AWS_SPELLINGS = re.compile(
    r"X-Amz-(Target|Date|Security-Token|Content-Sha256)|AmazonSQS|AmazonSimpleNotificationService|AWS4-HMAC-SHA256"
    r"|(?<![A-Za-z])(ReceiptHandle|MessageAttributes?|MessageSystemAttributes?|VisibilityTimeout|QueueUrl"
    r"|MessageGroupId|MessageDeduplicationId|ApproximateReceiveCount|DelaySeconds|WaitTimeSeconds"
    r"|MaxNumberOfMessages|RedrivePolicy|SubscribeURL)(?![A-Za-z])", re.IGNORECASE)
AWS_SPELLINGS_IN = ["wire/*", "api", "api/*", "sdk", "bench", "tests"]
# Files whose matter is AWS's own documents; lint and its sources read attributes as the services describe them.
AWS_SPELLINGS_FILES = re.compile(
    r"^src/(core/(topic/(envelope|filter|delivery|redrive)\w*|live/event)|policy/lint\w*"
    r"|cli/(live_topology|topology_file))\.(h|cpp)$")

# --- Symbols that an archive of a PURE module must not ask for ------------------------------------------------------
# (pattern of the demangled undefined symbol, what it is, the remedy)
IMPURE_SYMBOLS = [
    (r"(clock_gettime|clock_nanosleep|gettimeofday|time|ftime|times|clock|localtime(_r)?|tzset)"
     r"|std::chrono::(_V2::)?\w+_clock::now\(\).*", "a clock", "take `Timestamp now` as an argument"),
    (r"(socket|socketpair|connect|bind|listen|accept4?|send(to|msg|mmsg)?|recv(from|msg|mmsg)?|getaddrinfo"
     r"|gethostbyname|poll|ppoll|select|epoll_\w+|eventfd|timerfd_\w+|io_uring_\w+|shutdown|getsockname|setsockopt)",
     "a socket", "move the code to net or server, or pass the bytes in"),
    (r"(open(at)?|creat|close|read|write|p?readv?|p?writev?|fopen|fdopen|freopen|fclose|fread|fwrite|fgets|fputs"
     r"|getline|f?stat|lstat|statx|unlink|rename|mkdir|opendir|readdir|fsync|fdatasync|mmap|munmap|mkstemp|ftruncate"
     r"|fallocate|posix_fallocate|lseek)(64)?(_chk)?(64)?"
     r"|std::(__cxx11::)?(basic_)?(i|o)?f(ile)?(stream|buf).*|std::filesystem::.*|std::basic_filebuf.*",
     "a file", "move the code to journal, store or server, or pass the content in"),
    (r"(printf|fprintf|vprintf|vfprintf|puts|putchar|fputc|perror|stdout|stderr|stdin|fflush|__printf_chk"
     r"|__fprintf_chk|__vfprintf_chk)|std::(cout|cerr|clog|cin|wcout|wcerr)|std::ios_base::Init::.*"
     r"|fmt::v\d+::v?print\(.*",
     "standard input or output", "return the value; server and cli print and log"),
    (r"pthread_(create|join|mutex_\w+|cond_\w+|rwlock_\w+|detach)|std::thread::.*|std::condition_variable.*"
     r"|std::this_thread::.*|sched_yield|nanosleep|usleep|sleep|v?fork|exec\w+|system|popen|kill|signal|sigaction",
     "a thread or process", "leave threads to the shell; who owns a core decides how it is shared"),
    (r"(secure_)?getenv|setenv|environ|__environ|sysconf|getpid|uname|gethostname", "the environment",
     "only server and cli read configuration and environment: pass the value in"),
    (r"(rand|srand|random|srandom|rand_r|drand48|getrandom|getentropy|arc4random\w*)|std::random_device::.*"
     r"|RAND_\w+", "randomness", "take a fanfare::Rng& or fanfare::Secrets& as an argument"),
]
# fmt: on
# What a pure module may ask for all the same.
IMPURE_ALLOWED = {
    "base": {"stderr", "fprintf", "__fprintf_chk", "fwrite", "fputs", "fflush"},  # a failed assertion says why
}


class Finding(str):
    """One violation, as the line that is printed."""


# --- Reading the tree ----------------------------------------------------------------------------------------------
def load_modules(build):
    path = os.path.join(build, "modules.json")
    try:
        with open(path, encoding="utf-8") as file:
            return json.load(file)
    except OSError as error:
        sys.exit(f"check_arch: cannot read {path} ({error.strerror}): configure first, `cmake --preset dev`")


def module_matches(name, pattern):
    """`api` matches "api"; `wire/http` matches "wire/http" and "wire/*"."""
    if pattern.endswith("/*"):
        return name.startswith(pattern[:-1])
    return name == pattern


def allowed_deps(name):
    """The row of MAY_INCLUDE for a module: the exact name, else its folder; None outside the table."""
    if name in MAY_INCLUDE:
        return MAY_INCLUDE[name]
    folder = name.split("/")[0] + "/*"
    return MAY_INCLUDE.get(folder)


TOKEN = re.compile(
    r"""(?P<comment>//(?:\\\n|[^\n])*|/\*.*?\*/)
      |(?P<raw>(?:u8|[uUL])?R"(?P<tag>[^()\s\\"]{0,16})\(.*?\)(?P=tag)")
      |(?P<string>"(?:\\.|[^"\\\n])*")
      |(?P<number>\b\d(?:'?[\w.])*)
      |(?P<char>'(?:\\.|[^'\\\n])*')""",
    re.DOTALL | re.VERBOSE,
)
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(?:"([^"\n]+)"|<([^>\n]+)>)', re.MULTILINE)


class Source:
    """One C++ file, split into code without comments and strings, string literals, and includes, with line numbers."""

    def __init__(self, path):
        with open(path, encoding="utf-8", errors="replace") as file:
            text = file.read()
        self.includes = []  # (line, name, quoted)
        self.strings = []  # (line, literal)
        code, at = [], 0
        for match in TOKEN.finditer(text):
            if match.group("number"):
                continue
            code.append(text[at : match.start()])
            at = match.end()
            line = text.count("\n", 0, match.start()) + 1
            blank = "\n" * match.group(0).count("\n")
            if match.group("comment"):
                code.append(blank or " ")
                continue
            before = text[text.rfind("\n", 0, match.start()) + 1 : match.start()]
            if re.fullmatch(r"[ \t]*#[ \t]*include[ \t]*", before):
                code.append(match.group(0))
                continue
            self.strings.append((line, match.group(0)))
            code.append('""' + blank)
        code.append(text[at:])
        self.code = "".join(code)
        for match in INCLUDE.finditer(self.code):
            line = self.code.count("\n", 0, match.start()) + 1
            self.includes.append((line, match.group(1) or match.group(2), bool(match.group(1))))

    def lines_with(self, pattern):
        for match in re.finditer(pattern, self.code):
            yield self.code.count("\n", 0, match.start()) + 1, match.group(0).strip()


def is_test(path):
    return path.endswith(("_test.cpp", "/test_support.h")) or path.startswith("tests/")


def stands_in(places, module, path):
    """Whether a file of `module` (or of no module) may hold a confined thing."""
    for place in places:
        if place == "tests":
            if is_test(path):
                return True
        elif place == "bench":
            if path.startswith("bench/") or path.endswith("_bench.cpp") or module == "bench":
                return True
        elif place == "examples":
            if path.startswith("examples/"):
                return True
        elif place == "sdk credentials":
            if module == "sdk" and "credentials" in os.path.basename(path):
                return True
        elif place.endswith(" .cpp"):
            if module_matches(module or "", place[:-5]) and path.endswith(".cpp"):
                return True
        elif module is not None and module_matches(module, place):
            return True
    return False


def cpp_files(root):
    skip = {"build", ".git", "node_modules", "corpus", "clients", "console"}
    for top in ("src", "sim", "scenarios", "fuzz", "tests", "bench", "examples"):
        for folder, folders, files in os.walk(os.path.join(root, top)):
            folders[:] = sorted(f for f in folders if f not in skip)
            for name in sorted(files):
                if name.endswith((".h", ".hpp", ".cpp", ".cc")):
                    yield os.path.relpath(os.path.join(folder, name), root)


# --- includes ------------------------------------------------------------------------------------------------------
def check_includes(root, build):
    modules = load_modules(build)
    findings = []
    by_name = {m["module"]: m for m in modules}
    folders = sorted(((m["folder"], m["module"]) for m in modules), key=lambda pair: -len(pair[0]))

    def owner(path):
        for folder, name in folders:
            if path.startswith(folder + "/"):
                return name
        return None

    for module in modules:
        name = module["module"]
        allowed = allowed_deps(name)
        where = f"{module['folder']}/CMakeLists.txt"
        if not module["folder"].startswith("src/"):
            continue  # sim, examples and tests may use any module
        if allowed is None:
            findings.append(
                Finding(
                    f"{where}: module {name} stands in no row of the table of layers: add it to MAY_INCLUDE in"
                    " tools/check_arch.py and to the table in ARCHITECTURE.md"
                )
            )
            continue
        for dep in module["deps"]:
            if dep not in by_name:
                findings.append(
                    Finding(
                        f"{where}: {name} names {dep} in DEPS, which no fanfare_module() call declares:"
                        " mend the name"
                    )
                )
            elif not any(module_matches(dep, pattern) for pattern in allowed):
                findings.append(
                    Finding(
                        f"{where}: {name} names {dep} in DEPS; {may(name)}: move the code to a module above"
                        " both, or pass the value in"
                    )
                )

    findings += unknown_modules(root, modules)
    listed = {
        os.path.normpath(f"{m['folder']}/{file}"): m["module"]
        for m in modules
        for kind in ("headers", "sources", "tests")
        for file in m[kind]
    }
    headers = {}  # what may stand in an #include -> the file
    for module in modules:
        for header in module["headers"]:
            path = os.path.normpath(f"{module['folder']}/{header}")
            if "include/" in header:
                headers[header.split("include/", 1)[1]] = path

    for path in cpp_files(root):
        name = owner(path)
        module = by_name.get(name)
        source = Source(os.path.join(root, path))
        if module and path.startswith("src/"):
            findings += orphan(path, module, listed)
        for line, included, quoted in source.includes:
            at = f"{path}:{line}"
            for pattern, places, remedy in CONFINED_HEADERS:
                if re.fullmatch(pattern, included) and not stands_in(places, name, path):
                    findings.append(Finding(f"{at} includes {included}: {remedy}"))
            if not quoted:
                if os.path.exists(os.path.join(root, "src", included)):
                    findings.append(
                        Finding(f'{at} includes <{included}>, a file of this repository: write #include "{included}"')
                    )
                continue
            target = resolve(root, build, path, included, headers)
            if target is None:
                findings.append(
                    Finding(
                        f'{at} includes "{included}", which is no file of this repository: write it from src/'
                        ' ("core/queue/queue.h"), or #include <...> for a library\'s header'
                    )
                )
                continue
            other = owner(target)
            if module is None or other == name or target == "":
                continue
            if other is None:
                findings.append(
                    Finding(
                        f"{at} includes {included}, which belongs to no module: declare it by a"
                        " fanfare_module() call"
                    )
                )
            elif other in module["deps"] or (is_test(path) and other in module.get("test_deps", [])):
                continue
            elif is_test(path):
                findings.append(
                    Finding(
                        f"{at} includes {included} of {other}, which {name} names neither in DEPS nor in"
                        f" TEST_DEPS: add TEST_DEPS {other} to {module['folder']}/CMakeLists.txt"
                    )
                )
            elif path.startswith("src/") and not any(module_matches(other, p) for p in allowed_deps(name) or []):
                findings.append(
                    Finding(
                        f"{at} includes {included}; {may(name)}: move the code to a module above both"
                        " (server composes), or pass the value in"
                    )
                )
            else:
                findings.append(
                    Finding(
                        f"{at} includes {included} of {other}, which {name} does not name: add {other} to DEPS"
                        f" in {module['folder']}/CMakeLists.txt"
                    )
                )
        for pattern, places, remedy in CONFINED_WORDS:
            for line, word in source.lines_with(pattern):
                if not stands_in(places, name, path):
                    findings.append(Finding(f"{path}:{line} uses {word.rstrip('( ')}: {remedy}"))
        if (
            path.startswith("src/")
            and not stands_in(AWS_SPELLINGS_IN, name, path)
            and not AWS_SPELLINGS_FILES.match(path)
        ):
            for line, literal in source.strings:
                spelling = AWS_SPELLINGS.search(literal)
                if spelling:
                    findings.append(
                        Finding(
                            f'{path}:{line} spells "{spelling.group(0)}" as AWS does; only wire and api know'
                            " AWS's spellings: move the text to api, or use our own word"
                        )
                    )
    return findings


def unknown_modules(root, modules):
    """fanfare_module() calls that no build reaches: their code is neither built nor guarded."""
    folders = {m["folder"] for m in modules}
    findings = []
    for folder, _, files in os.walk(os.path.join(root, "src")):
        path = os.path.relpath(folder, root)
        if "CMakeLists.txt" not in files or path in folders:
            continue
        with open(os.path.join(folder, "CMakeLists.txt"), encoding="utf-8") as file:
            if re.search(r"^\s*fanfare_module\(", file.read(), re.MULTILINE):
                findings.append(
                    Finding(
                        f"{path}/CMakeLists.txt declares a module that is not configured: name it in src/CMakeLists.txt"
                        " (and build once more)"
                    )
                )
    return findings


def may(name):
    allowed = allowed_deps(name)
    return f"{name} may include " + (", ".join(allowed) if allowed else "nothing of this repository")


def orphan(path, module, listed):
    """A file that lies in a module's folder but in no list of its call is built by nobody, or escapes the guards."""
    if path in listed or path.endswith(("_bench.cpp", "/main.cpp")):
        return []
    kind = "TESTS" if is_test(path) else "HEADERS" if path.endswith((".h", ".hpp")) else "SOURCES"
    return [
        Finding(
            f"{path} is in no list of module {module['module']}: add it to {kind} in {module['folder']}/CMakeLists.txt,"
            " or delete it"
        )
    ]


def resolve(root, build, path, included, headers):
    """The included file relative to the root; "" for a generated one; None if there is none."""
    candidates = [os.path.join("src", included), os.path.join(os.path.dirname(path), included), included]
    if included in headers:
        candidates.insert(0, headers[included])
    for candidate in candidates:
        if os.path.isfile(os.path.join(root, candidate)):
            return os.path.normpath(candidate)
    generated = [
        os.path.join(build, included),
        os.path.join(build, "src", included),
        os.path.join(build, "generated", included),
        os.path.join(build, os.path.dirname(path), included),
    ]
    return "" if any(os.path.isfile(g) for g in generated) else None


# --- link ----------------------------------------------------------------------------------------------------------
def transitive_deps(name, by_name):
    """Modules behind `name` in link order: whoever uses comes before what it uses."""
    order, seen = [], set()

    def visit(current):
        for dep in by_name[current]["deps"]:
            if dep in by_name and dep not in seen:
                seen.add(dep)
                visit(dep)
                order.append(dep)

    visit(name)
    return list(reversed(order))


def built(archive, module):
    if os.path.isfile(archive):
        return None
    return Finding(f"{archive} is not built: `cmake --build` target {module['target']} first")


def stamp(paths):
    """Changes when one of the files was rebuilt."""
    return [[path, os.stat(path).st_mtime_ns, os.stat(path).st_size] for path in paths if os.path.isfile(path)]


class Cache:
    """What was found fine last time, in <build>/arch/<guard>.json: key -> proof."""

    def __init__(self, build, guard):
        self.path = os.path.join(build, "arch", f"{guard}.json")
        try:
            with open(self.path, encoding="utf-8") as file:
                self.fine = json.load(file)
        except (OSError, ValueError):
            self.fine = {}

    def save(self):
        os.makedirs(os.path.dirname(self.path), exist_ok=True)
        temporary = f"{self.path}.{os.getpid()}"
        with open(temporary, "w", encoding="utf-8") as file:
            json.dump(self.fine, file)
        os.replace(temporary, self.path)


def check_link(root, build, compiler):
    modules = load_modules(build)
    by_name = {m["module"]: m for m in modules}
    cache = Cache(build, "link")

    def link(module):
        archive = module["archive"]
        if not archive:
            return []
        missing = built(archive, module)
        if missing:
            return [missing]
        deps = transitive_deps(module["module"], by_name)
        archives = [by_name[d]["archive"] for d in deps if by_name[d]["archive"]]
        libraries = list(
            dict.fromkeys(lib for n in [module["module"], *deps] for lib in by_name[n].get("libraries", []))
        )
        proof = [stamp([archive, *archives]), libraries, compiler]
        if cache.fine.get(archive) == proof:
            return []
        with tempfile.TemporaryDirectory() as folder:
            main = os.path.join(folder, "main.cpp")
            with open(main, "w", encoding="utf-8") as file:
                file.write("int main() {}\n")
            command = [
                *shlex.split(compiler),
                main,
                "-o",
                os.path.join(folder, "linked"),
                "-Wl,--whole-archive",
                archive,
                "-Wl,--no-whole-archive",
                "-Wl,--start-group",
                *archives,
                "-Wl,--end-group",
                *libraries,
            ]
            done = subprocess.run(
                command, capture_output=True, text=True, env={**os.environ, "LC_ALL": "C"}, check=False
            )
        if done.returncode == 0:
            cache.fine[archive] = proof
            return []
        undefined = list(dict.fromkeys(re.findall(r"undefined (?:reference to|symbol:) [`']?([^'\n]+)", done.stderr)))
        if not undefined:
            return [
                Finding(
                    f"{module['module']} does not link by itself: {' '.join(command)}\n{done.stderr.strip()[:2000]}"
                )
            ]
        return [
            Finding(
                f"{module['module']} uses {symbol}, which neither its DEPS nor its EXTERNAL libraries hold: add the"
                f" module or library to {module['folder']}/CMakeLists.txt if the layers allow it, else move the code"
            )
            for symbol in undefined[:10]
        ]

    return run_two_at_a_time(link, modules, cache)


def run_two_at_a_time(check, items, cache):
    findings = []
    with concurrent.futures.ThreadPoolExecutor(max_workers=2) as pool:
        for found in pool.map(check, items):
            findings += found
    cache.save()
    return findings


# --- purity --------------------------------------------------------------------------------------------------------
def undefined_symbols(archive):
    """(member, demangled symbol) of everything the archive asks for and does not hold itself."""
    done = subprocess.run(
        ["nm", "-C", "-A", archive], capture_output=True, text=True, env={**os.environ, "LC_ALL": "C"}, check=False
    )
    wanted, defined = [], set()
    for line in done.stdout.splitlines():
        match = re.match(r".*?([^/:]+\.o):\s*([0-9a-f]{8,})?\s+(\w) (.+)$", line)
        if not match:
            continue
        member, _, kind, symbol = match.groups()
        symbol = symbol.split("@")[0]
        if kind == "U":
            wanted.append((member, symbol))
        else:
            defined.add(symbol)
    return [(member, symbol) for member, symbol in wanted if symbol not in defined]


def check_purity(build):
    modules = [m for m in load_modules(build) if m["pure"] and m["archive"]]
    cache = Cache(build, "purity")
    rules = hashlib.sha256(repr((IMPURE_SYMBOLS, IMPURE_ALLOWED)).encode()).hexdigest()

    def look(module):
        missing = built(module["archive"], module)
        if missing:
            return [missing]
        proof = [stamp([module["archive"]]), rules]
        if cache.fine.get(module["archive"]) == proof:
            return []
        findings = []
        for member, symbol in undefined_symbols(module["archive"]):
            if symbol in IMPURE_ALLOWED.get(module["module"], ()):
                continue
            for pattern, what, remedy in IMPURE_SYMBOLS:
                if re.fullmatch(pattern, symbol):
                    source = f"{module['folder']}/{member.removesuffix('.o')}"
                    findings.append(Finding(f"{source} calls {symbol}, {what}; {module['module']} is PURE: {remedy}"))
        if not findings:
            cache.fine[module["archive"]] = proof
        return findings

    return run_two_at_a_time(look, modules, cache)


# --- headers -------------------------------------------------------------------------------------------------------
def compile_flags(root, build):
    """Module folder -> flags of one of its compile commands, without the file and its object."""
    with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as file:
        commands = json.load(file)
    flags = {}
    for entry in sorted(commands, key=lambda e: e["file"].endswith("_test.cpp")):
        path = os.path.relpath(entry["file"], root)
        words = shlex.split(entry["command"])
        while words and (
            "=" in words[0]
            and not words[0].startswith("-")
            or words[0].endswith(("ccache", "cmake", "env"))
            or words[0] in ("-E",)
        ):
            words.pop(0)  # a launcher and its settings
        kept, skip = [], False
        for word in words:
            if skip:
                skip = False
            elif word in ("-o", "-c", "-MF", "-MT", "-MQ"):
                skip = True
            elif word not in ("-MD", "-MMD", "-Werror"):
                kept.append(word)
        folder = os.path.dirname(path)
        while folder:
            flags.setdefault(folder, kept)
            folder = os.path.dirname(folder)
    return flags


def compiled_first(root, build):
    """Headers that the build itself has compiled alone: those that a source, built since, includes before all else."""
    with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as file:
        commands = json.load(file)
    proved = set()
    for entry in commands:
        words = shlex.split(entry["command"])
        if "-o" not in words or not os.path.isfile(entry["file"]):
            continue
        built_file = os.path.join(entry["directory"], words[words.index("-o") + 1])
        with open(entry["file"], encoding="utf-8", errors="replace") as file:
            first = re.search(r'^[ \t]*#[ \t]*include[ \t]*(?:"([^"\n]+)"|<)', file.read(), re.MULTILINE)
        if not first or not first.group(1) or not os.path.isfile(built_file):
            continue
        beside = os.path.join(os.path.dirname(entry["file"]), first.group(1))
        for header in (os.path.join(root, "src", first.group(1)), beside):
            if os.path.isfile(header):
                newest = max(os.stat(header).st_mtime_ns, os.stat(entry["file"]).st_mtime_ns)
                if os.stat(built_file).st_mtime_ns > newest:
                    proved.add(os.path.normpath(header))
                break
    return proved


def check_headers(root, build):
    modules = load_modules(build)
    proved = compiled_first(root, build)
    flags = compile_flags(root, build)
    cache = Cache(build, "headers")
    hashes = {}

    def content(path):
        """System headers by time and size, ours by content."""
        if path not in hashes:
            if path.startswith(root + os.sep):
                with open(path, "rb") as file:
                    hashes[path] = hashlib.sha256(file.read()).hexdigest()
            else:
                hashes[path] = repr(stamp([path]))
        return hashes[path]

    def compiles(item):
        module, header = item
        path = os.path.join(root, module["folder"], header)
        shown = os.path.normpath(f"{module['folder']}/{header}")
        if not os.path.isfile(path):
            return [
                Finding(f"{module['folder']}/CMakeLists.txt: HEADERS names {header}, which is not there: mend the name")
            ]
        if os.path.normpath(path) in proved:
            return []
        command = flags.get(module["folder"]) or flags.get("src/base") or flags.get("src")
        if command is None:
            return [
                Finding(
                    f"{shown}: {build}/compile_commands.json has no command for {module['folder']}: configure again"
                )
            ]
        known = cache.fine.get(shown)
        if known and known["command"] == command and all(os.path.isfile(f) for f in known["files"]):
            if known["proof"] == digest(known["files"], content):
                return []
        with tempfile.TemporaryDirectory() as folder:
            unit, depfile = os.path.join(folder, "alone.cpp"), os.path.join(folder, "alone.d")
            with open(unit, "w", encoding="utf-8") as file:
                file.write(f'#include "{path}"\n')
            done = subprocess.run(
                [*command, "-fsyntax-only", "-MD", "-MF", depfile, unit],
                capture_output=True,
                text=True,
                cwd=build,
                env={**os.environ, "LC_ALL": "C"},
                check=False,
            )
            if done.returncode != 0:
                said = "\n".join(done.stderr.replace(unit, "(a file with this include alone)").splitlines()[:12])
                return [
                    Finding(
                        f"{shown} does not compile by itself: include in it what it uses, or forward-declare\n{said}"
                    )
                ]
            with open(depfile, encoding="utf-8") as file:
                named = file.read().split(":", 1)[1].replace("\\\n", " ").split()
            files = sorted({os.path.normpath(os.path.join(build, f)) for f in named} - {unit})
        cache.fine[shown] = {"command": command, "files": files, "proof": digest(files, content)}
        return []

    items = [(m, h) for m in modules for h in m["headers"] if h.endswith((".h", ".hpp"))]
    return run_two_at_a_time(compiles, items, cache)


def digest(files, content):
    return hashlib.sha256("\n".join(f"{f} {content(f)}" for f in files).encode()).hexdigest()


# --- command line --------------------------------------------------------------------------------------------------
def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("guard", choices=["includes", "link", "purity", "headers"])
    parser.add_argument(
        "--root", default=os.path.dirname(os.path.dirname(os.path.abspath(__file__))), help="the repository"
    )
    parser.add_argument("--build", default=None, help="the build folder; <root>/build/dev by default")
    parser.add_argument("--compiler", default="c++", help="compiler with its sanitizer flags, for `link`")
    options = parser.parse_args(arguments)
    root = os.path.abspath(options.root)
    build = os.path.abspath(options.build or os.path.join(root, "build", "dev"))
    if options.guard == "includes":
        findings = check_includes(root, build)
    elif options.guard == "link":
        findings = check_link(root, build, options.compiler)
    elif options.guard == "purity":
        findings = check_purity(build)
    else:
        findings = check_headers(root, build)
    for finding in findings:
        print(finding)
    print(f"check_arch {options.guard}: " + (f"{len(findings)} finding(s)" if findings else "fine"))
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
