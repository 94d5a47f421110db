/* SPDX-License-Identifier: MIT */
/* Records as values: the callbacks of dtrace_work(), buffered output, handlers. */
#include "dif/prog.h"
#include "render/api.h"

#include "api.h"

/* ---- what callbacks see ---------------------------------------------------------------------- */

struct seen {
	struct strbuf log; /* a line for each call */
	uint32_t nprobes, nends;
	int probe_answer, rec_answer; /* what is returned, */
	dtrace_actkind_t rec_only;    /* the latter only for this action; NONE: for each */
	uint32_t abort_at;	      /* of the probe callback; 0: never */
};

static void datum_log(struct strbuf *out, dtrace_hdl_t *h, const dtrace_datum_t *d)
{
	switch (d->dtd_kind) {
	case DTRACE_DATUM_INT:
		strbuf_addf(out, "int%u:%lld", d->dtd_size * 8, (long long)d->dtd_value);
		return;
	case DTRACE_DATUM_STRING: strbuf_addf(out, "str%u:%s", d->dtd_size, d->dtd_bytes); return;
	case DTRACE_DATUM_BYTES:
		strbuf_addf(out, "bytes%u:", d->dtd_size);
		for (uint32_t i = 0; i < d->dtd_size; i++)
			strbuf_addf(out, "%02x", (unsigned char)d->dtd_bytes[i]);
		return;
	case DTRACE_DATUM_STACK: strbuf_addf(out, "stack"); return;
	case DTRACE_DATUM_USTACK: strbuf_addf(out, "ustack"); return;
	case DTRACE_DATUM_SYM:
	case DTRACE_DATUM_MOD:
	case DTRACE_DATUM_USYM:
	case DTRACE_DATUM_UMOD:
	case DTRACE_DATUM_UADDR:
		strbuf_addf(out, "addr%d:%d:%llx", (int)d->dtd_kind, (int)d->dtd_pid,
			    (unsigned long long)d->dtd_addr);
		return;
	}
}

static int on_probe(const dtrace_probedata_t *data, void *arg)
{
	struct seen *s = arg;

	s->nprobes++;
	strbuf_addf(&s->log, "%s:%s\n", data->dtpda_pdesc->dtpd_provider,
		    data->dtpda_pdesc->dtpd_name);
	if (s->abort_at && s->nprobes == s->abort_at)
		return DTRACE_CONSUME_ABORT;
	return s->probe_answer;
}

static int on_rec(const dtrace_probedata_t *data, const dtrace_recdesc_t *rec, void *arg)
{
	struct seen *s = arg;

	if (!rec) {
		s->nends++;
		return DTRACE_CONSUME_THIS;
	}
	strbuf_addf(&s->log, " %d", (int)rec->dtrd_action);
	if (rec->dtrd_format)
		strbuf_addf(&s->log, " '%s'", rec->dtrd_format);
	for (uint32_t i = 0; i < rec->dtrd_nvals; i++) {
		dtrace_datum_t d;

		if (dtrace_recdata(data, rec + i, &d) != 0)
			return DTRACE_CONSUME_ERROR;
		strbuf_addc(&s->log, ' ');
		datum_log(&s->log, data->dtpda_handle, &d);
	}
	strbuf_addc(&s->log, '\n');
	if (s->rec_only == DTRACEACT_NONE || s->rec_only == rec->dtrd_action)
		return s->rec_answer;
	return DTRACE_CONSUME_THIS;
}

/* The text and the log of a program that ends by itself. */
static dtrace_workstatus_t run(const char *text, struct seen *s, struct strbuf *out)
{
	dtrace_hdl_t *h = api_start(text);
	dtrace_workstatus_t status;
	char *shown = NULL;
	size_t len = 0;
	FILE *fp = open_memstream(&shown, &len);

	status = api_work(h, fp, on_probe, on_rec, s);
	(void)fclose(fp);
	strbuf_add(out, shown, len);
	free(shown);
	dtrace_close(h);
	return status;
}

static void seen_deinit(struct seen *s, struct strbuf *out)
{
	strbuf_deinit(&s->log);
	strbuf_deinit(out);
}

/* ---- values ---------------------------------------------------------------------------------- */

