# Stacks of Node.js while optimised code bails out, which V8 does in a builtin that takes the frame of the code to pieces: from the C++ that the
# builtin calls and from each of its instructions, the function that bailed out and all below it are there, down to _start.
node=${NODE:-/usr/bin/node}
case $($node --version 2>/dev/null) in
v1[68].*|v2[0246].*) ;;
*)
	echo "this test needs Node.js 20 (package nodejs)"
	exit 67
	;;
esac
cd "$TMP" || exit 1

cat >deopt.js <<'X'
'use strict';
const fs = require('fs');
function victim(f, a) {
	return f(a) + 1;
}
function outer(f, o) {
	let s = 0;
	for (let i = 0; i < 2; i++)
		s += victim(f, o);
	return s;
}
function bottom(f, o) { return outer(f, o) + 1; }
const calls = [(x) => x, (x) => x + 1, (x) => x + 2, (x) => x + 3, (x) => x + 4];
const gives_up = (x) => { %DeoptimizeFunction(outer); return x; };
function round(f, o) {
	%PrepareFunctionForOptimization(victim);
	%PrepareFunctionForOptimization(outer);
	for (let i = 0; i < 10; i++)
		bottom(calls[i % 5], 1);
	%OptimizeFunctionOnNextCall(outer);
	bottom(calls[0], 1);
	return bottom(f, o);
}
for (const f of [bottom, round, gives_up])
	%NeverOptimizeFunction(f);
process.umask(18);
const wait = setInterval(() => {
	if (!fs.existsSync('met'))
		return;
	clearInterval(wait);
	process.umask(18);
	round(calls[0], 'text'); // eager: the sum is no number
	for (let i = 0; i < 5; i++)
		round(gives_up, 1); // lazy: when the call returns
}, 20);
X
cat >check.js <<'X'
const has_lines = parseInt(process.versions.node) > 16; // of code that was given up
const below = String.raw`bottom line 12 \| round line 22 \| \(anon\) line 3[24]`;
const inlined = String.raw`victim line 4 \| outer line 9 \| `, any = String.raw`(victim( line 4)? \| )?outer( line 9)? \| `;
const counts = {};
for (const block of require('fs').readFileSync(0, 'utf8').split(/\n *\d+\n/)) {
	const [what, ...frames] = block.split('\n').map((l) => l.trim()).filter((l) => l);
	if (!what)
		continue;
	const part = what.match(/(\S+::)?(New|ComputeOutputFrames)\(/)?.[2] || (/DeoptimizationEntry/.test(what) ? 'instructions' : what);
	const got = frames.map((l) => l.match(/^([^`]*) at \S*deopt.js( line \d+)?$/)).filter((m) => m).map((m) => m[1] + (m[2] || '')).join(' | ');
	const kind = frames.find((l) => /DeoptimizationEntry/.test(l))?.match(/Entry_(\w+)/)[1];
	const want = part === 'ComputeOutputFrames' && kind === 'Lazy' && has_lines ? inlined : any;
	if (!RegExp(`^${want}${below}$`).test(got) || !/`_start/.test(frames.at(-1)))
		console.log(`wrong: ${part} ${kind}: ${got} ... ${frames.at(-1)}`);
	counts[`${part} ${kind}`] = true;
}
console.log(Object.keys(counts).sort().join('\n'));
X
rm -f met
LC_ALL=C.UTF-8 "$TRIGGER/met" "$DTRACE" -q -x jstackstrsize=16k -n 'int n; syscall::umask:entry /pid == $target/ { @met[jstack(200)] = count(); n++; }
	pid$target::_ZN2v88internal11Deoptimizer3New*:entry, pid$target::_ZN2v88internal11Deoptimizer19ComputeOutputFrames*:entry,
	pid$target::Builtins_DeoptimizationEntry_Lazy: /n == 2/ { @[probefunc, probename, jstack(200)] = count(); } END { trunc(@met); }' \
	-c "$node --allow-natives-syntax --no-use-osr deopt.js" >got.txt
$node check.js <got.txt
