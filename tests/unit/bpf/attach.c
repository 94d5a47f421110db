/* SPDX-License-Identifier: MIT */
/*
 * Probes of code: instructions of this very program, attached by the engine. For one process and
 * for all, with one link for several instructions and with a perf event for each.
 */
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../tap.h"
#include "bpf/attach.h"
#include "files/gate.h"
#include "gen_fixture.h"
#include "target/maps.h"

static __attribute__((noinline)) long first(long n)
{
	__asm__ volatile("" : "+r"(n));
	return n;
}

static __attribute__((noinline)) long second(long n)
{
	__asm__ volatile("nop" : "+r"(n));
	return n;
}

/* Calls through these run the code that is probed, not a copy that the compiler has made of it. */
static long (*volatile call_first)(long) = first;
static long (*volatile call_second)(long) = second;

static struct place_file file_of_self(struct proc_maps *maps)
{
	const struct proc_map *m = proc_maps_find(maps, (uintptr_t)first);

	return (struct place_file){.opened = gate_file_of(
					   open("/proc/self/exe", O_RDONLY | O_CLOEXEC)),
				   .inode = {m->dev, m->ino},
				   .name = "attach",
				   .path = m->path};
}

static uint64_t offset_of(const struct proc_maps *maps, const void *code)
{
	const struct proc_map *m = proc_maps_find(maps, (uintptr_t)code);

	return (uintptr_t)code - m->start + m->off;
}

struct fixture {
	struct gx *x;
	struct proc_maps maps;
	struct place_file file;
	struct place_code code[2]; /* of first(), second() */
	struct unit unit;
	struct attach_opts opts;
	struct strbuf notices;
	int prog;
};

static void notice_keep(void *ctx, const char *msg)
{
	strbuf_addf(ctx, "%s\n", msg);
}

static struct difo *arg0(struct gx *x)
{
	struct dif_builder *b = dif_builder_create(x->arena);

	dif_emit(b, dif_idx(DIF_OP_LDGS, DIF_VAR_ARG0, 1));
	dif_emit(b, dif_rrr(DIF_OP_RET, 0, 0, 1));
	return dif_builder_finish(b, gx_s64);
}

/* trace(arg0) on both functions. pid: whose; 0 = whoever calls them. */
static void fixture_init(struct fixture *f, pid_t pid)
{
	static const void *const code[] = {first, second};

	*f = (struct fixture){.x = gx_create()};
	f->opts = (struct attach_opts){.cpu = -1,
				       .max_places = 100,
				       .notice = notice_keep,
				       .notice_ctx = &f->notices};
	err_destroy(proc_maps_read(getpid(), &f->maps));
	f->file = file_of_self(&f->maps);
	gx_act(f->x, gx_clause(f->x, 1), ACT_TRACE, arg0(f->x), DATUM_INT);
	gx_finish(f->x);
	f->unit = gx_unit(f->x, PLACE_UPROBE, 0, 1);
	for (uint32_t i = 0; i < ARRAY_LEN(code); i++) {
		struct unit_probe *p = gx_probe(f->x, &f->unit, i);

		f->code[i] = (struct place_code){.pid = pid, .at = pid};
		vec_push(&f->code[i].sites,
			 (struct place_site){.file = &f->file,
					     .off = offset_of(&f->maps, code[i])});
		p->code = &f->code[i];
		if (!feat_has(FEAT_UPROBE_TGID))
			p->tgid = (uint32_t)pid; /* the program looks, not the link */
	}
	f->prog = gx_load(f->x, &f->unit);
}

static void fixture_deinit(struct fixture *f)
{
	for (uint32_t i = 0; i < ARRAY_LEN(f->code); i++)
		vec_deinit(&f->code[i].sites);
	proc_maps_deinit(&f->maps);
	(void)close(gate_file_fd(f->file.opened));
	gate_file_close(f->file.opened);
	strbuf_deinit(&f->notices);
	gx_destroy(f->x);
}

static struct err *attach(struct fixture *f, struct attachments *a)
{
	return unit_attach(&f->unit, &f->prog, &f->opts, a);
}

/* Calls in a child, then here; the arguments that were recorded, one digit each. */
static int64_t calls_recorded(struct fixture *f)
{
	const struct rt_rec *rec;
	int64_t digits = 0;
	pid_t child = fork();

	if (!child) {
		(void)call_first(1);
		_exit((int)call_second(2) - 2);
	}
	(void)waitpid(child, NULL, 0);
	(void)call_first(3);
	(void)call_second(4);
	while ((rec = gx_record(f->x, NULL))) {
		const struct rec_field *field =
			&f->x->layout->clauses[rec->clause].acts[0].fields[0];

		digits = digits * 10 + *(const int64_t *)((const char *)rec + field->off);
	}
	return digits;
}

