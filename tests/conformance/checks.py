"""What the scripts count: checks that go on after one has failed, and the last line that the runner reads."""

passed, failures = 0, []


def check(name, condition, shown=""):
    global passed
    if condition:
        passed += 1
    else:
        failures.append(name)
        print(f"FAILED {name}: {str(shown)[:900]}")


def equal(name, got, wanted):
    check(name, got == wanted, f"got {got!r}, wanted {wanted!r}")


def finish():
    """Prints the counts and leaves: 0 only if nothing failed."""
    print(f"{passed} passed, {len(failures)} failed")
    raise SystemExit(1 if failures else 0)
