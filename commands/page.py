#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes the manual pages of the commands in this folder, from the comments at their beginnings.

usage: page.py COMMAND PAGE [COMMAND PAGE...]
"""
import os
import re
import sys

COMMON = {
    "[-p PID]": ("-p PID", "Only this process."),
    "[-n NAME]": ("-n NAME", "Only programs of this name."),
    "[-t]": ("-t", "The time in each line."),
    "[-j]": ("-j", "The same as --json."),
    "[SECONDS [COUNT]]": ("SECONDS, COUNT", "A report every so many seconds, and so many of them."),
    "{-p PID | COMMAND}": ("-p PID, COMMAND", "The process that is traced, or the command that is run and traced; it ends with it."),
}


def roff(text):
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("`", "\\(ga").replace("'", "\\(aq")
    return "\n".join("\\&" + line if line.startswith((".", "'")) else line for line in text.split("\n"))


def privileges(needs):
    if needs == "none":
        return ["It needs no level of privilege: a user may look at processes of the same user, and at files that can be read."]
    levels = roff(needs.replace(", ", " and "))
    whose = "processes of all users" if "proc_owner" in needs else "the user's own processes only, with proc_owner those of all"
    return ["It is a script in D, which says how it works. It needs root or, of who is not root, the level" + "s" * (", " in needs) + f" of privilege {levels}", "(see",
            f".BR fathom-privileges (5));", f"it then shows {whose}."]


def page(name, text):
    comment = re.search(r"/\*\n(.*?)\n \*/", text, re.S).group(1)
    lines = [line[3:] for line in comment.split("\n")]
    title = lines[0].split(" - ", 1)[1]
    usage = next(line for line in lines if line.startswith("usage: ")).removeprefix("usage: ")
    every = next((line.removeprefix("every: ") for line in lines if line.startswith("every: ")), None)
    top = next((line.removeprefix("top: ") for line in lines if line.startswith("top: ")), None)
    needs = next(line.removeprefix("needs: ") for line in lines if line.startswith("needs: "))
    runs = any(line.startswith("runs: ") for line in lines)
    members = [line.removeprefix("members").split(": ", 1) for line in lines if line.startswith("members")]
    body = "\n".join(line for line in lines[1:] if not line.startswith(("usage: ", "needs: ", "every: ", "top: ", "members", "runs: ", "sets -", "waits ", "where ")))
    body, example = body.split("\nexample: ", 1)
    options = re.findall(r"^(-\w(?: [A-Z]+)?) {2,}(.*)$", body, re.M)
    ends = not runs and not any(option.startswith("-d ") for option, _ in options)
    prose = re.sub(r"^-\w .*\n", "", body, flags=re.M).strip()
    options += [row for key, row in COMMON.items() if key in usage]
    if top:
        options.append(("-r N", f"At most N rows of a table, the greatest ones; {top} without this option, all with 0. The number of the others, and their sum, are told."))
    objects = "; ".join((f"with{flag} " if flag else "") + ", ".join(names.split()) for flag, names in members)
    if ends:
        options.append(("-d SECONDS", "Ends after so long; else with ^C."))
    options += [("--json", f"An object of JSON a line, without titles: {'' if runs else 'time, '}{objects}." + (" All rows, unless -r is given." if top else "")),
                ("-h, --help", "These options, in short.")]
    out = [f'.TH {name.upper()} 8 "2026" "Fathom" "System Administration"', ".SH NAME", f"{roff(name)} \\- {roff(title)}", ".SH SYNOPSIS",
           f".B {roff(name)}", roff(usage.removeprefix(name).strip() + " [-d SECONDS]" * ends + " [--json]"), ".SH DESCRIPTION",
           roff(prose).replace("\n\n", "\n.PP\n")]
    if every:
        out.append(f".PP\nWithout SECONDS there is a report every {'second' if every == '1' else every + ' seconds'}.")
    out.append(".SH OPTIONS")
    for option, what in options:
        out += [".TP", f".B {roff(option)}", roff(what[0].upper() + what[1:] + ("" if what.endswith(".") else "."))]
    command, *shown = example.split("\n")
    out += [".SH EXAMPLE", ".nf", f"# {roff(command)}", roff("\n".join(shown)), ".fi", ".SH NOTES",
            *privileges(needs), "Strings that are not in memory yet when they are read are errors, which are printed on standard error.", ".SH SEE ALSO",
            ".BR dtrace (8)"]
    return "\n".join(out) + "\n"


def main():
    for source, target in zip(sys.argv[1::2], sys.argv[2::2], strict=True):
        with open(source, encoding="utf-8") as f:
            text = page(os.path.basename(source), f.read())
        with open(target, "w", encoding="utf-8") as f:
            f.write(text)


main()
