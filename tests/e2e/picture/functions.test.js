/* SPDX-License-Identifier: MIT */
/* The functions of functions.js that draw nothing. */
"use strict";
const assert = require("assert"), path = require("path");
const dir = path.join(__dirname, "../../../src/picture");
const F = require(path.join(dir, "flame.js")), G = require(path.join(dir, "functions.js"));

/* Folded stacks as a set; values of an earlier run stand behind a slash. */
function setOf(text) {
	const names = ["rall"], nodes = [{name: 0, kids: [], self: 0, before: 0}];
	const isTwo = text.includes("/");
	for (const line of text.trim().split("\n")) {
		const [stack, values] = line.trim().split(" = "), [now, before] = values.split("/");
		let at = 0;
		for (const name of stack.split(";")) {
			if (!names.includes(name))
				names.push(name);
			let next = nodes[at].kids.find((k) => nodes[k].name === names.indexOf(name));
			if (next === undefined) {
				next = nodes.length;
				nodes[at].kids.push(next);
				nodes.push({name: names.indexOf(name), kids: [], self: 0, before: 0});
			}
			at = next;
		}
		nodes[at].self += Number(now);
		nodes[at].before += Number(before || 0);
	}
	const tree = [];
	let last = -1;
	(function walk(i, depth) {
		tree.push(last < 0 ? 0 : last + 1 - depth, nodes[i].name, nodes[i].self);
		if (isTwo)
			tree.push(nodes[i].before);
		last = depth;
		nodes[i].kids.forEach((k) => walk(k, depth + 1));
	})(0, 0);
	return {names, set: {tree, width: isTwo ? 4 : 3}};
}

/* A tree as text: name:total, what is above it in parentheses. */
function shown(names, d, i = 0) {
	const kids = [];
	for (let c = i + 1; c < d.end[i]; c = d.end[c])
		kids.push(shown(names, d, c));
	return names[d.name[i]].slice(1) + ":" + d.total[i] + (kids.length ? "(" + kids.join(" ") + ")" : "");
}

function look(text) {
	const {names, set} = setOf(text), d = F.decode(set), fns = G.index(names), t = G.totals(d, fns);
	const of = (name) => fns.names.findIndex((n) => n.slice(1) === name);
	return {d, fns, t, of, model: {fns, totals: t, all: {now: d.total[0], before: 0}, re: null},
		callers: (name) => shown(fns.names, F.decode(G.merged(d, fns, of(name), true))),
		callees: (name) => shown(fns.names, F.decode(G.merged(d, fns, of(name), false)))};
}

/* values of their own and in all */
const a = look(`rsh;nmain;nparse;nmalloc = 10
	rsh;nmain;nrun;nmalloc = 30
	rsh;nmain;nrun = 5
	rsh;nmain;nrun;nmalloc;kbrk = 2`);
assert.deepStrictEqual([a.t.self[a.of("malloc")], a.t.total[a.of("malloc")]], [40, 42]);
assert.deepStrictEqual([a.t.self[a.of("run")], a.t.total[a.of("run")]], [5, 37]);
assert.deepStrictEqual([a.t.self[a.of("main")], a.t.total[a.of("main")]], [0, 47]);

/* merged callers and callees, from the greatest on; the root is not among them */
assert.strictEqual(a.callers("malloc"), "malloc:42(run:32(main:32(sh:32)) parse:10(main:10(sh:10)))");
assert.strictEqual(a.callees("malloc"), "malloc:42(brk:2)");
assert.strictEqual(a.callees("main"), "main:47(run:37(malloc:32(brk:2)) parse:10(malloc:10))");
assert.strictEqual(a.callers("sh"), "sh:47");

/* recursion: once in the total, with the callers of the outermost call, and seen among the callees */
const r = look(`nmain;nf;nf;nf = 4
	nmain;nf;ng;nf = 6
	nmain;ng;nf = 1
	nmain;nf = 3`);
