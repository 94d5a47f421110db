# The walk on the host, of a stopped process, gives frame by frame what ustack() gave in the kernel and what gdb finds: in a
# system call, a signal handler, on a second stack, in a thread, in code without frame pointers and in code that has nothing else.
# Then a program runs instruction by instruction, and the walk at each of them ends in the frames that call main().
# @@foreign
cd "$TMP" || exit 1
command -v gdb >/dev/null || exit 67

# child PID NAME: the process NAME that PID has started
child() {
	for i in $(seq 2000); do
		pgrep -P "$1" -x "$2" && return
		sleep 0.01
	done
}

# compare NAME PROGRAM MODE MIN-FRAMES [MARK]: says what is wrong; the host marks its walk so
compare() {
	rm -f kernel host gdb
	"$DTRACE" -q -x oformat=json -x switchrate=10ms -n 'syscall::tgkill:entry /pid == $target && arg2 == 19/ { ustack(100); }' \
		-c "$2 $3 1" >kernel.json 2>&1 &
	dtrace=$!
	pid=$(child $dtrace "$(basename "$2")")
	tid=$pid
	[ "$3" != stop-thread ] || for i in $(seq 2000); do
		tid=$(ls "/proc/$pid/task" | tail -1)
		[ "$tid" = "$pid" ] || break
		sleep 0.01
	done
	"$TRIGGER/hostwalk" stopped "$pid" "$tid" >host 2>&1
	[ -z "${5-}" ] || { grep -qx "$5" host || echo "$1: no '$5'"; sed -i "/^$5\$/d" host; }
	cat >bt.py <<X
import gdb
for t in gdb.selected_inferior().threads():
    if t.ptid[1] == $tid:
        t.switch()
out = open("gdb", "w")
f = gdb.newest_frame()
while f is not None:
    if f.type() not in (gdb.INLINE_FRAME, gdb.TAILCALL_FRAME):
        out.write("0x%x\n" % (f.pc()))
    f = f.older()
X
	gdb -q -nx -batch -iex 'set debuginfod enabled off' -iex 'set auto-load off' -ex 'set backtrace past-main on' \
		-ex 'set backtrace past-entry on' -p "$pid" -x bt.py >gdb.out 2>&1
	kill -CONT "$pid"
	wait $dtrace
	grep -o '"address": "0x[0-9a-f]*"' kernel.json | cut -d'"' -f4 >kernel
	[ "$(wc -l <kernel)" -ge "$4" ] || echo "$1: only $(wc -l <kernel) frames: $(head -c 300 kernel.json)"
	cmp -s kernel host || { echo "$1: kernel, host:"; diff kernel host | head -20; }
	cmp -s gdb host || { echo "$1: gdb, host:"; diff gdb host | head -20; tail -3 gdb.out; }
}

# steps FLAGS...: builds, runs, says what is wrong
steps() {
	cc "$@" -w -fno-optimize-sibling-calls -o steps "$SRC/tests/e2e/stack/steps.c" || return
	# Between loading rsp and jumping, longjmp() has the return address in a mangled form only: ten instructions. What the
	# dynamic linker does for a first call keeps its CFA in rbx, which no outer frame's rule may use: hence LD_BIND_NOW.
	LD_BIND_NOW=1 "$TRIGGER/hostwalk" steps ./steps >out 2>&1
	tail -1 out | awk '$2 == "stacks," && $1 > 1000 && $3 <= 10 { ok = 1 } END { exit !ok }' || { echo "$*:"; cat out; }
}

{
	for mode in stop stop-signal stop-altstack stop-thread; do
		compare $mode "$TRIGGER/deep" $mode 44
	done
	if command -v cc >/dev/null; then
		cc -O1 -w -fno-omit-frame-pointer -fno-asynchronous-unwind-tables -fno-optimize-sibling-calls -o pointers \
			"$SRC/tests/e2e/trigger/deep.c" -lpthread -ldl
		compare 'frame pointers alone' ./pointers stop 44
		# a 32-bit task, whose walk never knows where the stack ends
		cat >small.c <<'X'
static int sys(int n, int a, int b, int c)
{
	int r;

	__asm__ volatile("int $0x80" : "=a"(r) : "a"(n), "b"(a), "c"(b), "d"(c) : "memory");
	return r;
}
__attribute__((noinline)) int inner(int x) { return sys(270, sys(20, 0, 0, 0), sys(224, 0, 0, 0), 19) + x; }
__attribute__((noinline)) int outer(int x) { return inner(x) + 1; }
void _start(void) { sys(1, outer(1) & 0, 0, 0); }
X
		if "$TRIGGER/has" programs32 >lacks; then
			cc -m32 -O1 -w -fno-omit-frame-pointer -fno-optimize-sibling-calls -fno-stack-protector -fno-pic -no-pie -nostdlib \
				-static -o small small.c
			compare '32 bits' ./small stop 4 cut
		fi
		steps -O2
		steps -O3 -mavx2 -fomit-frame-pointer -fcf-protection=full -fstack-protector-all -fstack-clash-protection
		steps -O2 -g -gz -fno-asynchronous-unwind-tables # .debug_frame
		steps -O2 -fno-omit-frame-pointer -fno-asynchronous-unwind-tables
	fi
} >wrong 2>&1
cat wrong
[ ! -f lacks ] || cat lacks
[ ! -s wrong ]
