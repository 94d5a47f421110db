/* SPDX-License-Identifier: MIT */
/*
 * Probes of Ruby programs, made at run time: libusdt for Ruby.
 *
 *     provider = USDT::Provider.create(:shop, :server)
 *     sale = provider.probe(:sell, :sale, :string, :integer)
 *     provider.enable
 *     sale.fire('tea', 4)
 *
 * A probe must not change what the program does. Therefore fire() raises nothing: what cannot be
 * converted to the argument's type is 0, or an empty string. What ends a method from outside, or
 * jumps out of it, is not lost in fire(): Thread#kill, a signal, exit, throw.
 */
#include <math.h>
#include <ruby.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "usdt.h"

#define TEXT_MAX ((size_t)1 << 20) /* bytes of a string argument; no tracer reads more */

struct probe {
	usdt_probedef_t *def;
	uint32_t strings; /* a bit for each argument that is a string */
};

static VALUE error_class, probe_class;
static ID id_arguments;

static void provider_free(void *pv)
{
	if (pv)
		usdt_provider_free(pv);
}

static void probe_free(void *data)
{
	struct probe *p = data;

	if (p->def)
		usdt_probe_release(p->def);
	xfree(p);
}

static const rb_data_type_t provider_type = {
	.wrap_struct_name = "USDT::Provider",
	.function = {.dfree = provider_free},
	.flags = RUBY_TYPED_FREE_IMMEDIATELY,
};

static const rb_data_type_t probe_type = {
	.wrap_struct_name = "USDT::Probe",
	.function = {.dfree = probe_free},
	.flags = RUBY_TYPED_FREE_IMMEDIATELY,
};

__attribute__((noreturn)) static void error_raise(usdt_provider_t *pv)
{
	rb_raise(error_class, "%s", usdt_errstr(pv));
}

/* Returns the text of a symbol or a string. */
static const char *name_of(VALUE *value)
{
	if (SYMBOL_P(*value))
		*value = rb_sym2str(*value);
	return StringValueCStr(*value);
}

/* ---- USDT::Probe ----------------------------------------------------------------------------- */

static bool is_string(const char *type)
{
	return strcmp(type, "string") == 0 || strcmp(type, "char *") == 0 ||
	       strcmp(type, "const char *") == 0;
}

static VALUE probe_create(VALUE func, VALUE name, int n, VALUE *types)
{
	const char *texts[USDT_ARG_MAX], *func_text = name_of(&func), *name_text = name_of(&name);
	VALUE kept = rb_ary_new(); /* has the strings of texts */
	struct probe *p;
	VALUE self = TypedData_Make_Struct(probe_class, struct probe, &probe_type, p);

	if (n > USDT_ARG_MAX)
		rb_raise(rb_eArgError, "a probe has at most %d arguments", USDT_ARG_MAX);
	for (int i = 0; i < n; i++) {
		VALUE type = types[i];

		texts[i] = name_of(&type);
		rb_ary_push(kept, type);
		if (is_string(texts[i])) {
			texts[i] = "char *";
			p->strings |= 1u << i;
		} else if (strcmp(texts[i], "integer") == 0) {
			texts[i] = "int64_t";
		}
	}
	p->def = usdt_create_probe(func_text, name_text, (size_t)n, texts);
	RB_GC_GUARD(func);
	RB_GC_GUARD(name);
	RB_GC_GUARD(kept);
	if (!p->def)
		error_raise(NULL);
	rb_ivar_set(self, id_arguments, rb_ary_new_from_values(n, types));
	return self;
}

/* Converts to 64 bits: what is no number is 0, larger numbers lose their upper bits. */
static void *integer_of(VALUE value)
{
	uint64_t n = 0;

	if (RB_FLOAT_TYPE_P(value))
		value = isfinite(RFLOAT_VALUE(value)) ? rb_dbl2big(RFLOAT_VALUE(value)) : Qnil;
	if (RB_INTEGER_TYPE_P(value))
		(void)rb_integer_pack(value, &n, 1, sizeof(n), 0,
				      INTEGER_PACK_2COMP | INTEGER_PACK_NATIVE_BYTE_ORDER);
	else if (value == Qtrue)
		n = 1;
	return (void *)(uintptr_t)n;
}

