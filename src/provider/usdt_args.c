/* Arguments of programs' own probes: the operands of notes, and the types that D sees. */
#include "provider/usdt.h"

#include "d/compile.h"
#include "sym/debugfile.h"
#include "usdt/dof.h"

#define NARGS 10 /* arg0 to arg9 */

/* ---- operands -------------------------------------------------------------------------------- */

static bool symbol_in(struct gate_elf *g, Elf_Scn *scn, const GElf_Shdr *sh, const char *want,
		      uint64_t *ret_addr)
{
	Elf_Data *data = gate_data(g, scn);
	size_t n = data && sh->sh_entsize ? data->d_size / sh->sh_entsize : 0;
	GElf_Sym sym;

	for (size_t i = 0; i < n && i <= INT32_MAX && gelf_getsym(data, (int)i, &sym); i++) {
		const char *name =
			sym.st_shndx == SHN_UNDEF ? NULL : gate_text(g, sh->sh_link, sym.st_name);

		if (name && strcmp(name, want) == 0) {
			*ret_addr = sym.st_value;
			return true;
		}
	}
	return false;
}

/* Finds the symbol of an operand such as "4@counter(%rip)". */
static bool symbol_find(void *ctx, const char *name, uint64_t *ret_addr)
{
	struct gate_elf *g = ctx;
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;

	while (g->elf && (scn = elf_nextscn(g->elf, scn)))
		if (gelf_getshdr(scn, &sh) &&
		    (sh.sh_type == SHT_SYMTAB || sh.sh_type == SHT_DYNSYM) &&
		    symbol_in(g, scn, &sh, name, ret_addr))
			return true;
	return false;
}

void usdt_note_operands(struct gate_elf *g, const struct usdt_note *note, bool is_32bit,
			struct usdt_operands *ret)
{
	usdt_operands_parse(note->args, note->pc, is_32bit ? 4 : 8, symbol_find, g, ret);
}

/* ---- arguments ------------------------------------------------------------------------------- */

static const char *operand_type(const struct usdt_operand *o)
{
	static const char *const types[2][9] = {
		{[1] = "uint8_t", [2] = "uint16_t", [4] = "uint32_t", [8] = "uint64_t"},
		{[1] = "int8_t", [2] = "int16_t", [4] = "int", [8] = "int64_t"},
	};

	return types[o->is_signed][o->size];
}

/* True if the type consists only of words that name types of integers. */
static bool is_integer_type(const char *text)
{
	static const char *const words[] = {
		"char",	   "signed",   "unsigned",  "short",   "int",	   "long",     "int8_t",
		"int16_t", "int32_t",  "int64_t",   "uint8_t", "uint16_t", "uint32_t", "uint64_t",
		"size_t",  "intptr_t", "uintptr_t", "pid_t",   "uid_t",	   "gid_t",    "const",
	};

	while (*text) {
		size_t len = strcspn(text, " "), i = 0;

		while (i < ARRAY_LEN(words) &&
		       (strlen(words[i]) != len || strncmp(words[i], text, len) != 0))
			i++;
		if (i == ARRAY_LEN(words))
			return false;
		text += len + strspn(text + len, " ");
	}
	return true;
}

/*
 * Returns the D type that a clause sees for a C type, whose pointers point into the memory of the
 * process; NULL for types that D does not know.
 */
static const char *type_shown(struct arena *a, const char *native)
{
	if (is_integer_type(native))
		return arena_strdup(a, native);
	if (strcmp(native, "string") == 0 || strcmp(native, "char *") == 0 ||
	    strcmp(native, "const char *") == 0)
		return "userland char *";
	return strchr(native, '*') ? "userland void *" : NULL;
}

/* Returns the types of the arguments: those in the object's DOF section, or else in the note. */
uint32_t usdt_arg_types(struct probes *ps, const struct probe *pr, const char *const **ret_types)
{
	struct usdt_probe_data *d = usdt_probe(pr);
	struct arena *a = probes_arena(ps);
	const struct usdt_notes *notes = &d->object->notes;
	uint32_t n = d->declared ? d->declared->ntypes : MIN(d->operands->n, (uint32_t)NARGS);
	struct dof_probe_info info = {0};
	const char **types;

	*ret_types = d->declared ? d->declared->types : d->types;
	if (*ret_types)
		return n;
	types = ARENA_NEW_N(a, const char *, n + 1);
	(void)dof_find_probe(notes->dof.data, notes->dof.len, d->note->provider, d->note->name, a,
			     &info);
	for (uint32_t i = 0; i < n; i++) {
		const char *shown = i < info.nargs ? type_shown(a, info.args[i]) : NULL;

		types[i] = shown ? shown : operand_type(&d->operands->list[i]);
	}
	*ret_types = d->types = types;
	return n;
}

const char *usdt_arg_refused(struct probes *ps, const struct probe *pr, uint32_t raw)
{
	const struct usdt_operands *o = usdt_probe(pr)->operands;

	if (o && raw < o->n && o->list[raw].kind == USDT_OPERAND_NONE)
		return arena_printf(probes_arena(ps),
				    "the program keeps it where it cannot be read: \"%s\"",
				    usdt_probe(pr)->note->args);
	return NULL;
}
