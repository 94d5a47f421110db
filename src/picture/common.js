/* SPDX-License-Identifier: MIT */
/* What the scripts of pictures share: numbers as text, elements, buttons, the box at the pointer. */
(function (root) {
	"use strict";
	const SVG = "http://www.w3.org/2000/svg";

	function grouped(v) {
		return String(Math.round(v)).replace(/\B(?=(\d{3})+(?!\d))/g, ",");
	}

	function scaled(v, steps) {
		let i = 0;
		while (i < steps.length - 1 && v >= steps[i + 1][0])
			i++;
		const q = v / steps[i][0];
		return (i === 0 ? grouped(q) : q.toPrecision(q >= 100 ? 4 : 3)) + " " + steps[i][1];
	}

	/* A value in few characters: scaled where it has a unit. */
	function shortText(v, unit) {
		const times = {ns: 1, us: 1e3, ms: 1e6};
		const time = [[1, "ns"], [1e3, "\u00b5s"], [1e6, "ms"], [1e9, "s"], [6e10, "min"],
			[3.6e12, "h"]];
		const size = [[1, "bytes"], [1024, "KiB"], [1048576, "MiB"], [1073741824, "GiB"],
			[1099511627776, "TiB"]];
		return times[unit] ? scaled(v * times[unit], time) :
			unit === "bytes" ? scaled(v, size) : grouped(v) + (unit ? " " + unit : "");
	}

	/* A value with its unit: exact, and where it is large also scaled. */
	function valueText(v, unit) {
		const exact = grouped(v) + (unit ? " " + unit : ""), short = shortText(v, unit);
		return short === exact ? exact : short + " (" + exact + ")";
	}

	function percent(part, all) {
		const p = all > 0 ? 100 * part / all : 0;
		return (p >= 10 ? p.toFixed(1) : p >= 0.1 ? p.toFixed(2) : p.toPrecision(2)) + " %";
	}

	/* Columns of a text in a font of fixed width. */
	function columns(text) {
		let n = 0;
		for (const ch of text)
			n += ch.codePointAt(0) >= 0x1100 ? 2 : 1;
		return n;
	}

	function cut(text, room) {
		let out = "", n = 0;
		for (const ch of text) {
			n += ch.codePointAt(0) >= 0x1100 ? 2 : 1;
			if (n > room - 1)
				return out + "\u2026";
			out += ch;
		}
		return out;
	}

	function lines(text, room) {
		const out = [];
		let rest = text;
		while (rest.length > room && out.length < 7) {
			out.push(rest.slice(0, room));
			rest = rest.slice(room);
		}
		out.push(rest.length > room ? cut(rest, room) : rest);
		return out;
	}

	function make(tag, attrs, text) {
		const e = document.createElementNS(SVG, tag);
		for (const k in attrs)
			e.setAttribute(k, attrs[k]);
		if (text !== undefined)
			e.textContent = text;
		return e;
	}

	/* Adds a button; returns where the next one begins. */
	function button(parent, x, text, title, on, act) {
		const g = make("g", {class: "button" + (on ? " on" : ""), tabindex: 0,
			role: "button", "aria-label": title});
		const t = make("text", {x: x + 9, y: 52}, text);
		parent.appendChild(g);
		g.appendChild(t);
		const w = Math.ceil(t.getComputedTextLength()) + 18;
		g.insertBefore(make("rect", {x, y: 36, width: w, height: 24, rx: 5}), t);
		g.appendChild(make("title", {}, title));
		g.addEventListener("click", act);
		g.addEventListener("keydown", (e) => {
			if (e.key === "Enter" || e.key === " ") {
				e.preventDefault();
				act();
			}
		});
		return x + w + 6;
	}

	/* Shows lines, pairs of class and text, in a box beside a point of the svg element. */
	function tip(svg, g, list, px, py, width) {
		let w = 0;
		g.replaceChildren();
		const box = make("rect", {class: "tipbox", rx: 6});
		g.appendChild(box);
		g.style.display = "";
		list.forEach(([cls, text], n) => {
			const t = make("text", {class: cls, x: 11, y: 20 + n * 17}, text);
			g.appendChild(t);
			w = Math.max(w, t.getComputedTextLength());
		});
		w = Math.ceil(w) + 22;
		const h = list.length * 17 + 14, top = -svg.getBoundingClientRect().top;
		box.setAttribute("width", w);
		box.setAttribute("height", h);
		const x = Math.max(4, Math.min(px + 14, width - w - 4));
		const y = py + 18 + h > top + root.innerHeight && py - h - 10 > top ? py - h - 10 :
			py + 18;
		g.setAttribute("transform", "translate(" + x + "," + y + ")");
	}

	const common = {grouped, scaled, shortText, valueText, percent, columns, cut, lines, make, button, tip};

	if (typeof module !== "undefined" && module.exports)
		module.exports = common;
	else
		root.pictureCommon = common;
})(typeof window === "undefined" ? globalThis : window);
