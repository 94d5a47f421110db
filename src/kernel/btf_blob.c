/* SPDX-License-Identifier: MIT */
/*
 * Minimal BTF, made by hand.
 */
#include "kernel/btf_blob.h"

#include <errno.h>
#include <linux/bpf.h>
#include <linux/btf.h>

#include "kernel/sys.h"

void btf_blob_deinit(struct btf_blob *b)
{
	vec_deinit(&b->types);
	strbuf_deinit(&b->strs);
	b->ntypes = 0;
}

static uint32_t str_add(struct btf_blob *b, const char *s)
{
	uint32_t off;

	if (b->strs.len == 0)
		strbuf_addc(&b->strs, '\0');
	if (!*s)
		return 0;
	off = (uint32_t)b->strs.len;
	strbuf_add(&b->strs, s, strlen(s) + 1);
	return off;
}

static uint32_t type_add(struct btf_blob *b, const char *name, uint32_t kind, uint32_t vlen,
			 uint32_t size_or_type)
{
	vec_push(&b->types, str_add(b, name));
	vec_push(&b->types, kind << 24 | vlen);
	vec_push(&b->types, size_or_type);
	return ++b->ntypes;
}

uint32_t btf_blob_int(struct btf_blob *b, const char *name, uint32_t size, bool is_signed)
{
	uint32_t id = type_add(b, name, BTF_KIND_INT, 0, size);

	vec_push(&b->types, (is_signed ? (uint32_t)BTF_INT_SIGNED << 24 : 0) | size * 8);
	return id;
}

uint32_t btf_blob_struct(struct btf_blob *b, const char *name, uint32_t size)
{
	return type_add(b, name, BTF_KIND_STRUCT, 0, size);
}

uint32_t btf_blob_ptr(struct btf_blob *b, uint32_t type)
{
	return type_add(b, "", BTF_KIND_PTR, 0, type);
}

uint32_t btf_blob_proto(struct btf_blob *b, uint32_t ret, const uint32_t *args, uint32_t nargs)
{
	uint32_t id = type_add(b, "", BTF_KIND_FUNC_PROTO, nargs, ret);

	for (uint32_t i = 0; i < nargs; i++) {
		char name[2] = {(char)('a' + i), '\0'};

		vec_push(&b->types, str_add(b, name));
		vec_push(&b->types, args[i]);
	}
	return id;
}

uint32_t btf_blob_func(struct btf_blob *b, const char *name, uint32_t proto, bool is_global)
{
	return type_add(b, name, BTF_KIND_FUNC, is_global ? BTF_FUNC_GLOBAL : BTF_FUNC_STATIC,
			proto);
}

struct err *btf_blob_load(const struct btf_blob *b, int *ret_fd)
{
	uint32_t types_size = b->types.len * 4, strs_size = (uint32_t)b->strs.len;
	struct btf_header h = {
		.magic = BTF_MAGIC,
		.version = BTF_VERSION,
		.hdr_len = sizeof(h),
		.type_len = types_size,
		.str_off = types_size,
		.str_len = strs_size,
	};
	uint32_t size = (uint32_t)sizeof(h) + types_size + strs_size;
	CLEANUP(free) char *data = xmalloc(size);
	union bpf_attr attr = {.btf = (uint64_t)(uintptr_t)data, .btf_size = size};
	int fd;

	memcpy(data, &h, sizeof(h));
	memcpy(data + sizeof(h), b->types.data, types_size);
	memcpy(data + sizeof(h) + types_size, b->strs.data, strs_size);
	fd = sys_bpf(BPF_BTF_LOAD, &attr, sizeof(attr));
	if (fd < 0)
		return err_sys(errno, "cannot load the program's type information");
	*ret_fd = fd;
	return NULL;
}
