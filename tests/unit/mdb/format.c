/* SPDX-License-Identifier: MIT */
/* Formats, and commands as they are parsed. */
#include "mdb/format.h"

#include "mdb/command.h"
#include "tap.h"

static const uint8_t memory[24] = {0x41, 0x42, 0x1b, 0, 0xfe, 0xff, 0xff, 0xff};

static bool memory_read(void *ctx, taddr addr, void *to, size_t size)
{
	if (addr > sizeof(memory) || size > sizeof(memory) - addr)
		return false;
	memcpy(to, memory + addr, size);
	return true;
}

static void check_format(const char *text, taddr addr, const char *want)
{
	const struct format_env env = {.read = memory_read};
	struct format_place at = {.addr = addr};
	struct strbuf out = {0};
	struct err *e = format_print(text, &env, &at, &out);

	is_str(e ? "error" : strbuf_text(&out), want, text);
	err_destroy(e);
	strbuf_deinit(&out);
}

static void check_command(void)
{
	const struct expr_env env = {0};
	const char *at = "10,2::nm -f 'a b' | ::grep . != 5 ! head; 3=X // end";
	struct command c = {0};
	struct err *e = command_read(&at, &env, &c);

	ok(!e && c.has_addr && c.has_count && c.addr == 16 && c.count == 2, "address and count");
	is_int(c.stages.len, 2, "stages");
	is_str(c.stages.len ? c.stages.data[0].args.data[1] : "", "a b", "a quoted word");
	is_str(c.shell ? c.shell : "", "head; 3=X // end", "the shell gets the rest of the line");
	command_deinit(&c);
	err_destroy(e);
	at = "::nm 'a";
	e = command_read(&at, &env, &c);
	ok(e, "an open quote is refused");
	err_destroy(e);
}

int main(void)
{
	check_format("B", 0, "41");
	check_format("X", 4, "fffffffe");
	check_format("D", 4, "-2");
	check_format("U", 4, "4294967294");
	check_format("d", 4, "-2");
	check_format("s", 0, "AB\\033");
	check_format("2B", 0, "41        42");
	check_format("H", 4, "feffffff");
	check_format("J", 20, "error");
	check_format("k", 0, "error");
	check_command();
	return tap_done();
}
