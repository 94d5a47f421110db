/* SPDX-License-Identifier: MIT */
/*
 * Fuzz target: descriptions of values over hostile memory. The input is memory in which the words
 * of values lead to others, texts are made up of texts, and counts are any numbers: whatever it is,
 * each question ends, and what is said of a value stays within its bounds.
 */
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "d/compile.h"
#include "files/gate.h"
#include "helper/helper.h"
#include "helper/process.h"
#include "helper/values.h"
#include "image/debugfile.h"
#include "image/image.h"
#include "target/target.h"

#define ARENA	   ((uint8_t *)0x31000000) /* 64 KiB, behind which there is nothing */
#define SIZE	   65536u
#define WORDS	   64u
#define ITEMS	   50u
#define CHARACTERS 500u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char helper_text[] = "uint64_t base;\n"
				  "dtrace:helper:attach: { base = 0x31000000; }\n"
				  "dtrace:helper:ustack: { uframe(\"frame\"); }\n";

/* The first byte of a value says what it is; a word leads to its value by its lower bits. */
static const char values_text[] =
	"inline uint64_t WORD[uint64_t a] = *(uint64_t *)a;\n"
	"inline uint64_t PLACE[uint64_t w] = base + (w % 65536);\n"
	"inline int KIND[uint64_t w] = *(uint8_t *)PLACE[w] % 20;\n"
	"this uint64_t at; this uint64_t i; this uint64_t k;\n"
	"dtrace:helper:value: /KIND[arg0] != 19/ {\n"
	"    this->at = PLACE[arg0]; this->k = KIND[arg0]; this->i = 0;\n"
	"    if (this->k == 0) unumber(WORD[this->at + 1]);\n"
	"    else if (this->k == 1) udouble(WORD[this->at + 1], WORD[this->at + 9] % 5);\n"
	"    else if (this->k == 2)\n"
	"	ubig(WORD[this->at + 1] & 1, WORD[this->at + 9], WORD[this->at + 17] % 600,\n"
	"	    WORD[this->at + 25] % 70);\n"
	"    else if (this->k == 3) udate(WORD[this->at + 1], WORD[this->at + 9] & 1);\n"
	"    else if (this->k == 4)\n"
	"	utext(PLACE[WORD[this->at + 1]], WORD[this->at + 9], WORD[this->at + 17] % 6);\n"
	"    else if (this->k == 5)\n"
	"	utext(WORD[this->at + 1], WORD[this->at + 9], WORD[this->at + 17]);\n"
	"    else if (this->k < 9) {\n"
	"	ujoin(WORD[this->at + 1], WORD[this->at + 9] % 100, WORD[this->at + 17]);\n"
	"	ujoin(WORD[this->at + 25], 0, WORD[this->at + 33] % 1000); }\n"
	"    else if (this->k == 9) uliteral(copyinstr(this->at + 1));\n"
	"    else if (this->k == 10) unumber(WORD[WORD[this->at + 1]]);\n"
	"    else {\n"
	"	uopen(this->k & 1 ? \"{}\" : copyinstr(this->at), copyinstr(this->at + 1),\n"
	"	    this->k & 2 ? \"=\" : \": \");\n"
	"	while (this->i < WORD[this->at + 8] % 5000 && this->i < arg1; 5000) {\n"
	"	    if (this->k == 11) umember(WORD[this->at + 16 + 8 * this->i]);\n"
	"	    else if (this->k == 12) uelement(this->i, WORD[this->at + 16 + 8 * this->i]);\n"
	"	    else if (this->k == 13) uentry(WORD[this->at + 16], WORD[this->at + 24]);\n"
	"	    else if (this->k == 14)\n"
	"		uproperty(WORD[this->at + 16], WORD[this->at + 24], WORD[this->at + this->i]);\n"
	"	    else if (this->k == 15) { uitem(copyinstr(this->at + 2)); udouble(WORD[this->at]); }\n"
	"	    else { uproperty(WORD[this->at + 17]); utext(this->at, WORD[this->at + 25], 0); }\n"
	"	    this->i++; }\n"
	"	if (this->k & 4) umore(WORD[this->at + 9]); } }\n"
	"dtrace:helper:type: /KIND[arg0] < 18/ { uliteral(copyinstr(PLACE[arg0])); }\n"
	"dtrace:helper:closure: { umember(WORD[PLACE[arg0]]); umember(WORD[PLACE[arg0] + 8]); }\n"
	"dtrace:helper:raw: { this->i = 0; while (this->i < WORD[PLACE[arg0]]; 3000) {\n"
	"    ubase(copyinstr(PLACE[arg0])); ufield(copyinstr(PLACE[arg0] + 2), \"int\", WORD[PLACE[arg0]]);\n"
	"    this->i++; } }\n"
	"dtrace:helper:heap: { uscan(WORD[base], WORD[base + 8]); this->i = 0;\n"
	"    while (this->i < 20; 20) { urequire(WORD[base], 8, 1, 4);\n"
	"	ulist(WORD[base], 0, WORD[base + 8], 0, 8); this->i++; } }\n"
	"dtrace:helper:class: { uclass(WORD[PLACE[arg0]], WORD[PLACE[arg0] + 8], WORD[PLACE[arg0] + 16]);\n"
	"    ucount(WORD[PLACE[arg0]], WORD[PLACE[arg0] + 8], WORD[PLACE[arg0] + 16], 8); }\n"
	"dtrace:helper:shape: { this->i = 0; while (this->i < WORD[PLACE[arg0]]; 3000) {\n"
	"    uprop(WORD[PLACE[arg0] + 8 * this->i]); this->i++; } }\n"
	"dtrace:helper:locals: { uself(WORD[base]); uarg(1, WORD[base + 8]);\n"
	"    ulocal(WORD[base + 16], WORD[base + 24]); umember(WORD[base + 32]); }\n";

