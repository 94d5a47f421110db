/*
 * Provider syscall: entry and return of every system call (providers.md, 4).
 *
 * Two raw tracepoints serve all of them; the program finds the probe by number, in one table for
 * native tasks and one for 32-bit tasks. A call named literally is registered alone, without asking
 * the kernel what it has, unless the call is a recent one.
 */
#include "bpf/kernel.h"
#include "provider/providers.h"
#include "provider/syscalls.h"

#define MODULE "vmlinux"
#define LX     "lx-syscall"

static const char *const probe_names[] = {"entry", "return", NULL};

struct syscall_state {
	bool is_asked;		   /* exists is filled */
	bool *exists;		   /* by row */
	const char *const **types; /* by row, once asked for */
	uint32_t *ntypes;
};

/* probe.data: row << 1 | is return */
static uint64_t data_make(uint32_t row, bool is_return)
{
	return (uint64_t)row << 1 | is_return;
}

static uint32_t data_row(const struct probe *pr)
{
	return (uint32_t)(pr->data >> 1);
}

static bool data_is_return(const struct probe *pr)
{
	return pr->data & 1;
}

static struct syscall_state *state_get(struct probes *ps, const struct provider *pv)
{
	return probes_state(ps, pv, sizeof(struct syscall_state));
}

static void ask_kernel(struct probes *ps, struct syscall_state *st)
{
	struct syscall_kernel k;

	if (st->is_asked)
		return;
	st->is_asked = true;
	syscall_kernel_init(&k);
	st->exists = ARENA_NEW_N(probes_arena(ps), bool, syscall_nrows);
	for (uint32_t i = 0; i < syscall_nrows; i++)
		st->exists[i] = syscall_kernel_has(&k, &syscall_rows[i]);
	syscall_kernel_deinit(&k);
}

static void add_row(struct probes *ps, const struct provider *pv, uint32_t row)
{
	const struct syscall_row *r = &syscall_rows[row];

	for (uint32_t ret = 0; ret < 2; ret++)
		probes_add_at(ps, pv, row * 2 + ret, MODULE, r->name, probe_names[ret],
			      data_make(row, ret));
}

static struct err *syscall_provide(struct probes *ps, const struct provider *pv)
{
	struct syscall_state *st = state_get(ps, pv);

	ask_kernel(ps, st);
	for (uint32_t row = 0; row < syscall_nrows; row++)
		if (st->exists[row])
			add_row(ps, pv, row);
	return NULL;
}

/* Does the kernel have it? Calls that all supported kernels have are not asked for. */
static bool row_exists(struct probes *ps, const struct provider *pv, const struct syscall_row *r)
{
	struct syscall_state *st = state_get(ps, pv);

	if (r->nr64 >= 0 && !(r->flags & SYSF_NEW))
		return true;
	ask_kernel(ps, st);
	return st->exists[r - syscall_rows];
}

static struct err *syscall_provide_desc(struct probes *ps, const struct provider *pv,
					const struct probe_desc *desc)
{
	const struct syscall_row *r;

	if (!*desc->func || !glob_is_literal(desc->func))
		return NULL;
	r = syscall_find(desc->func);
	if (r && row_exists(ps, pv, r))
		add_row(ps, pv, (uint32_t)(r - syscall_rows));
	return NULL;
}

/* ---- other names ---------------------------------------------------------------------------- */

static uint32_t count_words(const char *text)
{
	uint32_t n = 1;

	for (; *text; text++)
		n += *text == ' ';
	return n;
}

/* desc once for each of the blank-separated functions. */
static uint32_t descs_of(struct arena *a, const struct probe_desc *desc, const char *funcs,
			 struct probe_desc **ret_descs)
{
	uint32_t n = count_words(funcs);

	*ret_descs = ARENA_NEW_N(a, struct probe_desc, n);
	for (uint32_t i = 0; i < n; i++) {
		size_t len = strcspn(funcs, " ");

		(*ret_descs)[i] = *desc;
		(*ret_descs)[i].func = arena_strndup(a, funcs, len);
		funcs += len + (funcs[len] == ' ');
	}
	return n;
}

/*
 * lx-syscall:::return delivers raw results there, which these probes do not: only entry is an
 * alias.
 */
static uint32_t expand_lx(struct probes *ps, const struct probe_desc *desc,
			  struct probe_desc **ret_descs)
{
	if (strcmp(desc->name, "entry") != 0)
		return 0;
	*ret_descs = ARENA_NEW(probes_arena(ps), struct probe_desc);
	**ret_descs = *desc;
	(*ret_descs)->prov = "syscall";
	return 1;
}

