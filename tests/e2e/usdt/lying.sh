# Notes that lie: clear messages, the probes that are right fire, nobody is harmed, time and memory are bounded.
# @@foreign
# @@exclusive: other tests with a pattern would be told of these files, too
tracer=
fail() { echo "$1"; [ -z "$tracer" ] || kill $tracer; tail -n 30 "$TMP/out" "$TMP/err" 2>/dev/null; exit 1; }
cd "$TMP" || exit 1
prov=lie$$x
cat >app.c <<'END'
#include <stdio.h>
void fire(void);
int main(void)
{
	char c;

	puts("ready");
	fflush(stdout);
	(void)!fread(&c, 1, 1, stdin);
	fire();
	return 0;
}
END
# note LABEL-OR-ADDRESS SEMAPHORE NAME [DESCSIZE [TERMINATOR]]
note() {
	printf '\t.balign 4\n\t.4byte 992f-991f, %s, 3\n991:\t.asciz "stapsdt"\n992:\t.balign 4\n993:\t.8byte %s, 0, %s\n' "${4:-994f-993f}" "$1" "$2"
	printf '\t.asciz "%s"\n\t.asciz "%s"\n\t.%s "%s"\n994:\t.balign 4\n' $prov "$3" "${5:-asciz}" '-4@$7'
}
build() { # name: builds it from a true note and those on standard input
	{
		printf '\t.text\n\t.globl fire\n\t.type fire, @function\nfire:\nhere:\tnop\nthere:\tnop\n\tret\n\t.size fire, .-fire\n'
		printf '\t.section .rodata\nfixed:\t.2byte 0\n\t.data\ncounter: .2byte 0\n'
		printf '\t.section .note.stapsdt,"","note"\n'
		note here 0 true
		cat
		printf '\t.section .note.GNU-stack,"",@progbits\n'
	} >$1.s
	gcc -no-pie app.c $1.s -o $1 || fail "building $1"
}
check() { # name probes message-or-empty: traces it while it runs
	rm -f in; mkfifo in
	./$1 <in >app.out &
	app=$!
	exec 5>in
	until grep -q ready app.out; do kill -0 $app || fail "$1: it does not start"; sleep 0.01; done
	: >out
	timeout $((60 * ${PATIENCE:-1})) "$DTRACE" -n "$prov*::: { printf(\"%s %d\n\", probename, arg0); } tick-20ms { printf(\"on\n\"); }" >out 2>err &
	tracer=$!
	until grep -q ' on$' out; do kill -0 $tracer || fail "$1: the tracer ends"; sleep 0.02; done
	rss=$(awk '/^VmRSS/ { print $2 }' /proc/$(cat /proc/$tracer/task/$tracer/children | cut -d' ' -f1)/status)
	echo >&5; exec 5>&-
	wait $app || fail "$1: the program was harmed"
	kill -TERM $tracer
	wait $tracer
	tracer=
	got=$(grep -oE '[a-z]+ 7$' out | sort | tr '\n' ',')
	[ "$got" = "$2" ] || fail "$1: $got instead of $2"
	if [ "$3" ]; then grep -q "$3" err || fail "$1: no message"; elif grep -q "'$1'" err; then fail "$1: a message"; fi
	[ -n "$SANITIZED" ] || [ "$rss" -le 200000 ] || fail "$1: $rss kB"
}
note there counter second | build honest
check honest 'second 7,true 7,' ''
{ note 0x7fffffff0000 0 beyond; note 0xffffffffffffffff 0 last; note fixed 0 data; } | build outside
check outside 'true 7,' "3 notes in 'outside' are left out: they are about addresses outside of its code"
note there 0 open '' ascii | build unterminated
check unterminated 'true 7,' "some notes about probes in 'unterminated' cannot be read"
for size in 0xffffffff 0xfffffff0 0x80000000 0 25; do
	note there 0 size $size | build size
	check size 'true 7,' "some notes about probes in 'size' cannot be read"
done
note there fixed readonly | build single
check single 'readonly 7,true 7,' "1 probe in 'single' has its counter in memory that cannot be written: the program does not know when it is traced"
{ note there fixed readonly; note there 0xfffffffffffffff0 far; } | build counter
check counter 'far 7,readonly 7,true 7,' "2 probes in 'counter' have counters in memory that cannot be written"
{ printf '.rept 200000\n'; note there 0 many; printf '.endr\n'; } | sed 's/99\([1234]\)\([fb]\)/99\1\2/g' | build many
check many 'many 7,true 7,' "'many' has more than 65536 notes about probes: the others are left out"

# Code of another machine, which an emulator may map: it has no probes here.
cp honest other && printf '\267' | dd of=other bs=1 seek=18 conv=notrunc 2>/dev/null # EM_AARCH64
cat >maps.c <<'END'
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>
int main(void)
{
	char c;
	int fd = open("other", O_RDONLY);

	if (mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) == MAP_FAILED)
		return 1;
	puts("ready");
	fflush(stdout);
	return read(0, &c, 1) < 0;
}
END
gcc maps.c -o maps || fail "building"
rm -f in; mkfifo in
./maps <in >app.out &
app=$!
exec 5>in
until grep -q ready app.out; do kill -0 $app || fail "it does not start"; sleep 0.01; done
timeout $((60 * ${PATIENCE:-1})) "$DTRACE" -n "$prov*::: { } BEGIN { exit(0); }" >out 2>err && fail "another machine's probes"
grep -q 'does not match any probes' err || fail "another machine: no message"
exec 5>&-
wait $app || fail "it was harmed"
:
