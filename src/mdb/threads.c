/* SPDX-License-Identifier: MIT */
/* Commands about threads and their registers, and about the target as a whole. */
#include <elf.h>
#include <inttypes.h>
#include <stdlib.h>

#include "arch/text.h"
#include "base/text.h"
#include "image/image.h"
#include "image/object.h"
#include "mdb/impl.h"

#define VECTOR_MAX 65536u /* bytes of floating point and vector registers */

/* ---- threads --------------------------------------------------------------------------------- */

const char *thread_state_name(char state)
{
	switch (state) {
	case 'R': return "running";
	case 'S': return "sleeping";
	case 'D': return "waiting in the kernel";
	case 'T': return "stopped";
	case 't': return "traced";
	case 'Z': return "ended";
	case 'I': return "idle";
	default: return "-";
	}
}

struct err *cmd_threads(struct mdb *m, const struct call *c)
{
	emit_say(&m->out, "  %10s %-16s %-10s %s\n", "TID", "NAME", "STATE", "FUNCTION");
	for (uint32_t i = 0; i < m->tids.len && !m->is_interrupted; i++) {
		pid_t tid = m->tids.data[i];
		struct strbuf name = {0};
		struct target_who who;
		struct arch_regs regs;
		struct err *e;

		if (!target_who(m->t, tid, &who))
			continue;
		e = target_regs(m->t, tid, &regs);
		if (!e && !mdb_name_add(m, regs.words[arch.pc / 8], false, &name))
			strbuf_addf(&name, "0x%" PRIx64, regs.words[arch.pc / 8]);
		emit_row(&m->out);
		emit_value(&m->out, (uint64_t)tid);
		emit_say(&m->out, "%s", tid == m->tid ? "* " : "  ");
		emit_bool(&m->out, "chosen", tid == m->tid);
		emit_int(&m->out, "tid", tid, 10);
		emit_str(&m->out, "name", who.name, -16);
		emit_str(&m->out, "state", thread_state_name(who.state), -10);
		emit_bytes(&m->out, e ? "missing" : "function",
			   e ? err_text(e) : strbuf_text(&name), e ? strlen(err_text(e)) : name.len,
			   1);
		emit_end(&m->out);
		strbuf_deinit(&name);
		err_destroy(e);
	}
	return NULL;
}

/* The id is the address, or a decimal argument; without both, the thread that is chosen is told. */
struct err *cmd_context(struct mdb *m, const struct call *c)
{
	uint64_t tid = c->has_addr ? c->addr : (uint64_t)m->tid;
	struct err *e = c->argc ? mdb_number(c->argv[0], INT32_MAX, &tid) : NULL;

	if (!e && tid > INT32_MAX)
		e = err_new("0x%" PRIx64 " is no id of a thread", tid);
	if (!e)
		e = mdb_thread_check(m, (pid_t)tid);
	if (e)
		return e;
	m->tid = (pid_t)tid;
	emit_row(&m->out);
	emit_value(&m->out, tid);
	emit_say(&m->out, "thread ");
	emit_int(&m->out, "tid", m->tid, 1);
	emit_end(&m->out);
	return NULL;
}

static void register_row(struct mdb *m, const char *name, uint64_t value, bool is_known)
{
	struct strbuf symbol = {0};

	emit_row(&m->out);
	if (is_known)
		emit_value(&m->out, value);
	emit_str(&m->out, "register", name, -8);
	if (is_known)
		emit_addr(&m->out, "value", value, 16);
	else
		emit_say(&m->out, "%16s ", "not known");
	if (is_known && mdb_name_add(m, value, false, &symbol))
		emit_bytes(&m->out, "name", strbuf_text(&symbol), symbol.len, 1);
	emit_end(&m->out);
	strbuf_deinit(&symbol);
}

/*
 * Of an outer frame, only the registers are known that functions save for their callers, as far as
 * unwind tables say where, and those that the walk itself follows.
 */
