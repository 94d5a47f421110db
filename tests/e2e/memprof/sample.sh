# memprof sample: shares of the places that allocate, of Java (bytes, from a library that is loaded later, and of a process that runs) and of Node.js (samples); refusals.
memprof=$BUILD/src/cmd/memprof/memprof
[ -x "$memprof" ] || exit 67
fail() { echo "$1"; head -60 "$TMP/out" "$TMP/err" 2>/dev/null; exit 1; }
cd "$TMP" || exit 1
"$memprof" sample -d 1 -p $$ >out 2>err; [ $? = 1 ] && grep -q "send_allocation_in_new_tlab() in a libjvm.so" err && grep -q "^hint: " err || fail "a shell"
tested=

# functions of HotSpot 8 have the size as their second argument, later ones as their third
cat >jvm.c <<'END'
#define NEVER __attribute__((noinline))
NEVER void _ZN11AllocTracer33send_allocation_in_new_tlab_eventE11KlassHandlemm(void *klass, unsigned long tlab, unsigned long object) { __asm__ volatile("" ::"r"(klass), "r"(tlab), "r"(object)); }
NEVER void _ZN11AllocTracer34send_allocation_outside_tlab_eventE11KlassHandlem(void *klass, unsigned long object, unsigned long other) { __asm__ volatile("" ::"r"(klass), "r"(object), "r"(other)); }
NEVER void _ZN11AllocTracer27send_allocation_in_new_tlabEP5KlassP8HeapWordmmP6Thread(void *klass, void *at, unsigned long tlab, unsigned long object) { __asm__ volatile("" ::"r"(klass), "r"(at), "r"(tlab), "r"(object)); }
END
cat >stand.c <<'END'
void _ZN11AllocTracer33send_allocation_in_new_tlab_eventE11KlassHandlemm(void *, unsigned long, unsigned long);
void _ZN11AllocTracer34send_allocation_outside_tlab_eventE11KlassHandlem(void *, unsigned long, unsigned long);
void _ZN11AllocTracer27send_allocation_in_new_tlabEP5KlassP8HeapWordmmP6Thread(void *, void *, unsigned long, unsigned long);
__attribute__((noinline)) void eight(void) { for (int i = 0; i < 100; i++) _ZN11AllocTracer33send_allocation_in_new_tlab_eventE11KlassHandlemm((void *)7, 4096, 24); }
__attribute__((noinline)) void outside(void) { for (int i = 0; i < 10; i++) _ZN11AllocTracer34send_allocation_outside_tlab_eventE11KlassHandlem((void *)7, 500000, 99); }
__attribute__((noinline)) void later(void) { for (int i = 0; i < 50; i++) _ZN11AllocTracer27send_allocation_in_new_tlabEP5KlassP8HeapWordmmP6Thread((void *)7, (void *)9, 8192, 24); }
int main(void) { eight(); outside(); later(); return 0; }
END
cc -O1 -fno-omit-frame-pointer -fno-optimize-sibling-calls -shared -fPIC -o libjvm.so jvm.c && cc -O1 -fno-omit-frame-pointer -fno-optimize-sibling-calls -o stand stand.c -L. -l:libjvm.so -Wl,-rpath,"$TMP" || fail "cc"
"$memprof" sample --json -n 0 -c ./stand >out 2>err || fail "HotSpot 8"
/usr/bin/python3 - <<'END' || fail "HotSpot 8: other sums"
import json
sums = {name: sum(r["bytes"] for r in map(json.loads, open("out")) if name in str(r["stack"])) for name in ("`eight", "`outside", "`later")}
assert sums == {"`eight": 409600, "`outside": 5000000, "`later": 409600}, sums
END

