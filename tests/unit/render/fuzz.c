/* SPDX-License-Identifier: MIT */
/* Records that lie: random bytes and lengths never crash, whatever a clause's layout is. */
#include "render/fix.h"
#include "tap.h"

static uint64_t seed = 0x9e3779b97f4a7c15;

static uint32_t rnd(uint32_t n)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (uint32_t)(seed >> 33) % n;
}

/* clang-format off */
static const char *const formats[] = {
	"%d %s\n", "%S|%C|%c|%q", "%*d %-*.*s", "%x %X %o %p %u %i", "%k %a %A", "%e %Lf %g", "%ls %wc",
	"%Y %T", "%'d %+d % d %#x %#o", "%20.10s", "%s%s%s%s%s%s%s%s",
};
/* clang-format on */

static void random_field(struct fix *f)
{
	static const uint32_t sizes[] = {1, 2, 4, 8, 3, 16, 40, 0};
	enum datum_kind datum = (enum datum_kind)rnd(DATUM_UADDR + 1);
	struct rec_field *rf;

	switch (rnd(5)) {
	case 0: fix_field(f, REC_INT, datum, sizes[rnd(4)], NULL)->is_signed = rnd(2); return;
	case 1: fix_field(f, REC_STR, DATUM_STRING, sizeof(struct rt_str), NULL); return;
	case 2: fix_field(f, REC_COMM, DATUM_STRING, 16, NULL); return;
	case 3: fix_field(f, REC_STRID, DATUM_STRING, 4, NULL); return;
	default: rf = fix_field(f, REC_BYTES, datum, sizes[rnd(ARRAY_LEN(sizes))], NULL);
	}
	if (rf->datum == DATUM_INT || rf->datum == DATUM_STRING)
		rf->datum = DATUM_BYTES;
}

static void random_act(struct fix *f)
{
	static const enum act_kind kinds[] = {ACT_TRACE,    ACT_PRINTF, ACT_PRINTF, ACT_PRINTF,
					      ACT_TRACEMEM, ACT_PCAP,	ACT_STACK,  ACT_SYM,
					      ACT_EXIT,	    ACT_SETOPT};
	enum act_kind kind = kinds[rnd(ARRAY_LEN(kinds))];

	fix_act(f, kind, kind == ACT_PRINTF ? formats[rnd(ARRAY_LEN(formats))] : NULL);
	for (uint32_t i = rnd(10); i; i--)
		random_field(f);
}

/* Random bytes, with small numbers mixed in so that offsets and lengths are often nearly right. */
static void random_bytes(struct fix *f)
{
	for (uint32_t i = sizeof(struct rt_rec); i < f->len; i++)
		f->rec[i] = (uint8_t)(rnd(3) ? 0 : rnd(256));
	for (uint32_t i = sizeof(struct rt_rec); i + 4 <= f->len; i += 4)
		if (rnd(4) == 0)
			f->rec[i] = (uint8_t)rnd(f->len);
}

/* ---- callbacks: they read every byte of every value ----------------------------------------- */

static uint64_t sum; /* of what they have read */

static void bytes_read(const void *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++)
		sum += ((const unsigned char *)bytes)[i];
}

static int on_probe(const dtrace_probedata_t *data, void *arg)
{
	bytes_read(data->dtpda_data, data->dtpda_edesc->dtepd_size);
	return (int)rnd(3);
}

static int on_rec(const dtrace_probedata_t *data, const dtrace_recdesc_t *rec, void *arg)
{
	for (uint32_t n = rec ? rec->dtrd_nvals : 0; n; n--, rec++) {
		dtrace_datum_t d;
		struct err *e = printer_recdata(arg, data, rec, &d);

		if (e)
			BUG("%s", err_text(e));
		bytes_read(d.dtd_bytes, d.dtd_bytes ? d.dtd_size : 0);
		bytes_read(d.dtd_frames, d.dtd_nframes * sizeof(dtrace_frame_t));
		bytes_read(data->dtpda_data + rec->dtrd_offset, rec->dtrd_size);
	}
	return (int)rnd(4);
}

static int on_text(const dtrace_bufdata_t *buf, void *arg)
{
	bytes_read(buf->dtbda_buffered, buf->dtbda_len + 1);
	return rnd(20) ? DTRACE_HANDLE_OK : DTRACE_HANDLE_ABORT;
}

static void random_callbacks(struct fix *f)
{
	const struct print_callbacks cb = {.probe = rnd(3) ? NULL : on_probe,
					   .rec = rnd(3) ? NULL : on_rec,
					   .arg = f->printer,
					   .text = on_text};

	printer_set_callbacks(f->printer, &cb);
}

static uint32_t run_record(struct fix *f)
{
	/* The record lies at the end of its own memory: a read beyond it is seen. */
	uint32_t len = rnd(8) ? f->len + rnd(64) : rnd(f->len + 1);
	struct rt_rec *copy = malloc(len ? len : 1), *next = rnd(2) ? copy : NULL;
	FILE *fp = fopen("/dev/null", "we");
	struct rt_rec head = {rnd(50) == 0, rnd(50) ? 1 : rnd(2000), 0};
	struct err *e;

	memcpy(f->rec, &head, sizeof(head));
	memcpy(copy, f->rec, len);
	if (len < sizeof(head))
		next = NULL;
	random_callbacks(f);
	e = print_record(f->printer, rnd(3) ? fp : NULL, copy, len,
			 rnd(100) ? rnd(8) : rnd(UINT32_MAX), next);
	if (f->printer->out.len > 1 << 20)
		f->printer->out.len = 0;
	(void)fclose(fp);
	free(copy);
	err_destroy(e);
	return e == NULL;
}

int main(void)
{
	uint32_t good = 0, total = 0;
	struct fix f;

	fix_init(&f);
	fix_open(&f);
	for (int layout = 0; layout < 1500; layout++) {
		uint32_t len;

		for (uint32_t n = 1 + rnd(4); n; n--)
			random_act(&f);
		if (rnd(4) == 0) {
			f.cl.executed_off = f.len = ROUND_UP(f.len, 8u);
			f.len += 8;
		}
		len = f.len;
		f.opts.quiet = rnd(2);
		f.opts.flowindent = rnd(4) == 0;
		f.opts.rawbytes = rnd(4) == 0;
		f.opts.escape = (enum print_escape)rnd(3);
		fix_printer(&f);
		for (int i = 0; i < 30; i++, total++) {
			f.len = len;
			random_bytes(&f);
			good += run_record(&f);
		}
		fix_reset(&f);
		arena_reset(f.arena);
	}
	ok(good > total / 10 && good < total, "%u of %u random records were printable", good,
	   total);
	ok(sum > 0, "callbacks have read values");
	fix_deinit(&f);
	return tap_done();
}
