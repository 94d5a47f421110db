/* SPDX-License-Identifier: MIT */
/*
 * Probes: names, globbing, ids, and the provider interface.
 *
 * A registry holds the probes that a session knows: names, ids, matching. What the session is
 * stands in the environment (probe/env.h), which the registry passes on to providers. A provider
 * adds its probes when a description
 * that could match them is looked up, so that a script on tick-1s never reads the list of system
 * calls.
 *
 * Ids       A provider whose list is known beforehand has a fixed block of ids (dtrace:::BEGIN, END
 *           and ERROR are 1, 2, 3), so that a probe has the same id in a listing and in every
 *           session, however few of its probes the session has used. Other probes get the next id
 *           from PROBE_ID_DYNAMIC up, in the order of registration.
 *
 * Owns     the registry owns its probes and their names.
 * Errors   a provider that cannot list its probes (no tracefs) returns a struct err.
 *
 * To add a provider: 1. src/provider/NAME.c ending in one const struct provider; 2. its row in
 * provider/providers.def; 3. tests/e2e.
 */
#pragma once

#include <sys/types.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/vec.h"
#include "d/check/argtext.h"
#include "d/parse/ident.h" /* struct attr */
#include "d/types/types.h"
#include "dif/prog.h"
#include "probe/env.h"
#include "probe/place.h"

struct provider;
struct probes;
struct probe_list;

struct probe {
	uint32_t id;
	const char *prov, *mod, *func, *name;
	const struct provider *provider;
	uint64_t data; /* for the provider alone: a system call number, a period, ... */
	/* of a declared probe in code of processes: struct code_source.number; 0: it is another */
	uint32_t source;
	/*
	 * It fires in many processes: the name of its provider is prov and the id of the process
	 * that fires it (probe_prov_shown()).
	 */
	bool has_pid;
};

/* A place on which a probe hangs, and the key that identifies the probe there. */
struct probe_point {
	struct place place;
	uint32_t key;
	const struct sys_view *view;	 /* of the kinds that have one */
	const struct place_timer *timer; /* of PLACE_TIMER */
	const struct place_event *event; /* of PLACE_EVENT */
	/* of PLACE_UPROBE */
	uint32_t tgid;
	uint32_t spot; /* enum code_spot: where in the function it is */
	const struct place_code *code;
	const struct place_func *kfunc; /* of PLACE_KFUNC; spot: SPOT_ENTRY or SPOT_RETURN */
};

struct probe_list {
	VEC(struct probe *) probes;
};

