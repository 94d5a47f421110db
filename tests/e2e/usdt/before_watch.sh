# What processes map between the match of a pattern and the start of tracing, through the library: nothing is missed, although
# mappings are read only once; also when so many processes begin meanwhile that the kernel has no room to tell of all.
[ -z "$SANITIZED" ] || exit 0 # a program without sanitizers cannot use a library with them
fail() { echo "$1"; cat "$TMP/out" "$TMP/err" 2>/dev/null; exit 1; }
cd "$TMP" || exit 1
prov=btw$$x up=BTW$$X
cat >p.d <<END
provider $prov { probe step(int n); };
END
cat >app.c <<END
#include "p.h"
#include <stdio.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	puts("up");
	fclose(stdout);
	for (int i = 0; i < 40000 * PATIENCE; i++) {
		${up}_STEP(argc);
		usleep(1000);
	}
}
END
cat >driver.c <<'END'
#include <dtrace.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
/* driver PATTERN COMMAND PATIENCE: compiles, runs the command, then traces until a probe of the pattern fires. */
int main(int argc, char **argv)
{
	char text[200];
	int err, status = 2;
	dtrace_hdl_t *h = dtrace_open(DTRACE_VERSION, 0, &err);
	dtrace_prog_t *p;
	time_t until = time(NULL) + 30 * strtol(argv[3], NULL, 10);

	snprintf(text, sizeof(text), "%s { exit(arg0); }", argv[1]);
	p = h ? dtrace_program_strcompile(h, text, DTRACE_PROBESPEC_NAME, DTRACE_C_ZDEFS, 0, NULL) : NULL;
	if (!p || dtrace_program_exec(h, p, NULL) || system(argv[2]) || dtrace_go(h)) {
		fprintf(stderr, "%s\n", h ? dtrace_errmsg(h, dtrace_errno(h)) : "no handle");
		return 3;
	}
	while (time(NULL) < until) {
		dtrace_workstatus_t w;

		dtrace_sleep(h);
		w = dtrace_work(h, stdout, NULL, NULL, NULL);
		if (w == DTRACE_WORKSTATUS_DONE) {
			status = 0;
			break;
		}
	}
	dtrace_stop(h);
	dtrace_close(h);
	return status;
}
END
"$DTRACE" -h -s p.d || fail "-h"
cc -O1 -DPATIENCE="$PATIENCE" -I. -c app.c && "$DTRACE" -G -s p.d app.o && cc -o app app.o p.o || fail "the program"
lib=$BUILD/src/cmd/dtrace
cc -o driver -I "$SRC/include" driver.c -L "$lib" -ldtrace -Wl,-rpath,"$lib" -Wl,--unresolved-symbols=ignore-in-shared-libs || fail "the driver"
cat >begin.sh <<'END'
rm -f pid app.up
./app >app.up & echo $! >pid
until [ -s app.up ]; do sleep 0.01; done
i=0
while [ $i -lt ${1:-0} ]; do /bin/true; i=$((i + 1)); done
END
trap 'kill "$(cat pid 2>/dev/null)" 2>/dev/null' EXIT
for noise in 0 1500; do
	timeout $((60 * PATIENCE)) ./driver "$prov*:::step" "sh begin.sh $noise" "$PATIENCE" >out 2>err || fail "a program that began meanwhile, and $noise others: status $?"
	kill "$(cat pid)"
done
