/*
 * Probes: names, globbing, ids, and the provider interface.
 *
 * A registry holds the probes a session knows. Providers fill it when something asks for a
 * description that could concern them, so that a script on tick-1s never reads the system call
 * list.
 *
 * Ids       A provider whose list is known beforehand has a fixed block of ids (dtrace:::BEGIN END
 *           ERROR are 1, 2, 3), so that a probe has the same id in a listing and in every session,
 *           however little of the list that session looked at. Other probes get the next id from
 *           PROBE_ID_DYNAMIC up, in the order of registration.
 *
 * Owns     the registry owns its probes and their names.
 * Errors   a provider that cannot list (no tracefs) says so through struct err.
 *
 * To add a provider: 1. src/provider/NAME.c ending in one const struct provider; 2. its row in
 * provider_list (provider/list.c); 3. tests/e2e.
 */
#pragma once

#include <sys/types.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/vec.h"
#include "d/argtext.h"
#include "d/ident.h" /* struct attr */
#include "d/types.h"
#include "dif/prog.h"
#include "probe/place.h"

struct provider;
struct probes;
struct probe_list;

struct probe {
	uint32_t id;
	const char *prov, *mod, *func, *name;
	const struct provider *provider;
	uint64_t data; /* the provider's own: system call number, period, ... */
};

/*
 * One place a probe hangs on, and the key that says there which probe it is. A probe may have
 * several.
 */
struct probe_point {
	struct place place;
	uint32_t key;
	const struct sys_view *view;	 /* of the kinds that have one */
	const struct place_timer *timer; /* of PLACE_TIMER */
	/* of PLACE_UPROBE */
	uint32_t tgid;
	uint32_t spot; /* enum uprobe_place: what of the function it is */
	const struct place_code *code;
};

struct probe_list {
	VEC(struct probe *) probes;
};

struct provider {
	const char *name;
	const char *alias;	    /* another name of the whole provider ("lx-syscall"), or NULL */
	uint32_t id_base, id_count; /* block of ids below PROBE_ID_DYNAMIC; 0 = none */
	/* The only probe names it can have, NULL-terminated; NULL = anything. Spares provide(). */
	const char *const *names;
	struct attr attr[5]; /* provider, module, function, name, arguments */
	/*
	 * made of other probes: has no places of its own; probe.data: struct derived_info
	 * (d/compile.h)
	 */
	bool is_derived;
	bool has_mangled; /* functions may have names of C++ and Rust as they are linked */
	/*
	 * Per-process providers ("pid123"): could it have probes of this description? NULL = by the
	 * name.
	 */
	bool (*concerns)(const struct provider *pv, const struct probe_desc *desc);
	/* Instead of provide() and provide_desc(): makes the probes desc means and gives them to
	 * probe_list_add(). For names that globbing alone does not compare. */
	struct err *(*collect)(struct probes *ps, const struct provider *pv,
			       const struct probe_desc *desc, struct probe_list *out);
	/* Ends what state holds beside the registry's arena. */
	void (*close)(void *state);
	/* Registers the probes that exist unasked. Called at most once per registry. */
	struct err *(*provide)(struct probes *ps, const struct provider *pv);
	/*
	 * Registers probes that exist when named (tick-7s); desc's provider field may be a glob.
	 * When function and name are literals only this is called: it then registers what they
	 * mean.
	 */
	struct err *(*provide_desc)(struct probes *ps, const struct provider *pv,
				    const struct probe_desc *desc);
	/*
	 * Other names (exece for execve). Adds to what desc matched, or replaces it. What the user
	 * should know goes to probes_notice(). NULL = no other names.
	 */
	struct err *(*expand)(struct probes *ps, const struct provider *pv,
			      const struct probe_desc *desc, struct probe_list *found);
	/* Why desc matches nothing and what to type instead, in the registry's arena, or NULL. */
	const char *(*hint)(struct probes *ps, const struct provider *pv,
			    const struct probe_desc *desc);
	/* D types of args[] (d/argtext.h), static or in the registry's arena. */
	uint32_t (*arg_types)(struct probes *ps, const struct probe *pr,
			      const char *const **ret_types);
	/*
	 * The type of args[index] itself, where a text cannot name it, and where it is; TYPE_NONE:
	 * by its text, TYPE_ERROR: its value is not to be had. May be NULL.
	 */
	type_id (*arg_type)(struct probes *ps, const struct probe *pr, uint32_t index,
			    struct types *t, struct argplace *ret_place);
	/*
	 * Why arg0, arg1, ... cannot be told, in the registry's arena, or NULL. May itself be NULL.
	 */
	const char *(*arg_refused)(struct probes *ps, const struct probe *pr, uint32_t raw);
	/* Places; ret has room for PROBE_MAX_POINTS. Returns how many. */
	uint32_t (*points)(const struct probe *pr, struct probe_point *ret);
};
#define PROBE_MAX_POINTS 4
#define PROBE_ID_DYNAMIC 10001

extern const struct provider *const provider_list[]; /* NULL-terminated (provider/list.c) */

