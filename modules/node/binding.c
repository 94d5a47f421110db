/* SPDX-License-Identifier: MIT */
/*
 * The native part of the module: libusdt for JavaScript (N-API).
 *
 * dtrace-provider.js has the interface for programs, and tests the arguments of everything that is
 * called here. A provider is an external value that frees it; a probe is an external value of a
 * usdt_probedef_t. The library knows which of them still exist.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAPI_VERSION 6
#include <node_api.h>

#include "usdt.h"

/* Memory of strings while a probe fires. */
struct scratch {
	char *data;
	size_t size, used;
};

#define TEXT_MAX ((size_t)1 << 20) /* bytes of a string argument; no tracer reads more */

static napi_value error_throw(napi_env env, const char *text)
{
	(void)napi_throw_error(env, "ERR_DTRACE_PROVIDER", text);
	return NULL;
}

/* Returns the arguments of a call, of which there must be n; false: an error was thrown. */
static bool args_get(napi_env env, napi_callback_info info, size_t n, napi_value *args)
{
	size_t argc = n;

	if (napi_get_cb_info(env, info, &argc, args, NULL, NULL) == napi_ok && argc >= n)
		return true;
	(void)error_throw(env, "too few arguments");
	return false;
}

static void *external_get(napi_env env, napi_value value)
{
	void *p = NULL;

	return napi_get_value_external(env, value, &p) == napi_ok ? p : NULL;
}

/* Copies a string; NULL if the value is none, or there is no memory. The caller frees it. */
static char *text_get(napi_env env, napi_value value)
{
	size_t len = 0;
	char *text;

	if (napi_get_value_string_utf8(env, value, NULL, 0, &len) != napi_ok)
		return NULL;
	text = malloc(len + 1);
	if (text)
		(void)napi_get_value_string_utf8(env, value, text, len + 1, &len);
	return text;
}

/* ---- providers and probes -------------------------------------------------------------------- */

/* Its address is in the name of the module, where the program gives none. */
struct holder {
	usdt_provider_t *provider;
};

static usdt_provider_t *provider_get(napi_env env, napi_value value)
{
	const struct holder *h = external_get(env, value);

	return h ? h->provider : NULL;
}

static void provider_finalize(napi_env env, void *data, void *hint)
{
	struct holder *h = data;

	(void)env;
	(void)hint;
	usdt_provider_free(h->provider);
	free(h);
}

/* create(name, module): a provider; a module that is no string is called mod-ADDRESS */
static napi_value provider_create(napi_env env, napi_callback_info info)
{
	struct holder *h = calloc(1, sizeof(*h));
	napi_value args[2], result = NULL;
	char *name, *module, unique[32];

	if (!h || !args_get(env, info, 2, args)) {
		free(h);
		return NULL;
	}
	(void)snprintf(unique, sizeof(unique), "mod-%lx", (unsigned long)(uintptr_t)h);
	name = text_get(env, args[0]);
	module = text_get(env, args[1]);
	if (name)
		h->provider = usdt_create_provider(name, module ? module : unique);
	free(name);
	free(module);
	if (!h->provider) {
		free(h);
		return error_throw(env, usdt_errstr(NULL));
	}
	if (napi_create_external(env, h, provider_finalize, NULL, &result) != napi_ok)
		provider_finalize(env, h, NULL);
	return result;
}

static void probe_finalize(napi_env env, void *data, void *hint)
{
	(void)env;
	(void)hint;
	usdt_probe_release(data);
}

