# -C: where headers are looked for, -D -U -H -X, line numbers in messages, what a failing preprocessor leads to.
mkdir "$TMP/lib" "$TMP/inc"
echo '#define HERE 7' >"$TMP/lib/here.h"
echo '#define THERE 5' >"$TMP/inc/there.h"
cat >"$TMP/lib/a.d" <<'END'
#!/usr/sbin/dtrace -Cqs
#include "here.h"
#include <there.h>
#ifndef EXTRA
#define EXTRA 0
#endif
#define SUM(a, b) ((a) + (b))
BEGIN { exit(SUM(HERE, THERE) + EXTRA); }
END
status() { want=$1; shift; "$@" >"$TMP/out" 2>&1; got=$?; [ $got = "$want" ] || { echo "$*: $got, expected $want"; cat "$TMP/out"; exit 1; }; }
status 12 "$DTRACE" -qC -I "$TMP/inc" -s "$TMP/lib/a.d"
status 22 "$DTRACE" -qC -I "$TMP/inc" -DEXTRA=10 -s "$TMP/lib/a.d"
status 12 "$DTRACE" -qC -I "$TMP/inc" -D EXTRA=10 -U EXTRA -s "$TMP/lib/a.d"
status 13 "$DTRACE" -q -x cpp -x incdir="$TMP/inc" -x define=EXTRA=1 -s "$TMP/lib/a.d"
# cppargs is a list of words, on the command line and in the environment.
status 14 "$DTRACE" -qC -x cppargs="-I$TMP/inc -DEXTRA=2" -s "$TMP/lib/a.d"
status 15 env DTRACE_OPT_CPPARGS=" -I$TMP/inc   -DEXTRA=3 " "$DTRACE" -qC -s "$TMP/lib/a.d"
status 12 "$DTRACE" -qC -x cppargs="-I$TMP/inc -DEXTRA=2 -DOTHER" -x undef="OTHER EXTRA" -s "$TMP/lib/a.d"
cd "$TMP/lib" || exit 1
status 12 "$DTRACE" -qC -I../inc -s a.d
"$DTRACE" -qCH -I../inc -s a.d 2>&1 | grep -q 'inc/there.h' || { echo "-H prints no paths"; exit 1; }
status 1 "$DTRACE" -qC -s a.d
grep -q 'Preprocessor failed to process input program' "$TMP/out" || { cat "$TMP/out"; exit 1; }
printf '#include "here.h"\n\nBEGIN { trace(nothing); }\n' >b.d
status 1 "$DTRACE" -C -s b.d
grep -q 'failed to compile script b.d: line 3: failed to resolve nothing' "$TMP/out" || { cat "$TMP/out"; exit 1; }
status 1 "$DTRACE" -C -x cpppath=/no/such/cpp -s b.d
grep -q 'Preprocessor not found' "$TMP/out" || { cat "$TMP/out"; exit 1; }
printf '#if defined(__linux) && defined(__unix) && defined(__SUNW_D) && __SUNW_D_VERSION >= 0x01000000\nBEGIN { exit(9); }\n#endif\n' >c.d
status 9 "$DTRACE" -qC -s c.d
