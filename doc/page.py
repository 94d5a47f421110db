#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes a manual page of a page of the guide: guide/variables.md becomes dtrace-variables(7), by lowdown(1).

usage: page.py LOWDOWN PAGE.md OUTPUT NAME
"""
import re
import subprocess
import sys


def link(match):
    """Other pages of the guide are manual pages, too; a reader of manual pages has no use for other paths."""
    text, target = match.groups()
    page = re.match(r"(?:guide/)?([\w-]+)\.md(?:#.*)?$", target)
    return f"{text} (**dtrace-{page[1]}**(7))" if page else text


def main():
    lowdown, source, output, name = sys.argv[1:]
    with open(source, encoding="utf-8") as f:
        title, text = f.read().split("\n", 1)
    parts = re.split(r"(^```.*?^```\n)", text, flags=re.M | re.S)  # code stays as it is
    for i in range(0, len(parts), 2):
        parts[i] = re.sub(r"\[([^\]\n]+)\]\(([^)\n]+)\)", link, parts[i])
        parts[i] = re.sub(r"^## ", "# ", parts[i], flags=re.M)
    for i in range(1, len(parts), 2):
        parts[i] = re.sub(r"^```.*", "```", parts[i], count=1)  # what a test does with it
    title = title.removeprefix("# ")
    text = f"# NAME\n\n{name} - {title}\n\n# DESCRIPTION\n{''.join(parts)}\n# SEE ALSO\n\n**dtrace**(8)\n"
    page = subprocess.run([lowdown, "-s", "-Tman", "--parse-no-intraemph", f"-Mtitle={name}", "-Msection=7", "-Msource=Fathom", "-Mvolume=DTrace"],
                          input=text, capture_output=True, text=True, check=True).stdout
    page = page.replace("\\[u2026]", "...")  # lowdown's, which is not there in the locale C
    with open(output, "w", encoding="utf-8") as f:
        f.write(page)


main()
