#!/usr/bin/env python3
"""SQS byte by byte over a socket: what no SDK sends or shows. FANFARE_ENDPOINT is the broker's URL. wire_kit.py says how
a row is read. `wire_cases.py PART_OF_A_NAME` runs some.
"""

import sys

import wire_kit
import wire_json_cases  # noqa: F401  (importing a file registers its cases)
import wire_query_cases  # noqa: F401
import wire_http_cases  # noqa: F401

if __name__ == "__main__":
    sys.exit(wire_kit.main(sys.argv[1:]))