/* Makes the definition of a probe; NULL: an error was thrown. */
static usdt_probedef_t *probe_define(napi_env env, napi_value func, napi_value name,
				     napi_value types)
{
	char *texts[USDT_ARG_MAX] = {0}, *func_text = text_get(env, func),
	     *name_text = text_get(env, name);
	usdt_probedef_t *def = NULL;
	uint32_t n = 0;
	bool is_complete = func_text && name_text;

	(void)napi_get_array_length(env, types, &n);
	for (uint32_t i = 0; i < n && i < USDT_ARG_MAX; i++) {
		napi_value type;

		if (napi_get_element(env, types, i, &type) == napi_ok)
			texts[i] = text_get(env, type);
		is_complete &= texts[i] != NULL;
	}
	if (is_complete)
		def = usdt_create_probe(func_text, name_text, n, (const char **)texts);
	for (uint32_t i = 0; i < USDT_ARG_MAX; i++)
		free(texts[i]);
	free(func_text);
	free(name_text);
	if (!def)
		(void)error_throw(env, is_complete ? usdt_errstr(NULL) : "texts were expected");
	return def;
}

/* add(provider, function, name, types): a probe */
static napi_value probe_add(napi_env env, napi_callback_info info)
{
	napi_value args[4], result = NULL;
	usdt_probedef_t *def;
	usdt_provider_t *pv;

	if (!args_get(env, info, 4, args))
		return NULL;
	pv = provider_get(env, args[0]);
	def = probe_define(env, args[1], args[2], args[3]);
	if (!def)
		return NULL;
	if (usdt_provider_add_probe(pv, def)) {
		(void)error_throw(env, usdt_errstr(pv));
		usdt_probe_release(def);
		return NULL;
	}
	if (napi_create_external(env, def, probe_finalize, NULL, &result) != napi_ok)
		usdt_probe_release(def);
	return result;
}

/*
 * counter(probe): an array whose element 0 is the number of the probe's consumers; undefined if
 * this JavaScript engine has no arrays over foreign memory. The memory is valid forever (impl.h of
 * libusdt).
 */
static napi_value probe_counter(napi_env env, napi_callback_info info)
{
	napi_value args[1], buffer, result = NULL;
	usdt_probedef_t *def;

	if (!args_get(env, info, 1, args))
		return NULL;
	def = external_get(env, args[0]);
	if (!def || napi_create_external_arraybuffer(env, def->probe, sizeof(*def->probe), NULL,
						     NULL, &buffer) != napi_ok)
		return NULL;
	if (napi_create_typedarray(env, napi_uint16_array, 1, buffer, 0, &result) != napi_ok)
		return NULL;
	return result;
}

/* remove(provider, probe) */
static napi_value probe_remove(napi_env env, napi_callback_info info)
{
	napi_value args[2];
	usdt_provider_t *pv;

	if (!args_get(env, info, 2, args))
		return NULL;
	pv = provider_get(env, args[0]);
	if (usdt_provider_remove_probe(pv, external_get(env, args[1])))
		return error_throw(env, usdt_errstr(pv));
	return NULL;
}

/* enable(provider) */
static napi_value provider_enable(napi_env env, napi_callback_info info)
{
	napi_value args[1];
	usdt_provider_t *pv;

	if (!args_get(env, info, 1, args))
		return NULL;
	pv = provider_get(env, args[0]);
	if (usdt_provider_enable(pv))
		return error_throw(env, usdt_errstr(pv));
	return NULL;
}

/* disable(provider) */
static napi_value provider_disable(napi_env env, napi_callback_info info)
{
	napi_value args[1];

	if (args_get(env, info, 1, args))
		(void)usdt_provider_disable(provider_get(env, args[0]));
	return NULL;
}

/* ---- firing ---------------------------------------------------------------------------------- */

/* Makes room for n bytes more; false: there is no memory. */
static bool scratch_grow(struct scratch *s, size_t n)
{
	size_t size = 2 * (s->used + n) + 4096;
	char *data;

	if (s->size - s->used >= n)
		return true;
	data = realloc(s->data, size);
	if (!data)
		return false;
	s->data = data;
	s->size = size;
	return true;
}

