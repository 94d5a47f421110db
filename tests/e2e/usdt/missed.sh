# The first processes of a file that nobody has mapped before, if they end at once: each has fired its probe, or is counted and said.
tracer=
fail() { echo "$1"; [ -z "$tracer" ] || kill $tracer; tail -n 20 "$TMP/out" "$TMP/err" 2>/dev/null; exit 1; }
cd "$TMP" || exit 1
prov=mis$$x
up=$(echo $prov | tr a-z A-Z)
cat >probes.d <<END
provider $prov { probe step(int); probe other(int); };
END
"$DTRACE" -h -s probes.d -o probes.h || fail "-h"
cat >app.c <<END
#include "probes.h"
#include <stdlib.h>
#include <unistd.h>
/* app [MS]: lives so long, and fires at its end */
int main(int argc, char **argv)
{
	if (argc > 1)
		usleep(atoi(argv[1]) * 1000);
	${up}_STEP(1);
	${up}_OTHER(2);
	return 0;
}
END
cat >many.c <<'END'
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
extern char **environ;
/* many FILE N: N processes of the file, one every 2 ms */
int main(int argc, char **argv)
{
	char *args[] = {argv[1], NULL};
	pid_t pid;

	for (int n = atoi(argv[2]); n > 0; n--) {
		if (posix_spawn(&pid, args[0], NULL, NULL, args, environ))
			return 1;
		usleep(2000);
	}
	while (wait(NULL) > 0)
		;
	return 0;
}
END
gcc -O2 -static -c app.c && "$DTRACE" -G -s probes.d -o appprobes.o app.o && gcc -static app.o appprobes.o -o app && gcc -O1 many.c -o many || fail "building"
watch() { # program: traces in the background until it is told to end
	: >out
	"$DTRACE" -qZ -n "$1 tick-20ms { printf(\"on\n\"); }" >out 2>err &
	tracer=$!
	until grep -q '^on$' out; do kill -0 $tracer || fail "the tracer ends"; sleep 0.05; done
}
end() {
	kill -TERM $tracer
	wait $tracer || fail "the tracer's end"
	tracer=
}
# said FILE: how many processes of the file were missed, as dtrace says
said() { sed -n "s/^dtrace: \([0-9]*\) process.* ended before the probes of '$1' were placed: no process had mapped this file before$/\1/p" err | awk '{ n += $1 } END { print n + 0 }'; }
fired() { awk -v f="$1" '$1 == "fired" && $2 == f { n = $3 } END { print n + 0 }' out; }
lines() { grep -vc '^$' err; }

# One after the other, files that are new: none is lost in silence; some are missed, or this test shows nothing.
watch "$prov*:::step { @[probemod] = count(); } END { printa(\"fired %s %@d\n\", @); }"
for i in 1 2 3 4 5 6 7 8; do cp app one$i; ./one$i || fail "one$i"; done
sleep $PATIENCE
end
missed=0
for i in 1 2 3 4 5 6 7 8; do
	[ $(($(fired one$i) + $(said one$i))) -ge 1 ] || fail "one$i is neither traced nor said"
	[ $(said one$i) -le 1 ] || fail "one$i is said more than once"
	missed=$((missed + $(said one$i)))
done
[ $missed -gt 0 ] || fail "nothing was missed: the processes live too long for this test"

# 300 processes of a new file at 500 a second: the first ones are counted, all others have fired.
watch "$prov*:::step { @[probemod] = count(); } END { printa(\"fired %s %@d\n\", @); }"
cp app burst
./many ./burst 300 || fail "the burst"
sleep $PATIENCE
n=$(fired burst) m=$(said burst)
end
n=$(fired burst) m=$(said burst)
[ $((n + m)) -ge 300 ] && [ $n -le 300 ] || fail "of 300 processes $n have fired, and $m are said"
[ $n -ge 150 ] || fail "only $n of 300 have fired"
[ "$(lines)" -le 1 ] || fail "more than one message about one file"

# A file that is known, a process that lives long enough, a file whose probes no clause means, one without probes: nothing to say.
cp app known; cp app lives; cp app unmeant; cp many plain
./known 5000 &
stays=$!
watch "$prov*:::step { @[probemod] = count(); } END { printa(\"fired %s %@d\n\", @); }"
./many ./known 50
./lives $((PATIENCE * 1000))
./plain ./known 0
sleep $PATIENCE
end
[ -z "$(grep -v "ended before a file" err)" ] && [ "$(fired known)" = 50 ] && [ "$(fired lives)" = 1 ] || fail "known files"
wait $stays
watch "$prov*:::nosuch { @[probemod] = count(); }"
./unmeant && ./unmeant && sleep $PATIENCE
end
[ -z "$(grep -v "ended before a file" err)" ] || fail "a file whose probes are not meant"

# In a mount namespace of its own, where our path leads to nothing: each has fired, is said to be missed, or to be unknown.
watch "$prov*:::step { @ = count(); } END { printa(\"fired all %@d\n\", @); }"
cp app inner
unshare -m sh -c 'mount -t tmpfs none "$1" && cp inner many "$1" && cd "$1" && rm "$OLDPWD/inner" && exec ./many ./inner 200' sh "$(mkdir -p mnt && echo "$PWD/mnt")" || fail "the namespace"
sleep $PATIENCE
end
unread=$(sed -n 's/^dtrace: \([0-9]*\) process.* ended before a file that .* had mapped could be opened: whether it has probes is not known$/\1/p' err | awk '{ n += $1 } END { print n + 0 }')
n=$(fired all) m=$(said inner)
[ $((n + m + unread)) -ge 200 ] && [ $n -ge 1 ] || fail "in a namespace $n have fired, $m are said, of $unread nothing is known"
:
