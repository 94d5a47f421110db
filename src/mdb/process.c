/* SPDX-License-Identifier: MIT */
/*
 * Commands about what the kernel has given to the process: arguments, environment, auxiliary
 * vector, signal.
 *
 * At its start, a process has at the top of its stack, upwards:
 *
 *     argc, argv[0] ... argv[argc - 1], NULL, envp[0] ..., NULL, auxiliary vector, the texts
 *
 * A core file has the auxiliary vector in a note, too: where the stack has the same bytes, the
 * environment and the arguments are found below them (SysV AMD64 ABI 3.4.1).
 */
#include <elf.h>
#include <inttypes.h>

#include "base/text.h"
#include "mdb/impl.h"

#define VECTOR_MAX 1048576u /* words of arguments and environment; the kernel's limit is lower */
#define TEXT_MAX   (128u << 10) /* MAX_ARG_STRLEN: Linux include/uapi/linux/binfmts.h */
#define CHUNK	   65536u
#define MARK	   4 /* entries of the auxiliary vector by which it is found */

/* Finds the auxiliary vector in a mapping, from its end; 0: it is not there. */
static taddr vector_find(struct mdb *m, const struct proc_map *map, const uint64_t *mark)
{
	size_t size = MARK * sizeof(Elf64_auxv_t);
	uint8_t *bytes = xmalloc(CHUNK);
	taddr found = 0, end = map->end;

	while (!found && end > map->start && end - map->start >= size && !m->is_interrupted) {
		taddr from = end - MIN((uint64_t)CHUNK, end - map->start);
		size_t n = (size_t)(end - from);

		if (!mdb_read(m, from, bytes, n))
			break;
		for (size_t i = n - size + 1; !found && i--;)
			if ((from + i) % 8 == 0 && memcmp(bytes + i, mark, size) == 0)
				found = from + i;
		end = from == map->start ? from : from + size - 1;
	}
	free(bytes);
	return found;
}

/* Finds the auxiliary vector on the stack. */
static struct err *vector_at(struct mdb *m, taddr *ret)
{
	const struct proc_maps *maps = target_maps(m->t);
	uint64_t auxv[128] = {0};

	if (target_auxv(m->t, auxv, sizeof(auxv)) < MARK * sizeof(Elf64_auxv_t))
		return err_new("the auxiliary vector is not known");
	for (uint32_t i = maps->maps.len; i--;) {
		const struct proc_map *map = &maps->maps.data[i];

		if (proc_map_has_file(map) || !map->is_write)
			continue;
		*ret = vector_find(m, map, auxv);
		if (*ret)
			return NULL;
	}
	return err_new("the begin of the stack is not in the target's memory");
}

/* Finds the begin of the list of pointers whose terminating NULL is at end. */
static struct err *list_begin(struct mdb *m, taddr end, taddr *ret)
{
	uint64_t word;

	for (uint32_t i = 1; i < VECTOR_MAX; i++) {
		if (!mdb_read(m, end - 8ull * i, &word, sizeof(word)))
			break;
		/* before envp is the NULL of argv, before argv the number of arguments */
		if (!word || word == i - 1) {
			*ret = end - 8ull * (i - 1);
			return NULL;
		}
	}
	return err_new("the arguments on the stack are damaged");
}

static void text_row(struct mdb *m, taddr at, taddr pointer)
{
	struct strbuf text = {0};
	char c = 1;

	while (text.len < TEXT_MAX && mdb_read(m, pointer + text.len, &c, 1) && c)
		strbuf_addc(&text, c);
	emit_row(&m->out);
	emit_value(&m->out, pointer);
	emit_addr(&m->out, "pointer", at, 0);
	emit_addr(&m->out, "address", pointer, 16);
	emit_bytes(&m->out, "text", strbuf_text(&text), text.len, 1);
	if (c)
		emit_say(&m->out, "...");
	emit_bool(&m->out, "is-cut", c);
	emit_end(&m->out);
	strbuf_deinit(&text);
}

static void list_rows(struct mdb *m, taddr begin, taddr end)
{
	uint64_t pointer;

	for (taddr at = begin; at < end && !m->is_interrupted; at += 8)
		if (mdb_read(m, at, &pointer, sizeof(pointer)))
			text_row(m, at, pointer);
}

