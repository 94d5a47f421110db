/* SPDX-License-Identifier: MIT */
/* Unpacks compressed core files. */
#include "target/unpack.h"

#include <elf.h>
#include <errno.h>
#include <inttypes.h>
#include <lz4frame.h>
#include <lzma.h>
#include <zlib.h>
#include <zstd.h>

#include "files/gate.h"
#include "target/scratch.h"

#define IN_SIZE	     (256u << 10)
#define OUT_SIZE     (1u << 20)
#define UNPACKED_MAX ((uint64_t)1 << 40)
#define MEMORY_MAX   ((uint64_t)256 << 20)

/* ---- decoders -------------------------------------------------------------------------------- */

/* Where a decoder reads and writes. It moves the pointers, and takes their bytes off the sizes. */
struct flow {
	const uint8_t *in;
	size_t in_size;
	bool is_last; /* no input follows */
	uint8_t *out;
	size_t out_size;
};

enum step {
	STEP_INSIDE, /* of a stream that has not ended */
	STEP_ENDED,  /* a stream has ended; another one may follow */
	STEP_BAD,
};

struct decoder {
	const char *name;
	uint8_t magic[6];
	size_t magic_size;
	void *(*begin)(void); /* NULL: there is no memory */
	enum step (*step)(void *state, struct flow *f, const char **ret_problem);
	void (*end)(void *state);
};

static void *zstd_begin(void)
{
	return ZSTD_createDStream();
}

static enum step zstd_step(void *state, struct flow *f, const char **ret_problem)
{
	ZSTD_inBuffer in = {f->in, f->in_size, 0};
	ZSTD_outBuffer out = {f->out, f->out_size, 0};
	size_t left = ZSTD_decompressStream(state, &out, &in);

	f->in += in.pos;
	f->in_size -= in.pos;
	f->out += out.pos;
	f->out_size -= out.pos;
	if (ZSTD_isError(left))
		*ret_problem = ZSTD_getErrorName(left);
	return ZSTD_isError(left) ? STEP_BAD : left ? STEP_INSIDE : STEP_ENDED;
}

static void zstd_end(void *state)
{
	(void)ZSTD_freeDStream(state);
}

struct gzip {
	z_stream z;
	bool has_ended; /* a member; what follows is the next one */
};

static void *gzip_begin(void)
{
	struct gzip *g = xcalloc(1, sizeof(*g));

	if (inflateInit2(&g->z, 15 + 16) == Z_OK) /* 16: of gzip's format */
		return g;
	free(g);
	return NULL;
}

static enum step gzip_step(void *state, struct flow *f, const char **ret_problem)
{
	struct gzip *g = state;
	int r = Z_OK;

	if (g->has_ended && f->in_size) {
		g->has_ended = false;
		r = inflateReset(&g->z);
	}
	if (g->has_ended)
		return STEP_ENDED;
	g->z.next_in = (Bytef *)f->in; /* which zlib does not write to */
	g->z.avail_in = (uInt)f->in_size;
	g->z.next_out = f->out;
	g->z.avail_out = (uInt)f->out_size;
	if (r == Z_OK)
		r = inflate(&g->z, Z_NO_FLUSH);
	f->in = g->z.next_in;
	f->in_size = g->z.avail_in;
	f->out = g->z.next_out;
	f->out_size = g->z.avail_out;
	g->has_ended = r == Z_STREAM_END;
	if (r == Z_OK || r == Z_BUF_ERROR) /* the latter: it needs more input, or more room */
		return STEP_INSIDE;
	*ret_problem = g->z.msg ? g->z.msg : "no stream of gzip";
	return g->has_ended ? STEP_ENDED : STEP_BAD;
}

static void gzip_end(void *state)
{
	struct gzip *g = state;

	(void)inflateEnd(&g->z);
	free(g);
}

static void *xz_begin(void)
{
	lzma_stream *s = xcalloc(1, sizeof(*s));

	*s = (lzma_stream)LZMA_STREAM_INIT;
	if (lzma_stream_decoder(s, MEMORY_MAX, LZMA_CONCATENATED) == LZMA_OK)
		return s;
	free(s);
	return NULL;
}

static enum step xz_step(void *state, struct flow *f, const char **ret_problem)
{
	lzma_stream *s = state;
	lzma_ret r;

	s->next_in = f->in;
	s->avail_in = f->in_size;
	s->next_out = f->out;
	s->avail_out = f->out_size;
	r = lzma_code(s, f->is_last ? LZMA_FINISH : LZMA_RUN);
	f->in = s->next_in;
	f->in_size = s->avail_in;
	f->out = s->next_out;
	f->out_size = s->avail_out;
	if (r == LZMA_OK || r == LZMA_BUF_ERROR)
		return STEP_INSIDE;
	*ret_problem = r == LZMA_MEMLIMIT_ERROR ? "it needs more than 256 MB of memory"
						: "the data is corrupt";
	return r == LZMA_STREAM_END ? STEP_ENDED : STEP_BAD;
}

static void xz_end(void *state)
{
	lzma_end(state);
	free(state);
}

static void *lz4_begin(void)
{
	LZ4F_dctx *d = NULL;

	return LZ4F_isError(LZ4F_createDecompressionContext(&d, LZ4F_VERSION)) ? NULL : d;
}

static enum step lz4_step(void *state, struct flow *f, const char **ret_problem)
{
	size_t in = f->in_size, out = f->out_size;
	size_t left = LZ4F_decompress(state, f->out, &out, f->in, &in, NULL);

