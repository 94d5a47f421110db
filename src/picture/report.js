/* SPDX-License-Identifier: MIT */
/* Reports: tables that sort by a click on a column's head, and long tables that open. */
(function (root) {
	"use strict";

	/* Compares cells: numbers by value, other text by its characters; ties keep their order. */
	function compare(a, b, numeric) {
		if (numeric) {
			const x = BigInt(a || "0"), y = BigInt(b || "0");
			return x < y ? -1 : x > y ? 1 : 0;
		}
		return a < b ? -1 : a > b ? 1 : 0;
	}

	/* The order of rows by a column: indices. A number sorts from the greatest on at first. */
	function order(values, numeric, descending) {
		const at = values.map((_, i) => i);
		at.sort((i, j) => (descending ? -1 : 1) * compare(values[i], values[j], numeric) || i - j);
		return at;
	}

	if (typeof module !== "undefined" && module.exports) {
		module.exports = {compare, order};
		return;
	}

	function sort(table, column) {
		const heads = Array.from(table.tHead.rows[0].cells), head = heads[column];
		const body = table.tBodies[0], rows = Array.from(body.rows);
		const numeric = head.classList.contains("n");
		const was = head.getAttribute("aria-sort");
		const descending = was ? was === "ascending" : numeric;
		const more = rows.filter((r) => r.classList.contains("more")).length;
		const values = rows.map((r) => {
			const cell = r.cells[column];
			return cell.dataset.v !== undefined ? cell.dataset.v : cell.textContent;
		});
		heads.forEach((h) => h.removeAttribute("aria-sort"));
		head.setAttribute("aria-sort", descending ? "descending" : "ascending");
		order(values, numeric, descending).forEach((i, n) => {
			rows[i].classList.toggle("more", n >= rows.length - more);
			body.appendChild(rows[i]);
		});
	}

	function start() {
		for (const table of Array.from(document.querySelectorAll("table.sort"))) {
			Array.from(table.tHead.rows[0].cells).forEach((head, i) => {
				if (head.classList.contains("nosort"))
					return;
				head.classList.add("sorts");
				head.tabIndex = 0;
				head.title = "Sort by this column";
				head.addEventListener("click", () => sort(table, i));
				head.addEventListener("keydown", (e) => {
					if (e.key === "Enter" || e.key === " ") {
						e.preventDefault();
						sort(table, i);
					}
				});
			});
			const hidden = table.querySelectorAll("tr.more").length;
			if (!hidden)
				continue;
			const button = document.createElement("button");
			button.textContent = "Show " + hidden + " more rows";
			button.addEventListener("click", () => {
				table.classList.add("all");
				button.remove();
			});
			table.parentNode.after(button);
		}
	}

	if (document.readyState === "loading")
		document.addEventListener("DOMContentLoaded", start);
	else
		start();
})(typeof window === "undefined" ? globalThis : window);
