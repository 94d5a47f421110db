/* SPDX-License-Identifier: MIT */
/* Aggregations and stacks as values: walks, what their callbacks return, names of addresses. */
#include "base/str.h"

#include "api.h"

/* ---- walks ----------------------------------------------------------------------------------- */

struct walked {
	struct strbuf log; /* "name[keys]=value " */
	int answer;
	const char *only; /* the answer is for rows with this first key; NULL: for all */
	uint64_t normal;
	uint32_t n, end_at;
};

static void row_log(struct strbuf *out, const dtrace_aggdata_t *row)
{
	dtrace_aggvalue_t v;

	strbuf_addf(out, "%s[", row->dtada_desc->dtagd_name);
	for (uint32_t i = 0; i < row->dtada_nkeys; i++) {
		const dtrace_datum_t *k = &row->dtada_keys[i];

		if (k->dtd_kind == DTRACE_DATUM_STRING)
			strbuf_addf(out, "%s%s", i ? "," : "", k->dtd_bytes);
		else
			strbuf_addf(out, "%s%lld", i ? "," : "", (long long)k->dtd_value);
	}
	if (dtrace_aggvalue(row, DTRACE_CPUALL, &v) != 0)
		strbuf_adds(out, "]=? ");
	else
		strbuf_addf(out, "]=%lld ", (long long)v.dtav_value);
}

static int on_row(const dtrace_aggdata_t *row, void *arg)
{
	struct walked *w = arg;

	row_log(&w->log, row);
	if (++w->n == w->end_at)
		return DTRACE_AGGWALK_ABORT;
	if (w->only && strcmp(row->dtada_keys[0].dtd_bytes, w->only) != 0)
		return DTRACE_AGGWALK_NEXT;
	if (w->answer == DTRACE_AGGWALK_NORMALIZE)
		((dtrace_aggdata_t *)(uintptr_t)row)->dtada_normal = w->normal;
	return w->answer;
}

static const char program[] =
	"BEGIN { @a[\"x\"] = sum(30); @a[\"y\"] = sum(10); @a[\"z\"] = sum(20);"
	" @b[\"y\"] = max(7); @b[\"x\"] = max(8); @none = count(); }";

static dtrace_hdl_t *start(const char *text)
{
	dtrace_hdl_t *h = api_start(text);

	is_int(dtrace_work(h, stdout, NULL, NULL, NULL), DTRACE_WORKSTATUS_OKAY, "works");
	is_int(dtrace_aggregate_snap(h), 0, "a snapshot");
	return h;
}

static void check(dtrace_hdl_t *h, dtrace_aggregate_walk_f *walk, const char *want,
		  const char *what)
{
	struct walked w = {0};

	is_int(walk(h, on_row, &w), 0, what);
	is_str(strbuf_text(&w.log), want, what);
	strbuf_deinit(&w.log);
}

#define check_keys(h, want, what) check(h, dtrace_aggregate_walk_keysorted, want, what)

static void test_orders(void)
{
	dtrace_hdl_t *h = start(program);
	struct walked w = {0};

	check(h, dtrace_aggregate_walk_keysorted, "a[x]=30 a[y]=10 a[z]=20 b[x]=8 b[y]=7 none[]=1 ",
	      "by keys");
	check(h, dtrace_aggregate_walk_keyrevsorted,
	      "a[z]=20 a[y]=10 a[x]=30 b[y]=7 b[x]=8 none[]=1 ", "by keys, reversed");
	check(h, dtrace_aggregate_walk_valsorted, "a[y]=10 a[z]=20 a[x]=30 b[y]=7 b[x]=8 none[]=1 ",
	      "by values");
	check(h, dtrace_aggregate_walk_valrevsorted,
	      "a[x]=30 a[z]=20 a[y]=10 b[x]=8 b[y]=7 none[]=1 ", "by values, reversed");
	check(h, dtrace_aggregate_walk_keyvarsorted,
	      "none[]=1 a[x]=30 b[x]=8 a[y]=10 b[y]=7 a[z]=20 ", "by keys of all");
	check(h, dtrace_aggregate_walk_keyvarrevsorted,
	      "a[z]=20 b[y]=7 a[y]=10 b[x]=8 a[x]=30 none[]=1 ", "by keys of all, reversed");
	(void)dtrace_setopt(h, "aggsortrev", NULL);
	check(h, dtrace_aggregate_walk_sorted, "a[x]=30 a[z]=20 a[y]=10 b[x]=8 b[y]=7 none[]=1 ",
	      "as the options say");
	is_int(dtrace_aggregate_walk(h, on_row, &w), 0, "as it comes");
	is_int(w.n, 6, "all of them");
	strbuf_deinit(&w.log);
	dtrace_close(h);
}

static void test_answers(void)
{
	struct walked w = {.answer = DTRACE_AGGWALK_CLEAR, .only = "y"};
	dtrace_hdl_t *h = start(
		"BEGIN { @a[\"x\"] = sum(30); @a[\"y\"] = sum(10); }"
		"syscall::getppid:entry /pid == $pid/ { @a[\"y\"] = sum(1); @a[\"z\"] = sum(2); }");

	is_int(dtrace_aggregate_walk(h, on_row, &w), 0, "CLEAR");
	check_keys(h, "a[x]=30 a[y]=0 ", "the row is zero at once");
	api_call(3);
	(void)dtrace_aggregate_snap(h);
	check_keys(h, "a[x]=30 a[y]=3 a[z]=6 ", "and counts from there");

	w.answer = DTRACE_AGGWALK_REMOVE;
	is_int(dtrace_aggregate_walk(h, on_row, &w), 0, "REMOVE");
	check_keys(h, "a[x]=30 a[z]=6 ", "the row is gone at once");
	(void)dtrace_aggregate_snap(h);
	check_keys(h, "a[x]=30 a[z]=6 ", "and stays away");
	api_call(1);
	(void)dtrace_aggregate_snap(h);
	check_keys(h, "a[x]=30 a[y]=1 a[z]=8 ", "until it counts again");

	w.answer = DTRACE_AGGWALK_NORMALIZE;
	w.normal = 2;
	is_int(dtrace_aggregate_walk_keysorted(h, on_row, &w), 0, "NORMALIZE");
	check_keys(h, "a[x]=15 a[y]=0 a[z]=4 ", "the factor is the aggregation's");
	w.normal = 0;
	is_int(dtrace_aggregate_walk(h, on_row, &w), -1, "by 0");
	is_int(dtrace_errno(h), EDT_BADNORMAL, "is refused");
	w.answer = DTRACE_AGGWALK_DENORMALIZE;
	is_int(dtrace_aggregate_walk(h, on_row, &w), 0, "DENORMALIZE");
	check_keys(h, "a[x]=30 a[y]=1 a[z]=8 ", "values are as before");

	w = (struct walked){.log = w.log, .end_at = 2};
	is_int(dtrace_aggregate_walk(h, on_row, &w), -1, "ABORT");
	is_int(dtrace_errno(h), EDT_DIRABORT, "is the reason");
	is_int(w.n, 2, "and the end");
	w = (struct walked){.log = w.log, .answer = DTRACE_AGGWALK_ERROR};
	is_int(dtrace_aggregate_walk(h, on_row, &w), -1, "ERROR");
	w.answer = 66;
	is_int(dtrace_aggregate_walk(h, on_row, &w), -1, "no answer");
	is_int(dtrace_errno(h), EDT_BADRVAL, "is an error of its own");

	is_int(dtrace_aggregate_clear(h), 0, "all are cleared");
	check_keys(h, "a[x]=0 a[y]=0 a[z]=0 ", "keys stay");
	strbuf_deinit(&w.log);
	dtrace_close(h);
}

/* Rows of very many are removed while probes fire; what comes meanwhile counts. */
static void test_remove_all(void)
{
	dtrace_hdl_t *h =
		start("syscall::getppid:entry /pid == $pid/ { @a[n++ % 5000] = count(); }");
	struct walked w = {.answer = DTRACE_AGGWALK_REMOVE};

	for (int i = 0; i < 3; i++) {
		api_call(5000);
		(void)dtrace_aggregate_snap(h);
		w.n = 0;
		is_int(dtrace_aggregate_walk(h, on_row, &w), 0, "removes all");
		is_int(w.n, 5000, "5000 rows");
	}
	check_keys(h, "", "nothing is left");
	strbuf_deinit(&w.log);
	dtrace_close(h);
}