struct provider {
	const char *name;
	const char *alias;	    /* another name of the provider ("lx-syscall"), or NULL */
	uint32_t id_base, id_count; /* block of ids below PROBE_ID_DYNAMIC; 0 = none */
	/*
	 * The only probe names that it can have, NULL-terminated; NULL = any. With them, provide()
	 * need not be called to know that a name does not match.
	 */
	const char *const *names;
	struct attr attr[5]; /* provider, module, function, name, arguments */
	/*
	 * Its probes are made of others: they have no places, and probe.data is the address of a
	 * struct derived_info (d/compile.h).
	 */
	bool is_derived;
	bool is_shared;	  /* D may declare more probes of its name: those with a '-' in theirs */
	bool has_mangled; /* functions may have mangled names of C++ or Rust */
	/*
	 * Finding its probes takes long, for example because all processes must be read. A
	 * description without a provider means them in listings, or if no other probe matches.
	 */
	bool is_costly;
	/*
	 * Whether the provider could have probes that desc describes. NULL: when desc.prov matches
	 * its name; a provider with one name for each process ("pid123") needs a function.
	 */
	bool (*concerns)(const struct provider *pv, const struct probe_desc *desc);
	/*
	 * Called instead of provide() and provide_desc(): registers the probes that desc means and
	 * passes them to probe_list_add(). For names that globbing alone cannot compare.
	 */
	struct err *(*collect)(struct provider_env *env, const struct provider *pv,
			       const struct probe_desc *desc, struct probe_list *out);
	/* Releases what state refers to outside the registry's arena. May be NULL. */
	void (*close)(void *state);
	/* Registers the probes that exist whether named or not. Called at most once a registry. */
	struct err *(*provide)(struct provider_env *env, const struct provider *pv);
	/*
	 * Registers probes that exist only when named (tick-7s); desc.prov may be a glob. When
	 * function and name are literals, provide() is not called: this registers what they name.
	 */
	struct err *(*provide_desc)(struct provider_env *env, const struct provider *pv,
				    const struct probe_desc *desc);
	/*
	 * For a provider whose probes have other names, too (exece for execve): adds to the probes
	 * that desc matched, or replaces them; tells the user by env_notice(). May be NULL.
	 */
	struct err *(*expand)(struct provider_env *env, const struct provider *pv,
			      const struct probe_desc *desc, struct probe_list *found);
	/*
	 * Called for each description of a program before any is matched, if the provider could
	 * have its probes. Returns true if results of earlier matching may have changed. May be
	 * NULL.
	 */
	bool (*named)(struct provider_env *env, const struct provider *pv,
		      const struct probe_desc *desc);
	/*
	 * The process that the description is about, when its probes may fire in other processes,
	 * too; 0: it is about all processes. May be NULL.
	 */
	uint32_t (*only_in)(const struct probe_desc *desc);
	/* Why desc matches nothing and what to type instead, in the registry's arena, or NULL. */
	const char *(*hint)(struct provider_env *env, const struct provider *pv,
			    const struct probe_desc *desc);
	/*
	 * Why probes that desc names, and other systems have, are not to be had here, in the
	 * registry's arena; NULL: desc names no such probe. May be NULL.
	 */
	const char *(*absent)(struct provider_env *env, const struct provider *pv,
			      const struct probe_desc *desc);
	/*
	 * The attributes of one probe (NPARTS of them), if they are not those of the provider;
	 * false: they are. May be NULL.
	 */
	bool (*attrs)(struct provider_env *env, const struct probe *pr, struct attr *ret);
	/* D types of args[] (d/check/argtext.h), static or in the registry's arena. */
	uint32_t (*arg_types)(struct provider_env *env, const struct probe *pr,
			      const char *const **ret_types);
	/*
	 * The type of args[index], where a text cannot name it, and the location of its value.
	 * TYPE_NONE: the text of arg_types() holds. TYPE_ERROR: the value cannot be read. May be
	 * NULL.
	 */
	type_id (*arg_type)(struct provider_env *env, const struct probe *pr, uint32_t index,
			    struct types *t, struct arg_origin *ret_origin);
	/*
	 * Whether a clause that was compiled for the args[] of one probe can run at another, whose
	 * texts of arg_types() are equal. NULL: it can.
	 */
	bool (*same_args)(struct provider_env *env, const struct probe *compiled,
			  const struct probe *pr);
	/* Why arg<raw> cannot be read, in the registry's arena, or NULL. May itself be NULL. */
	const char *(*arg_refused)(struct provider_env *env, const struct probe *pr, uint32_t raw);
	/* Fills in the places of a probe, at most PROBE_MAX_POINTS; returns their number. */
	uint32_t (*points)(const struct probe *pr, struct probe_point *ret);
};
#define PROBE_MAX_POINTS 4
/*
 * Dynamic ids. Fixed blocks lie below them, and a very large one between PROBE_ID_LARGE and
 * PROBE_ID_LARGE_END, which dynamic ids leave out.
 */
#define PROBE_ID_DYNAMIC   10001
#define PROBE_ID_LARGE	   100001
#define PROBE_ID_LARGE_END 500001

extern const struct provider *const provider_list[]; /* NULL-terminated (provider/list.c) */
/* The same of sessions over what is left of a process. */
extern const struct provider *const provider_list_remains[];
/* The one of them that holds for the session. */
const struct provider *const *providers_of(const struct probes *ps);

/* env: what providers are told; it gets the registry and its arena. */
struct probes *probes_create(struct provider_env *env);
struct provider_env *probes_env(const struct probes *ps);
void probes_destroy(struct probes *ps); /* NULL is allowed */
struct arena *probes_arena(struct probes *ps);
/* Registers a probe and copies its names. A probe with the same four names is returned instead. */
struct probe *probes_add(struct probes *ps, const struct provider *pv, const char *mod,
			 const char *func, const char *name, uint64_t data);
/* The same under another provider name than the provider's own ("pid123" for "pid"). */
struct probe *probes_add_as(struct probes *ps, const struct provider *pv, const char *prov,
			    const char *mod, const char *func, const char *name, uint64_t data);
void probe_list_add(struct probe_list *l, struct probe *pr);
/* The same with a fixed id: number `index` of the provider's block. */
struct probe *probes_add_at(struct probes *ps, const struct provider *pv, uint32_t index,
			    const char *mod, const char *func, const char *name, uint64_t data);
/* Registers a new probe that no description matches; provider.expand adds it to results. */
struct probe *probes_add_hidden(struct probes *ps, const struct provider *pv, const char *mod,
				const char *func, const char *name, uint64_t data);
/*
 * The same with the provider name prov, which does not matter to candidates. The registry does not
 * copy the names: they must live as long as the probe.
 */
