/* SPDX-License-Identifier: MIT */
/* Reads build-ids and debug links. */
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

/* ---- marks ----------------------------------------------------------------------------------- */

/* The section holds a name with its NUL and, at the next multiple of 4, the CRC-32. */
static void debug_link_read(struct build_mark *m, Elf_Data *data)
{
	size_t len = data && data->d_buf ? strnlen(data->d_buf, data->d_size) : 0;
	size_t crc = ROUND_UP(len + 1, 4u);

	if (m->debug_link || !len || crc + sizeof(m->debug_crc) > data->d_size)
		return;
	m->debug_link = xstrdup(data->d_buf);
	memcpy(&m->debug_crc, (const char *)data->d_buf + crc, sizeof(m->debug_crc));
}

void build_mark_read(struct build_mark *ret, struct gate_elf *g)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;
	size_t names;

	*ret = (struct build_mark){.debug_link = NULL};
	if (!g->elf || elf_getshdrstrndx(g->elf, &names))
		return;
	while ((scn = elf_nextscn(g->elf, scn))) {
		const char *name = gelf_getshdr(scn, &sh) ? gate_text(g, names, sh.sh_name) : NULL;

		if (!name)
			continue;
		if (sh.sh_type == SHT_NOTE && !ret->id.len)
			(void)build_id_find(&ret->id, gate_data(g, scn));
		else if (strcmp(name, ".gnu_debuglink") == 0)
			debug_link_read(ret, gate_data(g, scn));
	}
}

void build_mark_read_file(struct build_mark *ret, struct gate_file *file, uint64_t limit)
{
	struct gate_elf g;

	gate_elf_open(file, limit, &g);
	build_mark_read(ret, &g);
	gate_elf_close(&g);
}

void build_mark_deinit(struct build_mark *m)
{
	free(m->debug_link);
	m->debug_link = NULL;
}
