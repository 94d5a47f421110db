/* SPDX-License-Identifier: MIT */
/* Writes descriptions of providers as DOF. */
#include "usdt/dof_impl.h"

static void data_align(struct dof_writer *w, uint32_t align)
{
	while (w->data.len % align)
		vec_push(&w->data, 0);
}

uint32_t dof_section_add(struct dof_writer *w, uint32_t type, uint32_t align, uint32_t entsize,
			 const void *data, size_t size)
{
	data_align(w, align);
	vec_push(&w->sections, (struct dof_section){.type = type,
						    .align = align,
						    .flags = DOF_LOAD,
						    .entsize = entsize,
						    .offset = w->data.len,
						    .size = size});
	for (size_t i = 0; i < size; i++)
		vec_push(&w->data, ((const uint8_t *)data)[i]);
	return w->sections.len - 1;
}

/* Adds the texts of types one behind the other; returns the offset of the first, 0 if n is 0. */
static uint32_t texts_add(struct dof_writer *w, const char *const *texts, uint32_t n)
{
	struct strbuf all = {0};
	uint32_t off;

	for (uint32_t i = 0; i < n; i++)
		strbuf_add(&all, texts[i], strlen(texts[i]) + 1);
	off = n ? strtab_add_block(w->strings, all.data, all.len) : 0;
	strbuf_deinit(&all);
	return off;
}

static struct dof_probe probe_make(struct dof_writer *w, const struct usdt_probe *p,
				   uint32_t argidx)
{
	struct dof_probe d = {
		.name = strtab_adds(w->strings, p->name),
		.argidx = argidx,
		.nargc = (uint8_t)p->nargs,
		.xargc = (uint8_t)p->nxargs,
	};
	const char **texts = xcalloc(p->nargs + 1, sizeof(*texts));

	for (uint32_t i = 0; i < p->nargs; i++)
		texts[i] = p->args[i].text;
	d.nargv = texts_add(w, texts, p->nargs);
	d.xargv = texts_add(w, p->xargs, p->nxargs);
	free(texts);
	return d;
}

/*
 * Adds the sections of a provider. strtab is the number of the section of strings, which is written
 * last.
 */
static void provider_add(struct dof_writer *w, const struct usdt_provider *pv, uint32_t strtab)
{
	static const uint32_t
		none; /* sites are in notes, not here; a table has one entry at least */
	struct dof_provider d = {.strtab = strtab, .name = strtab_adds(w->strings, pv->name)};
	VEC(struct dof_probe) probes = {0};
	VEC(uint8_t) map = {0};

	for (uint32_t i = 0; i < pv->nprobes; i++) {
		const struct usdt_probe *p = &pv->probes[i];

		vec_push(&probes, probe_make(w, p, map.len));
		for (uint32_t k = 0; k < p->nxargs; k++)
			vec_push(&map, (uint8_t)p->map[k]);
	}
	if (!map.len)
		vec_push(&map, 0);
	memcpy(d.attrs, pv->attrs, sizeof(d.attrs));
	d.probes = dof_section_add(w, DOF_PROBES, 8, sizeof(*probes.data), probes.data,
				   probes.len * sizeof(*probes.data));
	d.prargs = dof_section_add(w, DOF_PRARGS, 1, 1, map.data, map.len);
	d.proffs = dof_section_add(w, DOF_PROFFS, 4, 4, &none, sizeof(none));
	d.prenoffs = dof_section_add(w, DOF_PRENOFFS, 4, 4, &none, sizeof(none));
	(void)dof_section_add(w, DOF_PROVIDER, 4, 0, &d, sizeof(d));
	vec_deinit(&probes);
	vec_deinit(&map);
}

static void bytes_add(struct dof_image *out, const void *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		vec_push(&out->bytes, ((const uint8_t *)p)[i]);
}

void dof_image_add(const struct dof_writer *w, bool is_lp64, struct dof_image *out)
{
	uint64_t data_off =
		sizeof(struct dof_header) + w->sections.len * sizeof(struct dof_section);
	uint64_t size = (data_off + w->data.len + 7) & ~(uint64_t)7, start = out->bytes.len;
	uint16_t one = 1;
	struct dof_header h = {
		.magic = {0x7f, 'D', 'O', 'F'},
		.model = is_lp64 ? 2 : 1,
		.encoding = *(const uint8_t *)&one ? 1 : 2,
		.version = DOF_VERSION,
		.dif_version = DIF_VERSION,
		.int_regs = w->nregs,
		.hdrsize = sizeof(h),
		.secsize = sizeof(struct dof_section),
		.secnum = w->sections.len,
		.secoff = sizeof(h),
		.loadsz = size,
		.filesz = size,
	};

	bytes_add(out, &h, sizeof(h));
	for (uint32_t i = 0; i < w->sections.len; i++) {
		struct dof_section s = w->sections.data[i];

		s.offset += data_off;
		bytes_add(out, &s, sizeof(s));
	}
	bytes_add(out, w->data.data, w->data.len);
	while (out->bytes.len < start + size)
		vec_push(&out->bytes, 0);
}

void dof_writer_deinit(struct dof_writer *w)
{
	strtab_destroy(w->strings);
	vec_deinit(&w->sections);
	vec_deinit(&w->data);
}

void dof_write(const struct usdt_provider *providers, uint32_t n, bool is_lp64,
	       struct dof_image *out)
{
	struct dof_writer w = {.strings = strtab_create()};
	uint32_t nsections = 0;

	/* Each provider has five sections; the section of strings comes behind all of them. */
	for (uint32_t i = 0; i < n; i++)
		nsections += 5;
	for (uint32_t i = 0; i < n; i++)
		provider_add(&w, &providers[i], nsections);
	(void)dof_section_add(&w, DOF_STRTAB, 1, 0, strtab_data(w.strings), strtab_size(w.strings));
	dof_image_add(&w, is_lp64, out);
	dof_writer_deinit(&w);
}

void dof_image_deinit(struct dof_image *d)
{
	vec_deinit(&d->bytes);
}
