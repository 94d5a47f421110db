# Source lines of addresses (option lines): of stacks, keys and single addresses, from every form of debug information; none without it.
# @@foreign
command -v cc >/dev/null || exit 67
set -e
cp "$SRC/tests/e2e/names/lines.c" "$TMP/lines.c"
cp "$SRC/tests/e2e/names/lines.c" "$TMP/lines.cc"
cd "$TMP"
cat >script.d <<'X'
syscall::getppid:entry /pid == $target/
{
	@[ustack()] = count();
	printf("%A\n", uaddr(arg0));
	printf("%s\n", ufunc(arg0));
}
X
cat >want <<'X'
p`show at lines.c:16
p`show
libc.so.6`syscall
p`show at lines.c:17
p`middle at other.h:103
p`main at lines.c:31
X
lines() { # OPTION...
	"$DTRACE" -q -x lines "$@" -c ./p -s script.d 2>&1 |
		sed -n 's/^ *//; s/+0x[0-9a-f]*//; s/(int)//; s/()//; s/lines\.cc/lines.c/; s/^\(libc[^ ]*\) at .*/\1/; /`_start/d; /`__libc_start/d; /^libc[^ ]*`+0x/d; /`/p'
}
check() { # WHAT [OPTION...]
	what=$1
	shift
	lines "$@" >got
	diff -u want got || { echo "$what"; exit 1; }
}

for how in "-gdwarf-5" "-gdwarf-4 -gz" "-gdwarf-3 -gstrict-dwarf -no-pie"; do
	# shellcheck disable=SC2086
	cc -O1 -fno-optimize-sibling-calls $how -o p lines.c
	check "$how"
done
if command -v clang >/dev/null; then
	clang -O1 -fno-optimize-sibling-calls -g -o p lines.c
	check clang
fi
if command -v c++ >/dev/null; then
	c++ -O1 -fno-optimize-sibling-calls -g -o p lines.cc
	check C++
fi
# in another folder than it is compiled in: the name that the compiler was given
mkdir -p src
cp lines.c src/lines.c
sed -i 's/"other.h"/"other.h"/; s/"lines.c"/"src\/lines.c"/' src/lines.c
cc -O1 -fno-optimize-sibling-calls -g -Wl,--build-id=sha1 -o p src/lines.c
lines | sed -n 4p | grep -qx 'p`show at src/lines.c:17' || { lines; exit 1; }

# a separate file; the program has ended, and both are gone by name when it is printed
cc -O1 -fno-optimize-sibling-calls -g -Wl,--build-id=sha1 -o p lines.c
objcopy --only-keep-debug p p.debug
strip -g p
objcopy --add-gnu-debuglink=p.debug p
check "debug link"
rm p.debug
sed -i 's/ at .*//' want
check "no debug information"
