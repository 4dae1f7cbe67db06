#!/usr/bin/env python3
"""All SQS cases over the protocol that the installed botocore speaks. `main.py -v purge` runs those named so, and says more."""

import sys

import kit
import queue_cases  # noqa: F401  (importing a file registers its cases)
import attribute_cases  # noqa: F401
import message_cases  # noqa: F401
import receive_cases  # noqa: F401
import batch_cases  # noqa: F401
import time_cases  # noqa: F401
import dead_letter_cases  # noqa: F401
import fifo_cases  # noqa: F401
import permission_cases  # noqa: F401
import account_cases  # noqa: F401
import chaos_cases  # noqa: F401

if kit.JSON:  # Debian's botocore is older than message move tasks
    import move_cases  # noqa: F401

if __name__ == "__main__":
    sys.exit(kit.main(sys.argv[1:]))
