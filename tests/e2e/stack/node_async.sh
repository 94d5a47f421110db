# SPDX-License-Identifier: MIT
# Async frames of Node.js (-x jstackasync): at points where the program writes down its own stack, the functions that wait for the
# continuation follow its frames as in V8's own traces ("at async ..."): each one, in order, with function, file and line, in chains of
# awaits, of Promise.all() and its like, of then(), of async generators, in interpreted and in optimised code; and no others. Stacks with
# the same frames and different chains are told apart, also in samples of a program whose objects the collector moves. Without the option
# there are none.
node=${NODE:-/usr/bin/node}
case $($node --version 2>/dev/null) in
v1[68].*|v2[0246].*) ;;
*)
	echo "this test needs Node.js 20 (package nodejs)"
	exit 67
	;;
esac
cd "$TMP" || exit 1

cat >points.mjs <<'X'
import fs from 'node:fs';
import vm from 'node:vm';

const lines = [], silent = process.argv[3] === 'silent';
let quiet = true;

function frame(site) {
	if (/^async Promise\./.test(String(site)))
		return String(site);
	const name = site.getFunctionName() || '(anon)'; // one with dots is made up
	return `${site.isAsync() ? 'async ' : ''}${name.includes('.') ? '(anon)' : name} at ${site.getFileName()} line ${site.getLineNumber()}`;
}
function note() {
	if (silent)
		return;
	Error.stackTraceLimit = 1000;
	const was = Error.prepareStackTrace;
	Error.prepareStackTrace = (e, sites) => sites;
	const sites = new Error().stack;
	Error.prepareStackTrace = was;
	lines.push(sites.slice(1).filter((s) => s.getFileName() || s.isAsync()).map(frame).join('|'));
}
function point(x) {
	if (quiet)
		return x;
	note(); process.umask(18);
	return x;
}
const later = () => new Promise((resolve) => setImmediate(resolve));

// chains of awaits
async function leaf(x) {
	await null;
	point(x);
	return x;
}
async function middle(x) {
	return await leaf(x);
}
async function three() {
	const x = await middle(1);
	return x;
}
async function deep(n) {
	if (n)
		return 1 + await deep(n - 1);
	await null;
	point();
	return 0;
}
async function even(n) {
	await (n ? odd(n - 1) : leaf(n)); }
async function odd(n) {

	await even(n - 1);
}

// methods and functions of other kinds
class Base {
	async run() { await this.#hidden(); }
	async #hidden() {
		await Base.made();
	}
	static async made() { await super.x; await leaf(2); }
	async 'quoted name'() { await leaf(3); }
}
class Derived extends Base {
	async run() { await super.run(); }
}
const some = { where: {} };
some.where.anonymous = async function () { await leaf(4); };
const arrow = async () => { await leaf(5); };
const größe = async () => {
	await arrow();
};
async function kinds() {
	await new Derived().run();
	await new Base()['quoted name']();
	await some.where.anonymous();
	await größe();
	await (async () => { await leaf(6); })();
	await { async method() {
		await leaf(7);
	} }.method();
	await vm.runInThisContext('(async function inContext(f) {\n\n await f(8); })', { filename: '/some/script.js', lineOffset: 10 })(leaf);
}

// in loops, blocks and behind rejections
async function fail() {
	await null;
	point();
	throw new Error('expected');
}
async function blocks() {
	for (let i = 0; i < 2; i++)
		await leaf(i);
	for (const f of [leaf, arrow]) {
		try {
			await f();
		} finally {
			await leaf();
		}
	}
	try {
		await fail();
	} catch {
		point();
		await leaf();
	}
	try {
		await Promise.reject(1);
	} catch {
		point();
	}
	const x = [await leaf(1), await leaf(2)];
	return { x, y: await leaf(3) };
}

// what waits for several promises
async function combined() {
	await Promise.all([1, leaf(), middle()]);
	await Promise.any([middle(), three()]);
	await Promise.allSettled([leaf(), three(), fail()]);
	await Promise.all([Promise.all([2, leaf()]), Promise.any([middle()])]);
}

// chains that take turns
async function first(n) {
	await later();
	await leaf(n);
}
async function second(n) {
	for (let i = 0; i < n; i++)
		await first(i);
}
async function third() {
	await first(3);
	await second(2);
}
async function turns() {
	const a = first(1), b = second(3), c = third();
	await c;
	await b; await a;
}

