# Ustack helpers are compiled: each kind of instruction does what the helper machine does, before and after. A stack that both recorded is one key of an
# aggregation, so a difference would be a second key; the machine alone, and the interpreter of DIF, have the same stack.
# @@foreign
command -v cc >/dev/null || exit 67
cd "$TMP" || exit 1
cat >allinsns.c <<'X2'
#include <stdint.h>
#include <string.h>
#include <unistd.h>
_Alignas(4096) struct {
	int64_t n[8];
	char text[64];
	uint16_t wide[64];
	uint32_t sorted[8];
	uint8_t pairs[8];
	char lines[64];
} data = {{-5, 1000003, -(1ll << 40), 0x8000000000000001, 77, 0, -1, 3}, "Gr\374n & co, second/third", {0x47, 0xfc, 0xd83d, 0xde00, 0x65}, {1, 5, 9, 12, 40, 41, 99, 1000},
	  {2, 4, 6, 8, 10, 12, 14, 16}, "one\ntwo\nthree\nfour\n"};
char buf[779];
volatile int touched, size;
__attribute__((noinline)) void leaf(void) { touched += (int)write(2, buf, size); }
__attribute__((noinline)) void three(void) { leaf(); touched++; }
__attribute__((noinline)) void two(void) { three(); touched++; }
__attribute__((noinline)) void one(void) { two(); touched++; }
__attribute__((noinline)) void choose_size(void) { size = access("go", F_OK) ? 779 : 778; }
int main(void)
{
	for (;;) {
		choose_size();
		one();
		usleep(5000);
	}
}
X2
cat >all.d <<'X2'
#pragma D helper exec "allinsns"
uint64_t data, calls, leaf, three, two, one, main; /* where functions begin */
string greeting;
inline int64_t N[uint64_t i] = *(int64_t *)(data + 8 * i);

