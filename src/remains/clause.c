/* SPDX-License-Identifier: MIT */
/* Runs clauses in the interpreter of DIF, and makes their records. */
#include "remains/impl.h"

#include <time.h>

/* ---- what clauses see ------------------------------------------------------------------------ */

static const struct unit_identity *identity_of(const struct remains_run *r)
{
	if (r->is_in_error)
		return &r->firing->error_id;
	return r->clause->as ? r->clause->as : &r->probe->id;
}

static uint32_t epid_of(const struct remains_run *r)
{
	const struct unit_clause *uc = r->clause;
	uint32_t i = 0;

	while (i + 1 < uc->nprobes && uc->probe_idxs[i] != identity_of(r)->probe_idx)
		i++;
	return uc->layout->first_epid + unit_clause_rank(uc, i);
}

/* The address of a text that the machine keeps: one for each text. */
static uint64_t name_addr(struct remains_run *r, const char *text)
{
	void *addr = hashmap_finds(r->names, text);

	if (!addr) {
		addr = (void *)(uintptr_t)dif_machine_string(r->machine, text);
		hashmap_sets(r->names, text, addr);
	}
	return (uint64_t)(uintptr_t)addr;
}

static uint64_t walltime_read(const struct remains_run *r)
{
	return r->time + (uint64_t)r->run.control->wall_offset;
}

static uint64_t arg_get(const struct remains_run *r, uint64_t index)
{
	if (r->is_in_error)
		return index < ARRAY_LEN(r->error_args) ? r->error_args[index] : 0;
	if (r->firing->is_begin_end)
		return 0;
	if (index == 9)
		return EVENT_AT;
	return index < ARRAY_LEN(r->event.args) ? r->event.args[index] : 0;
}

/* The return address of the frame of the event; 0: there is no such frame. */
static uint64_t caller_get(const struct remains_run *r)
{
	const struct stack *s = r->event.stack;
	uint32_t n = 0;

	for (uint32_t i = r->event.frame; s && i < s->frames.len; i++)
		if (s->frames.data[i].kind == REPLAY_NATIVE && n++)
			return s->frames.data[i].pc;
	return 0;
}

static uint64_t depth_get(const struct remains_run *r)
{
	const struct stack *s = r->event.stack;
	uint64_t n = 0;

	for (uint32_t i = r->event.frame; s && i < s->frames.len; i++)
		n += s->frames.data[i].kind == REPLAY_NATIVE;
	return n;
}

/* Those that check.c refuses do not get here. */
static enum dif_fault builtin_get(void *ctx, uint32_t id, uint64_t index, uint64_t *ret)
{
	struct remains_run *r = ctx;
	struct thread_facts *t;

	*ret = 0;
	if (id == DIF_VAR_ARGS || (id >= DIF_VAR_ARG0 && id <= DIF_VAR_ARG9)) {
		*ret = arg_get(r, id == DIF_VAR_ARGS ? index : id - DIF_VAR_ARG0);
		return DIF_FAULT_NONE;
	}
	if (id >= DIF_VAR_PROBEPROV && id <= DIF_VAR_PROBENAME) {
		*ret = name_addr(r, strtab_get(r->layout->strtab,
					       identity_of(r)->names[id - DIF_VAR_PROBEPROV]));
		return DIF_FAULT_NONE;
	}
	t = event_thread(r);
	switch (id) {
	case DIF_VAR_ID: *ret = identity_of(r)->probe; break;
	case DIF_VAR_EPID: *ret = epid_of(r); break;
	case DIF_VAR_TIMESTAMP: *ret = r->time; break;
	case DIF_VAR_WALLTIMESTAMP: *ret = walltime_read(r); break;
	case DIF_VAR_PID: *ret = (uint64_t)target_pid(r->m->t); break;
	case DIF_VAR_TID: *ret = (uint64_t)t->tid; break;
	case DIF_VAR_PPID: *ret = (uint64_t)t->who.ppid; break;
	case DIF_VAR_UID: *ret = t->who.uid; break;
	case DIF_VAR_GID: *ret = t->who.gid; break;
	case DIF_VAR_EXECNAME: *ret = name_addr(r, t->who.name); break;
	case DIF_VAR_EXECARGS: *ret = name_addr(r, t->who.args); break;
	case DIF_VAR_UCALLER: *ret = caller_get(r); break;
	case DIF_VAR_USTACKDEPTH: *ret = depth_get(r); break;
	case DIF_VAR_LFILE:
	case DIF_VAR_LLINE:
	case DIF_VAR_LFUNC: *ret = lang_part(r, id); break;
	default: return DIF_FAULT_ILLOP;
	}
	return DIF_FAULT_NONE;
}