static const char values[] =
	"struct pair { int a; char b; };"
	"BEGIN { trace(42); trace((short)-3); trace(\"text\"); printf(\"%s is %5d%%\\n\", \"x\", 7);"
	" this->m = (char *)alloca(4); this->m[0] = 1; this->m[3] = 255; tracemem(this->m, 4); exit(3); }";

static void test_values(void)
{
	struct strbuf out = {0}, want = {0};
	struct seen s = {0};

	is_int(run(values, &s, &out), DTRACE_WORKSTATUS_DONE, "values: done");
	strbuf_addf(&want,
		    "dtrace:BEGIN\n %d int32:42\n %d int16:-3\n %d str4:text\n"
		    " %d '%%s is %%5d%%%%\n' str1:x int32:7\n %d bytes4:010000ff\n %d int32:3\n",
		    DTRACEACT_DIFEXPR, DTRACEACT_DIFEXPR, DTRACEACT_DIFEXPR, DTRACEACT_PRINTF,
		    DTRACEACT_TRACEMEM, DTRACEACT_EXIT);
	is_str(strbuf_text(&s.log), strbuf_text(&want), "each action, its format and its values");
	is_int(s.nends, 1, "the end of the record is told");
	ok(strncmp(strbuf_text(&out), "42-3textx is     7%\n", 20) == 0, "and it is shown");
	strbuf_deinit(&want);
	seen_deinit(&s, &out);
}

/* The classic way: bytes at an offset. */
static int on_raw(const dtrace_probedata_t *data, const dtrace_recdesc_t *rec, void *arg)
{
	struct strbuf *log = arg;
	const char *at;

	if (!rec)
		return DTRACE_CONSUME_NEXT;
	for (uint32_t n = rec->dtrd_nvals; n; n--, rec++) {
		at = data->dtpda_data + rec->dtrd_offset;
		if ((uintptr_t)at % rec->dtrd_alignment ||
		    rec->dtrd_offset + rec->dtrd_size > data->dtpda_edesc->dtepd_size)
			strbuf_adds(log, "bad ");
		switch (rec->dtrd_size) {
		case sizeof(int): strbuf_addf(log, "%d ", *(const int *)(const void *)at); break;
		case sizeof(int64_t):
			strbuf_addf(log, "%lld ", (long long)*(const int64_t *)(const void *)at);
			break;
		default: strbuf_addf(log, "%u:%s ", rec->dtrd_size, at);
		}
	}
	return DTRACE_CONSUME_NEXT;
}

static void test_raw(void)
{
	dtrace_hdl_t *h = api_start("BEGIN { trace((int)-5); trace(\"four-\"); trace(1ll << 40); "
				    "trace(execname); printf(\"%d %s\", 9ll, probename); }");
	struct strbuf log = {0};

	(void)dtrace_stop(h);
	is_int(api_work(h, NULL, NULL, on_raw, &log), DTRACE_WORKSTATUS_DONE, "raw: done");
	ok(strncmp(strbuf_text(&log), "-5 6:four- 1099511627776 ", 25) == 0,
	   "values at their offsets: %s", strbuf_text(&log));
	ok(strstr(strbuf_text(&log), "9 6:BEGIN ") != NULL, "those of printf(), too");
	strbuf_deinit(&log);
	dtrace_close(h);
}

/* Each action that leaves data has a number of its own. */
static void test_kinds(void)
{
	uint32_t n = 0, none = 0;

	static const enum act_kind kinds[] = {
#define ACT_RECORD(id, ...) ACT_##id,
#include "dif/acts.def"
	};

	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		n++;
		none += api_action(kinds[i], DATUM_SYM) == DTRACEACT_NONE;
	}
	ok(n > 15, "%u actions record", n);
	is_int(none, 0, "and each of them has a name in dtrace.h");
}

/* ---- answers --------------------------------------------------------------------------------- */