// promises that were made in other ways
class Own extends Promise {}
async function chained() {
	await leaf().then(point);
	await leaf().then(async (x) => { await leaf(x); });
	await Promise.resolve().then(() => middle()).finally(() => point()).then(() => {});
	await fail().catch(() => point());
	await new Promise((resolve) => resolve(middle()));
	await new Promise((resolve) => { leaf().then(resolve); });
	await new Own((resolve) => leaf().then(resolve));
	await Own.resolve().then(point);
	await { then(f) { f(point(1)); } };
	await { then(f) { leaf().then(f); } };
	const both = middle();
	const other = (async () => { await both; })();
	await both;
	await other;
	leaf();
	await new Promise((resolve) => queueMicrotask(() => { point(); resolve(); }));
	await new Promise((resolve) => process.nextTick(() => { point(); resolve(); }));
	await new Promise((resolve) => setImmediate(() => { point(); resolve(leaf()); }));
}

// async generators
async function* numbers(n) {
	for (let i = 0; i < n; i++) {
		await leaf(i);
		yield i;
		point();
	}
}
async function* outer() {
	yield* numbers(2);
	try {
		yield leaf(9);
	} finally {
		await leaf();
	}
}
function* promises() {
	yield leaf(1);
	yield Promise.resolve(2);
}
async function generators() {
	for await (const n of numbers(2))
		point(n);
	for await (const n of outer())
		if (n === 9)
			break;
	for await (const n of promises())
		point(n);
	const g = numbers(2);
	await Promise.all([g.next(), g.next(), g.next()]);
	const h = numbers(1);
	await h.next();
	await h.return(leaf());
}
// a function that is optimised while it waits, and its callee
async function hot(n) {
	let s = 0;
	for (let i = 0; i < n; i++)
		s += await cold(i);
	return s;
}
async function cold(i) {
	await i;
	if (i % 400 === 399)
		point();
	return i;
}

async function all() {
	await three();
	await deep(3);
	await deep(30);
	await even(10);
	await kinds();
	await blocks();
	await combined();
	await turns();
	await chained();
	await generators();
	await hot(5);
}

process.umask(18); // the first stack, after which the tracer looks at the process
while (!fs.existsSync('met'))
	await new Promise((resolve) => setTimeout(resolve, 20));
quiet = false;
await all();
await leaf();
quiet = true;
for (let i = 0; i < 400; i++)
	await all();
await hot(20000);
quiet = false;
await all();
if (!quiet) {
	await hot(2000);
	await leaf();
}
fs.writeFileSync(process.argv[2], lines.join('\n') + '\n');
X

# one line a stack: the frames of JavaScript from the innermost call of point()
cat >stacks.js <<'X'
'use strict';
const text = require('fs').readFileSync(0, 'utf8');
for (const block of text.split('\n\n')) {
	const f = block.split('\n').map((l) => l.trim())
		.filter((l) => (/ at \S+( (line|file position) \d+)?$/.test(l) && !l.includes('`')) || /^async Promise\./.test(l));
	const at = f.findIndex((l) => l.startsWith('point at '));
	if (at < 0)
		continue;
	// a name that V8 has made up is none to the program, which has the async frames behind those that run the microtasks
	const named = f.slice(at).map((l) => l.replace(/^(async )?\(anon\) as .* at (\S+( (line|file)|$))/, '$1(anon) at $2'));
	const waits = (l) => l.startsWith('async ');
	console.log([...named.filter((l) => !waits(l)), ...named.filter(waits)].join('|'));
}
X
# Each frame is that of the program; one that is not async may lack its line. V8 of Node.js 16 knows nothing of allSettled(), and up to 24
# nothing of what waits for a then() of the program's that V8 calls: their chains are longer than it says.
cat >compare.js <<'X'
'use strict';
const [want, got] = process.argv.slice(2).map((f) => require('fs').readFileSync(f, 'utf8').trim().split('\n').map((l) => l.split('|')));
let waiting = 0, deepest = 0, shown = 0;
const is = (w, g) => w === g || (!w.startsWith('async') && w.replace(/ line \d+$/, '') === g);
for (let i = 0; i < want.length; i++) {
	const [w, g] = [want[i], got[i] || []], more = g[w.length];
	waiting += w.filter((f) => f.startsWith('async ')).length;
	deepest = Math.max(deepest, w.filter((f) => f.startsWith('async ')).length);
	if (w.every((f, k) => is(f, g[k])) && (!more || (process.version < 'v18' && /^async Promise.allSettled/.test(more)) ||
			(process.version < 'v26' && /^then /.test(w[w.length - 1]) && /^async chained /.test(more))))
		continue;
	if (shown++ < 5)
		console.log(`stack ${i} differs:\n< ${w.join('|')}\n> ${g.join('|')}`.slice(0, 3000));
}
if (want.length !== got.length)
	console.log(`${want.length} and ${got.length} stacks differ`);