static int on_joined(const dtrace_aggdata_t **rows, const int n, void *arg)
{
	struct walked *w = arg;

	for (int i = 0; i < n; i++)
		if (rows[i])
			row_log(&w->log, rows[i]);
		else
			strbuf_adds(&w->log, "- ");
	strbuf_adds(&w->log, "| ");
	return w->only && rows[0] && strcmp(rows[0]->dtada_keys[0].dtd_bytes, w->only) == 0
		       ? w->answer
		       : DTRACE_AGGWALK_NEXT;
}

static void test_joined(void)
{
	struct walked w = {.answer = DTRACE_AGGWALK_REMOVE, .only = "x"};
	dtrace_hdl_t *h = start(program);
	dtrace_aggid_t ids[2] = {dtrace_aggregate_lookup(h, "b"), dtrace_aggregate_lookup(h, "a")};

	ok(ids[0] == 2 && ids[1] == 1, "identifiers by name");
	is_int(dtrace_aggregate_lookup(h, "nosuch"), 0, "which may not exist");
	is_int(dtrace_errno(h), EDT_NOAGG, "that is the reason");
	(void)dtrace_setopt(h, "aggsortkey", NULL);
	is_int(dtrace_aggregate_walk_joined(h, ids, 2, on_joined, &w), 0, "side by side");
	is_str(strbuf_text(&w.log), "b[x]=8 a[x]=30 | b[y]=7 a[y]=10 | - a[z]=20 | ", "rows");
	check_keys(h, "a[y]=10 a[z]=20 b[y]=7 none[]=1 ", "an answer holds for the whole row");
	ids[1] = dtrace_aggregate_lookup(h, "none");
	is_int(dtrace_aggregate_walk_joined(h, ids, 2, on_joined, &w), -1, "other keys");
	is_int(dtrace_errno(h), EDT_BADAGGVAR, "are refused");
	ids[1] = 77;
	is_int(dtrace_aggregate_walk_joined(h, ids, 2, on_joined, &w), -1, "no such aggregation");
	strbuf_deinit(&w.log);
	dtrace_close(h);
}

/* ---- printing in an order -------------------------------------------------------------------- */

static int backwards(dtrace_hdl_t *h, dtrace_aggregate_f *func, void *arg)
{
	return dtrace_aggregate_walk_keyrevsorted(h, func, arg);
}

static void check_print(dtrace_hdl_t *h, dtrace_aggregate_walk_f *walk, const char *want)
{
	char *text = NULL;
	size_t len = 0;
	FILE *fp = open_memstream(&text, &len);

	is_int(dtrace_aggregate_print(h, fp, walk), 0, "prints");
	(void)fclose(fp);
	for (char *p = text; (p = strstr(p, "  ")) != NULL;)
		memmove(p, p + 1, strlen(p));
	is_str(text, want, "in the order");
	free(text);
}

static void test_print(void)
{
	dtrace_hdl_t *h = start(program);

	check_print(h, NULL, "\n y 10\n z 20\n x 30\n y 7\n x 8\n 1\n");
	check_print(h, dtrace_aggregate_walk_valrevsorted,
		    "\n x 30\n z 20\n y 10\n x 8\n y 7\n 1\n");
	check_print(h, backwards, "\n z 20\n y 10\n x 30\n y 7\n x 8\n 1\n");
	dtrace_close(h);
}

/* ---- values ---------------------------------------------------------------------------------- */

struct values {
	dtrace_hdl_t *h;
	uint32_t n, bad_raw;
	dtrace_aggvalue_t by_name[26]; /* 'a'.. */
	dtrace_bucket_t buckets[26][8];
};

