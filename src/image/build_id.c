/* SPDX-License-Identifier: MIT */
/* Reads build-ids. */
#include "image/build_id.h"

#include <gelf.h>

#include "base/str.h"
#include "files/gate.h"

bool build_id_find(struct build_id *ret, Elf_Data *notes)
{
	size_t off = 0, name, desc;
	GElf_Nhdr nh;

	ret->len = 0;
	while (notes && (off = gelf_getnote(notes, off, &nh, &name, &desc)))
		if (nh.n_type == NT_GNU_BUILD_ID && nh.n_namesz == sizeof("GNU") &&
		    memcmp((const char *)notes->d_buf + name, "GNU", sizeof("GNU")) == 0 &&
		    nh.n_descsz <= sizeof(ret->bytes)) {
			memcpy(ret->bytes, (const char *)notes->d_buf + desc, nh.n_descsz);
			ret->len = nh.n_descsz;
			break;
		}
	return ret->len;
}

bool build_id_read(struct build_id *ret, struct gate_elf *g)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;

	ret->len = 0;
	while (g->elf && !ret->len && (scn = elf_nextscn(g->elf, scn)))
		if (gelf_getshdr(scn, &sh) && sh.sh_type == SHT_NOTE)
			(void)build_id_find(ret, gate_data(g, scn));
	return ret->len;
}

bool build_id_equal(const struct build_id *a, const struct build_id *b)
{
	return a->len == b->len && memcmp(a->bytes, b->bytes, a->len) == 0;
}

void build_id_add(struct strbuf *sb, const struct build_id *id, uint32_t from)
{
	for (uint32_t i = from; i < id->len; i++)
		strbuf_addf(sb, "%02x", id->bytes[i]);
}