assert.deepStrictEqual([r.t.self[r.of("f")], r.t.total[r.of("f")], r.t.total[r.of("g")]], [14, 14, 7]);
assert.strictEqual(r.callers("f"), "f:14(main:13 g:1(main:1))");
assert.strictEqual(r.callees("f"), "f:14(g:6(f:6) f:4(f:4))");
for (const name of ["f", "g", "main"])
	assert.ok(r.t.total[r.of(name)] <= r.d.total[0]);

/* lines of a function are one function; native names stay as they are */
assert.strictEqual(G.functionOf("lcharge (/a/shop.py:12)"), "lcharge (/a/shop.py)");
assert.strictEqual(G.functionOf("lj/Map.get(Map.java:7)*"), "lj/Map.get(Map.java)");
assert.strictEqual(G.functionOf("lj/Map.get(Map.java:7)"), "lj/Map.get(Map.java)");
assert.strictEqual(G.functionOf("lhandle at /a/s.js line 88"), "lhandle at /a/s.js");
assert.strictEqual(G.functionOf("nlib`f (a:12)"), "nlib`f (a:12)");
const l = look(`lf (x.py:1) = 2
	lf (x.py:2) = 3
	nf (x.py:2) = 4`);
assert.deepStrictEqual([l.t.total[l.of("f (x.py)")], l.fns.names.length], [5, 3]);
assert.deepStrictEqual(G.split("lf (x.py)"), ["f", "x.py"]);
assert.deepStrictEqual(G.split("lblock (2 levels) in f (x.rb)"), ["block (2 levels) in f", "x.rb"]);
assert.deepStrictEqual(G.split("lhandle at /a/s.js"), ["handle", "/a/s.js"]);
assert.deepStrictEqual(G.split("nlibc.so.6`malloc"), ["malloc", "libc.so.6"]);

/* rows: keys are no functions; order by each column, and what matches */
const order = (m, column, descending) => G.rows(m, {column, descending}).map((f) => m.fns.names[f].slice(1));
assert.deepStrictEqual(order(a.model, "self", true), ["malloc", "run", "brk", "main", "parse"]);
assert.deepStrictEqual(order(a.model, "total", true), ["main", "malloc", "run", "parse", "brk"]);
assert.deepStrictEqual(order(a.model, "total", false), ["brk", "parse", "run", "malloc", "main"]);
assert.deepStrictEqual(order(a.model, "name", false), ["brk", "main", "malloc", "parse", "run"]);
assert.deepStrictEqual(order({...a.model, re: /^ma/}, "self", true), ["malloc", "main"]);

/* two runs */
const two = look(`na;nb = 30/10
	na;nc = 10/10`);
two.model.all.before = 20;
assert.deepStrictEqual(Array.from(two.t.before.slice(1)), [20, 10, 10]);
assert.deepStrictEqual(order(two.model, "change", true), ["b", "a", "c"]);
assert.strictEqual(G.changeText(G.change(two.t, two.model.all, two.of("b"))), "+25.00");
assert.strictEqual(G.changeText(G.change(two.t, two.model.all, two.of("c"))), "\u221225.00");
assert.deepStrictEqual([G.valuesOf({...two.model, byBefore: true}).self[two.of("b")], G.valuesOf(two.model).self[two.of("b")]], [10, 30]);
const up = G.merged(two.d, two.fns, two.of("b"), true);
assert.deepStrictEqual([up.width, Array.from(F.decode(up).before)], [4, [10, 10]]);

/* no frames, one frame, a stack of 20,000 frames */
const none = G.totals(F.decode({width: 3, tree: [0, 0, 0]}), G.index(["rall"]));
assert.deepStrictEqual(Array.from(none.total), [0]);
const many = ["rall"], tree = [0, 0, 0];
for (let i = 1; i <= 20000; i++) {
	many.push("nf" + i);
	tree.push(0, i, i === 20000 ? 7 : 0);
}
const deep = F.decode({width: 3, tree}), fns = G.index(many);
for (const [f, is_callers] of [[20000, true], [1, false]]) {
	const d = F.decode(G.merged(deep, fns, f, is_callers));
	assert.deepStrictEqual([d.deepest, d.total[0], d.total[19999]], [19999, 7, 7]);
}
