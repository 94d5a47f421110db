/* SPDX-License-Identifier: MIT */
/* Packs a core file as zstd that can be read from anywhere. */
#include "crash/pack.h"

#include <errno.h>
#include <sys/stat.h>
#include <zstd.h>

#include "base/vec.h"

#define LEVEL	   3
#define SKIPPABLE  0x184d2a5eu
#define TABLE_MARK 0x8f92eab1u
#define FRAMES_MAX 0x8000000u /* of the format */

struct row {
	uint32_t packed, whole; /* bytes */
};

struct packing {
	int from, to;
	ZSTD_CCtx *z;
	char *in, *out, *zeros; /* zeros: a packed frame of zeros; NULL: none was needed yet */
	size_t out_size, zeros_size;
	VEC(struct row) table;
};

static struct err *all_write(int fd, const void *bytes, size_t len)
{
	const char *p = bytes;

	while (len) {
		ssize_t n = write(fd, p, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return err_sys(n ? errno : ENOSPC, "cannot write the packed core");
		p += n;
		len -= (size_t)n;
	}
	return NULL;
}

static struct err *frame_make(struct packing *p, const char *bytes, size_t len, size_t *ret)
{
	*ret = ZSTD_compress2(p->z, p->out, p->out_size, bytes, len);
	return ZSTD_isError(*ret) ? err_new("cannot pack the core: %s", ZSTD_getErrorName(*ret))
				  : NULL;
}

static struct err *frame_write(struct packing *p, const char *bytes, size_t packed, size_t whole)
{
	vec_push(&p->table, (struct row){(uint32_t)packed, (uint32_t)whole});
	return all_write(p->to, bytes, packed);
}

/* A frame of zeros is packed once only: most of a sparse core consists of them. */
static struct err *zeros_write(struct packing *p)
{
	struct err *e;

	if (!p->zeros) {
		memset(p->in, 0, PACK_FRAME);
		e = frame_make(p, p->in, PACK_FRAME, &p->zeros_size);
		if (e)
			return e;
		p->zeros = xmalloc(p->zeros_size);
		memcpy(p->zeros, p->out, p->zeros_size);
	}
	return frame_write(p, p->zeros, p->zeros_size, PACK_FRAME);
}

static struct err *part_read(struct packing *p, uint64_t at, size_t len)
{
	size_t done = 0;

	while (done < len) {
		ssize_t n = pread(p->from, p->in + done, len - done, (off_t)(at + done));

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? err_sys(errno, "cannot read the core")
				 : err_new("the core has become shorter");
		done += (size_t)n;
	}
	return NULL;
}

static struct err *frames_write(struct packing *p, uint64_t size)
{
	uint64_t data = 0; /* where the next bytes are that are no hole */
	struct err *e = NULL;

	for (uint64_t at = 0; !e && at < size; at += PACK_FRAME) {
		size_t len = (size_t)MIN((uint64_t)PACK_FRAME, size - at), packed;

		if (data < at + len) {
			off_t found = lseek(p->from, (off_t)MAX(data, at), SEEK_DATA);

			data = found >= 0 ? (uint64_t)found : errno == ENXIO ? size : at;
		}
		if (len == PACK_FRAME && data >= at + len) {
			e = zeros_write(p);
			continue;
		}
		e = part_read(p, at, len);
		if (!e)
			e = frame_make(p, p->in, len, &packed);
		if (!e)
			e = frame_write(p, p->out, packed, len);
	}
	return e;
}

static void word_put(uint8_t *to, uint32_t word)
{
	for (int i = 0; i < 4; i++)
		to[i] = (uint8_t)(word >> 8 * i);
}

static struct err *table_write(struct packing *p)
{
	size_t size = 8 + 8 * (size_t)p->table.len + 9;
	uint8_t *bytes = xmalloc(size), *at = bytes + 8;
	struct err *e;

	word_put(bytes, SKIPPABLE);
	word_put(bytes + 4, (uint32_t)size - 8);
	for (uint32_t i = 0; i < p->table.len; i++, at += 8) {
		word_put(at, p->table.data[i].packed);
		word_put(at + 4, p->table.data[i].whole);
	}
	word_put(at, p->table.len);
	at[4] = 0; /* no checksums in the table: frames have their own */
	word_put(at + 5, TABLE_MARK);
	e = all_write(p->to, bytes, size);
	free(bytes);
	return e;
}

struct err *core_pack(int from, int to)
{
	struct packing p = {.from = from, .to = to};
	struct err *e = NULL;
	struct stat st;

	if (fstat(from, &st) != 0)
		return err_sys(errno, "cannot read the core");
	if ((uint64_t)st.st_size / PACK_FRAME >= FRAMES_MAX)
		return err_new("the core is too large to be packed");
	p.z = ZSTD_createCCtx();
	if (!p.z)
		return err_new("there is no memory to pack the core");
	/* What cannot be set has its default, which is right, too. */
	(void)ZSTD_CCtx_setParameter(p.z, ZSTD_c_compressionLevel, LEVEL);
	(void)ZSTD_CCtx_setParameter(p.z, ZSTD_c_checksumFlag, 1);
	p.out_size = ZSTD_compressBound(PACK_FRAME);
	p.in = xmalloc(PACK_FRAME);
	p.out = xmalloc(p.out_size);
	e = frames_write(&p, (uint64_t)st.st_size);
	if (!e)
		e = table_write(&p);
	(void)ZSTD_freeCCtx(p.z);
	vec_deinit(&p.table);
	free(p.in);
	free(p.out);
	free(p.zeros);
	return e;
}
