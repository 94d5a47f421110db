/* SPDX-License-Identifier: MIT */
/* What walks note of helpers: the place in the helper, the process, and the reason, once. */
#include <inttypes.h>
#include <unistd.h>

#include "../unwind/fake_tables.h"
#include "base/str.h"
#include "d/compile.h"
#include "dif/dif.h"
#include "files/gate.h"
#include "helper/ustack.h"
#include "image/debugfile.h"
#include "image/image.h"
#include "tap.h"

static const char text[] = "dtrace:helper:ustack:\n"
			   "{\n"
			   "\tthis->a = *(int *)arg0;\n"
			   "\tthis->b = *(int *)arg1 / this->a;\n"
			   "}\n";

static struct fake fake;
static uint64_t words[RT_HCODE];

static struct err *process_set(void *ctx, uint64_t key, const struct rt_hproc *hp)
{
	(void)ctx, (void)key, (void)hp;
	return NULL;
}

static void on_notice(void *ctx, const char *msg)
{
	(void)ctx;
	printf("# %s\n", msg);
}

static struct rt_helper_note *note_at(enum rt_note which, uint64_t word)
{
	struct rt_helper_note *note = &fake.control.notes[which];

	*note = (struct rt_helper_note){.word = RT_NOTE_WORD + word,
					.value = 8,
					.kind = DIF_FAULT_BADADDR,
					.pid = 4711};
	memcpy(note->comm, "sixteen letters!", sizeof(note->comm));
	return note;
}

/* The text of the note, which is taken; "": there is none. The caller frees it. */
static char *note_text(struct ustacks *u, enum rt_note which)
{
	struct strbuf out = {0};
	char *copy;

	if (!ustacks_note(u, which, &out))
		out.len = 0;
	copy = xstrdup(strbuf_text(&out));
	strbuf_deinit(&out);
	return copy;
}

/* Words of the program lead to lines 3 and 4, in this order, and others to none behind them. */
static void test_lines(struct ustacks *u)
{
	uint32_t line = 1;
	bool is_ordered = true;

	for (uint64_t word = 1; word < 64; word++) {
		char *said, *colon;

		(void)note_at(RT_NOTE_SPENT, word);
		said = note_text(u, RT_NOTE_SPENT);
		colon = strchr(said, ':');
		if (colon) {
			uint32_t now = (uint32_t)strtoul(colon + 1, NULL, 10);

			is_ordered &= now >= line;
			line = now;
		}
		free(said);
	}
	ok(is_ordered && line == 4, "lines ascend to %" PRIu32, line);
	(void)note_at(RT_NOTE_SPENT, 0);
	free(note_text(u, RT_NOTE_SPENT));
}

static void test_texts(struct ustacks *u, const char *path)
{
	struct rt_helper_note *note = note_at(RT_NOTE_FAULT, 60);
	struct strbuf want = {0};
	char *said;

	strbuf_addf(&want, "%s:4 in process 4711 'sixteen letters!': invalid address (0x8)", path);
	note->word = RT_NOTE_BUSY;
	said = note_text(u, RT_NOTE_FAULT);
	is_str(said, "", "a note that is being written is not read");
	free(said);
	is_int((int)note->word, RT_NOTE_BUSY, "nor freed");
	note = note_at(RT_NOTE_FAULT, 60);
	said = note_text(u, RT_NOTE_SPENT);
	is_str(said, "", "the two notes are apart");
	free(said);
	said = note_text(u, RT_NOTE_FAULT);
	is_str(said, strbuf_text(&want), "place, process, reason");
	free(said);
	is_int((int)note->word, RT_NOTE_FREE, "the next one can be noted");
	said = note_text(u, RT_NOTE_FAULT);
	is_str(said, "", "it was taken");
	free(said);
	want.len = 0;
	strbuf_addf(&want, "%s:4 in process 4711 'sixteen letters!'", path);
	(void)note_at(RT_NOTE_SPENT, 60);
	said = note_text(u, RT_NOTE_SPENT);
	is_str(said, strbuf_text(&want), "a walk without instructions has no reason");
	free(said);
	strbuf_deinit(&want);
}

int main(void)
{
	static const struct compile_opts compile = {.strsize = 256, .empty = true};
	static const char *const preludes[] = {NULL};
	char path[] = "/tmp/unit-notes-XXXXXX";
	int fd = mkstemp(path);
	struct stack_tables_ops ops = fake_ops;
	struct gate *g = gate_create();
	struct image_set *images = image_set_create();
	struct file_opts files = {.gate = g, .limit = GATE_LIMIT_DEFAULT, .images = images};
	struct ustack_opts opts = {.files = &files,
				   .file = path,
				   .preludes = preludes,
				   .compile = &compile,
				   .system_dir = "/nonexistent",
				   .notice = on_notice};
	struct ustacks *u = NULL;

	ops.process_set = process_set;
	fake.public = (struct stack_tables){.ops = &ops,
					    .ctx = &fake,
					    .control = &fake.control,
					    .helper_words = words};
	if (!ok(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text), "a helper") ||
	    !ok(!ustacks_create(&opts, &u) && !ustacks_begin(u, &fake.public), "it has a program"))
		return tap_done();
	test_lines(u);
	test_texts(u, path);
	ustacks_destroy(u);
	image_set_destroy(images);
	gate_destroy(g);
	close(fd);
	(void)unlink(path);
	return tap_done();
}
