/* SPDX-License-Identifier: MIT */
'use strict';
// The interface without probes, where the native part cannot be built: nothing is ever traced.

class DTraceProbe {
  fire() {}
}

class DTraceProvider {
  addProbe(name) {
    const probe = new DTraceProbe();
    this[name] = probe;
    return probe;
  }
  removeProbe() {}
  enable() {}
  disable() {}
  fire() {}
}

module.exports = {
  DTraceProvider,
  DTraceProbe,
  createDTraceProvider: () => new DTraceProvider(),
};
