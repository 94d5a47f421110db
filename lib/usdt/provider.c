/* SPDX-License-Identifier: MIT */
/* Providers and definitions of probes: what the functions of usdt.h do before memory is mapped. */
#include <ctype.h>
#include <errno.h>
#include <pthread.h>
#include <search.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "impl.h"

/* Longest texts in bytes; DTrace has room for 64 and 128 with the process id and the end. */
#define PROVIDER_MAX 53
#define NAME_MAX_LEN 63
#define FUNC_MAX_LEN 127
#define TYPE_MAX_LEN 127

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t fork_once = PTHREAD_ONCE_INIT;
/* What exists, by address: a pointer that is not among these was freed, or never valid. */
static void *providers, *probedefs;
/* The message of the thread's last error that concerns no provider. */
static _Thread_local char thread_text[256];

/* ---- locking, and fork ----------------------------------------------------------------------- */

bool lock_try(void)
{
	return pthread_mutex_trylock(&lock) == 0;
}

static void lock_take(void)
{
	(void)pthread_mutex_lock(&lock);
}

void lock_release(void)
{
	(void)pthread_mutex_unlock(&lock);
}

/* A child process has only the thread that has called fork(), and this thread is in no stub. */
static void child_begin(void)
{
	for (struct region *r = region_list; r; r = r->next) {
		atomic_store(&r->head->nfiring, 0);
		garbage_unmap(r);
	}
	lock_release();
}

static void fork_prepare(void)
{
	(void)pthread_atfork(lock_take, lock_release, child_begin);
}

static int by_address(const void *a, const void *b)
{
	return ((uintptr_t)a > (uintptr_t)b) - ((uintptr_t)a < (uintptr_t)b);
}

/* ---- errors ---------------------------------------------------------------------------------- */

__attribute__((format(printf, 2, 3))) static int provider_fail(struct provider *pv, const char *fmt,
							       ...)
{
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(pv ? pv->text : thread_text, pv ? sizeof(pv->text) : sizeof(thread_text),
			fmt, ap);
	va_end(ap);
	if (pv)
		pv->pub.error = pv->text;
	return -1;
}

char *usdt_errstr(usdt_provider_t *provider)
{
	static char none[] = "no error";
	char *text = thread_text;

	if (provider) {
		lock_take();
		text = tfind(provider, &providers, by_address) ? provider->error : NULL;
		lock_release();
	}
	return text && *text ? text : none;
}

/* ---- what exists ----------------------------------------------------------------------------- */

static int by_name(const void *pa, const void *pb)
{
	const usdt_probedef_t *a = pa, *b = pb;
	int d = strcmp(a->name, b->name);

	return d ? d : strcmp(a->function, b->function);
}

static struct provider *provider_find(usdt_provider_t *p)
{
	if (p && tfind(p, &providers, by_address))
		return (struct provider *)p;
	(void)provider_fail(NULL,
			    p ? "there is no such provider: it was freed" : "the provider is NULL");
	return NULL;
}

static struct probedef *probedef_find(struct provider *pv, usdt_probedef_t *def)
{
	if (def && tfind(def, &probedefs, by_address))
		return (struct probedef *)def;
	(void)provider_fail(pv,
			    def ? "there is no such probe: it was released" : "the probe is NULL");
	return NULL;
}

/* ---- texts ----------------------------------------------------------------------------------- */

/* Text of users stands in listings, in notes and in names of files. */
static bool text_check(const char *what, const char *text, size_t max)
{
	if (!text || !*text)
		return provider_fail(NULL, "the %s is %s", what, text ? "empty" : "NULL") == 0;
	if (strnlen(text, max + 1) > max)
		return provider_fail(NULL, "the %s is longer than %zu bytes", what, max) == 0;
	for (const char *p = text; *p; p++)
		if (iscntrl((unsigned char)*p) || *p == ':')
			return provider_fail(NULL, "the %s has a character that is not allowed",
					     what) == 0;
	return true;
}

/* ---- definitions of probes ------------------------------------------------------------------- */

