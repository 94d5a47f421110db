# SPDX-License-Identifier: MIT
"""Provider definitions that are refused: dtrace -h and -G say where, why, and what to write instead.

definitions.err has the definitions and what is said of them. BLESS=1 in the environment writes it anew; read the diff.
"""
import os, subprocess, sys

DTRACE, TMP, SRC = (os.environ[n] for n in ("DTRACE", "TMP", "SRC"))
PAGE = os.path.join(SRC, "tests/e2e/usdt/definitions.err")
TAKEN = "(taken)\n"

# Types of the kernel's that older kernels do not have: there they are only said to be unknown.
NEWER = ("uint128_t",)


def said(text, mode):
    with open("def.d", "w") as f:
        f.write(text)
    p = subprocess.run([DTRACE, mode, "-s", "def.d", "-o", "out"], capture_output=True, text=True, timeout=60)
    if p.returncode == 0:
        return TAKEN
    if p.returncode != 1 or p.stdout or os.path.exists("out"):
        return f"(status {p.returncode}, output {p.stdout!r}, file {os.path.exists('out')})\n"
    return p.stderr


def main():
    os.chdir(TMP)
    head, *parts = open(PAGE).read().split("======\n")
    new, failed = head, False
    for part in parts:
        text, want = part.split("------\n")
        got = said(text, "-h")
        if os.path.exists("out"):
            os.remove("out")
        if said(text, "-G") != got:
            failed = True
            print(f"-h and -G do not agree:\n{text}")
        if os.path.exists("out"):
            os.remove("out")
        if any(f"'{name}' is not a known type" in got for name in NEWER):
            got = want
        if got != want:
            failed = True
            print(f"{text}said:\n{got}wanted:\n{want}")
        elif got != TAKEN and ("  hint: " not in got or " --> def.d:" not in got):
            failed = True
            print(f"no place or no hint:\n{text}{got}")
        new += f"======\n{text}------\n{got}"
    if os.environ.get("BLESS"):
        open(PAGE, "w").write(new)
    return failed


sys.exit(main())
