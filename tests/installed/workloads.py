# SPDX-License-Identifier: MIT
"""The workloads of tests/e2e/cmd/examples.py and commands.py, which know what each example and command prints about them; and the programs that these call."""
import functools, os, subprocess, sys, threading

from suite import DTRACE, ENV, PATIENCE, SHARED, Failed, need

TRIGGER = "/tmp/trigger"
FLAGS = {"chain": ["-O2", "-fno-omit-frame-pointer", "-fno-optimize-sibling-calls"], "locks": ["-O2", "-pthread"], "work": ["-O2", "-pthread"]}
lock = threading.Lock()

os.makedirs("/tmp/tree", exist_ok=True)
os.makedirs("/tmp/runs", exist_ok=True)
# these modules take from the environment what run.py gives to end-to-end tests
os.environ.update(DTRACE=DTRACE, TRIGGER=TRIGGER, TMP="/tmp/runs", PATIENCE=str(PATIENCE), LC_ALL="C", TZ="UTC")
sys.path.insert(0, SHARED)
import examples  # noqa: E402
import commands  # noqa: E402


@functools.cache
def compiled():
    cc = need("cc", "gcc")
    os.makedirs(TRIGGER)
    for name in ("calls", "work", "chain", "locks", "met"):
        p = subprocess.run([cc, "-D_GNU_SOURCE", "-std=gnu17", *FLAGS.get(name, ["-O2"]), "-o", f"{TRIGGER}/{name}", f"{SHARED}/{name}.c"], env=ENV, capture_output=True, text=True)
        if p.returncode:
            raise Failed(f"{name}.c is not compiled:\n{p.stderr}")
    return TRIGGER


def trigger():
    """The folder of the compiled programs; two tests may ask at once."""
    with lock:
        return compiled()


def shell(tmp, text):
    """A script of sh that does the workload, with the folder tmp for its files."""
    examples.write_work(f"{tmp}/w", tmp, text)
    return f"sh {tmp}/w"
