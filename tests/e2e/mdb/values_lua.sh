# mdb shows the values, variables and objects of Lua programs as the programs themselves know them: Lua 5.1 and 5.4 and LuaJIT of Debian, or $LUA, of processes and
# core files of them.
# @@foreign
exec python3 "$SRC/tests/e2e/mdb/values_lua.py"
