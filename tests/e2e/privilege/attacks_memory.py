# SPDX-License-Identifier: MIT
"""
bob's process has a secret at a known address. alice reads whatever has the CPU: clauses of tick, of ERROR, and on probes that she makes of these,
by each way to memory of the process, also those that no function names. The same reads work in her own process, and with proc_owner.
"""
from world import *

enter()
if not shutil.which("cc"):
    skip("there is no cc")
MARK = "bobs-secret-text"
PROGRAM = f"""
#include <string.h>
#include <unistd.h>

volatile char text[32];
struct holder {{ int number; char name[16]; }} volatile held = {{ 7, "{MARK[:15]}" }};

int main(void)
{{
	strcpy((char *)text, "{MARK}");
	(void)!write(1, "on\\n", 3);
	for (;;)
		(void)text[0];
}}
"""
TYPES = "struct holder { int number; char name[16]; }; "


def build():
    with open(f"{TMP}/spin.c", "w") as f:
        f.write(PROGRAM)
    subprocess.run(["cc", "-O1", "-no-pie", "-o", f"{HOME}/spin", f"{TMP}/spin.c"], check=True)
    names = subprocess.run(["nm", f"{HOME}/spin"], check=True, capture_output=True, text=True).stdout
    return {line.split()[2]: "0x" + line.split()[0] for line in names.splitlines() if len(line.split()) == 3}


at = build()
T, H = at["text"], at["held"]
READS = {  # what is shown of it
    f"trace(*(userland uint32_t *){T});": str(int.from_bytes(MARK[:4].encode(), "little")),
    f"trace(((userland char *){T})[1]);": str(ord("o")),
    f"trace(stringof((userland char *){T}));": MARK,
    f"trace((string)(userland char *){T});": MARK,
    f"trace(strlen(stringof((userland char *){T})));": str(len(MARK)),
    f'trace(strjoin("<", (string)(userland char *){T}));': f"<{MARK}",
    f"@[stringof((userland char *){T})] = count();": MARK,
    f"trace(((userland struct holder *){H})->number);": "7",
    f"trace(stringof(((userland struct holder *){H})->name));": MARK[:15],
    f"print(*(userland struct holder *){H});": MARK[:15],
    f"x = *(userland char *){T}; trace(x);": str(ord("b")),
    f"if (*(userland char *){T} == 'b') {{ trace(\"guessed\"); }}": "guessed",
    f"trace(copyinstr({T}));": MARK,
    f"trace(*(uint32_t *)copyin({T}, 4));": str(int.from_bytes(MARK[:4].encode(), "little")),
    f"this->b = (char *)alloca(17); copyinto({T}, 16, this->b); trace(stringof(this->b));": MARK,
    f"trace(copyinint({T}, 0));": str(int.from_bytes(MARK[:4].encode(), "little")),
    f"tracemem(copyin({T}, 8), 8);": "62 6f 62 73",
}

def spin(uid):
    p = subprocess.Popen([f"{HOME}/spin"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, env=ENV, **user(uid))
    p.stdout.readline()
    return p


def attack(uid, probe, read, before="", is_allowed=False):
    """Runs the read wherever the probe fires, until it has not faulted or a second is over; what it shows."""
    ends = f"{probe} {{ {read} exit(0); }} tick-1hz /++seconds > {SECONDS // 2 if is_allowed else 2}/ {{ exit(0); }}"
    return dtrace(uid, "-qn", TYPES + before + ends)


levels(f"user {ALICE}: dtrace_user\nuser {CAROL}: dtrace_user, proc_owner\n")
bob = spin(BOB)
try:
    for read, shown in READS.items():
        for probe, before in (("tick-997hz", ""), ("foo:::bar", "provider foo { probe bar() = profile:::tick-997hz; }; "), ("ERROR", "tick-997hz { trace(*(int *)alloca(4) / zero); } ")):
            r = attack(ALICE, probe, read, before)
            check(r.returncode == 1 and "needs proc_owner" in r.stderr and not r.stdout.strip(), f"alice reads at {probe}: {read}", r)
        r = attack(ALICE, "BEGIN", read)
        check(r.returncode == 1 and "in a clause of BEGIN or END needs proc_owner" in r.stderr, f"alice reads the command: {read}", r)
    for text in (f"tick-997hz / *(userland char *){T} == 'b'/ {{ trace(\"guessed\"); }}", f"provider foo {{ probe bar() = profile:::tick-997hz / *(userland char *){T} == 'b'/; }}; foo:::bar {{ trace(\"guessed\"); }}",
                 f"provider foo {{ probe bar(int c) = profile:::tick-997hz (*(userland char *){T}); }}; foo:::bar {{ trace(args[0]); }}"):
        r = dtrace(ALICE, "-qn", text)
        check(r.returncode == 1 and "needs proc_owner" in r.stderr, f"alice guesses: {text}", r)
    # elsewhere the clause fires in her own processes only
    r = attack(ALICE, "profile-997", f"trace(stringof((userland char *){T}));")
    check(MARK not in r.stdout, "profile fires in bob's process", r)
    # who may read it does: the reads above are right
    for read, shown in READS.items():
        r = attack(CAROL, f"profile-997 /pid == {bob.pid}/", read, is_allowed=True)
        check(r.returncode == 0 and shown in r.stdout, f"with proc_owner: {read}", r)
finally:
    bob.kill()
    bob.wait()
own = spin(ALICE)
try:
    for read, shown in READS.items():
        r = attack(ALICE, "profile-997", read, is_allowed=True)
        check(r.returncode == 0 and shown in r.stdout, f"in alice's own process: {read}", r)
finally:
    own.kill()
    own.wait()
done()