struct err *cmd_regs(struct mdb *m, const struct call *c)
{
	struct frame_regs regs = {0};
	uint64_t frame = 0;
	struct err *e = c->opts['f'] ? mdb_number(c->opts['f'], UINT32_MAX, &frame) : NULL;

	if (!e && frame) {
		e = stack_frame_regs(m, frame, &regs);
	} else if (!e) {
		struct arch_regs own;

		e = target_regs(m->t, m->tid, &own);
		if (!e)
			memcpy(regs.words, own.words, sizeof(regs.words));
		regs.known = UINT64_MAX;
	}
	for (uint32_t i = 0; !e && i < arch.nregs; i++)
		register_row(m, arch_text.registers[i], regs.words[i], regs.known >> i & 1);
	return e;
}

static void vector_row(void *ctx, const char *name, const uint8_t *bytes, size_t size,
		       const char *numbers)
{
	struct strbuf value = {0};
	struct mdb *m = ctx;

	strbuf_adds(&value, "0x");
	for (size_t i = size; i--;)
		strbuf_addf(&value, "%02x", bytes[i]);
	emit_row(&m->out);
	emit_str(&m->out, "register", name, -6);
	emit_str(&m->out, "value", strbuf_text(&value), *numbers ? -66 : 1);
	if (*numbers)
		emit_str(&m->out, "numbers", numbers, 1);
	emit_end(&m->out);
	strbuf_deinit(&value);
}

/* The larger note has all; older core files have the smaller one only. */
struct err *cmd_fpregs(struct mdb *m, const struct call *c)
{
	CLEANUP(free) uint8_t *note = xmalloc(VECTOR_MAX);
	size_t n = target_regs_note(m->t, m->tid, arch.elf.vector_note, note, VECTOR_MAX);

	if (!n)
		n = target_regs_note(m->t, m->tid, NT_PRFPREG, note, VECTOR_MAX);
	return n && arch_text.vectors(note, n, c->opts['v'] != NULL, vector_row, m)
		       ? NULL
		       : err_new("the floating point registers of thread %d are not known",
				 (int)m->tid);
}

/* ---- the target ------------------------------------------------------------------------------ */

/* Tells si_addr of a fault, and the file whose mapping contains it. */
static void fault_tell(struct mdb *m, uint64_t addr)
{
	const struct proc_map *map = proc_maps_find(target_maps(m->t), addr);
	CLEANUP(free) char *path = text_clean(xstrdup(map ? map->path : ""));

	emit_row(&m->out);
	emit_say(&m->out, "fault: ");
	emit_addr(&m->out, "fault-address", addr, 1);
	emit_say(&m->out, "(%s)", !map ? "not mapped" : *path ? path : "memory without a file");
	emit_end(&m->out);
}

static void signal_tell(struct mdb *m)
{
	const char *name;
	siginfo_t si;

	if (!target_signal(m->t, &si))
		return;
	name = sigabbrev_np(si.si_signo);
	emit_row(&m->out);
	emit_say(&m->out, "signal: %s", name ? "SIG" : "");
	emit_int(&m->out, "signal", si.si_signo, name ? 0 : 1);
	if (name)
		emit_str(&m->out, "signal-name", name, 1);
	emit_say(&m->out, "(code %d)", si.si_code);
	emit_int(&m->out, "code", si.si_code, 0);
	emit_end(&m->out);
	if (si.si_code > 0 && (si.si_signo == SIGSEGV || si.si_signo == SIGBUS ||
			       si.si_signo == SIGILL || si.si_signo == SIGFPE))
		fault_tell(m, (uint64_t)(uintptr_t)si.si_addr);
}

static void files_tell(struct mdb *m)
{
	for (uint32_t i = 0; i < m->objects.len; i++) {
		const struct mdb_object *o = &m->objects.data[i];

		if (o->image || o->map->path[0] != '/')
			continue;
		emit_row(&m->out);
		emit_say(&m->out, "missing: ");
		emit_str(&m->out, "missing-file", o->map->path, 1);
		emit_say(&m->out, "%s",
			 o->map->is_stale ? "is another build now: its symbols are not used"
					  : "cannot be opened");
		emit_bool(&m->out, "is-another-build", o->map->is_stale);
		emit_end(&m->out);
	}
}

