"""Write the table of each example's README from its results.jsonl.

    python examples/tables.py           # all examples
    python examples/tables.py --check   # exit code 1 if a table differs from its file

Each line of results.jsonl is a row: a JSON object that maps columns to values. The table is
written below the comment `<!-- table of results.jsonl -->`.
"""

import argparse
import json
import sys
from pathlib import Path

EXAMPLES = Path(__file__).parent
COMMENT = "<!-- table of results.jsonl -->\n"
NUMBER = set("0123456789.,")


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--check", action="store_true", help="compare only, write nothing")
    check = parser.parse_args(arguments).check
    different = []
    for results in sorted(EXAMPLES.glob("*/results.jsonl")):
        page = results.with_name("README.md")
        before = page.read_text(encoding="utf-8")
        after = replaced(before, table(results.read_text(encoding="utf-8").splitlines()))
        if before != after:
            different.append(page.parent.name)
            if not check:
                page.write_text(after, encoding="utf-8")
    print(*different or ["all tables match their files"], sep="\n")
    return bool(check and different)


def table(lines):
    """Return the lines of a Markdown table; numbers keep the format that they have in the file.

    Columns of numbers are right-aligned. The columns `command` and `file` are formatted as code.
    """
    rows = [json.loads(line, parse_float=str, parse_int=str) for line in lines]
    columns = [*dict.fromkeys(column for row in rows for column in row)]
    cells = [[text(column, row.get(column, "")) for column in columns] for row in rows]
    numbers = [
        all(NUMBER.issuperset(cell) for cell in column) for column in zip(*cells, strict=True)
    ]
    rule = ["--:" if number else "---" for number in numbers]
    return [f"| {' | '.join(row)} |" for row in (columns, rule, *cells)]


def text(column, value):
    return f"`{value}`" if column in ("command", "file") and value else str(value)


def replaced(page, lines):
    """Return the page with these lines as its table.

    Raises:
        ValueError: If the page does not contain the comment exactly once.
    """
    if page.count(COMMENT) != 1:
        raise ValueError(
            f"A page must have the line {COMMENT!r} exactly once. Received: {page[:80]!r}"
        )
    before, after = page.split(COMMENT)
    rest = after.lstrip("\n").split("\n")
    while rest and rest[0].startswith("|"):
        rest.pop(0)
    text = "\n".join(rest).lstrip("\n")
    return f"{before}{COMMENT}\n" + "\n".join([*lines, "", text])


if __name__ == "__main__":
    sys.exit(main())