static void test_next(void)
{
	static const char text[] = "BEGIN { trace(1); @ = count(); printf(\"shown\"); exit(4); }";
	struct strbuf out = {0};
	struct seen s = {.rec_answer = DTRACE_CONSUME_NEXT, .rec_only = DTRACEACT_DIFEXPR};

	is_int(run(text, &s, &out), DTRACE_WORKSTATUS_DONE, "NEXT of an action: done");
	is_str(strbuf_text(&out), "shown", "it alone is not shown");
	seen_deinit(&s, &out);

	s = (struct seen){.probe_answer = DTRACE_CONSUME_NEXT};
	out = (struct strbuf){0};
	is_int(run(text, &s, &out), DTRACE_WORKSTATUS_DONE,
	       "NEXT of a record: exit() ends the run even so");
	is_str(strbuf_text(&out), "", "nothing is shown");
	is_int(s.nends, 0, "and the record callback is not called");
	seen_deinit(&s, &out);
}

static void test_exit_status(void)
{
	dtrace_hdl_t *h = api_start("BEGIN { exit(4); }");
	struct seen s = {.probe_answer = DTRACE_CONSUME_NEXT};

	(void)api_work(h, NULL, on_probe, NULL, &s);
	is_int(dtrace_exit_status(h), 4, "the status of a record that was passed over");
	strbuf_deinit(&s.log);
	dtrace_close(h);
}

static void test_abort(void)
{
	struct seen s = {.abort_at = 3};
	dtrace_hdl_t *h;

	h = api_start("syscall::getppid:entry /pid == $pid/ { trace(++n); }"
		      "END { trace(\"end\"); }");
	api_call(10);
	(void)dtrace_stop(h);
	s.rec_answer = s.probe_answer = DTRACE_CONSUME_NEXT;
	is_int(api_work(h, NULL, on_probe, on_rec, &s), DTRACE_WORKSTATUS_ERROR, "ABORT");
	is_int(dtrace_errno(h), EDT_DIRABORT, "is the reason");
	is_int(s.nprobes, 3, "at once");
	is_int(api_work(h, NULL, on_probe, on_rec, &s), DTRACE_WORKSTATUS_DONE, "and goes on");
	is_int(s.nprobes, 11, "with the next record, and END");
	strbuf_deinit(&s.log);
	dtrace_close(h);
}

static void test_bad_answer(void)
{
	struct strbuf out = {0};
	struct seen s = {.rec_answer = 77};
	dtrace_hdl_t *h = api_start("BEGIN { trace(1); }");

	is_int(api_work(h, NULL, NULL, on_rec, &s), DTRACE_WORKSTATUS_ERROR, "no answer");
	is_int(dtrace_errno(h), EDT_BADRVAL, "is an error of its own");
	dtrace_close(h);
	strbuf_deinit(&s.log);

	s = (struct seen){.rec_answer = DTRACE_CONSUME_ERROR};
	is_int(run("BEGIN { trace(1); }", &s, &out), DTRACE_WORKSTATUS_ERROR, "ERROR");
	seen_deinit(&s, &out);
}

/* ---- the line -------------------------------------------------------------------------------- */

static int own_column(const dtrace_probedata_t *data, void *arg)
{
	fprintf(arg, "[%s] ", data->dtpda_pdesc->dtpd_name);
	return DTRACE_CONSUME_THIS;
}

static int own_newline(const dtrace_probedata_t *data, const dtrace_recdesc_t *rec, void *arg)
{
	if (!rec)
		fputs(" end\n", arg);
	return DTRACE_CONSUME_THIS;
}

/* What the program writes stands where it was written. */
static void test_line(void)
{
	FILE *fp = tmpfile();
	dtrace_hdl_t *h = api_open();
	char text[128] = "";

	(void)dtrace_setopt(h, "quiet", "off");
	(void)api_go(h, "BEGIN { trace(\"a\"); printf(\"b\"); } END { trace(\"c\"); }");
	(void)dtrace_stop(h);
	(void)api_work(h, fp, own_column, own_newline, fp);
	rewind(fp);
	text[fread(text, 1, sizeof(text) - 1, fp)] = '\0';
	is_str(text,
	       "[BEGIN]   a                                b end\n[END]   c                                 end\n",
	       "without columns, and in order");
	(void)fclose(fp);
	dtrace_close(h);
}

static int on_flow(const dtrace_probedata_t *data, void *arg)
{
	struct strbuf *log = arg;

	strbuf_addf(log, "%d %d '%s' ", (int)data->dtpda_flow, data->dtpda_indent,
		    data->dtpda_prefix ? data->dtpda_prefix : "");
	return DTRACE_CONSUME_NEXT;
}