static int on_value(const dtrace_aggdata_t *row, void *arg)
{
	const dtrace_aggdesc_t *desc = row->dtada_desc;
	const dtrace_recdesc_t *raw = &desc->dtagd_rec[desc->dtagd_nrecs - 1];
	struct values *v = arg;
	int at = desc->dtagd_name[0] - 'a';
	dtrace_aggvalue_t *value = &v->by_name[at];

	v->n++;
	(void)dtrace_aggvalue(row, DTRACE_CPUALL, value);
	for (uint32_t i = 0; i < value->dtav_nbuckets && i < 8; i++)
		v->buckets[at][i] = value->dtav_buckets[i];
	v->bad_raw += raw->dtrd_action != desc->dtagd_action || raw->dtrd_offset % 8 ||
		      raw->dtrd_offset + raw->dtrd_size > row->dtada_size ||
		      *(const uint32_t *)(const void *)row->dtada_data != desc->dtagd_varid;
	if (desc->dtagd_action == DTRACEAGG_COUNT)
		v->bad_raw +=
			*(const int64_t *)(const void *)(row->dtada_data + raw->dtrd_offset) !=
			value->dtav_value;
	return DTRACE_AGGWALK_NEXT;
}

static bool is_bucket(const dtrace_bucket_t *b, int64_t min, int64_t max, int64_t count)
{
	return b->dtb_min == min && b->dtb_max == max && b->dtb_count == count;
}

static void test_values(void)
{
	static struct values v;
	dtrace_hdl_t *h = start(
		"BEGIN { @a = count(); @b = sum(-5); @c = min(3); @d = max(4);"
		" @e = avg(10); @f = stddev(3); @q = quantize(5); @l = lquantize(25, 0, 100, 10);"
		" @k = llquantize(250, 10, 0, 3, 10); }"
		"BEGIN { @a = count(); @e = avg(5); @f = stddev(7); @q = quantize(17); @q = quantize(-1);"
		" @l = lquantize(-4, 0, 100, 10); @l = lquantize(1000, 0, 100, 10); }");

	is_int(dtrace_aggregate_walk(h, on_value, &v), 0, "values");
	is_int(v.n, 9, "all functions");
	is_int(v.bad_raw, 0, "which lie where they are described");
#define V(c) v.by_name[(c) - 'a']
	ok(V('a').dtav_value == 2 && V('a').dtav_count == 2, "count()");
	ok(V('b').dtav_value == -5 && V('b').dtav_sum == -5, "sum()");
	ok(V('c').dtav_value == 3 && V('d').dtav_value == 4, "min() and max()");
	ok(V('e').dtav_value == 7 && V('e').dtav_sum == 15 && V('e').dtav_count == 2,
	   "avg() and its parts");
	ok(V('f').dtav_value == 2 && V('f').dtav_sum == 10 && V('f').dtav_count == 2 &&
		   V('f').dtav_sumsq[0] == 58 && V('f').dtav_sumsq[1] == 0,
	   "stddev() and its parts");
	is_int(V('q').dtav_count, 3, "quantize()");
	is_int(V('q').dtav_nbuckets, 7, "buckets from the first count to the last");
	ok(is_bucket(&v.buckets['q' - 'a'][0], -1, -1, 1) &&
		   is_bucket(&v.buckets['q' - 'a'][1], 0, 0, 0) &&
		   is_bucket(&v.buckets['q' - 'a'][4], 4, 7, 1) &&
		   is_bucket(&v.buckets['q' - 'a'][6], 16, 31, 1),
	   "which have bounds");
	ok(V('l').dtav_nbuckets == 12 && is_bucket(&v.buckets['l' - 'a'][0], INT64_MIN, -1, 1) &&
		   is_bucket(&v.buckets['l' - 'a'][3], 20, 29, 1),
	   "lquantize(): the first has none below");
	ok(V('k').dtav_nbuckets == 1 && is_bucket(&v.buckets['k' - 'a'][0], 200, 299, 1),
	   "llquantize()");
#undef V
	dtrace_close(h);
}

static int on_percpu(const dtrace_aggdata_t *row, void *arg)
{
	int64_t *sum = arg;
	dtrace_aggvalue_t v;

	for (uint32_t cpu = 0; cpu < row->dtada_ncpus; cpu++)
		if (dtrace_aggvalue(row, (int)cpu, &v) == 0)
			*sum += v.dtav_value;
	return dtrace_aggvalue(row, (int)row->dtada_ncpus, &v) == -1 ? DTRACE_AGGWALK_NEXT
								     : DTRACE_AGGWALK_ERROR;
}

