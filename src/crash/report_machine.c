/* SPDX-License-Identifier: MIT */
/* The machine state of a report: registers, code at the program counter, memory at the stack. */
#include <inttypes.h>

#include "arch/text.h"
#include "crash/report.h"

#define PER_LINE 4u
#define CODE	 6 /* instructions before and behind */
#define WORDS	 32u

static bool regs_get(struct crash_report *r, struct arch_regs *ret)
{
	struct err *e = r->m && r->m->tid ? target_regs(r->m->t, r->m->tid, ret)
					  : err_new("there is no thread");
	bool has = !e;

	err_destroy(e); /* the section is left out */
	return has;
}

void crash_report_registers(struct crash_report *r)
{
	struct arch_regs regs;

	if (!regs_get(r, &regs))
		return;
	doc_open(&r->doc, "registers", '{');
	doc_say(&r->doc, "\nregisters of %d", (int)r->m->tid);
	for (uint32_t i = 0; i < arch.nregs; i++) {
		doc_addr(&r->doc, arch_text.registers[i], regs.words[i]);
		doc_say(&r->doc, "%s%-8s %016" PRIx64, i % PER_LINE ? "  " : "\n  ",
			arch_text.registers[i], regs.words[i]);
	}
	doc_say(&r->doc, "\n");
	doc_close(&r->doc, '}');
}

void crash_report_code(struct crash_report *r)
{
	struct strbuf text = {0};
	struct arch_regs regs;
	char command[64];
	const char *at;

	if (!regs_get(r, &regs))
		return;
	(void)snprintf(command, sizeof(command), "%" PRIx64 "::dis -n %d", regs.words[arch.pc / 8],
		       CODE);
	crash_report_command(r, command, &text);
	if (!text.len)
		return;
	doc_open(&r->doc, "code", '[');
	doc_say(&r->doc, "\ncode\n");
	at = text.data;
	while (*at) {
		size_t len = strcspn(at, "\n");

		doc_bytes(&r->doc, NULL, at, len);
		doc_say(&r->doc, "  ");
		doc_tell(&r->doc, at, len);
		doc_say(&r->doc, "\n");
		at += len + (at[len] == '\n');
	}
	doc_close(&r->doc, ']');
	strbuf_deinit(&text);
}

void crash_report_stack_memory(struct crash_report *r)
{
	struct arch_regs regs;
	taddr at;

	if (!regs_get(r, &regs))
		return;
	at = regs.words[arch.sp / 8];
	doc_open(&r->doc, "stack-memory", '[');
	for (uint32_t i = 0; i < WORDS; i++, at += 8) {
		struct strbuf name = {0};
		uint64_t word;

		if (!mdb_read(r->m, at, &word, sizeof(word)))
			break;
		if (!i)
			doc_say(&r->doc, "\nstack memory\n");
		doc_open(&r->doc, NULL, '{');
		doc_addr(&r->doc, "address", at);
		doc_addr(&r->doc, "word", word);
		doc_say(&r->doc, "  %016" PRIx64 "  %016" PRIx64, at, word);
		if (mdb_name_add(r->m, word, false, &name)) {
			doc_bytes(&r->doc, "name", strbuf_text(&name), name.len);
			doc_say(&r->doc, "  ");
			doc_tell(&r->doc, strbuf_text(&name), name.len);
		}
		doc_say(&r->doc, "\n");
		doc_close(&r->doc, '}');
		strbuf_deinit(&name);
	}
	doc_close(&r->doc, ']');
}