static uint32_t syscall_expand(struct probes *ps, const struct provider *pv,
			       const struct probe_desc *desc, struct probe_desc **ret_descs)
{
	const struct syscall_alias *al;
	const struct syscall_row *native;
	struct syscall_alias tmp;

	if (strcmp(desc->prov, LX) == 0)
		return expand_lx(ps, desc, ret_descs);
	if (!*desc->func || !glob_is_literal(desc->func))
		return 0;
	al = syscall_alias_find(desc->func, &tmp);
	if (!al)
		return 0;
	native = syscall_find(desc->func);
	if (al->same_args) {
		probes_notice(ps, "system call '%s' of '%s' stands for '%s' on Linux", al->name,
			      probe_desc_text(probes_arena(ps), desc), al->targets);
		return descs_of(probes_arena(ps), desc, al->targets, ret_descs);
	}
	if (native && row_exists(ps, pv, native))
		probes_notice(
			ps,
			"system call '%s' of '%s' is made by 32-bit programs only; others use: %s "
			"(arguments differ)",
			al->name, probe_desc_text(probes_arena(ps), desc), al->targets);
	return 0;
}

static const char *syscall_hint(struct probes *ps, const struct provider *pv,
				const struct probe_desc *desc)
{
	const struct syscall_alias *al;
	struct syscall_alias tmp;

	if (strcmp(desc->prov, LX) == 0)
		return "use syscall:::return, where a failed call has arg0 == -1 and errno set";
	if (!*desc->func || !glob_is_literal(desc->func))
		return NULL;
	al = syscall_alias_find(desc->func, &tmp);
	if (!al)
		return NULL;
	return arena_printf(probes_arena(ps),
			    "Linux programs call: %s (mind that arguments differ)", al->targets);
}

/* ---- types, places -------------------------------------------------------------------------- */

static const char *const return_types[] = {"long", "long"};

static uint32_t types_split(struct arena *a, const char *text, const char *const **ret_types)
{
	const char **types = ARENA_NEW_N(a, const char *, 6);
	uint32_t n = 0;

	while (*text && n < 6) {
		size_t len = strcspn(text, "|");

		types[n++] = arena_strndup(a, text, len);
		text += len + (text[len] == '|');
	}
	*ret_types = types;
	return n;
}

static uint32_t syscall_arg_types(struct probes *ps, const struct probe *pr,
				  const char *const **ret_types)
{
	struct syscall_state *st = state_get(ps, pr->provider);
	uint32_t row = data_row(pr);

	if (data_is_return(pr)) {
		*ret_types = return_types;
		return ARRAY_LEN(return_types);
	}
	if (!syscall_rows[row].types)
		return 0;
	if (!st->types) {
		st->types = ARENA_NEW_N(probes_arena(ps), const char *const *, syscall_nrows);
		st->ntypes = ARENA_NEW_N(probes_arena(ps), uint32_t, syscall_nrows);
	}
	if (!st->types[row])
		st->ntypes[row] =
			types_split(probes_arena(ps), syscall_rows[row].types, &st->types[row]);
	*ret_types = st->types[row];
	return st->ntypes[row];
}

static uint32_t syscall_points(const struct probe *pr, struct probe_point *ret)
{
	const struct syscall_row *r = &syscall_rows[data_row(pr)];
	enum entry_kind kind = data_is_return(pr) ? ENTRY_SYS_EXIT : ENTRY_SYS_ENTER;
	uint32_t n = 0;

	if (r->nr64 >= 0)
		ret[n++] = (struct probe_point){kind, (uint32_t)r->nr64};
	if (r->nr32 >= 0)
		ret[n++] = (struct probe_point){kind, (uint32_t)r->nr32 + RT_SYS_COMPAT};
	return n;
}

static struct err *syscall_attach(const struct provider *pv, enum entry_kind kind, int prog_fd,
				  struct probe *const *probes, uint32_t n,
				  const struct attach_opts *opts, struct attachments *ret)
{
	int fd;
	struct err *e = attach_raw_tracepoint(
		prog_fd, kind == ENTRY_SYS_EXIT ? "sys_exit" : "sys_enter", &fd);

	if (!e)
		attachments_add(ret, fd);
	return e;
}

const struct provider provider_syscall = {
	.name = "syscall",
	.alias = LX,
	.id_base = SYSCALL_ID_BASE,
	.id_count = SYSCALL_ID_COUNT,
	.names = probe_names,
	.attr = {ATTR_EEC, ATTR_PPU, ATTR_PPI, ATTR_EEC, ATTR_PPI},
	.provide = syscall_provide,
	.provide_desc = syscall_provide_desc,
	.expand = syscall_expand,
	.hint = syscall_hint,
	.arg_types = syscall_arg_types,
	.points = syscall_points,
	.attach = syscall_attach,
};
