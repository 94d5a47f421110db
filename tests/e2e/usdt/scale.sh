# Many processes, many probes, many beginnings and ends: one probe and one link a file, everything counted, nobody harmed.
# @@timeout: 300
. "$SRC/tests/e2e/usdt/traced_common"
prov=sca$$x
# An assembler file with many probes of one function: notes as <sys/sdt.h> writes them. fire() passes all of them.
notes() { # number of probes, semaphores (0: none)
	awk -v n=$1 -v sems=$2 -v prov=$prov 'BEGIN {
		print "\t.text\n\t.globl fire\n\t.type fire, @function\nfire:"
		for (i = 0; i < n; i++) {
			sem = sems ? "sem" i % sems : "0"
			printf "990:\tnop\n\t.pushsection .note.stapsdt,\"?\",\"note\"\n\t.balign 4\n\t.4byte 992f-991f, 994f-993f, 3\n"
			printf "991:\t.asciz \"stapsdt\"\n992:\t.balign 4\n993:\t.8byte 990b, _.stapsdt.base, %s\n", sem
			printf "\t.asciz \"%s\"\n\t.asciz \"p%d\"\n\t.asciz \"-4@$%d 8@%%rdi\"\n994:\t.balign 4\n\t.popsection\n", prov, i, i
		}
		print "\tret\n\t.size fire, .-fire"
		print "\t.pushsection .stapsdt.base,\"aG\",\"progbits\",.stapsdt.base,comdat\n\t.weak _.stapsdt.base\n\t.hidden _.stapsdt.base\n_.stapsdt.base: .space 1\n\t.size _.stapsdt.base, 1\n\t.popsection"
		print "\t.pushsection .probes,\"aw\",\"progbits\""
		for (i = 0; i < sems; i++) printf "\t.globl sem%d\nsem%d:\t.2byte 0\n", i, i
		print "\t.popsection\n\t.section .note.GNU-stack,\"\",@progbits"
	}'
}
cat >app.c <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
void fire(long arg);
/* app N FIRST: N children fire when a byte comes on standard input; the parent says when they are there, and when they have fired */
int main(int argc, char **argv)
{
	int n = atoi(argv[1]), go[2], there[2], bad = 0, status;
	char c;

	if (n == 0) { /* fires at once */
		fire(getpid());
		return 0;
	}
	if (pipe(go) || pipe(there))
		return 1;
	for (int i = 0; i < n; i++)
		if (fork() == 0) {
			close(go[1]);
			(void)!write(there[1], "x", 1);
			(void)!read(go[0], &c, 1); /* until the parent closes it */
			fire(getpid());
			_exit(0);
		}
	for (int i = 0; i < n; i++)
		(void)!read(there[0], &c, 1);
	puts("ready");
	fflush(stdout);
	(void)!read(0, &c, 1);
	close(go[1]);
	while (wait(&status) > 0)
		bad += status != 0;
	printf("harmed %d\n", bad);
	return 0;
}
END
notes 50 7 >p50.s && gcc -O1 app.c p50.s -o app50 && many_build || fail "building"
notes 10000 0 >p10000.s && gcc -O1 app.c p10000.s -o app10000 || fail "building 10000"
rss() { awk '/^VmRSS/ { print $2 }' /proc/$1/status; }
fds() { ls /proc/$1/fd | wc -l; }
# The tracer, and the keeper, which holds the links: not a helper process that has yet to close its copies of the tracer's descriptors and to take a name of its own (src/base/apart.h).
family() { echo $1; for child in $(cat /proc/$1/task/$1/children); do [ "$(cat /proc/$child/comm)" = "$(cat /proc/$1/comm)" ] || echo $child; done; }

