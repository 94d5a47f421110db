# Descriptions of probes (DOF) that lie, in files of an unprivileged process: one message, types from the notes, the probes fire, nobody is harmed.
# @@foreign
# @@exclusive: other tests with a pattern would be told of these files, too
# @@timeout: 300
tracer=
fail() { echo "$1"; [ -z "$tracer" ] || kill $tracer; tail -n 30 "$TMP/out" "$TMP/err" 2>/dev/null; exit 1; }
cd "$TMP" || exit 1
chmod 711 "$TMP"
prov=ldf$$x
up=$(echo $prov | tr a-z A-Z)
cat >probes.d <<END
provider $prov { probe step(int8_t first, string second); probe other(uint16_t); };
END
"$DTRACE" -h -s probes.d -o probes.h || fail "-h"
cat >app.c <<END
#define _GNU_SOURCE
#include "probes.h"
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
/* app [FILE]: fires when a line comes; with a file, has a copy of it in memory mapped as code */
int main(int argc, char **argv)
{
	char c;

	if (argc > 1) {
		static char buf[16 << 20];
		int in = open(argv[1], O_RDONLY), fd = memfd_create("object", 0);
		ssize_t n = read(in, buf, sizeof(buf));

		if (n <= 0 || write(fd, buf, (size_t)n) != n || mmap(NULL, (size_t)n, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) == MAP_FAILED)
			return 1;
	}
	puts("ready");
	fflush(stdout);
	(void)!read(0, &c, 1);
	${up}_STEP(7, "word");
	${up}_OTHER(9);
	return 0;
}
END
gcc -O2 -c app.c && "$DTRACE" -G -s probes.d -o appprobes.o app.o && gcc app.o appprobes.o -o honest || fail "building"
objcopy -O binary --only-section=.SUNW_dof --set-section-flags .SUNW_dof=alloc honest dof.bin && [ -s dof.bin ] || fail "no DOF"

# What is wrong in each: the header, sections, the provider, the probes, texts.
cat >lie.py <<'END'
import struct, sys
true = open("dof.bin", "rb").read()
true = true[:struct.unpack_from("<Q", true, 48)[0]] # of several images the first one, so that no other tells the truth
secnum, = struct.unpack_from("<I", true, 28)
secoff, = struct.unpack_from("<Q", true, 32)
sections = [struct.unpack_from("<IIIIQQ", true, secoff + 32 * i) for i in range(secnum)]
STRTAB, PROVIDER, PROBES, PRARGS = 8, 15, 16, 17
where = {s[0]: i for i, s in enumerate(sections)}
where[STRTAB], where[PROBES], where[PRARGS] = struct.unpack_from("<III", true, sections[where[PROVIDER]][4])
head = lambda kind: secoff + 32 * where[kind]
data = lambda kind: sections[where[kind]][4]
def lie(name, *changes):
    b = bytearray(true)
    for form, at, value in changes:
        struct.pack_into(form, b, at, value)
    open(f"{name}.dof", "wb").write(b)
    print(name)
far = 2**64
lie("magic", ("<I", 0, 0x41414141))
lie("filesz", ("<Q", 48, far - 8))
lie("filesz0", ("<Q", 48, 0))
lie("secsize", ("<I", 24, 0xffffffff))
lie("secnum", ("<I", 28, 1000000))
lie("secnum32", ("<I", 28, 0xffffffff))
lie("secoff", ("<Q", 32, far - 32))
lie("strings_off", ("<Q", head(STRTAB) + 16, far - 16))
lie("strings_size", ("<Q", head(STRTAB) + 24, far - 1))
lie("probes_off", ("<Q", head(PROBES) + 16, far - 48))
lie("probes_size", ("<Q", head(PROBES) + 24, far - 48))
lie("provider_size", ("<Q", head(PROVIDER) + 24, 3))
lie("provider_strtab", ("<I", data(PROVIDER), 0xffffffff))
lie("provider_probes", ("<I", data(PROVIDER) + 4, 0x7fffffff))
lie("provider_name", ("<I", data(PROVIDER) + 16, 0xffffffff))
nprobes = sections[where[PROBES]][5] // 48
at = [data(PROBES) + 48 * i for i in range(nprobes)]
for name, off, form, value in (("probe_name", 12, "<I", 0xfffffff0), ("probe_types", 16, "<I", 0xffffffff), ("probe_xtypes", 20, "<I", 0xffffff00),
                               ("probe_map", 24, "<I", 0xffffffff), ("probe_nargs", 32, "<B", 255), ("probe_nxargs", 33, "<B", 255)):
    lie(name, *((form, a + off, value) for a in at))
