/* SPDX-License-Identifier: MIT */
/* Makes a report: opens the core, and puts the sections in order. */
#include "crash/report.h"

#include <errno.h>
#include <inttypes.h>
#include <time.h>

#include "base/text.h"
#include "crash/format.h"

#define NOTICES_MAX 100u
#define SMALL	    65536u

/* ---- the debugger ---------------------------------------------------------------------------- */

static bool output_take(void *ctx, const char *text, size_t len)
{
	struct crash_report *r = ctx;

	strbuf_add(&r->notices, text, len);
	return true;
}

static void notice_take(void *ctx, const char *text)
{
	struct crash_report *r = ctx;

	if (r->notices.len < SMALL)
		strbuf_addf(&r->notices, "%s\n", text);
}

void crash_report_command(struct crash_report *r, const char *command, struct strbuf *out)
{
	struct strbuf notices = r->notices;

	r->notices = (struct strbuf){0};
	if (mdb_run(r->m, command))
		strbuf_add(out, strbuf_text(&r->notices), r->notices.len);
	strbuf_deinit(&r->notices);
	r->notices = notices;
}

/* The core is read through the descriptor that root has opened. */
static void core_open(struct crash_report *r)
{
	struct mdb_opts opts = {.h = r->opts->h,
				.ctx = r,
				.write = output_take,
				.error = notice_take};
	struct err *e;
	char path[32];

	if (r->in->fds[CRASH_IN_CORE] < 0) {
		r->no_core = xstrdup("there is no core");
		return;
	}
	(void)snprintf(path, sizeof(path), "/dev/fd/%d", r->in->fds[CRASH_IN_CORE]);
	opts.core = path;
	e = mdb_open(&opts, &r->m);
	if (e)
		r->no_core = xstrdup(err_text(e));
	err_destroy(e);
}

