# The Node.js package of bindings/node: it is built as npm builds it, and a script gets what a workload did, as values. The server of
# examples/heatmap sends what its page draws.
# @@timeout: 300
command -v node >/dev/null || { echo "needs the package nodejs"; exit 67; }
[ -z "$SANITIZED" ] || { echo "a library with sanitizers cannot be loaded into Node.js"; exit 67; }
fail() { echo "$1"; cat "$TMP/out" "$TMP/err" 2>/dev/null; exit 1; }
cd "$TMP" || exit 1
lib=$BUILD/src/cmd/dtrace
export LIBDTRACE_CFLAGS="-I$SRC/include" LIBDTRACE_LIBS="-L$lib -ldtrace -Wl,-rpath,$lib"
mkdir -p node_modules/libdtrace && cp "$SRC"/bindings/node/*.js* "$SRC"/bindings/node/binding.c node_modules/libdtrace || exit 1
(cd node_modules/libdtrace && CC="cc -Werror" node build.js) >out 2>&1
status=$?
grep -q "headers .* are not installed" out && { echo "needs Node's headers (libnode-dev)"; exit 67; }
[ $status = 0 ] && [ ! -s out ] || fail "building"

cat >script.js <<'END'
const assert = require('assert').strict;
const { Consumer } = require('libdtrace');
const trigger = process.env.TRIGGER;

// Consumes until tracing has ended.
const all = (dtp, func) => { while (dtp.consume(func)); };

// records of each kind
let dtp = new Consumer();
const seen = [];
dtp.setopt('quiet');
assert.equal(dtp.strcompile(String.raw`BEGIN { trace("text\303\244"); printf("%d %s\n", $1, $$2); trace((int)-3); trace(0xffffffffffffffff); stack(2);
	sym((uintptr_t)&` + '`schedule); mod((uintptr_t)&`schedule);' + String.raw` this->p = (char *)alloca(5); this->p[4] = 7; tracemem(this->p, 5); exit(3); }
	END { trace("end"); }`, 42, 'arg'), 2);
dtp.go();
all(dtp, (probe, rec) => seen.push([`${probe.provider}:${probe.name}`, rec && rec.data, rec && rec.format]));
const values = seen.filter((s) => s[0] === 'dtrace:BEGIN').map((s) => s[1]);
assert.deepEqual(values.slice(0, 4), ['text\u00e4', [42, 'arg'], -3, 2n ** 64n - 1n]);
assert.equal(seen[1][2], '%d %s\\n'.replace('\\n', '\n'));
assert.equal(values[4].length, 2);
assert.ok(values[4].every((f) => f.startsWith('vmlinux`')));
assert.deepEqual(values.slice(5, 7), ['vmlinux`schedule', 'vmlinux']);
assert.deepEqual([...values[7]], [0, 0, 0, 0, 7]);
assert.deepEqual(seen.slice(-2), [['dtrace:END', 'end', null], ['dtrace:END', undefined, undefined]]);
assert.equal(dtp.exitStatus, 3);
dtp.close();
assert.throws(() => dtp.go(), /closed/);

// aggregations: walked while calls are made, nothing is lost
dtp = new Consumer();
dtp.setopt('switchrate', '10ms');
dtp.create(`${trigger}/calls getppid 20000`);
dtp.strcompile('syscall::getppid:entry /pid == $target/ { @c[execname, -1] = count(); @q["q"] = quantize(0); @l = lquantize(5, 0, 10, 5); }');
dtp.go();
let total = 0, walks = 0;
const row = (varid, keys, value, name) => {
	if (varid === 1) {
		assert.deepEqual([keys, name], [['calls', -1], 'c']);
		total += value;
	}
};
while (dtp.consume()) {
	dtp.aggwalk(row);
	walks++;
}
dtp.aggwalk(row);
assert.equal(total, 20000);
assert.ok(walks > 1);
dtp.aggread(() => assert.fail('rows are still there'));
dtp.close();
dtp = new Consumer();
dtp.strcompile('BEGIN { @q[1] = quantize(5); @q[1] = quantize(-1); @l = lquantize(50, 0, 10, 5); @s = sum(-2); @a = avg(3); exit(0); }');
dtp.go();
all(dtp);
const rows = {};
for (let i = 0; i < 2; i++)
	dtp.aggread((varid, keys, value, name) => { rows[name] = value; });
assert.deepEqual([rows.s, rows.a], [-2, 3]);
assert.deepEqual(rows.q.filter((b) => b[1]), [[[-1, -1], 1], [[4, 7], 1]]);
assert.deepEqual(rows.l.filter((b) => b[1]), [[[10, null], 1]]);
dtp.close();

// text, faults, exceptions, errors
dtp = new Consumer();
const texts = [], faults = [];
dtp.on('text', (t) => texts.push(t)).on('fault', (t) => faults.push(t));
dtp.strcompile(String.raw`BEGIN { @["x"] = count(); printa("%s %@d\n", @); n = 0; } BEGIN { trace(1 / n); } tick-10ms { exit(0); }`);
dtp.go();
all(dtp);
assert.equal(texts.join(''), 'x 1\n');
assert.match(faults.join(), /divide-by-zero/);
dtp.close();
dtp = new Consumer();
dtp.strcompile('BEGIN { trace(1); @ = count(); }');
dtp.go();
assert.throws(() => all(dtp, () => { throw new RangeError('mine'); }), RangeError);
assert.throws(() => { for (;;) dtp.aggread(() => { throw new RangeError('mine'); }); }, RangeError);
dtp.stop();
dtp.close();
dtp = new Consumer({ onlyCompile: true });
assert.throws(() => dtp.strcompile('nonesuch:::x { }'), (e) => e.errno >= 1000 && /nonesuch/.test(e.message));
assert.throws(() => dtp.setopt('nonesuch', 1), (e) => e.errno >= 1000);
assert.deepEqual(dtp.probes('syscall::openat:').map((p) => p.name), ['entry', 'return']);
dtp.close();
if (process.env.PLUS) {
	dtp = new Consumer();
	dtp.create(process.env.PLUS);
	dtp.strcompile('syscall::getpgid:entry /pid == $target/ { usym(ucaller); umod(ucaller); ustack(3); }');
	dtp.go();
	const names = [];
	for (let more = true; more;) more = dtp.consume((probe, rec) => rec && names.push(rec.data));
	dtp.close();
	assert.ok(names[2].some((f) => f.length > 1100 && /\+0x[0-9a-f]+$/.test(f)), 'a long name is whole');
	assert.deepEqual(names.slice(3, 5), ['plus`operator+(S const&, S const&)', 'plus']);
}
console.log('good');
END
! command -v g++ >/dev/null || { g++ -O1 -o plus "$SRC/tests/e2e/cmd/plus.cc" && export PLUS=$TMP/plus; } || fail "compiling"
timeout 120 node script.js >out 2>err || fail "status $?"
[ "$(cat out)" = good ] && [ ! -s err ] || fail "wrong values"
NODE_PATH=$TMP/node_modules timeout 60 node "$SRC/tests/e2e/cmd/reentry.js" >out 2>err || fail "calls from callbacks: status $?"
[ "$(cat out)" = good ] && [ ! -s err ] || fail "calls from callbacks"

# The heat map: calls of 20 ms are in the cells of their latency; a page that comes later gets the columns before it.
cat >page.js <<'END'
const http = require('http');
const address = process.argv[2];
http.get(address, (r) => {
	let text = '';
	r.on('data', (d) => text += d).on('end', () => {
		if (!/new EventSource\('\/events'\)/.test(text)) throw new Error('no page');
	});
});
http.get(address + 'nonesuch', (r) => { if (r.statusCode !== 404) throw new Error('finds what is not there'); r.resume(); });
const end = setTimeout(() => { console.log('no cells'); process.exit(1); }, 60000);
let text = '';
http.get(address + 'events', (r) => r.on('data', (d) => {
	text += d;
	const columns = text.split('\n\n').slice(0, -1).map((e) => JSON.parse(e.replace(/^data: /, '')));
	const n = columns.flatMap((c) => c.cells).filter(([min, max]) => min >= 19e6 && max < 200e6).reduce((sum, c) => sum + c[2], 0);
	if (n >= 20) { clearTimeout(end); process.exit(0); }
}));
END
mkfifo said
LIBDTRACE_NODE=libdtrace NODE_PATH=$TMP/node_modules node "$SRC/examples/heatmap/server.js" -p 0 -i 0.2 'clock_nanosleep' >said 2>err &
server=$!
exec 3<said
read -r address <&3 || fail "the server does not start"
i=0
while [ $i -lt 25 ]; do sleep 0.02; i=$((i + 1)); done
timeout 90 node page.js "$address" >out 2>&1 || { kill $server; fail "the page's data"; }
kill $server
wait $server || fail "the server's status"
[ ! -s err ] || fail "the server complains"
