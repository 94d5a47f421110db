# The same helpers over the same stack, in the kernel and in the interpreter of DIF: a process of each runtime stops where jstack() was
# recorded, and the stack of --helpertrace is the same, frame for frame. What the trace says of each clause; the process goes on as before.
# @@foreign
command -v cc >/dev/null || exit 67
cd "$TMP" || exit 1
cat >toy.c <<'X'
#define _GNU_SOURCE
#include <string.h>
#include <unistd.h>
struct frame {
	struct frame *outer;
	const char *name;
	int line;
};
struct frame *current;
volatile int touched;
char buf[777];
__attribute__((noinline)) void run(const char *const *names, int line)
{
	struct frame f = {current, *names, line};

	current = &f;
	touched += **names;
	if (names[1])
		run(names + 1, line + 10);
	else
		touched += (int)write(2, buf, 777);
	current = f.outer;
	__asm__ volatile("");
}
int main(void)
{
	static const char *const names[] = {"main", "work", "leaf", NULL};

	for (int i = 0; i < 4000; i++) {
		run(names, 1);
		usleep(200000);
	}
	return 0;
}
X
awk '/^```d helper/ { on = 1; text = ""; next } /^```/ { if (on && text ~ /"toy"/) printf "%s", text; on = 0 } on { text = text $0 "\n" }' \
	"$SRC/doc/guide/ustack-helpers.md" >toy.d
cat >p.py <<'X'
import os, time
class Kind:
    def deep(self, n):
        if n: return list(map(self.deep, [n - 1]))[0]
        return self.last(lambda: os.write(2, b"x" * 777))
    def last(self, f):
        return [f() for _ in (1,)][0]
for i in range(4000):
    Kind().deep(3)
    time.sleep(0.2)
X
cat >p.pl <<'X'
package Kind; sub deep { my ($n) = @_; return $n ? deep($n - 1) : (sort { last_one(); 0 } (1, 2))[0] } sub last_one { syswrite(STDERR, "x" x 777) if !$done++ }
for (1 .. 4000) { $done = 0; eval { deep(3) }; select(undef, undef, undef, 0.2) }
X
cat >p.rb <<'X'
class Kind
  def deep(n) = n > 0 ? [n - 1].map { |m| deep(m) }.first : last { $stderr.syswrite("x" * 777) }
  def last = yield
end
4000.times { Kind.new.deep(3); sleep 0.2 }
X
cat >p.php <<'X'
<?php
class Kind {
    function deep($n) { return $n ? array_map(fn($m) => $this->deep($m), [$n - 1]) : self::last(); }
    static function last() { return fwrite(STDERR, str_repeat("x", 777)); }
}
for ($i = 0; $i < 4000; $i++) { (new Kind)->deep(3); usleep(200000); }
X
cat >p.js <<'X'
const fs = require('fs'), buf = Buffer.alloc(777);
function wait(ms) { Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms) }
class Kind {
	deep(n) { return n ? [n - 1].map((m) => this.deep(m))[0] : this.last() }
	last() { try { return fs.writeSync(2, buf) } catch (e) { } }
}
new Error().stack // V8 knows where lines end now: else the text has to be read, of which the kernel may find a page not in memory
for (let i = 0; i < 4000; i++) { new Kind().deep(3); wait(200) }
X
cat >P.java <<'X'
import java.io.*;
import java.util.*;
class P {
	static byte[] buf = new byte[777];
	static void deep(int n) throws Exception { if (n > 0) List.of(n - 1).forEach(m -> { try { deep(m); } catch (Exception e) { } }); else last(); }
	static void last() throws Exception { try (FileOutputStream f = new FileOutputStream("/dev/null")) { f.write(buf, 0, 777); } }
	public static void main(String[] a) throws Exception { for (int i = 0; i < 4000; i++) { deep(3); Thread.sleep(200); } }
}
X
frames='-x jstackframes=150 -x jstackstrsize=8k'
# is_stopped: whether the thread is, or is so soon
is_stopped() {
	for i in $(seq 500); do
		grep -q '^State:.T' "/proc/${tid:-0}/status" 2>/dev/null && return
		sleep 0.02
	done
	return 1
}
# compare NAME LEAST OPTIONS -- COMMAND...: both stacks, and that at least so many frames are of the language
compare() {
	name=$1 least=$2 more=$3
	shift 3
	"$@" 2>/dev/null >/dev/null &
	pid=$!
	rm -f met
	# when the helper is there, somebody opens a file, and the next call stops the process
	timeout $((40 * PATIENCE)) "$TRIGGER/met" "$DTRACE" -w -q $frames $more -n 'syscall::openat:entry /copyinstr(arg1) == $$2/ { go = 1; }
		syscall::write:entry /(pid == $1 || ppid == $1) && arg2 == 777 && !go/ { jstack(); }
		syscall::write:entry /(pid == $1 || ppid == $1) && arg2 == 777 && go/ { printf("THREAD %d %d\n", pid, tid); jstack(); stop(); exit(0); }' \
		$pid "go.$pid" >in_kernel.out 2>err.$name &
	tracer=$!
	until [ -e met ] || ! kill -0 $tracer 2>/dev/null; do sleep 0.02; done
	cat "go.$pid" 2>/dev/null
	wait $tracer
	tid=$(awk '/^THREAD/ { print $3 }' in_kernel.out)
	is_stopped
	timeout $((40 * PATIENCE)) "$DTRACE" $frames $more --helpertrace="${tid:-0}" >trace.$name 2>>err.$name
	# it was stopped, and is so again: a thread stops by itself when nobody traces it any more, as soon as it has a CPU
	is_stopped || echo "$name: not stopped any more"
	kill -9 $pid
	wait $pid 2>/dev/null
	awk '/^THREAD/ { on = 1; next } on && NF' in_kernel.out >one
	awk '/^the stack:/ { on = 1; next } on' trace.$name >two
	n=$(grep -c '\[ .* \]$\|^ *[^`]*$' one)
	if ! cmp -s one two || [ "$n" -lt "$least" ]; then
		echo "$name: $n frames of the language"
		diff one two
		cat err.$name
	fi
}

