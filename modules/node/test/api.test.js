/* SPDX-License-Identifier: MIT */
'use strict';
// Unit tests of the module. There is no tracer: a test counts a consumer itself, as the kernel does.

const test = require('node:test');
const assert = require('node:assert');
const fs = require('node:fs');
const d = require('..');

const isMapped = (module) => fs.readFileSync('/proc/self/maps', 'utf8').includes(`/memfd:${module} (deleted)`);
const trace = (probe) => { probe._consumers[0] = 1; };

test('the native part is there', () => {
  assert.ok(fs.existsSync(`${__dirname}/../build/Release/DTraceProviderBindings.node`));
});

test('a callback runs only while the probe is traced', () => {
  const dtp = d.createDTraceProvider('nodeapp', 'callbacks');
  const p1 = dtp.addProbe('probe1', 'int', 'char *');
  let calls = 0;
  const count = (...args) => { calls++; return args; };

  p1.fire(count);
  assert.ok(!isMapped('callbacks'));
  dtp.enable();
  assert.ok(isMapped('callbacks'));
  p1.fire(count);
  dtp.fire('probe1', count);
  assert.strictEqual(calls, 0);
  trace(p1);
  p1.fire(count, 1, 'text');
  dtp.fire('probe1', count, 1, 'text');
  dtp.probe1.fire(count);
  assert.strictEqual(calls, 3);
  dtp.disable();
  p1.fire(count);
  assert.strictEqual(calls, 3);
  assert.ok(!isMapped('callbacks'));
  dtp.enable();
  assert.ok(isMapped('callbacks'));
  p1.fire(count);
  assert.strictEqual(calls, 3);
});

test('fire() passes its further arguments', () => {
  const dtp = d.createDTraceProvider('nodeapp');
  const p1 = dtp.addProbe('probe1', 'int');
  let seen;

  dtp.enable();
  trace(p1);
  p1.fire((a, b, c) => { seen = [a, b, c]; return [a]; }, 1, 'two', { three: 3 });
  assert.deepStrictEqual(seen, [1, 'two', { three: 3 }]);
});

test('values of all kinds', () => {
  const dtp = d.createDTraceProvider('nodeapp');
  const types = ['int', 'char *', 'json'];
  const p = dtp.addProbe('values', ...types);
  const circular = {};

  circular.self = circular;
  dtp.enable();
  trace(p);
  for (const value of [0, -1, 2 ** 53, 1n << 63n, -(1n << 70n), NaN, Infinity, '', 'ä€😀', 'x'.repeat(3000000), null, undefined, true, {}, [],
    circular, () => 1, new Date(0)]) {
    p.fire(() => [value, value, value]);
  }
  p.fire(() => []);
  p.fire(() => [1, 2, 3, 4]);
  p.fire(() => ({ foo: 'bar' }));
  p.fire(() => undefined);
});

test('strings of growing size, several at a time', () => {
  const p = d.createDTraceProvider('nodeapp').addProbe('strings', 'char *', 'char *', 'char *');

  p._provider.enable();
  trace(p);
  for (let i = 0; i < 2000; i++) {
    p.fire(() => ['a'.repeat(i), 'b'.repeat(2 * i), 'ä'.repeat(3 * i)]);
  }
});

test('what a callback throws reaches the caller', () => {
  const dtp = d.createDTraceProvider('nodeapp');
  const p = dtp.addProbe('throws', 'char *', 'int');

  dtp.enable();
  trace(p);
  assert.throws(() => p.fire(() => { throw new Error('from the callback'); }), /from the callback/);
  assert.throws(() => p.fire(() => [Symbol('x')]), TypeError);
  assert.throws(() => p.fire(() => [{ toString() { throw new Error('from toString'); } }]), /from toString/);
  p.fire(() => ['fine', 1]);
});

test('a probe that fires while another one converts its arguments', () => {
  const dtp = d.createDTraceProvider('nodeapp');
  const outer = dtp.addProbe('outer', 'char *', 'char *'), inner = dtp.addProbe('inner', 'char *');

  dtp.enable();
  trace(outer);
  trace(inner);
  outer.fire(() => ['x'.repeat(100000), { toString() { inner.fire(() => ['y'.repeat(500000)]); return 'z'; } }]);
});

test('32 arguments, and no more', () => {
  const dtp = d.createDTraceProvider('nodeapp');
  const p = dtp.addProbe('all', ...Array(32).fill('int'));

  assert.throws(() => dtp.addProbe('more', ...Array(33).fill('int')), RangeError);
  dtp.enable();
  trace(p);
  p.fire(() => Array(32).fill(7));
});

test('types', () => {
  const dtp = d.createDTraceProvider('nodeapp');

  for (const type of ['int', 'char *', 'json', 'uint8', 'int64', 'uint64_t', 'unsigned long', 'const char *', 'id']) {
    dtp.addProbe(`p-${type.replace(/\W/g, '_')}`, type);
  }
  assert.throws(() => dtp.addProbe('bad', 5), TypeError);
  assert.throws(() => dtp.addProbe(5), TypeError);
  assert.throws(() => d.createDTraceProvider(5), TypeError);
  assert.throws(() => d.createDTraceProvider('with:colon'), /not allowed/);
});

test('probes are removed and added while the provider is enabled', () => {
  const dtp = d.createDTraceProvider('nodeapp', 'changing');
  const p1 = dtp.addProbe('probe1', 'int');
  let calls = 0;

  dtp.addProbe('probe2');
  assert.throws(() => dtp.addProbe('probe1'), /already/);
  dtp.enable();
  trace(p1);
  dtp.removeProbe(p1);
  dtp.removeProbe(p1);
  p1.fire(() => { calls++; return [1]; });
  dtp.fire('probe1', () => { calls++; return [1]; });
  assert.strictEqual(dtp.probe1, undefined);
  assert.strictEqual(calls, 0);
  assert.ok(isMapped('changing'));
  const again = dtp.addProbe('probe1', 'char *');
  dtp.enable();
  trace(again);
  dtp.fire('probe1', () => { calls++; return ['x']; });
  dtp.fire('nosuch', () => { calls++; return ['x']; });
  assert.strictEqual(calls, 1);
});

test('a provider without probes can be enabled', () => {
  const dtp = new d.DTraceProvider('nodeapp');

  dtp.enable();
  dtp.disable();
});

test('what is no longer used is freed', { skip: !global.gc && 'node runs without --expose-gc' }, async () => {
  const use = () => {
    const dtp = d.createDTraceProvider('nodeapp', 'brief');
    dtp.addProbe('p', 'int').fire(() => [1]);
    dtp.enable();
  };
  for (let i = 0; i < 2000; i++) {
    use();
    if (i % 100 === 0) {
      global.gc();
      await new Promise((done) => setImmediate(done));
    }
  }
  global.gc();
  await new Promise((done) => setTimeout(done, 10));
  global.gc();
  await new Promise((done) => setTimeout(done, 10));
  assert.ok(!isMapped('brief'));
  // A probe keeps its provider.
  const p = (() => {
    const dtp = d.createDTraceProvider('nodeapp', 'kept');
    const probe = dtp.addProbe('p', 'int');
    dtp.enable();
    return probe;
  })();
  global.gc();
  await new Promise((done) => setTimeout(done, 10));
  assert.ok(isMapped('kept'));
  p.fire(() => [1]);
});
