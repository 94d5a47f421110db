# Stacks of Lua 5.3, in a program with its library: what lua.inc says.
. "$SRC/tests/e2e/stack/lua.inc"
lua_with_library liblua5.3-0 liblua5.3.so.0 'long long' long

{
	check_points
	check_profile
} 2>&1