static void text_write(const char *path, const char *text)
{
	CLEANUP(file) FILE *f = fopen(path, "we");

	if (!f || fputs(text, f) < 0)
		BUG("cannot write '%s'", path);
}

static struct helper *helper_make(void)
{
	static const struct compile_opts opts = {.strsize = 256, .scratchsize = 65536};
	char folder[] = "/tmp/fuzz_values.XXXXXX", path[64], inner[64], values[64];
	struct helper *h = NULL;
	struct err *e;

	if (!mkdtemp(folder))
		BUG("cannot make '%s'", folder);
	(void)snprintf(path, sizeof(path), "%s/h.d", folder);
	(void)snprintf(inner, sizeof(inner), "%s/values", folder);
	(void)snprintf(values, sizeof(values), "%s/values/h.d", folder);
	(void)mkdir(inner, 0700); /* what is written there says that it is missing */
	text_write(path, helper_text);
	text_write(values, values_text);
	e = helper_open(path, &h);
	if (!e && !helper_compile(h, &opts, NULL))
		BUG("%s", err_text(h->err));
	if (!e)
		e = helper_compile_values(h, &opts);
	(void)unlink(values);
	(void)unlink(path);
	(void)rmdir(inner);
	(void)rmdir(folder);
	if (e)
		BUG("%s", err_text(e));
	if (!h->values)
		BUG("the file of values was not found");
	return h;
}

/* What is said of one word: its text and names, too. */
static void word_check(struct process *p, const struct helper *h, uint64_t word)
{
	struct strbuf text = {0};
	struct value v;
	uint64_t n;

	if (value_read(p, h, word, ITEMS, &v) != v.is_known)
		BUG("known or not");
	if (v.items.len > ITEMS)
		BUG("%u items, but %u were asked for", (unsigned)v.items.len, ITEMS);
	if (v.said.is_text) {
		n = value_characters_add(p, h, &v.said, CHARACTERS, &text);
		if (text.len > 4 * MIN(n, (uint64_t)CHARACTERS))
			BUG("%zu bytes of %u characters", text.len, CHARACTERS);
	}
	for (uint32_t i = 0; i < v.items.len && i < 5; i++)
		if (v.items.data[i].kind == VALUE_PROPERTY)
			value_name_add(p, h, v.items.data[i].key, &text);
	value_free(&v);
	strbuf_deinit(&text);
}

static void others_check(struct process *p, const struct helper *h, uint64_t word)
{
	struct strbuf type = {0};
	struct value scopes = {0};
	struct value_class class;
	value_fields fields;
	value_words words = {0};
	value_locals locals = {0};

	(void)value_type_add(p, h, word, &type);
	value_answer_read(p, h, HELPER_CLOSURE, word, &scopes);
	(void)value_raw_read(p, h, word, &fields);
	(void)value_class_read(p, h, word, 0, &class);
	value_class_free(&class);
	value_shape_read(p, h, word, 0, &words);
	value_locals_read(p, h, &locals);
	value_free(&scopes);
	value_fields_free(&fields);
	vec_deinit(&words);
	vec_deinit(&locals);
	strbuf_deinit(&type);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct file_opts files;
	static struct helper *h;
	static struct target *self;
	struct value_heap heap;
	struct process *p;
	char *why = NULL;

	if (!h) {
		void *at = mmap(ARENA, SIZE, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

		if (at != ARENA)
			BUG("no memory at %p", (void *)ARENA);
		files.gate = gate_create();
		files.limit = GATE_LIMIT_DEFAULT;
		files.images = image_set_create();
		h = helper_make();
		if (target_live_open(getpid(), files.gate, &self))
			BUG("cannot read what is mapped here");
	}
	memset(ARENA, 0, SIZE);
	memcpy(ARENA, data, MIN(size, (size_t)SIZE));
	p = process_open(self, &files); /* anew: it remembers what it has read */
	if (!process_attach(p, h, &why) || !process_attach_values(p, h, &why))
		BUG("%s", why);
	for (uint32_t i = 0; i < WORDS; i++) {
		uint64_t word;

		memcpy(&word, ARENA + 8ull * i, sizeof(word));
		word_check(p, h, word);
		if (i < 8)
			others_check(p, h, word);
	}
	(void)value_heap_read(p, h, &heap);
	value_heap_free(&heap);
	process_close(p);
	return 0;
}