console.log(shown ? `${shown} of ${want.length} stacks differ` :
	waiting > 500 && deepest > 30 ? 'all as V8 says' : `${waiting} async frames, ${deepest} in one stack`);
X
script='syscall::umask:entry /pid == $target/ { jstack(200); }'

{
	rm -f met
	LC_ALL=C.UTF-8 "$TRIGGER/met" "$DTRACE" -q -x jstackasync -x jstackstrsize=32768 -n "$script" -c "$node points.mjs noted" >got.txt
	$node stacks.js <got.txt >got
	echo "a program that knows its lines: $($node compare.js noted got)"

	# V8 has not counted the lines of any file
	rm -f met
	LC_ALL=C.UTF-8 "$TRIGGER/met" "$DTRACE" -q -x jstackasync -x jstackstrsize=32768 -n "$script" -c "$node points.mjs other silent" >got.txt
	$node stacks.js <got.txt | sed 's/node:\([^ |]*\) [^|]*/node:\1/g' >got
	sed 's/node:\([^ |]*\) [^|]*/node:\1/g' noted >want
	echo "one that does not: $($node compare.js want got)"

	# the frames of the program are the same without the option
	rm -f met
	LC_ALL=C.UTF-8 "$TRIGGER/met" "$DTRACE" -q -x jstackstrsize=32768 -n "$script" -c "$node points.mjs noted" >got.txt
	$node stacks.js <got.txt >got
	echo "without the option: $(grep -c 'async ' got)"
	sed 's/|async .*//' noted >want
	$node compare.js want got | grep differ

	# samples at any instruction, while objects move: the chain of each function, whole or cut off
	cat >busy.mjs <<'X'
import fs from 'node:fs';
let garbage = [];
function churn(n) { for (let i = 0; i < n; i++) garbage.push({ i, s: 'x' + i }); if (garbage.length > 200000) garbage = []; }
async function left() { await null; churn(9000); }
async function right() { await null; churn(5000); }
async function a(f) { await f(); }
async function b(f) { await a(f); }
async function c(f) { await a(f); }
async function one() { await b(left); }
async function two() { await Promise.all([c(right)]); }
async function three() { for await (const x of numbers()); }
async function* numbers() { for (let i = 0; i < 3; i++) { await c(left); yield i; } }
const used = () => Object.values(process.cpuUsage()).reduce((x, y) => x + y) / 1000; // ms on CPUs
while (!fs.existsSync('met') && used() < 60000); // samples are taken meanwhile
for (const end = used() + 6000; used() < end;) {
	await one(); await two(); await three();
	await Promise.all([one(), two(), three()]);
}
X
	# a function before its first await is on the stack of those that have called it: these wait as well
	cat >chains.js <<'X'
const chains = [ 'left|a|b|one|(anon)', 'right|a|c|Promise.all|two|(anon)', 'left|a|c|numbers|three|(anon)', 'left|a|b|one|Promise.all|(anon)',
	'right|a|c|Promise.all|two|Promise.all|(anon)', 'left|a|c|numbers|three|Promise.all|(anon)' ];
// up to its first await, a function has its callers on the stack
const called = 'right|a|c|two|(anon)';
let wrong = new Set(), seen = new Set(), whole = 0, all = 0;
for (const block of require('fs').readFileSync(0, 'utf8').split('\n\n')) {
	const f = block.split('\n').map((l) => (/ at \S*busy.mjs|Promise.all/.test(l) ? l : '').match(/^ *(?:async )?(\S*)/)[1]).filter((l) => l);
	const at = f.findIndex((l) => l === 'left' || l === 'right'), n = Number(block.trim().split('\n').pop());
	// in the first instructions of a builtin, its frame is taken for one of its caller
	const chain = f.slice(at).join('|').replace(/^(\w+\|)\1/, '$1'), asyncs = / async /.test(block);
	if (at < 0 || !/AwaitResolveClosure/.test(block))
		continue;
	all += n;
	if (asyncs)
		seen.add(chain);
	if (chains.includes(chain) || chain === called)
		whole += n;
	else if (!chains.some((c) => c.startsWith(chain)))
		wrong.add(chain);
}
for (const chain of wrong)
	console.log('wrong:', chain);
for (const chain of chains)
	if (!seen.has(chain))
		console.log('never seen:', chain);
console.log('samples:', all > 100 && whole >= 0.97 * all ? 'good' : `${whole} of ${all} are whole`);
X
	rm -f met
	LC_ALL=C.UTF-8 "$TRIGGER/met" "$DTRACE" -q -x jstackasync -x jstackstrsize=16k -n 'profile-997 /pid == $target/ { @[jstack(100)] = count(); }' \
		-c "$node busy.mjs" >got.txt 2>errors
	$node chains.js <got.txt
} 2>&1