/* Those that check.c refuses do not get here. */
static enum dif_fault missing_subr(void *ctx, uint32_t subr, const uint64_t *v, uint64_t *ret)
{
	(void)v;
	if (subr != DIF_SUBR_SPECULATION)
		return DIF_FAULT_ILLOP;
	*ret = spec_take(ctx);
	return DIF_FAULT_NONE;
}

static bool kernel_load(void *ctx, uint64_t addr, void *buf, uint32_t size)
{
	return event_load(ctx, addr, buf, size);
}

static bool user_load(void *ctx, uint64_t addr, void *buf, uint32_t size)
{
	return mdb_read(((struct remains_run *)ctx)->m, addr, buf, size);
}

struct dif_env clause_env(struct remains_run *r)
{
	struct dif_env env = dif_env_none;

	env.ctx = r;
	env.load_kernel = kernel_load;
	env.load_user = user_load;
	env.builtin = builtin_get;
	env.attach = remains_subr;
	env.missing = missing_subr;
	return env;
}

/* ---- records --------------------------------------------------------------------------------- */

static void record_add(struct remains_run *r, const void *data, size_t len)
{
	struct record *rec = xmalloc(sizeof(*rec) + len);

	rec->len = (uint32_t)len;
	memcpy(rec->data, data, len);
	vec_push(&r->records, rec);
	r->nbytes += len;
}

static void clauses_run(struct remains_run *r, const struct unit_clause *clauses, uint32_t n,
			const uint64_t *mask);

/* Records the fault, and runs the clauses on ERROR; a fault in one of those is counted only. */
static void fault_add(struct remains_run *r, enum dif_fault kind, uint64_t value, uint32_t offset,
		      uint32_t action)
{
	const struct unit_clause *clause = r->clause;
	const struct rt_rec_fault f = {
		.rec = {RT_REC_FAULT, identity_of(r)->probe, r->time},
		.fault = {.kind = kind,
			  .clause = clause->layout->clause->index,
			  .action = action,
			  .offset = (int32_t)offset,
			  .value = value},
		.epid = epid_of(r),
		.pid = (uint64_t)target_pid(r->m->t),
	};

	if (r->is_in_error) {
		r->run.control->cpu[0].dblerrors++;
		return;
	}
	record_add(r, &f, sizeof(f));
	if (!r->firing->nerror_clauses)
		return;
	r->error_args[1] = f.epid;
	r->error_args[2] = action;
	r->error_args[3] = (uint64_t)(int64_t)f.fault.offset;
	r->error_args[4] = kind;
	r->error_args[5] = value;
	r->is_in_error = true;
	clauses_run(r, r->firing->error_clauses, r->firing->nerror_clauses, NULL);
	r->is_in_error = false;
	r->clause = clause;
}

#define OFFSET_UNKNOWN UINT32_MAX

bool clause_value(struct remains_run *r, const struct difo *d, uint32_t action, uint64_t *ret)
{
	struct dif_result res = dif_run(r->machine, d);

	*ret = res.value;
	if (res.fault == DIF_FAULT_NONE)
		return true;
	fault_add(r, res.fault, res.fault_value, res.offset, action);
	return false;
}

/* Reads a text in memory of the process, up to its NUL. */
static bool user_text(struct remains_run *r, uint64_t addr, uint32_t *ret_len)
{
	uint32_t max = r->layout->strsize - 1;

	for (*ret_len = 0; *ret_len < max; ++*ret_len) {
		char *to = r->text_buf + *ret_len;

		if (!mdb_read(r->m, addr + *ret_len, to, 1))
			return false;
		if (!*to)
			return true;
	}
	r->text_buf[max] = '\0';
	return true;
}

bool clause_text(struct remains_run *r, const struct difo *d, uint32_t action, uint32_t *ret_len,
		 bool *ret_null)
{
	uint64_t addr;

	if (!clause_value(r, d, action, &addr))
		return false;
	*ret_null = !addr;
	if (addr && d->ret.flags & DIF_TF_BYUREF
		    ? user_text(r, addr, ret_len)
		    : dif_machine_text(r->machine, addr, r->text_buf, ret_len))
		return true;
	fault_add(r, DIF_FAULT_BADADDR, addr, OFFSET_UNKNOWN, action);
	return false;
}

bool clause_bytes(struct remains_run *r, const struct difo *d, uint32_t action, void *to,
		  uint32_t size)
{
	uint64_t addr;

	if (!clause_value(r, d, action, &addr))
		return false;
	if (d->ret.flags & DIF_TF_BYUREF ? mdb_read(r->m, addr, to, size)
					 : dif_machine_bytes(r->machine, addr, to, size))
		return true;
	fault_add(r, DIF_FAULT_BADADDR, addr, OFFSET_UNKNOWN, action);
	return false;
}