# V8 in a library that does not describe it: its helper knows before the first call that there will be no frames of the language
cat >v8.c <<'END'
__attribute__((noinline)) void _ZN2v88internal33Runtime_AllocateInYoungGenerationEiPmPNS0_7IsolateE(int n) { __asm__ volatile("" ::"r"(n)); }
__attribute__((noinline)) void _ZN2v88internal17SemiSpaceNewSpace16EnsureAllocationEiNS0_19AllocationAlignmentENS0_16AllocationOriginEPi(void *space, int n, int alignment, int origin) { __asm__ volatile("" ::"r"(space), "r"(n), "r"(alignment), "r"(origin)); }
END
cat >node.c <<'END'
void _ZN2v88internal33Runtime_AllocateInYoungGenerationEiPmPNS0_7IsolateE(int n);
void _ZN2v88internal17SemiSpaceNewSpace16EnsureAllocationEiNS0_19AllocationAlignmentENS0_16AllocationOriginEPi(void *space, int n, int alignment, int origin);
int main(void)
{
	for (int i = 0; i < 70; i++)
		_ZN2v88internal33Runtime_AllocateInYoungGenerationEiPmPNS0_7IsolateE(i);
	/* for compiled code, which the function above has, for V8 itself, for the collector */
	for (int i = 0; i < 60; i++)
		_ZN2v88internal17SemiSpaceNewSpace16EnsureAllocationEiNS0_19AllocationAlignmentENS0_16AllocationOriginEPi(&i, i, 9, i < 10 ? 0 : i < 40 ? 1 : 2);
	return 0;
}
END
cc -O1 -shared -fPIC -Wl,-soname,libnode.so.108 -o libnode.so.108 v8.c && cc -O1 -fno-optimize-sibling-calls -o inlib node.c -L. -l:libnode.so.108 -Wl,-rpath,"$TMP" || fail "cc"
"$memprof" sample --json -n 0 -c ./inlib >out 2>err && ! grep -q 'language frames' out || fail "Node.js in a library"
/usr/bin/python3 - <<'END' || fail "Node.js in a library: other samples"
import json
sums = {name: sum(r["samples"] for r in map(json.loads, open("out")) if name in str(r["stack"])) for name in ("Runtime_AllocateInYoungGeneration", "EnsureAllocation")}
assert list(sums.values()) == [70, 30], sums
END

# Of 500 MB three quarters are of one place, in an order that is not regular, because each buffer begins where the last one
# was full. In buffers of 512 kB that is 960 samples: the standard deviation of its share is 1.4 %, the bounds are seven of them.
java=/usr/lib/jvm/java-17-openjdk-amd64/bin/java
if [ -x $java ] && command -v javac >/dev/null; then
	cat >W.java <<'END'
public class W {
	static Object kept;
	static void one() { kept = new byte[1000]; }
	static void three() { kept = new byte[3016]; }
	public static void main(String[] args) throws Exception {
		while (args.length > 0 && !new java.io.File(args[0]).exists()) Thread.sleep(50);
		java.util.Random r = new java.util.Random(1);
		for (int i = 0; i < 246000; i++) { if (r.nextBoolean()) one(); else three(); }
		if (args.length > 0 && new java.io.File("made").createNewFile()) Thread.sleep(60000);
	}
}
END
	javac --release 17 W.java || fail "javac"
	cat >shares.py <<'END'
import json, sys
key, line_one, line_three, least, most = sys.argv[1], *sys.argv[2:4], *map(float, sys.argv[4:])
sums = {}
for r in map(json.loads, open("out")):
    for f in r["stack"]:
        text = f["language"] if isinstance(f, dict) else f
        if line_one in text or line_three in text:
            which = line_one if line_one in text else line_three
            sums[which] = sums.get(which, 0) + r[key]
            break
