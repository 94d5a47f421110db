/* SPDX-License-Identifier: MIT */
'use strict';
// Builds the native part with the machine's C compiler; nothing is downloaded.
//
// The header and the library are those that pkg-config knows; LIBDTRACE_CFLAGS and LIBDTRACE_LIBS say where others are.

const { spawnSync } = require('child_process');
const fs = require('fs');
const os = require('os');
const path = require('path');

const OUT = path.join(__dirname, 'build', 'Release', 'libdtrace.node');

// Where the headers of this Node may be: with it, or where node-gyp keeps them.
function headers() {
  const given = process.env.npm_config_nodedir;
  const version = process.version.slice(1);
  const folders = [
    given && path.join(given, 'include', 'node'),
    given && path.join(given, 'src'),
    path.join(fs.realpathSync(process.execPath), '..', '..', 'include', 'node'),
    '/usr/include/node',
    '/usr/include/nodejs/src',
    path.join(os.homedir(), '.cache', 'node-gyp', version, 'include', 'node'),
  ];
  const found = folders.find((f) => f && fs.existsSync(path.join(f, 'node_api.h')));
  if (!found) {
    throw new Error(`Node's headers (node_api.h) are not installed; they are looked for in ${folders.filter(Boolean).join(', ')}`);
  }
  return found;
}

function words(variable, ...options) {
  if (process.env[variable] !== undefined) {
    return process.env[variable].split(' ').filter(Boolean);
  }
  const r = spawnSync('pkg-config', [...options, 'libdtrace'], { encoding: 'utf8' });
  if (r.error || r.status !== 0) {
    throw new Error(`pkg-config does not know libdtrace: install Fathom, or set LIBDTRACE_CFLAGS and LIBDTRACE_LIBS\n${r.stderr || ''}`);
  }
  return r.stdout.trim().split(/\s+/).filter(Boolean);
}

const cc = (process.env.CC || 'cc').split(' ');
const flags = ['-std=gnu17', '-O2', '-g', '-Wall', '-fPIC', '-fvisibility=hidden', '-shared', `-I${headers()}`, ...words('LIBDTRACE_CFLAGS', '--cflags')];
fs.mkdirSync(path.dirname(OUT), { recursive: true });
// A process may have the old file mapped: it is replaced, not written.
const temporary = `${OUT}.${process.pid}`;
const r = spawnSync(cc[0], [...cc.slice(1), ...flags, path.join(__dirname, 'binding.c'), ...words('LIBDTRACE_LIBS', '--libs'), '-o', temporary], {
  encoding: 'utf8',
});
if (r.error || r.status !== 0) {
  fs.rmSync(temporary, { force: true });
  throw new Error(r.error ? `${cc[0]}: ${r.error.message}` : r.stderr);
}
fs.renameSync(temporary, OUT);
