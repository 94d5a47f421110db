-- SPDX-License-Identifier: MIT
rockspec_format = "3.0"
package = "usdt"
version = "0.2-1"
source = { url = "file://." }
description = {
  summary = "DTrace probes of Lua programs, made at run time, on Linux",
  license = "MIT",
}
dependencies = { "lua >= 5.1, < 5.5" }
build = {
  type = "make",
  build_variables = { CFLAGS = "$(CFLAGS)", LUA_INCDIR = "$(LUA_INCDIR)", LUA = "$(LUA)" },
  install_variables = { INST_LIBDIR = "$(LIBDIR)", LUA_INCDIR = "$(LUA_INCDIR)" },
}
