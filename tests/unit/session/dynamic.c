/* SPDX-License-Identifier: MIT */
/* What a file says that it needs: its owner may have written any dynamic section. */
#include <sys/mman.h>

#include "files/gate.h"
#include "session/live/division.h"
#include "tap.h"

#define NENTRIES 8192u
#define TEXT	 16384u
#define LONG	 100u	/* a text without an end within PATH_MAX begins here */
#define LAST	 12000u /* the last text, which has no end */

struct file {
	Elf64_Ehdr head;
	Elf64_Shdr sections[4];
	Elf64_Dyn entries[NENTRIES];
	char text[TEXT];
};

/* A file that needs the text at 1 behind n others, and another dynamic section. */
static struct file *file_make(uint32_t n)
{
	struct file *f = xcalloc(1, sizeof(*f));

	memcpy(f->head.e_ident, ELFMAG, SELFMAG);
	f->head.e_ident[EI_CLASS] = ELFCLASS64;
	f->head.e_ident[EI_DATA] = ELFDATA2LSB;
	f->head.e_ident[EI_VERSION] = EV_CURRENT;
	f->head.e_type = ET_DYN;
	f->head.e_version = EV_CURRENT;
	f->head.e_ehsize = sizeof(f->head);
	f->head.e_shentsize = sizeof(f->sections[0]);
	f->head.e_shoff = offsetof(struct file, sections);
	f->head.e_shnum = ARRAY_LEN(f->sections);
	f->sections[1] = (Elf64_Shdr){.sh_type = SHT_DYNAMIC,
				      .sh_offset = offsetof(struct file, entries),
				      .sh_size = (n + 2) * sizeof(f->entries[0]),
				      .sh_link = 3,
				      .sh_entsize = sizeof(f->entries[0]),
				      .sh_addralign = 8};
	f->sections[2] = f->sections[1]; /* its entries are behind the end of the first one */
	f->sections[2].sh_offset += f->sections[1].sh_size;
	f->sections[2].sh_size = 2 * sizeof(f->entries[0]);
	f->sections[3] = (Elf64_Shdr){.sh_type = SHT_STRTAB,
				      .sh_offset = offsetof(struct file, text),
				      .sh_size = TEXT,
				      .sh_addralign = 1};
	for (uint32_t i = 0; i < n; i++)
		f->entries[i].d_tag = DT_DEBUG;
	f->entries[n] = (Elf64_Dyn){.d_tag = DT_NEEDED, .d_un.d_val = 1};
	f->entries[n + 2] = (Elf64_Dyn){.d_tag = DT_NEEDED, .d_un.d_val = 20};
	memcpy(f->text + 1, "libfirst.so", sizeof("libfirst.so"));
	memcpy(f->text + 20, "libsecond.so", sizeof("libsecond.so"));
	memset(f->text + LONG, 'x', 5000);
	memset(f->text + LAST, 'y', TEXT - LAST);
	return f;
}

static bool is_found(const struct file *f, const char *text, struct strbuf *ret)
{
	CLEANUP(fd) int fd = memfd_create("elf", MFD_CLOEXEC);
	bool is_written = fd >= 0 && write(fd, f, sizeof(*f)) == (ssize_t)sizeof(*f);
	struct gate_file *file = is_written ? gate_file_of(fd) : NULL;
	bool is_one = file && dynamic_find(file, DT_NEEDED, text, ret);

	if (!file)
		ok(false, "a file is written");
	gate_file_close(file);
	return is_one;
}

static bool is_found_at(struct file *f, uint64_t off, const char *text)
{
	f->entries[0].d_un.d_val = off;
	return is_found(f, text, NULL);
}

static void test_texts(void)
{
	struct file *f = file_make(0);
	struct strbuf got = {0};
	char *text = xcalloc(1, TEXT);

	ok(is_found(f, NULL, &got), "any text");
	is_str(strbuf_text(&got), "libfirst.so", "is that of the first entry");
	ok(!is_found(f, "libfirst", NULL), "the beginning of a text is another one");
	ok(!is_found(f, "libsecond.so", NULL), "a second dynamic section is not asked");
	ok(is_found_at(f, 20, "libsecond.so"), "an entry with another text");
	memset(text, 'x', 5000);
	ok(!is_found_at(f, LONG, text), "a text longer than any path");
	ok(is_found_at(f, LONG + 4000, text + 4000), "its end is short enough");
	memset(text, 'y', 1000);
	text[1000] = '\0';
	ok(!is_found_at(f, TEXT - 1000, text), "a text without an end");
	ok(!is_found_at(f, TEXT, ""), "one behind the table");
	ok(!is_found_at(f, UINT64_MAX, ""), "or far from it");
	f->sections[1].sh_link = 4000;
	ok(!is_found_at(f, 1, "libfirst.so"), "a table of texts that is not there");
	free(text);
	strbuf_deinit(&got);
	free(f);
}

static void test_entries(void)
{
	static const struct {
		uint32_t n;
		bool is_found;
		const char *name;
	} rows[] = {{500, true, "as many entries as a program has"},
		    {4094, true, "the most that are looked at"},
		    {4095, false, "a section with more"}};

	for (uint32_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct file *f = file_make(rows[i].n);

		is_int(is_found(f, "libfirst.so", NULL), rows[i].is_found, rows[i].name);
		free(f);
	}
}

int main(void)
{
	test_texts();
	test_entries();
	return tap_done();
}
