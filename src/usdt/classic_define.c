/* SPDX-License-Identifier: MIT */
/* The functions that calls of probes refer to where they cannot be replaced. */
#include "usdt/classic.h"

#include "arch/arch.h"
#include "usdt/note_write.h"

#define FUNC_ALIGN 16

struct definition {
	const struct usdt_provider *provider;
	const struct usdt_probe *probe;
	const struct arch_stub *stub;
	uint32_t off, counter; /* in the code; a symbol */
	bool is_test;
};

struct definer {
	struct elfedit e;
	struct strbuf code;
	VEC(struct definition) list;
};

static uint32_t symbol_find(struct elfedit *e, const char *want)
{
	const char *name;
	GElf_Sym sym;
	size_t scn;

	for (uint32_t i = 1; elfedit_symbol(e, i, &sym, &scn, &name); i++)
		if (strcmp(name, want) == 0)
			return i;
	e->has_failed = true;
	return 0;
}

static void function_add(struct definer *d, const struct usdt_provider *pv,
			 const struct usdt_probe *p, bool is_test)
{
	const struct arch_sites *s = arch.sites;
	const struct arch_stub *stub = is_test ? (d->e.is_32bit ? &s->test_32 : &s->test)
					       : (d->e.is_32bit ? &s->probe_32 : &s->probe);
	struct strbuf name = {0};

	strbuf_pad(&d->code, '\x90', -d->code.len % FUNC_ALIGN);
	strbuf_addf(&name, "%s_%s_semaphore", pv->name, p->cname);
	vec_push(&d->list, (struct definition){.provider = pv,
					       .probe = p,
					       .stub = stub,
					       .off = (uint32_t)d->code.len,
					       .counter = symbol_find(&d->e, strbuf_text(&name)),
					       .is_test = is_test});
	strbuf_add(&d->code, (const char *)stub->code, stub->size);
	if (is_test)
		elfedit_addend_put(&d->e,
				   (uint8_t *)d->code.data + d->code.len - stub->size + stub->ref,
				   stub->ref_addend);
	strbuf_deinit(&name);
}

/* Adds the symbol, and the relocation or the note of a function. */
static void function_finish(struct definer *d, const struct definition *f, size_t text,
			    uint32_t base, elfedit_relocs *relocs, struct note_section *notes)
{
	struct strbuf name = {0};
	uint32_t symbol;

	strbuf_addf(&name, "__dtrace%s_%s___%s", f->is_test ? "enabled" : "", f->provider->name,
		    f->probe->cname);
	symbol = elfedit_symbol_add(&d->e, strbuf_text(&name), text,
				    (GElf_Sym){.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
					       .st_other = STV_HIDDEN,
					       .st_value = f->off,
					       .st_size = f->stub->size});
	strbuf_deinit(&name);
	if (f->is_test) {
		vec_push(relocs, (struct elfedit_reloc){.off = f->off + f->stub->ref,
							.sym = f->counter,
							.type = f->stub->ref_type,
							.addend = f->stub->ref_addend});
		return;
	}
	note_section_add(&d->e, notes,
			 &(struct note_site){.provider = f->provider,
					     .probe = f->probe,
					     .symbol = symbol,
					     .off = f->stub->site,
					     .counter = f->counter,
					     .stack_of_args = d->e.is_32bit ? 4 : 8},
			 base);
}

static void functions_write(struct definer *d)
{
	size_t text = elfedit_section_add(&d->e, ".text",
					  (GElf_Shdr){.sh_type = SHT_PROGBITS,
						      .sh_flags = SHF_ALLOC | SHF_EXECINSTR,
						      .sh_addralign = FUNC_ALIGN},
					  d->code.data, d->code.len);
	struct note_section notes = {0};
	elfedit_relocs relocs = {0};
	uint32_t base = 0;

	for (uint32_t i = 0; i < d->list.len; i++) {
		const struct definition *f = &d->list.data[i];

		if (!base && !f->is_test)
			base = note_base_symbol(&d->e);
		function_finish(d, f, text, base, &relocs, &notes);
	}
	if (relocs.len)
		(void)elfedit_relocs_add(&d->e, d->e.is_32bit ? ".rel.text" : ".rela.text", text, 0,
					 &relocs);
	if (base)
		note_section_finish(&d->e, &notes, 0);
	vec_deinit(&relocs);
}

struct err *classic_define(int fd, const char *path, const struct usdt_provider *providers,
			   uint32_t nproviders, const struct classic *c)
{
	struct definer d = {0};
	struct err *e = elfedit_open(fd, true, path, &d.e);
	uint32_t index = 0;

	if (e)
		return e;
	for (uint32_t i = 0; i < nproviders; i++)
		for (uint32_t k = 0; k < providers[i].nprobes; k++, index++) {
			const struct usdt_probe *p = &providers[i].probes[k];

			if (c->wants[index] & CLASSIC_PROBE)
				function_add(&d, &providers[i], p, false);
			if (c->wants[index] & CLASSIC_TEST)
				function_add(&d, &providers[i], p, true);
		}
	functions_write(&d);
	e = elfedit_finish(&d.e, path);
	elfedit_close(&d.e);
	strbuf_deinit(&d.code);
	vec_deinit(&d.list);
	return e;
}