static void test_flow(void)
{
	dtrace_hdl_t *h = api_open();
	struct strbuf log = {0};

	(void)dtrace_setopt(h, "flowindent", NULL);
	(void)api_go(h, "syscall::getppid: /pid == $pid/ {}");
	api_call(1);
	(void)dtrace_stop(h);
	(void)api_work(h, NULL, on_flow, NULL, &log);
	is_str(strbuf_text(&log), "0 0 ' => ' 1 0 ' <= ' ", "flow of a call");
	strbuf_deinit(&log);
	dtrace_close(h);
}

/* ---- buffered output ------------------------------------------------------------------------- */

static const char shown[] =
	"BEGIN { trace(1); printf(\"two %s\\n\", \"words\"); @[\"k\"] = count(); @[\"l\"] = count();"
	" @q[1] = quantize(100); @q[2] = quantize(-3); @m[\"k\"] = max(7); printa(@); printa(\"%s %@d\\n\", @);"
	" printa(\"%s %@d %@d\\n\", @, @m); printf(\"%c\", 0); stack(2); exit(0); }"
	"END { @last[\"x\", 3] = avg(5); trace(\"at last\"); }";

struct pieces {
	struct strbuf text;
	uint32_t n, nrecs, nrows, nprobes, unterminated, abort_at;
	int64_t keys;
};

static int on_text(const dtrace_bufdata_t *buf, void *arg)
{
	struct pieces *p = arg;

	p->n++;
	strbuf_add(&p->text, buf->dtbda_buffered, buf->dtbda_len);
	p->unterminated += buf->dtbda_buffered[buf->dtbda_len] != '\0';
	p->nprobes += buf->dtbda_probe != NULL;
	p->nrecs += buf->dtbda_recdesc != NULL;
	if (buf->dtbda_aggdata) {
		p->nrows += (buf->dtbda_flags & DTRACE_BUFDATA_AGGLAST) != 0;
		p->keys += buf->dtbda_aggdata->dtada_nkeys;
	}
	return p->n == p->abort_at ? DTRACE_HANDLE_ABORT : DTRACE_HANDLE_OK;
}

static dtrace_hdl_t *start_shown(const char *form, bool is_quiet)
{
	dtrace_hdl_t *h = api_open();

	(void)dtrace_setopt(h, "oformat", form);
	(void)dtrace_setopt(h, "quiet", is_quiet ? "on" : "off");
	(void)api_go(h, shown);
	return h;
}

/* Times and CPUs differ from run to run. */
static void digits_hide(struct strbuf *text, const char *member)
{
	for (char *p = text->data; p && (p = strstr(p, member)); p++)
		for (p += strlen(member); *p && !strchr(",}\"", *p); p++)
			if (*p >= '0' && *p <= '9')
				*p = '0';
}

static void test_buffered(const char *form, bool is_quiet)
{
	dtrace_hdl_t *h = start_shown(form, is_quiet);
	struct pieces p = {0};
	struct strbuf file = {0};
	char *text = NULL;
	size_t len = 0;
	FILE *fp = open_memstream(&text, &len);

	(void)api_work(h, fp, NULL, NULL, NULL);
	ok(dtrace_aggregate_print(h, fp, NULL) == 0 && dtrace_output_end(h, fp) == 0, "to a file");
	(void)fclose(fp);
	dtrace_close(h);
	strbuf_add(&file, text, len);
	free(text);

	h = start_shown(form, is_quiet);
	(void)dtrace_handle_buffered(h, on_text, &p);
	is_int(api_work(h, NULL, NULL, NULL, NULL), DTRACE_WORKSTATUS_DONE, "to a handler");
	ok(dtrace_aggregate_print(h, NULL, NULL) == 0 && dtrace_output_end(h, NULL) == 0, "all");
	dtrace_close(h);
	digits_hide(&file, "\"timestamp\": ");
	digits_hide(&p.text, "\"timestamp\": ");
	digits_hide(&file, "\"started\": \"");
	digits_hide(&p.text, "\"started\": \"");
	digits_hide(&file, "\"cpu\": ");
	digits_hide(&p.text, "\"cpu\": ");
	ok(file.len > 100 && file.len == p.text.len && !memcmp(file.data, p.text.data, file.len),
	   "%s%s: %zu bytes are the same %zu bytes", form, is_quiet ? " quiet" : "", file.len,
	   p.text.len);
	is_int(p.unterminated, 0, "each has a NUL behind it");
	ok(p.nrecs >= 8 && p.nprobes >= p.nrecs, "%u texts, %u of records, %u of actions", p.n,
	   p.nprobes, p.nrecs);
	if (strcmp(form, "text") == 0)
		is_int(p.nrows, 2 + 2 + 2 + 2 + 1, "and one for each row");
	strbuf_deinit(&file);
	strbuf_deinit(&p.text);
}

