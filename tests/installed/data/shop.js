/* SPDX-License-Identifier: MIT */
const d = require('dtrace-provider');
const provider = d.createDTraceProvider('shop', 'server');
const sale = provider.addProbe('sale', 'char *', 'int');
provider.enable();
sale.fire(() => ['tea', 4]);
