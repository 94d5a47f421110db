/* SPDX-License-Identifier: MIT */
/* Commands about symbols and code: tables of symbols, disassembly. */
#include <fnmatch.h>
#include <inttypes.h>

#include "arch/text.h"
#include "base/text.h"
#include "files/gate.h"
#include "image/debugfile.h"
#include "image/image.h"
#include "image/symtab.h"
#include "mdb/impl.h"

/* ---- tables ---------------------------------------------------------------------------------- */

static const char *type_name(unsigned char type)
{
	switch (type) {
	case STT_NOTYPE: return "NOTY";
	case STT_OBJECT: return "OBJT";
	case STT_FUNC: return "FUNC";
	case STT_SECTION: return "SECT";
	case STT_FILE: return "FILE";
	case STT_COMMON: return "COMM";
	case STT_TLS: return "TLS";
	case STT_GNU_IFUNC: return "IFNC";
	default: return "?";
	}
}

static const char *bind_name(unsigned char bind)
{
	switch (bind) {
	case STB_LOCAL: return "LOCL";
	case STB_GLOBAL: return "GLOB";
	case STB_WEAK: return "WEAK";
	case STB_GNU_UNIQUE: return "UNIQ";
	default: return "?";
	}
}

static const char *section_name(uint16_t index, char room[8])
{
	if (index == SHN_UNDEF)
		return "UNDEF";
	if (index == SHN_ABS)
		return "ABS";
	if (index == SHN_COMMON)
		return "COMMON";
	(void)snprintf(room, 8, "%u", index);
	return room;
}

/* Which symbols are shown. */
struct filter {
	const char *glob;   /* NULL: any name */
	unsigned char type; /* STT_NOTYPE: any but sections and files */
	bool undefined_only;
};

static bool symbol_is_shown(const struct filter *f, const GElf_Sym *sym, const char *name)
{
	unsigned char type = GELF_ST_TYPE(sym->st_info);

	if (!name || !*name || type == STT_SECTION || type == STT_FILE)
		return false;
	if (f->undefined_only != (sym->st_shndx == SHN_UNDEF))
		return false;
	if (f->type != STT_NOTYPE && type != f->type &&
	    !(f->type == STT_FUNC && type == STT_GNU_IFUNC))
		return false;
	return !f->glob || fnmatch(f->glob, name, 0) == 0;
}

/* The address in the target; of a thread-local, absolute or undefined symbol, its value. */
static uint64_t symbol_addr(const struct mdb_object *o, const GElf_Sym *sym)
{
	bool is_fixed = sym->st_shndx == SHN_UNDEF || sym->st_shndx == SHN_ABS ||
			GELF_ST_TYPE(sym->st_info) == STT_TLS;

	return sym->st_value + (is_fixed ? 0 : o->bias);
}

static void symbol_row(struct mdb *m, const struct mdb_object *o, const GElf_Sym *sym,
		       const char *name)
{
	uint64_t addr = symbol_addr(o, sym);
	const char *type = type_name(GELF_ST_TYPE(sym->st_info));
	const char *bind = bind_name(GELF_ST_BIND(sym->st_info));
	char room[8];
	const char *section = section_name(sym->st_shndx, room);

	emit_row(&m->out);
	emit_value(&m->out, addr);
	emit_say(&m->out, "0x%016" PRIx64 "|0x%016" PRIx64 "|%-5s|%-5s|0x%-3x|%-8s|", addr,
		 (uint64_t)sym->st_size, type, bind, sym->st_other, section);
	emit_addr(&m->out, "value", addr, 0);
	emit_int(&m->out, "size", (int64_t)sym->st_size, 0);
	emit_str(&m->out, "type", type, 0);
	emit_str(&m->out, "bind", bind, 0);
	emit_int(&m->out, "other", sym->st_other, 0);
	emit_str(&m->out, "section", section, 0);
	emit_str(&m->out, "object", o->name, 0);
	emit_str(&m->out, "name", name, 1);
	emit_end(&m->out);
}

static void found_row(struct mdb *m, const struct mdb_object *o, const GElf_Sym *sym,
		      const char *name)
{
	CLEANUP(free) char *object = text_clean(xstrdup(o->name));
	uint64_t addr = symbol_addr(o, sym);

	emit_row(&m->out);
	emit_value(&m->out, addr);
	emit_addr(&m->out, "address", addr, 16);
	emit_str(&m->out, "object", o->name, 0);
	emit_say(&m->out, "%s`", object);
	emit_str(&m->out, "name", name, 1);
	emit_end(&m->out);
}

typedef void symbol_show(struct mdb *m, const struct mdb_object *o, const GElf_Sym *sym,
			 const char *name);

static void symbols_each(struct mdb *m, const struct mdb_object *o, enum symtab_which which,
			 const struct filter *f, symbol_show *show)
{
	struct gate_elf g;
	struct symtab t;

	gate_elf_open(o->image->opened, m->files->limit, &g);
	t = symtab_begin(&g, which);
	while (symtab_next(&t) && !m->is_interrupted) {
		const char *name = symtab_name(&t);

		if (symbol_is_shown(f, &t.sym, name))
			show(m, o, &t.sym, name);
	}
	gate_elf_close(&g);
}

/*
 * The table of an object: .symtab, which has the symbols of .dynsym too, or that one where the
 * object was stripped.
 */
static enum symtab_which table_of(struct mdb *m, const struct mdb_object *o, bool is_dynamic)
{
	enum symtab_which which = SYMTAB_DYNAMIC;
	struct gate_elf g;
	struct symtab t;

	if (is_dynamic)
		return SYMTAB_DYNAMIC;
	gate_elf_open(o->image->opened, m->files->limit, &g);
	t = symtab_begin(&g, SYMTAB_STATIC);
	if (symtab_next(&t))
		which = SYMTAB_STATIC;
	gate_elf_close(&g);
	return which;
}

static struct err *tables_show(struct mdb *m, const struct mdb_object *only, bool is_dynamic,
			       const struct filter *f, symbol_show *show)
{
	for (uint32_t i = 0; i < m->objects.len && !m->is_interrupted; i++) {
		const struct mdb_object *o = &m->objects.data[i];

		if (o->image && o->image->opened && (!only || o == only))
			symbols_each(m, o, table_of(m, o, is_dynamic), f, show);
		else if (o == only)
			return err_new("the file of '%s' cannot be read", o->name);
	}
	return NULL;
}

struct err *cmd_nm(struct mdb *m, const struct call *c)
{
	const struct mdb_object *only = c->argc ? mdb_object_named(m, c->argv[0]) : NULL;
	struct filter f = {.undefined_only = c->opts['u']};

	if (c->argc && !only)
		return err_hint(err_new("there is no object '%s'", c->argv[0]),
				"::objects lists them");
	if (c->opts['f'] && strcmp(c->opts['f'], "func") == 0)
		f.type = STT_FUNC;
	else if (c->opts['f'] && strcmp(c->opts['f'], "objt") == 0)
		f.type = STT_OBJECT;
	else if (c->opts['f'])
		return err_new("'%s' is no type: -f takes func or objt", c->opts['f']);
	emit_say(&m->out, "%-18s|%-18s|%-5s|%-5s|%-5s|%-8s|%s\n", "Value", "Size", "Type", "Bind",
		 "Other", "Shndx", "Name");
	return tables_show(m, only, c->opts['D'], &f, symbol_row);
}

struct err *cmd_findsym(struct mdb *m, const struct call *c)
{
	const struct filter f = {.glob = c->argv[0]};

	return tables_show(m, NULL, false, &f, found_row);
}

/* ---- code ------------------------------------------------------------------------------------ */

#define CODE_MAX (1u << 20) /* bytes of a function that are shown */
#define COLUMN	 30

