/* SPDX-License-Identifier: MIT */
'use strict';
// Calls of the Node.js package from callbacks (bindings_node.sh builds the package and runs this): what is refused throws where it
// was called, the outer call goes on, and nothing is lost.
const assert = require('assert').strict;
const { execFileSync } = require('child_process');
const { Consumer } = require('libdtrace');

if (process.argv[2] === 'exit') { // see below
	const dtp = new Consumer();
	dtp.strcompile('BEGIN { trace(1); }');
	dtp.go();
	for (;;) dtp.consume(() => process.exit(7));
}

const isRefused = (e) => /^dtrace_\w+\(\) was called by a callback$/.test(e.message) && e.errno >= 1000;
const calls = (dtp) => [() => dtp.close(), () => dtp.consume(() => assert.fail('consumes')), () => dtp.aggwalk(() => assert.fail('walks')),
	() => dtp.aggread(() => assert.fail('reads'))];

// from each kind of callback
const seen = [], tried = new Set();
let dtp = new Consumer();
const attempt = (kind) => {
	for (const call of calls(dtp)) assert.throws(call, isRefused, kind);
	assert.equal(dtp.exitStatus, null); // asking is allowed
	tried.add(kind);
};
dtp.on('text', () => attempt('text')).on('fault', () => attempt('fault'));
dtp.on('notice', () => { assert.throws(() => dtp.close(), isRefused); tried.add('notice'); });
dtp.setopt('statusrate', '60s'); // a notice says that it is adjusted
dtp.strcompile('BEGIN { trace(1); trace(2); @[1] = count(); printa(@); } BEGIN { n = 0; } BEGIN { trace(1 / n); } BEGIN { trace(3); }');
dtp.go();
while (!seen.includes(3))
	dtp.consume((probe, rec) => { attempt('record'); seen.push(rec && rec.data); });
assert.deepEqual(seen.filter((v) => v), [1, 2, 3]);
dtp.aggwalk((varid, keys, value) => { attempt('aggwalk'); seen.push([keys, value]); });
assert.deepEqual(seen.pop(), [[1], 1]);
dtp.probes('syscall::openat:').forEach(() => tried.add('probes'));
assert.deepEqual([...tried].sort(), ['aggwalk', 'fault', 'notice', 'probes', 'record', 'text']);

// a refusal that is not caught is the exception of the outer call, whose own result is not lost otherwise
dtp.close();
dtp = new Consumer();
dtp.strcompile('BEGIN { trace(1); trace(2); exit(0); }');
dtp.go();
assert.throws(() => { for (;;) dtp.consume(() => dtp.close()); }, isRefused);
dtp.close();
assert.throws(() => dtp.close(), /closed/);
dtp = new Consumer();
dtp.strcompile('BEGIN { trace(1); trace(2); exit(0); }');
dtp.go();
const values = [];
let goesOn;
do {
	goesOn = dtp.consume((probe, rec) => {
		try {
			dtp.consume(() => assert.fail('consumes'));
		} catch (e) {
			assert.ok(isRefused(e));
		}
		values.push(rec && rec.data);
	});
	assert.equal(typeof goesOn, 'boolean');
} while (goesOn);
assert.deepEqual(values, [1, 2, undefined]);
// ... and so is an exception behind a refusal that was caught
dtp.close();
dtp = new Consumer();
dtp.strcompile('BEGIN { trace(1); }');
dtp.go();
assert.throws(() => {
	for (;;)
		dtp.consume(() => {
			assert.throws(() => dtp.close(), isRefused);
			throw new RangeError('mine');
		});
}, RangeError);
dtp.close();

// stop() in a callback: END comes with the next call
dtp = new Consumer();
dtp.strcompile('tick-1ms { trace("tick"); } END { trace("end"); }');
dtp.go();
let last;
while (dtp.consume((probe) => { last = probe.name; dtp.stop(); }));
assert.equal(last, 'END');
dtp.close();

// two consumers, one inside the other's callback
const other = new Consumer();
other.strcompile('BEGIN { trace(5); exit(0); }');
other.go();
dtp = new Consumer();
dtp.strcompile('BEGIN { trace(4); exit(0); }');
dtp.go();
const both = [];
while (dtp.consume((probe, rec) => {
	both.push(rec && rec.data);
	if (rec) {
		while (other.consume((p, r) => both.push(r && r.data)));
		other.close();
	}
}));
assert.deepEqual(both, [4, 5, undefined, undefined]);
dtp.close();

// the program exits in a callback
assert.throws(() => execFileSync(process.execPath, [__filename, 'exit'], { stdio: 'inherit' }), (e) => e.status === 7);
console.log('good');