/*
 * Whether a conversion has failed by itself. Otherwise it was left by throw or Thread#kill, whose
 * "error" is no exception, or by an exception that means the thread or the program.
 */
static bool is_failure(VALUE error)
{
	VALUE classes[] = {rb_eStandardError, rb_eScriptError, rb_eNoMemError, rb_eSysStackError};

	if (SPECIAL_CONST_P(error) || RB_BUILTIN_TYPE(error) == T_IMEMO)
		return false;
	for (size_t i = 0; i < sizeof(classes) / sizeof(classes[0]); i++)
		if (rb_obj_is_kind_of(error, classes[i]))
			return true;
	return false;
}

/*
 * Copies the text of a value; NULL if there is no memory. The caller frees it. *ret_jump: what
 * rb_jump_tag() is to go on with; 0: nothing.
 */
static char *text_of(VALUE value, int *ret_jump)
{
	size_t len = 0;
	char *text;
	int failed = 0;

	if (!NIL_P(value) && !RB_TYPE_P(value, T_STRING))
		value = rb_protect(rb_obj_as_string, value, &failed);
	if (failed && !is_failure(rb_errinfo())) {
		*ret_jump = failed;
		return NULL;
	}
	if (failed)
		rb_set_errinfo(Qnil);
	if (!failed && !NIL_P(value))
		len = (size_t)RSTRING_LEN(value);
	len = len < TEXT_MAX ? len : TEXT_MAX;
	text = malloc(len + 1);
	if (!text)
		return NULL;
	if (len)
		memcpy(text, RSTRING_PTR(value), len);
	text[len] = '\0';
	return text;
}

/* Fires a probe that somebody traces; apart, so that fire() stays short while nobody does. */
static __attribute__((noinline)) void args_fire(struct probe *p, size_t argc, VALUE *args)
{
	char *texts[USDT_ARG_MAX] = {NULL};
	void *argv[USDT_ARG_MAX];
	size_t n = p->def->argc;
	VALUE pending = rb_errinfo(); /* the caller may be handling an exception */
	int jump = 0;

	for (size_t i = 0; i < n && !jump; i++)
		if (p->strings & 1u << i)
			argv[i] = texts[i] = text_of(i < argc ? args[i] : Qnil, &jump);
		else
			argv[i] = i < argc ? integer_of(args[i]) : NULL;
	if (!jump) {
		rb_set_errinfo(pending);
		usdt_fire_probe(p->def->probe, n, argv);
	}
	for (size_t i = 0; i < n; i++)
		free(texts[i]);
	if (jump)
		rb_jump_tag(jump);
}

/* Returns the probe that self is, without further tests: the class makes all of its objects. */
static inline struct probe *probe_of(VALUE self)
{
	return RTYPEDDATA_DATA(self);
}

static VALUE probe_fire(int argc, VALUE *args, VALUE self)
{
	struct probe *p = probe_of(self);

	if (p->def && usdt_is_enabled(p->def->probe))
		args_fire(p, (size_t)argc, args);
	return Qnil;
}

static VALUE probe_enabled(VALUE self)
{
	struct probe *p = probe_of(self);

	return p->def && usdt_is_enabled(p->def->probe) ? Qtrue : Qfalse;
}

static VALUE probe_name(VALUE self)
{
	struct probe *p = rb_check_typeddata(self, &probe_type);

	return p->def ? rb_utf8_str_new_cstr(p->def->name) : Qnil;
}

static VALUE probe_function(VALUE self)
{
	struct probe *p = rb_check_typeddata(self, &probe_type);

	return p->def ? rb_utf8_str_new_cstr(p->def->function) : Qnil;
}

static VALUE probe_arguments(VALUE self)
{
	return rb_ivar_get(self, id_arguments);
}

/* ---- USDT::Provider -------------------------------------------------------------------------- */