struct err *cmd_env(struct mdb *m, const struct call *c)
{
	taddr vector, begin;
	struct err *e = vector_at(m, &vector);

	if (!e)
		e = list_begin(m, vector - 8, &begin);
	if (!e)
		list_rows(m, begin, vector - 8);
	return e;
}

struct err *cmd_args(struct mdb *m, const struct call *c)
{
	taddr vector, begin, args;
	struct err *e = vector_at(m, &vector);

	if (!e)
		e = list_begin(m, vector - 8, &begin);
	if (!e)
		e = list_begin(m, begin - 8, &args);
	if (!e)
		list_rows(m, args, begin - 8);
	return e;
}

/* ---- notes ----------------------------------------------------------------------------------- */

static const char *aux_name(uint64_t type)
{
	/* clang-format off */
	static const struct {
		uint64_t type;
		const char *name;
	} names[] = {
		{AT_EXECFD, "EXECFD"}, {AT_PHDR, "PHDR"}, {AT_PHENT, "PHENT"},
		{AT_PHNUM, "PHNUM"}, {AT_PAGESZ, "PAGESZ"}, {AT_BASE, "BASE"},
		{AT_FLAGS, "FLAGS"}, {AT_ENTRY, "ENTRY"}, {AT_UID, "UID"},
		{AT_EUID, "EUID"}, {AT_GID, "GID"}, {AT_EGID, "EGID"},
		{AT_CLKTCK, "CLKTCK"}, {AT_PLATFORM, "PLATFORM"}, {AT_HWCAP, "HWCAP"},
		{AT_HWCAP2, "HWCAP2"}, {AT_SECURE, "SECURE"}, {AT_RANDOM, "RANDOM"},
		{AT_EXECFN, "EXECFN"}, {AT_SYSINFO_EHDR, "SYSINFO_EHDR"},
		{AT_MINSIGSTKSZ, "MINSIGSTKSZ"}, {27, "RSEQ_FEATURE_SIZE"}, {28, "RSEQ_ALIGN"},
	};
	/* clang-format on */

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (names[i].type == type)
			return names[i].name;
	return "?";
}

struct err *cmd_auxv(struct mdb *m, const struct call *c)
{
	Elf64_auxv_t auxv[64] = {0};
	size_t n = target_auxv(m->t, auxv, sizeof(auxv)) / sizeof(*auxv);

	if (!n)
		return err_new("the auxiliary vector is not known");
	for (size_t i = 0; i < n && auxv[i].a_type != AT_NULL; i++) {
		struct strbuf name = {0};

		emit_row(&m->out);
		emit_value(&m->out, auxv[i].a_un.a_val);
		emit_int(&m->out, "type", (int64_t)auxv[i].a_type, 4);
		emit_str(&m->out, "name", aux_name(auxv[i].a_type), -18);
		emit_addr(&m->out, "value", auxv[i].a_un.a_val, 16);
		if (mdb_name_add(m, auxv[i].a_un.a_val, false, &name))
			emit_bytes(&m->out, "symbol", strbuf_text(&name), name.len, 1);
		emit_end(&m->out);
		strbuf_deinit(&name);
	}
	return NULL;
}

struct err *cmd_siginfo(struct mdb *m, const struct call *c)
{
	const char *name;
	siginfo_t si;

	if (!target_signal(m->t, &si))
		return err_new("the target was not ended by a signal, or that is not known");
	name = sigabbrev_np(si.si_signo);
	emit_row(&m->out);
	emit_say(&m->out, "signal ");
	emit_int(&m->out, "signal", si.si_signo, 1);
	if (name) {
		emit_say(&m->out, "SIG");
		emit_str(&m->out, "name", name, 1);
	}
	emit_say(&m->out, "code ");
	emit_int(&m->out, "code", si.si_code, 1);
	if (si.si_code <= 0) { /* a process has sent it: sigaction(2) */
		emit_say(&m->out, "from process ");
		emit_int(&m->out, "sender", si.si_pid, 1);
		emit_say(&m->out, "of user ");
		emit_int(&m->out, "uid", (int64_t)si.si_uid, 1);
	} else {
		emit_say(&m->out, "address ");
		emit_addr(&m->out, "address", (uint64_t)(uintptr_t)si.si_addr, 1);
	}
	emit_end(&m->out);
	return NULL;
}