static void test_buffered_abort(void)
{
	dtrace_hdl_t *h = start_shown("text", true);
	struct pieces p = {.abort_at = 2};

	(void)dtrace_handle_buffered(h, on_text, &p);
	is_int(dtrace_work(h, NULL, NULL, NULL, NULL), DTRACE_WORKSTATUS_ERROR,
	       "a handler ends it");
	is_int(dtrace_errno(h), EDT_DIRABORT, "that is the reason");
	is_int(p.n, 2, "and is not called again");
	strbuf_deinit(&p.text);
	dtrace_close(h);

	h = start_shown("text", true);
	is_int(dtrace_work(h, NULL, NULL, NULL, NULL), DTRACE_WORKSTATUS_ERROR,
	       "no handler, no file");
	is_int(dtrace_errno(h), EDT_NOBUFFERED, "that is the reason");
	dtrace_close(h);
}

/* ---- handlers -------------------------------------------------------------------------------- */

struct faults {
	dtrace_errdata_t first;
	dtrace_epid_t epid;
	uint64_t uarg, told, all;
	char name[32];
};

static int on_fault(const dtrace_errdata_t *fault, void *arg)
{
	struct faults *f = arg;

	if (!f->told++) {
		f->first = *fault;
		f->epid = fault->dteda_edesc->dtepd_epid;
		f->uarg = fault->dteda_edesc->dtepd_uarg;
		(void)snprintf(f->name, sizeof(f->name), "%s", fault->dteda_pdesc->dtpd_name);
	}
	f->all += fault->dteda_count;
	return DTRACE_HANDLE_OK;
}

static void test_fault(void)
{
	dtrace_hdl_t *h = api_open();
	struct faults f = {0};

	(void)dtrace_handle_err(h, on_fault, &f);
	(void)api_go(
		h,
		"BEGIN { trace(1); } BEGIN { trace(2); trace(*(int *)0x10); } BEGIN { exit(0); }");
	(void)api_work(h, NULL, NULL, NULL, &f);
	(void)dtrace_work(h, NULL, NULL, NULL, NULL);
	dtrace_close(h);

	h = api_open();
	f = (struct faults){0};
	(void)dtrace_handle_err(h, on_fault, &f);
	(void)api_go(
		h, "BEGIN { n = 1; } BEGIN { trace(2); trace(*(int *)0x10); } BEGIN { exit(0); }");
	is_int(api_work(h, NULL, NULL, NULL, &f), DTRACE_WORKSTATUS_DONE, "a fault ends no run");
	is_int(f.told, 1, "one fault");
	is_int(f.first.dteda_fault, DTRACEFLT_BADADDR, "its kind,");
	is_int(f.first.dteda_addr, 0x10, "address,");
	is_int(f.first.dteda_action, 2, "action,");
	is_str(f.name, "BEGIN", "probe");
	is_int(f.uarg, 1, "and clause");
	ok(f.epid > 0 && f.first.dteda_offset >= 0 && f.first.dteda_cpu >= 0 &&
		   f.first.dteda_handle == h,
	   "enabling %u, DIF offset %d, CPU %d", f.epid, f.first.dteda_offset, f.first.dteda_cpu);
	dtrace_close(h);

	h = api_open();
	f = (struct faults){0};
	(void)dtrace_handle_err(h, on_fault, &f);
	(void)api_go(h, "syscall::getppid:entry /pid == $pid/ { trace(*(int *)8); }");
	api_call(1500);
	(void)dtrace_stop(h);
	(void)api_work(h, NULL, NULL, NULL, NULL);
	is_int(f.all, 1500, "none of a flood is missing");
	ok(f.told < 500, "though %llu are told", (unsigned long long)f.told);
	dtrace_close(h);
}

