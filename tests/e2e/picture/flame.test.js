/* SPDX-License-Identifier: MIT */
/* The functions of flame.js that draw nothing. */
"use strict";
const assert = require("assert"), path = require("path");
const F = require(path.join(__dirname, "../../../src/picture/flame.js"));

/* all 100: a 60 (b 40 (c 10), a 20), d 40 */
const names = ["rall", "na", "nb", "kc", "ld"];
const d = F.decode({width: 3, tree: [0, 0, 0, 0, 1, 0, 0, 2, 30, 0, 3, 10, 2, 1, 20, 2, 4, 40]});
assert.deepStrictEqual(Array.from(d.total), [100, 60, 40, 10, 20, 40]);
assert.deepStrictEqual(Array.from(d.parent), [-1, 0, 1, 2, 1, 0]);
assert.deepStrictEqual(Array.from(d.end), [6, 5, 4, 4, 5, 6]);
assert.deepStrictEqual([d.deepest, Array.from(d.depth)], [3, [0, 1, 2, 3, 2, 1]]);

/* places: children stand side by side above their parent; narrow ones go with all above them */
let v = F.visible(d, d.total, 0, 1000, 1);
assert.deepStrictEqual(v.map((f) => [f.i, f.x, f.w]),
	[[0, 0, 1000], [1, 0, 600], [2, 0, 400], [3, 0, 100], [4, 400, 200], [5, 600, 400]]);
assert.deepStrictEqual(F.visible(d, d.total, 0, 1000, 150).map((f) => f.i), [0, 1, 2, 4, 5]);
v = F.visible(d, d.total, 2, 1000, 1);
assert.deepStrictEqual(v.map((f) => [f.i, f.x, f.w, f.above]),
	[[0, 0, 1000, true], [1, 0, 1000, true], [2, 0, 1000, false], [3, 0, 250, false]]);

/* a match within a match counts once */
let s = F.search(d, names, d.total, /a/);
assert.deepStrictEqual([s.sum, s.frames], [100, 3]);
s = F.search(d, names, d.total, /^a$/);
assert.deepStrictEqual([s.sum, s.frames], [60, 2]);
assert.strictEqual(F.search(d, names, d.total, /^n/).frames, 0, "the kind is no part of the name");

/* two runs */
const two = F.decode({width: 4, tree: [0, 0, 0, 0, 0, 1, 30, 10, 1, 2, 10, 10]});
assert.deepStrictEqual([Array.from(two.total), Array.from(two.before)], [[40, 30, 10], [20, 10, 10]]);
assert.strictEqual(F.change(30, 40, 10, 20), "up4");
assert.strictEqual(F.change(10, 40, 10, 20), "down4");
assert.strictEqual(F.change(2, 40, 1, 20), "same");
assert.strictEqual(F.change(0, 0, 0, 0), "same");

/* texts */
assert.strictEqual(F.valueText(1234567, ""), "1,234,567");
assert.strictEqual(F.valueText(1234567, "ns"), "1.23 ms (1,234,567 ns)");
assert.strictEqual(F.valueText(90, "us"), "90.0 \u00b5s (90 us)");
assert.strictEqual(F.valueText(3 * 1048576, "bytes"), "3.00 MiB (3,145,728 bytes)");
assert.strictEqual(F.valueText(12, "bytes"), "12 bytes");
assert.strictEqual(F.percent(1, 3), "33.3 %");
assert.strictEqual(F.percent(1, 0), "0.0 %");
assert.strictEqual(F.label("libc.so.6`malloc", 16), "libc.so.6`malloc");
assert.strictEqual(F.label("libc.so.6`malloc", 8), "malloc");
assert.strictEqual(F.label("libc.so.6`malloc", 4), "mal\u2026");
assert.strictEqual(F.label("libc.so.6`malloc", 2), "");
assert.strictEqual(F.label("\u6f22\u5b57\u6f22\u5b57", 5), "\u6f22\u5b57\u2026");
for (let i = 0; i < 1000; i++)
	assert.ok([0, 1, 2, 3, 4].includes(F.shade("nlib`name" + i)));

/* the name of a language's frame: without folders, then without the file */
assert.strictEqual(F.label("charge (/srv/app/shop.py:12)", 40), "charge (/srv/app/shop.py:12)");
assert.strictEqual(F.label("charge (/srv/app/shop.py:12)", 20), "charge (shop.py:12)");
assert.strictEqual(F.label("charge (/srv/app/shop.py:12)", 10), "charge");
assert.strictEqual(F.label("charge (/srv/app/shop.py:12)", 5), "char\u2026");
assert.strictEqual(F.label("block (2 levels) in f (/a/b.rb:3)", 24), "block (2 levels) in f");
