# Helpers that programs carry: dtrace -G compiles them into an object of the program or of a library, with or without a provider; the
# tracer finds them in what a process maps. Programs are not trusted: a helper reads the memory of its process only, its time is bounded,
# and what is damaged is refused with a sentence.
# @@foreign
command -v cc >/dev/null || exit 67
cd "$TMP" || exit 1
. "$SRC/tests/e2e/stack/met.inc"
cat >toy.c <<'X'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "met.h"

struct frame {
	struct frame *outer;
	const char *name;
	int line;
};
struct frame *current;
volatile int touched;

__attribute__((noinline)) void run(const char *const *names, int line)
{
	struct frame f = {current, *names, line};

	current = &f;
	touched += **names; /* as an interpreter does: pages that nobody has read are not in memory */
	if (names[1])
		run(names + 1, line + 10);
	else
		syscall(SYS_getppid);
	current = f.outer;
	__asm__ volatile("");
}

void toy_run(void)
{
	static const char *const names[] = {"main", "work", "leaf", NULL};

	run(names, 1);
}

#ifndef LIBRARY
static void twice(void (*f)(void))
{
	f();
	met_wait();
	f();
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";
	void (*f)(void) = toy_run;

#ifdef LATE
	syscall(SYS_getppid); /* the process is known before it has the runtime */
	met_wait();
	f = (void (*)(void))dlsym(dlopen("./libtoy.so", RTLD_NOW), "toy_run");
	/* the stack is asked about again when dtrace has heard of the library */
	for (int i = 0; i < 6000 && !met_is_there(); i++) {
		f();
		usleep(20000);
	}
#endif
	if (strcmp(mode, "fork") == 0) {
		toy_run();
		if (fork() == 0) {
			twice(f);
			_exit(0);
		}
		wait(NULL);
	} else if (strcmp(mode, "exec") == 0) {
		twice(f);
		execl(argv[0], argv[0], "again", NULL);
	} else if (strcmp(mode, "again") == 0) {
		/* what dtrace knows is forgotten when it hears of the execution */
		for (int i = 0; i < 6000 && !met_is_there(); i++) {
			f();
			usleep(20000);
		}
		for (int i = 0; i < 10; i++) {
			f();
			usleep(100000);
		}
	} else if (strcmp(mode, "runs") == 0) {
		for (int i = 0; i < 6000 && access("began", F_OK) != 0; i++)
			usleep(20000);
		twice(f);
	} else {
		twice(f);
	}
	return 0;
}
#endif
X
# the helper of the guide, without its line of patterns
awk '/^```d helper/ { on = 1; text = ""; next } /^```/ { if (on && text ~ /"toy"/) printf "%s", text; on = 0 } on { text = text $0 "\n" }' \
	"$SRC/doc/guide/ustack-helpers.md" | grep -v '^#pragma' >toy.d
[ -s toy.d ] || echo 'no helper in the guide'
{
	echo 'provider toy { probe fired(int b, char *a) : (char *a, int b); };'
	cat toy.d
} >both.d
sed -n 1p both.d >probes.d
flags="-O1 -fno-optimize-sibling-calls -rdynamic $met_flags"