total = sum(sums.values())
print(sums, total)
assert least <= total <= most, (sums, total)
assert 0.65 <= sums[line_three] / total <= 0.85, sums
END
	options="-Xshare:auto -XX:+UseSerialGC -Xmn64m -XX:TLABSize=512k -XX:-ResizeTLAB -cp ."
	"$memprof" sample --json -n 0 -c "$java $options W" >out 2>err || fail "Java"
	/usr/bin/python3 shares.py bytes "W.one" "W.three" 470e6 560e6 >got 2>&1 || { cat got; fail "Java: other shares"; }
	$java $options W go & victim=$!
	trap 'kill $victim 2>/dev/null' EXIT
	for i in $(seq 300); do grep -q libjvm.so /proc/$victim/maps && grep -q 'W.java\|hsperfdata' /proc/$victim/maps && break; sleep 0.1; done
	"$memprof" sample -s 1 -n 0 -p $victim >out 2>err & tracer=$!
	for i in $(seq 300); do grep -q "^SigCgt:.*[2367abef]..$" /proc/$tracer/status && break; sleep 0.1; done
	for i in $(seq 300); do kill -USR1 $tracer || fail "-p: it has ended"; sleep 0.2; [ -s out ] || grep -q 'no buffer' err && break; done
	touch go
	for i in $(seq 600); do [ -e made ] && break; sleep 0.1; done
	kill -TERM $tracer
	wait $tracer || fail "-p"
	/usr/bin/python3 - <<'END' || fail "Java, -p: other shares"
import re
last, sums = open("out").read().split("PLACE\n")[-1], {"one": 0, "three": 0}
for number, unit, name in re.findall(r"^ *([\d.]+) (B|kB|MB|GB)  W\.(one|three)\(", last, re.M):
    sums[name] += float(number) * {"B": 1, "kB": 1e3, "MB": 1e6, "GB": 1e9}[unit]
total = sum(sums.values())
assert 470e6 <= total <= 560e6 and 0.65 <= sums["three"] / total <= 0.85, sums
END
	"$memprof" sample --flame f.svg -c "$java $options W" >out 2>err && grep -q 'W.three' f.svg || fail "--flame"
	tested=1
fi

if command -v node >/dev/null; then
	cat >shares.js <<'END'
let kept;
function one(i) { kept = { a: i, b: i, c: i, d: i }; }
function three(i) { kept = [{ a: i, b: i, c: i, d: i }, { a: i, b: i, c: i, d: i }, { a: i, b: i, c: i, d: i }]; }
let r = 1;
for (let i = 0; i < 3000000; i++) { r = (r * 1103515245 + 12345) % 2147483648; if (r & 65536) one(i); else three(i); }
END
	cat >node.py <<'END'
import json
sums = {"one": 0, "three": 0}
for r in map(json.loads, open("out")):
    for f in r["stack"]:
        name = f["language"].split(" ")[0] if isinstance(f, dict) else ""
        if name in sums:
            sums[name] += r["samples"]
            break
total = sum(sums.values())
# 56 bytes, and 3 * 56 and the array of 16 + 40: 80 % of the bytes
assert total > 300, sums
assert 0.68 <= sums["three"] / total <= 0.92, sums
END
	"$memprof" sample --json -n 0 -c "node --no-opt shares.js" >out 2>err || fail "Node.js"
	/usr/bin/python3 node.py || fail "Node.js: other shares"
	# objects that V8 makes for a function, small ones and such that are old from the start
	cat >parse.js <<'END'
const texts = [1500, 20000].map(n => JSON.stringify(Array.from({ length: n }, (_, i) => ({ a: i, b: "x" + i }))));
let kept;
function small() { kept = JSON.parse(texts[0]); }
function large() { kept = JSON.parse(texts[1]); }
for (let i = 0; i < 1500; i++) { small(); if (i % 10 == 0) large(); }
END
	"$memprof" sample --json -n 0 -c "node parse.js" >out 2>err || fail "JSON.parse()"
	/usr/bin/python3 - <<'END' || fail "JSON.parse(): few samples"
import json
sums = {name: sum(r["samples"] for r in map(json.loads, open("out")) if any(isinstance(f, dict) and f["language"].split(" ")[0] == name for f in r["stack"])) for name in ("small", "large")}
assert min(sums.values()) > 20, sums
END
	tested=1
fi
[ "$tested" ] || { echo "needs openjdk-17-jdk-headless or nodejs"; exit 67; }
exit 0
