/* SPDX-License-Identifier: MIT */
/* Symbols of made-up files, and of this kernel. */
#include "tap.h"

#include <fcntl.h>

#include "base/str.h"
#include "sym/kallsyms.h"

static char path[] = "/tmp/kallsyms_test.XXXXXX";

static void file_write(const char *text)
{
	int fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);

	ok(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text), "file made");
	(void)close(fd);
}

static bool has_data;

static taddr find(const char *module, const char *name)
{
	struct kallsym sym = {0};
	bool found;
	struct err *e = kallsyms_find(path, module, name, &found, &sym, &has_data);

	if (e)
		printf("# %s\n", err_text(e));
	err_destroy(e);
	return found ? sym.addr : 0;
}

static void test_lines(void)
{
	file_write("0000000000001000 T foo\n0000000000002000 t foobar\n0000000000003000 t barfoo\n"
		   "ffffffffa0000010 d foo\t[a_module]\nffffffffa0000020 t bar\t[a_module]\n"
		   "ffffffffa0000030 t bar\t[b_module]\n0000000000004000 B last");
	is_int(find(NULL, "foo"), 0x1000, "the first");
	is_int(find("vmlinux", "foo"), 0x1000, "of the kernel");
	is_int(find("", "foo"), 0x1000, "of the kernel");
	is_int(find("a_module", "foo"), 0xffffffffa0000010, "of a module");
	is_int(find("b_module", "bar"), 0xffffffffa0000030, "of another");
	is_int(find("b_module", "foo"), 0, "not of that one");
	is_int(find(NULL, "oo"), 0, "the end of a name");
	is_int(find(NULL, "fo"), 0, "the beginning of a name");
	is_int(find(NULL, "a_module"), 0, "the name of a module");
	is_int(find(NULL, ""), 0, "no name");
	is_int(find(NULL, "last"), 0x4000, "no newline");
	ok(!find(NULL, "nosuch") && has_data, "a static variable");
	file_write("0000000000001000 T foo\n0000000000002000 D _edata\n");
	ok(!find(NULL, "nosuch") && !has_data, "no static variables");
}

static bool name_join(void *ctx, const char *name)
{
	struct strbuf *all = ctx;

	strbuf_addf(all, "%s ", name);
	return strcmp(name, "last") == 0;
}

static void test_names(void)
{
	struct strbuf all = {0};

	file_write(
		"0000000000001000 T foo\n0000000000002000 t bar\nffffffffa0000010 t baz\t[m]\n"
		"0000000000001000 t alias\nffffffffa0000010 t last\t[m]\nffffffffa0000010 t more\n"
		"0000000000001000 t end");
	kallsyms_names(path, 0x1000, name_join, &all);
	is_str(strbuf_text(&all), "foo alias end ", "the names of an address");
	strbuf_deinit(&all);
	all = (struct strbuf){0};
	kallsyms_names(path, 0xffffffffa0000010, name_join, &all);
	is_str(strbuf_text(&all), "baz last ", "until the function says that it is enough");
	strbuf_deinit(&all);
}

/* Lines across the pieces that are read. */
static void test_long(void)
{
	size_t n = 20000;
	char *text = xmalloc(n * 32 + 1);
	size_t len = 0;
	uint32_t bad = 0;

	for (size_t i = 0; i < n; i++)
		len += (size_t)snprintf(text + len, 32, "%016zx t s%zu\n", i + 1, i);
	file_write(text);
	for (size_t i = 0; i < n; i += 997) {
		char name[16];

		(void)snprintf(name, sizeof(name), "s%zu", i);
		bad += find(NULL, name) != i + 1;
	}
	is_int(bad, 0, "all found");
	is_int(find(NULL, "s20000"), 0, "behind the last");
	free(text);
}

static void test_kernel(void)
{
	struct kallsym sym = {0};
	bool found = false;
	struct err *e = kallsyms_find(KALLSYMS_PATH, NULL, "schedule", &found, &sym, &has_data);

	if (e) {
		err_destroy(e);
		return;
	}
	ok(found && kallsym_is_function(&sym) && !*sym.module, "schedule() of this kernel");
}

int main(void)
{
	int fd = mkstemp(path);

	(void)close(fd);
	test_lines();
	test_names();
	test_long();
	(void)unlink(path);
	test_kernel();
	return tap_done();
}