static void probedef_destroy(struct probedef *def)
{
	(void)tdelete(def, &probedefs, by_address);
	free((char *)(uintptr_t)def->pub.name);
	free((char *)(uintptr_t)def->pub.function);
	for (size_t i = 0; i < def->pub.argc; i++)
		free(def->pub.types[i]);
	free(def);
}

/* Destroys the definition when neither the user nor a provider has it. */
static void probedef_put(struct probedef *def)
{
	def->pub.refcnt--;
	if (def->pub.refcnt == 0)
		probedef_destroy(def);
}

static bool types_check(size_t argc, const char **types)
{
	if (argc > USDT_ARG_MAX)
		return provider_fail(NULL, "a probe can have %d arguments, not %zu", USDT_ARG_MAX,
				     argc) == 0;
	if (argc && !types)
		return provider_fail(NULL, "the types are NULL") == 0;
	for (size_t i = 0; i < argc; i++)
		if (!text_check("type of an argument", types[i], TYPE_MAX_LEN))
			return false;
	return true;
}

static struct probedef *probedef_make(const char *func, const char *name, size_t argc,
				      const char **types)
{
	struct probedef *def = calloc(1, sizeof(*def));
	bool is_complete;

	if (!def)
		return NULL;
	def->pub.name = strdup(name);
	def->pub.function = strdup(func);
	def->pub.argc = argc;
	is_complete = def->pub.name && def->pub.function;
	for (size_t i = 0; i < argc; i++) {
		def->pub.types[i] = strdup(types[i]);
		is_complete &= def->pub.types[i] != NULL;
	}
	def->pub.refcnt = 1;
	def->is_users = true;
	slot_release(def);
	if (is_complete && tsearch(def, &probedefs, by_address))
		return def;
	probedef_destroy(def);
	return NULL;
}

usdt_probedef_t *usdt_create_probe(const char *func, const char *name, size_t argc,
				   const char **types)
{
	struct probedef *def;

	if (!text_check("name of the probe's function", func, FUNC_MAX_LEN) ||
	    !text_check("name of the probe", name, NAME_MAX_LEN) || !types_check(argc, types))
		return NULL;
	lock_take();
	def = probedef_make(func, name, argc, types);
	lock_release();
	if (!def)
		(void)provider_fail(NULL, "out of memory");
	return def ? &def->pub : NULL;
}

void usdt_probe_release(usdt_probedef_t *probedef)
{
	struct probedef *def;

	lock_take();
	def = probedef_find(NULL, probedef);
	if (def && def->is_users) {
		def->is_users = false;
		probedef_put(def);
	} else if (def) {
		(void)provider_fail(NULL, "the probe was released before");
	}
	lock_release();
}

/* ---- providers ------------------------------------------------------------------------------- */

static struct provider *provider_make(const char *name, const char *module)
{
	struct provider *pv = calloc(1, sizeof(*pv));
	char *file;

	if (!pv)
		return NULL;
	pv->pub.name = strdup(name);
	pv->pub.module = file = strdup(module);
	/* The module is the last part of the name of the file that the process maps. */
	for (char *p = file; p && *p; p++)
		if (*p == '/')
			*p = '_';
	if (pv->pub.name && file && tsearch(pv, &providers, by_address))
		return pv;
	free((char *)(uintptr_t)pv->pub.name);
	free(file);
	free(pv);
	return NULL;
}

usdt_provider_t *usdt_create_provider(const char *name, const char *module)
{
	struct provider *pv;

	if (!text_check("name of the provider", name, PROVIDER_MAX) ||
	    (module && !text_check("name of the module", module, NAME_MAX_LEN)))
		return NULL;
	(void)pthread_once(&fork_once, fork_prepare);
	lock_take();
	pv = provider_make(name, module ? module : name);
	lock_release();
	if (!pv)
		(void)provider_fail(NULL, "out of memory");
	return pv ? &pv->pub : NULL;
}

