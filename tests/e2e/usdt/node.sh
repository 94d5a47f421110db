# Probes of Node.js programs, made at run time by our module of the name dtrace-provider: its own tests, and what a tracer sees.
# @@timeout: 900
command -v node >/dev/null || { echo "needs the package nodejs"; exit 67; }
fail() { echo "$1"; cat "$TMP/out" "$TMP/err" 2>/dev/null; exit 1; }
cd "$TMP" || exit 1
# The package as 'npm pack' makes it: with libusdt, without the rest of the tree.
module=$TMP/node_modules/dtrace-provider
mkdir -p "$module" && cp -r "$SRC"/modules/node/*.js "$SRC"/modules/node/*.json "$SRC"/modules/node/*.c "$SRC"/modules/node/test "$module" &&
	mkdir "$module/libusdt" && cp "$SRC"/lib/usdt/*.[ch] "$module/libusdt" || fail "copying"
(cd "$module" && NODE_DTRACE_PROVIDER_REQUIRE=hard node build.js) >out 2>&1
status=$?
grep -q "headers .* are not installed" out && { echo "needs Node's headers (libnode-dev)"; exit 67; }
[ $status = 0 ] && [ ! -s out ] || fail "building"
(cd "$module" && timeout 300 node --expose-gc --test-reporter=tap --test test/) >out 2>&1 || fail "its own tests"
grep -q '^# fail 0' out && grep -q '^# skipped 0' out && ! grep -q '^# pass 0' out || fail "its own tests"

cat >app.js <<'END2'
const fs = require('fs');
const dtp = require('dtrace-provider').createDTraceProvider('nodeapp', process.argv[2]);
const p1 = dtp.addProbe('probe1', 'int', 'int');
const p2 = dtp.addProbe('probe-2', 'char *', 'json', 'uint64');
const long = dtp.addProbe('long', 'char *', 'char *', 'char *');
const all = dtp.addProbe('all', ...Array(32).fill('int'));
dtp.enable();
console.log('ready');
let calls = 0;
fs.readSync(0, Buffer.alloc(1)); // a tracer is there
p1.fire(() => { calls++; return [1, -2]; });
dtp.fire('probe1', (a, b) => { calls++; return [a, b]; }, 2 ** 40, -(2 ** 40));
p2.fire(() => ['hello, ä€😀', { foo: 'bar', n: [1, 2] }, 2n ** 64n - 1n]);
p2.fire(() => ['fewer']);
p2.fire(() => [5, null, '7']);
for (const n of [1, 30, 600, 3000]) long.fire(() => ['a'.repeat(n), 'b'.repeat(2 * n), 'c'.repeat(3 * n)]);
all.fire(() => Array.from({ length: 32 }, (x, i) => 100 + i));
dtp.fire('all', () => [1]);
dtp.disable();
p1.fire(() => { calls++; return [3, 3]; });
dtp.enable();
console.log(`calls ${calls}`);
END2
mkfifo go
begin() {
	: >app.out
	node "$@" <go >app.out 2>&1 &
	app=$!
	exec 3>go
	until grep -q ready app.out; do kill -0 $app 2>/dev/null || fail "it does not start: $(cat app.out)"; sleep 0.02; done
}
trace() { timeout $((60 * ${PATIENCE:-1})) "$DTRACE" -q "$@" >out 2>err; }
begin app.js server
trace -ln "nodeapp$app:::" && grep -qE "nodeapp$app +server +probe-2 probe-2\$" out || fail "the listing"
trace -w -p $app -x strsize=16k -n '
nodeapp$target:server:probe1:probe1 { printf("1 %d %d\n", arg0, arg1); }
nodeapp$target:::probe-2 { printf("2 %s|%s|%u\n", copyinstr(arg0), copyinstr(arg1), arg2); }
nodeapp$target:::probe-2 /copyinstr(arg1) != "" && copyinstr(arg1) != "null"/ { printf("json %s\n", json(copyinstr(arg1), "foo")); }
nodeapp$target:::long { printf("long %d %d %d\n", strlen(copyinstr(arg0)), strlen(copyinstr(arg1)), strlen(copyinstr(arg2))); }
nodeapp$target:::all { printf("all %d %d %d\n", arg0, arg1, arg9); }
BEGIN { system("echo >&3"); }' || fail "tracing"
wait $app || fail "the program: $(cat app.out)"
cat >want <<'END2'
1 1 -2
1 1099511627776 -1099511627776
2 hello, ä€😀|{"foo":"bar","n":[1,2]}|18446744073709551615
json bar
2 fewer||0
2 5|null|7
long 1 2 3
long 30 60 90
long 600 1200 1800
long 3000 6000 9000
all 100 101 109
all 1 0 0
END2
sed '/^$/d' out | cmp -s - want || { sed '/^$/d' out | diff - want; fail "other records"; }
grep -q 'calls 2' app.out || fail "callbacks: $(cat app.out)"

# The default name of the module; a loop that V8 optimises notices that it is traced from now on.
cat >loop.js <<'END2'
const p = require('dtrace-provider').createDTraceProvider('nodeapp'), p1 = p.addProbe('probe1', 'int');
p.enable();
console.log('ready');
let seen = 0;
const f = () => { seen++; return [seen]; };
// Until it was traced and is no more; half a minute at most. The counter is up a moment before the first record.
function loop(n) { for (let i = 0; i < n && !(seen && p1._consumers[0] === 0); i++) p1.fire(f); }
loop(1e10);
console.log(`seen ${seen}`);
END2
begin loop.js
trace -p $app -n 'nodeapp$target:mod-*::probe1 { printf("%d\n", arg0); exit(0); }' || fail "a busy loop"
exec 3>&-
wait $app
grep -q 'seen [1-9]' app.out && grep -qE '^[0-9]+$' out || fail "a busy loop: $(cat app.out)"

# Without a native part, the interface is there and nothing happens; unless probes are required.
rm "$module/build/Release/DTraceProviderBindings.node"
node -e 'const p = require("dtrace-provider").createDTraceProvider("x"), q = p.addProbe("a", "int"); p.enable(); q.fire(() => { throw 1; }); p.fire("a", () => { throw 1; }); p.disable(); p.removeProbe(q);' || fail "without a native part"
NODE_DTRACE_PROVIDER_REQUIRE=hard node -e 'require("dtrace-provider")' 2>/dev/null && fail "probes were required"
(cd "$module" && CC=/nonexistent/cc node build.js) >out 2>&1 && grep -q 'without probes' out || fail "without a compiler"
(cd "$module" && NODE_DTRACE_PROVIDER_REQUIRE=hard CC=/nonexistent/cc node build.js) >out 2>&1 && fail "without a compiler, but probes are required"
:
