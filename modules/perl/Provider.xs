/* SPDX-License-Identifier: MIT */
/*
 * Probes of Perl programs, made at run time: libusdt for Perl.
 *
 * A probe must not change what the program does. Therefore fire() neither dies nor warns: what
 * cannot be converted to the argument's type is 0, or an empty string, and arguments are copied
 * before they are converted.
 */
#define PERL_NO_GET_CONTEXT
#include "EXTERN.h"
#include "perl.h"

#include "XSUB.h"
#include "usdt.h"

struct probe {
	usdt_probedef_t *def;
	U32 strings; /* a bit for each argument that is a string */
};

static void error_raise(pTHX_ usdt_provider_t *pv)
{
	croak("%s", usdt_errstr(pv));
}

/* Returns the pointer in an object of that class. */
static void *object_get(pTHX_ SV *self, const char *class)
{
	if (!SvROK(self) || !sv_derived_from(self, class))
		croak("this is no %s", class);
	return INT2PTR(void *, SvIV(SvRV(self)));
}

#define PROVIDER(self) ((usdt_provider_t *)object_get(aTHX_ self, "Devel::DTrace::Provider"))
#define PROBE(self) ((struct probe *)object_get(aTHX_ self, "Devel::DTrace::Probe"))

static bool is_string(const char *type)
{
	return strEQ(type, "string") || strEQ(type, "char *") || strEQ(type, "const char *");
}

static void *integer_of(pTHX_ SV *value)
{
	SV *copy;

	if (SvROK(value) || SvGMAGICAL(value) || !SvOK(value))
		return NULL;
	copy = sv_mortalcopy(value);
	if (!looks_like_number(copy))
		return NULL;
	if (SvNOK(copy) && !SvIOK(copy) && Perl_isinfnan(SvNVX(copy)))
		return NULL;
	return INT2PTR(void *, SvIV(copy));
}

/* An object whose class overloads something may do anything when it is converted: it is named. */
static void *text_of(pTHX_ SV *value)
{
	if (SvROK(value) && SvAMAGIC(value))
		return (void *)sv_reftype(SvRV(value), 1);
	if (SvGMAGICAL(value) || !SvOK(value))
		return (void *)"";
	return SvPV_nolen(sv_mortalcopy(value));
}

MODULE = Devel::DTrace::Provider  PACKAGE = Devel::DTrace::Provider

PROTOTYPES: DISABLE

SV *
_create(const char *class, const char *name, SV *module)
    CODE:
	usdt_provider_t *pv = usdt_create_provider(name, SvOK(module) ? SvPV_nolen(module) : NULL);

	if (!pv)
		error_raise(aTHX_ NULL);
	RETVAL = sv_setref_pv(newSV(0), class, pv);
    OUTPUT:
	RETVAL

void
DESTROY(SV *self)
    CODE:
	usdt_provider_free(PROVIDER(self));

SV *
_add(SV *self, const char *name, const char *function, AV *types)
    CODE:
	usdt_provider_t *pv = PROVIDER(self);
	const char *texts[USDT_ARG_MAX];
	size_t n = (size_t)(av_len(types) + 1);
	struct probe *p;
	U32 strings = 0;

	if (n > USDT_ARG_MAX)
		croak("a probe has at most %d arguments", USDT_ARG_MAX);
	for (size_t i = 0; i < n; i++) {
		SV **type = av_fetch(types, (SSize_t)i, 0);

		texts[i] = type ? SvPV_nolen(*type) : "int";
		if (is_string(texts[i])) {
			texts[i] = "char *";
			strings |= 1u << i;
		} else if (strEQ(texts[i], "integer")) {
			texts[i] = "int64_t";
		}
	}
	Newxz(p, 1, struct probe);
	p->strings = strings;
	p->def = usdt_create_probe(function, name, n, texts);
	if (!p->def || usdt_provider_add_probe(pv, p->def)) {
		usdt_provider_t *failed = p->def ? pv : NULL;

		if (p->def)
			usdt_probe_release(p->def);
		Safefree(p);
		error_raise(aTHX_ failed);
	}
	RETVAL = sv_setref_pv(newSV(0), "Devel::DTrace::Probe", p);
    OUTPUT:
	RETVAL

void
remove_probe(SV *self, SV *probe)
    CODE:
	if (usdt_provider_remove_probe(PROVIDER(self), PROBE(probe)->def))
		error_raise(aTHX_ PROVIDER(self));

void
enable(SV *self)
    CODE:
	if (usdt_provider_enable(PROVIDER(self)))
		error_raise(aTHX_ PROVIDER(self));

void
disable(SV *self)
    CODE:
	if (usdt_provider_disable(PROVIDER(self)))
		error_raise(aTHX_ PROVIDER(self));

const char *
name(SV *self)
    CODE:
	RETVAL = PROVIDER(self)->name;
    OUTPUT:
	RETVAL

const char *
module(SV *self)
    CODE:
	RETVAL = PROVIDER(self)->module;
    OUTPUT:
	RETVAL

MODULE = Devel::DTrace::Provider  PACKAGE = Devel::DTrace::Probe

void
DESTROY(SV *self)
    PREINIT:
	struct probe *p;
    CODE:
	p = PROBE(self);
	usdt_probe_release(p->def);
	Safefree(p);

void
fire(SV *self, ...)
    PREINIT:
	struct probe *p;
    CODE:
	p = PROBE(self);
	if (usdt_is_enabled(p->def->probe)) {
		void *argv[USDT_ARG_MAX];
		size_t n = p->def->argc;

		for (size_t i = 0; i < n; i++) {
			SV *value = i + 1 < (size_t)items ? ST((SSize_t)i + 1) : &PL_sv_undef;

			argv[i] = p->strings & 1u << i ? text_of(aTHX_ value) : integer_of(aTHX_ value);
		}
		usdt_fire_probe(p->def->probe, n, argv);
	}
	XSRETURN_EMPTY;

bool
is_enabled(SV *self)
    CODE:
	RETVAL = usdt_is_enabled(PROBE(self)->def->probe) != 0;
    OUTPUT:
	RETVAL

const char *
name(SV *self)
    CODE:
	RETVAL = PROBE(self)->def->name;
    OUTPUT:
	RETVAL

const char *
function(SV *self)
    CODE:
	RETVAL = PROBE(self)->def->function;
    OUTPUT:
	RETVAL
