/* SPDX-License-Identifier: MIT */
// Asserts what it computes, also in workers, until SIGTERM (tests/hammer/run).
const assert = require('assert'), crypto = require('crypto'), zlib = require('zlib');
const { Worker, isMainThread } = require('worker_threads');

function deep(n) { return n ? deep(n - 1) + 1 : 0; }

function round(i) {
  const data = Array.from({ length: 60 }, (_, k) => ({ k: k * i, s: 't\u00fc'.repeat(k % 7), f: k / 3 }));
  assert.deepStrictEqual(JSON.parse(JSON.stringify(data)), data);
  const text = JSON.stringify(data);
  assert.strictEqual(zlib.gunzipSync(zlib.gzipSync(text)).toString(), text);
  assert.strictEqual((text.match(/"k":\d+/g) || []).length, 60);
  assert.strictEqual(crypto.createHash('sha256').update('abc').digest('hex').slice(0, 8), 'ba7816bf');
  assert.throws(() => JSON.parse('{'), SyntaxError);
  assert.throws(() => { (function f() { f(); })(); }, RangeError);
  assert.strictEqual(deep(500), 500);
  assert.strictEqual(BigInt(2) ** 200n % 1000007n, BigInt(2) ** 100n % 1000007n * (2n ** 100n) % 1000007n);
  const sorted = data.map((d) => d.f).sort((a, b) => b - a);
  for (let k = 1; k < sorted.length; k++) assert(sorted[k - 1] >= sorted[k]);
}

let rounds = 0;
function turn() {
  round(++rounds);
  setImmediate(turn);
}
if (isMainThread) {
  const workers = [new Worker(__filename), new Worker(__filename)];
  for (const w of workers) w.on('error', (e) => { console.error(e); process.exit(1); });
  process.on('SIGTERM', () => {
    console.log('ok: ' + rounds + ' rounds');
    process.exit(0);
  });
  console.log('ready');
}
turn();
