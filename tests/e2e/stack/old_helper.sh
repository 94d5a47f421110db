# Helpers in the style in which they have been written for DTrace: state in this-> variables, copyin(), copyinto(), a buffer of
# alloca() that is filled by macros, a chain of clauses whose predicates say who is left, the value of the last one as the name. Compiled
# by -G and read by -x helper; and DOF as the -G of another system makes it. Then what is around: sizes, JSON, %k, execargs, one helper twice.
# @@foreign
command -v cc >/dev/null || exit 67
cd "$TMP" || exit 1
. "$SRC/tests/e2e/stack/met.inc"
cat >old.c <<'X'
#define _GNU_SOURCE
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "met.h"
struct code {
	const char *file, *name;
	uint32_t first, pad;
	const uint8_t *lines;
};
volatile int touched;

/* an interpreter that keeps its state below its frame pointer, with a mark */
__attribute__((noinline, optimize("no-omit-frame-pointer"))) void run(const struct code *const *codes, int at)
{
	volatile struct {
		uint64_t mark;
		const struct code *code;
		int at;
	} here __attribute__((aligned(16)));

	here.mark = 0x746f79;
	here.code = *codes;
	here.at = at;
	touched += (*codes)->file[0] + (*codes)->name[0] + (*codes)->lines[0];
	__asm__ volatile("" : : "r"(&here) : "memory");
	if (codes[1])
		run(codes + 1, at + 1);
	else
		syscall(SYS_getppid);
	__asm__ volatile("" : : "r"(&here) : "memory");
}

static const uint8_t lines[] = {3, 1, 4, 1, 5};
static const struct code a = {"a.toy", "main", 10, 0, lines}, b = {"b.toy", "work", 200, 0, lines}, c = {"c.toy", "leaf", 4711, 0, lines};

int main(void)
{
	static const struct code *const all[] = {&a, &b, &c, 0};

	for (int i = 0; i < 3; i++) {
		run(all, 1);
		if (!i)
			met_wait();
	}
	return 0;
}
X
cat >old.d <<'X'
#pragma ident	"%Z%%M%	%I%	%E% SMI"

#define	MARK		0x746f79
#define	FRAME_BYTES	32
#define	OFF_CODE_FILE	0
#define	OFF_CODE_NAME	8
#define	OFF_CODE_FIRST	16
#define	OFF_CODE_LINES	24

#define	APPEND_CHR(c)	(this->buf)[this->off++] = (c)
#define	APPEND_DGT(i, d)	(this->buf)[((i) / (d)) ? this->off++ : this->off] = '0' + ((i) / (d) % 10)
#define	APPEND_NUM(i)	\
	APPEND_DGT((i), 10000);	\
	APPEND_DGT((i), 1000);	\
	APPEND_DGT((i), 100);	\
	APPEND_DGT((i), 10);	\
	APPEND_DGT((i), 1);	\
	this->off += ((i) == 0)

inline int SIZE = 120;

dtrace:helper:ustack:
{
	this->fp = arg1;
	this->done = 0;
	this->buf = (char *)alloca(SIZE + 1);
	this->off = 0;
	this->mark = *((uint32_t *)copyin(this->fp - FRAME_BYTES, sizeof (uint32_t)));
}

dtrace:helper:ustack:
/this->mark != MARK/
{
	this->done = 1;
	NULL;
}

dtrace:helper:ustack:
/!this->done/
{
	this->code = *(uintptr_t *)copyin(this->fp - FRAME_BYTES + 8, sizeof (uintptr_t));
	this->at = *(int32_t *)copyin(this->fp - FRAME_BYTES + 16, 4);
	this->file = *(uint64_t *)copyin(this->code + OFF_CODE_FILE, 8);
	this->name = *(uint64_t *)copyin(this->code + OFF_CODE_NAME, 8);
	this->first = *(uint32_t *)copyin(this->code + OFF_CODE_FIRST, 4);
	copyinto(*(uint64_t *)copyin(this->code + OFF_CODE_LINES, 8), 5, (void *)((uint64_t)this->buf + 64));
	this->line = this->first + (this->buf)[64 + this->at];
	this->buf[64] = this->buf[65] = this->buf[66] = this->buf[67] = this->buf[68] = 0;
}

