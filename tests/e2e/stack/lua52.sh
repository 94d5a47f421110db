# Stacks of Lua 5.2, in a program with its library: what lua.inc says.
. "$SRC/tests/e2e/stack/lua.inc"
lua_with_library liblua5.2-0 liblua5.2.so.0 int int

{
	check_points
	check_profile
} 2>&1
