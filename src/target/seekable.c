/* SPDX-License-Identifier: MIT */
/* Unpacks those frames of a packed core file that are needed. */
#include "target/seekable.h"

#include <elf.h>
#include <errno.h>
#include <unistd.h>
#include <zstd.h>

#include "files/gate.h"
#include "target/scratch.h"

#define SKIPPABLE    0x184d2a5eu
#define TABLE_MARK   0x8f92eab1u
#define HEAD_SIZE    8u		 /* of a skippable frame: the mark, the size of what follows */
#define FOOT_SIZE    9u		 /* of the table: number of frames, a byte of flags, the mark */
#define FLAG_SUMS    0x80u	 /* each row has a checksum, too */
#define FLAGS_SPARE  0x7cu	 /* must be zero */
#define FRAMES_MAX   (4u << 20)	 /* the table of so many is 48 MB */
#define WHOLE_MAX    (16u << 20) /* bytes of a frame */
#define PACKED_MAX   (17u << 20)
#define UNPACKED_MAX ((uint64_t)1 << 40)

struct frame {
	uint64_t packed, whole; /* where it begins, in either file */
	bool is_there, is_bad;
};

struct seekable {
	struct gate_file *packed;
	struct scratch to;
	struct frame *frames; /* one more than there are: the end */
	uint32_t n;
	ZSTD_DCtx *z;
	uint8_t *in, *out;
};

static uint32_t word_get(const uint8_t *at)
{
	return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 |
	       (uint32_t)at[3] << 24;
}

static bool bytes_read(struct gate_file *f, void *to, size_t size, uint64_t off)
{
	return gate_file_read(f, to, size, off) == (ssize_t)size;
}

/* Reads the rows; false: they contradict the file, or a frame is larger than it may be. */
static bool rows_read(struct seekable *s, const uint8_t *rows, size_t row_size, uint64_t end)
{
	uint64_t packed = 0, whole = 0;
	uint32_t i;

	for (i = 0; i < s->n; i++) {
		uint32_t in = word_get(rows + i * row_size);
		uint32_t out = word_get(rows + i * row_size + 4);

		s->frames[i] = (struct frame){.packed = packed, .whole = whole};
		packed += in;
		whole += out;
		if (!in || !out || in > PACKED_MAX || out > WHOLE_MAX || whole > UNPACKED_MAX)
			return false;
	}
	s->frames[i] = (struct frame){.packed = packed, .whole = whole};
	return packed == end;
}

/* Reads the table at the end of the file; false: there is none. */
static bool table_read(struct seekable *s)
{
	off_t stat_size = gate_file_stat(s->packed)->st_size;
	uint64_t size = stat_size > 0 ? (uint64_t)stat_size : 0, table;
	uint8_t foot[FOOT_SIZE], head[HEAD_SIZE];
	CLEANUP(free) uint8_t *rows = NULL;
	size_t row_size;

	if (size < HEAD_SIZE + FOOT_SIZE ||
	    !bytes_read(s->packed, foot, FOOT_SIZE, size - FOOT_SIZE) ||
	    word_get(foot + 5) != TABLE_MARK || (foot[4] & FLAGS_SPARE))
		return false;
	s->n = word_get(foot);
	row_size = foot[4] & FLAG_SUMS ? 12 : 8;
	table = HEAD_SIZE + (uint64_t)s->n * row_size + FOOT_SIZE;
	if (!s->n || s->n > FRAMES_MAX || table > size ||
	    !bytes_read(s->packed, head, HEAD_SIZE, size - table) || word_get(head) != SKIPPABLE ||
	    word_get(head + 4) != table - HEAD_SIZE)
		return false;
	rows = xmalloc((size_t)s->n * row_size);
	if (!bytes_read(s->packed, rows, (size_t)s->n * row_size, size - table + HEAD_SIZE))
		return false;
	s->frames = xcalloc((size_t)s->n + 1, sizeof(*s->frames));
	return rows_read(s, rows, row_size, size - table);
}

