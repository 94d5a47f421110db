/* SPDX-License-Identifier: MIT */
// bench/inproc.py: a web server (prints its port), or, with a port, seconds and connections, its load (prints the requests a second).
const http = require('http');
const [port, seconds, connections] = process.argv.slice(2).map(Number);
const ANSWER = 'hello world\n';

function serve() {
	const server = http.createServer((request, response) => response.end(ANSWER));
	server.listen(0, '127.0.0.1', () => console.log(server.address().port));
}

function load() {
	const agent = new http.Agent({keepAlive: true, maxSockets: connections});
	let n = 0, wrong = 0;
	const one = () => http.get({host: '127.0.0.1', port, agent}, (response) => {
		let text = '';
		response.on('data', (data) => { text += data; });
		response.on('end', () => { n++; wrong += text !== ANSWER; one(); });
	}).on('error', () => { wrong++; });
	const begin = Date.now();
	for (let i = 0; i < connections; i++)
		one();
	setTimeout(() => {
		console.log(wrong ? NaN : n * 1000 / (Date.now() - begin));
		process.exit(0);
	}, seconds * 1000);
}

port ? load() : serve();
