/* SPDX-License-Identifier: MIT */
'use strict';
const fs = require('fs');

function known_here() {
	process.umask(18);
}

function known_outer() {
	known_here();
}

function again() {
	known_outer();
	if (!fs.existsSync('seen'))
		setTimeout(again, 5);
}
again();
