/* SPDX-License-Identifier: MIT */
'use strict';
// A Node.js program that makes its probes at run time, for bench/made.py.
//
//     made.js MODULE calls N      ns of an empty method call and of fire() while nobody traces the probe
//     made.js MODULE records N    N records of 1 kB as fast as possible, traced; prints how many a second

const [, , module_, what, count] = process.argv;
const dtp = require(module_).createDTraceProvider('bunyan', 'bench');
const probe = dtp.addProbe('log-info', 'char *');
dtp.enable();
const n = Number(count);
const text = `${'x'.repeat(1023)}\n`;
const args = (t) => [t];

class Empty {
  call(callback, ...rest) {}
}
const empty = new Empty();
const calls = [
  (k) => { for (let i = 0; i < k; i++) empty.call(args, i); },
  (k) => { for (let i = 0; i < k; i++) probe.fire(args, i); },
  (k) => { for (let i = 0; i < k; i++) dtp.fire('log-info', args, i); },
];

if (what === 'calls') {
  const best = [Infinity, Infinity, Infinity];
  for (let turn = 0; turn < 21; turn++) {
    calls.forEach((f, i) => {
      const begin = process.hrtime.bigint();
      f(n);
      best[i] = Math.min(best[i], Number(process.hrtime.bigint() - begin) / n);
    });
  }
  console.log(best.join(' '));
} else {
  console.log('READY');
  const wait = new Int32Array(new SharedArrayBuffer(4));
  let isTraced = false;
  while (!isTraced) {
    probe.fire(() => { isTraced = true; return ['first\n']; });
    Atomics.wait(wait, 0, 0, 1);
  }
  Atomics.wait(wait, 0, 0, 300);
  const begin = process.hrtime.bigint();
  for (let i = 0; i < n; i++) {
    probe.fire(args, text);
  }
  console.log(n / (Number(process.hrtime.bigint() - begin) / 1e9));
}
