# Stacks of Lua 5.1, in a program with its library, and in its own: what lua.inc says.
if [ ! -x /usr/bin/lua5.1 ]; then
	echo "this test needs Lua 5.1 of Debian (package lua5.1)"
	exit 67
fi
. "$SRC/tests/e2e/stack/lua.inc"
export lacking=2 # stacks of a thousand in which the function that is being called, or returns, is not there (doc/reference/runtimes.md)
lua_with_library liblua5.1-0 liblua5.1.so.0 int int -DOLD

{
	check_points
	check_profile
	lua=/usr/bin/lua5.1
	check_points
	check_profile
} 2>&1
