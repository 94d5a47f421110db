# SPDX-License-Identifier: MIT
"""What mdb shows of the values of a program, for the tests values_*.py: asks it, and notes what is not as it should be."""
import json, os, random, re, subprocess

MDB, TMP = os.environ["BUILD"] + "/src/cmd/mdb/mdb", os.environ["TMP"]
failed = []
version = ""  # of the runtime that is tested, where a test has several


def check(is_good, what, shown=""):
    if not is_good:
        failed.append(what)
        print(f"{version}{': ' * bool(version)}{what}:\n{shown}")


def run(target, commands, *options, status=0):
    r = subprocess.run([MDB, *options, "-e", commands, *target], capture_output=True, timeout=300)
    out, err = r.stdout.decode(errors="replace"), r.stderr.decode(errors="replace")
    check(r.returncode == status, f"status of {commands[:200]}: {r.returncode}", out[-4000:] + err)
    return out + err


def rows(target, commands):
    return [json.loads(line) for line in run(target, commands, "-o", "json").splitlines()]


def line_of(text):
    """A value in several lines, in one."""
    text = re.sub(r",?\n *", lambda m: ", " if m[0][0] == "," else "", text.strip())
    return re.sub(r", (?=[\])}])", "", text)


def damage_check(core, at, commands, every=256, align=1, begin=1 << 16):
    """What is wrong in a core file must neither end nor stop the debugger. A word in so many bytes is another one: a random one, one that refers to
    memory behind the address at, or 0."""
    with open(core, "rb") as f:
        data = f.read()
    chance = random.Random(7)
    for n in range(3):
        worse = bytearray(data)
        for _ in range(len(data) // every):
            k = chance.randrange(begin, len(data) - 8) & -align
            worse[k:k + 8] = [os.urandom(8), (at + chance.randrange(4096) * 16).to_bytes(8, "little"), bytes(8)][n]
        with open(f"{TMP}/worse", "wb") as f:
            f.write(worse)
        for command in commands:
            r = subprocess.run([MDB, "-e", command, f"{TMP}/worse"], capture_output=True, timeout=120)
            check(r.returncode in (0, 1), f"{command} of a damaged core file: {r.returncode}", r.stderr[-2000:])
    os.unlink(f"{TMP}/worse")