static int on_enabling(const dtrace_probedata_t *data, void *arg)
{
	const dtrace_eprobedesc_t *e = data->dtpda_edesc;

	strbuf_addf(arg, "%u:%llu:%s ", e->dtepd_epid, (unsigned long long)e->dtepd_uarg,
		    data->dtpda_pdesc->dtpd_func);
	return DTRACE_CONSUME_NEXT;
}

/* Clauses of one text are joined in the program (match/join.c), and are two for the user. */
static void test_enablings(void)
{
	dtrace_hdl_t *h = api_open();
	struct strbuf got = {0};

	(void)api_go(h, "BEGIN { n = 0; } syscall::getpgid:entry, syscall::getppid:entry "
			"/pid == $pid/ { trace(n++); }");
	api_call(1);
	(void)syscall(SYS_getpgid, 0);
	(void)dtrace_stop(h);
	(void)api_work(h, NULL, on_enabling, NULL, &got);
	is_str(strbuf_text(&got), "3:2:getppid 2:1:getpgid ",
	       "the enabling of each record, and its clause");
	strbuf_deinit(&got);
	dtrace_close(h);
}

struct drops {
	uint64_t n, total;
	int bad;
};

static int on_drop(const dtrace_dropdata_t *drop, void *arg)
{
	struct drops *d = arg;

	d->bad += drop->dtdda_kind != DTRACEDROP_PRINCIPAL || drop->dtdda_cpu < 0;
	d->n += drop->dtdda_drops;
	d->bad += drop->dtdda_total != d->n;
	return DTRACE_HANDLE_OK;
}

static int on_count(const dtrace_probedata_t *data, void *arg)
{
	++*(uint64_t *)arg;
	return DTRACE_CONSUME_NEXT;
}

static void test_drops(void)
{
	dtrace_hdl_t *h = api_open();
	struct drops d = {0};
	uint64_t kept = 0;

	(void)dtrace_setopt(h, "bufsize", "4k");
	(void)dtrace_handle_drop(h, on_drop, &d);
	(void)api_go(h, "syscall::getppid:entry /pid == $pid/ { trace(1); }");
	api_call(2000);
	(void)dtrace_stop(h);
	(void)api_work(h, NULL, on_count, NULL, &kept);
	ok(d.n > 0 && d.bad == 0, "%llu records lost", (unsigned long long)d.n);
	is_int(kept + d.n, 2000, "and the callback has seen the others");
	dtrace_close(h);
}

static int on_setopt(const dtrace_setoptdata_t *opt, void *arg)
{
	struct strbuf *log = arg;

	strbuf_addf(log, "%s %s %lld->%lld %d", opt->dtsda_option, opt->dtsda_newval,
		    (long long)opt->dtsda_old, (long long)opt->dtsda_new, opt->dtsda_probe != NULL);
	return log->len > 1000 ? DTRACE_HANDLE_ABORT : DTRACE_HANDLE_OK;
}

static int refuse(const dtrace_setoptdata_t *opt, void *arg)
{
	return DTRACE_HANDLE_ABORT;
}

static void test_setopt(void)
{
	static const char text[] = "BEGIN { setopt(\"aggsortrev\"); exit(0); }";
	dtrace_hdl_t *h = api_open();
	struct strbuf log = {0};
	uint64_t n = 0;

	(void)dtrace_handle_setopt(h, on_setopt, &log);
	(void)api_go(h, text);
	(void)api_work(h, stdout, NULL, NULL, NULL);
	is_str(strbuf_text(&log), "aggsortrev 1 -2->1 0", "setopt()");
	strbuf_deinit(&log);
	dtrace_close(h);

	h = api_open();
	(void)dtrace_handle_setopt(h, refuse, NULL);
	(void)api_go(h, text);
	is_int(api_work(h, stdout, on_count, NULL, &n), DTRACE_WORKSTATUS_DONE,
	       "not performed, not told: the callback passed it over");
	dtrace_close(h);

	h = api_open();
	(void)dtrace_handle_setopt(h, refuse, NULL);
	(void)api_go(h, text);
	is_int(api_work(h, stdout, NULL, NULL, NULL), DTRACE_WORKSTATUS_ERROR, "a handler refuses");
	is_int(dtrace_errno(h), EDT_DIRABORT, "that is the reason");
	dtrace_close(h);
}

