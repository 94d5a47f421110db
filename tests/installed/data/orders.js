/* SPDX-License-Identifier: MIT */
const fs = require('fs');

class Item {
	constructor(number) {
		this.number = number;
	}
}

class Order {
	constructor(id) {
		this.id = id;
		this.items = Array.from({ length: 100 }, (_, n) => new Item(n));
		this.note = { paid: true };
	}
}

function known_here(order, word) {
	fs.writeSync(1, 'ready\n');
	fs.readSync(0, Buffer.alloc(1));
}

function known_outer(id) {
	known_here(new Order(id), 'word');
}

known_outer(4711);