static int probe_add(struct provider *pv, struct probedef *def)
{
	void *found;

	if (def->provider)
		return provider_fail(pv, "the probe %s belongs to %s provider", def->pub.name,
				     def->provider == pv ? "this" : "another");
	found = tsearch(def, &pv->tree, by_name);
	if (!found)
		return provider_fail(pv, "out of memory");
	if (*(struct probedef **)found != def)
		return provider_fail(pv, "the provider has a probe %s:%s already",
				     def->pub.function, def->pub.name);
	if (!slot_take(pv, def)) {
		(void)tdelete(def, &pv->tree, by_name);
		return provider_fail(pv, "out of memory");
	}
	def->provider = pv;
	def->pub.refcnt++;
	def->pub.next = pv->pub.probedefs;
	pv->pub.probedefs = &def->pub;
	return 0;
}

int usdt_provider_add_probe(usdt_provider_t *provider, usdt_probedef_t *probedef)
{
	struct provider *pv;
	struct probedef *def;
	int r = -1;

	lock_take();
	pv = provider_find(provider);
	def = pv ? probedef_find(pv, probedef) : NULL;
	if (def)
		r = probe_add(pv, def);
	lock_release();
	return r;
}

static void probe_remove(struct provider *pv, struct probedef *def)
{
	usdt_probedef_t **p = &pv->pub.probedefs;

	while (*p != &def->pub)
		p = &(*p)->next;
	*p = def->pub.next;
	def->pub.next = NULL;
	def->provider = NULL;
	(void)tdelete(def, &pv->tree, by_name);
	slot_release(def);
	probedef_put(def);
}

int usdt_provider_remove_probe(usdt_provider_t *provider, usdt_probedef_t *probedef)
{
	struct provider *pv;
	struct probedef *def;
	int r = -1;

	lock_take();
	pv = provider_find(provider);
	def = pv ? probedef_find(pv, probedef) : NULL;
	if (def && def->provider != pv) {
		(void)provider_fail(pv, "the probe %s does not belong to this provider",
				    def->pub.name);
	} else if (def && def->region->object) {
		(void)provider_fail(pv, "the probe %s is enabled: disable the provider first",
				    def->pub.name);
	} else if (def) {
		probe_remove(pv, def);
		r = 0;
	}
	lock_release();
	return r;
}

static void provider_withdraw(struct provider *pv)
{
	for (struct region *r = region_list; r; r = r->next)
		if (r->provider == pv)
			object_withdraw(r);
	pv->pub.enabled = 0;
}

/* Publishes what is not yet published. After an error, all is as before. */
static int provider_publish(struct provider *pv)
{
	struct region *done = NULL; /* regions that this call has published */

	for (struct region *r = region_list; r; r = r->next) {
		if (r->provider != pv || r->object || !r->nused)
			continue;
		if (object_publish(r, pv->text, sizeof(pv->text))) {
			pv->pub.error = pv->text;
			for (; done; done = done->published)
				object_withdraw(done);
			return -1;
		}
		r->published = done;
		done = r;
	}
	if (!done)
		(void)provider_fail(pv, "the provider is enabled already");
	pv->pub.enabled = 1;
	return 0;
}

int usdt_provider_enable(usdt_provider_t *provider)
{
	struct provider *pv;
	int r = -1;

	lock_take();
	pv = provider_find(provider);
	if (pv && !pv->pub.probedefs)
		(void)provider_fail(pv, "the provider has no probes");
	else if (pv)
		r = provider_publish(pv);
	lock_release();
	return r;
}

int usdt_provider_disable(usdt_provider_t *provider)
{
	struct provider *pv;

	lock_take();
	pv = provider_find(provider);
	if (pv && !pv->pub.enabled)
		(void)provider_fail(pv, "the provider is not enabled");
	else if (pv)
		provider_withdraw(pv);
	lock_release();
	return pv ? 0 : -1;
}

static void provider_destroy(struct provider *pv)
{
	provider_withdraw(pv);
	while (pv->pub.probedefs)
		probe_remove(pv, (struct probedef *)pv->pub.probedefs);
	for (struct region *r = region_list; r; r = r->next)
		if (r->provider == pv)
			region_release(r);
	(void)tdelete(pv, &providers, by_address);
	free((char *)(uintptr_t)pv->pub.name);
	free((char *)(uintptr_t)pv->pub.module);
	free(pv);
}

void usdt_provider_free(usdt_provider_t *provider)
{
	struct provider *pv;

	lock_take();
	pv = provider_find(provider);
	if (pv)
		provider_destroy(pv);
	lock_release();
}
