/* SPDX-License-Identifier: MIT */
// node.js server|compiler|tests EVERY MOST: a workload that writes down its own stack at each EVERY-th call of some functions.
'use strict';
const fs = require('fs'), http = require('http'), events = require('events');
const [what, every, most] = [process.argv[2], +process.argv[3], +process.argv[4]];
const out = fs.openSync('noted', 'a');
let calls = 0, points = 0, inside = false;
Error.stackTraceLimit = 1000;

function workload_point() {
	if (inside || ++calls % every || points >= most)
		return;
	inside = true;
	const was = Error.prepareStackTrace;
	Error.prepareStackTrace = (e, sites) => sites;
	const sites = new Error().stack;
	Error.prepareStackTrace = was;
	const text = sites.slice(1).filter((s) => s.getFileName() && !s.isAsync()) // what waits is not on the stack
		.map((s) => `${s.getFunctionName() || '(anon)'} at ${s.getFileName()} line ${s.getLineNumber()}`).join('|');
	fs.writeSync(out, `POINT:${String(++points).padStart(6, '0')} ${text}\n`);
	inside = false;
}
function watch(object, name) {
	const was = object[name];
	object[name] = function (...args) {
		workload_point();
		return was.apply(this, args);
	};
}

const workloads = {
	server(done) {
		watch(events.prototype, 'emit');
		watch(http.ServerResponse.prototype, 'end');
		const server = http.createServer((request, response) => {
			let text = '';
			request.on('data', (d) => { text += d; });
			request.on('end', () => response.end(JSON.stringify({ url: request.url, parts: text.split('').sort((a, b) => a < b ? 1 : -1) })));
		});
		server.listen(0, '127.0.0.1', () => {
			let left = 400;
			function ask() {
				if (left-- <= 0)
					return left === -4 && (server.close(), done());
				const r = http.request({ port: server.address().port, method: 'POST', path: `/${left}` }, (a) => { a.resume(); a.on('end', ask); });
				r.end('hello');
			}
			for (let i = 0; i < 4; i++)
				ask();
		});
	},
	compiler(done) {
		const acorn = require('internal/deps/acorn/acorn/dist/acorn'), walk = require('internal/deps/acorn/acorn-walk/dist/walk');
		const parser = acorn.Parser.extend((P) => class extends P {
			parseExprAtom(...args) { workload_point(); return super.parseExprAtom(...args); }
			finishNode(...args) { workload_point(); return super.finishNode(...args); }
		});
		for (let i = 0; i < 12; i++) {
			const tree = parser.parse([events, ...Object.values(http).filter((f) => typeof f === 'function')].map((f, n) => `x${n} = ${/^class|^\(?(async )?function|=>/.test(f) ? f : '0'};`).join('\n') +
				fs.readFileSync(__filename), { ecmaVersion: 'latest' });
			walk.full(tree, workload_point);
		}
		done();
	},
	tests(done) {
		const { test } = require('node:test'), assert = require('assert');
		for (let i = 0; i < 100; i++)
			test(`test ${i}`, async (t) => {
				workload_point();
				assert.deepStrictEqual([3, 1, 2].sort((a, b) => (workload_point(), a - b)), [1, 2, 3]);
				await t.test('inner', () => assert.throws(() => { workload_point(); JSON.parse('{'); }, SyntaxError));
				await new Promise((resolve) => setImmediate(() => { workload_point(); resolve(); }));
				workload_point();
			});
		done();
	},
};

fs.writeSync(out, 'POINT:000000 \n');
for (let i = 0; i < 6000 && !fs.existsSync('met'); i++)
	Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20);
workloads[what](() => {});
