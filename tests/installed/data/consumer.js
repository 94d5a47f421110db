/* SPDX-License-Identifier: MIT */
// A consumer: counts its own system calls.
const { Consumer } = require('libdtrace');
const dtp = new Consumer();

dtp.strcompile('syscall::umask:entry /pid == $1/ { @calls = count(); }', process.pid);
dtp.go();
for (let i = 0; i < 100; i++)
	process.umask(18);
dtp.stop();
dtp.aggwalk((varid, keys, value, name) => console.log(name, value));
dtp.close();
