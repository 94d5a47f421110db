/* SPDX-License-Identifier: MIT */
/*
 * Draws flame graphs into an svg element: zoom, search, the frame under the pointer, the order of
 * rows, and the choice among several graphs. picture/flame.c writes the data.
 *
 * Data     {names, sets}. A name begins with the letter of its kind. A set has the frames of one
 *          aggregation in preorder: rows of `width` numbers [up, name, self] or, when it is
 *          compared with an earlier run, [up, name, self, before]. up is how many levels the
 *          parent is above the previous frame; self excludes the frame's children.
 * Safety   text of the data only ever becomes the content of text nodes.
 * @@needs common.js
 */
(function (root) {
	"use strict";
	const in_node = typeof module !== "undefined" && module.exports;
	const common = in_node ? require("./common.js") : root.pictureCommon;
	const {grouped, valueText, percent, columns, cut, lines, make} = common;
	const XHTML = "http://www.w3.org/1999/xhtml";
	const ROW = 19, PAD = 12, HEAD = 70, FONT = 12, MIN_WIDTH = 0.7;
	const KINDS = {r: "key", n: "native code", l: "language", k: "kernel", x: "cut"};

	/* ---- pure functions ------------------------------------------------------------------ */

	/* Decodes a set to arrays: depth, name, parent, end (of the subtree), total, before. */
	function decode(set) {
		const t = set.tree, w = set.width, n = t.length / w;
		const d = {n, depth: new Int32Array(n), name: new Int32Array(n),
			parent: new Int32Array(n), end: new Int32Array(n),
			self: new Float64Array(n), total: new Float64Array(n),
			before: w > 3 ? new Float64Array(n) : null, deepest: 0};
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
				d.before[i] = t[i * w + 3];
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

	/* The most of a frame's name that fits: all, without its module, or its begin. */
	function label(name, room) {
		if (room < 3)
			return "";
		if (columns(name) <= room)
			return name;
		const tick = name.indexOf("`");
		const short = tick > 0 ? name.slice(tick + 1) : name;
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
			text: ""};
		const head = make("g", {class: "head"}), frames = make("g", {class: "frames"});
		const foot = make("g", {class: "foot"}), tip = make("g", {class: "tip"});
		const back = make("rect", {class: "bg", width: "100%", height: "100%"});
		let decoded = [], d, set, weight, shown = [], width = 0, rows = 0, found = null;
		let charWidth = FONT * 0.602, input;

		function select(i) {
			state.set = (i + data.sets.length) % data.sets.length;
			state.zoom = 0;
			set = data.sets[state.set];
			d = decoded[state.set] = decoded[state.set] || decode(set);
			weight = state.byBefore && d.before ? d.before : d.total;
		}

		function find() {
			found = state.re ? search(d, data.names, weight, state.re) : null;
		}

		function classOf(i) {
			const name = data.names[d.name[i]];
			if (found && found.hit[d.name[i]])
				return "hit";
			if (d.before && name[0] !== "x")
				return change(d.total[i], d.total[0], d.before[i], d.before[0]);
			return name[0] + shade(name);
		}

		function drawFrames() {
			const part = document.createDocumentFragment();
			shown = visible(d, weight, state.zoom, width - 2 * PAD, MIN_WIDTH);
			rows = 1;
			for (const f of shown)
				rows = Math.max(rows, d.depth[f.i] + 1);
			for (const f of shown) {
				const level = state.inverted ? d.depth[f.i] : rows - 1 - d.depth[f.i];
				const x = PAD + f.x, y = HEAD + level * ROW;
				const dim = f.above || (found && !found.hit[d.name[f.i]]);
				const rect = make("rect", {class: "f " + classOf(f.i) + (dim ? " dim" : ""),
					x: x.toFixed(2), y, width: Math.max(f.w - 0.6, 0.3).toFixed(2),
					height: ROW - 1, rx: f.w > 8 ? 2 : 0});
				rect.frame = f.i;
				part.appendChild(rect);
				const text = label(data.names[d.name[f.i]].slice(1),
					Math.floor((f.w - 7) / charWidth));
				if (text)
					part.appendChild(make("text", {class: "t" +
						(found && found.hit[d.name[f.i]] ? " on" : ""),
						x: (x + 4).toFixed(2), y: y + 13}, text));
			}
			frames.replaceChildren(part);
		}

		function button(x, text, title, on, act) {
			return common.button(head, x, text, title, on, act);
		}

		function drawInput(x) {
			const room = Math.max(150, Math.min(300, width - x - 250));
			let box = svg.querySelector(".search");
			if (!box) {
				box = make("foreignObject", {class: "search", y: 36, height: 24});
				input = document.createElementNS(XHTML, "input");
				input.setAttribute("type", "search");
				input.setAttribute("placeholder", "Search: a regular expression");
				input.setAttribute("aria-label", "Search for frames");
				input.addEventListener("input", () => seek(input.value));
				box.appendChild(input);
			}
			box.setAttribute("x", x);
			box.setAttribute("width", room);
			if (box.parentNode !== head)
				head.appendChild(box);
			return x + room + 10;
		}

		function title() {
			return set.title + (set.when ? "  at " + set.when : "");
		}

		function drawHead() {
			const keep = head.querySelector(".search");
			let x = PAD;
			for (const e of Array.from(head.childNodes))
				if (e !== keep)
					e.remove();
			const cover = make("rect", {class: "bg", width, height: HEAD - 6});
			head.insertBefore(cover, head.firstChild);
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
			if (data.sets.length > 1) {
				x = button(x, "\u2039", "Previous graph", false, () => go(state.set - 1));
				x = button(x, (state.set + 1) + " of " + data.sets.length,
					"Next graph", false, () => go(state.set + 1));
				x = button(x, "\u203a", "Next graph", false, () => go(state.set + 1));
			}
			x = button(x, "Reset", "Show everything (Escape)", false, reset);
			x = button(x, state.inverted ? "Flame" : "Icicle",
				"Turn the graph upside down (i)", false, turn);
			if (d.before)
				x = button(x, state.byBefore ? "Widths: before" : "Widths: now",
					"Widths of this run, or of the run before", state.byBefore, swap);
			x = drawInput(x);
			if (state.text) {
				const bad = !state.re;
				head.appendChild(make("text", {class: bad ? "sub bad" : "sub found",
					x, y: 52}, bad ? "This is no regular expression." :
					"Matched: " + percent(found.sum, weight[0]) + " in " +
					grouped(found.frames) + (found.frames === 1 ? " frame" : " frames")));
			}
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

		function drawFoot() {
			let x = PAD, y = HEAD + rows * ROW + 12;
			foot.replaceChildren();
			for (const [cls, text] of legend()) {
				foot.appendChild(make("rect", {class: cls, x, y, width: 12, height: 12, rx: 2}));
				const t = make("text", {class: "sub", x: x + 17, y: y + 10.5}, text);
				foot.appendChild(t);
				x += (text ? t.getComputedTextLength() + 17 : 0) + 16;
			}
			y += 16;
			for (const note of data.notes.concat(set.notes))
				for (const line of lines(note.text, Math.max(40, Math.floor((width - 24) / 6.2))))
					foot.appendChild(make("text", {class: note.bad ? "sub bad" : "sub", x: PAD,
						y: y += 16}, line));
			const least = svg === document.documentElement ? root.innerHeight : 0;
			const height = Math.max(y + 14, least);
			svg.setAttribute("height", height);
			svg.style.height = height + "px";
		}

		function draw() {
			width = Math.max(320, svg.getBoundingClientRect().width || 1200);
			find();
			drawFrames();
			drawHead();
			drawFoot();
			follow();
			hide();
		}

		/* Keeps the controls in view while the page scrolls. */
		function follow() {
			const top = svg.getBoundingClientRect().top, most = Math.max(0, rows * ROW - HEAD);
			const y = Math.min(Math.max(0, -top), most);
			head.setAttribute("transform", "translate(0," + y + ")");
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
			draw();
		}

		/* ---- the frame under the pointer ---- */

		function tipLines(i) {
			const name = data.names[d.name[i]], all = weight[0];
			const room = Math.max(24, Math.floor((Math.min(width, 900) - 40) / charWidth));
			const out = lines(name.slice(1), room).map((text) => ["tipname", text]);
			out.push(["tipline", valueText(weight[i], set.unit) + "  \u00b7  " +
				percent(weight[i], all) + " of all" + (state.zoom ? "  \u00b7  " +
				percent(weight[i], weight[state.zoom]) + " of the frame at the root" : "")]);
			if (d.before)
				out.push(["tipline", "before " + percent(d.before[i], d.before[0]) + " (" +
					valueText(d.before[i], set.unit) + "), now " +
					percent(d.total[i], d.total[0]) + " (" +
					valueText(d.total[i], set.unit) + ")"]);
			else if (d.self[i] > 0 && d.end[i] > i + 1)
				out.push(["tipline", "itself " + valueText(d.self[i], set.unit)]);
			if (KINDS[name[0]])
				out.push(["tipline", KINDS[name[0]]]);
			return out;
		}

		function show(i, px, py) {
			common.tip(svg, tip, tipLines(i), px, py, width);
		}

		function hide() {
			tip.style.display = "none";
		}

		frames.addEventListener("mousemove", (e) => {
			const at = svg.getBoundingClientRect();
			if (e.target.frame === undefined)
				hide();
			else
				show(e.target.frame, e.clientX - at.left, e.clientY - at.top);
		});
		frames.addEventListener("mouseleave", hide);
		frames.addEventListener("click", (e) => {
			if (e.target.frame === undefined)
				return;
			state.zoom = e.target.frame;
			draw();
		});
		root.addEventListener("resize", draw);
		root.addEventListener("scroll", follow);
		document.addEventListener("keydown", (e) => {
			if (e.key === "Escape") {
				reset();
			} else if (e.target === input || e.ctrlKey || e.metaKey || e.altKey ||
				   !data.only) {
				return;
			} else if (e.key === "/") {
				e.preventDefault();
				input.focus();
			} else if (e.key === "i") {
				turn();
			} else if (data.sets.length > 1 && (e.key === "n" || e.key === "p")) {
				go(state.set + (e.key === "n" ? 1 : -1));
			}
		});

		svg.replaceChildren(...Array.from(svg.childNodes).filter((e) =>
			e.nodeName === "style" || e.nodeName === "script" || e.nodeName === "title"));
		svg.removeAttribute("viewBox");
		svg.setAttribute("width", "100%");
		svg.append(back, frames, foot, head, tip);
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
		if (data.only && !state.inverted && rows * ROW > root.innerHeight)
			root.scrollTo(0, HEAD + rows * ROW - root.innerHeight + 60);
		return {state, draw, seek, go, zoomTo: (i) => { state.zoom = i; draw(); }};
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