struct probe *probes_add_private(struct probes *ps, const struct provider *pv, const char *prov,
				 const char *mod, const char *func, const char *name,
				 uint64_t data);
/*
 * Takes probes out of the registry: nobody uses them any more, and no match was asked for since
 * they were added. Their ids are not given out again.
 */
void probes_remove(struct probes *ps, const struct probe_list *gone);
/*
 * The provider's own memory in this registry: `size` zeroed bytes, which live as long as the
 * registry. size is the same in every call.
 */
void *probes_state(struct probes *ps, const struct provider *pv, size_t size);
/*
 * Whether other systems have their kernel's own probes in a module of this name. Declared probes
 * have no module here; scripts say io:genunix::start.
 */
bool probes_is_kernel_elsewhere(const char *mod);
/*
 * Whether the function of desc can be one that fires declared probes on another system, which have
 * no function here: sched::resume:on-cpu, mib::icmp_*:.
 */
bool probes_has_function_elsewhere(const struct probe_desc *desc);
/*
 * Whether desc means the declared probe of this name. One with a function and no name means those
 * whose names begin as the function does: icmpInMsgs for icmp_*.
 */
bool probes_name_is_meant(const struct probe_desc *desc, const char *name);

/*
 * Notes a description of a program before any is matched: a probe that programs of the session name
 * is not added to the matches of another name, too (providers.md 4.4).
 */
void probes_name(struct probes *ps, const struct probe_desc *desc);
bool probes_is_named(const struct probes *ps, const struct provider *pv, const char *func);
/* Whether names of functions are shown mangled, as they are linked. */
void probes_set_raw(struct probes *ps, bool is_raw);
/* The provider of a probe that the process has fired, for users; buf is room for it. */
#define PROBE_PROV_ROOM 280
const char *probe_prov_shown(const struct probe *pr, uint64_t pid, char buf[PROBE_PROV_ROOM]);
/* The function of a probe for users: demangled, unless probes_set_raw(). */
const char *probe_func_shown(struct probes *ps, const struct probe *pr);
/* Whether a probe that is registered already matches desc. */
bool probes_has(const struct probes *ps, const struct probe_desc *desc);
/* Forgets results of earlier matching, because new probes may match. */
void probes_forget(struct probes *ps);
/* Whether provider.expand has added probes to the matches of desc, which was matched before. */
bool probes_is_expanded(const struct probes *ps, const struct probe_desc *desc);

/* A registered probe, or NULL. */
struct probe *probes_find(struct probes *ps, uint32_t id);
/*
 * The probes that match, by ascending id, in an array that lives as long as the registry. Providers
 * register them as needed. *ret_n is 0 when nothing matches, which is no error.
 */
MUST_CHECK struct err *probes_match(struct probes *ps, const struct probe_desc *desc,
				    struct probe ***ret_probes, uint32_t *ret_n);
/* The attributes of a probe: NPARTS of them. */
void probe_attrs(struct probes *ps, const struct probe *pr, struct attr *ret);
/*
 * The probes that a listing shows: those of each process, where probes_match() finds one probe for
 * all processes. The array lives as long as the registry.
 */
MUST_CHECK struct err *probes_match_listed(struct probes *ps, const struct probe_desc *desc,
					   struct probe ***ret_probes, uint32_t *ret_n);
bool probes_is_listing(const struct probes *ps); /* for provider.collect */
/* Whether the provider can have a probe that desc describes. */
bool provider_concerns(const struct provider *pv, const struct probe_desc *desc);
/* What to type instead of a description that matches nothing, or NULL. */
const char *probes_hint(struct probes *ps, const struct probe_desc *desc);
/* provider.absent() of the provider that has such a probe; NULL: none has. */
const char *probes_absent(struct probes *ps, const struct probe_desc *desc);
/* d-language.md 1.7: * ? [..] [!..] \x; an empty pattern matches anything. */
bool glob_match(const char *pattern, const char *text);
bool glob_is_literal(const char *pattern);
/*
 * Whether this is the name of a provider of other systems that is not to be had here, although it
 * could be one of a process: nfsv3.
 */
bool probes_is_foreign(const char *prov);
/* The name that was probably meant by one that none of the names is; NULL: none is near. */
const char *probe_name_nearest(const char *name, const char *const *names, uint32_t n);
/* The command that lists the probes that desc describes. */
const char *probes_list_command(struct probes *ps, const struct probe_desc *desc);
/* The description as messages show it: "P:M:F:N". */
const char *probe_desc_text(struct arena *a, const struct probe_desc *desc);
