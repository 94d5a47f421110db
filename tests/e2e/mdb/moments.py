# SPDX-License-Identifier: MIT
"""Kills busy programs at random moments, and looks at their core files: their stack with values, all objects, and those whose contents are known."""
import os, random, re, sys, time

sys.path.insert(0, os.path.dirname(__file__))
import busy_programs
from core_files import kernel_writes_cores

MDB, TMP, PATIENCE = os.environ["BUILD"] + "/src/cmd/mdb/mdb", os.environ["TMP"], int(os.environ.get("PATIENCE", "1"))
CORES = int(os.environ.get("CORES", "70"))
r = random.Random(os.environ.get("SEED"))
failed = []


def values_count(text):
    """Objects of class Worker that were shown: how many are right, and those that are not."""
    good, ids, wrong = 0, set(), []
    for line in text.splitlines():
        if not line.startswith("{ "):
            continue
        m = re.fullmatch(r"""\{ ["']@?id["']: (\d+), ["']@?name["']: ["']worker-(\d+)["'], ["']@?twice["']: (\d+) \}""", line)
        if m and m[1] == m[2] and int(m[3]) == 2 * int(m[1]):
            good += 1
            ids.add(int(m[1]))
        else:
            wrong.append(line)
    return good, ids, wrong


os.chdir(TMP)
if not kernel_writes_cores():
    print("the kernel writes no core files here")
    sys.exit(67)
names = busy_programs.installed()
if not names:
    print("there is none of the interpreters")
    sys.exit(67)
for name in names:
    total = dict.fromkeys(("cores", "framed", "valued", "complete", "good", "wrong", "faults"), 0)
    slowest, largest, examples = 0.0, 0, []
    has_census = False
    at = "@" if name == "ruby" else ""  # what begins the name of a variable of an object
    for i in range(CORES):
        path = busy_programs.core_make(name, name, r.uniform(0, 0.6))
        stack = busy_programs.Look(MDB, ["-e", "::lstack -v -a", path], 60 * PATIENCE, 20, 2000)
        objects = busy_programs.Look(MDB, ["-e", f"::lobjects; ::lobjects -c Worker -p {at}id | ::lprint {at}id {at}name {at}twice", path], 60 * PATIENCE, 20, 2000)
        total["cores"] += 1
        slowest, largest = max(slowest, stack.seconds, objects.seconds), max(largest, stack.memory, objects.memory)
        for look, what in ((stack, "the stack"), (objects, "objects")):
            if look.wrong:
                failed.append(f"{name} {i}")
                print(f"{name}, core {i}, {what}: {look.wrong}\n{look.err[-3000:]}")
        total["framed"] += bool(re.search(r"^\w+: +\S*(?:leaf|middle|turn|<module>|Worker|__init__|main)", stack.out, re.M))
        if objects.err and "described" in objects.err:
            continue  # this language has no census
        has_census = True
        good, ids, wrong = values_count(objects.out)
        total["valued"] += good > 0
        total["complete"] += len(ids) == busy_programs.COUNT
        total["good"] += good
        total["wrong"] += len(wrong)
        total["faults"] += stack.out.count("is no value>") + stack.out.count("<cut: ")
        examples += wrong[:2] if len(examples) < 6 else []
        os.unlink(path)
    print(f"{name}: {total}, slowest {slowest:.1f} s, largest {largest} MB, for example {examples}", flush=True)
    if total["valued"] and total["wrong"] * 100 > total["good"]:
        failed.append(f"{name}: more than one of a hundred values is wrong")
    if has_census and total["valued"] * 10 < total["cores"] * 9:
        failed.append(f"{name}: more than one of ten core files has no objects")
for what in failed:
    print(what)
sys.exit(1 if failed else 0)