/* Appends the text of a value; returns where, as an offset. */
static size_t scratch_add(napi_env env, struct scratch *s, napi_value value)
{
	size_t at = s->used, room, len = 0;
	napi_value text;

	if (napi_coerce_to_string(env, value, &text) != napi_ok || !scratch_grow(s, 1))
		return SIZE_MAX;
	room = s->size - at;
	(void)napi_get_value_string_utf8(env, text, s->data + at, room, &len);
	if (len + 4 >= room && room <= TEXT_MAX) { /* it may be cut in the middle of a character */
		(void)napi_get_value_string_utf8(env, text, NULL, 0, &len);
		len = len < TEXT_MAX ? len : TEXT_MAX;
		if (!scratch_grow(s, len + 1))
			return SIZE_MAX;
		(void)napi_get_value_string_utf8(env, text, s->data + at, len + 1, &len);
	}
	s->used += len + 1;
	return at;
}

static int64_t integer_get(napi_env env, napi_value value)
{
	napi_valuetype type = napi_undefined;
	napi_value number;
	int64_t n = 0;
	bool lossless;

	(void)napi_typeof(env, value, &type);
	if (type == napi_bigint)
		(void)napi_get_value_bigint_int64(env, value, &n, &lossless);
	else if (napi_coerce_to_number(env, value, &number) == napi_ok)
		(void)napi_get_value_int64(env, number, &n);
	return n;
}

static bool is_string(const char *type)
{
	return type[0] && type[strlen(type) - 1] == '*';
}

/*
 * fire(probe, values): values that are missing are 0, or an empty string. Conversions may run
 * functions of the program (toString()), which may fire other probes, so strings of those are
 * behind the ones that this probe has already.
 */
static napi_value probe_fire(napi_env env, napi_callback_info info)
{
	static char empty[] = "";
	napi_value args[2], value;
	struct scratch *s = NULL;
	size_t at[USDT_ARG_MAX], begin;
	void *argv[USDT_ARG_MAX] = {0};
	usdt_probedef_t *def;
	uint32_t n = 0;
	bool is_pending = false;

	if (!args_get(env, info, 2, args) || napi_get_instance_data(env, (void **)&s) != napi_ok)
		return NULL;
	def = external_get(env, args[0]);
	if (!def || !s)
		return NULL;
	begin = s->used;
	(void)napi_get_array_length(env, args[1], &n);
	for (size_t i = 0; i < def->argc && !is_pending; i++) {
		at[i] = SIZE_MAX;
		if (i < n && napi_get_element(env, args[1], (uint32_t)i, &value) == napi_ok) {
			if (is_string(def->types[i]))
				at[i] = scratch_add(env, s, value);
			else
				argv[i] = (void *)(intptr_t)integer_get(env, value);
		}
		(void)napi_is_exception_pending(env, &is_pending);
	}
	if (!is_pending) {
		for (size_t i = 0; i < def->argc; i++)
			if (is_string(def->types[i]))
				argv[i] = at[i] == SIZE_MAX ? empty : s->data + at[i];
		usdt_fire_probe(def->probe, def->argc, argv);
	}
	s->used = begin;
	return NULL;
}

/* ---- the module ------------------------------------------------------------------------------ */

static void scratch_finalize(napi_env env, void *data, void *hint)
{
	struct scratch *s = data;

	(void)env;
	(void)hint;
	free(s->data);
	free(s);
}

NAPI_MODULE_INIT()
{
	static const napi_property_descriptor functions[] = {
		{.utf8name = "create", .method = provider_create},
		{.utf8name = "add", .method = probe_add},
		{.utf8name = "counter", .method = probe_counter},
		{.utf8name = "remove", .method = probe_remove},
		{.utf8name = "enable", .method = provider_enable},
		{.utf8name = "disable", .method = provider_disable},
		{.utf8name = "fire", .method = probe_fire},
	};
	struct scratch *s = calloc(1, sizeof(*s));

	if (!s || napi_set_instance_data(env, s, scratch_finalize, NULL) != napi_ok) {
		free(s);
		return error_throw(env, "out of memory");
	}
	if (napi_define_properties(env, exports, sizeof(functions) / sizeof(*functions),
				   functions) != napi_ok)
		return error_throw(env, "the module cannot be initialised");
	return exports;
}