	if (LZ4F_isError(left)) { /* nothing was read or written */
		*ret_problem = LZ4F_getErrorName(left);
		return STEP_BAD;
	}
	f->in += in;
	f->in_size -= in;
	f->out += out;
	f->out_size -= out;
	return left ? STEP_INSIDE : STEP_ENDED;
}

static void lz4_end(void *state)
{
	(void)LZ4F_freeDecompressionContext(state);
}

static const struct decoder decoders[] = {
	{"zstd", {0x28, 0xb5, 0x2f, 0xfd}, 4, zstd_begin, zstd_step, zstd_end},
	{"gzip", {0x1f, 0x8b}, 2, gzip_begin, gzip_step, gzip_end},
	{"xz", {0xfd, '7', 'z', 'X', 'Z', 0}, 6, xz_begin, xz_step, xz_end},
	{"lz4", {0x04, 0x22, 0x4d, 0x18}, 4, lz4_begin, lz4_step, lz4_end},
};

static const struct decoder *decoder_find(struct gate_file *packed)
{
	uint8_t head[sizeof(decoders[0].magic)];
	ssize_t n = gate_file_read(packed, head, sizeof(head), 0);

	for (uint32_t i = 0; i < ARRAY_LEN(decoders); i++)
		if (n >= (ssize_t)decoders[i].magic_size &&
		    memcmp(head, decoders[i].magic, decoders[i].magic_size) == 0)
			return &decoders[i];
	return NULL;
}

/* ---- unpacking ------------------------------------------------------------------------------- */

/* Whether that can be the begin of a core file; what is none is refused before all is unpacked. */
static bool is_core(const uint8_t *head, size_t size)
{
	Elf64_Ehdr eh;

	if (size < sizeof(eh))
		return false;
	memcpy(&eh, head, sizeof(eh));
	return memcmp(eh.e_ident, ELFMAG, SELFMAG) == 0 && eh.e_type == ET_CORE;
}

/* A stream on its way. */
struct unpacking {
	const struct decoder *how;
	void *state;
	struct gate_file *packed;
	uint64_t off; /* of what is read next */
	uint8_t *in, *out;
	struct flow flow;
	struct scratch to;
	uint64_t size; /* of what was unpacked */
};

static struct err *out_flush(struct unpacking *p)
{
	size_t size = (size_t)(p->flow.out - p->out);

	p->flow.out = p->out;
	p->flow.out_size = OUT_SIZE;
	if (!p->size && !is_core(p->out, size))
		return err_new("no core file is packed in it");
	p->size += size;
	return p->size > UNPACKED_MAX ? err_new("more than 1 TB is packed in it")
				      : scratch_write(&p->to, p->out, size, p->size - size);
}

static struct err *in_fill(struct unpacking *p)
{
	ssize_t n = gate_file_read(p->packed, p->in, IN_SIZE, p->off);

	if (n < 0)
		return err_sys(errno, "cannot read it");
	p->flow.in = p->in;
	p->flow.in_size = (size_t)n;
	p->flow.is_last = n == 0;
	p->off += (uint64_t)n;
	return NULL;
}

/* Unpacks all streams of the file; *ret_damage: what is wrong with one; NULL: nothing. */
static struct err *streams_unpack(struct unpacking *p, char **ret_damage)
{
	enum step step = STEP_INSIDE, before;
	const char *problem = NULL;
	struct err *e = NULL;
	bool is_stuck = false;

	while (!e && step != STEP_BAD && !(is_stuck && (p->flow.is_last || p->flow.in_size))) {
		const uint8_t *in, *out;

		if (!p->flow.in_size && !p->flow.is_last)
			e = in_fill(p);
		if (!e && !p->flow.out_size)
			e = out_flush(p);
		if (e)
			break;
		if (p->flow.is_last && step == STEP_ENDED)
			break;
		in = p->flow.in;
		out = p->flow.out;
		before = step;
		step = p->how->step(p->state, &p->flow, &problem);
		if (step == STEP_BAD && before == STEP_ENDED) { /* what follows is no stream */
			step = before;
			break;
		}
		is_stuck = p->flow.in == in && p->flow.out == out;
	}
	if (!e)
		e = out_flush(p);
	if (e || step == STEP_ENDED)
		return e;
	if (asprintf(ret_damage, "%s behind %" PRIu64 " MB (%s)",
		     step == STEP_BAD ? "is damaged" : "ends early", p->size >> 20,
		     step == STEP_BAD ? problem : "the file was cut") < 0)
		oom();
	return NULL;
}

struct err *core_unpack(struct gate_file *packed, const char *path, int *ret_fd, char **ret_damage)
{
	struct unpacking p = {.packed = packed, .to.fd = -1};
	char *damage = NULL;
	struct err *e;

	*ret_fd = -1;
	p.how = decoder_find(packed);
	if (!p.how)
		return NULL;
	e = scratch_create(NULL, &p.to);
	p.state = e ? NULL : p.how->begin();
	if (!e && !p.state)
		e = err_new("there is no memory for it");
	if (p.state) {
		p.in = xmalloc(IN_SIZE);
		p.out = xmalloc(OUT_SIZE);
		p.flow.out = p.out;
		p.flow.out_size = OUT_SIZE;
		e = streams_unpack(&p, &damage);
		p.how->end(p.state);
		free(p.in);
		free(p.out);
	}
	if (!e)
		e = scratch_end(&p.to, p.size);
	if (e) {
		scratch_close(&p.to);
		free(damage);
		return err_wrap(e, "cannot unpack '%s' (%s)", path, p.how->name);
	}
	if (damage && asprintf(ret_damage, "its stream of %s %s", p.how->name, damage) < 0)
		oom();
	free(damage);
	*ret_fd = fd_take(&p.to.fd);
	return NULL;
}