dtrace:helper:ustack:
/!this->done && this->at == 3/
{
	APPEND_CHR('@');
	APPEND_CHR('<');
	APPEND_NUM(this->line);
	APPEND_CHR('>');
	APPEND_CHR('\0');
	this->done = 1;
	strjoin(stringof(this->buf), copyinstr(this->name, 32));
}

dtrace:helper:ustack:
/!this->done/
{
	this->s = strjoin(copyinstr(this->file), ":");
	this->t = strjoin(lltostr(this->line), strjoin(" ", copyinstr(this->name)));
	this->done = 1;
	strjoin("@", strjoin(this->s, this->t));
}
X
script='syscall::getppid:entry /pid == $target/ { jstack(20); }'
# run OPTIONS...: the stack of the third call, without offsets
run() {
	"$DTRACE" -q "$@" 2>&1 | sed -e 's/^ *//' -e 's/+0x[0-9a-f]*$//' | grep -v 'does not answer\|answer too slowly' | awk '/^libc.so.6.syscall/ { n++ } n == 3'
}
same() {
	cat >got
	[ "$(cat got)" = "$2" ] || printf '%s: wanted:\n%s\ngot:\n%s\n' "$1" "$2" "$(cat got)"
}
names() {
	grep '^\[ .* \]$\|^dtrace' | tr '\n' ' '
}
cc -O1 -fno-optimize-sibling-calls $met_flags -o old old.c || exit 1
# the frame of a function without a frame pointer has that of its caller
all='[ <4712>leaf ] [ <4712>leaf ] [ b.toy:204 work ] [ a.toy:11 main ] '

