# A pattern that ends with the number of a process finds probes of libraries that the process opens later, those of pid and the programs' own.
. "$SRC/tests/e2e/usdt/traced_common"
prov=pgl$$x
up=$(echo $prov | tr a-z A-Z)
cat >probes.d <<END
provider $prov { probe step(int); };
END
"$DTRACE" -h -s probes.d -o probes.h || fail "-h"
cat >lib.c <<END
#include "probes.h"
void work(int i);
static volatile int last;
void work(int i) { last = i; ${up}_STEP(i); } /* a counter of an own probe excludes another probe at the same instruction */
__attribute__((constructor)) static void begin(void) { ${up}_STEP(-1); }
END
cat >app.c <<END
#include "probes.h"
#include <dlfcn.h>
#include <stddef.h>
int main(int argc, char **argv)
{
	${up}_STEP(0);
	for (int i = 1; i < argc; i++) {
		void *lib = dlopen(argv[i], RTLD_NOW);
		void (*work)(int) = lib ? (void (*)(int))dlsym(lib, "work") : NULL;

		if (!work)
			return 1;
		work(i);
	}
	return 0;
}
END
gcc -O2 -fPIC -c lib.c && "$DTRACE" -G -s probes.d -o libprobes.o lib.o && gcc -shared lib.o libprobes.o -o libone.so || fail "building the library"
gcc -O2 -c app.c && "$DTRACE" -G -s probes.d -o appprobes.o app.o && gcc app.o appprobes.o -ldl -o app || fail "building"
cp libone.so libtwo.so
cat >expected <<END
app 0
libone.so -1
libone.so 1
libtwo.so -1
libtwo.so 2
END
for pattern in "pgl*\$target:::step" "p*\$target:::step" "*\$target:::step" "$prov\$target:::step" "pgl*:::step"; do
	timeout $((60 * ${PATIENCE:-1})) "$DTRACE" -q -n "$pattern /pid == \$target/ { printf(\"%s %d\\n\", probemod, arg0); }" -c "./app ./libone.so ./libtwo.so" >out 2>err || { cat err; fail "$pattern fails"; }
	sed '/^$/d' out | cmp -s - expected || { cat out err; fail "$pattern misses something"; }
done
# functions and own probes of what comes, in one description
timeout $((60 * ${PATIENCE:-1})) "$DTRACE" -q -Zn "p*\$target:libtwo.so:work:*t* /probename != \"return\"/ { printf(\"%s\\n\", probename); }" \
	-c "./app ./libone.so ./libtwo.so" >out 2>err || { cat err; fail "both providers"; }
[ "$(sed '/^$/d' out | sort -u | tr '\n' ' ')" = "entry step " ] || { cat out err; fail "both providers"; }
# a number that is none of a process means none, and is no error of another provider
"$DTRACE" -n 'nosuch*4194399:::x {}' 2>err && fail "a process that is not there"
grep -q "does not match any probes" err || { cat err; fail "the message"; }
exit 0
