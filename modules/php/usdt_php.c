/* SPDX-License-Identifier: MIT */
/*
 * Probes of PHP programs, made at run time: libusdt for PHP 8.
 *
 *     $provider = new Usdt\Provider('shop', 'server');
 *     $sale = $provider->probe('sell', 'sale', 'char *', 'int');
 *     $provider->enable();
 *     $sale->fire('tea', 4);
 *
 * A probe must not change what the program does. Therefore fire() throws nothing: what cannot be
 * converted to the argument's type is 0, or an empty string. It calls no methods of objects.
 */
#include <php.h>
#include <stdbool.h>
#include <zend_exceptions.h>

#include "usdt.h"

struct provider {
	usdt_provider_t *provider;
	zend_object std;
};

struct probe {
	usdt_probedef_t *def;
	uint32_t strings; /* a bit for each argument that is a string */
	zend_object std;
};

static zend_class_entry *provider_class, *probe_class, *error_class;
static zend_object_handlers provider_handlers, probe_handlers;

#define OF(type, object) ((struct type *)((char *)(object)-XtOffsetOf(struct type, std)))

static void error_throw(usdt_provider_t *pv)
{
	zend_throw_exception(error_class, usdt_errstr(pv), 0);
}

static zend_object *provider_create(zend_class_entry *class)
{
	struct provider *pv = zend_object_alloc(sizeof(*pv), class);

	zend_object_std_init(&pv->std, class);
	object_properties_init(&pv->std, class);
	pv->std.handlers = &provider_handlers;
	return &pv->std;
}

static void provider_free(zend_object *object)
{
	if (OF(provider, object)->provider)
		usdt_provider_free(OF(provider, object)->provider);
	zend_object_std_dtor(object);
}

static zend_object *probe_create(zend_class_entry *class)
{
	struct probe *p = zend_object_alloc(sizeof(*p), class);

	zend_object_std_init(&p->std, class);
	object_properties_init(&p->std, class);
	p->std.handlers = &probe_handlers;
	return &p->std;
}

static void probe_free(zend_object *object)
{
	if (OF(probe, object)->def)
		usdt_probe_release(OF(probe, object)->def);
	zend_object_std_dtor(object);
}

/* ---- Usdt\Probe ------------------------------------------------------------------------------ */

static bool is_string(const char *type)
{
	return strcmp(type, "char *") == 0 || strcmp(type, "const char *") == 0 ||
	       strcmp(type, "string") == 0;
}

static void *integer_of(zval *value)
{
	ZVAL_DEREF(value);
	switch (Z_TYPE_P(value)) {
	case IS_LONG: return (void *)(intptr_t)Z_LVAL_P(value);
	case IS_DOUBLE: return (void *)(intptr_t)zend_dval_to_lval(Z_DVAL_P(value));
	case IS_TRUE: return (void *)1;
	default: return NULL;
	}
}

/* Returns the text of a value, which *ret_keep keeps; "" if it has none. */
static void *text_of(zval *value, zend_string **ret_keep)
{
	ZVAL_DEREF(value);
	*ret_keep = NULL;
	switch (Z_TYPE_P(value)) {
	case IS_STRING: return Z_STRVAL_P(value);
	case IS_LONG:
	case IS_DOUBLE:
	case IS_TRUE: *ret_keep = zval_get_string(value); return ZSTR_VAL(*ret_keep);
	case IS_OBJECT: return ZSTR_VAL(Z_OBJCE_P(value)->name);
	default: return (void *)(uintptr_t) "";
	}
}

/* Fires a probe that somebody traces; apart, so that fire() stays short while nobody does. */
static zend_never_inline void args_fire(const struct probe *p, zval *args, uint32_t n)
{
	zend_string *keep[USDT_ARG_MAX] = {NULL};
	void *argv[USDT_ARG_MAX];
	size_t argc = p->def->argc;
	zval null;

	ZVAL_NULL(&null);
	for (uint32_t i = 0; i < argc; i++) {
		zval *value = i < n ? &args[i] : &null;

		argv[i] = p->strings & 1u << i ? text_of(value, &keep[i]) : integer_of(value);
	}
	usdt_fire_probe(p->def->probe, argc, argv);
	for (uint32_t i = 0; i < argc; i++)
		if (keep[i])
			zend_string_release(keep[i]);
}

