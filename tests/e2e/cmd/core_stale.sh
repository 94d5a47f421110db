# A core file whose program was made anew since: the new file is not taken for the old one, which is told once.
command -v cc >/dev/null && command -v gcore >/dev/null || { echo "needs a compiler and gcore"; exit 67; }
cd "$TMP" || exit 1
build() { # FUNCTION: a program that waits in it
	printf '#include <unistd.h>\n__attribute__((noinline)) int %s(void) { int n = pause(); return n + 1; }\nint main(void) { write(1, "up\\n", 3); return %s(); }\n' "$1" "$1" >p.c
	cc -g -O0 -Wl,--build-id -o program.new p.c && mv program.new program
}
trace() { "$DTRACE" --helpertrace=core.$pid >out 2>&1 || { cat out; exit 1; }; }
build waits_here || exit 1
mkfifo up
./program >up & pid=$!
trap 'kill -KILL $pid 2>/dev/null' EXIT
read -r line <up
gcore -o core $pid >gcore.out 2>&1 || { cat gcore.out; exit 67; }
trace
[ "$(grep -c '^frame .*program`' out)" -ge 2 ] && ! grep -q 'build id' out || { echo "the program as it was:"; cat out; exit 1; }
build waits_there || exit 1
trace
[ "$(grep -c "program' is not the file that the process had" out)" = 1 ] || { echo "another one:"; cat out; exit 1; }
# A core file with registers, but without memory.
python3 - core.$pid <<'PY'
import struct, sys
core = bytearray(open(sys.argv[1], "rb").read())
phoff, = struct.unpack_from("<Q", core, 32)
size, n = struct.unpack_from("<HH", core, 54)
for i in range(n):
    if struct.unpack_from("<I", core, phoff + i * size)[0] == 1:  # PT_LOAD
        struct.pack_into("<I", core, phoff + i * size, 0)
open("empty", "wb").write(core)
PY
"$DTRACE" --helpertrace=empty >out 2>&1 && { cat out; exit 1; }
grep -q "the core file 'empty' has no memory" out || { cat out; exit 1; }
