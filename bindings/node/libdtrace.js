/* SPDX-License-Identifier: MIT */
'use strict';
// Consumers of DTrace in Node.js: D programs in, values out.
//
//     const { Consumer } = require('libdtrace');
//     const dtp = new Consumer();
//     dtp.strcompile('syscall:::entry { @[execname, probefunc] = count(); }');
//     dtp.go();
//     setInterval(() => dtp.aggwalk((varid, keys, value) => console.log(keys, value)), 1000);
//
// The names and arguments are those of npm's libdtrace for other systems. A call that the library refuses throws an Error
// with the members errno and hint.

const { EventEmitter } = require('events');
const native = require('./build/Release/libdtrace.node');

// Events: 'text' (what printa() shows), 'drop', 'fault' and 'notice', each with a text.
class Consumer extends EventEmitter {
  #handle;

  constructor({ onlyCompile = false } = {}) {
    super();
    this.#handle = native.open(onlyCompile, (kind, text) => this.emit(kind === 'error' ? 'fault' : kind, text));
  }

  // Sets an option with the names and values of dtrace -x.
  setopt(name, value) {
    native.setopt(this.#handle, String(name), value === undefined ? null : String(value));
  }

  // Compiles a program and enables its probes; more arguments are $1 and so on. Returns how many probes it matches.
  strcompile(text, ...args) {
    return native.strcompile(this.#handle, String(text), args.map(String));
  }

  // As -c and -p, before strcompile(): the process is $target.
  create(command) {
    native.create(this.#handle, String(command));
  }

  grab(pid) {
    native.grab(this.#handle, Number(pid));
  }

  go() {
    native.go(this.#handle);
  }

  // func(probe, record) for each action, func(probe) behind the last one of a firing. Does not wait; returns false when
  // tracing has ended.
  consume(func = () => {}) {
    return native.consume(this.#handle, func);
  }

  // func(varid, keys, value, name) for each row of each aggregation, which is taken out; a histogram is a list of
  // [[min, max], count].
  aggwalk(func) {
    native.aggwalk(this.#handle, func, false);
  }

  // The same, but rows stay.
  aggread(func) {
    native.aggwalk(this.#handle, func, true);
  }

  // Ends tracing; END fires, and its records come to func. In a function that a call of this consumer has called, it only
  // ends tracing: the rest comes with the calls of consume() that follow.
  stop(func = () => {}) {
    if (native.stop(this.#handle)) return;
    while (native.consume(this.#handle, func));
  }

  // The probes of a description 'provider:module:function:name'.
  probes(description = ':::') {
    const found = [];

    native.probes(this.#handle, [...description.split(':'), '', '', '', ''].slice(0, 4), (probe) => found.push(probe));
    return found;
  }

  // The value of exit(), or null.
  get exitStatus() {
    return native.exitStatus(this.#handle);
  }

  close() {
    native.close(this.#handle);
  }
}

module.exports = { Consumer };
