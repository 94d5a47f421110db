/* SPDX-License-Identifier: MIT */
/*
 * Probes of Lua programs, made at run time: libusdt for Lua 5.1 to 5.4.
 *
 *     local provider = usdt.provider("shop", "server")
 *     local sale = provider:probe("sell", "sale", "char *", "int")
 *     provider:enable()
 *     sale:fire("tea", 4)
 *
 * A probe must not change what the program does. Therefore fire() raises nothing: what cannot be
 * converted to the argument's type is 0, or an empty string. It calls no metamethods.
 */
#include <lauxlib.h>
#include <lua.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "usdt.h"

#define PROVIDER "usdt.provider"
#define PROBE	 "usdt.probe"
#define NUMBER	 32 /* bytes of a number's text */

struct probe {
	usdt_probedef_t *def;
	uint32_t strings; /* a bit for each argument that is a string */
};

static usdt_provider_t **provider_of(lua_State *L, int index)
{
	return luaL_checkudata(L, index, PROVIDER);
}

static struct probe *probe_of(lua_State *L, int index)
{
	return luaL_checkudata(L, index, PROBE);
}

/*
 * Returns the probe whose method is called. The metatable of probes is the method's upvalue, which
 * is compared sooner than luaL_checkudata() finds it by its name.
 */
static inline struct probe *probe_self(lua_State *L)
{
	struct probe *p = lua_touserdata(L, 1);
	bool is_probe = p && lua_getmetatable(L, 1);

	if (is_probe) {
		is_probe = lua_rawequal(L, -1, lua_upvalueindex(1));
		lua_pop(L, 1);
	}
	return is_probe ? p : probe_of(L, 1);
}

static int error_raise(lua_State *L, usdt_provider_t *pv)
{
	return luaL_error(L, "%s", usdt_errstr(pv));
}

/* Creates an object with that metatable, and leaves it on the stack. */
static void *object_create(lua_State *L, size_t size, const char *metatable)
{
	void *object = lua_newuserdata(L, size);

	memset(object, 0, size);
	luaL_getmetatable(L, metatable);
	lua_setmetatable(L, -2);
	return object;
}

/* ---- probes ---------------------------------------------------------------------------------- */

static bool is_string(const char *type)
{
	return strcmp(type, "char *") == 0 || strcmp(type, "const char *") == 0 ||
	       strcmp(type, "string") == 0;
}

/* provider:probe(function, name, type, ...) */
static int provider_probe(lua_State *L)
{
	usdt_provider_t *pv = *provider_of(L, 1);
	const char *func = luaL_checkstring(L, 2), *name = luaL_checkstring(L, 3);
	int n = lua_gettop(L) - 3;
	const char *types[USDT_ARG_MAX];
	struct probe *p;

	if (n > USDT_ARG_MAX)
		return luaL_error(L, "a probe has at most %d arguments", USDT_ARG_MAX);
	for (int i = 0; i < n; i++)
		types[i] = luaL_checkstring(L, i + 4);
	p = object_create(L, sizeof(*p), PROBE);
	for (int i = 0; i < n; i++)
		if (is_string(types[i])) {
			types[i] = "char *";
			p->strings |= 1u << i;
		}
	p->def = usdt_create_probe(func, name, (size_t)n, types);
	if (!p->def)
		return error_raise(L, NULL);
	if (usdt_provider_add_probe(pv, p->def))
		return error_raise(L, pv);
	return 1;
}

/* Converts to 64 bits: what is no number is 0. */
static void *integer_of(lua_State *L, int index)
{
	double number;

	if (lua_isboolean(L, index))
		return (void *)(uintptr_t)lua_toboolean(L, index);
	if (lua_type(L, index) != LUA_TNUMBER)
		return NULL;
#if LUA_VERSION_NUM >= 503
	if (lua_isinteger(L, index))
		return (void *)(uintptr_t)lua_tointeger(L, index);
#endif
	number = (double)lua_tonumber(L, index);
	return fabs(number) < 9.2e18 ? (void *)(intptr_t)number : NULL;
}