/* PHP's macros are no statements. */
/* clang-format off */
ZEND_BEGIN_ARG_INFO_EX(arginfo_fire, 0, 0, 0)
	ZEND_ARG_VARIADIC_INFO(0, arguments)
ZEND_END_ARG_INFO()

ZEND_METHOD(Usdt_Probe, fire)
{
	const struct probe *p = OF(probe, Z_OBJ_P(ZEND_THIS));

	if (p->def && usdt_is_enabled(p->def->probe))
		args_fire(p, ZEND_CALL_ARG(execute_data, 1), ZEND_NUM_ARGS());
}

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(arginfo_bool, 0, 0, _IS_BOOL, 0)
ZEND_END_ARG_INFO()

ZEND_METHOD(Usdt_Probe, isEnabled)
{
	struct probe *p = OF(probe, Z_OBJ_P(ZEND_THIS));

	ZEND_PARSE_PARAMETERS_NONE();
	RETURN_BOOL(p->def && usdt_is_enabled(p->def->probe));
}

ZEND_BEGIN_ARG_INFO_EX(arginfo_none, 0, 0, 0)
ZEND_END_ARG_INFO()

/* Probes are made by providers. */
ZEND_METHOD(Usdt_Probe, __construct)
{
	ZEND_PARSE_PARAMETERS_NONE();
}

static const zend_function_entry probe_methods[] = {
	ZEND_ME(Usdt_Probe, __construct, arginfo_none, ZEND_ACC_PRIVATE)
	ZEND_ME(Usdt_Probe, fire, arginfo_fire, ZEND_ACC_PUBLIC)
	ZEND_ME(Usdt_Probe, isEnabled, arginfo_bool, ZEND_ACC_PUBLIC)
	ZEND_FE_END
};

/* ---- Usdt\Provider --------------------------------------------------------------------------- */

ZEND_BEGIN_ARG_INFO_EX(arginfo_construct, 0, 0, 1)
	ZEND_ARG_TYPE_INFO(0, name, IS_STRING, 0)
	ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, module, IS_STRING, 1, "null")
ZEND_END_ARG_INFO()

ZEND_METHOD(Usdt_Provider, __construct)
{
	struct provider *pv = OF(provider, Z_OBJ_P(ZEND_THIS));
	char *name, *module = NULL;
	size_t len;

	ZEND_PARSE_PARAMETERS_START(1, 2)
		Z_PARAM_STRING(name, len)
		Z_PARAM_OPTIONAL
		Z_PARAM_STRING_OR_NULL(module, len)
	ZEND_PARSE_PARAMETERS_END();
	if (pv->provider) {
		zend_throw_exception(error_class, "a provider is made only once", 0);
		return;
	}
	pv->provider = usdt_create_provider(name, module);
	if (!pv->provider)
		error_throw(NULL);
}

ZEND_BEGIN_ARG_WITH_RETURN_OBJ_INFO_EX(arginfo_probe, 0, 2, Usdt\\Probe, 0)
	ZEND_ARG_TYPE_INFO(0, function, IS_STRING, 0)
	ZEND_ARG_TYPE_INFO(0, name, IS_STRING, 0)
	ZEND_ARG_VARIADIC_TYPE_INFO(0, types, IS_STRING, 0)
ZEND_END_ARG_INFO()

ZEND_METHOD(Usdt_Provider, probe)
{
	usdt_provider_t *pv = OF(provider, Z_OBJ_P(ZEND_THIS))->provider;
	const char *texts[USDT_ARG_MAX];
	char *func, *name;
	struct probe *p;
	zval *types = NULL;
	size_t len;
	int n = 0;

	ZEND_PARSE_PARAMETERS_START(2, -1)
		Z_PARAM_STRING(func, len)
		Z_PARAM_STRING(name, len)
		Z_PARAM_VARIADIC('*', types, n)
	ZEND_PARSE_PARAMETERS_END();
	if (n > USDT_ARG_MAX) {
		zend_argument_value_error(3, "and further ones: a probe has at most %d arguments",
					  USDT_ARG_MAX);
		return;
	}
	for (int i = 0; i < n; i++)
		if (Z_TYPE(types[i]) != IS_STRING) {
			zend_argument_type_error((uint32_t)i + 3, "must be of type string, %s given",
						 zend_zval_type_name(&types[i]));
			return;
		}
	object_init_ex(return_value, probe_class);
	p = OF(probe, Z_OBJ_P(return_value));
	for (int i = 0; i < n; i++) {
		texts[i] = Z_STRVAL(types[i]);
		if (is_string(texts[i])) {
			texts[i] = "char *";
			p->strings |= 1u << i;
		}
	}
	p->def = usdt_create_probe(func, name, (size_t)n, texts);
	if (!p->def)
		error_throw(NULL);
	else if (usdt_provider_add_probe(pv, p->def))
		error_throw(pv);
}