{
	cc -O1 -fno-optimize-sibling-calls -rdynamic -o toy toy.c && compare toy 3 '-x helper=toy.d' ./toy
	[ -x /usr/bin/python3.11 ] && compare python 8 '' /usr/bin/python3.11 p.py
	[ -x /usr/bin/perl ] && perl -e 'exit !($] >= 5.036)' && compare perl 4 '' /usr/bin/perl p.pl
	ruby -e 'exit(RUBY_VERSION.start_with?("3.1"))' 2>/dev/null && compare ruby 8 '' ruby p.rb
	command -v php >/dev/null && compare php 6 '' php p.php
	command -v node >/dev/null && compare node 8 '' node p.js
	command -v javac >/dev/null && javac P.java && compare java 8 '' java -cp . P
	# names of native frames with more frames behind them: what was inlined
	[ -e P.class ] && compare java-compiled 8 '' java -Xcomp -XX:TieredStopAtLevel=1 -cp . P && ! grep -q 'deep.*)\*$' one && echo 'nothing was compiled'

	: >none
	"$DTRACE" --helpertrace=./none 2>&1 | grep -q "'./none' is no core file" || echo 'no core file'

	# what the trace of the toy says
	while IFS= read -r line; do
		grep -Eq "^$line\$" trace.toy || echo "the trace has no line '$line'"
	done <<'X'
toy.d, dtrace:helper:attach:
  toy.d:7: current = 0x[0-9a-f]+
  toy.d:10: condition: false
toy.d, dtrace:helper:uthread:
  toy.d:16: reads 8 bytes at 0x[0-9a-f]+: 0x7ff[0-9a-f]+
  toy.d:16: this->frame = 0x7ff[0-9a-f]+
frame 0: libc.so.6`write\+0x[0-9a-f]+, pc 0x[0-9a-f]+, fp 0x[0-9a-f]+, sp 0x7ff[0-9a-f]+
  toy.d:19: predicate: false
frame 1: toy`run\+0x[0-9a-f]+, pc 0x[0-9a-f]+, fp 0x[0-9a-f]+, sp 0x7ff[0-9a-f]+
  toy.d:19: predicate: true
  toy.d:22: reads [0-9]+ bytes at 0x[0-9a-f]+: "leaf"
  toy.d:22: uframe\(\) adds "leaf line 21"
X
	# a fault, with its line; a process that runs goes on
	cat >bad.d <<'X'
dtrace:helper:ustack:
/arg3 == 1/
{
	this->here = arg0;
	"a name";
	*(int *)(arg3 + 7);
	"never";
}
X
	./toy 2>/dev/null &
	pid=$!
	until grep -qx toy "/proc/$pid/comm"; do sleep 0.02; done
	"$DTRACE" -x helper=bad.d --helpertrace=$pid >out 2>&1
	for line in '  bad.d:4: this->here = 0x' '  bad.d:5: value "a name"' '  bad.d:6: reads 4 bytes at 0x8: not there' '  fault: bad.d:6: no memory at 0x8'; do
		grep -qF -- "$line" out || echo "no line '$line'"
	done
	grep -q 'value "never"' out && echo 'after the fault'
	grep -q 'bad.d:1: predicate: false' out || echo 'the predicate'
	grep -q '^State:.[SR]' /proc/$pid/status || echo 'the process does not run'
	kill $pid
	wait $pid 2>/dev/null

	# what it refuses
	"$DTRACE" --helpertrace=999999999 2>&1 | grep -q 'there is no process or thread 999999999' || echo 'no such process'
	"$DTRACE" --helpertrace=x 2>&1 | grep -q "option helpertrace: 'x' is no process or thread id, and no core file" || echo 'no id'
	for flag in --helpertrace=1 '-x helpertrace=1'; do # the second was its name before
		"$DTRACE" $flag -n BEGIN 2>&1 | grep -q 'runs no program' || echo "a program: $flag"
		"$DTRACE" $flag -l 2>&1 | grep -q 'only one of' || echo "a mode: $flag"
	done
	sleep 600 &
	until grep -qx sleep "/proc/$!/comm"; do sleep 0.02; done
	DTRACE_OPT_SYSLIBDIR=/nonexistent "$DTRACE" --helpertrace=$! 2>&1 | grep -q "no helper applies to process $! (sleep)" || echo 'no helper'
	kill $!
} >wrong 2>&1
cat wrong
[ ! -s wrong ]
