# Stacks of Lua 5.2, in a program with its library: what lua.sh says about 5.4.
library=/usr/lib/x86_64-linux-gnu/liblua5.2.so.0
if [ ! -e $library ]; then
	echo "this test needs the library of Lua 5.2 (package liblua5.2-0)"
	exit 67
fi
command -v cc >/dev/null || exit 67
cat >"$TMP/own52.c" <<'X'
#include <stddef.h>
/* lua.h of 5.2: the headers need not be installed */
void *luaL_newstate(void);
void luaL_openlibs(void *l);
void lua_createtable(void *l, int array, int hash);
const char *lua_pushstring(void *l, const char *text);
void lua_rawseti(void *l, int index, int n);
void lua_setglobal(void *l, const char *name);
int luaL_loadfilex(void *l, const char *file, const char *mode);
int lua_pcallk(void *l, int nargs, int nresults, int handler, int ctx, void *k);
int main(int argc, char **argv)
{
	void *l = luaL_newstate();

	luaL_openlibs(l);
	lua_createtable(l, 0, 0);
	for (int i = 1; i < argc; i++) {
		lua_pushstring(l, argv[i]);
		lua_rawseti(l, -2, i - 1);
	}
	lua_setglobal(l, "arg");
	return luaL_loadfilex(l, argv[1], NULL) || lua_pcallk(l, 0, -1, 0, 0, NULL);
}
X
cc -o "$TMP/own52" "$TMP/own52.c" $library || exit 1
LUA=$TMP/own52
. "$SRC/tests/e2e/stack/lua.sh"