static void test_percpu(void)
{
	dtrace_hdl_t *h = api_open();
	int64_t sum = 0;

	(void)dtrace_setopt(h, "aggpercpu", NULL);
	(void)api_go(h, "syscall::getppid:entry /pid == $pid/ { @ = count(); }");
	api_call(100);
	(void)dtrace_aggregate_snap(h);
	is_int(dtrace_aggregate_walk(h, on_percpu, &sum), 0, "each CPU");
	is_int(sum, 100, "together they are all");
	dtrace_close(h);
}

/* ---- stacks ---------------------------------------------------------------------------------- */

struct stacks {
	uint32_t nframes[2];
	bool has_me, has_kernel, is_first_exact, has_raw;
	char text[2][256], sym[256], mod[256];
};

static int on_stack(const dtrace_probedata_t *data, const dtrace_recdesc_t *rec, void *arg)
{
	dtrace_hdl_t *h = data->dtpda_handle;
	struct stacks *s = arg;
	dtrace_syminfo_t info;
	dtrace_datum_t d;
	bool is_user;

	if (!rec || dtrace_recdata(data, rec, &d) != 0)
		return DTRACE_CONSUME_NEXT;
	if (d.dtd_kind == DTRACE_DATUM_SYM)
		(void)dtrace_addr2str(h, d.dtd_addr, s->sym, sizeof(s->sym));
	if (d.dtd_kind == DTRACE_DATUM_UADDR)
		(void)dtrace_uaddr2str(h, d.dtd_pid, d.dtd_addr, s->mod, sizeof(s->mod));
	if (d.dtd_kind != DTRACE_DATUM_STACK && d.dtd_kind != DTRACE_DATUM_USTACK)
		return DTRACE_CONSUME_NEXT;
	is_user = d.dtd_kind == DTRACE_DATUM_USTACK;
	s->nframes[is_user] = d.dtd_nframes;
	if (d.dtd_nframes)
		(void)dtrace_frame2str(h, &d.dtd_frames[0], s->text[is_user], 256);
	for (uint32_t i = 0; i < d.dtd_nframes; i++) {
		const dtrace_frame_t *f = &d.dtd_frames[i];

		if (dtrace_frame_lookup(h, f, &info) != 0 || !info.dts_name)
			continue;
		s->has_me |= is_user && f->dtf_pid == getpid() &&
			     strcmp(info.dts_name, "stack_walked") == 0;
		s->has_kernel |= !is_user && f->dtf_pid == 0;
	}
	if (is_user)
		s->is_first_exact = d.dtd_nframes > 1 &&
				    !(d.dtd_frames[0].dtf_flags & DTRACE_FRAME_RETURN) &&
				    (d.dtd_frames[1].dtf_flags & DTRACE_FRAME_RETURN);
	s->has_raw |= is_user && rec->dtrd_size == 8 * (d.dtd_nframes + 1) &&
		      ((const uint64_t *)(const void *)(data->dtpda_data + rec->dtrd_offset))[1] ==
			      d.dtd_frames[0].dtf_addr;
	return DTRACE_CONSUME_NEXT;
}

__attribute__((noinline)) static void stack_walked(void)
{
	api_call(1);
	__asm__ volatile("" ::: "memory"); /* the call is not the last thing */
}

static int on_stack_key(const dtrace_aggdata_t *row, void *arg)
{
	const dtrace_datum_t *k = &row->dtada_keys[0];
	uint32_t *nframes = arg; /* of the kernel, and of the process */

	nframes[k->dtd_kind == DTRACE_DATUM_USTACK] = k->dtd_nframes;
	return DTRACE_AGGWALK_NEXT;
}

