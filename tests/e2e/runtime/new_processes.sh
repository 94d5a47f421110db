# Probes that the library makes of functions, in programs that begin while a pattern is traced; hotspot from the JVM's beginning under -c.
tracer=
fail() { echo "$1"; [ -z "$tracer" ] || kill $tracer; cat "$TMP/out" "$TMP/err" 2>/dev/null; exit 1; }
cd "$TMP" || exit 1
[ -x /usr/bin/perl ] && /usr/bin/perl -MConfig -e 'exit !($Config{useithreads} && $] >= 5.036)' || { echo "no /usr/bin/perl with threads from 5.36 on (package perl)"; exit 67; }
cat >t.pl <<'END'
sub first { 1 } sub then_second { 2 } sub is_there { 3 }
for (1 .. 6000) { last if -e "entered.$$" && -e "returned.$$"; is_there(); select(undef, undef, undef, 0.02); } # until the tracer has found it
first() for 1 .. 3; then_second();
END
"$DTRACE" -qwZ -n "BEGIN { system(\"touch began\"); }
	perl*:::sub-entry /copyinstr(arg0) == \"is_there\" && !entered[pid]/ { entered[pid] = 1; system(\"touch entered.%d\", pid); }
	perl*:::sub-return /copyinstr(arg0) == \"is_there\" && !returned[pid]/ { returned[pid] = 1; system(\"touch returned.%d\", pid); }
	perl*:::sub-entry /stringof(copyinstr(arg0)) == \"first\" || copyinstr(arg0) == \"then_second\"/ { @[probeprov, copyinstr(arg0)] = count(); }
	perl*:::sub-return /copyinstr(arg0) == \"first\"/ { @[probeprov, \"return\"] = count(); }
	END { printa(\"%s %s %@d\\n\", @); }" >out 2>err & tracer=$!
for i in $(seq 200); do [ -f began ] && break; sleep 0.05; done
/usr/bin/perl t.pl & one=$!
/usr/bin/perl t.pl & two=$!
wait $one $two
sleep 0.2
kill -TERM $tracer
wait $tracer || fail "the script failed"
for p in $one $two; do echo "perl$p first 3"; echo "perl$p then_second 1"; echo "perl$p return 3"; done | sort >want
grep -E "^perl($one|$two) " out | sort | diff want - || fail "programs that began later"

command -v javac >/dev/null && java -version 2>&1 | grep -q 'version "17' || exit 0
cat >Fib.java <<'END'
public class Fib {
  static int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
  public static void main(String[] a) { fib(5); }
}
END
javac -d . Fib.java || fail "javac"
"$DTRACE" -qZn 'hotspot$target:::method-entry /stringof(copyin(arg1, arg2)) == "Fib"/ { @[stringof(copyin(arg3, arg4))] = count(); }
	hotspot$target:::vm-init-begin, hotspot$target:::vm-init-end, hotspot$target:::vm-shutdown { printf("%s\n", probename); }
	END { printa("%s %@d\n", @); }' -c 'java -Xint -XX:+DTraceMethodProbes -cp . Fib' >out 2>err || fail "java"
cat >want <<'END'
vm-init-begin
vm-init-end
vm-shutdown
main 1
fib 15
END
grep . out | diff want - || fail "the JVM from its beginning"
exit 0
