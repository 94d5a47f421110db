# Two ustack helpers in a process, which have more global variables together than it has room for: each works alone; of both, dtrace leaves
# out the first, says which and why, and the other one works.
command -v cc >/dev/null || exit 67
cd "$TMP" || exit 1
. "$SRC/tests/e2e/stack/met.inc"
cat >many.c <<'Y'
#include <sys/syscall.h>

#include "met.h"

int main(void)
{
	syscall(SYS_getppid);
	met_wait();
	syscall(SYS_getppid);
	return 0;
}
Y
# shellcheck disable=SC2086 # options
cc -O1 $met_flags -o many many.c || exit 1

# helper NAME: its frame has the sum of 60 variables
helper() {
	mkdir -p "$1/helpers"
	{
		variables=$(seq -f 'g%g' -s ', ' 60)
		printf '#pragma D helper exec "many"\nuint64_t main, main_end, %s;\n' "$variables"
		printf 'dtrace:helper:attach:\n{\n\tmain = symaddr("main");\n\tmain_end = main + symsize("main");\n'
		seq 60 | sed 's/.*/	g& = &;/'
		printf '}\ndtrace:helper:ustack:\n/arg0 > main && arg0 <= main_end/\n{\n\tuframe("@%s ", %s);\n}\n' "$1" "$(seq -f 'g%g' -s ' + ' 60)"
	} >"$1/helpers/$1.d"
}

# frames FOLDER...: what the stacks of both calls have with the helpers of these folders
frames() {
	folders=
	for f in "$@"; do folders="$folders -L $f"; done
	# shellcheck disable=SC2086 # options
	"$DTRACE" -q $folders -n 'syscall::getppid:entry /pid == $target/ { jstack(100); }' -c ./many 2>&1 |
		grep -E '\[ |^dtrace:' | sed 's/^ *//'
}

helper one
helper two
echo 'alone:'
frames one
frames two
echo 'both:'
frames one two