{
	run -C -x helper=old.d -n "$script" -c ./old | sed '/^dtrace/,$d' | names | same 'a file' "$all"
	"$DTRACE" -C -G -s old.d -o old_h.o && cc -O1 -fno-optimize-sibling-calls $met_flags -o carrier old.c old_h.o || echo '-G'
	run -n "$script" -c ./carrier | sed '/^dtrace/,$d' | names | same carried "$all"

	# DOF as other systems make it: strings without a size, at most 8 registers, no lines
	python3 - foreign.dof 0 <<'X'
import struct, sys
OPS = dict(sub=6, add=7, cmp=15, bne=19, ba=17, lduw=33, ldx=34, ret=35, setx=37, sets=38, ldgs=41, call=47, pushtv=49, flushts=51, ldls=56, stls=57)
secs, data = [], b""
def sec(kind, align, ent, body, flags=1):
    global data
    data += b"\0" * (-len(data) % align)
    secs.append((kind, align, flags, ent, len(data), len(body)))
    data += body
    return len(secs) - 1
def difo(code, ints, strs, rtype, vars):
    strtab = b"\0" + b"".join(s + b"\0" for s in strs)
    table = b""
    for name, ident, scope, flags, kind, size in vars:
        table += struct.pack("<IIBBHBBBBI", len(strtab), ident, 1, scope, flags, kind, 0, kind, 0, size)
        strtab += name + b"\0"
    links = [sec(8, 1, 0, strtab), sec(7, 4, 4, struct.pack("<%dI" % len(code), *code))]
    if ints:
        links.append(sec(19, 8, 8, struct.pack("<%dQ" % len(ints), *ints)))
    links.append(sec(9, 4, 20, table))
    return sec(6, 4, 0, rtype + struct.pack("<%dI" % len(links), *links))
def rrr(op, a, b, c): return OPS[op] << 24 | a << 16 | b << 8 | c
def idx(op, i, r): return OPS[op] << 24 | i << 8 | r
def copyin(reg, ints, n):  # %reg = copyin(%reg, n), with the number of the integer 8 or 4
    return [rrr("flushts", 0, 0, 0), rrr("pushtv", 0, 0, reg), idx("setx", n, 2), rrr("pushtv", 0, 0, 2), idx("call", COPYIN, reg)]
COPYIN, COPYINSTR, STRJOIN = 8, 9, 23
ARG1, CODE = (b"arg1", 0x107, 0, 1, 0, 8), (b"code", 0x500, 2, 3, 0, 8)
INT, STRING = struct.pack("<BBBBI", 0, 1, 0, 0, 4), struct.pack("<BBBBI", 1, 0, 1, 0, 0)
pred = difo([idx("ldgs", 0x107, 1), idx("setx", 0, 2), rrr("sub", 1, 2, 1)] + copyin(1, 0, 1) + [rrr("lduw", 1, 0, 1), idx("setx", 2, 2),
    rrr("cmp", 1, 2, 0), OPS["bne"] << 24 | 14, idx("setx", 3, 1), OPS["ba"] << 24 | 15, idx("setx", 4, 1), rrr("ret", 0, 0, 1)],
    [32, 4, 0x746f79, 1, 0], [], INT, [ARG1])
store = difo([idx("ldgs", 0x107, 1), idx("setx", 0, 2), rrr("sub", 1, 2, 1)] + copyin(1, 0, 1) + [rrr("ldx", 1, 0, 1), idx("stls", 0x500, 1), rrr("ret", 0, 0, 1)],
    [24, 8], [], INT, [ARG1, CODE])
name = difo([idx("ldls", 0x500, 1), idx("setx", 0, 2), rrr("add", 1, 2, 1)] + copyin(1, 0, 0) + [rrr("ldx", 1, 0, 1), rrr("flushts", 0, 0, 0),
    rrr("pushtv", 0, 0, 1), idx("call", COPYINSTR, 1), idx("sets", 1, 2), rrr("flushts", 0, 0, 0), rrr("pushtv", 1, 0, 2), rrr("pushtv", 1, 0, 1),
    idx("call", STRJOIN, 1), rrr("ret", 0, 0, 1)], [8], [b"@other "], STRING, [CODE])
NONE = 0xffffffff
kind = int(sys.argv[2]) or 1
acts = sec(5, 8, 32, struct.pack("<IIIIQQ", store, NONE, kind, 0, 0, 0) + struct.pack("<IIIIQQ", name, NONE, 1, 0, 0, 0))
texts = sec(8, 1, 0, b"\0dtrace\0helper\0ustack\0")
desc = sec(4, 4, 0, struct.pack("<IIIIII", texts, 1, 8, 15, 0, 0))
sec(3, 8, 0, struct.pack("<IIIIQ", desc, pred, acts, 0, 0))
sec(1, 1, 0, b"some other compiler 1.0\0", 0)
start = 64 + 32 * len(secs)
size = (start + len(data) + 7) & ~7
image = struct.pack("<4sBBBBBB6xIIIIQQQ8x", b"\x7fDOF", 2, 1, 1, 2, 3, 0, 0, 64, 32, len(secs), 64, size, size)
for k, align, flags, ent, off, n in secs:
    image += struct.pack("<IIIIQQ", k, align, flags, ent, start + off, n)
open(sys.argv[1], "wb").write((image + data).ljust(size, b"\0"))
X
	objcopy --add-section .SUNW_dof=foreign.dof old foreign || echo objcopy
	run -n "$script" -c ./foreign | sed '/^dtrace/,$d' | names | same 'of another system' '[ other leaf ] [ other leaf ] [ other work ] [ other main ] '
	python3 - foreign.dof bad <<'X'
import sys
b = bytearray(open(sys.argv[1], "rb").read())
for at, value, name in ((4, 1, "32"), (7, 1, "dif"), (8, 200, "regs")):
    c = bytearray(b)
    c[at] = value
    open(sys.argv[2] + name, "wb").write(c)
X
	while IFS='|' read -r name why; do
		objcopy --add-section .SUNW_dof=bad$name old refused
		"$DTRACE" -q -n "$script" -c ./refused >out 2>&1
		grep -qF -- "the ustack helper that '$TMP/refused' carries is left out: $why" out || { echo "refusal of $name: no '$why'"; cat out; }
	done <<'X'
32|it was made for 32-bit programs, or another byte order
dif|it has DOF of version 1 with DIF of version 1, and versions 1 to 3 with 2 are known
regs|it needs 200 registers, and there are 27
X

	# of a program that runs beside what is traced, nothing is said; of one that is traced, what was found before its first stack
	objcopy --add-section .SUNW_dof=badregs old refused
	./refused &
	beside=$!
	until grep -q refused /proc/$beside/comm; do :; done
	"$DTRACE" -q -n 'syscall::getppid:entry /pid == $1/ { jstack(5); } tick-100ms { exit(0); }' 1 2>&1 | grep refused
	"$DTRACE" -q -n 'syscall::clock_nanosleep:entry /pid == $target/ { jstack(5); exit(0); }' -p $beside >out 2>&1
	grep -qF "that '$TMP/refused' carries is left out" out || { echo 'refusal in a process that runs:'; cat out; }
	kill $beside 2>/dev/null # it ends by itself when dtrace knows its helpers

	# sizes, formats, keys, JSON
	run -n 'syscall::getppid:entry /pid == $target/ { printf("%k|%s\n", jstack(5), "end"); }' -c ./carrier | sed '/^dtrace/,$d' >k
	names <k | same 'printf("%k", jstack())' "$all"
	run -n 'syscall::getppid:entry /pid == $target/ { printf("%k\n", ustack(5, 512)); }' -c ./carrier | sed '/^dtrace/,$d' | names |
		same 'printf("%k", ustack(5, 512))' "$all"
	export MET_NEVER=y
	run -n 'syscall::getppid:entry /pid == $target/ { ustack(5); }' -c ./carrier | grep -c '\[' | same 'ustack(5)' 0
	run -n 'syscall::getppid:entry /pid == $target/ { jstack(5, 0); }' -c ./carrier | grep -c '\[' | same 'jstack(5, 0)' 0
	unset MET_NEVER
	run -x jstackframes=2 -n 'syscall::getppid:entry /pid == $target/ { jstack(); }' -c ./carrier | grep -c 'run\|syscall\|\[' | same 'jstackframes' 4
	run -x jstackstrsize=16 -n 'syscall::getppid:entry /pid == $target/ { jstack(); }' -c ./carrier | sed '/^dtrace/,$d' | names | same 'jstackstrsize' '[ <4712>leaf ] '
	"$DTRACE" -q -n 'syscall::getppid:entry /pid == $target/ { @[ustack(3, 200)] = count(); }' -c ./carrier 2>&1 | grep -c '\[ <4712>leaf \]' | same 'a key' 2

	# execargs
	echo 'dtrace:helper:ustack: /arg3 == 0/ { strjoin("@", execargs); }' >args.d
	"$DTRACE" -q -x helper=args.d -n 'syscall::getppid:entry /pid == $target/ { jstack(1); }' -c './old a "b c"' 2>&1 | grep -c '\[ ./old a "b c" \]\|\[ ./old a b c \]' | same execargs 3

	# one helper from two places is one helper
	mkdir -p lib/helpers more/helpers
	echo '#pragma D helper exec "old"
	dtrace:helper:ustack: /arg3 == 0/ { uframe("once"); }' >lib/helpers/once.d
	cp lib/helpers/once.d .
	sed 's/once/twice/' once.d >more/helpers/once.d
	cp once.d other_name.d
	for x in "-L lib -x helper=once.d" "-L lib -x helper=other_name.d" "-L lib -L lib"; do
		"$DTRACE" -q $x -n 'syscall::getppid:entry /pid == $target/ { @[jstack(1)] = count(); jstack(10); }' -c ./old 2>&1 | grep -v ^dtrace |
			awk '/once/ { n++ } /^$/ { if (n > 1) print "twice"; n = 0 }' | same "$x" ''
	done
	"$DTRACE" -q -L lib -x helper=more/helpers/once.d -n "$script" -c ./old 2>&1 | grep -c 'twice$' | same 'the one of the option' 3
	"$DTRACE" -q -L lib -x helper=more/helpers/once.d -n "$script" -c ./old 2>&1 | grep -c 'once$' | same 'stands in its place' 0
} >wrong 2>&1
cat wrong
[ ! -s wrong ]