static void test_stacks(void)
{
	dtrace_hdl_t *h = api_start("syscall::getppid:entry /pid == $pid/ { ustack(); stack(5);"
				    " sym(caller); uaddr(arg0); @[ustack()] = count();"
				    " @[stack(2)] = count(); }");
	struct stacks s = {0};
	dtrace_syminfo_t info;
	char small[4];
	uint32_t n[2] = {0};

	stack_walked();
	(void)dtrace_stop(h);
	is_int(api_work(h, NULL, NULL, on_stack, &s), DTRACE_WORKSTATUS_DONE, "stacks");
	ok(s.nframes[1] > 2 && s.has_me, "%u frames of our own, the first is %s", s.nframes[1],
	   s.text[1]);
	ok(s.is_first_exact, "the first is no return address, the second is");
	ok(s.has_raw, "the addresses lie in the record");
	ok(s.nframes[0] > 0 && s.nframes[0] <= 5 && s.has_kernel, "%u of the kernel: %s",
	   s.nframes[0], s.text[0]);
	ok(strchr(s.sym, '`') != NULL, "a kernel address has a name: %s", s.sym);
	is_int(dtrace_ulookup_by_addr(h, getpid(), (uint64_t)(uintptr_t)&stack_walked, &info), 0,
	       "an address of ours is found");
	ok(info.dts_name && strcmp(info.dts_name, "stack_walked") == 0 && info.dts_offset == 0 &&
		   strncmp(info.dts_object, "unit_session_api", 16) == 0,
	   "by name, object and offset");
	is_int(dtrace_ulookup_by_addr(h, getpid(), 0x10, &info), -1, "0x10 is not");
	is_int(dtrace_errno(h), EDT_NOSYMADDR, "that is the reason");
	is_int(dtrace_addr2str(h, 0x10, small, sizeof(small)), 4, "its text is a number");
	is_str(small, "0x1", "as much of it as there is room for");
	(void)dtrace_aggregate_snap(h);
	(void)dtrace_aggregate_walk(h, on_stack_key, n);
	is_int(n[1], s.nframes[1], "a stack that is a key has as many frames");
	is_int(n[0], 2, "one of the kernel in the same aggregation is one of the kernel");
	dtrace_close(h);
}

/* A helper's text, and that of a frame that no symbol knows. */
struct helped {
	uint32_t nframes, nnotes, nnames;
};

static int on_helped(const dtrace_probedata_t *data, const dtrace_recdesc_t *rec, void *arg)
{
	struct helped *s = arg;
	dtrace_datum_t d;
	char text[64];

	if (!rec || dtrace_recdata(data, rec, &d) != 0 || d.dtd_kind != DTRACE_DATUM_USTACK)
		return DTRACE_CONSUME_NEXT;
	*s = (struct helped){.nframes = d.dtd_nframes};
	for (uint32_t i = 0; i < d.dtd_nframes; i++) {
		dtrace_frame_t f = d.dtd_frames[i];

		s->nnotes += f.dtf_helper && strcmp(f.dtf_helper, "note") == 0;
		f.dtf_addr = 0x10; /* where nothing is mapped */
		(void)dtrace_frame2str(data->dtpda_handle, &f, text, sizeof(text));
		s->nnames += strcmp(text, "note") == 0;
	}
	return DTRACE_CONSUME_NEXT;
}

static void test_helper(void)
{
	char path[] = "/tmp/unit_api_helper.XXXXXX";
	static const char text[] = "dtrace:helper:ustack: { \"note\"; }";
	dtrace_hdl_t *h = api_open();
	struct helped s = {0};
	int fd = mkstemp(path);

	ok(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text), "a helper's file");
	is_int(dtrace_setopt(h, "helper", path), 0, "option helper");
	(void)api_go(h, "syscall::getppid:entry /pid == $pid/ { jstack(3); }");
	(void)unlink(path);
	(void)close(fd);
	/* a walk may find no unwind tables of this program yet, and asks for them */
	for (int i = 0; i < 500 && s.nnotes < 3; i++) {
		stack_walked();
		(void)dtrace_work(h, NULL, NULL, on_helped, &s);
		dtrace_sleep(h);
	}
	stack_walked();
	(void)dtrace_stop(h);
	is_int(api_work(h, NULL, NULL, on_helped, &s), DTRACE_WORKSTATUS_DONE, "helped stacks");
	is_int(s.nframes, 3, "as many frames as asked for");
	is_int(s.nnotes, 3, "the helper's text is there for each");
	is_int(s.nnames, 3, "and names what no symbol does");
	dtrace_close(h);
}

int main(void)
{
	dtrace_hdl_t *h = api_open();

	if (!h) {
		printf("1..0 # SKIP %s\n", dtrace_open_errmsg());
		return 0;
	}
	dtrace_close(h);
	test_orders();
	test_answers();
	test_remove_all();
	test_joined();
	test_print();
	test_values();
	test_percpu();
	test_stacks();
	test_helper();
	return tap_done();
}