/* ---- in the middle --------------------------------------------------------------------------- */

static void test_speculation(void)
{
	struct strbuf out = {0};
	struct seen s = {0};

	is_int(run("#pragma D option nspec=2\n"
		   "BEGIN { a = speculation(); b = speculation(); }"
		   "BEGIN { speculate(a); trace(1); } BEGIN { speculate(b); trace(2); }"
		   "BEGIN { commit(b); discard(a); } BEGIN { exit(0); }",
		   &s, &out),
	       DTRACE_WORKSTATUS_DONE, "speculation");
	is_str(strbuf_text(&out), "2", "what was committed is shown");
	ok(strstr(strbuf_text(&s.log), " 1 int32:2\n") && !strstr(strbuf_text(&s.log), "int32:1"),
	   "and seen by the callback");
	seen_deinit(&s, &out);
}

/* ABORT in the middle of what was committed: the rest comes with the next call. */
static void test_speculation_abort(void)
{
	struct seen s = {.abort_at = 3, .probe_answer = DTRACE_CONSUME_NEXT};
	dtrace_hdl_t *h =
		api_start("BEGIN { a = speculation(); }"
			  "syscall::getppid:entry /pid == $pid/ { speculate(a); trace(1); }"
			  "syscall::getuid:entry /pid == $pid/ { commit(a); }");

	api_call(6);
	(void)syscall(SYS_getuid);
	(void)dtrace_stop(h);
	is_int(api_work(h, NULL, on_probe, NULL, &s), DTRACE_WORKSTATUS_ERROR, "ABORT in a commit");
	is_int(s.nprobes, 3, "at once");
	is_int(api_work(h, NULL, on_probe, NULL, &s), DTRACE_WORKSTATUS_DONE, "and goes on");
	is_int(s.nprobes, 6, "with the records that are left");
	strbuf_deinit(&s.log);
	dtrace_close(h);
}

static int on_proc(dtrace_hdl_t *h, pid_t pid, const char *msg, void *arg)
{
	(void)h;
	*(pid_t *)arg = strstr(msg, "exited") ? pid : -pid;
	return DTRACE_HANDLE_OK;
}

static int on_pid(const dtrace_probedata_t *data, const dtrace_recdesc_t *rec, void *arg)
{
	dtrace_datum_t d;

	if (rec && dtrace_recdata(data, rec, &d) == 0)
		*(pid_t *)arg = (pid_t)d.dtd_value;
	return DTRACE_CONSUME_NEXT;
}

/* A process is run on while it is held, and that it cannot be is no sign that it has ended. */
static void test_proc_advance(void)
{
	dtrace_hdl_t *h = api_open();

	is_int(dtrace_proc_advance(h), -1, "no process was created");
	ok(strstr(dtrace_errmsg(h, dtrace_errno(h)), "no process was created"), "%s",
	   dtrace_errmsg(h, dtrace_errno(h)));
	is_int(dtrace_proc_create(h, "sh -c 'exec sleep 1000'"), 0, "a process");
	is_int(dtrace_proc_advance(h), 1, "is run to its first place");
	is_int(dtrace_proc_advance(h), 1, "and to the program that it executes");
	is_int(dtrace_proc_continue(h), 0, "is let go");
	is_int(dtrace_proc_advance(h), -1, "one that runs is not run on");
	ok(strstr(dtrace_errmsg(h, dtrace_errno(h)), "not held any more"), "%s",
	   dtrace_errmsg(h, dtrace_errno(h)));
	dtrace_close(h);
	h = api_open();
	is_int(dtrace_proc_create(h, "true"), 0, "a short one");
	is_int(dtrace_proc_advance(h), 1, "is run to its first place");
	is_int(dtrace_proc_advance(h), 0, "it has ended");
	is_int(dtrace_proc_advance(h), 0, "and still has");
	dtrace_close(h);
	h = api_open();
	is_int(dtrace_proc_create(h, "sleep 1000"), 0, "one that is traced");
	(void)api_go(h, "BEGIN { trace($target); }");
	is_int(dtrace_proc_advance(h), -1, "tracing has begun");
	is_int(dtrace_errno(h), EDT_ACTIVE, "EDT_ACTIVE");
	dtrace_close(h);
}