uint32_t clause_strid(const struct remains_run *r, const struct difo *d)
{
	const char *s = difo_is_strconst(d);
	uint32_t id = 0;

	if (!s)
		return identity_of(r)->names[difo_is_builtin(d) - DIF_VAR_PROBEPROV];
	(void)strtab_find(r->layout->strtab, s, strlen(s), &id);
	return id;
}

static void rec_put(struct remains_run *r, uint32_t off, const void *data, size_t size)
{
	memcpy(r->rec.data + off, data, size);
}

static bool string_record(struct remains_run *r, const struct rec_field *f, const struct difo *d,
			  uint32_t action)
{
	struct rt_str s = {0};
	bool is_null;

	if (!clause_text(r, d, action, &s.len, &is_null))
		return false;
	s.off = (uint32_t)r->rec.len;
	if (is_null)
		s = (struct rt_str){0, UINT32_MAX};
	else
		strbuf_add(&r->rec, r->text_buf, s.len + 1);
	rec_put(r, f->off, &s, sizeof(s));
	return true;
}

static void stack_record(struct remains_run *r, const struct rec_field *f)
{
	struct rt_str s = {.off = (uint32_t)r->rec.len};

	stack_words_add(r, f->frames, f->strsize, f->is_lang, &r->rec);
	s.len = (uint32_t)r->rec.len - s.off;
	rec_put(r, f->off, &s, sizeof(s));
}

/* size: of memory, as many bytes of the field as are recorded. */
static bool bytes_record(struct remains_run *r, const struct rec_field *f, const struct difo *d,
			 uint32_t action, uint32_t size)
{
	CLEANUP(free) uint8_t *bytes = xcalloc(1, MAX(f->size, 16u));
	uint64_t value, named = r->m->named;

	if (f->datum == DATUM_USYM || f->datum == DATUM_UMOD || f->datum == DATUM_UADDR) {
		if (!clause_value(r, d, action, &value))
			return false;
		memcpy(bytes, &named, sizeof(named));
		memcpy(bytes + 8, &value, sizeof(value));
		size = 16;
	} else if (!clause_bytes(r, d, action, bytes, size)) {
		return false;
	}
	rec_put(r, f->off, bytes, MIN(size, f->size));
	return true;
}

static bool field_record(struct remains_run *r, const struct rec_field *f, const struct difo *d,
			 uint32_t action, uint32_t size)
{
	char comm[16] = {0};
	uint64_t value;
	uint32_t id;

	switch (f->kind) {
	case REC_INT:
		if (!clause_value(r, d, action, &value))
			return false;
		rec_put(r, f->off, &value, f->size);
		return true;
	case REC_STR: return string_record(r, f, d, action);
	case REC_COMM:
		memcpy(comm, event_thread(r)->who.name, sizeof(comm) - 1);
		rec_put(r, f->off, comm, sizeof(comm));
		return true;
	case REC_STRID:
		id = clause_strid(r, d);
		rec_put(r, f->off, &id, sizeof(id));
		return true;
	case REC_BYTES: return bytes_record(r, f, d, action, size);
	case REC_STACK: stack_record(r, f); return true;
	}
	BUG("a field of kind %d", (int)f->kind);
}

/* Of memory with a length that was recorded before it, so many bytes are read. */
static uint32_t memory_size(const struct remains_run *r, const struct act_layout *al,
			    const struct prog_act *act, uint32_t k)
{
	const struct rec_field *f = &al->fields[k], *of;
	uint64_t len = 0;

	if (!act->arg_kinds || act->arg_kinds[k] != DATUM_MEMORY || act->memory.len_arg >= k)
		return f->size;
	of = &al->fields[act->memory.len_arg];
	memcpy(&len, r->rec.data + of->off, of->size);
	return (uint32_t)MIN(len, (uint64_t)f->size);
}

/* Notes that the action was executed, if the clause has branches. */
static void executed_mark(struct remains_run *r, uint32_t i)
{
	const struct clause_layout *cl = r->clause->layout;

	if (cl->executed_off)
		r->rec.data[cl->executed_off + i / 8] |= (char)(1 << i % 8);
}

static bool act_record(struct remains_run *r, uint32_t i)
{
	const struct clause_layout *cl = r->clause->layout;
	const struct act_layout *al = &cl->acts[i];
	const struct prog_act *act = &cl->clause->acts[i];

	for (uint32_t k = 0; k < al->nfields; k++)
		if (!field_record(r, &al->fields[k], act->args[k], act->number + k,
				  memory_size(r, al, act, k)))
			return false;
	executed_mark(r, i);
	r->has_exited |= act->kind == ACT_EXIT;
	return true;
}

/* ---- speculations ---------------------------------------------------------------------------- */

