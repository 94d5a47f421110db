/* SPDX-License-Identifier: MIT */
/* Rows of code without call frame information: what instructions push, and jumps that disagree. */
#include "image/nocfi.h"
#include "tap.h"

#define CODE(...)	((const uint8_t[]){__VA_ARGS__})
#define ROWS(rows, ...) rows_are(rows, sizeof((const uint8_t[]){__VA_ARGS__}), CODE(__VA_ARGS__))

static nocfi_rows rows;

/* "0:8 4:16 9:8", with the frame pointer's place behind a comma; "none". */
static void rows_are(const char *want, size_t size, const uint8_t *code)
{
	char text[512] = "none", *at = text;

	rows = (nocfi_rows){0};
	if (nocfi_rows_add(code, (uint32_t)size, &rows))
		*at = '\0';
	for (uint32_t i = 0; i < rows.len; i++) {
		const struct unwind_row *r = &rows.data[i];

		at += snprintf(at, sizeof(text) - (size_t)(at - text), "%s%u:%d", i ? " " : "",
			       r->off, r->cfa);
		if (r->fp)
			at += snprintf(at, sizeof(text) - (size_t)(at - text), ",%d", r->fp);
		if (r->kind != UNWIND_SP)
			at += snprintf(at, sizeof(text) - (size_t)(at - text), "?");
	}
	ok(strcmp(text, want) == 0, "%s, got %s", want, text);
	vec_deinit(&rows);
}

int main(void)
{
	/* sub $8,%rsp; test %rax,%rax; je +2; call *%rax; add $8,%rsp; ret */
	ROWS("0:8 4:16 15:8", 0x48, 0x83, 0xec, 0x08, 0x48, 0x85, 0xc0, 0x74, 0x02, 0xff, 0xd0,
	     0x48, 0x83, 0xc4, 0x08, 0xc3);
	/* push %rbp; mov %rsp,%rbp; push %rbx; pop %rbx; pop %rbp; ret; zeros; ret */
	ROWS("0:8 1:16,16 5:24,16 6:16,16 7:8", 0x55, 0x48, 0x89, 0xe5, 0x53, 0x5b, 0x5d, 0xc3, 0,
	     0, 0, 0xc3);
	/* lea -16(%rsp),%rsp; lea 16(%rsp),%rsp; jmp *%rax */
	ROWS("0:8 5:24 10:8", 0x48, 0x8d, 0x64, 0x24, 0xf0, 0x48, 0x8d, 0x64, 0x24, 0x10, 0xff,
	     0xe0);
	/* jmp out of it, and a jump back to where the stack is the same */
	ROWS("0:8", 0xeb, 0x7f, 0x90, 0xeb, 0xfd);
	ROWS("none", 0x50, 0xc3);	      /* push %rax; ret: no call has put that there */
	ROWS("none", 0x50, 0xeb, 0x00, 0xc3); /* a jump arrives with more than what follows takes */
	ROWS("none", 0x50, 0xeb, 0x7f);	      /* another function begins with an empty stack */
	ROWS("none", 0x48, 0x89, 0xc4, 0xc3); /* mov %rax,%rsp */
	ROWS("none", 0x48, 0x83, 0xe4, 0xf0, 0xc3); /* and $-16,%rsp */
	ROWS("none", 0xc9, 0xc3);		    /* leave */
	ROWS("none", 0x5c, 0xc3);		    /* pop %rsp */
	ROWS("none", 0x58, 0xc3);		    /* pop %rax: the return address */
	ROWS("none", 0x48, 0x89, 0xe5, 0xc3);	    /* mov %rsp,%rbp: the caller's is lost */
	ROWS("none", 0x55, 0x53, 0x5d, 0x5b, 0xc3); /* pop %rbp of what was %rbx */
	ROWS("none", 0xeb, 0x01, 0x48, 0x83, 0xec, 0x08, 0xc3); /* into an instruction */
	ROWS("none", 0x06, 0xc3);				/* no instruction */
	ROWS("none", 0x50);					/* goes on behind the end */
	return tap_done();
}
