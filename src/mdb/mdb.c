/* SPDX-License-Identifier: MIT */
/* Opens the debugger, and answers what the language asks of the target. */
#include "mdb/mdb.h"

#include <ctype.h>
#include <inttypes.h>

#include "arch/text.h"
#include "base/text.h"
#include "image/image.h"
#include "mdb/heap.h"
#include "mdb/impl.h"
#include "mdb/types.h"
#include "mdb/store.h"
#include "session/session.h"
#include "sym/sym.h"

static int notice_give(dtrace_hdl_t *dtp, const char *msg, void *arg)
{
	struct mdb *m = arg;
	CLEANUP(free) char *text = xstrdup(msg);
	size_t n = strlen(text);

	while (n && text[n - 1] == '\n')
		text[--n] = '\0';
	m->opts.error(m->opts.ctx, text);
	return DTRACE_HANDLE_OK;
}

static struct err *target_open(struct mdb *m)
{
	struct gate *gate = m->files->gate;
	struct err *e;

	if (m->opts.target) {
		m->t = m->opts.target;
		return NULL;
	}
	if (m->opts.is_copy)
		return target_copy(m->opts.pid, m->opts.keep, gate, &m->copied, &m->t);
	if (m->opts.is_running)
		return target_live_open(m->opts.pid, gate, &m->t);
	e = m->opts.core ? target_core_open(m->opts.core, gate, &m->t)
			 : target_hold(m->opts.pid, gate, &m->t);
	return !e && m->opts.program ? target_core_set_program(m->t, m->opts.program) : e;
}

/* The library's message has its hint in a second line. */
static struct err *open_error(void)
{
	static const char between[] = "\nhint: ";
	const char *text = dtrace_open_errmsg(), *hint = strstr(text, between);

	if (!hint)
		return err_new("%s", text);
	return err_hint(err_new("%.*s", (int)(hint - text), text), "%s", hint + strlen(between));
}

struct err *mdb_open(const struct mdb_opts *opts, struct mdb **ret)
{
	struct mdb *m = xcalloc(1, sizeof(*m));
	struct err *e;
	int error;

	m->opts = *opts;
	m->out.is_json = opts->is_json;
	m->h = opts->h ? opts->h : dtrace_open(DTRACE_VERSION, DTRACE_O_NODEV, &error);
	if (!m->h) {
		free(m);
		return open_error();
	}
	if (!opts->h)
		(void)dtrace_handle_notice(m->h, notice_give, m);
	/* Stacks go on with the async functions that wait for the outermost one. */
	if (!opts->keeps_options)
		(void)dtrace_setopt(m->h, "jstackasync", NULL);
	m->syms = names_syms(&m->h->names);
	m->files = &m->h->names.file_opts;
	m->files->images->is_sparse = !opts->h; /* of a session, others name addresses, too */
	e = target_open(m);
	if (e) {
		mdb_close(m);
		return e;
	}
	m->named = syms_target(m->syms, m->t);
	mdb_objects_make(m);
	target_threads(m->t, &m->tids);
	m->tid = m->tids.len ? m->tids.data[0] : 0;
	if (!opts->core)
		m->tid = opts->pid;
	*ret = m;
	return NULL;
}

const char *mdb_core_folder(void)
{
	return STORE_FOLDER;
}

struct err *mdb_core_find(const char *folder, pid_t pid, char **ret_path)
{
	return store_find(folder, pid, ret_path);
}

struct err *mdb_list(const struct mdb_opts *opts, const char *folder)
{
	struct out o = {.is_json = opts->is_json};
	struct err *e;

	emit_begin(&o, "core-files");
	e = store_list(folder, &o);
	emit_finish(&o, e ? err_text(e) : NULL);
	if (o.text.len)
		(void)opts->write(opts->ctx, strbuf_text(&o.text), o.text.len);
	emit_deinit(&o);
	return e;
}

void mdb_close(struct mdb *m)
{
	if (!m)
		return;
	log_end(m);
	stacks_end(m);
	heap_free(m->heap);
	mdb_types_end(m);
	mdb_objects_free(m);
	target_close(m->t);
	vec_deinit(&m->tids);
	for (uint32_t i = 0; i < m->variables.len; i++)
		free(m->variables.data[i].name);
	vec_deinit(&m->variables);
	emit_deinit(&m->out);
	free(m->helper);
	if (!m->opts.h)
		dtrace_close(m->h);
	free(m);
}

bool mdb_copied(const struct mdb *m, uint64_t *ret_bytes, uint64_t *ret_stopped_ns)
{
	if (!m->opts.is_copy)
		return false;
	*ret_bytes = m->copied.bytes;
	*ret_stopped_ns = m->copied.stopped_ns;
	return true;
}

bool mdb_run(struct mdb *m, const char *text)
{
	m->has_failed = false;
	m->is_interrupted = 0;
	return run_text(m, text);
}

bool mdb_is_over(const struct mdb *m)
{
	return m->is_over;
}

void mdb_interrupt(struct mdb *m)
{
	m->is_interrupted = 1;
}

const char *mdb_command_name(uint32_t i)
{
	if (i < ndcmds)
		return dcmds[i].name;
	return i - ndcmds < ndcmd_aliases ? dcmd_aliases[i - ndcmds].name : NULL;
}

const char *mdb_walker_name(uint32_t i)
{
	return i < nwalkers ? walkers[i].name : NULL;
}

const char *mdb_command_what(uint32_t i)
{
	return i < ndcmds ? dcmds[i].what : dcmd_find(dcmd_aliases[i - ndcmds].name)->what;
}