/* The number of the action that is next, as act_run(). */
static uint32_t speculate_run(struct remains_run *r, uint32_t i)
{
	const struct prog_clause *c = r->clause->layout->clause;
	const struct prog_act *act = &c->acts[i];
	bool is_fault;
	uint64_t id;

	if (!clause_value(r, act->args[0], act->number, &id))
		return c->nacts + 1;
	if (!spec_begin(r, id, &is_fault)) {
		if (is_fault)
			fault_add(r, DIF_FAULT_ILLOP, 0, OFFSET_UNKNOWN, act->number);
		return c->nacts + 1;
	}
	if (c->is_default)
		executed_mark(r, i);
	return i + 1;
}

/* commit() and discard(). */
static bool spec_end_run(struct remains_run *r, const struct prog_act *act)
{
	struct rt_rec_commit rec = {{RT_REC_COMMIT, identity_of(r)->probe, r->time}, {0}};
	uint64_t id;

	if (!clause_value(r, act->args[0], act->number, &id))
		return false;
	if (!spec_end(r, id, act->kind == ACT_COMMIT, &rec.tag)) {
		fault_add(r, DIF_FAULT_ILLOP, 0, OFFSET_UNKNOWN, act->number);
		return false;
	}
	if (rec.tag.word)
		record_add(r, &rec, sizeof(rec));
	return true;
}

/* ---- clauses --------------------------------------------------------------------------------- */

/* The number of the action that is next; nacts + 1: the clause has ended with a fault. */
static uint32_t act_run(struct remains_run *r, uint32_t i)
{
	const struct prog_clause *c = r->clause->layout->clause;
	const struct prog_act *act = &c->acts[i];
	uint64_t value = 0;
	bool is_fine;

	if (act->kind == ACT_JMP)
		return act->target;
	if (act->kind == ACT_SPECULATE)
		return speculate_run(r, i);
	if (act->kind == ACT_COMMIT || act->kind == ACT_DISCARD)
		is_fine = spec_end_run(r, act);
	else if (act->kind == ACT_AGG)
		is_fine = aggregate(r, act);
	else if (act->kind == ACT_EXPR || act->kind == ACT_BRZ)
		is_fine = clause_value(r, act->args[0], act->number, &value);
	else
		is_fine = act_record(r, i);
	if (!is_fine)
		return c->nacts + 1;
	return act->kind == ACT_BRZ && !value ? act->target : i + 1;
}

/* Whether anything was recorded: with branches, an action of those that record was executed. */
static bool record_has_data(const struct remains_run *r)
{
	const struct clause_layout *cl = r->clause->layout;

	if (!cl->executed_off)
		return true;
	for (uint32_t i = 0; i < (cl->clause->nacts + 7) / 8; i++)
		if (r->rec.data[cl->executed_off + i])
			return true;
	return false;
}

static void clause_run(struct remains_run *r)
{
	const struct clause_layout *cl = r->clause->layout;
	const struct prog_clause *c = cl->clause;
	const struct rt_rec head = {c->index, identity_of(r)->probe, r->time};
	uint64_t value = 1, pid = (uint64_t)target_pid(r->m->t);
	uint32_t i = 0;

	dif_machine_begin_clause(r->machine);
	if (c->pred && (!clause_value(r, c->pred, 0, &value) || !value))
		return;
	strbuf_clear(&r->rec);
	strbuf_pad(&r->rec, '\0', MAX((size_t)cl->heap_off, sizeof(head)));
	rec_put(r, 0, &head, sizeof(head));
	if (cl->pid_off)
		rec_put(r, cl->pid_off, &pid, sizeof(pid));
	while (i < c->nacts)
		i = act_run(r, i);
	if (i == c->nacts && c->records && record_has_data(r)) {
		record_add(r, r->rec.data, r->rec.len);
		spec_count(r);
	}
}

static void clauses_run(struct remains_run *r, const struct unit_clause *clauses, uint32_t n,
			const uint64_t *mask)
{
	for (uint32_t i = 0; i < n && !r->has_exited; i++) {
		r->clause = &clauses[i];
		if (!mask || mask[i / 64] >> (i % 64) & 1)
			clause_run(r);
	}
}

void unit_fire(struct remains_run *r, const struct unit *u, const struct unit_probe *p)
{
	uint32_t state = r->run.control->state;

	r->firing = u;
	r->probe = p;
	r->time = now_ns();
	r->has_exited = false;
	dif_machine_begin_firing(r->machine, (uint64_t)event_thread(r)->tid);
	clauses_run(r, u->clauses, u->nclauses, p->mask);
	if (r->has_exited && state == RT_STATE_ON)
		r->run.control->state = RT_STATE_EXITING;
}
