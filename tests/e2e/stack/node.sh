# Stacks of Node.js: at points where the program writes down its own stack, every frame of JavaScript is there, in order, with function,
# file and line, in interpreted, baseline and optimised code, also of functions that were inlined; the program needs no flag. Samples of a
# busy program show no function that the program does not have. The line is counted in a text that the collector is moving, too.
node=${NODE:-/usr/bin/node}
case $($node --version 2>/dev/null) in
v1[68].*|v2[0246].*) ;;
*)
	echo "this test needs Node.js 20 (package nodejs)"
	exit 67
	;;
esac
cd "$TMP" || exit 1

cat >points.js <<'X'
'use strict';
const fs = require('fs');
let lines = [], quiet = true, silent = process.argv[3] === 'silent';

function note() {
	if (silent)
		return;
	Error.stackTraceLimit = 1000;
	const was = Error.prepareStackTrace;
	Error.prepareStackTrace = (e, sites) => sites;
	const sites = new Error().stack;
	Error.prepareStackTrace = was;
	lines.push(sites.slice(1).filter((s) => s.getFileName())
		.map((s) => `${s.getFunctionName() || '(anon)'} at ${s.getFileName()} line ${s.getLineNumber()}`).join('|'));
}
function point(x) {
	if (quiet)
		return x;
	note(); process.umask(18);
	return x;
}

class Worker {
	constructor(n) { this.n = n; this.step(); }
	step() { return [3, 1, 2].sort((a, b) => point(a - b)); }
	get größe() {
		return point(1);
	}
	static make() { return new Worker(3); }
}
function* numbers() {
	for (let i = 0; i < 2; i++)
		yield point(i);
}
function deep(n) { return n ? deep(n - 1) : point(n); }
async function leaf() {
	await null;
	point();
}
const calls = [(x) => x, (x) => x + 1, (x) => x + 2, (x) => x + 3, (x) => x + 4, point];
// optimised after some thousand calls; what is called is not known, so that it is not inlined
function inner(i) {

	return calls[i % calls.length](i);
}
function middle(i) {
	const a = i + 1;
	return inner(a - 1);
}
function hot(i) {
	let s = 0;
	for (let k = 0; k < 2; k++)
		s += middle(i);
	return s;
}
// the first round of a loop and the others may be of different code
function rounds(i) {
	let s = 0;
	for (let j = 0; j < 2; j++) {
		s += calls[i % calls.length](i);
		for (const k of [1, 2])
			s += calls[i % calls.length](k);
		while (s & 1)
			s += calls[i % calls.length](1) | 1;
		s -= middle(i);
	}
	return s;
}
function wide(a) {
	if (a > 1)
		a = a + 1;


	const b = { 'x': point(a), 'y': a };
	const c = `${point(a)} ${a}`;
	try {
		throw new Error(c);
	} catch (e) {
		point();
	} finally {
		point();
	}
	switch (a) {
	case 1: point(1); break;
	default: point(2);
	}
	return b || c;
}
const holder = { method() { point(); }, arrow: () => { point(); }, f: function () { point(); } };

function all() {
	Worker.make().größe;
	[...numbers()];
	deep(5);
	deep(40);
	hot(5);
	rounds(5);
	esm.inModule(point);
	wide(1);
	wide(2);
	holder.method(); holder.arrow(); holder.f();
	[1, 2].map((x) => point(x)).forEach(function each(x) { point(x); });
	'ab'.replace(/b/, () => point('c'));
	JSON.stringify({ toJSON() { return point(1); } });
	Reflect.apply(point, null, [1]);
	point.bind(null, 2)();
	void leaf();
	require('vm').compileFunction('point(2);\n\n\n', [], { filename: '/some/first.js' })(); // its first character is that of the call
	large(1);
	eval('1'); require('vm').runInThisContext('(function inContext(f) {\n\n f(); })', { filename: '/some/script.js', lineOffset: 10 })(point);
}
let esm;
globalThis.point = point;
// baseline code with more bytecodes than the helper counts: no line
const large = require('vm').runInThisContext(`(function large(a) {\n${'a++\n'.repeat(12000)}point(a);\n})`, { filename: '/some/large.js' });
for (let i = 0; i < 300; i++)
	large(i);