ZEND_BEGIN_ARG_INFO_EX(arginfo_remove, 0, 0, 1)
	ZEND_ARG_OBJ_INFO(0, probe, Usdt\\Probe, 0)
ZEND_END_ARG_INFO()

ZEND_METHOD(Usdt_Provider, removeProbe)
{
	usdt_provider_t *pv = OF(provider, Z_OBJ_P(ZEND_THIS))->provider;
	zval *probe;

	ZEND_PARSE_PARAMETERS_START(1, 1)
		Z_PARAM_OBJECT_OF_CLASS(probe, probe_class)
	ZEND_PARSE_PARAMETERS_END();
	if (usdt_provider_remove_probe(pv, OF(probe, Z_OBJ_P(probe))->def))
		error_throw(pv);
}

ZEND_METHOD(Usdt_Provider, enable)
{
	usdt_provider_t *pv = OF(provider, Z_OBJ_P(ZEND_THIS))->provider;

	ZEND_PARSE_PARAMETERS_NONE();
	if (usdt_provider_enable(pv))
		error_throw(pv);
}

ZEND_METHOD(Usdt_Provider, disable)
{
	usdt_provider_t *pv = OF(provider, Z_OBJ_P(ZEND_THIS))->provider;

	ZEND_PARSE_PARAMETERS_NONE();
	if (usdt_provider_disable(pv))
		error_throw(pv);
}

static const zend_function_entry provider_methods[] = {
	ZEND_ME(Usdt_Provider, __construct, arginfo_construct, ZEND_ACC_PUBLIC)
	ZEND_ME(Usdt_Provider, probe, arginfo_probe, ZEND_ACC_PUBLIC)
	ZEND_ME(Usdt_Provider, removeProbe, arginfo_remove, ZEND_ACC_PUBLIC)
	ZEND_ME(Usdt_Provider, enable, arginfo_none, ZEND_ACC_PUBLIC)
	ZEND_ME(Usdt_Provider, disable, arginfo_none, ZEND_ACC_PUBLIC)
	ZEND_FE_END
};

/* clang-format on */

/* ---- the extension --------------------------------------------------------------------------- */

static zend_class_entry *class_register(const char *name, const zend_function_entry *methods,
					zend_object_handlers *handlers, int offset,
					void (*free_obj)(zend_object *))
{
	zend_class_entry entry, *class;

	INIT_CLASS_ENTRY_EX(entry, name, strlen(name), methods);
	class = zend_register_internal_class(&entry);
	class->ce_flags |=
		ZEND_ACC_FINAL | ZEND_ACC_NO_DYNAMIC_PROPERTIES | ZEND_ACC_NOT_SERIALIZABLE;
	memcpy(handlers, &std_object_handlers, sizeof(*handlers));
	handlers->offset = offset;
	handlers->free_obj = free_obj;
	handlers->clone_obj = NULL;
	return class;
}

static PHP_MINIT_FUNCTION(usdt)
{
	zend_class_entry entry;

	(void)type;
	(void)module_number;
	INIT_CLASS_ENTRY(entry, "Usdt\\Error", NULL);
	error_class = zend_register_internal_class_ex(&entry, zend_ce_exception);
	provider_class = class_register("Usdt\\Provider", provider_methods, &provider_handlers,
					XtOffsetOf(struct provider, std), provider_free);
	provider_class->create_object = provider_create;
	probe_class = class_register("Usdt\\Probe", probe_methods, &probe_handlers,
				     XtOffsetOf(struct probe, std), probe_free);
	probe_class->create_object = probe_create;
	return SUCCESS;
}

static zend_module_entry usdt_module_entry =
	{STANDARD_MODULE_HEADER,    "usdt", NULL, PHP_MINIT(usdt), NULL, NULL, NULL, NULL, "0.1.0",
	 STANDARD_MODULE_PROPERTIES};

ZEND_GET_MODULE(usdt)