static void memory_tell(struct mdb *m)
{
	const struct proc_maps *maps = target_maps(m->t);
	struct target_cut cut;
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < maps->maps.len; i++)
		bytes += maps->maps.data[i].end - maps->maps.data[i].start;
	emit_row(&m->out);
	emit_say(&m->out, "threads: ");
	emit_int(&m->out, "threads", m->tids.len, 1);
	emit_say(&m->out, "memory: %" PRIu64 " kB in ", bytes / 1024);
	emit_int(&m->out, "mapped-bytes", (int64_t)bytes, 0);
	emit_int(&m->out, "mappings", maps->maps.len, 1);
	emit_say(&m->out, "mappings");
	emit_end(&m->out);
	if (!m->opts.core || !target_core_cut(m->t, &cut))
		return;
	if (cut.damage) {
		emit_row(&m->out);
		emit_say(&m->out, "damaged: ");
		emit_str(&m->out, "damage", cut.damage, 1);
		emit_end(&m->out);
	}
	if (cut.have == cut.want)
		return;
	emit_row(&m->out);
	emit_say(&m->out,
		 "cut: %" PRIu64 " of %" PRIu64 " MB are there: memory from 0x%" PRIx64
		 " on is missing",
		 cut.have >> 20, (cut.want + (1u << 20) - 1) >> 20, cut.from);
	emit_int(&m->out, "core-bytes", (int64_t)cut.have, 0);
	emit_int(&m->out, "core-bytes-expected", (int64_t)cut.want, 0);
	emit_addr(&m->out, "missing-from", cut.from, 0);
	emit_end(&m->out);
}

static void copy_tell(struct mdb *m)
{
	if (!m->opts.is_copy)
		return;
	emit_row(&m->out);
	emit_say(&m->out,
		 "copied: %" PRIu64 " kB, for which the process stood still for %" PRIu64 " ms",
		 m->copied.bytes / 1024, m->copied.stopped_ns / 1000000);
	emit_int(&m->out, "copied-bytes", (int64_t)m->copied.bytes, 0);
	emit_int(&m->out, "stopped-ns", (int64_t)m->copied.stopped_ns, 0);
	emit_end(&m->out);
}

struct err *cmd_status(struct mdb *m, const struct call *c)
{
	const struct proc_map *program = target_program(m->t);
	struct target_who who = {0};

	(void)target_who(m->t, m->tid, &who); /* what is not known stays empty */
	emit_row(&m->out);
	emit_say(&m->out, "debugging %s ",
		 m->opts.core	   ? "core file of"
		 : m->opts.is_copy ? "copy of process"
				   : "process");
	emit_str(&m->out, "kind", m->opts.core ? "core" : m->opts.is_copy ? "copy" : "process", 0);
	emit_str(&m->out, "name", who.name, 1);
	emit_say(&m->out, "pid ");
	emit_int(&m->out, "pid", target_pid(m->t), 1);
	if (m->tid) {
		emit_say(&m->out, "thread ");
		emit_int(&m->out, "tid", m->tid, 1);
	}
	emit_end(&m->out);
	if (*who.args) {
		emit_row(&m->out);
		emit_say(&m->out, "command: ");
		emit_str(&m->out, "command", who.args, 1);
		emit_end(&m->out);
	}
	for (uint32_t i = 0; program && i < m->objects.len; i++) {
		const struct mdb_object *o = &m->objects.data[i];

		if (o->map != program)
			continue;
		emit_row(&m->out);
		emit_say(&m->out, "file: ");
		emit_str(&m->out, "file", program->path, 1);
		if (o->image) {
			emit_say(&m->out, "build-id ");
			emit_str(&m->out, "build-id", object_build_id(image_object(o->image, 0)),
				 1);
		}
		emit_end(&m->out);
	}
	signal_tell(m);
	copy_tell(m);
	memory_tell(m);
	files_tell(m);
	return NULL;
}