script='syscall::getppid:entry /pid == $target || ppid == $target/ { jstack(200); }'
# languages PROGRAM: for each stack its frames of the language, in one line. No helper is in the library.
languages() {
	"$DTRACE" -q -n "$script" -c "$1" 2>said | awk '
		function end() { if (seen) print line == "" ? "native" : line; line = ""; seen = 0 }
		/^$/ { end(); next }
		/ line [0-9]+$/ || /\[ .* \]/ { sub(/^ */, ""); line = line (line == "" ? "" : ", ") $0 }
		{ seen = 1 }
		END { end() }'
	grep -v 'does not answer\|answer too slowly\|^hint:' said
}
cp -r "$DTRACE_OPT_SYSLIBDIR" lib && rm -rf lib/helpers/* && export DTRACE_OPT_SYSLIBDIR="$TMP/lib"
same() {
	cat >got
	[ "$(cat got)" = "$2" ] || printf '%s: wanted:\n%s\ngot:\n%s\n' "$1" "$2" "$(cat got)"
}
frames='leaf line 21, work line 11, main line 1'

{
	cc $flags -c -o toy.o toy.c && "$DTRACE" -G -s toy.d -o helper.o toy.o && cc -rdynamic -o toy toy.o helper.o || echo '-G'
	languages ./toy | same plain "$frames
$frames"
	languages './toy fork' | same fork "$frames
native
$frames"
	# dtrace has 100 ms to know the new program before it goes on, which a busy machine may exceed
	languages './toy exec' | grep -vx native | uniq | same exec "$frames"
	./toy runs &
	pid=$!
	"$DTRACE" -qw -n 'BEGIN { system("touch began"); }' -n "$script" -p $pid | grep -c ' line ' | same 'a process that runs' 6
	wait $pid
	strip -o stripped toy && languages ./stripped | same 'stripped' "$frames
$frames"
	cc -o silent toy.o helper.o && strip silent && languages ./silent | sed 's/ process [0-9]*//' |
		sort | same 'what a helper declines' "dtrace: ustack helper 'toy.d in $TMP/silent': has native frames only: this toy has no symbols
native
native"

	# a provider in the same script: both are there, and the listing is what it was
	cat >>toy.c <<'X'
#ifdef PROBES
#include "both.h"
void fire(void)
{
	TOY_FIRED(1, "a");
}
#endif
X
	"$DTRACE" -h -s both.d && "$DTRACE" -h -s probes.d && sed 's/both/probes/g; s/BOTH/PROBES/g' both.h | diff - probes.h || echo '-h'
	cc $flags -DPROBES -c -o probes.o toy.c
	"$DTRACE" -G -s both.d -o both_g.o probes.o && cc -rdynamic -o toyboth probes.o both_g.o || echo '-G with a provider'
	"$DTRACE" -G -s probes.d -o probes_g.o probes.o && cc -rdynamic -o toyprobes probes.o probes_g.o || echo '-G of the provider'
	languages ./toyboth | same 'with a provider' "$frames
$frames"
	rm began
	for p in toyboth toyprobes; do
		./$p runs &
		"$DTRACE" -lvn "toy$!:::fired" | sed "s/toy$!/toyN/; s/  *$p/ P/; s/^ *[0-9]*//" >list.$p
		kill $!
		wait
	done
	grep -q 'args\[0\]: userland char \*' list.toyboth && diff list.toyprobes list.toyboth || { echo '-lv differs'; cat list.toyboth; }
	# two objects of -G in one program
	echo 'dtrace:helper:ustack: /arg3 == 0/ { "@the first"; }' >first.d
	"$DTRACE" -G -s first.d -o first.o && cc -rdynamic -o toytwo toy.o helper.o first.o && languages ./toytwo | same 'two objects' "[ the first ], $frames
[ the first ], $frames"

	# a library that is opened late
	cc $flags -DLIBRARY -shared -fPIC -o libtoy.so toy.c helper.o && cc $flags -DLATE -o late toy.c && languages ./late | uniq | same 'a late library' "native
$frames"

	# what a program may not do; the same clause in a file of one's own may read the kernel's memory
	echo 'dtrace:helper:ustack: /arg3 == 0/ { strjoin("@read ", *(uint64_t *)curthread ? "it" : "it"); }' >kernel.d
	"$DTRACE" -q -x helper=kernel.d -n "$script" -c ./toyprobes 2>&1 | grep -c 'read it' | same 'a file' 2
	n=0
	while IFS= read -r text; do # each at a frame of its own
		echo "dtrace:helper:ustack: /arg3 == $n/ { $text }"
		n=$((n + 1))
	done >bad.d <<'X'