struct probes *probes_create(void);
void probes_destroy(struct probes *ps); /* NULL is allowed */
struct arena *probes_arena(struct probes *ps);
/* For providers. Names are copied; returns the existing probe when all four names are equal. */
struct probe *probes_add(struct probes *ps, const struct provider *pv, const char *mod,
			 const char *func, const char *name, uint64_t data);
/* The same under another name of the provider than its own ("pid123" of "pid"). */
struct probe *probes_add_as(struct probes *ps, const struct provider *pv, const char *prov,
			    const char *mod, const char *func, const char *name, uint64_t data);
void probe_list_add(struct probe_list *l, struct probe *pr);
/* The same at a fixed place of the provider's block of ids. */
struct probe *probes_add_at(struct probes *ps, const struct provider *pv, uint32_t index,
			    const char *mod, const char *func, const char *name, uint64_t data);
/* One that no description matches: expand() gives it. A new one each time. */
struct probe *probes_add_hidden(struct probes *ps, const struct provider *pv, const char *mod,
				const char *func, const char *name, uint64_t data);
/*
 * The provider's own memory in this registry: zeroed, size bytes (always the same), arena lifetime.
 */
void *probes_state(struct probes *ps, const struct provider *pv, size_t size);
/* Something the user should know; goes where probes_on_notice() says. */
PRINTF_LIKE(2, 3) void probes_notice(struct probes *ps, const char *fmt, ...);

/*
 * Before a provider looks into a process: the session may have to bring it to a state worth looking
 * at.
 */
void probes_on_process(struct probes *ps, struct err *(*func)(void *ctx, pid_t pid), void *ctx);
MUST_CHECK struct err *probes_need_process(struct probes *ps, pid_t pid);

/* The processes of -c and -p, in the order of their options; 0 = there are no more. */
void probes_add_process(struct probes *ps, pid_t pid);
pid_t probes_process(const struct probes *ps, uint32_t i);
/*
 * A process of -c, which ends with us: messages say pid$target, not its number. 0 = there is none.
 */
void probes_set_created(struct probes *ps, pid_t pid);
pid_t probes_created(const struct probes *ps);

/* msg: without newline. Each description's notices come once per registry. */
void probes_on_notice(struct probes *ps, void (*func)(void *ctx, const char *msg), void *ctx);
/*
 * What a program says is known before any of it is matched: a name that the programs of this
 * session use for itself is not brought in by another one (providers.md 4.4).
 */
void probes_name(struct probes *ps, const struct probe_desc *desc);
bool probes_is_named(const struct probes *ps, const struct provider *pv, const char *func);
/* Do globs see functions in the form of older ones, too (option syscallview)? */
void probes_set_classic(struct probes *ps, bool is_classic);
bool probes_is_classic(const struct probes *ps);
/*
 * How files of programs are read (sym/debugfile.h). What it points to lives as long as the
 * registry.
 */
struct file_opts;
void probes_set_files(struct probes *ps, const struct file_opts *files);
const struct file_opts *probes_files(const struct probes *ps);
/* Functions are shown as they are linked. */
void probes_set_raw(struct probes *ps, bool is_raw);
/* The function of a probe for users: demangled, unless probes_set_raw(). */
const char *probe_func_shown(struct probes *ps, const struct probe *pr);
/*
 * Probes that are declared in D: func gives those of desc to out, hint says why one is not to be
 * had, or NULL.
 */
struct declared_source_fns {
	struct err *(*collect)(void *ctx, const struct probe_desc *desc, struct probe_list *out);
	const char *(*hint)(void *ctx, const struct probe_desc *desc);
	void *ctx;
};
void probes_on_declared(struct probes *ps, const struct declared_source_fns *fns);
const struct declared_source_fns *probes_declared(const struct probes *ps);
/* Is there a probe that matches desc among those that are registered already? */
bool probes_has(const struct probes *ps, const struct probe_desc *desc);
/* What was matched before may not be all. */
void probes_forget(struct probes *ps);
/* Has desc, matched before, got probes through other names? */
bool probes_is_expanded(const struct probes *ps, const struct probe_desc *desc);

/* A registered probe, or NULL. */
struct probe *probes_find(struct probes *ps, uint32_t id);
/*
 * Matching probes by ascending id, an arena array valid until the registry dies. Providers are
 * asked as needed. No match is n == 0, not an error.
 */
MUST_CHECK struct err *probes_match(struct probes *ps, const struct probe_desc *desc,
				    struct probe ***ret_probes, uint32_t *ret_n);
/* True when the provider can have a probe of this description. */
bool provider_concerns(const struct provider *pv, const struct probe_desc *desc);
/* What to type instead of a description that matches nothing, or NULL. */
const char *probes_hint(struct probes *ps, const struct probe_desc *desc);
/* d-language.md 1.7: * ? [..] [!..] \x; an empty pattern matches anything. */
bool glob_match(const char *pattern, const char *text);
bool glob_is_literal(const char *pattern);
/* What to type for a list of what desc means. */
const char *probes_list_command(struct probes *ps, const struct probe_desc *desc);
/* "P:M:F:N" as messages show it. */
const char *probe_desc_text(struct arena *a, const struct probe_desc *desc);
