# memprof malloc: the same blocks with jemalloc, tcmalloc, mimalloc (preloaded) and musl as with glibc's allocator.
memprof=$BUILD/src/cmd/memprof/memprof
[ -x "$memprof" ] && command -v cc >/dev/null || exit 67
cd "$TMP" || exit 1
cc -O1 -o blocks "$SRC/tests/e2e/memprof/malloc.c" -lpthread || exit 1
# Of an allocator whose posix_memalign() calls another of its functions, that is the place, and the stack may end there.
cat >sums.py <<'END'
import json
sums = {}
for line in open("out"):
    row = json.loads(line)
    names = [f.split("`")[-1] for f in row["stack"] if isinstance(f, str)]
    for function in ("leak", "grow", "align", "posix_memalign"):
        if function in names:
            s = sums.setdefault("align" if function == "posix_memalign" else function, [0, 0])
            s[0] += row["bytes"]
            s[1] += row["count"]
            break
print(*(f"{name} {b} {n}" for name, (b, n) in sorted(sums.items())), sep="\n")
END
cat >wanted <<'END'
align 10048 4
grow 5007 2
leak 50000 500
END
check() {
	name=$1; shift
	"$memprof" malloc --json -n 0 "$@" >out 2>err || { echo "$name"; cat err; exit 1; }
	/usr/bin/python3 sums.py >got
	diff wanted got || { echo "$name: other numbers"; cat err out; exit 1; }
}
ntried=0
for library in libjemalloc.so.2 libtcmalloc_minimal.so.4 libmimalloc.so.2; do
	path=$(ls /usr/lib/*-linux-gnu/$library 2>/dev/null | head -1)
	[ -n "$path" ] || { echo "skip: there is no $library"; continue; }
	check "$library" -x "setenv=LD_PRELOAD=$path" ./blocks
	ntried=$((ntried + 1))
done
for static in "" -static; do
	command -v musl-gcc >/dev/null || { echo "skip: there is no musl-gcc"; break; }
	musl-gcc $static -O1 -o blocks-musl "$SRC/tests/e2e/memprof/malloc.c" -lpthread || exit 1
	check "musl $static" ./blocks-musl
	ntried=$((ntried + 1))
done
[ $ntried -gt 0 ] || exit 67