strjoin("@read ", *(uint64_t *)curthread ? "it" : "it");
strjoin("@read ", (string)(char *)curthread);
this->p = (int *)curthread; *this->p = 1; "@read";
copyinto(arg2, 8, (void *)curthread); "@read";
bcopy((void *)curthread, alloca(8), 8); "@read ";
lltostr(strlen((string)(char *)curthread)); "@read ";
(string)(char *)curthread;
uframe("read ", (string)(char *)curthread);
this->s = (string)(char *)curthread; "@read ";
strjoin("@read ", (string)(char *)curthread == "a" ? "a" : "b");
X
	"$DTRACE" -G -s bad.d -o bad.o && cc -rdynamic -o bad toy.o bad.o && "$DTRACE" -q -x debug -n "$script" -c ./bad >out 2>&1
	# they may be told of in two parts
	if grep -q '\[ ' out || [ "$(sed -n 's/^dtrace: \([0-9]*\) errors* in ustack helpers, the first at bad.d in .*\/bad:1 in process [0-9]* .bad.: invalid address (0xff.*/\1/p' out |
		awk '{ n += $1 } END { print n }')" != 20 ]; then
		echo 'memory of the kernel'
		cat out
	fi
	echo 'dtrace:helper:ustack: { while (1; 65536) while (1; 65536) this->i++; }' >bad.d
	"$DTRACE" -G -s bad.d -o bad.o && cc -rdynamic -o bad toy.o bad.o && "$DTRACE" -q -n "$script" -c ./bad 2>&1 | grep -c '`_start\|\[language frames cut\]\|^dtrace: 2 user stacks have no' |
		same 'a helper without an end' 5
	echo 'dtrace:helper:attach: { while (1; 65536) while (1; 65536) while (1; 65536) this->i++; }
	dtrace:helper:ustack: { "@never"; }' >bad.d
	"$DTRACE" -G -s bad.d -o bad.o && cc -rdynamic -o bad toy.o bad.o && "$DTRACE" -q -n "$script" -c ./bad 2>&1 | grep -c '`_start\|native frames only: .*: its clauses run for more than 100 ms' |
		same 'an attachment without an end' 3
	# damaged: the number of bytes of the first instructions (section of type 7) is no longer a multiple of four
	python3 - toy toycut <<'X'
import struct, sys
b = bytearray(open(sys.argv[1], "rb").read())
at = b.index(b"\x7fDOF")
for i in range(200):
    s = at + 64 + 32 * i
    if struct.unpack_from("<I", b, s)[0] == 7:
        b[s + 24] ^= 1
        break
open(sys.argv[2], "wb").write(b)
X
	chmod +x toycut
	"$DTRACE" -q -n "$script" -c ./toycut 2>&1 | grep -c "the ustack helper that '.*/toycut' carries is left out: its DOF is damaged\|"'`_start' | same 'damaged' 3

	# what -G refuses, with its place
	while IFS='|' read -r text why; do
		echo "$text" >no.d
		"$DTRACE" -G -s no.d -o no.o >out 2>&1 && echo "-G takes '$text'"
		grep -qF -- "$why" out || { echo "refusal of '$text': no '$why'"; cat out; }
		[ ! -e no.o ] || { echo "-G of '$text' leaves a file"; rm no.o; }
	done <<'X'
dtrace:helper:ustack: { printf("a"); }|no.d:1: a ustack helper may not use actions that are no expressions
dtrace:helper:ustack: { lltostr(timestamp); }|no.d:1: a ustack helper may not use 'timestamp'
dtrace:helper:ustack: { self->a = 1; "a"; }|no.d:1: a ustack helper may not use thread-local variables
dtrace:helper:ustack: { lltostr(symaddr("a")); }|no.d:1: a ustack helper may not use symaddr() outside dtrace:helper:attach:
X
	if echo 'int x;' | cc -m32 -x c -c -o small.o - 2>/dev/null; then
		"$DTRACE" -G -s toy.d -o no.o small.o 2>&1 | grep -q 'ustack helpers are for 64-bit programs' || echo '32 bits'
	fi
	"$DTRACE" -q -n 'dtrace:helper:ustack: { "a"; }' 2>&1 | grep -q 'in an object of -G' || echo 'the hint'
} >wrong 2>&1
cat wrong
[ ! -s wrong ]
