# SPDX-License-Identifier: MIT
"""What a process says of libjvm.so is believed of no other user's Java (liar.sh)."""
import os
import re
import subprocess
import sys
import time

JVM = sys.argv[1]
TMP, DTRACE = os.environ["TMP"], os.environ["DTRACE"]
NOBODY = "65534"
STACKS = 400
# The tables of libjvm.so: rows of three texts, a flag, an offset and an address. Where the bytes of a
# Symbol begin is said to be two bytes further on: each name lacks its first two letters.
LIAR = """
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

struct row {
	const char *type, *field, *text;
	int32_t is_static;
	uint64_t offset;
	void *address;
};

int main(int argc, char **argv)
{
	void *jvm = dlopen(argv[1], RTLD_NOW | RTLD_GLOBAL);
	struct row **rows = jvm ? dlsym(jvm, "gHotSpotVMStructs") : NULL;
	int n = 0;

	for (struct row *r = rows ? *rows : NULL; r && r->type; r++)
		if (strcmp(r->type, "Symbol") == 0 && strncmp(r->field, "_body", 5) == 0) {
			r->offset += 2;
			n++;
		}
	if (!n)
		return 1;
	for (;;) {
		syscall(SYS_getppid);
		usleep(10000);
	}
}
"""
VICTIM = """
import java.io.*;

public class Victim {
	static void inner(InputStream in) throws Exception {
		in.read(new byte[77]);
	}

	static void outer(InputStream in) throws Exception {
		for (int i = 0; i < %d; i++) {
			inner(in);
			Thread.sleep(2);
		}
	}

	public static void main(String[] args) throws Exception {
		try (InputStream in = new FileInputStream("/dev/zero")) {
			outer(in);
		}
	}
}
""" % STACKS
SCRIPT = """
syscall::getppid:entry /execname == "liar"/ { @[jstack(3)] = count(); }
syscall::read:entry /execname == "java" && arg2 == 77/ { printf("pid %d:", pid); jstack(12); }
"""


def build():
    with open(f"{TMP}/liar.c", "w") as f:
        f.write(LIAR)
    with open(f"{TMP}/Victim.java", "w") as f:
        f.write(VICTIM)
    subprocess.run(["cc", "-o", "liar", "liar.c"], cwd=TMP, check=True)
    subprocess.run(["javac", "Victim.java"], cwd=TMP, check=True)
    os.chmod(TMP, 0o755)


def as_user(user):
    return ["setpriv", f"--reuid={user}", "--clear-groups"] if user != "0" else []


def victim(user):
    # the interpreter alone: what a stack looks like does not depend on when something was compiled
    p = subprocess.Popen(as_user(user) + ["java", "-Xint", "-Xshare:auto", "-cp", TMP, "Victim"])
    if p.wait() != 0:
        sys.exit("Victim has failed")
    return p.pid


def wait_for(path, text):
    for _ in range(6000):
        with open(path, errors="replace") as f:
            if text in f.read():
                return
        time.sleep(0.02)
    sys.exit(f"{path} does not have '{text}'")


build()
env = dict(os.environ, DTRACE_DEBUG="1")
with open(f"{TMP}/out", "w") as out, open(f"{TMP}/err", "w") as err:
    tracer = subprocess.Popen([DTRACE, "-q", "-x", "bufsize=8m", "-n", SCRIPT, "-n", 'BEGIN { printf("begins\\n"); }'],
                              stdout=out, stderr=err, env=env)
liar = None
try:
    wait_for(f"{TMP}/out", "begins")
    liar = subprocess.Popen(as_user(NOBODY) + [f"{TMP}/liar", JVM])
    wait_for(f"{TMP}/err", f"ustack helpers of process {liar.pid}: '")
    time.sleep(0.2)  # what it says is learned by then; otherwise nothing false is there to be believed
    pids = {"another user's": victim("0"), "the same user's": victim(NOBODY), "the same user's, later": victim(NOBODY)}
finally:
    if liar:
        liar.kill()
        liar.wait()
    tracer.send_signal(2)
    tracer.wait()

stacks = {}
with open(f"{TMP}/out") as f:
    for part in f.read().split("pid ")[1:]:
        pid, text = part.split(":", 1)
        stacks.setdefault(int(pid), []).append(text)
bad = 0
for who, pid in pids.items():
    mine = stacks.get(pid, [])
    right = [bool(re.search(r"\n *Victim\.inner\(Victim\.java:6\)\n *Victim\.outer\(Victim\.java:11\)\n", s)) for s in mine]
    wrong = [" ctim.ner(ctim.java" in s for s in mine]
    print(f"# {who}: {len(mine)} stacks, {sum(right)} right, {sum(wrong)} with wrong names")
    if len(mine) != STACKS or not all(right[STACKS // 2:]):
        print(f"{who}: the later stacks lack frames:\n{[s for s, r in zip(mine, right) if not r][-1:]}")
        bad = 1
    if any(wrong) and who != "the same user's":
        print(f"{who}: names are wrong:\n{[s for s, w in zip(mine, wrong) if w][0]}")
        bad = 1
sys.exit(bad)
