# A clause with several descriptions is executed as one where a firing does the same: what it says is what a clause for each
# description says, with its EPID, in the order of the text. Each script is run as it is, and written out as clauses of one
# description, which are not joined.
cd "$TMP" || exit 1
cat >program.c <<'END'
#include <sys/syscall.h>
#include <unistd.h>
int main(void)
{
	for (int i = 0; i < 3; i++) {
		syscall(SYS_getppid, 1, i);
		syscall(SYS_getuid, 2, i);
		syscall(SYS_getegid, 3, i);
		syscall(SYS_geteuid, 4, i);
	}
	return 0;
}
END
gcc -O1 program.c -o program || exit 1
cat >both.py <<'END'
import os, re, subprocess, sys

A, B, C, D = (f"syscall::{call}:entry" for call in ("getppid", "getuid", "getegid", "geteuid"))
SAY = 'printf("%d %s %d\\n", epid, probefunc, arg0)'
LISTS = {  # each: clauses of descriptions, predicate and body
    "one list": [([A, B, C, D], "1", SAY)],
    "of two kinds of probes": [([A, "BEGIN", B, "END", C], "1", SAY)],
    "the default action": [([A, B], "1", "")],
    "one probe twice": [([A, B, A], "1", SAY)],
    "another clause between": [([A, B], "1", f"this->n = 1; {SAY}"), ([B, A], "1", f"this->n++; {SAY}; trace(this->n)"), ([C, A], "1", f"{SAY}; trace(this->n)")],
    "lists that cross": [([A, B], "1", SAY), ([B, C], "1", SAY), ([C, A], "1", SAY)],
    "globs": [(["syscall::gete*id:entry", A, "syscall::getuid:entry"], "1", SAY)],
    "globs with a probe in common": [(["syscall::get*uid:entry", "syscall::gete*id:entry"], "1", SAY)],
    "descriptions upside down": [([D, C, B, A], "1", SAY)],
    "faults": [([A, B, C], 'probefunc != "getuid" && *(int *)arg0 == 0', SAY), ([B, A], "1", f"{SAY}; trace(*(int *)arg0)")],
    "the name of the probe": [([A, B, C], 'probefunc == "getuid" || probename == "return"', SAY)],
    "entries and returns": [([A, A.replace("entry", "return"), B, B.replace("entry", "return")], "1", 'printf("%d %s\\n", epid, probename)')],
    "aggregations": [([A, B, C], "1", "@[epid, probefunc] = sum(arg0)"), ([C, B], "arg1", "@b[epid] = lquantize(arg0, 0, 5, 1)")],
    "speculations": [([A, B], "1", "self->s = speculation(); speculate(self->s); " + SAY), ([B, A], "1", "speculate(self->s); " + SAY),
                     ([A, B], "arg1 == 2", "commit(self->s); self->s = 0"), ([A, B], "self->s", "discard(self->s); self->s = 0")],
    "probes that take turns": [(["syscall::*[a-h]:entry", "syscall::*[!a-h]:entry"], 'probefunc == "getppid" || probefunc == "getuid" || probefunc == "getegid"', SAY)],
    "a probe within a glob": [(["syscall::getg*id:entry", "syscall::gete*:entry", C, "syscall::getu*:entry", A], "1", SAY)],
    "many": [([A, B, C, D] * 40, "1", SAY)],
}


def program(lists, is_split):
    text = ""
    for descs, pred, body in lists:
        for desc in descs if is_split else [", ".join(descs)]:
            # dtrace's own probes have no process; a predicate that faults is not to do so in other processes
            text += f"{desc} / (pid == $target || probeprov == \"dtrace\") && ({pred}) / {{ {body} }}\n"
    return text


def run(*args):
    p = subprocess.run([os.environ["DTRACE"], "-xnspec=8", *args, "-c", "./program"], capture_output=True, text=True, timeout=120)
    if p.returncode:
        sys.exit(p.stderr)
    # without the CPU
    return re.sub(r"(?m)^ +\d+ +(?=\d+ +\S*:)", "", p.stdout) + "".join(sorted(l + "\n" for l in p.stderr.splitlines() if "error on" in l or " drops on " in l))


failed = False
for name, lists in LISTS.items():
    both = [run(*quiet, "-n", program(lists, is_split)) for quiet in [["-q"], []] for is_split in (False, True)]
    for a, b in (both[:2], both[2:]):
        if a != b or both[2].count("\n") < 3:
            failed = True
            print(f"{name}:\n{program(lists, False)}{a}written out:\n{b}")
    if name == "faults" and len(set(re.findall(r"probe ID (\d+)", both[0]))) != 4:
        failed = True
        print(f"faults: not those of 4 enablings:\n{both[0]}")
sys.exit(failed)
END
python3 both.py