const char *mdb_walker_what(uint32_t i)
{
	return walkers[i].what;
}

/* ---- the target ------------------------------------------------------------------------------ */

bool mdb_read(struct mdb *m, taddr addr, void *to, size_t size)
{
	return target_read(m->t, addr, to, size);
}

/* Adds the variable that contains an address. */
static bool variable_name_add(struct mdb *m, taddr addr, struct strbuf *out)
{
	const struct mdb_object *o = mdb_object_at(m, addr);
	const struct elf_sym *sym = o ? mdb_symbol_at(m, o, addr) : NULL;

	if (!sym || !sym->size || sym->kind != ELF_SYM_OBJECT)
		return false;
	strbuf_addf(out, "%s`%s", o->name, sym->name);
	if (addr - o->bias != sym->addr)
		strbuf_addf(out, "+0x%" PRIx64, addr - o->bias - sym->addr);
	return true;
}

bool mdb_name_add(struct mdb *m, taddr addr, bool is_return, struct strbuf *out)
{
	struct sym_name name = {0};
	bool is_known = is_return ? syms_find_caller(m->syms, m->named, addr, &name)
				  : syms_find(m->syms, m->named, addr, &name);

	if (!is_known || !name.name)
		if (!is_return && variable_name_add(m, addr, out))
			return true;
	if (!is_known || (!name.name && !name.has_file_addr))
		return false;
	if (name.object)
		strbuf_addf(out, "%s`", name.object);
	if (!name.name)
		strbuf_addf(out, "+0x%" PRIx64, name.file_addr);
	else if (name.off)
		strbuf_addf(out, "%s+0x%" PRIx64, name.name, name.off);
	else
		strbuf_adds(out, name.name);
	return true;
}

struct err *mdb_thread_check(struct mdb *m, pid_t tid)
{
	for (uint32_t i = 0; i < m->tids.len; i++)
		if (m->tids.data[i] == tid)
			return NULL;
	return err_hint(err_new("there is no thread %d", (int)tid),
			"::threads lists them; as an address, a decimal id is 0t%d", (int)tid);
}

struct err *mdb_number(const char *text, uint64_t max, uint64_t *ret)
{
	uint64_t value = 0;

	for (const char *p = text; *p || p == text; p++) {
		if (!isdigit((unsigned char)*p))
			return err_new("'%s' is no decimal number", text);
		value = value * 10 + (uint64_t)(*p - '0');
		if (value > max)
			return err_new("'%s' is greater than %" PRIu64, text, max);
	}
	*ret = value;
	return NULL;
}

/* ---- what the language asks ------------------------------------------------------------------ */

static bool name_find(void *ctx, const char *object, const char *name, uint64_t *ret)
{
	return mdb_symbol_find(ctx, object, name, ret);
}

static bool object_is_known(void *ctx, const char *object)
{
	return mdb_object_named(ctx, object);
}

/* Finds a register by the name that ::regs prints, or one of its parts, such as "eax". */
static bool register_place(const char *name, uint32_t *ret_off, uint32_t *ret_size)
{
	for (uint32_t i = 0; i < arch.nregs; i++) {
		if (strcmp(arch_text.registers[i], name) != 0)
			continue;
		*ret_off = 8 * i;
		*ret_size = 8;
		return true;
	}
	return arch.register_find(name, strlen(name), ret_off, ret_size) &&
	       *ret_off / 8 < arch.nregs;
}

static bool register_find(struct mdb *m, const char *name, uint64_t *ret)
{
	uint32_t off, size;
	struct arch_regs regs;
	struct err *e;

	if (!register_place(name, &off, &size))
		return false;
	e = target_regs(m->t, m->tid, &regs);
	if (e) {
		err_destroy(e); /* the caller says that there is no such register */
		return false;
	}
	*ret = regs.words[off / 8] >> 8 * (off % 8);
	if (size < 8)
		*ret &= (1ull << 8 * size) - 1;
	return true;
}

static bool variable_find(void *ctx, const char *name, uint64_t *ret)
{
	struct mdb *m = ctx;

	for (uint32_t i = 0; i < m->variables.len; i++) {
		if (strcmp(m->variables.data[i].name, name) != 0)
			continue;
		*ret = m->variables.data[i].value;
		return true;
	}
	return register_find(m, name, ret);
}

static bool memory_read(void *ctx, taddr addr, void *to, size_t size)
{
	return mdb_read(ctx, addr, to, size);
}

static bool name_add(void *ctx, taddr addr, struct strbuf *out)
{
	struct strbuf raw = {0};
	bool is_known = mdb_name_add(ctx, addr, false, &raw);

	text_escape(out, strbuf_text(&raw), raw.len);
	strbuf_deinit(&raw);
	return is_known;
}

static uint32_t insn_add(void *ctx, taddr addr, struct strbuf *out)
{
	uint8_t code[32];
	size_t n = arch.insns->max_len;

	while (n && !mdb_read(ctx, addr, code, n))
		n--;
	return n ? insn_text_add(out, code, n, addr).len : 0;
}

struct expr_env mdb_expr_env(struct mdb *m)
{
	return (struct expr_env){.ctx = m,
				 .dot = m->dot,
				 .next = m->dot + m->increment,
				 .previous = m->dot - m->increment,
				 .last = m->last,
				 .symbol = name_find,
				 .has_object = object_is_known,
				 .variable = variable_find,
				 .read = memory_read};
}

struct format_env mdb_format_env(struct mdb *m)
{
	return (struct format_env){.ctx = m,
				   .read = memory_read,
				   .name = name_add,
				   .insn = insn_add};
}
