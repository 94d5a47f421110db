/* SPDX-License-Identifier: MIT */
// Random functions of JavaScript for names.py: program.js COUNT SEED BASE
'use strict';
const fs = require('fs'), vm = require('vm');
const [N, SEED, BASE] = process.argv.slice(2).map(Number);
const own = fs.openSync('own', 'w');
let count = 0, seed = SEED * 2654435761 >>> 0;
Error.stackTraceLimit = 1000;

function rand(n) {
	seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
	return Math.floor(seed / 4294967296 * n);
}
function sites() {
	const was = Error.prepareStackTrace;
	Error.prepareStackTrace = (e, s) => s;
	const s = new Error().stack;
	Error.prepareStackTrace = was;
	return s.slice(1).filter((x) => x.getFileName()).map((x) => `${x.getFunctionName() || '(anon)'} at ${x.getFileName()} line ${x.getLineNumber()}`).join('|');
}
function mark() {
	count++;
	fs.writeSync(own, `${BASE + count} ${sites()}\n`); try { fs.unlinkSync('/nonexistent/names/' + (BASE + count)); } catch { }
	return count;
}
const functions = [];
function call(d) {
	if (d <= 0 || count >= N || rand(100) < 15)
		return mark();
	return functions[rand(functions.length)](d - 1) + 0;
}
class Value {
	constructor(depth, now) { this.depth = depth; if (now) call(depth); }
	get attribute() { return call(this.depth); }
	set attribute(x) { call(this.depth); }
	method() { return call(this.depth); }
	static ofClass(d) { return call(d); }
	#own() { return call(this.depth); }
	private() { return this.#own(); }
	toString() { call(this.depth); return 'x'; }
	valueOf() { call(this.depth); return 1; }
	toJSON() { call(this.depth); return 1; }
	*[Symbol.iterator]() { yield call(this.depth); }
}
const ways = ['call(d);', '[2, 1].sort((a, b) => call(d));', '[d].map(call);', '[d].forEach((x) => { call(x); });', '[1, 2].reduce((a, b) => call(d));', '(() => call(d))();',
	'(function () { call(d); })();', '(function inner() { call(d); })();', 'new Value(d).attribute;', 'new Value(d).attribute = 1;', 'new Value(d).method();', 'Value.ofClass(d);',
	'new Value(d).private();', '`${new Value(d)}`;', 'new Value(d) + 1;', 'JSON.stringify(new Value(d));', '[...new Value(d)];', 'for (const x of new Value(d)) call(d);', 'new Value(d, true);',
	'"a".replace(/a/, () => call(d));', 'Reflect.apply(call, null, [d]);', 'call.bind(null, d)();', 'call.call(null, d);', 'call.apply(null, [d]);', 'try { throw new Error(); } catch (e) { call(d); }',
	'try { call(d); } finally { call(d); }', 'for (let i = 1; i < 3; i++) call(d - i);', 'let i = 0; while (i++ < 1) call(d);', 'switch (d) { case 1: call(d); break; default: call(d); }',
	'const o = { call() { return call2(d); } }; function call2(x) { return call(x); } o.call();', 'new Proxy({}, { get() { return call(d); } }).missing;', 'return call(d);', 'const x = [1, call(d), 2];',
	'({ [`a${call(d)}`]: 1 });', 'class Inner { static value = call(d); }', 'new Map([[1, 2]]).forEach(() => call(d));', '(async () => { call(d); })();', '[d].flatMap((x) => call(x));',
	'[1].find(() => call(d));', 'Array.from([1], () => call(d));', 'd?.toFixed && call(d);', 'call(...[d]);'];
const letters = (a, n) => a.repeat(1 + rand(n));

function functionMake(n) {
	let name = `functionWithALongName_${letters(n % 2 ? 'a' : 'b', 60)}_${n}`;
	if (rand(10) === 0)
		name = `f\u00fcnction_\u0436_${n}`;
	// a string of one piece: the helper does not join the pieces of others
	const file = Buffer.from(`/srv/application/modules/${letters(n % 2 ? 'x' : 'y', 40)}/module_${n % 97}.js`).toString();
	const source = `${'\n'.repeat(rand(500))}(function (call, Value) { return function ${name}(d) {\n${'\n'.repeat(rand(200))}    ${ways[rand(ways.length)]}\n    return 1;\n}; })`;
	return vm.runInThisContext(source, { filename: file })(call, Value);
}
for (let n = 0; n < 60; n++)
	functions.push(functionMake(n));
let n = 60;
mark();
/* One call a turn: in code that has replaced that of a running loop (OSR), the helper does not find the functions that are inlined. */
function round() {
	if (count >= N) {
		mark();
		return;
	}
	call(1 + rand(13));
	for (let k = rand(3); k; k--)
		functions[rand(functions.length)] = functionMake(n++);
	setImmediate(round);
}
const wait = setInterval(() => {
	if (!fs.existsSync('met'))
		return;
	clearInterval(wait);
	round();
}, 20);