/* Unpacks a frame; false: it is damaged, or there is no room. */
static bool frame_need(struct seekable *s, uint32_t i)
{
	struct frame *f = &s->frames[i];
	size_t in = (size_t)(f[1].packed - f->packed), whole = (size_t)(f[1].whole - f->whole);
	struct err *e;

	if (f->is_there || f->is_bad)
		return f->is_there;
	f->is_bad = !bytes_read(s->packed, s->in, in, f->packed) ||
		    ZSTD_decompressDCtx(s->z, s->out, whole, s->in, in) != whole;
	if (f->is_bad)
		return false;
	e = scratch_write(&s->to, s->out, whole, f->whole);
	f->is_there = !e;
	err_destroy(e); /* memory that cannot be read is missing, whyever */
	return f->is_there;
}

/* The frame that has the byte at an offset, which is in one. */
static uint32_t frame_at(const struct seekable *s, uint64_t off)
{
	uint32_t low = 0, high = s->n;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (s->frames[middle + 1].whole <= off)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

bool seekable_need(struct seekable *s, uint64_t off, uint64_t size)
{
	uint64_t all = s->frames[s->n].whole, end = size > all - MIN(off, all) ? all : off + size;
	bool is_good = true;

	if (off >= end)
		return true; /* what the file does not have, reading it will say */
	for (uint32_t i = frame_at(s, off); is_good && i < s->n && s->frames[i].whole < end; i++)
		is_good = frame_need(s, i);
	return is_good;
}

uint64_t seekable_data(struct seekable *s, uint64_t off, uint64_t end)
{
	uint64_t all = s->frames[s->n].whole;

	end = MIN(end, all);
	while (off < end) {
		uint32_t i = frame_at(s, off);
		off_t next;

		if (!frame_need(s, i))
			return off; /* reading it will say that it is damaged */
		next = lseek(s->to.fd, (off_t)off, SEEK_DATA);
		if (next < 0 && errno != ENXIO)
			return off;
		if (next >= 0 && (uint64_t)next < s->frames[i + 1].whole)
			return MIN((uint64_t)next, end);
		off = s->frames[i + 1].whole;
	}
	return end;
}

/* The first frame begins with the header of a core file; others are left to core_unpack(). */
static bool is_core(struct seekable *s)
{
	Elf64_Ehdr eh;

	if (s->frames[1].whole < sizeof(eh) || !frame_need(s, 0))
		return false;
	memcpy(&eh, s->out, sizeof(eh));
	return memcmp(eh.e_ident, ELFMAG, SELFMAG) == 0 && eh.e_type == ET_CORE;
}

struct err *seekable_open(struct gate_file *packed, struct seekable **ret)
{
	struct seekable *s = xcalloc(1, sizeof(*s));
	struct err *e;

	*ret = NULL;
	s->packed = gate_file_share(packed);
	s->to.fd = -1;
	if (!table_read(s)) {
		seekable_close(s);
		return NULL;
	}
	s->z = ZSTD_createDCtx();
	s->in = xmalloc(PACKED_MAX);
	s->out = xmalloc(WHOLE_MAX);
	e = s->z ? scratch_create(NULL, &s->to) : err_new("there is no memory to unpack it");
	if (!e)
		e = scratch_end(&s->to, s->frames[s->n].whole);
	if (e || !is_core(s)) {
		seekable_close(s);
		return e;
	}
	*ret = s;
	return NULL;
}

void seekable_close(struct seekable *s)
{
	if (!s)
		return;
	scratch_close(&s->to);
	(void)ZSTD_freeDCtx(s->z);
	gate_file_close(s->packed);
	free(s->frames);
	free(s->in);
	free(s->out);
	free(s);
}

int seekable_fd(const struct seekable *s)
{
	return s->to.fd;
}
