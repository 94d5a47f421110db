# Guards that probes of the library begin with alike are executed once for all of them, and no clause sees a difference: the same
# providers, made at random, fire alike as part of the library and as part of a script, where each clause has its whole guard.
fail() { echo "$1"; tail -n 20 "$TMP/out" "$TMP/err"; exit 1; }
cd "$TMP" || exit 1
[ "$(uname -m)" = x86_64 ] || { echo "it reads registers of x86-64"; exit 67; }
lib=${DTRACE_OPT_SYSLIBDIR:-/usr/lib/dtrace}
cat >make.py <<'END'
import random, sys
rng = random.Random(int(sys.argv[1]))
k = lambda: rng.randrange(8)
# parts of guards, and which variables they read: one may be read where something before may have written it
parts = [
	("", lambda: f"args[0]->di != {k()}"),
	("", lambda: f"(this->__a = args[0]->di, this->__a > {k() // 3})"),
	("", lambda: f"(this->__b = args[0]->si & 7, this->__b != {k()})"),
	("", lambda: "(this->__d = args[0]->dx, 1)"),
	("", lambda: f"(args[0]->si > {k()} || (this->__c = args[0]->dx, this->__c > {k() // 2}))"),
	("a", lambda: f"(args[0]->di > {k()} || this->__a == {k() // 4})"),
	("ab", lambda: f"(this->__a > 2 ? this->__b < {k()} : this->__a != {k()})"),
	("d", lambda: f"!(this->__d == {k()})"),
	("a", lambda: f"(args[0]->si == {k()} && (this->__c = args[0]->dx, this->__c > {k()}) || this->__a != {k()})"),
	("a", lambda: f"(this->__c = args[0]->dx * 3 + this->__a, this->__c & {k() + 1})"),
]
written = lambda guard: [v for v in "abcd" if any(f"__{v} =" in part for part in guard)]
print("this uint64_t __a, __c;\nthis int __b;\nthis uint16_t __d;\nprovider made {")
guard = []
for i in range(14):
	guard = guard[:rng.randrange(len(guard) + 1) if rng.randrange(3) else len(guard)]
	for _ in range(rng.randrange(3)):
		guard.append(rng.choice([make for reads, make in parts if set(reads) <= set(written(guard))])())
	show = " + ".join(f"this->__{v} * {100 ** n}" for n, v in enumerate(written(guard))) or "1"
	if "a" in written(guard) and not rng.randrange(3): # an argument that changes what the guard has left
		show = f"(this->__a = 3, {show})"
	print(f"probe p{i}(uint64_t n) = rawtp:::sys_enter /{' && '.join(['args[1] == 110'] + guard)}/ ({show});")
print("};")
END
cat >call.py <<'END'
import ctypes, random
rng, call = random.Random(7), ctypes.CDLL(None).syscall
for i in range(40): call(110, rng.randrange(8), rng.randrange(8), rng.randrange(8))
END
cat >clauses.d <<'END'
#pragma D option quiet
made::: /pid == $target/ { this->n++; printf("%s %d %d\n", probename, args[0], this->n); }
made:::p[1-9] /pid == $target && args[0] & 1/ { this->n += 10; this->m = args[0]; printf("%s odd %d\n", probename, this->n); }
made:::p3, made:::p4, made:::p5 /pid == $target && this->n > 10/ { printf("%s %d %d\n", probename, this->n, this->m); }
END
cp -r "$lib" mine || exit 1
for seed in 1 2 3 4 5 6; do
	/usr/bin/python3 make.py "$seed" >made.d
	cat made.d clauses.d >script.d
	$DTRACE -qs script.d -c "/usr/bin/python3 $TMP/call.py" >want 2>err || fail "provider $seed fails in a script"
	cp made.d mine/
	$DTRACE -xsyslibdir="$TMP/mine" -qs clauses.d -c "/usr/bin/python3 $TMP/call.py" >out 2>err || fail "provider $seed fails in the library"
	[ "$(wc -l <want)" -gt 60 ] || fail "provider $seed fires too seldom"
	cmp want out || { diff want out | head -n 10; fail "provider $seed fires differently in the library"; }
done
cat >mine/made.d <<'END'
provider made {
	probe p0(int n) = rawtp:::sys_enter /args[0]->di == 4711 && args[0]->si == 1/ (1);
	probe p1(int n) = rawtp:::sys_enter /args[0]->di == 4711 && args[0]->si == 2/ (1);
	probe p2(int n) = rawtp:::sys_enter /args[0]->di == 4711 && args[0]->si > 2/ (1);
	probe p3(int n) = rawtp:::sys_enter /args[0]->di == 4711 && args[0]->si > 2 && args[0]->dx > 2/ (1);
};
END
$DTRACE -xsyslibdir="$TMP/mine" -xdump=bpf -qn 'made::: { @[probename] = count(); } BEGIN { exit(0); }' >out 2>&1 || fail "it is refused"
[ "$(grep -c '+= 112$' out)" = 1 ] || fail "di, at offset 112 of the registers, is not read once for all probes"
[ "$(grep -c '+= 104$' out)" = 3 ] || fail "si, at offset 104, is not read once for the two last probes"
exit 0
