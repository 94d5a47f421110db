#!/usr/bin/env node
/* SPDX-License-Identifier: MIT */
'use strict';
// A live heat map of the latency of system calls, in a browser.
//
//     server.js [-p PORT] [-i SECONDS] [CALL]
//
// http://localhost:8080/ shows one column for each SECONDS (1), one row for each range of latencies, and darker cells where
// more calls took that long. CALL is the system call, a pattern such as 'read*'; else all of them.
//
// The page gets the columns as events of the server (text/event-stream): {"time": ms, "cells": [[min, max, count], ...]}.

const fs = require('fs');
const http = require('http');
const path = require('path');
const { parseArgs } = require('util');
const { Consumer } = require(process.env.LIBDTRACE_NODE || 'libdtrace');

const { values, positionals } = parseArgs({
  options: { port: { type: 'string', short: 'p', default: '8080' }, interval: { type: 'string', short: 'i', default: '1' } },
  allowPositionals: true,
});
const call = positionals[0] || '';
if (!/^[\w*?[\]-]*$/.test(call)) {
  throw new Error(`'${call}' is no name of a system call`);
}

const dtp = new Consumer();
for (const kind of ['drop', 'fault']) {
  dtp.on(kind, (text) => console.error(`heatmap: ${text.trimEnd()}`));
}
dtp.strcompile(`
  syscall::${call}:entry /pid != $1/ { self->start = timestamp; }
  syscall::${call}:return /self->start/ { @ = llquantize(timestamp - self->start, 10, 2, 10, 20); self->start = 0; }`, process.pid);
dtp.go();

const history = []; // the last columns, for pages that come later
const pages = new Set();

function column() {
  const cells = [];

  if (!dtp.consume()) {
    process.exit(0);
  }
  dtp.aggwalk((varid, keys, buckets) => {
    for (const [[min, max], count] of buckets) {
      if (count) {
        cells.push([min, max, count]);
      }
    }
  });
  const event = `data: ${JSON.stringify({ time: Date.now(), cells })}\n\n`;
  history.push(event);
  history.splice(0, history.length - 600);
  for (const page of pages) {
    page.write(event);
  }
}

const server = http.createServer((request, response) => {
  if (request.url === '/') {
    response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' });
    fs.createReadStream(path.join(__dirname, 'index.html')).pipe(response);
  } else if (request.url === '/events') {
    response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' });
    response.write(history.join(''));
    pages.add(response);
    request.on('close', () => pages.delete(response));
  } else {
    response.writeHead(404).end();
  }
});
// Only this machine may look: what processes do is nobody else's business.
server.listen(Number(values.port), '127.0.0.1', () => console.log(`http://localhost:${server.address().port}/`));
setInterval(column, Number(values.interval) * 1000);
for (const signal of ['SIGINT', 'SIGTERM']) {
  process.on(signal, () => { dtp.close(); process.exit(0); });
}