dtrace:helper:attach: {
	data = symaddr("data");
	greeting = "hello";
	leaf = symaddr("leaf");
	three = symaddr("three");
	two = symaddr("two");
	one = symaddr("one");
	main = symaddr("main");
}
inline int IN[uint64_t f] = arg0 - f < 32;
dtrace:helper:uthread: { this->a = N[0]; this->walk = N[1]; calls++; }
dtrace:helper:ustack:
/arg3 == 0/
{
	uframe("registers ", uregs[R_RDX], " ", uregs[R_RDI], " frame ", arg3);
}
dtrace:helper:ustack:
/IN[leaf]/
{
	this->b = N[1];
	uframe("add ", this->a + this->b, " ", this->a + 7, " sub ", this->a - this->b, " mul ", this->a * this->b, " neg ", -this->b);
	uframe("div ", this->a / 3, " ", this->b / this->a, " ", (uint64_t)this->a / 3, " mod ", this->a % 3, " ", this->b % this->a, " ", (uint64_t)this->a % 1000);
	uframe("bits ", this->a & 0xff, " ", this->a | this->b, " ", this->a ^ this->b, " ", ~this->a, " ", this->a << 3, " ", this->a >> 2, " ", (uint64_t)this->a >> 60,
	    " ", this->b << (this->a & 7), " ", N[3] >> N[7], " ", (uint64_t)N[3] >> N[7]);
	uframe("wide ", this->a + 0x123456789abcdef, " ", N[2]);
	uframe("sizes ", *(int8_t *)data, " ", *(uint8_t *)data, " ", *(int16_t *)data, " ", *(uint16_t *)data, " ", *(int32_t *)data, " ", *(uint32_t *)data, " ",
	    (int8_t)N[1], " ", (uint16_t)N[0], " ", (int)N[3]);
	uframe("crossing ", *(uint64_t *)(data + 125), " ", *(uint64_t *)(data + 251), " ", *(uint16_t *)(data + 127), " ", *(uint32_t *)(data + 255), " ", *(uint8_t *)(data + 256));
	uframe("compare ", this->a < this->b, this->a <= -5, (uint64_t)this->a < this->b, this->b > this->a, this->b >= 1000003, this->a == -5, this->a != -5, !this->a, !N[5]);
	uframe("choose ", this->a < 0 && this->b > 0 ? 1 : 2, " ", this->a > 0 || N[5] ? 3 : 4, " ", (this->a > 0) ^^ (this->b > 0) ? 5 : 6);
}
dtrace:helper:ustack:
/IN[leaf]/
{
	this->i = 0;
	this->sum = 0;
	while (this->i < 6; 10) {
		this->j = 0;
		while (1; 7) {
			this->j++;
			if (this->j == 5)
				this->sum += 100;
			else
				this->sum += this->i;
		}
		this->i++;
	}
	uframe("loops ", this->i, " ", this->j, " ", this->sum);
	uframe("tables ", ubsearch(data + 256, 8, 4, 4, 41), " ", ubsearch(data + 256, 8, 4, 4, 0), " ", uvlqpairs(data + 288, 8, 3), " ", uvlqindex(data + 288, 8, 20), " ",
	    ulnotab(data + 288, 8, 7), " ", ulinetab(data + 288, 8, 7), " ", ulocations(data + 288, 8, 1), " ", upackedlines(data + 288, 8, 3, 0), " ", ucountnl(data + 296, 64),
	    " ", upopcount(N[3]), " ", uhash(data + 64, 40) == uhash(data + 64, 40), uhash(data + 64, 40) == uhash(data + 65, 40), uhashstr(data + 64) == uhashstr(data + 64), uhashstr(data + 64) == uhashstr(data + 65),
	    " ", uword(data + 251) == *(uint64_t *)(data + 251), uword(data + 3) == *(uint64_t *)(data + 3), uword(16), uword(-4096));
}
dtrace:helper:ustack:
/IN[three]/
{
	this->s = ulatin1(data + 64, 12);
	this->t = utf16(data + 128, 5);
	this->u = "";
	uframe("texts ", this->s, "|", this->t, "|", ustr(data + 65, 1), "|", this->u, "|", greeting, "|", utf32(data + 256, 1) == "" ? "none" : "one");
	uframe("strings ", strjoin(this->s, greeting), " ", strlen(this->s), " ", index(greeting, "l"), " ", rindex(greeting, "l"), " ", substr(greeting, 1, 3), " ", toupper(greeting), " ",
	    basename(copyinstr(data + 70)), " ", dirname(copyinstr(data + 70)), " ", strstr(greeting, "ll"), " ", strtoll("123"), " ", lltostr(N[0]), " ", strchr(greeting, 'e'));
	this->t = strjoin(strjoin(this->s, greeting), strjoin(this->s, this->u));
	this->t = strjoin(strjoin(this->t, this->t), strjoin(this->t, strjoin(this->t, greeting)));
	this->t = strjoin(strjoin(this->t, this->t), this->t);
	uframe("long ", strlen(this->t), " ", strlen(strjoin(this->t, greeting)), " ", substr(this->t, 235), " ", strlen(strjoin(this->u, this->u)), " ",
	    strlen(strjoin(substr(this->t, 1), greeting)), " ", substr(strjoin(substr(this->t, 1), greeting), 240), " ", strjoin(copyinstr(data + 70), greeting));
	uframe("equal ", greeting == "hello", greeting != "hello", greeting < "help", this->s > greeting);
	uframe("names ", execname, " ", pid == pid, " ", htonl(1), " ", ntohs(258), " ", htonll(1));
	this->s = strjoin(strjoin("@", greeting), " frame");
	this->s;
}
/* these fault: the frame has no name, and the next ones have theirs */
dtrace:helper:ustack: /IN[two]/ { this->z = 1 / N[5]; "@divided by zero"; }
dtrace:helper:ustack: /IN[one]/ { this->z = *(int *)8; "@read from nowhere"; }
dtrace:helper:ustack: /IN[main]/ { strjoin("@walk of ", lltostr(this->walk)); }
X2
cc -O1 -fno-optimize-sibling-calls -fno-omit-frame-pointer -rdynamic -o allinsns allinsns.c || exit 1
./allinsns 2>/dev/null &
pid=$!
trap 'kill $pid 2>/dev/null' EXIT
# record NAME SAID: 100 stacks from when dtrace has said that, knows the process, and has the tables of all frames
record() {
	rm -f go met
	"$TRIGGER/met" "$DTRACE" -x helper=all.d -x debug -x jstackstrsize=16k -q -n 'syscall::write:entry /pid == $1 && arg2 == 779/ { @before[jstack(60)] = count(); }
		syscall::write:entry /pid == $1 && arg2 == 778/ { @[jstack(60)] = count(); n++; } syscall::write:entry /n == 100/ { exit(0); } END { trunc(@before); }' \
		$pid >"$1.out" 2>"$1.err" &
	tracer=$!
	until [ -e met ] && grep -q "$2" "$1.err" || ! grep -q '^State:.[^Z]' /proc/$tracer/status; do sleep 0.02; done
	touch go
	wait $tracer || echo "$1: status $?"
	grep -v '^ *[0-9]*$' "$1.out" | sed 's/`.*//' >"$1.stacks"
}
{
	record both 'ustack helpers were compiled'
	grep -q 'ustack helpers were compiled' both.err || { echo 'not compiled:'; cat both.err; }
	FATHOM_NO_FEATURE=TAIL_CALL record machine .
	grep -q 'ustack helpers were compiled' machine.err && echo 'compiled all the same'
	n=$(grep -c 'add ' both.stacks)
	[ "$n" = 1 ] || { echo "$n different stacks"; cat both.out; }
	cmp both.stacks machine.stacks || diff both.stacks machine.stacks
	sed -n '/^ *registers /,/walk of/p' both.stacks | sed 's/^ *//'
	grep -o 'in ustack helpers, the first at [^ ]*' both.err | head -1
}