static void maps_take(struct crash_report *r)
{
	CLEANUP(free) char *copy = NULL;
	struct strbuf text = {0};
	char *line, *rest;

	(void)crash_input_text(r->in, CRASH_IN_MAPS, 16u << 20, &text); /* all that is there */
	if (!text.len && r->m) {
		proc_maps_copy(target_maps(r->m->t), &r->maps);
		return;
	}
	r->maps.arena = arena_create();
	copy = xstrdup(strbuf_text(&text));
	for (line = strtok_r(copy, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		struct proc_map map;

		if (proc_map_parse(line, r->maps.arena, &map))
			vec_push(&r->maps.maps, map);
	}
	strbuf_deinit(&text);
}

static int map_compare(const void *a, const void *b)
{
	const struct proc_map *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

/* The signal: as the core has it, or as the capturer has understood it. */
static void signal_take(struct crash_report *r)
{
	const char *addr = crash_input_get(r->in, CRASH_KEY_SI_ADDR);

	r->has_signal = r->m && target_signal(r->m->t, &r->si);
	if (r->has_signal)
		return;
	r->si = (siginfo_t){0};
	r->si.si_signo = (int)crash_input_int(r->in, CRASH_KEY_SIGNAL, 0);
	r->si.si_code = (int)crash_input_int(r->in, CRASH_KEY_SI_CODE, SI_USER);
	if (*addr)
		r->si.si_addr = (void *)(uintptr_t)strtoull(addr, NULL, 16);
	r->has_signal = r->si.si_signo != 0;
	r->is_alive = crash_input_int(r->in, CRASH_KEY_SIGNAL, -1) == 0;
}

static void all_take(struct crash_report *r)
{
	struct arch_regs regs;
	struct err *e;

	core_open(r);
	maps_take(r);
	if (r->maps.maps.len)
		qsort(r->maps.maps.data, r->maps.maps.len, sizeof(*r->maps.maps.data), map_compare);
	signal_take(r);
	(void)crash_input_text(r->in, CRASH_IN_LOG, CRASH_LOG_BYTES, &r->log);
	(void)crash_input_text(r->in, CRASH_IN_STATUS, SMALL, &r->status);
	(void)crash_input_text(r->in, CRASH_IN_STAT, SMALL, &r->stat);
	r->of = (struct reason_of){.maps = &r->maps,
				   .pid = crash_input_int(r->in, CRASH_KEY_PID, 0)};
	if (!r->m)
		return;
	r->of.maps = target_maps(r->m->t); /* of the moment of death */
	if (!r->m->tids.len)
		return;
	if (!r->of.pid)
		r->of.pid = target_pid(r->m->t);
	e = target_regs(r->m->t, r->m->tid, &regs);
	if (!e)
		r->of.sp = regs.words[arch.sp / 8];
	err_destroy(e); /* the stack says the same */
	stack_take(r->m, r->m->tid, &r->first);
}

/* ---- the head -------------------------------------------------------------------------------- */

void crash_report_status(const struct crash_report *r, const char *name, char *ret, size_t size)
{
	const char *at = strbuf_text(&r->status);
	size_t n = strlen(name);

	while (*at) {
		size_t len = strcspn(at, "\n");

		if (strncmp(at, name, n) == 0 && at[n] == ':') {
			at += n + 1;
			at += strspn(at, " \t");
			(void)snprintf(ret, size, "%.*s", (int)strcspn(at, "\n"), at);
			return;
		}
		at += len + (at[len] == '\n');
	}
	if (size)
		ret[0] = '\0';
}

/* A field of /proc/PID/stat, from 3 on: those behind the name. */
static bool stat_field(const struct crash_report *r, uint32_t number, uint64_t *ret)
{
	const char *at = strrchr(strbuf_text(&r->stat), ')');

	if (!at)
		return false;
	for (uint32_t i = 2; *at && i < number; i++) {
		at += strcspn(at, " ");
		at += strspn(at, " ");
	}
	*ret = strtoull(at, NULL, 10);
	return *at != '\0';
}

static void time_add(struct strbuf *out, int64_t ns)
{
	time_t seconds = (time_t)(ns / 1000000000);
	char text[32];
	struct tm tm;

	if (!gmtime_r(&seconds, &tm) || !strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &tm))
		return;
	strbuf_addf(out, "%s.%03dZ", text, (int)(ns / 1000000 % 1000));
}

static const char *program_name(const struct crash_report *r)
{
	const char *exe = crash_input_get(r->in, CRASH_KEY_EXE);
	const struct proc_map *program = r->m ? target_program(r->m->t) : NULL;

	if (*exe)
		return basename(exe);
	return program ? basename(program->path) : "a program";
}

static const char *build_id(const struct crash_report *r)
{
	return crash_input_get(r->in, CRASH_KEY_EXE_BUILD_ID);
}

/* A text of `capture`, if it has one, in both forms. */
static void fact_add(struct crash_report *r, const char *key, const char *name, const char *label)
{
	const char *value = crash_input_get(r->in, key);

	if (!*value)
		return;
	doc_str(&r->doc, name, value);
	if (label) {
		doc_say(&r->doc, "  %s ", label);
		doc_tells(&r->doc, value);
	}
}

static void number_add(struct crash_report *r, const char *key, const char *name)
{
	int64_t value = crash_input_int(r->in, key, INT64_MIN);

	if (value != INT64_MIN)
		doc_int(&r->doc, name, value);
}

/* The head of the text has the signal, before what else is known of the process. */
static void signal_say(struct crash_report *r)
{
	struct strbuf name = {0}, reason = {0};
	const char *code = signal_code_name(&r->si);

	if (r->is_alive) {
		doc_say(&r->doc, " lives, and was captured\n");
		return;
	}
	signal_name_add(&name, r->si.si_signo);
	reason_add(&reason, &r->si, &r->of);
	doc_say(&r->doc, " has died of %s: ", strbuf_text(&name));
	doc_tell(&r->doc, strbuf_text(&reason), reason.len);
	if (code)
		doc_say(&r->doc, " (%s)", code);
	doc_say(&r->doc, "\n");
	strbuf_deinit(&name);
	strbuf_deinit(&reason);
}

static void signal_add(struct crash_report *r)
{
	struct strbuf name = {0}, reason = {0};
	const char *code = signal_code_name(&r->si);

	signal_name_add(&name, r->si.si_signo);
	reason_add(&reason, &r->si, &r->of);
	doc_open(&r->doc, "signal", '{');
	doc_int(&r->doc, "number", r->si.si_signo);
	doc_str(&r->doc, "name", strbuf_text(&name));
	doc_int(&r->doc, "code", r->si.si_code);
	if (code)
		doc_str(&r->doc, "code-name", code);
	if (r->si.si_code > 0)
		doc_addr(&r->doc, "address", (uint64_t)(uintptr_t)r->si.si_addr);
	if (r->is_alive)
		doc_str(&r->doc, "reason", "the process lives, and was captured");
	else
		doc_bytes(&r->doc, "reason", strbuf_text(&reason), reason.len);
	doc_bool(&r->doc, "is-stack-overflow", reason_is_overflow(&r->si, &r->of));
	doc_close(&r->doc, '}');
	strbuf_deinit(&name);
	strbuf_deinit(&reason);
}

static void usage_add(struct crash_report *r)
{
	uint64_t user, system, start, ticks = (uint64_t)sysconf(_SC_CLK_TCK);
	int64_t died = crash_input_int(r->in, CRASH_KEY_TIME, 0);
	struct strbuf oom = {0};
	struct timespec real, boot;
	char rss[64], threads[32];

	crash_report_status(r, "VmRSS", rss, sizeof(rss));
	crash_report_status(r, "Threads", threads, sizeof(threads));
	if (stat_field(r, 14, &user) && stat_field(r, 15, &system) && ticks) {
		doc_int(&r->doc, "user-ms", (int64_t)(user * 1000 / ticks));
		doc_int(&r->doc, "system-ms", (int64_t)(system * 1000 / ticks));
		doc_say(&r->doc, "cpu %.2f user %.2f system  ", (double)user / (double)ticks,
			(double)system / (double)ticks);
	}
	if (stat_field(r, 22, &start) && ticks && died > 0 &&
	    clock_gettime(CLOCK_REALTIME, &real) == 0 &&
	    clock_gettime(CLOCK_BOOTTIME, &boot) == 0) {
		double booted = (double)(real.tv_sec - boot.tv_sec) +
				(double)(real.tv_nsec - boot.tv_nsec) / 1e9;
		double up = (double)died / 1e9 - booted - (double)start / (double)ticks;

		if (up >= 0 && up < 1e9) {
			doc_int(&r->doc, "up-ms", (int64_t)(up * 1000));
			doc_say(&r->doc, "up %.1f s  ", up);
		}
	}
	if (*rss) {
		doc_int(&r->doc, "rss-kb", strtoll(rss, NULL, 10));
		doc_say(&r->doc, "rss ");
		doc_tells(&r->doc, rss);
	}
	if (*threads)
		doc_say(&r->doc, "  threads %ld", strtol(threads, NULL, 10));
	(void)crash_input_text(r->in, CRASH_IN_OOM, 64, &oom); /* a number */
	if (oom.len) {
		doc_int(&r->doc, "oom-score", strtol(strbuf_text(&oom), NULL, 10));
		doc_say(&r->doc, "  oom_score %ld", strtol(strbuf_text(&oom), NULL, 10));
	}
	doc_say(&r->doc, "\n");
	strbuf_deinit(&oom);
}

static void process_add(struct crash_report *r)
{
	char ppid[32], ns_pids[256], uids[128];

	crash_report_status(r, "PPid", ppid, sizeof(ppid));
	crash_report_status(r, "NSpid", ns_pids, sizeof(ns_pids));
	crash_report_status(r, "Uid", uids, sizeof(uids));
	doc_open(&r->doc, "process", '{');
	doc_str(&r->doc, "name", program_name(r));
	doc_int(&r->doc, "pid", r->of.pid);
	doc_tells(&r->doc, program_name(r));
	doc_say(&r->doc, " (pid %" PRId64, r->of.pid);
	if (strtoll(ns_pids, NULL, 10) && strchr(ns_pids, '\t')) {
		doc_str(&r->doc, "namespace-pids", ns_pids);
		doc_say(&r->doc, ", in its namespaces ");
		doc_tells(&r->doc, strrchr(ns_pids, '\t') + 1);
	}
	if (*ppid) {
		doc_int(&r->doc, "ppid", strtoll(ppid, NULL, 10));
		doc_say(&r->doc, ", ppid %ld", strtol(ppid, NULL, 10));
	}
	number_add(r, CRASH_KEY_UID, "uid");
	number_add(r, CRASH_KEY_GID, "gid");
	number_add(r, CRASH_KEY_EUID, "euid");
	number_add(r, CRASH_KEY_EGID, "egid");
	if (*crash_input_get(r->in, CRASH_KEY_UID)) {
		doc_say(&r->doc, ", uid %" PRId64, crash_input_int(r->in, CRASH_KEY_UID, -1));
		if (crash_input_int(r->in, CRASH_KEY_EUID, -1) !=
		    crash_input_int(r->in, CRASH_KEY_UID, -1))
			doc_say(&r->doc, ", euid %" PRId64,
				crash_input_int(r->in, CRASH_KEY_EUID, -1));
	}
	doc_say(&r->doc, ")");
}

static void place_add(struct crash_report *r)
{
	crash_report_arguments(r);
	fact_add(r, CRASH_KEY_EXE, "exe", "exe");
	if (*build_id(r)) {
		doc_str(&r->doc, "build-id", build_id(r));
		doc_say(&r->doc, " (build-id ");
		doc_tells(&r->doc, build_id(r));
		doc_say(&r->doc, ")");
	}
	fact_add(r, CRASH_KEY_CWD, "cwd", "cwd");
	fact_add(r, CRASH_KEY_CGROUP, "cgroup", "cgroup");
	fact_add(r, CRASH_KEY_CONTAINER, "container", "container");
	doc_say(&r->doc, "\n");
	usage_add(r);
	doc_close(&r->doc, '}');
}

void crash_report_exception(struct crash_report *r, const struct exception *x)
{
	static const char *const sources[] = {
		[EXCEPTION_NONE] = "",
		[EXCEPTION_STATE] = "state",
		[EXCEPTION_STACK] = "stack",
		[EXCEPTION_LOG] = "log",
	};
	static const char *const states[] = {
		[THROWN_RAISED] = "raised",
		[THROWN_HANDLED] = "handled",
		[THROWN_CAUGHT] = "caught",
	};
	static const char *const told[] = {
		[THROWN_RAISED] = "",
		[THROWN_HANDLED] = "  (the program was handling it)",
		[THROWN_CAUGHT] = "  (the last one that the program has caught)",
	};

	doc_open(&r->doc, "exception", '{');
	doc_str(&r->doc, "language", x->language);
	if (x->class.len)
		doc_bytes(&r->doc, "class", x->class.data, x->class.len);
	doc_bytes(&r->doc, "message", strbuf_text(&x->message), x->message.len);
	doc_str(&r->doc, "source", sources[x->source]);
	if (x->source == EXCEPTION_STATE) {
		doc_str(&r->doc, "state", states[x->thrown]);
		doc_bool(&r->doc, "is-handled", x->thrown != THROWN_RAISED);
	}
	doc_close(&r->doc, '}');
	doc_say(&r->doc, "exception of %s: ", x->language);
	doc_tell(&r->doc, strbuf_text(&x->class), x->class.len);
	doc_say(&r->doc, "%s", x->class.len && x->message.len ? ": " : "");
	doc_tell(&r->doc, strbuf_text(&x->message), x->message.len);
	doc_say(&r->doc, "%s\n",
		x->source == EXCEPTION_LOG ? "  (the end of its log says so)" : told[x->thrown]);
}

static void exception_add(struct crash_report *r)
{
	if (r->exception.source == EXCEPTION_NONE)
		return;
	doc_say(&r->doc, "\n");
	crash_report_exception(r, &r->exception);
}

/* ---- the end --------------------------------------------------------------------------------- */

static void capture_add(struct crash_report *r)
{
	doc_open(&r->doc, "capture", '{');
	fact_add(r, CRASH_KEY_KEEP, "keep", NULL);
	fact_add(r, CRASH_KEY_KEPT, "kept", NULL);
	fact_add(r, CRASH_KEY_CUT, "cut", NULL);
	fact_add(r, CRASH_KEY_WAY, "way", NULL);
	number_add(r, CRASH_KEY_DUMPABLE, "dumpable");
	number_add(r, CRASH_KEY_WAITED, "waited-ns");
	number_add(r, CRASH_KEY_BYTES_COPIED, "bytes-copied");
	number_add(r, CRASH_KEY_HOLES, "holes");
	doc_close(&r->doc, '}');
}

/* What was left out, or could not be read. */
static void notes_add(struct crash_report *r)
{
	const char *cut = crash_input_get(r->in, CRASH_KEY_CUT), *at;
	uint32_t n = 0;

	doc_open(&r->doc, "notes", '[');
	if (r->no_core || *cut || r->notices.len)
		doc_say(&r->doc, "\nnotes\n");
	if (r->no_core) {
		doc_str(&r->doc, NULL, r->no_core);
		doc_say(&r->doc, "  ");
		doc_tells(&r->doc, r->no_core);
		doc_say(&r->doc, "\n");
	}
	if (*cut) {
		doc_str(&r->doc, NULL, cut);
		doc_say(&r->doc, "  less was copied than asked: ");
		doc_tells(&r->doc, cut);
		doc_say(&r->doc, "\n");
	}
	for (at = strbuf_text(&r->notices); *at && n < NOTICES_MAX; n++) {
		size_t len = strcspn(at, "\n");

		doc_bytes(&r->doc, NULL, at, len);
		doc_say(&r->doc, "  ");
		doc_tell(&r->doc, at, len);
		doc_say(&r->doc, "\n");
		at += len + (at[len] == '\n');
	}
	doc_close(&r->doc, ']');
}

static void sections_add(struct crash_report *r)
{
	char *const *s = r->opts->sections;

	doc_open(&r->doc, "sections", '[');
	for (; s && s[0]; s += 2) {
		const char *at = s[1];

		doc_open(&r->doc, NULL, '{');
		doc_str(&r->doc, "name", s[0]);
		doc_str(&r->doc, "text", s[1]);
		doc_close(&r->doc, '}');
		doc_say(&r->doc, "\n");
		doc_tells(&r->doc, s[0]);
		doc_say(&r->doc, "\n");
		while (*at) {
			size_t len = strcspn(at, "\n");

			doc_say(&r->doc, "  ");
			doc_tell(&r->doc, at, len);
			doc_say(&r->doc, "\n");
			at += len + (at[len] == '\n');
		}
	}
	doc_close(&r->doc, ']');
}

void crash_report_make(struct crash_input *in, const struct crash_report_opts *opts,
		       struct crash_report *ret)
{
	struct crash_report *r = ret;
	struct strbuf when = {0};
	const char *build;

	*r = (struct crash_report){.in = in, .opts = opts};
	all_take(r);
	build = build_id(r);
	signature_make(r->m, r->m ? &r->first : NULL, r->si.si_signo,
		       *build ? build : program_name(r), &r->signature);
	exception_find(r->m, &r->first, strbuf_text(&r->log), r->log.len, &r->exception);
	time_add(&when, crash_input_int(in, CRASH_KEY_TIME, 0));
	doc_open(&r->doc, NULL, '{');
	doc_int(&r->doc, "schema", REPORT_SCHEMA);
	doc_str(&r->doc, "id", crash_input_get(in, CRASH_KEY_ID));
	doc_str(&r->doc, "time", strbuf_text(&when));
	doc_str(&r->doc, "signature", r->signature.hash);
	doc_bytes(&r->doc, "where", strbuf_text(&r->signature.where), r->signature.where.len);
	process_add(r);
	signal_say(r);
	doc_say(&r->doc, "%s  signature %s\n", strbuf_text(&when), r->signature.hash);
	place_add(r);
	signal_add(r);
	exception_add(r);
	doc_say(&r->doc, "\n");
	crash_report_threads(r);
	crash_report_registers(r);
	crash_report_code(r);
	crash_report_stack_memory(r);
	crash_report_maps(r);
	crash_report_files(r);
	crash_report_limits(r);
	crash_report_environment(r);
	crash_report_log(r);
	sections_add(r);
	capture_add(r);
	notes_add(r);
	doc_close(&r->doc, '}');
	strbuf_addc(&r->doc.json, '\n');
	strbuf_deinit(&when);
}

void crash_report_end(struct crash_report *r)
{
	stack_free(&r->first);
	signature_deinit(&r->signature);
	exception_deinit(&r->exception);
	proc_maps_deinit(&r->maps);
	mdb_close(r->m);
	free(r->no_core);
	strbuf_deinit(&r->log);
	strbuf_deinit(&r->status);
	strbuf_deinit(&r->stat);
	strbuf_deinit(&r->notices);
	doc_deinit(&r->doc);
}