/* Returns the text of a value; that of a number is written to the buffer. */
static void *text_of(lua_State *L, int index, char *buffer)
{
	switch (lua_type(L, index)) {
	case LUA_TSTRING: return (void *)(uintptr_t)lua_tostring(L, index);
	case LUA_TBOOLEAN: return (void *)(uintptr_t)(lua_toboolean(L, index) ? "true" : "false");
	case LUA_TNUMBER: break;
	case LUA_TNONE:
	case LUA_TNIL: return (void *)(uintptr_t) "";
	default: return (void *)(uintptr_t)luaL_typename(L, index);
	}
#if LUA_VERSION_NUM >= 503
	if (lua_isinteger(L, index)) {
		(void)snprintf(buffer, NUMBER, "%lld", (long long)lua_tointeger(L, index));
		return buffer;
	}
#endif
	(void)snprintf(buffer, NUMBER, "%.14g", (double)lua_tonumber(L, index));
	return buffer;
}

/* Fires a probe that somebody traces; apart, so that fire() stays short while nobody does. */
static __attribute__((noinline)) void args_fire(lua_State *L, const struct probe *p)
{
	char numbers[USDT_ARG_MAX][NUMBER];
	void *argv[USDT_ARG_MAX];

	for (size_t i = 0; i < p->def->argc; i++)
		argv[i] = p->strings & 1u << i ? text_of(L, (int)i + 2, numbers[i])
					       : integer_of(L, (int)i + 2);
	usdt_fire_probe(p->def->probe, p->def->argc, argv);
}

/* probe:fire(...) */
static int probe_fire(lua_State *L)
{
	struct probe *p = probe_self(L);

	if (p->def && usdt_is_enabled(p->def->probe))
		args_fire(L, p);
	return 0;
}

static int probe_is_enabled(lua_State *L)
{
	struct probe *p = probe_self(L);

	lua_pushboolean(L, p->def && usdt_is_enabled(p->def->probe));
	return 1;
}

static int probe_gc(lua_State *L)
{
	struct probe *p = probe_of(L, 1);

	if (p->def)
		usdt_probe_release(p->def);
	p->def = NULL;
	return 0;
}

/* ---- providers ------------------------------------------------------------------------------- */

/* usdt.provider(name, module) */
static int provider_create(lua_State *L)
{
	const char *name = luaL_checkstring(L, 1), *module = luaL_optstring(L, 2, NULL);
	usdt_provider_t **pv = object_create(L, sizeof(*pv), PROVIDER);

	*pv = usdt_create_provider(name, module);
	return *pv ? 1 : error_raise(L, NULL);
}

static int provider_enable(lua_State *L)
{
	usdt_provider_t *pv = *provider_of(L, 1);

	return usdt_provider_enable(pv) ? error_raise(L, pv) : 0;
}

static int provider_disable(lua_State *L)
{
	usdt_provider_t *pv = *provider_of(L, 1);

	return usdt_provider_disable(pv) ? error_raise(L, pv) : 0;
}

static int provider_remove(lua_State *L)
{
	usdt_provider_t *pv = *provider_of(L, 1);

	return usdt_provider_remove_probe(pv, probe_of(L, 2)->def) ? error_raise(L, pv) : 0;
}

static int provider_gc(lua_State *L)
{
	usdt_provider_t **pv = provider_of(L, 1);

	if (*pv)
		usdt_provider_free(*pv);
	*pv = NULL;
	return 0;
}

/* ---- the module ------------------------------------------------------------------------------ */

static const luaL_Reg provider_methods[] = {
	{"probe", provider_probe},   {"remove_probe", provider_remove},
	{"enable", provider_enable}, {"disable", provider_disable},
	{"__gc", provider_gc},	     {NULL, NULL},
};

static const luaL_Reg probe_methods[] = {{"fire", probe_fire},
					 {"is_enabled", probe_is_enabled},
					 {"__gc", probe_gc},
					 {NULL, NULL}};

static void metatable_create(lua_State *L, const char *name, const luaL_Reg *methods)
{
	luaL_newmetatable(L, name);
	for (; methods->name; methods++) {
		lua_pushvalue(L, -1);
		lua_pushcclosure(L, methods->func, 1); /* the metatable is its upvalue */
		lua_setfield(L, -2, methods->name);
	}
	lua_pushvalue(L, -1);
	lua_setfield(L, -2, "__index");
	lua_pop(L, 1);
}

__attribute__((visibility("default"))) int luaopen_usdt(lua_State *L);

int luaopen_usdt(lua_State *L)
{
	metatable_create(L, PROVIDER, provider_methods);
	metatable_create(L, PROBE, probe_methods);
	lua_newtable(L);
	lua_pushcfunction(L, provider_create);
	lua_setfield(L, -2, "provider");
	lua_pushinteger(L, USDT_ARG_MAX);
	lua_setfield(L, -2, "ARG_MAX");
	return 1;
}
