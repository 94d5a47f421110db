# Clauses of one declared probe that do the same at several system calls are one clause, and so are guards that only note something; no
# clause sees a difference: the same providers, made at random, fire alike when each source has a variable of its own, so that all differ.
fail() { echo "$1"; tail -n 20 "$TMP/out" "$TMP/err"; exit 1; }
cd "$TMP" || exit 1
[ "$(uname -m)" = x86_64 ] || { echo "it makes system calls by their numbers on x86-64"; exit 67; }
lib=${DTRACE_OPT_SYSLIBDIR:-/usr/lib/dtrace}
cat >make.py <<'END'
import random, sys
rng, differ = random.Random(int(sys.argv[1])), sys.argv[2] == "differ"
calls = ["getuid", "getgid", "geteuid", "getegid", "getppid", "getpgrp"]
notes = ["self->__y = (int)arg0 & 7", "this->__x = (int)arg1 & 7, self->__y = (int)(arg0 & 7) + this->__x", "self->__y = self->__y + 1"]
tests = ["self->__y > 2", "self->__y & 1", "(this->__x = self->__y * 2, this->__x != 6)"]
print("this int __x, __u;\nself int __y;\nprovider made {")
k = 0
for i in range(8):
	sources, note, test = [], rng.choice(notes), rng.choice(tests)
	for at, guards, guard in ("entry", notes, note), ("return", tests, test), ("entry", tests, test):
		for call in rng.sample(calls, rng.randrange(4)):
			g, k = guard if rng.randrange(5) else rng.choice(guards), k + 1
			own = f"(this->__u = {k}, {int(guards is tests)})" if differ else str(int(guards is tests))
			g = f"{g}, {own}" if guards is notes else f"({g}) && {own}"
			sources.append(f"syscall::{call}:{at} /{g}/ ({rng.choice(['self->__y', 'self->__y', '7'])})")
	if sources:
		print(f"probe p{i}(int n) = {', '.join(sources)};")
print("};")
END
cat >call.py <<'END'
import ctypes, random
rng, call = random.Random(7), ctypes.CDLL(None).syscall
for i in range(60): call(rng.choice([102, 104, 107, 108, 110, 111]), rng.randrange(8), rng.randrange(8))
END
cat >clauses.d <<'END'
#pragma D option quiet
made::: /pid == $target/ { this->n++; printf("%s %d %d\n", probename, args[0], this->n); @[probename] = sum(args[0]); }
made:::p[1-9] /pid == $target && args[0] & 1/ { this->n += 10; this->m = args[0]; printf("%s odd %d\n", probename, this->n); }
made:::p3, made:::p4, made:::p5 /pid == $target && this->n > 10/ { printf("%s %d %d\n", probename, this->n, this->m); }
syscall::getuid:entry /pid == $target/ { printf("%s %d\n", probefunc, arg0 & 7); }
END
cp -r "$lib" mine || exit 1
lines=0
for seed in 1 2 3 4 5 6 7 8; do
	for how in differ alike; do
		/usr/bin/python3 make.py "$seed" "$how" >made.d
		cat made.d clauses.d >script.d
		$DTRACE -qs script.d -c "/usr/bin/python3 $TMP/call.py" >"$how" 2>err || fail "provider $seed fails in a script"
		cp made.d mine/
		$DTRACE -xsyslibdir="$TMP/mine" -qs clauses.d -c "/usr/bin/python3 $TMP/call.py" >out 2>err || fail "provider $seed fails in the library"
		cmp "$how" out || { diff "$how" out | head -n 10; fail "provider $seed fires differently in the library"; }
	done
	lines=$((lines + $(wc -l <alike)))
	cmp differ alike || { diff differ alike | head -n 10; fail "provider $seed fires differently"; }
done
[ "$lines" -gt 2000 ] || fail "the providers fire too seldom: $lines"
# clauses of a program are functions, if there are several
functions() { $DTRACE "$@" -xdump=bpf -qn 'made::: { @[probename] = count(); } BEGIN { exit(0); }' 2>&1 | grep -c '^clause [0-9]*:$'; }
cat >mine/made.d <<'END'
self int __y;
provider made {
	probe p0(int n) = syscall::getuid:entry /self->__y = 1, 0/ (0), syscall::getgid:entry /self->__y = 1, 0/ (0), syscall::getpgid:entry /self->__y = 2, 0/ (0),
		syscall::getuid:return /self->__y == 2/ (0), syscall::getgid:return /self->__y == 2/ (0), syscall::getppid:return /self->__y == 2/ (0),
		syscall::getpgid:return /self->__y == 3/ (0);
	probe p1(int n) = syscall::getppid:entry /self->__y = 1, 0/ (0), syscall::getpgrp:entry /self->__y = 3, 0/ (0), syscall::getpgrp:return (0);
};
END
n=$(functions -xsyslibdir="$TMP/mine")
[ "$n" = 6 ] || fail "entries and returns are $n clauses, and not three each"
exit 0
