# A program of the library: examples/topsys.c is built with the suite, counts what a workload does, and ends with ^C.
# The header stands alone in C and C++, and the library exports what it declares, nothing else.
topsys=$BUILD/topsys
fail() { echo "$1"; cat "$TMP/out" "$TMP/err"; exit 1; }

# 1234 calls of a command: in several tables, if it takes long; none is lost between them.
timeout 60 "$topsys" -i 0.2 -n 100 "$TRIGGER/calls getppid 1234" >"$TMP/out" 2>"$TMP/err" || fail "status $?"
[ ! -s "$TMP/err" ] || fail "messages"
[ "$(awk '$1 == "getppid" { n += $2 } END { print n }' "$TMP/out")" = 1234 ] || fail "not 1234 calls of getppid()"
grep -qE '^getppid +[0-9]+ +[0-9]+ +[0-9]+ (ns|us|ms) +[0-9]+ (ns|us|ms) +\|.{24}\|$' "$TMP/out" || fail "the row"

# All processes, until ^C: a last table, and a proper end.
"$topsys" -i 100 >"$TMP/out" 2>"$TMP/err" & p=$!
# The shell's process catches SIGINT, too, until it ignores it and executes the program.
catches_int() { [ "$(readlink /proc/$p/exe)" = "$(readlink -f "$topsys")" ] && [ $(($(sed -n 's/^SigCgt:[[:space:]]*/0x/p' /proc/$p/status) & 2)) != 0 ]; }
until catches_int; do kill -0 $p 2>/dev/null || fail "topsys has ended"; sleep 0.05; done # it traces then
"$TRIGGER/calls" getppid 10
kill -INT $p
wait $p || fail "status $? after ^C"
[ "$(grep -c '^CALL ' "$TMP/out")" = 1 ] || fail "not one table at the end"
grep -qE '^all +[1-9][0-9]* ' "$TMP/out" || fail "no calls at all"

# What cannot be: said, with status 1.
"$topsys" /no/such/program >"$TMP/out" 2>"$TMP/err"
[ $? = 1 ] && grep -q '^topsys: /no/such/program: ' "$TMP/err" || fail "a command that does not exist"

# The line that the example gives, without what pkg-config knows of an installed library.
if command -v cc >/dev/null; then
	lib=$BUILD/src/cmd/dtrace
	cc -O2 -Wall -Wextra -Werror -std=gnu11 -I "$SRC/include" -o "$TMP/topsys" "$SRC/examples/topsys.c" -L "$lib" -ldtrace \
		-Wl,-rpath,"$lib" -Wl,--unresolved-symbols=ignore-in-shared-libs >"$TMP/out" 2>"$TMP/err" || fail "does not compile"
	# The program of the guide is what it says: it prints who opens what, and how long that took.
	sed -n '/^```c program$/,/^```$/p' "$SRC/doc/guide/consumer.md" | grep -v '^```' >"$TMP/guide.c"
	cc -Wall -Werror -I "$SRC/include" -o "$TMP/guide" "$TMP/guide.c" -L "$lib" -ldtrace -Wl,-rpath,"$lib" \
		-Wl,--unresolved-symbols=ignore-in-shared-libs >"$TMP/out" 2>"$TMP/err" || fail "the guide's program does not compile"
	if [ -z "$SANITIZED" ]; then
		while [ ! -e "$TMP/stop" ]; do "$TRIGGER/calls" open 10; done &
		timeout 60 "$TMP/guide" >"$TMP/out" 2>"$TMP/err" || { touch "$TMP/stop"; fail "the guide's program: status $?"; }
		touch "$TMP/stop"
		wait
		grep -qE '^CPU [0-9]+: calls /no/such/file [0-9]+ ns$' "$TMP/out" || fail "the guide's program does not see the opens"
	fi
	printf '#include <dtrace.h>\n' >"$TMP/only.c"
	cc -std=c99 -Wall -Wextra -Werror -pedantic -D_POSIX_C_SOURCE=200809L -I "$SRC/include" -fsyntax-only "$TMP/only.c" 2>"$TMP/err" || fail "C99"
fi
if command -v c++ >/dev/null; then
	printf '#include <dtrace.h>\nint main() { return DTRACEACT_NONE; }\n' >"$TMP/only.cc"
	c++ -Wall -Wextra -Werror -I "$SRC/include" -fsyntax-only "$TMP/only.cc" 2>"$TMP/err" || fail "C++"
fi

[ -n "$SANITIZED" ] && exit 0 # sanitizers add symbols of their own
nm -D --defined-only "$BUILD/src/cmd/dtrace/libdtrace.so" | awk '{ print $3 }' | sort >"$TMP/exported"
grep -o '\bdtrace_[a-z0-9_]*' "$SRC/include/dtrace.h" | sort -u >"$TMP/declared"
comm -23 "$TMP/exported" "$TMP/declared" >"$TMP/out"
[ ! -s "$TMP/out" ] || fail "exported, but not in dtrace.h"
grep -v '^typedef' "$SRC/include/dtrace.h" | grep -oE '\bdtrace_[a-z0-9_]+\(\)?' | tr -d '()' | sort -u >"$TMP/functions"
[ "$(wc -l <"$TMP/functions")" -gt 40 ] || fail "few functions are declared"
comm -13 "$TMP/exported" "$TMP/functions" >"$TMP/out"
[ ! -s "$TMP/out" ] || fail "declared, but not exported"