static void test_processes(const char *how)
{
	struct attachments *a = attachments_create(NULL);
	struct fixture f;
	struct err *e;

	fixture_init(&f, getpid());
	e = attach(&f, a);
	ok(!e, "%s: attached in one process: %s", how, e ? err_text(e) : "fine");
	err_destroy(e);
	is_int(attachments_nplaces(a, getpid()), 2, "places in it");
	is_int(attachments_nplaces(a, getppid()), 0, "places in another one");
	is_int(calls_recorded(&f), 34, "its calls, not those of its child");
	attachments_close(a);
	is_int(calls_recorded(&f), 0, "none when the probes are taken off");
	fixture_deinit(&f);

	fixture_init(&f, 0);
	e = attach(&f, a);
	ok(!e, "%s: attached in all processes: %s", how, e ? err_text(e) : "fine");
	err_destroy(e);
	is_int(calls_recorded(&f), 1234, "calls of all that execute the file");
	attachments_destroy(a);
	fixture_deinit(&f);
}

static void test_limit(void)
{
	struct attachments *a = attachments_create(NULL);
	struct fixture f;
	struct err *e;

	fixture_init(&f, getpid());
	f.opts.max_places = 3;
	e = attach(&f, a);
	ok(!e, "2 of at most 3");
	err_destroy(e);
	e = attach(&f, a);
	is_str(e ? err_text(e) : "",
	       "4 places in processes are too many: at most 3 are probed at once",
	       "the limit counts what is attached already");
	err_destroy(e);
	attachments_destroy(a);
	fixture_deinit(&f);
}

/* Beyond the end of the file there is no instruction: the kernel says so for the whole link. */
static void test_refused(void)
{
	struct attachments *a = attachments_create(NULL);
	struct fixture f;
	struct err *e;

	fixture_init(&f, getpid());
	vec_push(&f.code[1].sites, (struct place_site){.file = &f.file, .off = 1 << 30});
	e = attach(&f, a);
	ok(!e, "a pattern's place that the kernel refuses is left out: %s", e ? err_text(e) : "");
	err_destroy(e);
	is_str(strbuf_text(&f.notices), "1 place in 'attach' is left out: the kernel refuses it\n",
	       "and told");
	is_int(attachments_nplaces(a, getpid()), 2, "the others are in place");
	is_int(calls_recorded(&f), 34, "and fire");
	attachments_close(a);
	f.code[1].is_exact = true;
	e = attach(&f, a);
	ok(e && strstr(err_text(e), "cannot place 1 probe in '"), "one asked for by name: %s",
	   e ? err_text(e) : "no error");
	err_destroy(e);
	attachments_destroy(a);
	fixture_deinit(&f);
}

/* A child that is added gets links of its own, once; another one gets none. */
static void test_child(void)
{
	struct attachments *a = attachments_create(NULL);
	struct fixture f;
	struct err *e;
	int gate[2];
	pid_t child;

	fixture_init(&f, getpid());
	f.opts.has_children = true;
	e = attach(&f, a);
	ok(!e && !pipe(gate), "attached in the parent");
	err_destroy(e);
	child = fork();
	if (!child) {
		char byte;

		(void)!read(gate[0], &byte, 1);
		_exit((int)call_first(5) - 5);
	}
	for (int i = 0; i < 2; i++) {
		e = attachments_add_child(a, getpid(), child, &f.opts);
		ok(!e, "added: %s", e ? err_text(e) : "fine");
		err_destroy(e);
	}
	(void)!write(gate[1], "", 1);
	(void)waitpid(child, NULL, 0);
	is_int(calls_recorded(&f), 534, "the child's call, not those of another one");
	attachments_forget_child(a, child);
	attachments_destroy(a);
	close(gate[0]);
	close(gate[1]);
	fixture_deinit(&f);
}

/* What is attached in a group goes with it; the rest, and its share of the limit, stays. */
static void test_group(void)
{
	struct attachments *a = attachments_create(NULL);
	struct fixture f;
	struct err *e;
	int64_t digits = 1;
	uint64_t until;

	fixture_init(&f, getpid());
	f.opts.max_places = 4;
	e = attach(&f, a);
	f.opts.group = 7;
	if (!e)
		e = attach(&f, a);
	ok(!e, "attached twice, the second time in a group: %s", e ? err_text(e) : "fine");
	err_destroy(e);
	is_int(attachments_nplaces(a, getpid()), 4, "places of both");
	is_int(calls_recorded(&f), 3344, "each call is recorded by both");
	e = attachments_drop(a, 7);
	ok(!e, "the group is dropped");
	err_destroy(e);
	is_int(attachments_nplaces(a, getpid()), 2, "the places of the other one are left");
	until = now_ns() + 60000000000;
	while (digits != 34 && now_ns() < until) { /* the keeper takes them off meanwhile */
		(void)usleep(10000);
		digits = calls_recorded(&f);
	}
	is_int(digits, 34, "which records as before");
	f.opts.group = 8;
	e = attach(&f, a);
	ok(!e, "there is room for another group: %s", e ? err_text(e) : "fine");
	err_destroy(e);
	attachments_destroy(a);
	fixture_deinit(&f);
}

int main(void)
{
	gx_skip();
	if (feat_has(FEAT_UPROBE_MULTI))
		test_processes("a link");
	feat_force_absent(FEAT_UPROBE_MULTI, true);
	test_processes("perf events");
	feat_force_absent(FEAT_UPROBE_MULTI, false);
	test_limit();
	if (feat_has(FEAT_UPROBE_MULTI))
		test_refused();
	if (feat_has(FEAT_UPROBE_TGID))
		test_child();
	if (feat_has(FEAT_UPROBE_MULTI))
		test_group();
	return tap_done();
}
