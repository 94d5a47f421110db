/* SPDX-License-Identifier: MIT */
/*
 * Draws flame graphs into an svg element: zoom, search, the frame under the pointer, the order of
 * rows, the choice among several graphs, and beside a table of functions the callers and callees
 * of one. picture/flame.c writes the data.
 *
 * Data     {names, sets}. A name begins with the letter of its kind. A set has the frames of one
 *          aggregation in preorder: rows of `width` numbers [up, name, self] or, when it is
 *          compared with an earlier run, [up, name, self, before]. up is how many levels the
 *          parent is above the previous frame; self excludes the frame's children.
 * Safety   text of the data only ever becomes the content of text nodes.
 * @@needs common.js
 * @@needs functions.js
 */
(function (root) {
	"use strict";
	const in_node = typeof module !== "undefined" && module.exports;
	const common = in_node ? require("./common.js") : root.pictureCommon;
	const functions = in_node ? require("./functions.js") : root.pictureFunctions;
	const {grouped, shortText, valueText, percent, columns, cut, lines, make} = common;
	const XHTML = "http://www.w3.org/1999/xhtml";
	const ROW = 19, PAD = 12, HEAD = 70, LINE = 28, FOOT = 44, FONT = 12, MIN_WIDTH = 0.7;
	/* Sizes of the view of callers and callees; from WIDE on, the table stands beside it. */
	const CAPTION = 46, GUTTER = 62, WIDE = 900;
	const KINDS = {r: "key", n: "native code", l: "language", k: "kernel", x: "cut"};

	/* ---- pure functions ------------------------------------------------------------------ */

	/* Decodes a set to arrays: depth, name, parent, end (of the subtree), total, self, before. */
	function decode(set) {
		const t = set.tree, w = set.width, n = t.length / w;
		const d = {n, depth: new Int32Array(n), name: new Int32Array(n),
			parent: new Int32Array(n), end: new Int32Array(n),
			self: new Float64Array(n), total: new Float64Array(n),
			before: w > 3 ? new Float64Array(n) : null,
			selfBefore: w > 3 ? new Float64Array(n) : null, deepest: 0};
		const open = [];
		for (let i = 0; i < n; i++) {
			for (let up = t[i * w]; up > 0 && open.length; up--)
				d.end[open.pop()] = i;
			d.parent[i] = open.length ? open[open.length - 1] : -1;
			d.depth[i] = open.length;
			d.deepest = Math.max(d.deepest, open.length);
			d.name[i] = t[i * w + 1];
			d.self[i] = d.total[i] = t[i * w + 2];
			if (d.before)
				d.selfBefore[i] = d.before[i] = t[i * w + 3];
			open.push(i);
		}
		while (open.length)
			d.end[open.pop()] = n;
		for (let i = n - 1; i > 0; i--) {
			d.total[d.parent[i]] += d.total[i];
			if (d.before)
				d.before[d.parent[i]] += d.before[i];
		}
		return d;
	}

	/* The frames that are at least least pixels wide, with their places. */
	function visible(d, weight, zoom, width, least) {
		const out = [], scale = weight[zoom] > 0 ? width / weight[zoom] : 0;
		const at = new Float64Array(d.deepest + 2);
		for (let i = d.parent[zoom]; i >= 0; i = d.parent[i])
			out.push({i, x: 0, w: width, above: true});
		out.reverse();
		at[d.depth[zoom]] = 0;
		for (let i = zoom; i < d.end[zoom];) {
			const x = at[d.depth[i]], w = weight[i] * scale;
			at[d.depth[i]] = x + w;
			at[d.depth[i] + 1] = x;
			if (w < least) {
				i = d.end[i];
				continue;
			}
			out.push({i, x, w, above: false});
			i++;
		}
		return out;
	}

	/* Which names match, and how much of the graph they cover; nested matches count once. */
	function search(d, names, weight, re) {
		const hit = new Uint8Array(names.length);
		let sum = 0, frames = 0;
		for (let i = 0; i < names.length; i++)
			hit[i] = re.test(names[i].slice(1)) ? 1 : 0;
		for (let i = 0; i < d.n; i++)
			frames += hit[d.name[i]];
		for (let i = 0; i < d.n;) {
			if (hit[d.name[i]]) {
				sum += weight[i];
				i = d.end[i];
			} else {
				i++;
			}
		}
		return {hit, sum, frames};
	}

	/*
	 * The most of a frame's name that fits: all; without the folders of its file; without its
	 * module or file; the begin of that.
	 */
	function label(name, room) {
		if (room < 3)
			return "";
		if (columns(name) <= room)
			return name;
		const placed = /^(.*) \((.*)\)$/.exec(name);
		if (placed) {
			const short = placed[1] + " (" + placed[2].replace(/^.*\//, "") + ")";
			if (columns(short) <= room)
				return short;
		}
		const tick = name.indexOf("`");
		const short = tick > 0 ? name.slice(tick + 1) : placed ? placed[1] : name;
		return columns(short) <= room ? short : cut(short, room);
	}

	/* One of five shades, the same for a name in every picture. */
	function shade(name) {
		let h = 0;
		const end = name.indexOf("`");
		for (let i = 1; i < name.length; i++)
			h = (Math.imul(h, 31) + name.charCodeAt(i) * (i < end ? 7 : 1)) >>> 0;
		return ((h ^ (h >>> 13)) >>> 0) % 5;
	}

	/* The class of a frame that is compared: how much its share of the whole has changed. */
	function change(now, nowAll, before, beforeAll) {
		const a = nowAll > 0 ? now / nowAll : 0, b = beforeAll > 0 ? before / beforeAll : 0;
		const diff = a - b, size = Math.abs(diff);
		const step = size < 0.0005 ? 0 : size < 0.005 ? 1 : size < 0.02 ? 2 :
			size < 0.08 ? 3 : 4;
		return step === 0 ? "same" : (diff > 0 ? "up" : "down") + step;
	}

	const pure = {decode, visible, search, valueText, percent, label, shade, change, grouped,
		lines};

	if (in_node) {
		module.exports = pure;
		return;
	}

	/* ---- drawing ------------------------------------------------------------------------- */

	function mount(svg, data) {
		const state = {set: 0, zoom: 0, inverted: data.icicle, byBefore: false, re: null,
			text: "", view: "graph", focus: -1, past: []};
		const head = make("g", {class: "head"}), foot = make("g", {class: "foot"});
		const frames = make("g", {class: "frames", tabindex: 0, role: "tree", "aria-label":
			"Frames. Arrow keys go from one to the next, Enter zooms, c shows callers and callees."});
		const tip = make("g", {class: "tip"}), told = make("foreignObject", {width: 1, height: 1});
		const status = document.createElementNS(XHTML, "div"); /* for those who hear the page */
		const cursorMark = make("rect", {class: "cursor", rx: 2});
		const back = make("rect", {class: "bg", width: "100%", height: "100%"});
		const caption = make("g"); /* of the callers and callees */
		const place = make("foreignObject", {class: "fnplace"});
		let decoded = [], d, set, weight, shown = [], width = 0, found = null, cursor = null;
		let charWidth = FONT * 0.602, input, fns, table, merged = {};
		let headEnd = HEAD, end = HEAD; /* where the controls end, and what is drawn */
		let tableAt = null, focusY = 0;

		function select(i) {
			state.set = (i + data.sets.length) % data.sets.length;
			state.zoom = 0;
			set = data.sets[state.set];
			d = decoded[state.set] = decoded[state.set] || decode(set);
			weight = weightOf(d);
		}

		function weightOf(tree) {
			return state.byBefore && tree.before ? tree.before : tree.total;
		}

		function find() {
			const isGraph = state.view === "graph";
			found = state.re && isGraph ? search(d, data.names, weight, state.re) : null;
			if (state.re && !isGraph)
				found = {hit: functionsOf().names.map((n) => (state.re.test(n.slice(1)) ? 1 : 0))};
		}

		/* ---- frames ---- */

		/* A tree that is drawn: d, the texts of its names, and the function of a name. */
		const graph = () => ({d, names: data.names, of: (name) => functionsOf().of[name]});

		function classOf(tree, i) {
			const name = tree.names[tree.d.name[i]];
			if (found && found.hit[tree.d.name[i]])
				return "hit";
			if (d.before && name[0] !== "x")
				return change(tree.d.total[i], d.total[0], tree.d.before[i], d.before[0]);
			return name[0] + shade(name);
		}

		function drawFrame(part, tree, i, x, y, w, dim) {
			const hit = found && found.hit[tree.d.name[i]];
			const rect = make("rect", {class: "f " + classOf(tree, i) +
				(dim || (found && !hit && !tree.side) ? " dim" : ""), x: x.toFixed(2), y,
				width: Math.max(w - 0.6, 0.3).toFixed(2), height: ROW - 1, rx: w > 8 ? 2 : 0});
			rect.at = {tree, i, x, y, w, rect};
			shown.push(rect.at);
			part.appendChild(rect);
			const text = label(tree.names[tree.d.name[i]].slice(1), Math.floor((w - 7) / charWidth));
			if (text)
				part.appendChild(make("text", {class: "t" + (hit ? " on" : ""),
					x: (x + 4).toFixed(2), y: y + 13}, text));
		}

		function drawGraph(part) {
			const list = visible(d, weight, state.zoom, width - 2 * PAD, MIN_WIDTH), tree = graph();
			let rows = 1;
			for (const f of list)
				rows = Math.max(rows, d.depth[f.i] + 1);
			for (const f of list) {
				const level = state.inverted ? d.depth[f.i] : rows - 1 - d.depth[f.i];
				drawFrame(part, tree, f.i, PAD + f.x, headEnd + level * ROW, f.w, f.above);
			}
			end = headEnd + rows * ROW;
		}

		/* ---- functions ---- */

		function functionsOf() {
			return fns = fns || functions.index(data.names);
		}

		function totalsOf() {
			return d.totals = d.totals || functions.totals(d, functionsOf());
		}

		function model() {
			return {fns: functionsOf(), totals: totalsOf(), byBefore: state.byBefore, unit: set.unit,
				re: state.re, all: {now: d.total[0], before: d.before ? d.before[0] : 0}};
		}

		/* The callers and callees of the function that is looked at. */
		function mergedTrees() {
			if (merged.set !== state.set || merged.focus !== state.focus)
				merged = {set: state.set, focus: state.focus,
					up: decode(functions.merged(d, fns, state.focus, true)),
					down: decode(functions.merged(d, fns, state.focus, false))};
			return merged;
		}

		/* Places the table; returns where there is room for the callers and callees. */
		function placeTable() {
			const isWide = width >= WIDE, high = root.innerHeight;
			const foot = FOOT + 16 * noteLines().length;
			const w = isWide ? Math.round(Math.max(400, Math.min(620, width * 0.42))) :
				width - 2 * PAD;
			const h = isWide ? Math.max(240, data.only ? high - headEnd - foot : 440) :
				Math.round(Math.max(170, Math.min(330, high * 0.38)));
			tableAt = {isWide, y: headEnd, h};
			for (const [k, v] of [["x", PAD], ["y", headEnd], ["width", w], ["height", h]])
				place.setAttribute(k, v);
			table.box.style.height = h + "px";
			table.box.classList.toggle("slim", w < (d.before ? 520 : 480));
			return isWide ? {x: PAD + w + 22, y: headEnd, w: width - 2 * PAD - w - 22} :
				{x: PAD, y: headEnd + h + 14, w};
		}

		/* How many rows of frames lie beside the function that is looked at. */
		function reach(list, tree) {
			return list.reduce((n, f) => Math.max(n, tree.depth[f.i]), 0);
		}

		function drawMerged(part, at) {
			const fn = state.focus, t = functions.valuesOf(model());
			const amount = (v) => shortText(v, set.unit) + " (" + percent(v, t.all) + ")";
			const room = (w) => Math.max(8, Math.floor(w / charWidth));
			const two = mergedTrees(), left = at.x + GUTTER, wide = at.w - GUTTER;
			const lists = [two.up, two.down].map((m) => visible(m, weightOf(m), 0, wide, MIN_WIDTH));
			const ups = reach(lists[0], two.up), downs = reach(lists[1], two.down);
			caption.append(make("rect", {class: "bg", x: at.x, y: at.y - 6, width: at.w + PAD,
				height: CAPTION}),
			make("text", {class: "t fnname", x: at.x, y: at.y + 15},
				label(fns.names[fn].slice(1), room(at.w))),
			make("text", {class: "sub", x: at.x, y: at.y + 34}, "total " + amount(t.total[fn]) +
				", self " + amount(t.self[fn])));
			focusY = at.y + CAPTION + ups * ROW;
			[two.up, two.down].forEach((m, n) => {
				const tree = {d: m, names: fns.names, of: (name) => name, side: n ? "down" : "up"};
				for (const f of lists[n])
					if (n || f.i)
						drawFrame(part, tree, f.i, left + f.x, focusY + (n ? 1 : -1) *
							m.depth[f.i] * ROW, f.w, false);
			});
			const mark = (y, text) => part.append(make("text", {class: "sub", x: at.x, y}, text));
			if (ups)
				mark(focusY - ROW + 13, "callers");
			if (downs)
				mark(focusY + ROW + 13, "callees");
			part.append(make("rect", {class: "focus", x: left - 1, y: focusY - 1, width: wide + 1.4,
				height: ROW + 1, rx: 3}));
			end = focusY + (downs + 1) * ROW;
		}

		function drawFunctions(part) {
			const at = placeTable();
			table.draw();
			if (state.focus < 0 || !totalsOf().there[state.focus])
				state.focus = table.first();
			table.mark(state.focus);
			end = at.y;
			if (state.focus >= 0)
				drawMerged(part, at);
			end = Math.max(end, tableAt.y + tableAt.h);
		}

		function choose(f) {
			if (f === state.focus && state.view === "functions")
				return;
			if (state.focus >= 0 && state.view === "functions")
				state.past.push(state.focus);
			state.focus = f;
			if (state.view === "graph")
				view("functions");
			else
				draw();
			reveal();
		}

		/* Scrolls to the function that is looked at, if it cannot be seen. */
		function reveal() {
			const y = svg.getBoundingClientRect().top + focusY;
			if (state.focus >= 0 && (y < headEnd + CAPTION || y > root.innerHeight - 2 * ROW))
				root.scrollBy(0, y - root.innerHeight / 2);
		}

		function goBack() {
			state.focus = state.past.pop();
			draw();
			reveal();
		}

		function view(which) {
			if (which === state.view)
				return;
			if (which === "functions" && !table) {
				table = functions.table(model, choose);
				place.appendChild(table.box);
			}
			if (which === "functions" && state.zoom > 0)
				state.focus = functionsOf().of[d.name[state.zoom]];
			state.view = which;
			state.past = [];
			if (data.only)
				root.scrollTo(0, 0);
			draw();
			if (which === "graph")
				showRoot();
			else if (tableAt.isWide)
				reveal();
		}

		function showRoot() {
			if (data.only && !state.inverted && end - headEnd > root.innerHeight)
				root.scrollTo(0, end - root.innerHeight + 60);
		}

		/* ---- controls ---- */

		/* Adds controls from left to right; those that do not fit begin another line. */
		function pen() {
			let x = PAD, line = 0;
			const shift = (g) => g.setAttribute("transform", "translate(0," + line * LINE + ")");
			function next() {
				x = PAD;
				line++;
			}
			return {
				button(text, title, on, act) {
					const g = make("g");
					head.appendChild(g);
					let after = common.button(g, x, text, title, on, act);
					if (after - 6 > width - PAD && x > PAD) {
						next();
						g.replaceChildren();
						after = common.button(g, x, text, title, on, act);
					}
					shift(g);
					x = after;
				},
				input() {
					if (width - PAD - x < 160)
						next();
					const w = Math.min(300, width - PAD - x);
					placeInput(x, line, w);
					x += w + 10;
				},
				text(e) {
					head.appendChild(e);
					if (x + e.getComputedTextLength() > width - PAD && x > PAD)
						next();
					e.setAttribute("x", x);
					e.setAttribute("y", 52);
					shift(e);
				},
				end: () => HEAD + line * LINE,
			};
		}

		function placeInput(x, line, w) {
			let box = svg.querySelector(".search");
			if (!box) {
				box = make("foreignObject", {class: "search", height: 24});
				input = document.createElementNS(XHTML, "input");
				input.setAttribute("type", "search");
				input.setAttribute("placeholder", "Search: a regular expression");
				input.setAttribute("aria-label", "Search for frames");
				input.addEventListener("input", () => seek(input.value));
				box.appendChild(input);
			}
			box.setAttribute("x", x);
			box.setAttribute("y", 36 + line * LINE);
			box.setAttribute("width", w);
			if (box.parentNode !== head)
				head.appendChild(box);
		}

		function title() {
			return set.title + (set.when ? "  at " + set.when : "");
		}

		function drawTitle() {
			const name = make("text", {class: "title", x: PAD, y: 24}, title());
			head.appendChild(name);
			const after = PAD + name.getComputedTextLength() + 14;
			const sub = make("text", {class: "sub", x: after, y: 24}, set.what + ": " +
				valueText(weight[0], set.unit));
			head.appendChild(sub);
			const facts = make("text", {class: "sub end", x: width - PAD, y: 24}, data.facts);
			head.appendChild(facts);
			if (after + sub.getComputedTextLength() + facts.getComputedTextLength() + 30 > width - PAD)
				facts.remove();
		}

		function foundText() {
			if (!state.re)
				return "This is no regular expression.";
			if (state.view === "graph")
				return "Matched: " + percent(found.sum, weight[0]) + " in " +
					grouped(found.frames) + (found.frames === 1 ? " frame" : " frames");
			const n = functions.rows(model(), {column: "self"}).length;
			return "Matched: " + grouped(n) + (n === 1 ? " function" : " functions");
		}

		function drawHead() {
			const keep = head.querySelector(".search"), had = document.activeElement;
			const focused = had !== input && head.contains(had) && had.getAttribute("aria-label");
			for (const e of Array.from(head.childNodes))
				if (e !== keep)
					e.remove();
			const cover = make("rect", {class: "bg", width}), isGraph = state.view === "graph";
			head.insertBefore(cover, head.firstChild);
			drawTitle();
			const p = pen();
			if (data.sets.length > 1) {
				p.button("\u2039", "Previous graph", false, () => go(state.set - 1));
				p.button((state.set + 1) + " of " + data.sets.length, "Next graph, of all", false,
					() => go(state.set + 1));
				p.button("\u203a", "Next graph", false, () => go(state.set + 1));
			}
			p.button("Graph", "The graph of all stacks", isGraph, () => view("graph"));
			p.button("Functions", "A table of functions, callers and callees (c)", !isGraph,
				() => view("functions"));
			p.button("Reset", "Show everything (Escape)", false, reset);
			if (isGraph)
				p.button(state.inverted ? "Flame" : "Icicle",
					"Turn the graph upside down (i)", false, turn);
			if (d.before)
				p.button(state.byBefore ? "Widths: before" : "Widths: now",
					"Widths of this run, or of the run before", state.byBefore, swap);
			if (!isGraph && state.past.length)
				p.button("Back", "The function before (b)", false, goBack);
			p.input();
			status.textContent = state.text ? foundText() : "";
			if (state.text)
				p.text(make("text", {class: state.re ? "sub found" : "sub bad"},
					status.textContent));
			headEnd = p.end();
			cover.setAttribute("height", headEnd - 6);
			const again = focused && Array.from(head.querySelectorAll(".button")).find((e) =>
				e.getAttribute("aria-label") === focused);
			if (again)
				again.focus();
		}

		function legend() {
			if (d.before)
				return [["down4", "less"], ["down2", ""], ["same", "as before"], ["up2", ""],
					["up4", "more"]];
			const kinds = new Set();
			for (let i = 0; i < d.n && kinds.size < 5; i++)
				kinds.add(data.names[d.name[i]][0]);
			return Object.keys(KINDS).filter((k) => kinds.has(k)).map((k) => [k + "2", KINDS[k]]);
		}

		/* Pairs of class and text: what the page has to say, in lines that fit. */
		function noteLines() {
			const out = [], room = Math.max(40, Math.floor((width - 24) / 6.2));
			for (const note of data.notes.concat(set.notes))
				for (const line of lines(note.text, room))
					out.push([note.bad ? "sub bad" : "sub", line]);
			return out;
		}

		function drawFoot() {
			let x = PAD, y = end + 12;
			foot.replaceChildren();
			for (const [cls, text] of legend()) {
				foot.appendChild(make("rect", {class: cls, x, y, width: 12, height: 12, rx: 2}));
				const t = make("text", {class: "sub", x: x + 17, y: y + 10.5}, text);
				foot.appendChild(t);
				x += (text ? t.getComputedTextLength() + 17 : 0) + 16;
			}
			y += 16;
			for (const [cls, text] of noteLines())
				foot.appendChild(make("text", {class: cls, x: PAD, y: y += 16}, text));
			const least = svg === document.documentElement ? root.innerHeight : 0;
			const height = Math.max(y + 14, least);
			svg.setAttribute("height", height);
			svg.style.height = height + "px";
		}

		function draw() {
			const part = document.createDocumentFragment(), isGraph = state.view === "graph";
			width = Math.max(320, svg.getBoundingClientRect().width || 1200);
			find();
			drawHead();
			shown = [];
			caption.replaceChildren();
			place.style.display = isGraph ? "none" : "";
			if (isGraph)
				drawGraph(part);
			else
				drawFunctions(part);
			frames.replaceChildren(part);
			drawFoot();
			follow();
			hide();
			point(null);
		}

		/* Keeps the controls and the table in view while the page scrolls. */
		function follow() {
			const gone = Math.max(0, -svg.getBoundingClientRect().top);
			const y = Math.min(gone, Math.max(0, end - 2 * HEAD));
			head.setAttribute("transform", "translate(0," + y + ")");
			if (state.view === "functions") {
				const by = !tableAt.isWide ? 0 :
					Math.min(gone, Math.max(0, end - tableAt.y - tableAt.h));
				place.setAttribute("y", tableAt.y + by);
				caption.setAttribute("transform", "translate(0," + by + ")");
			}
		}

		function go(i) {
			select(i);
			draw();
		}

		function reset() {
			state.zoom = 0;
			if (input)
				input.value = "";
			seek("");
		}

		function turn() {
			state.inverted = !state.inverted;
			draw();
		}

		function swap() {
			state.byBefore = !state.byBefore;
			select(state.set);
			draw();
		}

		function seek(text) {
			state.text = text;
			state.re = null;
			try {
				state.re = text ? new RegExp(text) : null;
			} catch (e) {
				/* drawHead() says that it is none */
			}
			if (table)
				table.restart();
			draw();
		}

		/* ---- the frame under the pointer, or that of the keyboard ---- */

		function tipLines(at) {
			const t = at.tree.d, i = at.i, name = at.tree.names[t.name[i]], w = weightOf(t);
			const room = Math.max(24, Math.floor((Math.min(width, 900) - 40) / charWidth));
			const out = lines(name.slice(1), room).map((text) => ["tipname", text]);
			const inner = at.tree.side ? i : state.zoom;
			out.push(["tipline", valueText(w[i], set.unit) + "  \u00b7  " +
				percent(w[i], weight[0]) + " of all" + (inner ? "  \u00b7  " +
				percent(w[i], w[at.tree.side ? 0 : state.zoom]) + (at.tree.side ?
				" of the function" : " of the frame at the root") : "")]);
			if (d.before)
				out.push(["tipline", "before " + percent(t.before[i], d.before[0]) + " (" +
					valueText(t.before[i], set.unit) + "), now " +
					percent(t.total[i], d.total[0]) + " (" +
					valueText(t.total[i], set.unit) + ")"]);
			else if (at.tree.side !== "up" && t.self[i] > 0 && t.end[i] > i + 1)
				out.push(["tipline", "itself " + valueText(t.self[i], set.unit)]);
			if (KINDS[name[0]])
				out.push(["tipline", KINDS[name[0]]]);
			return out;
		}

		function show(at, px, py) {
			common.tip(svg, tip, tipLines(at), px, py, width);
		}

		function hide() {
			tip.style.display = "none";
		}

		/* Moves the cursor of the keyboard to a frame; null: to none. */
		function point(at) {
			for (const name of cursor ? ["id", "role", "aria-label"] : [])
				cursor.rect.removeAttribute(name);
			cursor = at;
			cursorMark.style.display = at ? "" : "none";
			frames.removeAttribute("aria-activedescendant");
			if (!at)
				return;
			for (const [k, v] of [["x", at.x - 1], ["y", at.y - 1], ["width", Math.max(at.w, 2) + 1.4],
				["height", ROW + 1]])
				cursorMark.setAttribute(k, v);
			const id = "frame-at-" + Array.from(document.querySelectorAll("svg")).indexOf(svg);
			for (const [k, v] of [["id", id], ["role", "treeitem"],
				["aria-label", tipLines(at).map((l) => l[1]).join(", ")]])
				at.rect.setAttribute(k, v);
			frames.setAttribute("aria-activedescendant", id);
			const top = svg.getBoundingClientRect().top + at.y;
			if (top < headEnd || top > root.innerHeight - 2 * ROW)
				root.scrollBy(0, top - root.innerHeight / 2);
			show(at, at.x, at.y + ROW - 14);
		}

		/* The frame beside another one: in its row, or in the next row what is nearest. */
		function neighbour(at, dx, dy) {
			const middle = at.x + at.w / 2, y = at.y + dy * ROW;
			let best = null, least = Infinity;
			for (const f of shown) {
				if (f.y !== y || (dx && (f.x - at.x) * dx <= 0))
					continue;
				const far = dx ? Math.abs(f.x - at.x) : Math.max(f.x - middle, middle - f.x - f.w, 0);
				if (far < least) {
					least = far;
					best = f;
				}
			}
			return best;
		}

		function cursorBegin() {
			const first = state.view === "graph" ? shown.find((f) => f.i === state.zoom) :
				shown.find((f) => f.tree.side === "down");
			point(first || shown[0] || null);
		}

		function activate(at, is_function) {
			if (state.view === "graph" && !is_function) {
				state.zoom = at.i;
				draw();
			} else if (state.view === "graph" && at.i === 0) {
				view("functions");
			} else {
				choose(at.tree.of(at.tree.d.name[at.i]));
			}
		}

		function cursorKey(e) {
			const steps = {ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1]};
			if (!cursor || e.ctrlKey || e.metaKey || e.altKey)
				return false;
			if (e.key === "Enter" || e.key === " " || e.key === "c") {
				activate(cursor, e.shiftKey || e.key === "c");
				cursorBegin();
			} else if (steps[e.key]) {
				point(neighbour(cursor, ...steps[e.key]) || cursor);
			} else {
				return false;
			}
			e.preventDefault();
			return true;
		}

		frames.addEventListener("mousemove", (e) => {
			const box = svg.getBoundingClientRect();
			if (e.target.at === undefined)
				hide();
			else
				show(e.target.at, e.clientX - box.left, e.clientY - box.top);
		});
		frames.addEventListener("mouseleave", hide);
		frames.addEventListener("mousedown", (e) => {
			e.preventDefault(); /* the cursor is for the keyboard */
			if (document.activeElement)
				document.activeElement.blur();
		});
		frames.addEventListener("click", (e) => {
			if (e.target.at !== undefined)
				activate(e.target.at, e.shiftKey);
		});
		frames.addEventListener("focus", cursorBegin);
		frames.addEventListener("blur", () => {
			point(null);
			hide();
		});
		root.addEventListener("resize", draw);
		root.addEventListener("scroll", follow);

		function key(e) {
			if (document.activeElement === frames && cursorKey(e))
				return;
			if (e.key === "Escape") {
				if (state.view === "functions" && !state.text)
					view("graph");
				else
					reset();
			} else if (e.target === input || e.ctrlKey || e.metaKey || e.altKey ||
				   !(data.only || svg.contains(document.activeElement))) {
				return;
			} else if (e.key === "/") {
				e.preventDefault();
				input.focus();
			} else if (e.key === "c") {
				view("functions");
			} else if (e.key === "b" && state.past.length) {
				goBack();
			} else if (e.key === "i" && state.view === "graph") {
				turn();
			} else if (data.sets.length > 1 && (e.key === "n" || e.key === "p")) {
				go(state.set + (e.key === "n" ? 1 : -1));
			}
		}
		document.addEventListener("keydown", key);

		svg.replaceChildren(...Array.from(svg.childNodes).filter((e) =>
			e.nodeName === "style" || e.nodeName === "script" || e.nodeName === "title"));
		svg.removeAttribute("viewBox");
		svg.setAttribute("width", "100%");
		status.setAttribute("role", "status");
		status.setAttribute("class", "told");
		told.appendChild(status);
		svg.append(back, frames, cursorMark, caption, place, foot, head, told, tip);
		if (!data.sets.length) {
			width = svg.getBoundingClientRect().width;
			data.notes.forEach((note, n) => foot.appendChild(make("text",
				{class: note.bad ? "sub bad" : "sub", x: PAD, y: 30 + n * 18}, note.text)));
			svg.setAttribute("height", 60 + data.notes.length * 18);
			return null;
		}
		const probe = make("text", {class: "t", x: 0, y: -50}, "0".repeat(50));
		svg.appendChild(probe);
		charWidth = probe.getComputedTextLength() / 50 || charWidth;
		probe.remove();
		select(0);
		draw();
		showRoot();
		return {state, draw, seek, go, view, choose, zoomTo: (i) => { state.zoom = i; draw(); }};
	}

	/* Data stands in elements of the type application/json, behind or in the svg element. */
	function start() {
		for (const e of Array.from(document.querySelectorAll("script.flame-data"))) {
			const svg = e.closest("svg") || e.previousElementSibling;
			root.flames = root.flames || [];
			root.flames.push(mount(svg, JSON.parse(e.textContent)));
		}
	}

	if (document.readyState === "loading")
		document.addEventListener("DOMContentLoaded", start);
	else
		start();
})(typeof window === "undefined" ? globalThis : window);
