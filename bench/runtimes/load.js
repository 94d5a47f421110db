/* SPDX-License-Identifier: MIT */
// Makes a system call below JavaScript frames: a line "repeat N", "known N" or "first N" on stdin is answered with the nanoseconds that a call takes,
// "busy N" with the numbers of N windows of 100 ms: requests that a server answered in it, and the processor time they took.
'use strict';
const vm = require('vm');
const readline = require('readline');
const FRAMES = 22;
const now = () => Number(process.hrtime.bigint());

function hot(n) {
	const took = new Float64Array(n);
	for (let i = 0; i < n; i++) {
		const start = now();
		process.ppid;
		took[i] = now() - start;
	}
	return took.sort()[n >> 1];
}

function down(depth, n) {
	return depth ? down(depth - 1, n) : hot(n);
}

// a chain of new functions of a new file, called once
function fresh(number) {
	let text = '';
	for (let i = 0; i < FRAMES; i++)
		text += `function handle_${number}_${i}(x) {\n\treturn ${i ? `handle_${number}_${i - 1}` : 'leaf'}(x + 1);\n}\n`;
	text += `function leaf(x) {\n\tconst start = now();\n\tprocess.ppid;\n\treturn now() - start;\n}\nhandle_${number}_${FRAMES - 1}(1);`;
	return new vm.Script(text, { filename: `/srv/app/page${number}.js` }).runInContext(space);
}

// functions that were called before, in an order that has not been there
let seed = 1;
const below = (n) => (seed = seed * 48271 % 2147483647) % n;
function known(n, steps) {
	const took = [];
	for (let i = 0; i < n; i++) {
		const path = [];
		for (let k = 1; k < FRAMES; k++)
			path.push(steps[below(steps.length)]);
		path.push(steps.last);
		took.push(path[0](path, 1));
	}
	return took.sort((a, b) => a - b)[n >> 1];
}
function pool() {
	const steps = [];
	for (let i = 0; i < 40; i++)
		steps.push(new vm.Script(`(function known_${i}(path, at) {\n\treturn path[at](path, at + 1);\n})`, { filename: `/srv/app/known${i}.js` }).runInContext(space));
	steps.last = function last() {
		const start = now();
		process.ppid;
		return now() - start;
	};
	return steps;
}

const item = (k, total) => `<li>item ${k}: ${k * k % total} of ${total}, ${JSON.stringify({ key: k, list: Array.from({ length: k % 7 }, (x, i) => i) })}</li>`;
function render(depth, k) {
	return depth ? render(depth - 1, k) : Array.from({ length: 12 }, (x, i) => item(i, k + 9)).sort((a, b) => a < b ? -1 : 1).join('');
}
// Whole groups of requests of each window, and nanoseconds of processor time for them, as text: "window:requests:ns ...".
const WINDOW = 100000000n; // of CLOCK_MONOTONIC, as a D program's timestamp
const GROUP = 14;
const used = () => {
	const { user, system } = process.cpuUsage();
	return (user + system) * 1000;
};
function busy(n) {
	const windows = new Map();
	let at = process.hrtime.bigint() / WINDOW, now = used();
	for (const last = at + BigInt(n); at < last;) {
		for (let k = 0; k < GROUP; k++)
			JSON.parse(JSON.stringify({ page: render(k, k), k }));
		const was = at, then = now;
		at = process.hrtime.bigint() / WINDOW;
		now = used();
		if (at !== was)
			continue;
		const one = windows.get(at) ?? windows.set(at, [0, 0]).get(at);
		one[0] += GROUP;
		one[1] += now - then;
	}
	return Array.from(windows, ([w, [requests, ns]]) => `${w}:${requests}:${ns}`).join(' ');
}

const space = vm.createContext({ process, now });
let number = 0;
let steps;
readline.createInterface({ input: process.stdin }).on('line', (line) => {
	const [how, n] = line.split(' ');
	if (how === 'repeat') {
		console.log(down(FRAMES, +n));
		return;
	}
	if (how === 'known') {
		console.log(known(+n, steps ??= pool()));
		return;
	}
	if (how === 'busy') {
		console.log(busy(+n));
		return;
	}
	const took = [];
	for (let i = 0; i < +n; i++)
		took.push(fresh(number++));
	console.log(took.sort((a, b) => a - b)[took.length >> 1]);
});
