/* SPDX-License-Identifier: MIT */
/*
 * What a flame graph knows of functions: times of their own and in all, who calls them, whom they
 * call, and the table in which one is chosen.
 *
 * A function is all frames of a name; lines of a language's function are one. Of calls within calls
 * of the same function, the outermost counts: its total is never more than the whole.
 * Safety   text of the data only ever becomes the content of text nodes, and values of attributes
 *          that hold text.
 */
(function (root) {
	"use strict";
	const in_node = typeof module !== "undefined" && module.exports;
	const common = in_node ? require("./common.js") : root.pictureCommon;
	const {grouped, shortText, valueText, percent} = common;
	const XHTML = "http://www.w3.org/1999/xhtml";
	const ROWS = 300; /* shown; a button shows as many more */

	/* ---- pure functions ------------------------------------------------------------------ */

	/* The name of a frame's function: of frames of a language without the line. */
	function functionOf(name) {
		if (name[0] !== "l")
			return name;
		return name.replace(/:\d+\)(\*?)$/, ")").replace(/\)\*$/, ")")
			.replace(/ (line|file position) \d+$/, "");
	}

	/* Numbers the functions of all names: {of: function by name, names: name by function}. */
	function index(names) {
		const known = new Map(), of = new Int32Array(names.length), out = [];
		for (let i = 0; i < names.length; i++) {
			const name = functionOf(names[i]);
			let f = known.get(name);
			if (f === undefined) {
				f = out.length;
				known.set(name, f);
				out.push(name);
			}
			of[i] = f;
		}
		return {of, names: out};
	}

	/* By function: values without and with those of what it calls. */
	function totals(d, fns) {
		const n = fns.names.length, until = new Int32Array(n);
		const t = {self: new Float64Array(n), total: new Float64Array(n),
			selfBefore: d.before ? new Float64Array(n) : null,
			before: d.before ? new Float64Array(n) : null, there: new Uint8Array(n)};
		for (let i = 0; i < d.n; i++) {
			const f = fns.of[d.name[i]];
			t.self[f] += d.self[i];
			if (d.before)
				t.selfBefore[f] += d.selfBefore[i];
			t.there[f] = 1;
			if (i < until[f])
				continue;
			until[f] = d.end[i];
			t.total[f] += d.total[i];
			if (d.before)
				t.before[f] += d.before[i];
		}
		return t;
	}

	/* The outermost frames of a function. */
	function outermost(d, fns, f) {
		const out = [];
		for (let i = 0; i < d.n;) {
			if (fns.of[d.name[i]] === f) {
				out.push(i);
				i = d.end[i];
			} else {
				i++;
			}
		}
		return out;
	}

	/* Adds a frame to its group: whose value it stands for, and where in its stack it is. */
	function groupAdd(groups, d, fn, whose, at) {
		let g = groups.get(fn);
		if (!g) {
			g = {fn, whose: [], at: [], total: 0, before: 0, depth: 0};
			groups.set(fn, g);
		}
		g.whose.push(whose);
		g.at.push(at);
		g.total += d.total[whose];
		if (d.before)
			g.before += d.before[whose];
	}

	/*
	 * Merges what is below, or above, the outermost frames of a function to a set as flame.js
	 * decodes it, from the greatest on. Its names are those of functions.
	 */
	function merged(d, fns, f, is_callers) {
		const first = new Map(), tree = [];
		let last = -1;
		for (const i of outermost(d, fns, f))
			groupAdd(first, d, f, i, i);
		const todo = Array.from(first.values());
		while (todo.length) {
			const g = todo.pop(), next = new Map();
			let self = 0, before = 0;
			for (let k = 0; k < g.at.length; k++) {
				const at = g.at[k], whose = g.whose[k];
				if (is_callers) {
					const up = d.parent[at];
					if (up > 0) {
						groupAdd(next, d, fns.of[d.name[up]], whose, up);
					} else {
						self += d.total[whose];
						before += d.before ? d.before[whose] : 0;
					}
				} else {
					self += d.self[at];
					before += d.before ? d.selfBefore[at] : 0;
					for (let c = at + 1; c < d.end[at]; c = d.end[c])
						groupAdd(next, d, fns.of[d.name[c]], c, c);
				}
			}
			tree.push(last < 0 ? 0 : last + 1 - g.depth, g.fn, self);
			if (d.before)
				tree.push(before);
			last = g.depth;
			const order = Array.from(next.values()).sort((a, b) => a.total - b.total ||
				a.before - b.before || b.fn - a.fn);
			for (const n of order) {
				n.depth = g.depth + 1;
				todo.push(n);
			}
		}
		return {tree, width: d.before ? 4 : 3};
	}

	/* The values that are shown: those of the run, or of the run before. */
	function valuesOf(m) {
		const t = m.totals;
		return m.byBefore && t.before ? {self: t.selfBefore, total: t.before, all: m.all.before} :
			{self: t.self, total: t.total, all: m.all.now};
	}

	/* The functions of a set that match, in the order of a column; m: see table(). */
	function rows(m, order) {
		const out = [], {column, descending} = order, {fns, totals: t, re} = m;
		for (let f = 0; f < fns.names.length; f++) {
			const name = fns.names[f];
			if (t.there[f] && name[0] !== "r" && name[0] !== "x" && (!re || re.test(name.slice(1))))
				out.push(f);
		}
		const byName = (a, b) => (fns.names[a] < fns.names[b] ? -1 : 1);
		const sign = descending ? -1 : 1;
		if (column === "name") {
			const texts = new Map(out.map((f) => [f, split(fns.names[f])[0]]));
			return out.sort((a, b) => (texts.get(a) === texts.get(b) ? byName(a, b) :
				texts.get(a) < texts.get(b) ? -sign : sign));
		}
		const values = valuesOf(m), value = column === "change" ? (f) => change(t, m.all, f) :
			column === "total" ? (f) => values.total[f] : (f) => values.self[f];
		return out.sort((a, b) => sign * (value(a) - value(b)) || byName(a, b));
	}

	/* By how much the share of a function has grown since the run before. */
	function change(t, all, f) {
		return (all.now > 0 ? t.total[f] / all.now : 0) -
			(all.before > 0 ? t.before[f] / all.before : 0);
	}

	function changeText(part) {
		const p = 100 * part;
		return (p > 0 ? "+" : p < 0 ? "\u2212" : "") + Math.abs(p).toFixed(2);
	}

	/* A name as function and place: the module of native code, the file of a language. */
	function split(name) {
		const text = name.slice(1), tick = text.indexOf("`");
		if (name[0] !== "l")
			return tick > 0 ? [text.slice(tick + 1), text.slice(0, tick)] : [text, ""];
		const m = /^(.*) \(([^()]*)\)$/.exec(text) || /^(.*) at (.*)$/.exec(text);
		return m ? [m[1], m[2]] : [text, ""];
	}

	const pure = {functionOf, index, totals, valuesOf, merged, rows, change, changeText, split};

	if (in_node) {
		module.exports = pure;
		return;
	}

	/* ---- the table ----------------------------------------------------------------------- */

	function element(tag, attrs, text) {
		const e = document.createElementNS(XHTML, tag);
		for (const k in attrs)
			e.setAttribute(k, attrs[k]);
		if (text !== undefined)
			e.textContent = text;
		return e;
	}

	/*
	 * A table of functions. model() says what there is to show: {fns, totals, all, byBefore, unit,
	 * re}, all: {now, before}, the values of the whole; re may be null. choose(f) is called when the
	 * user chooses a function.
	 */
	function table(model, choose) {
		const order = {column: "self", descending: true};
		const box = element("div", {class: "fns", role: "grid", "aria-label": "Functions"});
		const head = element("div", {class: "fnhead", role: "row"});
		const body = element("div", {class: "fnbody", role: "rowgroup"});
		let list = [], shown = ROWS, chosen = -1;
		box.append(head, body);

		function columnsOf(m) {
			const out = [["total", "Total"], ["self", "Self"], ["name", "Function"]];
			if (m.totals.before)
				out.splice(2, 0, ["change", "Change"]);
			return out;
		}

		function sort(column) {
			if (order.column === column)
				order.descending = !order.descending;
			else
				order.descending = column !== "name";
			order.column = column;
			draw();
			const now = head.querySelector("[data-column=" + column + "]");
			if (now)
				now.focus();
		}

		function drawHead(m) {
			head.replaceChildren();
			for (const [column, text] of columnsOf(m)) {
				const e = element("span", {role: "columnheader", tabindex: 0,
					"data-column": column, class: column === "name" ? "name" :
						column === "change" ? "num change" : "num",
					title: (column === "change" ? "Total now, less total before, in points of " +
						"percent: " : "") + "Sort by this column"}, text);
				if (order.column === column)
					e.setAttribute("aria-sort", order.descending ? "descending" : "ascending");
				e.addEventListener("click", () => sort(column));
				head.appendChild(e);
			}
		}

		function number(m, value, what) {
			const e = element("span", {class: "num", role: "gridcell",
				title: what + ": " + valueText(value, m.unit)});
			const all = valuesOf(m).all, part = all > 0 ? Math.min(100, 100 * value / all) : 0;
			e.append(element("span", {class: "value"}, shortText(value, m.unit)),
				element("span", {class: "part"}, percent(value, all)));
			e.style.backgroundSize = part.toFixed(1) + "% 3px";
			return e;
		}

		function row(m, f) {
			const name = m.fns.names[f], [text, place] = split(name);
			const e = element("div", {class: "fn", role: "row", tabindex: -1,
				"aria-selected": f === chosen});
			const cell = element("span", {class: "name", role: "gridcell", title: name.slice(1)});
			const v = valuesOf(m);
			e.append(number(m, v.total[f], "Total"), number(m, v.self[f], "Self"));
			if (m.totals.before)
				e.append(element("span", {class: "num change", role: "gridcell"},
					changeText(change(m.totals, m.all, f))));
			cell.append(element("span", {class: "dot " + name[0] + "dot"}), text);
			if (place)
				cell.append(element("span", {class: "place"}, place));
			e.append(cell);
			e.fn = f;
			return e;
		}

		function drawBody(m) {
			const part = document.createDocumentFragment(), top = body.scrollTop;
			for (const f of list.slice(0, shown))
				part.appendChild(row(m, f));
			if (!list.length)
				part.appendChild(element("div", {class: "fnnone"}, m.re ?
					"No function matches." : "There are no functions."));
			if (list.length > shown) {
				const more = element("button", {type: "button"}, grouped(list.length - shown) +
					" more functions: show " + Math.min(ROWS, list.length - shown));
				more.addEventListener("click", () => {
					const at = shown;
					shown += ROWS;
					drawBody(m);
					body.children[at].focus();
				});
				part.appendChild(more);
			}
			body.replaceChildren(part);
			body.scrollTop = top;
			const rowsThere = Array.from(body.querySelectorAll(".fn"));
			const now = rowsThere.find((e) => e.fn === chosen) || rowsThere[0];
			if (now)
				now.tabIndex = 0;
		}

		/* Leaves room in the head for the bar with which the body scrolls. */
		function fit() {
			head.style.paddingRight = (body.offsetWidth - body.clientWidth) + "px";
		}

		function draw() {
			const m = model();
			list = rows(m, order);
			drawHead(m);
			drawBody(m);
			fit();
		}

		function mark(f) {
			chosen = f;
			for (const e of body.querySelectorAll(".fn")) {
				e.setAttribute("aria-selected", e.fn === f);
				e.tabIndex = e.fn === f ? 0 : -1;
			}
			const now = body.querySelector(".fn[tabindex='0']") || body.querySelector(".fn");
			if (now)
				now.tabIndex = 0;
		}

		function move(from, by) {
			const there = Array.from(body.querySelectorAll(".fn"));
			const to = there[Math.max(0, Math.min(there.length - 1, there.indexOf(from) + by))];
			if (to)
				to.focus();
		}

		head.addEventListener("keydown", (e) => {
			const column = e.target.getAttribute("data-column");
			if (column && (e.key === "Enter" || e.key === " ")) {
				e.preventDefault();
				sort(column);
			}
		});
		body.addEventListener("click", (e) => {
			const at = e.target.closest(".fn");
			if (at)
				choose(at.fn);
		});
		body.addEventListener("keydown", (e) => {
			const at = e.target.closest(".fn");
			const steps = {ArrowDown: 1, ArrowUp: -1, PageDown: 15, PageUp: -15, Home: -1e6, End: 1e6};
			if (!at || e.ctrlKey || e.metaKey || e.altKey)
				return;
			if (e.key === "Enter" || e.key === " ")
				choose(at.fn);
			else if (steps[e.key])
				move(at, steps[e.key]);
			else
				return;
			e.preventDefault();
			e.stopPropagation();
		});
		return {box, draw, mark, fit, first: () => (list.length ? list[0] : -1),
			restart: () => { shown = ROWS; body.scrollTop = 0; }};
	}

	root.pictureFunctions = Object.assign({table}, pure);
})(typeof window === "undefined" ? globalThis : window);
