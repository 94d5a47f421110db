/* SPDX-License-Identifier: MIT */
// bench/servers.py: a web server that answers /N with N bytes, byte I being (7 I + N) mod 251; prints its port.
const http = require('http');
const bodies = new Map();

function body(n) {
	if (!bodies.has(n))
		bodies.set(n, Buffer.from(Uint8Array.from({length: n}, (_, i) => (7 * i + n) % 251)));
	return bodies.get(n);
}

const server = http.createServer((request, response) => response.end(body(Number(request.url.slice(1)))));
server.keepAliveTimeout = 60000;
server.listen(0, '127.0.0.1', () => console.log(server.address().port));
