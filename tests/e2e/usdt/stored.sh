# What a pointer argument leads to has been stored when the probe fires, also in variables that nobody else looks at, and not yet
# what the program stores afterwards.
# @@foreign
fail() { echo "$1"; cat "$TMP/out" "$TMP/err" 2>/dev/null; exit 1; }
cd "$TMP" || exit 1
cat >probes.d <<'END'
struct req { int id; int code; };
provider stored { probe text(char *s); probe req(struct req *r, int n); };
END
cat >app.c <<'END'
#include "probes.h"
#include <dtrace/sdt.h>
struct req { int id; int code; };
__attribute__((noinline)) static void go(int i)
{
	char s[8];
	struct req r;

	s[0] = (char)('a' + i);
	s[1] = 'x';
	s[2] = 0;
	r.id = i;
	r.code = i * 10;
	STORED_TEXT(s);
	STORED_REQ(&r, i);
	r.code = i * 100;
	STORED_REQ(&r, i);
	s[1] = 'y';
	DTRACE_PROBE1(stored, sdt, s);
	s[1] = 'z';
	r.code = 0;
}
int main(int argc, char **argv) { for (int i = 1; i < 3; i++) go(i * argc); return 0; }
END
"$DTRACE" -h -s probes.d || fail "-h"
echo 'text bx, 1 10, 1 100, sdt by, text cx, 2 20, 2 200, sdt cy, ' >want
for cc in gcc clang; do
	command -v $cc >/dev/null || continue
	for flags in -O0 -O1 -O2 -O3 '-O2 -flto'; do
		$cc -g $flags -I"$SRC/include" app.c -o app 2>err || fail "$cc $flags: building"
		timeout $((60 * ${PATIENCE:-1})) "$DTRACE" -qn 'stored$target:::text, stored$target:::sdt { printf("%s %s, ", probename, copyinstr(arg0)); }
			stored$target:::req { printf("%d %d, ", args[0]->id, args[0]->code); }' -c ./app >out 2>err || fail "$cc $flags"
		sed '/^$/d' out | cmp -s - want || fail "$cc $flags: other memory"
	done
done
:
