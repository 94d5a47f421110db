/* SPDX-License-Identifier: MIT */
/* The functions of heat.js that draw nothing. */
"use strict";
const assert = require("assert"), path = require("path");
const H = require(path.join(__dirname, "../../../src/picture/heat.js"));

for (const most of [1, 2, 9, 100, 12345, 1e12]) {
	const from = H.steps(most);
	for (let i = 0; i < from.length; i++)
		if (i + 1 === from.length || from[i + 1] > from[i])
			assert.ok(most <= 1 || H.step(from[i], most) >= i + 1, `${most}: colour ${i + 1} begins at ${from[i]}`);
	assert.strictEqual(H.step(most, most), 9);
	assert.ok(H.step(1, most) === (most > 1 ? 1 : 9));
}
assert.ok(H.step(10, 1000) < H.step(100, 1000));

/* cells of merged intervals and ranges are added up */
const m = H.merge({cells: [0, 5, 1, 1, 5, 2, 2, 6, 4, 3, 9, 8]}, 5, 2, 2);
assert.deepStrictEqual(m.cells, [{col: 0, row: 0, n: 3}, {col: 1, row: 0, n: 4}, {col: 1, row: 2, n: 8}]);
assert.strictEqual(m.most, 8);

assert.strictEqual(H.range(1024, 2047, "ns"), "1.02 \u00b5s to 2.05 \u00b5s");
assert.strictEqual(H.range(null, -1, ""), "at most -1");
assert.strictEqual(H.range(100, null, "bytes"), "100 bytes and more");
assert.strictEqual(H.range(7, 7, ""), "7");
assert.strictEqual(H.tickStep(10000, 10), 1000);
assert.strictEqual(H.tickStep(3600e3, 12), 3e5);
assert.strictEqual(H.clock(Date.UTC(2026, 0, 2, 3, 4, 5, 67), true), "03:04:05.067");
