/* SPDX-License-Identifier: MIT */
/* Provider lua: an interpreter of Lua has no function that runs once for each call of a Lua function. */
provider lua {
	probe function__entry(userland char *name, userland char *file, int line)
		= "the interpreter calls Lua functions inside of one function of its own: debug.sethook() sees them, and the module of libusdt makes probes; pid$target::lua_*:entry are the calls of C";
	probe function__return(userland char *name, userland char *file, int line)
		= "the interpreter calls Lua functions inside of one function of its own: debug.sethook() sees them, and the module of libusdt makes probes; pid$target::lua_*:entry are the calls of C";
};