static VALUE provider_create(int argc, VALUE *argv, VALUE class)
{
	VALUE name, module, self = TypedData_Wrap_Struct(class, &provider_type, NULL);
	const char *module_text;
	usdt_provider_t *pv;

	rb_scan_args(argc, argv, "11", &name, &module);
	module_text = NIL_P(module) ? NULL : name_of(&module);
	pv = usdt_create_provider(name_of(&name), module_text);
	if (!pv)
		error_raise(NULL);
	RTYPEDDATA_DATA(self) = pv;
	return self;
}

static usdt_provider_t *provider_of(VALUE self)
{
	return rb_check_typeddata(self, &provider_type);
}

/* provider.probe(function, name, type, ...): a new probe, which appears at the next enable */
static VALUE provider_probe(int argc, VALUE *argv, VALUE self)
{
	VALUE probe;
	struct probe *p;

	rb_check_arity(argc, 2, UNLIMITED_ARGUMENTS);
	probe = probe_create(argv[0], argv[1], argc - 2, argv + 2);
	p = rb_check_typeddata(probe, &probe_type);
	if (usdt_provider_add_probe(provider_of(self), p->def))
		error_raise(provider_of(self));
	return probe;
}

static VALUE provider_add_probe(VALUE self, VALUE probe)
{
	struct probe *p = rb_check_typeddata(probe, &probe_type);

	if (usdt_provider_add_probe(provider_of(self), p->def))
		error_raise(provider_of(self));
	return self;
}

static VALUE provider_remove_probe(VALUE self, VALUE probe)
{
	struct probe *p = rb_check_typeddata(probe, &probe_type);

	if (usdt_provider_remove_probe(provider_of(self), p->def))
		error_raise(provider_of(self));
	return self;
}

static VALUE provider_enable(VALUE self)
{
	if (usdt_provider_enable(provider_of(self)))
		error_raise(provider_of(self));
	return self;
}

static VALUE provider_disable(VALUE self)
{
	if (usdt_provider_disable(provider_of(self)))
		error_raise(provider_of(self));
	return self;
}

static VALUE provider_name(VALUE self)
{
	return provider_of(self) ? rb_utf8_str_new_cstr(provider_of(self)->name) : Qnil;
}

static VALUE provider_module(VALUE self)
{
	return provider_of(self) ? rb_utf8_str_new_cstr(provider_of(self)->module) : Qnil;
}

__attribute__((visibility("default"))) void Init_usdt(void);

void Init_usdt(void)
{
	VALUE usdt = rb_define_module("USDT"), provider;

	id_arguments = rb_intern("@arguments");
	error_class = rb_define_class_under(usdt, "Error", rb_eStandardError);
	rb_define_const(usdt, "ARG_MAX", INT2FIX(USDT_ARG_MAX));
	provider = rb_define_class_under(usdt, "Provider", rb_cObject);
	rb_undef_alloc_func(provider);
	rb_define_singleton_method(provider, "create", provider_create, -1);
	rb_define_singleton_method(provider, "new", provider_create, -1);
	rb_define_method(provider, "probe", provider_probe, -1);
	rb_define_method(provider, "add_probe", provider_add_probe, 1);
	rb_define_method(provider, "remove_probe", provider_remove_probe, 1);
	rb_define_method(provider, "enable", provider_enable, 0);
	rb_define_method(provider, "disable", provider_disable, 0);
	rb_define_method(provider, "name", provider_name, 0);
	rb_define_method(provider, "mod", provider_module, 0);
	probe_class = rb_define_class_under(usdt, "Probe", rb_cObject);
	rb_undef_alloc_func(probe_class);
	rb_undef_method(rb_singleton_class(probe_class), "new");
	rb_define_method(probe_class, "fire", probe_fire, -1);
	rb_define_method(probe_class, "enabled?", probe_enabled, 0);
	rb_define_method(probe_class, "name", probe_name, 0);
	rb_define_method(probe_class, "function", probe_function, 0);
	rb_define_method(probe_class, "arguments", probe_arguments, 0);
}