# 300 processes of one file: 50 probes, and no more descriptors than for one.
count=300
mkfifo in
./app50 1 <in >one.out &
one=$!
exec 5>in
until grep -q ready one.out; do sleep 0.01; done
timeout $((60 * ${PATIENCE:-1})) "$DTRACE" -n "$prov*::: { } BEGIN { exit(0); }" >out 2>err
grep -q "matched 51 probes" err || fail "one process: not 50 probes"
watch -n "$prov*::: { @ = count(); @s = sum(arg0); @p[pid] = count(); } tick-50ms { printf(\"on\n\"); } END { printa(\"all %@d\n\", @); printa(\"sum %@d\n\", @s); }"
before=0; for p in $(family $tracer); do before=$((before + $(fds $p))); done
end
echo >&5; exec 5>&-
wait $one
mkfifo in2
./app50 $count <in2 >many.out &
app=$!
exec 5>in2
until grep -q ready many.out; do kill -0 $app || fail "no processes"; sleep 0.05; done
timeout $((60 * ${PATIENCE:-1})) "$DTRACE" -n "$prov*::: { } BEGIN { exit(0); }" >out 2>err
grep -q "matched 51 probes" err || fail "$count processes: not 50 probes"
timeout $((60 * ${PATIENCE:-1})) "$DTRACE" -ln "$prov*:::p7" >out 2>err && [ "$(grep -c ' p7$' out)" = $((count + 1)) ] || fail "$count processes: the listing"
watch -n "$prov*::: { @ = count(); @s = sum(arg0); @p[pid] = count(); } tick-50ms { printf(\"on\n\"); } END { printa(\"all %@d\n\", @); printa(\"sum %@d\n\", @s); }"
after=0; for p in $(family $tracer); do after=$((after + $(fds $p))); done
[ $after -le $((before + 5)) ] || fail "$count processes: $after descriptors, $before for one"
echo >&5; exec 5>&-
wait $app && grep -q 'harmed 0' many.out || fail "$count processes: some were harmed"
end
grep -q "^all $((count * 50))$" out && grep -q "^sum $((count * 50 * 49 / 2))$" out || fail "$count processes: firings are missing"

# Processes that begin and end all the time: each firing is counted, nothing grows. One that stays makes the file known.
mkfifo in4
./app50 1 <in4 >stays.out &
stays=$!
exec 6>in4
until grep -q ready stays.out; do sleep 0.01; done
watch -n "$prov*::: { @ = count(); } $prov*:::p9 { @n = count(); } tick-50ms { printf(\"on\n\"); } END { printa(\"all %@d\n\", @); printa(\"processes %@d\n\", @n); }"
./many 1500 300 ./app50 0 >harm.out && grep -q 'harmed 0' harm.out || fail "short processes were harmed"
rss1=$(rss $tracer); fds1=0; for p in $(family $tracer); do fds1=$((fds1 + $(fds $p))); done
./many 1500 1000 ./app50 0 >harm.out && grep -q 'harmed 0' harm.out || fail "short processes were harmed"
rss2=$(rss $tracer); fds2=0; for p in $(family $tracer); do fds2=$((fds2 + $(fds $p))); done
end
grep -q '^all 65000$' out && grep -q '^processes 1300$' out || fail "firings of short processes are missing"
echo >&6; exec 6>&-
wait $stays
[ $fds2 -le $((fds1 + 4)) ] || fail "$fds1 descriptors became $fds2"
[ -n "$SANITIZED" ] || [ $((rss2 - rss1)) -le 3000 ] || fail "$rss1 kB became $rss2 kB"

# 10,000 probes in one object.
mkfifo in3
./app10000 2 <in3 >big.out &
app=$!
exec 5>in3
until grep -q ready big.out; do kill -0 $app || fail "no processes"; sleep 0.05; done
# a kernel older than 6.6 refuses so many
if "$DTRACE" -qn "$prov*::: { }" -c true 2>&1 | grep -q 'lacks BPF links to many uprobes at once (Linux 6.6): at most 512'; then
	echo >&5; exec 5>&-
	wait $app
	exit
fi
watch -n "$prov*::: { @ = count(); @s = sum(arg0); } $prov*:::p9999 { printf(\"last %d\n\", arg0); } tick-50ms { printf(\"on\n\"); } END { printa(\"all %@d\n\", @); printa(\"sum %@d\n\", @s); }"
echo >&5; exec 5>&-
wait $app && grep -q 'harmed 0' big.out || fail "10,000 probes: a process was harmed"
rss3=$(rss $tracer)
end
grep -q '^all 20000$' out && grep -q "^sum $((2 * 10000 * 9999 / 2))$" out && [ "$(grep -c '^last 9999$' out)" = 2 ] || fail "10,000 probes: firings are missing"
[ -n "$SANITIZED" ] || [ $rss3 -le 200000 ] || fail "10,000 probes: $rss3 kB"
:
