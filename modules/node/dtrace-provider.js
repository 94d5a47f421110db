/* SPDX-License-Identifier: MIT */
'use strict';
// DTrace providers of a Node.js program, made while it runs.
//
//     const dtp = require('dtrace-provider').createDTraceProvider('nodeapp');
//     const p1 = dtp.addProbe('probe1', 'int', 'char *');
//     dtp.enable();
//     p1.fire(() => [1, 'hello']);
//
// The function given to fire() runs only while somebody traces the probe. Otherwise fire() reads one
// element of an array, which is the counter that the kernel increments for each consumer.

let native;
try {
  native = require('./build/Release/DTraceProviderBindings.node');
} catch (e) {
  if (process.env.NODE_DTRACE_PROVIDER_REQUIRE === 'hard') {
    throw e;
  }
}

const NO_CONSUMER = new Uint16Array(1);
// Where JavaScript cannot read the counter, fire() always asks the library, which reads it.
const UNKNOWN = Uint16Array.of(1);
const ARGS_MAX = 32;
const INTEGER = /^((u?int(8|16|32|64)?(_t)?)|(unsigned|signed)( (char|short|int|long|long long))?|char|short|long|long long|size_t|bool)$/;

// JSON is a string for the kernel. Whatever is no string is an integer: programs write types that do not exist, and
// mean numbers.
function typeOf(type) {
  if (typeof type !== 'string') {
    throw new TypeError('the type of a probe\'s argument must be a string, such as "int", "char *" or "json"');
  }
  if (type === 'json' || /^(const )?char *\*$/.test(type)) {
    return 'char *';
  }
  return INTEGER.test(type) ? type.replace(/^(u?int(8|16|32|64))$/, '$1_t') : 'int';
}

function jsonOf(value) {
  try {
    const text = JSON.stringify(value);
    return text === undefined ? '' : text;
  } catch (e) {
    return JSON.stringify({ error: `JSON.stringify: ${e.message}` });
  }
}

class DTraceProbe {
  constructor(provider, handle, types) {
    this._provider = provider; // probes keep their provider alive
    this._handle = handle;
    this._jsons = [];
    types.forEach((type, i) => type === 'json' && this._jsons.push(i));
    this._consumers = native.counter(handle) || UNKNOWN;
  }

  fire(callback, ...args) {
    if (this._consumers[0] !== 0) {
      fireEnabled(this, callback, args);
    }
  }
}

function fireEnabled(probe, callback, args) {
  let values = callback.apply(probe, args);
  if (!Array.isArray(values)) {
    values = [values];
  }
  if (probe._jsons.length) {
    values = values.slice();
    for (const i of probe._jsons) {
      values[i] = i < values.length ? jsonOf(values[i]) : '';
    }
  }
  native.fire(probe._handle, values);
}

// Probes by name. Looking one up is fast because the object has the form that class instances have.
function ProbeTable() {}
ProbeTable.prototype = Object.create(null);

class DTraceProvider {
  constructor(name, module) {
    if (typeof name !== 'string' || (module !== undefined && typeof module !== 'string')) {
      throw new TypeError('the name of a provider and that of its module must be strings');
    }
    this._handle = native.create(name, module || null);
    this._probes = new ProbeTable();
    this._isEnabled = false;
  }

  addProbe(name, ...types) {
    if (typeof name !== 'string') {
      throw new TypeError('the name of a probe must be a string');
    }
    if (types.length > ARGS_MAX) {
      throw new RangeError(`a probe can have ${ARGS_MAX} arguments, not ${types.length}`);
    }
    const handle = native.add(this._handle, name, name, types.map(typeOf));
    const probe = new DTraceProbe(this, handle, types);
    this._probes[name] = probe;
    if (!(name in this)) {
      this[name] = probe;
    }
    return probe;
  }

  removeProbe(probe) {
    const name = Object.keys(this._probes).find((k) => this._probes[k] === probe);
    if (name === undefined) {
      return;
    }
    // The library removes a probe only from a provider that is not enabled.
    const wasEnabled = this._isEnabled;
    this.disable();
    native.remove(this._handle, probe._handle);
    probe._consumers = NO_CONSUMER;
    delete this._probes[name];
    if (this[name] === probe) {
      delete this[name];
    }
    if (wasEnabled) {
      this.enable();
    }
  }

  // A program is not ended because it cannot be traced: it is warned.
  enable() {
    if (!Object.keys(this._probes).length) {
      return;
    }
    try {
      native.enable(this._handle);
      this._isEnabled = true;
    } catch (e) {
      if (process.env.NODE_DTRACE_PROVIDER_REQUIRE === 'hard') {
        throw e;
      }
      process.emitWarning(e.message, 'DTraceProviderWarning');
    }
  }

  disable() {
    native.disable(this._handle);
    this._isEnabled = false;
  }

  fire(name, callback, ...args) {
    const probe = this._probes[name];
    if (probe !== undefined && probe._consumers[0] !== 0) {
      fireEnabled(probe, callback, args);
    }
  }
}

module.exports = native
  ? { DTraceProvider, DTraceProbe, createDTraceProvider: (name, module) => new DTraceProvider(name, module) }
  : require('./stub.js');
