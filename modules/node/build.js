/* SPDX-License-Identifier: MIT */
'use strict';
// Builds the native part with the machine's C compiler; nothing is downloaded.
//
//     node build.js            compile; runs when the package is installed
//     node build.js sources    copy libusdt into this folder, for a package (npm pack)
//
// Without Linux, a compiler or Node's headers, the module has the same interface and no probes
// (stub.js). With NODE_DTRACE_PROVIDER_REQUIRE=hard, the installation fails instead.

const { spawnSync } = require('child_process');
const fs = require('fs');
const os = require('os');
const path = require('path');

const COPY = path.join(__dirname, 'libusdt');
const TREE = path.join(__dirname, '..', '..', 'lib', 'usdt');
const OUT = path.join(__dirname, 'build', 'Release', 'DTraceProviderBindings.node');

const isSource = (file) => /\.[ch]$/.test(file);

function copySources() {
  if (!fs.existsSync(TREE)) {
    return; // this is a package, which has them
  }
  fs.mkdirSync(COPY, { recursive: true });
  for (const file of fs.readdirSync(TREE).filter(isSource)) {
    fs.copyFileSync(path.join(TREE, file), path.join(COPY, file));
  }
}

// Where the headers of this Node may be: with it, or where node-gyp keeps them.
function headers() {
  const given = process.env.npm_config_nodedir;
  const prefix = path.join(fs.realpathSync(process.execPath), '..', '..');
  const version = process.version.slice(1);
  const folders = [
    given && path.join(given, 'include', 'node'),
    given && path.join(given, 'src'),
    path.join(prefix, 'include', 'node'),
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

function compile() {
  if (process.platform !== 'linux') {
    throw new Error(`there are no probes on ${process.platform}`);
  }
  const lib = fs.existsSync(TREE) ? TREE : COPY;
  const sources = fs.readdirSync(lib).filter((f) => f.endsWith('.c')).map((f) => path.join(lib, f));
  const cc = (process.env.CC || 'cc').split(' ');
  const flags = ['-std=gnu17', '-O2', '-g', '-Wall', '-fPIC', '-fvisibility=hidden', '-pthread', '-shared', '-D_GNU_SOURCE',
    '-Wl,-z,nodelete', `-I${lib}`, `-I${headers()}`];
  fs.mkdirSync(path.dirname(OUT), { recursive: true });
  // A process may have the old file mapped: it is replaced, not written.
  const temporary = `${OUT}.${process.pid}`;
  const r = spawnSync(cc[0], [...cc.slice(1), ...flags, path.join(__dirname, 'binding.c'), ...sources, '-o', temporary],
    { encoding: 'utf8' });
  if (r.error || r.status !== 0) {
    fs.rmSync(temporary, { force: true });
    throw new Error(r.error ? `${cc[0]}: ${r.error.message}` : r.stderr);
  }
  fs.renameSync(temporary, OUT);
}

if (process.argv[2] === 'sources') {
  copySources();
} else {
  try {
    compile();
  } catch (e) {
    console.error(`dtrace-provider: without probes, because the native part was not built: ${e.message}`);
    process.exitCode = process.env.NODE_DTRACE_PROVIDER_REQUIRE === 'hard' ? 1 : 0;
  }
}
