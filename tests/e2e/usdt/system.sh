# A pattern means all processes: one probe and one link a file, with the name of the process that fires; nothing fires twice.
fail() { echo "$1"; cat "$TMP/out" "$TMP/err" 2>/dev/null; exit 1; }
cd "$TMP" || exit 1
# Names that no other process on this machine has.
prov=sys$$x
cat >probes.d <<END
provider $prov { probe order__start(int, string); probe never(); };
END
"$DTRACE" -h -s probes.d -o probes.h || fail "-h"
up=$(echo $prov | tr a-z A-Z)
cat >app.c <<END
#include "probes.h"
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
/* Fires for each line that it reads as often as the line says; tells then whether it is traced. */
int main(int argc, char **argv)
{
	char line[100];

	setvbuf(stdout, NULL, _IOLBF, 0);
	puts("ready");
	while (fgets(line, sizeof(line), stdin)) {
		for (int i = 0; i < atoi(line); i++)
			${up}_ORDER_START(i, argv[1]);
		printf("traced %d\n", ${up}_NEVER_ENABLED() != 0);
		if (argc > 100)
			${up}_NEVER();
	}
	return 0;
}
END
gcc -O2 -c app.c && "$DTRACE" -G -s probes.d app.o && gcc app.o probes.o -o app || fail "building"
cp app twin # another file with the same probes
start() { # name program
	mkfifo $1.in
	./$2 $1 <$1.in >$1.out &
	eval "$1=$!"
}
start a app; start b app; start c app; start d twin
exec 4>a.in 5>b.in 6>c.in 7>d.in
for p in a b c d; do until grep -q ready $p.out; do sleep 0.01; done; done
cat >fire <<'END'
for fd in 4 5 6 7; do eval "echo $1 >&$fd"; done
END
# As an action of BEGIN: all four fire so often, and the tracer is told to end when they have done so.
cat >fire_and_end <<'END'
before=$(cat ?.out | grep -c traced)
sh ./fire "$1"
until [ "$(cat ?.out | grep -c traced)" -ge $((before + 4)) ]; do sleep 0.01; done
kill -TERM "$2"
END
trace() { timeout $((60 * ${PATIENCE:-1})) "$DTRACE" -q "$@" >out 2>err; }
# Asks all four whether they are traced; prints how many say this.
asked() { # word
	before=$(cat ?.out | grep -c traced)
	sh ./fire 0
	until [ "$(cat ?.out | grep -c traced)" -ge $((before + 4)) ]; do sleep 0.01; done
	for p in a b c d; do tail -n 1 $p.out; done | grep -c "$1"
}

# Listings show each process.
trace -ln "$prov*:::order-start" || fail "-l"
for p in $a $b $c $d; do grep -qE "$prov$p +(app|twin) +main order-start$" out || fail "process $p is not listed"; done
[ "$(grep -c order-start out)" = 4 ] || fail "-l: more than the four"
trace -ln "$prov$b:::" && [ "$(grep -c "$prov$b " out)" = 2 ] || fail "-l of one process"

# One probe a file; names, keys, comparisons and variables have the process's number.
trace -w -n "$prov*:::order-start { @[probeprov] = count(); printf(\"%s %s %s %d\n\", probeprov, probemod, copyinstr(arg1), arg0); }
	$prov*:::order-start /probeprov == \"$prov$b\"/ { @only[\"b\"] = count(); }
	$prov*:::order-start /strlen(probeprov) > 3/ { @len[\"long\"] = count(); }
	$prov*:::order-start { last[pid] = probeprov; @last[last[pid]] = count(); }
	BEGIN { system(\"sh ./fire_and_end 2 %d\", \$pid); }" || fail "a pattern"
for p in a b c; do
	eval "pid=\$$p"
	[ "$(grep -cE "^$prov$pid app $p [01]$" out)" = 2 ] || fail "$p: its firings"
	[ "$(grep -cE "^ +$prov$pid +2$" out)" = 2 ] || fail "$p: keys"
done
[ "$(grep -cE "^$prov$d twin d [01]$" out)" = 2 ] || fail "the other file"
grep -qE '^ +b +2$' out && grep -qE '^ +long +8$' out || fail "comparisons"
[ -z "$(grep -v "ended before a file" err)" ] || fail "messages" # other processes may end early
timeout $((60 * ${PATIENCE:-1})) "$DTRACE" -n "$prov*:::order-start { } BEGIN { exit(0); }" >out 2>err
grep -q "matched 3 probes" err || fail "not one probe a file" # and BEGIN

# A pattern and a description of one process: each clause once, in their order. -p does not restrict a pattern.
trace -w -p $a -n "$prov*:::order-start { self->n++; printf(\"first %s %d\n\", execname, self->n); }
	$prov\$target:::order-start { printf(\"second %d %d\n\", pid, self->n); }
	$prov*:::order-start { printf(\"third %d %d\n\", pid, self->n); self->n = 0; }
	$prov$b:::order-start { printf(\"fourth %d\n\", pid); }
	BEGIN { system(\"sh ./fire_and_end 1 %d\", \$pid); }" || fail "a pattern and a process"
[ "$(grep -c '^first app 1$' out)" = 3 ] && [ "$(grep -c '^first twin 1$' out)" = 1 ] || fail "the pattern's first clause"
[ "$(grep -c '^third [0-9]* 1$' out)" = 4 ] || fail "the pattern's second clause"
[ "$(grep '^second' out)" = "second $a 1" ] || fail "the clause of -p"
[ "$(grep '^fourth' out)" = "fourth $b" ] || fail "the clause of one process"

# JSON and messages name the process.
timeout $((60 * ${PATIENCE:-1})) "$DTRACE" -q -w -x oformat=jsonl -n "$prov*:::order-start { trace(arg0); }
	BEGIN { system(\"sh ./fire_and_end 1 %d\", \$pid); }" >out 2>err || fail "JSON"
for p in $a $b $c $d; do grep -q "\"provider\": \"$prov$p\"" out || fail "JSON: process $p"; done
trace -w -n "$prov*:::order-start /pid == $c/ { trace(*(int *)0); } ERROR { printf(\"%s\n\", probeprov); }
	BEGIN { system(\"sh ./fire_and_end 1 %d\", \$pid); }"
grep -q "ID [0-9]*: $prov$c:app:main:order-start): invalid address" err || fail "the message of a fault"
grep -q '^dtrace$' out || fail "ERROR has a provider of its own"

# Counters: up in all processes while we run, down when we are killed.
: >out
"$DTRACE" -q -n "$prov*:::never { } tick-10ms { printf(\"on\n\"); }" >out 2>err &
tracer=$!
until grep -q on out; do sleep 0.01; done
[ "$(asked 'traced 1')" = 4 ] || fail "a counter is not up"
kill -9 $tracer
wait $tracer 2>/dev/null
for i in $(seq 200); do # the keeper goes, and the kernel takes the links down
	down=$(asked 'traced 0')
	[ "$down" = 4 ] && break
	sleep 0.1
done
[ "$down" = 4 ] || fail "counters are up after our death"
exec 4>&- 5>&- 6>&- 7>&-
wait $a && wait $b && wait $c && wait $d || fail "a process was harmed"
:
