# memprof of what it does not know: growth and malloc go on, or what was looked for is said and growth is offered. A falsified version of CPython, static
# programs with and without symbols, an allocator of the program's own, a Go program.
memprof=$BUILD/src/cmd/memprof/memprof
[ -x "$memprof" ] && command -v cc >/dev/null || exit 67
fail() { echo "$1"; head -60 "$TMP/out" "$TMP/err" 2>/dev/null; exit 1; }
cd "$TMP" || exit 1
cat >blocks.c <<'END2'
#include <stdlib.h>
#include <unistd.h>
void *volatile kept[5000];
__attribute__((noinline)) void leak(int i)
{
	kept[i] = malloc(1000);
	for (int k = 0; k < 1000; k++)
		((volatile char *)kept[i])[k] = 1;
}
int main(void)
{
	for (int i = 0; i < 5000; i++)
		leak(i);
	_exit(0);
}
END2
cat >own.c <<'END2'
#include <stddef.h>
#include <sys/mman.h>
#include <unistd.h>
static char *next;
__attribute__((noinline)) void *pool_get(size_t n)
{
	if (!next)
		next = mmap(0, 16 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	next += n;
	return next - n;
}
__attribute__((noinline)) void leak(void)
{
	volatile char *p = pool_get(1000);
	for (int i = 0; i < 1000; i++)
		p[i] = 1;
}
int main(void)
{
	for (int i = 0; i < 5000; i++)
		leak();
	_exit(0);
}
END2
grown() { # grown COMMAND...: its first row has some 5 MB
	"$memprof" --json -n 1 "$@" >out 2>err || fail "growth of $*"
	/usr/bin/python3 -c 'import json; r = json.loads(open("out").readline()); assert 2.5e6 < r["bytes"] < 8e6, r' 2>>err || fail "growth of $*: other numbers"
}
refused() { # refused WAY... COMMAND: no allocator
	"$memprof" "$@" >out 2>err; [ $? = 1 ] && grep -q "no file with the functions malloc() and free()" err && grep -q "^hint: memprof without a word shows what grows" err || fail "not refused: $*"
}
cc -O1 -o own own.c || exit 1
grown ./own
"$memprof" malloc ./own >out 2>err || fail "malloc ./own"
grep -q "^memprof: nothing was asked for" err && grep -q "^hint: only malloc() and its like are followed: memprof without a word" err || fail "malloc ./own: no hint"
# a static program that gives nothing back has no free()
for compiler in musl-gcc cc; do
	command -v $compiler >/dev/null || { echo "skip: there is no $compiler"; continue; }
	echo 'int main(void) { return 0; }' >none.c
	$compiler -static -o none none.c 2>/dev/null || { echo "skip: $compiler makes no static programs"; continue; }
	$compiler -static -O1 -o static-$compiler blocks.c && $compiler -static -s -O1 -o bare-$compiler blocks.c || exit 1
	for options in "" "--by caller" "-x inproc=off"; do
		"$memprof" malloc $options --json -n 0 ./static-$compiler >out 2>err || fail "malloc $options of $compiler -static"
		/usr/bin/python3 -c 'import json; assert any((r["bytes"], r["count"]) == (5000000, 5000) and "`leak" in str(r["stack"]) for r in map(json.loads, open("out")))' 2>>err || fail "malloc $options of $compiler -static: other numbers"
	done
	grown ./bare-$compiler
	for options in "" "--by caller" "-r 64k"; do
		refused malloc $options ./bare-$compiler
	done
done
# a version of CPython that does not exist
python=/usr/bin/python3.11
if [ -x $python ] && nm -D $python 2>/dev/null | grep -q ' Py_Version$'; then
	/usr/bin/python3 - $python <<'END2' || exit 1
import struct, subprocess, sys
line = [l.split() for l in subprocess.run(["nm", "-D", sys.argv[1]], capture_output=True, text=True).stdout.splitlines() if l.endswith(" Py_Version")][0]
addr, d = int(line[0], 16), bytearray(open(sys.argv[1], "rb").read())
phoff, phentsize, phnum = struct.unpack_from("<Q", d, 32)[0], *struct.unpack_from("<HH", d, 54)
for i in range(phnum):
    kind, _, off, vaddr, _, filesz = struct.unpack_from("<IIQQQQ", d, phoff + i * phentsize)
    if kind == 1 and vaddr <= addr < vaddr + filesz:
        struct.pack_into("<Q", d, addr - vaddr + off, 0x036302f0)
open("python-unknown", "wb").write(d)
END2
	chmod +x python-unknown
	echo 'kept = [bytearray(1000) for i in range(3000)]' >al.py
	export PYTHONHOME=/usr
	for way in "" malloc; do
		"$memprof" $way -n 3 ./python-unknown al.py >out 2>err || fail "python-unknown, memprof $way"
		grep -q "this version of CPython is not known" err || fail "python-unknown, memprof $way: not told"
		grep -q "^ *[0-9.]* [kM]B .*\`" out || fail "python-unknown, memprof $way: no rows"
	done
	unset PYTHONHOME
else
	echo "skip: there is no $python with Py_Version"
fi
if command -v go >/dev/null; then
	cat >g.go <<'END2'
package main

var kept [][]byte

//go:noinline
func leak() { b := make([]byte, 1000); for i := range b { b[i] = 1 }; kept = append(kept, b) }
func main() { for i := 0; i < 5000; i++ { leak() } }
END2
	HOME=$TMP GOFLAGS=-mod=mod CGO_ENABLED=0 go build -o gprog g.go || exit 1
	refused malloc ./gprog
	refused malloc --by caller ./gprog
	"$memprof" ./gprog >out 2>err && grep -q "MB  in .* places" out || fail "growth of Go"
else
	echo "skip: there is no go"
fi
exit 0