static void test_proc(void)
{
	dtrace_hdl_t *h = api_open();
	pid_t ended = 0, target = 0;

	(void)dtrace_handle_proc(h, on_proc, &ended);
	is_int(dtrace_proc_create(h, "/bin/true"), 0, "a process");
	(void)api_go(h, "BEGIN { trace($target); }");
	(void)dtrace_proc_continue(h);
	is_int(api_work(h, NULL, NULL, on_pid, &target), DTRACE_WORKSTATUS_DONE, "ends the run");
	ok(target > 0 && ended == target, "the handler is told which one, also with option quiet");
	dtrace_close(h);
}

static int interrupt_once(const dtrace_probedata_t *data, void *arg)
{
	if (++*(uint64_t *)arg == 5)
		dtrace_interrupt(data->dtpda_handle);
	return DTRACE_CONSUME_NEXT;
}

static void test_interrupt(void)
{
	dtrace_hdl_t *h = api_start("syscall::getppid:entry /pid == $pid/ { trace(1); }");
	uint64_t n = 0;

	api_call(20);
	while (n < 20 && dtrace_work(h, NULL, interrupt_once, NULL, &n) == DTRACE_WORKSTATUS_OKAY)
		;
	(void)dtrace_stop(h);
	is_int(api_work(h, NULL, interrupt_once, NULL, &n), DTRACE_WORKSTATUS_DONE,
	       "interrupted by a callback");
	is_int(n, 20, "no record is lost or seen twice");
	dtrace_close(h);
}

static int call_back(const dtrace_probedata_t *data, void *arg)
{
	dtrace_hdl_t *h = data->dtpda_handle;
	int *refused = arg;

	*refused += dtrace_work(h, NULL, NULL, NULL, NULL) == DTRACE_WORKSTATUS_ERROR &&
		    dtrace_errno(h) == EDT_ACTIVE;
	*refused += dtrace_aggregate_snap(h) == -1 && dtrace_errno(h) == EDT_ACTIVE;
	*refused += dtrace_aggregate_print(h, stdout, NULL) == -1 && dtrace_errno(h) == EDT_ACTIVE;
	return DTRACE_CONSUME_NEXT;
}

static void test_recursion(void)
{
	dtrace_hdl_t *h = api_start("BEGIN { trace(1); exit(0); }");
	int refused = 0;

	is_int(api_work(h, NULL, call_back, NULL, &refused), DTRACE_WORKSTATUS_DONE, "calls back");
	is_int(refused, 3, "what would change a record under its callback is refused");
	dtrace_close(h);
}

static void test_version(void)
{
	int error = 0;

	ok(!dtrace_open(DTRACE_VERSION - 1, 0, &error) && error == EDT_OVERSION,
	   "programs for the interface before are refused");
	ok(!dtrace_open(DTRACE_VERSION + 1, 0, &error) && error == EDT_VERSION, "and later ones");
}

int main(void)
{
	dtrace_hdl_t *h = api_open();

	(void)setenv("_DTRACE_TESTING", "1", 1); /* no columns that differ from run to run */
	if (!h) {
		printf("1..0 # SKIP %s\n", dtrace_open_errmsg());
		return 0;
	}
	dtrace_close(h);
	test_values();
	test_raw();
	test_kinds();
	test_next();
	test_exit_status();
	test_abort();
	test_bad_answer();
	test_line();
	test_flow();
	test_buffered("text", true);
	test_buffered("text", false);
	test_buffered("json", true);
	test_buffered("jsonl", false);
	test_buffered_abort();
	test_fault();
	test_enablings();
	test_drops();
	test_setopt();
	test_speculation();
	test_speculation_abort();
	test_proc();
	test_proc_advance();
	test_interrupt();
	test_recursion();
	test_version();
	return tap_done();
}
