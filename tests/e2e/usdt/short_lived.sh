# The first processes of a file that nobody has mapped before, if they end at once: each has fired its probe, or is counted and said.
. "$SRC/tests/e2e/usdt/traced_common"
# what file systems are waited for altogether, in a machine that is slow
export DTRACE_OPT_FILEWAIT=$((200 * ${PATIENCE:-1}))ms
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
/* app [MS | until FILE]: lives so long, and fires at its end; until there is the file, it fires with 0, too */
int main(int argc, char **argv)
{
	if (argc > 2)
		while (access(argv[2], F_OK)) {
			${up}_STEP(0);
			usleep(5000);
		}
	else if (argc > 1)
		usleep(atoi(argv[1]) * 1000);
	${up}_STEP(1);
	${up}_OTHER(2);
	return 0;
}
END
gcc -O2 -static -c app.c && "$DTRACE" -G -s probes.d -o appprobes.o app.o && gcc -static app.o appprobes.o -o app && many_build || fail "building"
watch_for() { watch -Z -n "$1 tick-20ms { printf(\"on\n\"); }"; } # program
steps="$prov*:::step /arg0/ { @[probemod] = count(); } $prov*:::step /!seen[probemod]/ { seen[probemod] = 1; printf(\"seen %s\n\", probemod); }
	END { printa(\"fired %s %@d\n\", @); }"
# Until a process of the file is traced, with the arguments of a shell that makes it run with "until stop".
until_seen() { # NAME [sh ARGUMENT...]
	rm -f stop
	name=$1
	shift
	"$@" >harm.out &
	waiting=$!
	until grep -q "^seen $name$" out; do kill -0 $tracer || fail "the tracer ends"; sleep 0.01; done
	touch stop
	wait $waiting || fail "$name"
}
# said FILE: how many processes of the file were missed, as dtrace says
said() { sed -n "s/^dtrace: \([0-9]*\) process.* ended before the probes of '$1' were placed: no process had mapped this file before$/\1/p" err | awk '{ n += $1 } END { print n + 0 }'; }
unread() { sed -n 's/^dtrace: \([0-9]*\) process.* ended before a file that .* had mapped could be opened: whether it has probes is not known$/\1/p' err | awk '{ n += $1 } END { print n + 0 }'; }
fired() { awk -v f="$1" '$1 == "fired" && $2 == f { n = $3 } END { print n + 0 }' out; }
# what dtrace says, besides the files of other programs that have ended already
lines() { grep -v 'ended before a file' err | grep -vc '^$'; }

# One after the other, files that are new: none is lost in silence; some are missed, or this test shows nothing. Tracing
# ends with the last one, when its probes may be just being placed.
watch_for "$steps"
for i in 1 2 3 4 5 6 7 8; do cp app one$i; ./one$i || fail "one$i"; done
end
missed=0 unknown=$(unread)
for i in 1 2 3 4 5 6 7 8; do
	# on a slow machine a file may be read too late: then it is said that nothing is known of it
	[ $(($(fired one$i) + $(said one$i))) -ge 1 ] || unknown=$((unknown - 1))
	[ $unknown -ge 0 ] || fail "one$i is neither traced nor said"
	[ $(said one$i) -le 1 ] || fail "one$i is said more than once"
	missed=$((missed + $(said one$i)))
done
[ $missed -gt 0 ] || fail "nothing was missed: the processes live too long for this test"

# 300 processes of a new file at 500 a second: the first ones are counted, all others have fired, and later all of them.
watch_for "$steps"
cp app burst
./many 2000 300 ./burst >harm.out || fail "the burst"
until_seen burst ./burst until stop
./many 2000 50 ./burst >harm.out || fail "the second burst"
end
n=$(fired burst) m=$(said burst)
[ $((n + m)) -ge 351 ] && [ $n -le 351 ] || fail "of 351 processes $n have fired, and $m are said"
[ $n -ge 51 ] || fail "only $n of 351 have fired"
[ "$(lines)" -le 1 ] || fail "more than one message about one file"

# A file that is known, a process that lives long enough, a file whose probes no clause means, one without probes: nothing to say.
cp app known; cp app lives; cp app unmeant; cp many plain
./known 600000 &
stays=$!
watch_for "$steps"
./many 2000 50 ./known >harm.out
until_seen lives ./lives until stop
./plain ./known 0
kill $stays
wait $stays
end
[ -z "$(grep -v "ended before a file" err)" ] && [ "$(fired known)" = 50 ] && [ "$(fired lives)" = 1 ] || fail "known files"
watch_for "$prov*:::nosuch { @[probemod] = count(); }"
./unmeant && ./unmeant || fail "unmeant"
end
[ -z "$(grep -v "ended before a file" err)" ] || fail "a file whose probes are not meant"

# In a mount namespace of its own, where our path leads to nothing: each has fired, is said to be missed, or to be unknown.
watch_for "$steps"
cp app inner
mkdir -p mnt
until_seen inner unshare -m sh -c 'mount -t tmpfs none "$1/mnt" && cp inner many "$1/mnt" && cd "$1/mnt" && rm "$1/inner" && ./many 2000 200 ./inner && exec ./inner until "$1/stop"' \
	sh "$PWD"
end
n=$(fired inner) m=$(said inner)
[ $((n + m + $(unread))) -ge 201 ] && [ $n -ge 1 ] || fail "in a namespace $n have fired, $m are said, of $(unread) nothing is known"
:
