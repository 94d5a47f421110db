# Functions that are nothing but a return are entered before they return: the kernel runs probes at one instruction in the
# reverse order of their coming. By uprobes, in the process, and in a child that is followed.
cd "$TMP" || exit 1
[ "$(uname -m)" = x86_64 ] || { echo "skip: functions of this processor"; exit 67; }
cat >empty.c <<'EOF'
#include <sys/wait.h>
#include <unistd.h>
#define FUNC(name, code) __asm__(".pushsection .text\n.balign 16\n.type " #name ",@function\n" #name ":\n" code \
	"\n.size " #name ", . - " #name "\n.fill 8, 1, 0xcc\n.popsection"); void name(void);
FUNC(nothing, "\tret")
FUNC(longer, "\trep ret")
int main(void)
{
	nothing();
	longer();
	if (fork() == 0) {
		nothing();
		_exit(0);
	}
	wait(0);
	nothing();
	return 0;
}
EOF
"${CC:-cc}" -O1 -o empty empty.c || exit 1
three() { printf "$1 %s $2\n" entry 0 return; }
{ three nothing 1; three longer 2; three nothing 3; } >none
{ three nothing 1; three longer 2; three nothing 1; three nothing 3; } >fork
entries='pid$target:empty:nothing:entry, pid$target:empty:longer:entry { printf("%s %s %d\n", probefunc, probename, ++self->n); }'
others='pid$target:empty:nothing:return, pid$target:empty:longer:return, pid$target:empty:nothing:0, pid$target:empty:longer:0 {
	printf("%s %s %d\n", probefunc, probename, self->n); }'
check() { # mode, follow, script
	timeout $((60 * ${PATIENCE:-1})) "$DTRACE" -q -x inproc=$1 $([ $2 = fork ] && echo -x follow=fork) -c ./empty -n "self int n; $3" >out 2>err
	status=$?
	grep . out >got
	[ $status = 0 ] && cmp -s got $2 || { echo "inproc=$1, follow=$2: status $status, $3"; cat got err; exit 1; }
}
for mode in off auto; do
	for follow in none fork; do
		check $mode $follow "$entries $others"
		check $mode $follow "$others $entries"
	done
done
