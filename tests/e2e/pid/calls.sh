# pid$target:MODULE:FUNCTION:call: which calls there are, what -l lists, patterns, and what is said where there are none.
[ "$(uname -m)" = x86_64 ] || { echo "skip: calls are known of x86-64 only"; exit 67; }
command -v cc >/dev/null || exit 67
cat >"$TMP/calls.c" <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define OWN __attribute__((noinline, noclone, noipa))
struct point { int x, y; };
OWN int sum_of(struct point *p, int more) { return p->x + p->y + more; }
OWN int inlined_nowhere(int n) { return n + 1; }
OWN int by_pointer(int n) { return n + 2; }
OWN int last(struct point *p) { return sum_of(p, 100); }
static __attribute__((always_inline)) inline int in_line(int n) { return n * 3; }
int (*volatile pointer)(int) = by_pointer;
int main(int argc, char **argv)
{
	struct point p = {3, 4};
	int got = 0;
	for (int i = 0; i < 10; i++)
		got += sum_of(&p, i) + last(&p) + pointer(i) + in_line(i) + inlined_nowhere(i);
	puts(argv[argc - 1]);
	printf("%d\n", got);
	return 0;
}
END
cc -g -O2 -fno-builtin -o "$TMP/calls" "$TMP/calls.c" || exit 67
cp "$TMP/calls" "$TMP/stripped" && strip "$TMP/stripped" || exit 67
run() { # program script
	rm -f "$TMP/out"
	"$DTRACE" -qn "$2" -c "$1 5" -o "$TMP/out" >/dev/null 2>"$TMP/err" || { echo "$2 fails"; cat "$TMP/err"; exit 1; }
	sed 's/^ *//; s/  */ /g; /^$/d' "$TMP/out" | sort
}
same() { # what, got, want
	[ "$2" = "$3" ] || { echo "$1: '$2' instead of '$3'"; exit 1; }
}
fails() { # script, text of the error, flags
	"$DTRACE" -n "$1" -c "$TMP/calls 5" >"$TMP/out" 2>"$TMP/err" && { echo "$1 does not fail"; exit 1; }
	grep -q "$2" "$TMP/err" || { echo "$1: not '$2'"; cat "$TMP/err"; exit 1; }
	[ "$(grep -c '^dtrace:' "$TMP/err")" = 1 ] || { echo "$1: more than one message"; cat "$TMP/err"; exit 1; }
}

same "what is listed" "$("$DTRACE" -ln 'pid$target:a.out:*o*:call' -c "$TMP/calls 5" 2>/dev/null | awk 'NR > 1 {print $3, $4, $5}' | sort | tr '\n' ' ')" \
	"calls inlined_nowhere call calls sum_of call "
same "counts" "$(run "$TMP/calls" 'pid$target:a.out:sum_of:call,pid$target:a.out:last:call,pid$target:a.out:puts:call,pid$target:a.out:printf:call { @[probemod, probefunc, probename] = count(); }' | tr '\n' ';')" \
	"calls last call 10;calls printf call 1;calls puts call 1;calls sum_of call 20;"
same "of another module, in a program without symbols" \
	"$(run "$TMP/stripped" 'pid$target:stripped:puts:call,pid$target:stripped:printf:call { @[probefunc] = count(); }' | tr '\n' ';')" "printf 1;puts 1;"
same "types of arguments" "$(run "$TMP/calls" 'pid$target:a.out:sum_of:call { @[args[0]->y, args[1] > 50] = count(); }' | tr '\n' ';')" "4 0 10;4 1 10;"
same "the callers" "$(run "$TMP/calls" 'pid$target:a.out:sum_of:call { @[ufunc(ucaller), ufunc(uregs[R_PC])] = count(); }' | tr '\n' ';')" \
	"calls\`last calls\`last 10;calls\`main calls\`main 10;"
same "strings" "$(run "$TMP/calls" 'pid$target:a.out:puts:call { @[copyinstr(arg0)] = count(); }')" "5 1"
same "beside the entry" "$(run "$TMP/calls" 'pid$target:a.out:sum_of:call { self->n++; } pid$target:a.out:sum_of:entry /self->n/ { @["after a call"] = count(); self->n = 0; }')" \
	"after a call 20"
same "an empty name is all of a function, without its calls" \
	"$("$DTRACE" -ln 'pid$target:a.out:sum_of:' -c "$TMP/calls 5" 2>/dev/null | grep -c 'call$')" 0
same "the same asked for twice" "$(run "$TMP/calls" 'pid$target:a.out:sum_of:call { @a["a"] = count(); } pid$target:a.out:sum*:call { @b["b"] = count(); }' | tr '\n' ';')" "a 20;b 20;"

fails 'pid$target:a.out:sum_off:call {}' "function 'sum_off' is not in 'calls' of process [0-9]*"
fails 'pid$target:a.out:by_pointer:call {}' "no instruction of 'calls' calls 'by_pointer' by its name"
fails 'pid$target:a.out:qsort:call {}' "function 'qsort' is not in 'calls' of process"
fails 'pid$target:a.out:no*such:call {}' "does not match any probes"
fails 'pid$target:a.out:sum_of:calls {}' "'calls' is no probe of a function"
# a stripped program has calls only, which is said whether a function is named or not
for function in sum_of "" "s*"; do
	"$DTRACE" -qn "pid\$target:a.out:$function:entry {}" -c "$TMP/stripped x" >"$TMP/out" 2>&1 && { echo "stripped: $function"; cat "$TMP/out"; exit 1; }
	grep -q "hint: 'stripped' has no symbols that can be read: .*pid\$target:a.out::call what the program calls" "$TMP/out" || { echo "stripped, no hint: $function"; cat "$TMP/out"; exit 1; }
done
exit 0