import('./module.mjs').then((m) => { esm = m; });
for (let i = 0; i < 30000; i++) {
	hot(i);
	rounds(i % 5);
}
process.umask(18); // the first stack, after which the tracer looks at the process
const wait = setInterval(() => {
	if (!fs.existsSync('met') || !esm)
		return;
	clearInterval(wait);
	quiet = false;
	all();
	quiet = true;
	for (let i = 0; i < 300; i++)
		all();
	quiet = false;
	all();
	setTimeout(() => fs.writeFileSync(process.argv[2], lines.join('\n') + '\n'), 10);
}, 20);
X

cat >module.mjs <<'X'
import { format } from 'node:util';

class Inside {
	#call(f) { return f(format('%d', 1)); }
	static { Inside.made = function made(f) { return new Inside().#call(f); }; }
}
export function inModule(f) {
	return Inside.made(f);
}
X

# one line a stack: the frames of JavaScript from the innermost call of point()
cat >stacks.js <<'X'
'use strict';
const text = require('fs').readFileSync(0, 'utf8');
for (const block of text.split('\n\n')) {
	let f = block.split('\n').map((l) => l.trim()).filter((l) => / at \S+( (line|file position) \d+)?$/.test(l) && !l.includes('`'));
	const at = f.findIndex((l) => l.startsWith('point at '));
	if (at < 0)
		continue;
	// a name that V8 has made up is none to the program
	console.log(f.slice(at).map((l) => l.replace(/^\(anon\) as .* at (\S+( (line|file)|$))/, '(anon) at $1')).join('|'));
}
X
# each frame is that of the program, or lacks its line
cat >compare.js <<'X'
'use strict';
const [want, got] = process.argv.slice(2).map((f) => require('fs').readFileSync(f, 'utf8').trim().split('\n').map((l) => l.split('|')));
let frames = 0, silent = 0, wrong = want.length !== got.length;
for (let i = 0; i < want.length && i < got.length; i++) {
	const is = (w, g) => w === g || w.replace(/ line \d+$/, '') === g;
	frames += want[i].length;
	silent += want[i].filter((w, k) => w !== got[i][k] && is(w, got[i][k])).length;
	if (want[i].length !== got[i].length || !want[i].every((w, k) => is(w, got[i][k]))) {
		console.log(`stack ${i} differs:\n< ${want[i].join('|')}\n> ${got[i].join('|')}`.slice(0, 1500));
		wrong = true;
	}
}
if (wrong || silent * 50 > frames)
	console.log(`${want.length} and ${got.length} stacks differ; ${silent} of ${frames} frames have no line`);
X
script='syscall::umask:entry /pid == $target/ { jstack(200); }'

{
	rm -f met
	LC_ALL=C.UTF-8 "$TRIGGER/met" "$DTRACE" -q -x jstackstrsize=32768 -n "$script" -c "$node points.js noted" >got.txt
	$node stacks.js <got.txt >got
	$node compare.js noted got | head -20
	# the program notes 390 in Node.js 26, and 392 in those before
	many() { [ "$(wc -l <"$1")" -ge 390 ] && echo "stacks of $2" || echo "$(wc -l <"$1") stacks of $2"; }
	many noted "a program that knows its lines"

	# V8 has not counted the lines of any file; those of large files are shown as positions
	rm -f met
	LC_ALL=C.UTF-8 "$TRIGGER/met" "$DTRACE" -q -x jstackstrsize=32768 -n "$script" -c "$node points.js other silent" >got.txt
	$node stacks.js <got.txt | sed 's/node:\([^ |]*\) [^|]*/node:\1/g' >got
	sed 's/node:\([^ |]*\) [^|]*/node:\1/g' noted >want
	$node compare.js want got | head -20
	many got "one that does not"

	# as many changes between JavaScript and V8's builtins as 1,024 frames have room for, in each way alone and in turns
	cat >deep.js <<'X'
'use strict';
const fs = require('fs');
Error.stackTraceLimit = Infinity;
const ways = {
	map: (n) => [n].map((x) => go(x - 1))[0],
	each: (n) => { let r; [n].forEach((x) => { r = go(x - 1); }); return r; },
	parse: (n) => JSON.parse('1', () => go(n - 1)),
	getter: (n) => ({ get x() { return go(n - 1); } }).x,
	sort: (n) => { let r; [2, 1].sort((a, b) => { if (r === undefined) r = go(n - 1); return 0; }); return r; },
	replace: (n) => { let r; 'x'.replace(/x/, () => { r = go(n - 1); return ''; }); return r; },
	apply: (n) => Reflect.apply(go, null, [n - 1]),
	bound: (n) => go.bind(null, n - 1)(),
	proxy: (n) => new Proxy({}, { get: () => go(n - 1) }).x,
};
const names = Object.keys(ways), noted = [];
let loud = false, only;
function leaf() {
	if (!loud)
		return 0;
	const was = Error.prepareStackTrace;
	Error.prepareStackTrace = (e, s) => s;
	const s = new Error().stack;
	Error.prepareStackTrace = was;
	noted.push(s.filter((f) => f.getFileName() === __filename)
		.map((f) => `${f.getFunctionName() || '(anon)'} at ${__filename} line ${f.getLineNumber()}`).slice(1).join('|'));
	process.umask(18);
	return 0;
}
function go(n) { return n <= 0 ? leaf() : ways[only || names[n % names.length]](n); }
go(30);
process.umask(18);
const wait = setInterval(() => {
	if (!fs.existsSync('met'))
		return;
	clearInterval(wait);
	loud = true;
	for (only of [...names, undefined])
		go(65);
	fs.writeFileSync('noted', noted.join('\n') + '\n');
}, 20);
X
	cat >deep_stacks.js <<'X'
for (const block of require('fs').readFileSync(0, 'utf8').split('\n\n')) {
	const lines = block.split('\n').map((l) => l.trim()).filter((l) => l);
	const f = lines.filter((l) => / at \S*deep.js line \d+$/.test(l)).map((l) => l.replace(/^\(anon\) as .* at /, '(anon) at '));
	if (f.length && f[0].startsWith('leaf at '))
		console.log(f.slice(1).join('|') + (/_start/.test(lines.slice(-2)) ? '' : '|cut'));
}
X
	rm -f met
	LC_ALL=C.UTF-8 "$TRIGGER/met" "$DTRACE" -q -x jstackstrsize=256k -n 'syscall::umask:entry /pid == $target/ { jstack(1024); }' -c "$node deep.js" >got.txt
	$node deep_stacks.js <got.txt >got
	$node compare.js noted got | head -20
	echo "$(wc -l <got) deep stacks"

	# a function whose code V8 gives up while it calls, and names that V8 has made up and not joined yet
	cat >given_up.js <<'X'
'use strict';
const fs = require('fs'), some = { where: { deep: {} } };
function inlined(x) { return x * 2; }
function caller(n, f) {
	const a = inlined(f(n));
	return inlined(a) + inlined(n);
}
some.where.anonymous = function () { process.umask(18); return 1; };
some.where.deep.anonymous = function () { return caller(1, () => { %DeoptimizeFunction(caller); process.umask(18); return 1; }); };
function warm() {
	%PrepareFunctionForOptimization(caller);
	for (let i = 0; i < 1000; i++)
		caller(i, inlined);
	%OptimizeFunctionOnNextCall(caller);
	caller(1, inlined);
	return (%GetOptimizationStatus(caller) & 16) !== 0;
}
process.umask(18);
const wait = setInterval(() => {
	if (!fs.existsSync('met'))
		return;
	clearInterval(wait);
	for (let i = 0; i < 3; i++) {
		if (!warm())
			console.log('caller() is not optimised');
		some.where.deep.anonymous();
	}
	some.where.anonymous();
}, 20);
X
	rm -f met
	LC_ALL=C.UTF-8 "$TRIGGER/met" "$DTRACE" -q -x jstackstrsize=32k -n "$script" -c "$node --allow-natives-syntax given_up.js" >got.txt
	grep -v '^ *$' got.txt | sed -n 's/^ *\([^`]*\) at [^ ]*given_up.js\( line [0-9]*\)\{0,1\}$/\1\2/p' | sed '/^caller/s/ line 5$//' | sort | uniq -c

	# samples at any instruction, while objects move and code is replaced
	cat >busy.js <<'X'
'use strict';
let garbage = [], fs = require('fs');
function fib(n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
function churn(n) { for (let i = 0; i < n; i++) garbage.push({ i, s: 'x' + i }); if (garbage.length > 200000) garbage = []; }
function build(n) { return (0, eval)(`(function made(a) { let s = ${n}; for (let i = 0; i < 2000; i++) s += a * i; return s; })`); }
const compare = (a, b) => a.s < b.s ? -1 : 1;
function round(n) {
	fib(18); churn(20000); build(n)(n);
	garbage.slice(0, 2000).sort(compare);
	JSON.parse(JSON.stringify(garbage.slice(0, 2000)), function revive(k, v) { return v; });
}
const used = () => Object.values(process.cpuUsage()).reduce((a, b) => a + b) / 1000; /* ms on CPUs */
while (!fs.existsSync('met') && used() < 60000); const end = used() + 9000;
for (let n = 0; used() < end; n++)
	round(n);
X
	rm -f met
	LC_ALL=C.UTF-8 "$TRIGGER/met" "$DTRACE" -q -x jstackstrsize=8k -n 'profile-997 /pid == $target/ { @[jstack(60)] = count(); }' -c "$node busy.js" >got.txt 2>errors
	# the functions that have frames of this program, each with a line that it has
	sed -nE 's/^ +([^`]*) at [^ ]*busy.js( line)?/\1/p' got.txt | sort -u >seen
	cat >ranges.js <<'X'
const fs = require('fs');
const range = { fib: [3, 3], churn: [4, 4], build: [5, 5], compare: [6, 6], round: [7, 11], revive: [10, 10], used: [12, 12], '(anon)': [1, 15] };
let wrong = 0, named = new Set();
for (const l of fs.readFileSync('seen', 'utf8').trim().split('\n')) {
	const [, name, line] = l.match(/^(.*?)(?: +(\d+))?$/);
	const r = range[name];
	if (!r || (line && (line < r[0] || line > r[1]))) {
		console.log('wrong:', l);
		wrong++;
	}
	if (line)
		named.add(name);
}
for (const name of ['fib', 'churn', 'compare', 'round', 'revive', '(anon)'])
	if (!named.has(name))
		console.log('never seen:', name);
console.log('a busy program:', wrong, 'wrong frames');
X
	$node ranges.js
	# nearly all samples in this program's functions reach the outermost one
	awk 'BEGIN { RS = "" } /busy.js/ { all += $NF; if (/ \(anon\) at [^\n]*busy.js/) whole += $NF }
		END { print "whole:", (all > 100 && whole >= 0.97 * all ? "good" : whole " of " all) }' got.txt

	# many samples are taken while the collector moves the text of moved(), which is new each time
	cat >young.js <<'X'
'use strict';
const { Script } = require('vm');
let garbage = [];
const used = () => Object.values(process.cpuUsage()).reduce((a, b) => a + b) / 1000; // ms on CPUs
while (!require('fs').existsSync('met') && used() < 60000);
const end = used() + 4000;
for (let n = 0; used() < end; n++) {
	const moved = new Script(`// ${n}\n(function moved(to) { for (let i = 0; i < 20000; i++) to.push({ i, s: 'x' + i }); })`,
		{ filename: 'text.js', lineOffset: 20 }).runInThisContext();
	moved(garbage);
	if (garbage.length > 200000)
		garbage = [];
}
X
	rm -f met
	LC_ALL=C.UTF-8 "$TRIGGER/met" "$DTRACE" -q -x jstackstrsize=8k -n 'profile-997 /pid == $target/ { @[jstack(60)] = count(); }' -c "$node young.js" >got.txt 2>errors
	# a frame whose position is not known has no line; one with a position has its line. (anon): the text outside the function
	grep -oE '[^ `]+ at text.js.*' got.txt | sort -u | grep -vxE 'moved at text.js|\(anon\) at text.js( line 2[12])?'
} 2>&1