size = sections[where[STRTAB]][5]
lie("unterminated", *(("<B", data(STRTAB) + i, 65) for i in range(size)))
# A million probes: each 48 bytes, behind the rest; more than is read.
for name, n in (("million", 1000000), ("quarter_million", 250000)):
    b = bytearray(true) + b"\0" * (-len(true) % 8)
    struct.pack_into("<Q", b, head(PROBES) + 16, len(b))
    struct.pack_into("<Q", b, head(PROBES) + 24, 48 * n)
    struct.pack_into("<Q", b, 48, len(b) + 48 * n)
    open(f"{name}.dof", "wb").write(b + true[at[0]:at[0] + 48] * n)
    print(name)
END
n=0
cases=$(python3 lie.py) || fail "making the lies"

run() { # program args: starts it without privileges
	rm -f in; mkfifo in; chmod 666 in
	setpriv --reuid 65534 --regid 65534 --clear-groups --no-new-privs "$@" <in >app.out &
	app=$!
	exec 5>in
	until grep -q ready app.out; do kill -0 $app || fail "$1: it does not start"; sleep 0.01; done
}
# trace NAME DESCRIPTION [OPTION...]: what the program, which runs, fires at its end; peak memory and time
trace() {
	name=$1 desc=$2
	shift 2
	: >out
	timeout $((60 * ${PATIENCE:-1})) "$DTRACE" -q "$@" -n "$desc { printf(\"%s %d\n\", probename, arg0); } tick-20ms { printf(\"on\n\"); }" >out 2>err &
	tracer=$!
	until grep -q '^on$' out; do kill -0 $tracer || fail "$name: the tracer ends"; sleep 0.02; done
	rss=$(awk '/^VmHWM/ { print $2 }' /proc/$(cat /proc/$tracer/task/$tracer/children | cut -d' ' -f1)/status)
	echo >&5; exec 5>&-
	wait $app || fail "$name: the program was harmed"
	kill -TERM $tracer 2>/dev/null
	wait $tracer
	tracer=
	[ "$(grep -E '^(step|other) ' out | sort | tr '\n' ,)" = "other 9,step 7," ] || fail "$name: it does not fire"
	[ -n "$SANITIZED" ] || [ "$rss" -le 200000 ] || fail "$name: $rss kB"
}
damaged="the description of the probes in 'FILE' (DOF) is damaged: types of arguments that cannot be read are taken from elsewhere"
# Messages about files of other programs, whose notes are read for the pattern, too, are theirs.
said() { # name file message
	[ "$(grep -cF "$(echo "$3" | sed "s/FILE/$2/")" err)" = 1 ] && [ "$(grep -c "^dtrace: .*'$2'" err)" = 1 ] || fail "$1: not this one message: $(echo "$3" | sed "s/FILE/$2/")"
}
types() { sed -n 's/.*args\[[0-9]\]: //p' out | paste -sd,; }

# The honest one has the types of its definition; so have lies that are not about types.
run ./honest
timeout $((60 * ${PATIENCE:-1})) "$DTRACE" -lvn "$prov$app:::step" >out 2>err || fail "the listing"
! grep -q "'honest'" err && [ "$(types)" = "int8_t,string" ] || fail "the types of the definition: $(types)"
trace honest "$prov*:::"
! grep -q "'honest'" err || fail "a message"

for name in $cases; do
	objcopy --update-section .SUNW_dof=$name.dof honest $name || fail "objcopy $name"
	want=$damaged
	case $name in *million) want="some notes about probes in 'FILE' cannot be read" ;; esac
	run ./$name
	before=$(date +%s)
	timeout $((60 * ${PATIENCE:-1})) "$DTRACE" -lvn "$prov*:::step" >out 2>err || fail "$name: the listing of the pattern"
	said $name $name "$want"
	case $(types) in
	int8_t,string) fail "$name: a damaged description is taken for right" ;;
	int8_t,uint64_t | int,uint64_t | char,*) ;;
	*) fail "$name: types $(types)" ;;
	esac
	timeout $((60 * ${PATIENCE:-1})) "$DTRACE" -lvn "$prov\$target:::" -p $app >out 2>err || fail "$name: the listing of -p"
	said $name $name "$want"
	[ $(($(date +%s) - before)) -le $((10 * PATIENCE)) ] || fail "$name: it takes too long"
	# half of them traced by a pattern, half as -p
	if [ $((n = n + 1)) -gt 12 ]; then trace $name "$prov*:::"; else trace $name "$prov\$target:::" -p $app; fi
done

# The same in an object in memory, as programs make them that have probes at run time.
run ./honest secnum
timeout $((60 * ${PATIENCE:-1})) "$DTRACE" -lvn "$prov$app::*:step" >out 2>err || fail "an object in memory: the listing"
grep -q "^dtrace: the description of the probes in '.*object.*' (DOF) is damaged" err && [ "$(grep -c "^dtrace: .*'.*object.*'" err)" = 1 ] || fail "an object in memory: no message"
echo >&5; exec 5>&-
wait $app || fail "an object in memory: the program was harmed"
:
