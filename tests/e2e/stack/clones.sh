# A helper for an interpreter whose functions the compiler has renamed, copied and split (-flto): it names its function, has all of its code,
# and shows every frame. What could be one of two functions or variables of a name is none.
# @@foreign
command -v cc >/dev/null || exit 67
cd "$TMP" || exit 1
cat >clones.h <<'X'
struct frame {
	struct frame *outer;
	const char *name;
	int line;
};

struct step {
	const char *name;
	int line, is_bad;
};

extern volatile int touched;
void clones_run(const struct step *s);
void other_run(int n);
X
cat >clones.c <<'X'
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "clones.h"

static struct frame *frame_now;
volatile int touched;

/* other.c has both, too */
static int counter;
static __attribute__((noinline)) void twice(int n)
{
	counter += n;
	touched += counter;
	__asm__ volatile("");
}

static __attribute__((noinline, cold)) void complain(const struct step *s)
{
	touched += s->line;
	syscall(SYS_getppid);
	__asm__ volatile("");
}

/* Those who call it pass constants; what deals with a bad step is seldom executed. */
static __attribute__((noinline)) int interpret(const struct step *s, int is_loud)
{
	struct frame f = {frame_now, s->name, s->line};
	int r = 1;

	frame_now = &f;
	if (s->is_bad)
		complain(s);
	else if (s[1].name)
		r = (is_loud ? 1 : 2) + (s[1].line & 1 ? interpret(s + 1, 1) : interpret(s + 1, 0));
	else
		syscall(SYS_getppid);
	twice(is_loud);
	frame_now = f.outer;
	__asm__ volatile("");
	return r;
}

void clones_run(const struct step *s)
{
	interpret(s, 0);
	touched++;
}

static const struct step good[] = {{"main", 1, 0}, {"quiet", 12, 0}, {"loud", 21, 0}, {"leaf", 32, 0}, {NULL, 0, 0}};
static const struct step bad[] = {{"main", 1, 0}, {"loud", 13, 0}, {"wrong", 22, 1}, {NULL, 0, 0}};

int main(int argc, char **argv)
{
	/* helpers cannot read pages that nobody has used yet */
	for (const struct step *s = good; s->name; s++)
		touched += *s->name;
	for (const struct step *s = bad; s->name; s++)
		touched += *s->name;
	clones_run(good);
	clones_run(bad);
	other_run(argc);
	return 0;
}
X
cat >other.c <<'X'
#include "clones.h"

static int counter;
static __attribute__((noinline)) void twice(int n)
{
	counter -= n;
	touched += counter;
	__asm__ volatile("");
}

void other_run(int n)
{
	twice(n);
	twice(n + 1);
}
X
cat >clones.d <<'X'
#pragma D helper exec "clones_*"

uint64_t current, interpret, interpret_end;
uint64_t one, one_end, two, two_end, three, three_end; /* its other pieces */

inline int IN[uint64_t pc] = (pc > interpret && pc <= interpret_end) || (pc > one && pc <= one_end) ||
    (pc > two && pc <= two_end) || (pc > three && pc <= three_end);

dtrace:helper:attach:
{
	current = symaddr("frame_now");
	interpret = pieceaddr("interpret", 0);
	interpret_end = interpret + piecesize("interpret", 0);
	one = pieceaddr("interpret", 1);
	one_end = one + piecesize("interpret", 1);
	two = pieceaddr("interpret", 2);
	two_end = two + piecesize("interpret", 2);
	three = pieceaddr("interpret", 3);
	three_end = three + piecesize("interpret", 3);
	if (!current || !interpret || pieceaddr("interpret", 4))
		udecline("what the compiler has made of this toy is not known");
	if (symaddr("twice") || symsize("twice") || symaddr("counter") || pieceaddr("twice", 0) || piecesize("twice", 0) ||
	    pieceaddr("interpret", 1ull << 32))
		udecline("one of two functions was taken");
	if (symaddr("other_run") && symaddr("other_run") != pieceaddr("other_run", 0))
		udecline("a function has two addresses");
}

dtrace:helper:uthread:
{
	this->frame = *(uint64_t *)current;
}

dtrace:helper:ustack:
/this->frame && IN[arg0]/
{
	uframe("@", copyinstr(*(uint64_t *)(this->frame + 8)), " line ", *(int *)(this->frame + 16));
	this->frame = *(uint64_t *)this->frame;
}
X
# made NAME OPTION...: compiles the program, says what became of its function, and traces it
made() {
	name=clones_$1
	shift
	cc -fno-optimize-sibling-calls "$@" -o "$name" clones.c other.c 2>warnings || {
		cat warnings
		return
	}
	"$DTRACE" -q -x helper=clones.d -n 'syscall::getppid:entry /pid == $target/ { printf("stack\n"); jstack(); }' -c "./$name" 2>&1 |
		awk '/^stack/ { if (n++ > 0) print line; line = "" }
			/^ *\[ / { sub(/^ *\[ /, ""); sub(/ \]$/, ""); line = line (line == "" ? "" : ", ") $0 }
			/^dtrace/
			END { print line }'
}
{
	echo 'not optimised:'
	made plain -O0
	nm clones_plain | sed -n 's/.* [tT] \(interpret.*\)/\1/p' | sort
	# which clones there are is the compiler's affair, that there are some is what is tested
	for how in '-O2' '-O2 -flto' '-O3 -flto -fipa-cp-clone -flto-partition=max'; do
		echo "$how:"
		# shellcheck disable=SC2086
		made "$(echo "$how" | tr -dc a-z0-9)" $how
		nm "$name" | sed -n 's/.* [tT] interpret\(\..*\)/a clone/p' | uniq
	done
} 2>&1
