/* SPDX-License-Identifier: MIT */
/* Writes the notes of probes into an object file. */
#include "usdt/note_write.h"

#include "arch/arch.h"

#define BASE_SYMBOL "_.stapsdt.base"

uint32_t note_base_symbol(struct elfedit *e)
{
	const char *name;
	GElf_Sym sym;
	size_t scn;

	for (uint32_t i = 1; elfedit_symbol(e, i, &sym, &scn, &name); i++)
		if (scn && strcmp(name, BASE_SYMBOL) == 0)
			return i;
	return elfedit_comdat_add(e, ".stapsdt.base",
				  (GElf_Shdr){.sh_type = SHT_PROGBITS,
					      .sh_flags = SHF_ALLOC,
					      .sh_addralign = 1},
				  "", 1, BASE_SYMBOL);
}

static void word_add(struct strbuf *b, uint32_t value)
{
	strbuf_add(b, (const char *)&value, sizeof(value));
}

static void address_add(struct elfedit *e, struct note_section *n, uint32_t symbol, int64_t addend)
{
	uint8_t bytes[8] = {0};

	vec_push(&n->relocs, (struct elfedit_reloc){.off = n->bytes.len,
						    .sym = symbol,
						    .type = e->is_32bit ? arch.sites->reloc_addr_32
									: arch.sites->reloc_addr,
						    .addend = addend});
	elfedit_addend_put(e, bytes, addend);
	strbuf_add(&n->bytes, (const char *)bytes, e->is_32bit ? 4 : 8);
}

static void args_add(struct strbuf *out, const struct note_site *site, bool is_32bit)
{
	struct arch_arg_cursor next = {.stack = site->stack_of_args};

	for (uint32_t i = 0; i < site->probe->nargs; i++) {
		const struct usdt_arg *a = &site->probe->args[i];
		uint32_t size = a->is_word && is_32bit ? 4 : a->size;
		bool is_float = a->kind == USDT_FLOAT;

		strbuf_addf(out, "%s%s%u%s@", i ? " " : "", a->is_signed && !is_float ? "-" : "",
			    size, is_float ? "f" : "");
		arch.sites->operand_add(&next, size, is_float, is_32bit, out);
	}
}

void note_section_add(struct elfedit *e, struct note_section *n, const struct note_site *site,
		      uint32_t base)
{
	struct strbuf texts = {0};

	strbuf_add(&texts, site->provider->name, strlen(site->provider->name) + 1);
	strbuf_add(&texts, site->probe->cname, strlen(site->probe->cname) + 1);
	args_add(&texts, site, e->is_32bit);
	strbuf_addc(&texts, '\0');
	word_add(&n->bytes, sizeof("stapsdt"));
	word_add(&n->bytes, (uint32_t)(3 * (e->is_32bit ? 4 : 8) + texts.len));
	word_add(&n->bytes, 3);
	strbuf_add(&n->bytes, "stapsdt", sizeof("stapsdt"));
	address_add(e, n, site->symbol, site->off);
	address_add(e, n, base, 0);
	address_add(e, n, site->counter, 0);
	strbuf_add(&n->bytes, texts.data, texts.len);
	strbuf_pad(&n->bytes, '\0', -n->bytes.len % 4);
	strbuf_deinit(&texts);
}

void note_section_finish(struct elfedit *e, struct note_section *n, size_t group)
{
	uint64_t flags = group ? SHF_GROUP : 0;
	size_t scn = elfedit_section_add(e, ".note.stapsdt",
					 (GElf_Shdr){.sh_type = SHT_NOTE,
						     .sh_flags = flags,
						     .sh_addralign = 4},
					 n->bytes.data, n->bytes.len);
	size_t relocs =
		elfedit_relocs_add(e, e->is_32bit ? ".rel.note.stapsdt" : ".rela.note.stapsdt", scn,
				   flags, &n->relocs);

	if (group) {
		elfedit_group_add(e, group, scn);
		elfedit_group_add(e, group, relocs);
	}
	strbuf_deinit(&n->bytes);
	vec_deinit(&n->relocs);
}
