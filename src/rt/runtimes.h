/* SPDX-License-Identifier: MIT */
/*
 * Run-time library: what the files that a process maps say of its runtimes: which of MAP_HFILES
 * they are, whether others have a name for which there are helpers, and whether that is all that
 * the helpers need to know (MAP_HCONSTS).
 *
 * Owns     nothing: what was found is the caller's, in memory of a map.
 */
#pragma once

#include "rt/mapping.h"

extern char map_hfiles, map_hconsts;

INLINE void runtimes_begin(struct rt_hfound *r)
{
	r->files = r->constants.runtimes = r->tls = r->has_strangers = r->nnames = 0;
}

/*
 * Returns 1 + the index of a name of val_control that a file has; 0: it has none. text: room for
 * RT_NAME_WORDS words.
 */
INLINE u64 name_find(u64 *text, u64 file)
{
	u64 name = read_word(read_word(file + K.file_dentry) + K.dentry_name);

	text[0] = text[1] = 0;
	if (bpf_probe_read_kernel_str(text, 8 * RT_NAME_WORDS, name) < 1)
		return 0;
#pragma clang loop unroll(disable)
	for (u64 i = 0; i < RT_NAMES; i++) {
		const struct rt_name *n = &val_control.names[i];

		if (i >= val_control.nnames)
			break;
		if (!((text[0] ^ n->text[0]) & n->mask[0]) &&
		    !((text[1] ^ n->text[1]) & n->mask[1]))
			return i + 1;
	}
	return 0;
}

/*
 * Notes a file that is mapped, whose key is w->req.key; with_name: its name, too. Returns its
 * entry if the file has a number and was not noted before: its first code counts.
 */
INLINE struct rt_hfile *runtime_note(struct rt_hfound *r, u64 *text, struct unwind_work *w,
				     u64 file, u64 with_name)
{
	struct rt_hfile *f = bpf_map_lookup_elem(&map_hfiles, &w->req.key);
	u64 number;

	r->has_strangers |= !f;
	if (with_name && (!f || f->is_runtime))
		r->nnames += name_find(text, file) != 0;
	if (!f || !f->number)
		return NULL;
	number = f->number & RT_HFILES_MAX;
	OPAQUE(number);
	number &= RT_HFILES_MAX;
	if (r->files >> number & 1)
		return NULL;
	r->files |= 1ull << number;
	if (f->is_runtime)
		r->constants.runtimes |= 1ull << number;
	if (f->has_tls)
		r->tls |= 1ull << number;
	return f;
}

/* When all files are noted: what they fix; NULL: that is not all that helpers need. */
INLINE struct rt_hconst *runtimes_constants(struct rt_hfound *r)
{
	struct rt_hconst *c;

	r->constants.owner = RT_HCONST_ALL;
	c = bpf_map_lookup_elem(&map_hconsts, &r->constants);
	if (!c) {
		r->constants.owner = RT_HCONST_OWNER(bpf_get_current_uid_gid() & 0xffffffff);
		c = bpf_map_lookup_elem(&map_hconsts, &r->constants);
	}
	if (!c || (c->needs & ~r->files) || (c->tls && (r->has_strangers || c->tls != r->tls)))
		return NULL;
	return c;
}