/* Shows an instruction; false: there is none. */
static bool insn_row(struct mdb *m, taddr addr, const struct call *c, uint32_t *ret_len)
{
	struct strbuf text = {0}, name = {0}, target = {0};
	struct arch_regs regs;
	struct err *e = target_regs(m->t, m->tid, &regs);
	bool is_pc = !e && regs.words[arch.pc / 8] == addr;
	struct insn_text insn;
	uint8_t code[32];
	size_t n = arch.insns->max_len;

	err_destroy(e); /* without registers no instruction is marked */
	while (n && !mdb_read(m, addr, code, n))
		n--;
	insn = insn_text_add(&text, code, n, addr);
	*ret_len = insn.len;
	if (insn.len) {
		if (c->opts['b'] || !mdb_name_add(m, addr, false, &name))
			strbuf_addf(&name, "0x%" PRIx64, addr);
		emit_row(&m->out);
		emit_value(&m->out, addr);
		emit_addr(&m->out, "address", addr, 0);
		emit_bool(&m->out, "is-pc", is_pc);
		emit_say(&m->out, "%s", is_pc ? "=> " : "   ");
		strbuf_addc(&name, ':');
		emit_bytes(&m->out, "name", strbuf_text(&name), name.len - m->out.is_json, -COLUMN);
		emit_str(&m->out, "insn", strbuf_text(&text), 1);
		if (insn.has_address)
			emit_addr(&m->out, "target", insn.address, 0);
		if (insn.has_address && mdb_name_add(m, insn.address, false, &target)) {
			emit_say(&m->out, "  <");
			emit_say(&m->out, "%s>", text_clean(target.data));
			emit_str(&m->out, "target-name", strbuf_text(&target), 0);
		}
		emit_end(&m->out);
	}
	strbuf_deinit(&text);
	strbuf_deinit(&name);
	strbuf_deinit(&target);
	return insn.len;
}

/*
 * Instructions can be found forward only: those before an address are found by decoding the
 * function from its begin. Returns the address of the one that is n instructions before addr, or
 * the function's begin.
 */
static taddr insn_before(struct mdb *m, taddr begin, taddr addr, uint64_t n)
{
	VEC(taddr) list = {0};
	taddr at = begin;

	while (at < addr) {
		struct strbuf text = {0};
		uint8_t code[32];
		size_t size = arch.insns->max_len;
		uint32_t len;

		while (size && !mdb_read(m, at, code, size))
			size--;
		len = insn_text_add(&text, code, size, at).len;
		strbuf_deinit(&text);
		vec_push(&list, at);
		at += len ? len : 1;
	}
	at = !n || !list.len ? addr : list.len > n ? list.data[list.len - n] : begin;
	vec_deinit(&list);
	return at;
}

/* -n: so many instructions around the address; a count: so many from it on; else all. */
struct err *cmd_dis(struct mdb *m, const struct call *c)
{
	const struct mdb_object *o = mdb_object_at(m, c->addr);
	const struct elf_sym *sym = o ? mdb_symbol_at(m, o, c->addr) : NULL;
	uint64_t around = 0, left = UINT64_MAX;
	taddr from = c->addr, end;
	uint32_t len = 0;
	struct err *e = c->opts['n'] ? mdb_number(c->opts['n'], 10000, &around) : NULL;

	if (e)
		return e;
	end = sym && sym->end > sym->addr ? o->bias + sym->end : 0;
	if (sym && end - (o->bias + sym->addr) > CODE_MAX)
		end = 0;
	if (c->opts['n']) {
		if (sym)
			from = insn_before(m, o->bias + sym->addr, c->addr, around);
		end = UINT64_MAX;
	} else if (c->has_count) {
		left = c->count;
		end = UINT64_MAX;
	} else if (sym) {
		from = c->opts['f'] ? o->bias + sym->addr : c->addr;
	}
	if (!end) {
		left = 10; /* no function is known here */
		end = UINT64_MAX;
	}
	for (taddr at = from; at < end && left && !m->is_interrupted; at += len, left--) {
		if (c->opts['n'] && at == c->addr)
			left = around + 1;
		if (!insn_row(m, at, c, &len))
			return at == from ? err_new("there is no instruction at 0x%" PRIx64, at)
					  : NULL;
	}
	return NULL;
}
