/* SPDX-License-Identifier: MIT */
/*
 * Probes that a program makes while it runs (libusdt).
 *
 *     const char *types[] = {"char *", "int"};
 *     usdt_provider_t *shop = usdt_create_provider("shop", "server");
 *     usdt_probedef_t *sale = usdt_create_probe("sell", "sale", 2, types);
 *
 *     if (usdt_provider_add_probe(shop, sale) || usdt_provider_enable(shop))
 *             fprintf(stderr, "no probes: %s\n", usdt_errstr(shop));
 *     ...
 *     if (usdt_is_enabled(sale->probe)) {
 *             void *args[] = {(void *)item, (void *)(intptr_t)price};
 *
 *             usdt_fire_probe(sale->probe, 2, args);
 *     }
 *
 * In D, the probe of process 1234 is shop1234:server:sell:sale. A probe that nobody traces costs
 * one memory read. The process needs no privileges.
 *
 * Owns     what the create functions return belongs to the caller until usdt_provider_free() and
 *          usdt_probe_release(). The library copies all texts.
 * Errors   functions return NULL or -1, and usdt_errstr() says why. Pointers that are NULL or that
 *          were freed before are errors, too.
 * Threads  any thread may call any function at any time; usdt_is_enabled() and usdt_fire_probe()
 *          take no lock and may be called by signal handlers. A child process (fork) has the probes
 *          of its parent under its own process id; a new program (exec) has none.
 */
#ifndef USDT_H
#define USDT_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifdef __GNUC__
#pragma GCC visibility push(default)
#endif

#define USDT_ARG_MAX 32 /* arguments of a probe; D programs see the first ten */

/* The kernel counts here who traces the probe. */
typedef struct usdt_probe {
	unsigned short nconsumers;
} usdt_probe_t;

typedef struct usdt_probedef {
	const char *name, *function;
	size_t argc;
	char *types[USDT_ARG_MAX];
	/*
	 * Never NULL. While the definition belongs to no provider, this is a probe that never
	 * fires; then its address remains the same from usdt_provider_add_probe() to
	 * usdt_provider_remove_probe(), however often the provider is disabled.
	 */
	usdt_probe_t *probe;
	struct usdt_probedef *next; /* of the same provider */
	int refcnt;
} usdt_probedef_t;

typedef struct usdt_provider {
	const char *name, *module;
	usdt_probedef_t *probedefs;
	char *error; /* what usdt_errstr() returns */
	int enabled;
} usdt_provider_t;

/*
 * D adds the process id to the name, so one that ends with a digit can be traced by a pattern only
 * ("name2*"). module may be NULL: then it is the same as the name.
 */
usdt_provider_t *usdt_create_provider(const char *name, const char *module);
/*
 * Types are C types. One that ends with '*' is a pointer, of which "char *" and "const char *" are
 * strings; all others are integers.
 */
usdt_probedef_t *usdt_create_probe(const char *func, const char *name, size_t argc,
				   const char **types);
/* A caller that needs the definition no more releases it; a provider that has it keeps it. */
void usdt_probe_release(usdt_probedef_t *probedef);

/* A probe added to an enabled provider appears when usdt_provider_enable() is next called. */
int usdt_provider_add_probe(usdt_provider_t *provider, usdt_probedef_t *probedef);
/* Fails while the probe is enabled: disable the provider first. */
int usdt_provider_remove_probe(usdt_provider_t *provider, usdt_probedef_t *probedef);

/* Makes all probes of the provider visible to tracers. */
int usdt_provider_enable(usdt_provider_t *provider);
/* Makes them disappear. Firing them does nothing then. */
int usdt_provider_disable(usdt_provider_t *provider);
/* Disables the provider, if need be, and releases its probes. */
void usdt_provider_free(usdt_provider_t *provider);

/*
 * Fires the probe, if somebody traces it. An argument is an integer or a pointer. Arguments that
 * the probe has and the caller does not give are 0; further ones are ignored.
 */
void usdt_fire_probe(usdt_probe_t *probe, size_t argc, void **argv);
/* True if somebody traces the probe. */
int usdt_is_enabled(usdt_probe_t *probe);

/*
 * The last error of the provider; with NULL, the last error of this thread that concerned no
 * provider, such as that of a create function. Never NULL.
 */
char *usdt_errstr(usdt_provider_t *provider);

#if defined(__GNUC__) && !defined(USDT_NO_INLINE)
extern __inline__ __attribute__((__gnu_inline__)) int usdt_is_enabled(usdt_probe_t *probe)
{
	return probe && *(volatile unsigned short *)&probe->nconsumers != 0;
}
#endif

#ifdef __GNUC__
#pragma GCC visibility pop
#endif

#ifdef __cplusplus
}
#endif

#endif
