# SPDX-License-Identifier: MIT
"""The debugger: a process that it holds has the frames of its language in its stack, and goes on."""
import json, shutil, subprocess

from suite import DATA, Failed, expect, folder, limit, need, run, test

MDB = "/usr/bin/mdb"


def held(args, check):
    """Calls check with the output of mdb over a Python program, which then has to end."""
    with folder() as tmp:
        shutil.copy(f"{DATA}/known.py", tmp)
        program = subprocess.Popen([need("python3", "python3"), "known.py"], cwd=tmp)
        try:
            for _ in range(20):  # the program is in its loop, or at its start
                check(run([MDB, "-p", str(program.pid), *args])[1])
            with open(f"{tmp}/seen", "w", encoding="utf-8"):
                pass
            if program.wait(limit()):
                raise Failed(f"the program ended with {program.returncode}")
        finally:
            if program.poll() is None:
                program.kill()
                program.wait()


@test("mdb/frames of a language")
def frames():
    shown = []
    held(["-e", "::status; ::stack"], shown.append)
    expect(shown[-1], r"^debugging process python3", r"`_start\+")
    expect("".join(shown), r"^  \[ \S*known\.py:\d+ \(<module>\) \]")


@test("mdb/JSON")
def documents():
    shown = []
    held(["-o", "json", "-e", "::threads; ::args; ::nm"], shown.append)
    documents = [json.loads(line) for line in shown[-1].splitlines()]
    if [d["command"] for d in documents] != ["threads", "args", "nm"] or not all(d["rows"] for d in documents):
        raise Failed(shown[-1][:2000])


@test("mdb/what it cannot open")
def refused():
    status, out, err = run([MDB, "-e", "::status", "/etc/passwd"], check=False)
    if status != 1 or out or err.count("\n") != 1:
        raise Failed(f"status {status}\n{out}{err}")


@test("mdb/values of a language")
def values():
    shown = []
    held(["-e", "::pystack -v; ::findpyobjects"], shown.append)
    expect(shown[-1], r"^py:     \S", r"^ +OBJECT +#OBJECTS +BYTES CLASS", r"^ +[0-9a-f]+ +\d+ +\d+ dict:")
