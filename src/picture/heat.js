/* SPDX-License-Identifier: MIT */
/*
 * Draws heat maps into an svg element: time to the right, values upwards, a cell for each interval
 * and range of values, its colour by the logarithm of how many there were. picture/heat.c writes
 * the data.
 *
 * Data     {began, tracks, series}. A track has the ends of its intervals, in ms since began, and
 *          the bounds of its ranges (null: there is no bound). A series has cells: triples of
 *          interval, range and number.
 * Safety   text of the data only ever becomes the content of text nodes.
 * @@needs common.js
 */
(function (root) {
	"use strict";
	const in_node = typeof module !== "undefined" && module.exports;
	const common = in_node ? require("./common.js") : root.pictureCommon;
	const {grouped, valueText, percent, lines, make} = common;
	const PAD = 12, HEAD = 76, LEFT = 96, STEPS = 9;

	/* ---- pure functions ------------------------------------------------------------------ */

	/* One of nine colours for a number between 1 and most, by logarithm. */
	function step(count, most) {
		if (most <= 1)
			return STEPS;
		return Math.min(STEPS, 1 + Math.floor(Math.log(count) / Math.log(most) * (STEPS - 0.001)));
	}

	/* The numbers at which the colours begin. */
	function steps(most) {
		const out = [];
		for (let i = 0; i < STEPS; i++)
			out.push(most <= 1 ? 1 : Math.ceil(Math.pow(most, i / (STEPS - 0.001)) - 1e-9));
		return out;
	}

	/*
	 * Merges cells so that none is narrower than a few pixels: per and tall are how many intervals
	 * and ranges become one.
	 */
	function merge(series, low, per, tall) {
		const cells = new Map();
		let most = 0;
		for (let i = 0; i < series.cells.length; i += 3) {
			const col = Math.floor(series.cells[i] / per);
			const row = Math.floor((series.cells[i + 1] - low) / tall);
			const key = row * 1e7 + col, n = (cells.get(key) || 0) + series.cells[i + 2];
			cells.set(key, n);
			most = Math.max(most, n);
		}
		return {most, cells: Array.from(cells, ([key, n]) =>
			({col: key % 1e7, row: Math.floor(key / 1e7), n}))};
	}

	function short(v, unit) {
		const text = valueText(v, unit), at = text.indexOf(" (");
		return at > 0 ? text.slice(0, at) : text;
	}

	function range(low, high, unit) {
		if (low === null)
			return "at most " + short(high, unit);
		if (high === null)
			return short(low, unit) + " and more";
		return low === high ? short(low, unit) : short(low, unit) + " to " + short(high, unit);
	}

	/* Steps of a time axis, in ms, of which one gives at most some labels. */
	function tickStep(ms, room) {
		const nice = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 15e3, 3e4, 6e4, 12e4,
			3e5, 6e5, 9e5, 18e5, 36e5, 72e5, 216e5, 432e5, 864e5];
		return nice.find((n) => ms / n <= room) || 864e5;
	}

	function clock(ms, fine) {
		const d = new Date(ms), two = (n) => String(n).padStart(2, "0");
		return two(d.getUTCHours()) + ":" + two(d.getUTCMinutes()) + ":" + two(d.getUTCSeconds()) +
			(fine ? "." + String(d.getUTCMilliseconds()).padStart(3, "0") : "");
	}

	if (in_node) {
		module.exports = {step, steps, merge, range, tickStep, clock};
		return;
	}

	/* ---- drawing ------------------------------------------------------------------------- */

	function mount(svg, data) {
		const head = make("g", {class: "head"}), plane = make("g", {class: "plane-of-cells"});
		const foot = make("g", {class: "foot"}), tip = make("g", {class: "tip"});
		const back = make("rect", {class: "bg", width: "100%", height: "100%"});
		let now = 0, width = 0, height = 0;

		function begin(track, col) {
			return col > 0 ? track.ends[col - 1] : track.begin;
		}

		function draw() {
			const s = data.series[now], track = data.tracks[s.track], n = track.ends.length;
			width = Math.max(360, svg.getBoundingClientRect().width || 1200);
			const room = width - LEFT - PAD;
			let low = Infinity, high = 0, sum = 0;
			for (let i = 0; i < s.cells.length; i += 3) {
				low = Math.min(low, s.cells[i + 1]);
				high = Math.max(high, s.cells[i + 1]);
				sum += s.cells[i + 2];
			}
			if (!s.cells.length)
				low = high = 0;
			const per = Math.max(1, Math.ceil(n / (room / 4)));
			const tall = Math.max(1, Math.ceil((high - low + 1) / 120));
			const rows = Math.floor((high - low) / tall) + 1;
			const size = Math.max(5, Math.min(26, Math.floor(480 / rows)));
			const map = merge(s, low, per, tall);
			const first = track.begin, span = Math.max(1, track.ends[n - 1] - first);
			const xOf = (ms) => LEFT + (ms - first) / span * room;
			height = HEAD + rows * size;
			plane.replaceChildren(make("rect", {class: "plane", x: LEFT, y: HEAD, width: room,
				height: rows * size}));
			const part = document.createDocumentFragment();
			const sums = new Map();
			for (const c of map.cells)
				sums.set(c.col, (sums.get(c.col) || 0) + c.n);
			for (const c of map.cells) {
				const from = begin(track, c.col * per);
				const to = track.ends[Math.min(n, (c.col + 1) * per) - 1];
				const x = xOf(from), w = xOf(to) - x;
				const rect = make("rect", {class: "cell c" + step(c.n, map.most), x: x.toFixed(2),
					y: height - (c.row + 1) * size, width: Math.max(w - (w > 6 ? 1 : 0), 0.8).toFixed(2),
					height: size - (size > 6 ? 1 : 0)});
				const b = low + c.row * tall, e = Math.min(b + tall - 1, track.low.length - 1);
				rect.lines = () => [
					["tipname", range(track.low[b], track.high[e], s.unit)],
					["tipline", grouped(c.n) + (c.n === 1 ? " value, " : " values, ") +
						percent(c.n, sums.get(c.col)) + " of this interval"],
					["tipline", clock(data.began + from, to - from < 1e4) + " to " +
						clock(data.began + to, to - from < 1e4) + " UTC"]];
				part.appendChild(rect);
			}
			plane.appendChild(part);
			drawAxes(track, low, tall, rows, size, s, xOf, span, room);
			drawHead(s, sum);
			drawFoot(map.most, sum, per, tall);
			tip.style.display = "none";
		}

		function drawAxes(track, low, tall, rows, size, s, xOf, span, room) {
			const each = Math.max(1, Math.ceil(16 / size));
			for (let r = 0; r < rows; r += each) {
				const v = track.low[low + r * tall], y = height - r * size;
				plane.appendChild(make("text", {class: "sub end", x: LEFT - 8, y: y - Math.max(0, size - 12) / 2 - 1},
					v === null ? "less" : short(v, s.unit)));
			}
			const tick = tickStep(span, Math.max(2, Math.floor(room / 90)));
			const base = data.began + track.begin;
			for (let t = Math.ceil(base / tick) * tick; t <= base + span; t += tick) {
				const x = xOf(t - data.began);
				plane.appendChild(make("line", {class: "axis", x1: x, x2: x, y1: height, y2: height + 5}));
				if (x > LEFT + 15 && x < width - PAD - 25)
					plane.appendChild(make("text", {class: "sub mid", x, y: height + 18}, clock(t, tick < 1000)));
			}
			plane.appendChild(make("text", {class: "sub end", x: LEFT - 8, y: height + 18}, "UTC"));
		}

		function drawHead(s, sum) {
			let x = PAD;
			head.replaceChildren();
			const name = make("text", {class: "title", x: PAD, y: 24}, s.title);
			head.appendChild(name);
			const sub = make("text", {class: "sub", x: PAD + name.getComputedTextLength() + 14, y: 24},
				s.what + ": " + grouped(sum) + " values");
			head.appendChild(sub);
			const facts = make("text", {class: "sub end", x: width - PAD, y: 24}, data.facts);
			head.appendChild(facts);
			if (sub.getBoundingClientRect().right + 20 > facts.getBoundingClientRect().left)
				facts.remove();
			if (data.series.length < 2)
				return;
			x = common.button(head, x, "\u2039", "Previous map", false, () => go(-1));
			x = common.button(head, x, (now + 1) + " of " + data.series.length, "Next map", false, () => go(1));
			common.button(head, x, "\u203a", "Next map", false, () => go(1));
		}

		function drawFoot(most, sum, per, tall) {
			const from = steps(most);
			let x = LEFT, y = height + 34;
			foot.replaceChildren(make("text", {class: "sub end", x: LEFT - 8, y: y + 11}, "values"));
			for (let i = 0; sum && i < STEPS; i++) {
				if (i + 1 < STEPS && from[i + 1] <= from[i])
					continue;
				const text = make("text", {class: "sub", x: x + 18, y: y + 11}, grouped(from[i]) +
					(i + 1 === STEPS && most > from[i] ? " to " + grouped(most) : ""));
				foot.append(make("rect", {class: "c" + (i + 1), x, y, width: 13, height: 13, rx: 2}), text);
				x += text.getComputedTextLength() + 32;
			}
			y += 20;
			const notes = data.notes.slice();
			if (per > 1 || tall > 1)
				notes.unshift({text: "A cell stands for " + per + (per > 1 ? " intervals" : " interval") +
					" and " + tall + (tall > 1 ? " ranges" : " range") + " here, so that it can be seen.", bad: 0});
			for (const note of notes)
				for (const line of lines(note.text, Math.max(40, Math.floor((width - 24) / 6.2))))
					foot.appendChild(make("text", {class: note.bad ? "sub bad" : "sub", x: PAD, y: y += 16}, line));
			const least = svg === document.documentElement ? root.innerHeight : 0;
			const all = Math.max(y + 14, least);
			svg.setAttribute("height", all);
			svg.style.height = all + "px";
		}

		function go(by) {
			now = (now + by + data.series.length) % data.series.length;
			draw();
		}

		plane.addEventListener("mousemove", (e) => {
			const at = svg.getBoundingClientRect();
			if (e.target.lines)
				common.tip(svg, tip, e.target.lines(), e.clientX - at.left, e.clientY - at.top, width);
			else
				tip.style.display = "none";
		});
		plane.addEventListener("mouseleave", () => { tip.style.display = "none"; });
		svg.replaceChildren(...Array.from(svg.childNodes).filter((e) =>
			e.nodeName === "style" || e.nodeName === "script" || e.nodeName === "title"));
		svg.removeAttribute("viewBox");
		svg.setAttribute("width", "100%");
		svg.append(back, plane, foot, head, tip);
		if (!data.series.length) {
			data.notes.forEach((note, n) => foot.appendChild(make("text",
				{class: note.bad ? "sub bad" : "sub", x: PAD, y: 30 + n * 18}, note.text)));
			svg.setAttribute("height", 60 + data.notes.length * 18);
			return;
		}
		root.addEventListener("resize", draw);
		document.addEventListener("keydown", (e) => {
			if (data.series.length > 1 && (e.key === "n" || e.key === "p"))
				go(e.key === "n" ? 1 : -1);
		});
		draw();
	}

	function start() {
		for (const e of Array.from(document.querySelectorAll("script.heat-data")))
			mount(e.closest("svg") || e.previousElementSibling, JSON.parse(e.textContent));
	}

	if (document.readyState === "loading")
		document.addEventListener("DOMContentLoaded", start);
	else
		start();
})(typeof window === "undefined" ? globalThis : window);
