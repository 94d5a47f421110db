/* SPDX-License-Identifier: MIT */
/* Build-ids in sections of notes, among notes of others, and in damaged ones. */
#include "image/build_id.h"

#include <fcntl.h>
#include <gelf.h>
#include <string.h>

#include "base/str.h"
#include "files/gate.h"
#include "tap.h"

struct notes {
	char bytes[512];
	size_t len;
};

static void note_add(struct notes *n, const char *owner, uint32_t type, const void *desc,
		     uint32_t size)
{
	Elf64_Nhdr nh = {(Elf64_Word)strlen(owner) + 1, size, type};

	memcpy(n->bytes + n->len, &nh, sizeof(nh));
	n->len += sizeof(nh);
	memcpy(n->bytes + n->len, owner, nh.n_namesz);
	n->len += ROUND_UP(nh.n_namesz, 4u);
	memcpy(n->bytes + n->len, desc, size);
	n->len += ROUND_UP(size, 4u);
}

static bool find(const struct notes *n, size_t len, struct build_id *id)
{
	Elf_Data d = {.d_buf = (char *)n->bytes,
		      .d_type = ELF_T_NHDR,
		      .d_version = EV_CURRENT,
		      .d_size = len,
		      .d_align = 4};

	return build_id_find(id, &d);
}

/* The mark of this program, which has no debug link, and of copies that have one. */
static void test_mark(void)
{
	char dir[] = "/tmp/build_id-XXXXXX", self[1024] = "", cmd[4096], linked[64], debug[64];
	struct build_mark own, copy;
	struct gate_file *file;
	int fd;

	if (!mkdtemp(dir) || readlink("/proc/self/exe", self, sizeof(self) - 1) <= 0)
		exit(1);
	(void)snprintf(linked, sizeof(linked), "%s/linked", dir);
	(void)snprintf(debug, sizeof(debug), "%s/its.debug", dir);
	(void)snprintf(cmd, sizeof(cmd),
		       "printf 123456789 > %s && objcopy --add-gnu-debuglink=%s %s %s", debug,
		       debug, self, linked);
	if (system(cmd) != 0)
		exit(1);
	fd = open(self, O_RDONLY | O_CLOEXEC);
	file = gate_file_of(fd);
	build_mark_read_file(&own, file, GATE_LIMIT_DEFAULT);
	ok(!own.debug_link, "a file without a debug link");
	gate_file_close(file);
	(void)close(fd);
	fd = open(linked, O_RDONLY | O_CLOEXEC);
	file = gate_file_of(fd);
	build_mark_read_file(&copy, file, GATE_LIMIT_DEFAULT);
	ok(copy.debug_link && strcmp(copy.debug_link, "its.debug") == 0, "one with a name");
	ok(copy.debug_crc == 0xcbf43926, "and the CRC-32 of the file that was so called");
	ok(build_id_equal(&own.id, &copy.id), "both are of one build");
	build_mark_deinit(&copy);
	build_mark_read_file(&copy, file, 4);
	ok(!copy.debug_link && !copy.id.len, "sections beyond the limit are not read");
	build_mark_deinit(&copy);
	build_mark_deinit(&own);
	gate_file_close(file);
	(void)close(fd);
	(void)unlink(linked);
	(void)unlink(debug);
	(void)rmdir(dir);
}

int main(void)
{
	struct notes n = {.len = 0}, large = {.len = 0};
	struct strbuf sb = {0};
	struct build_id id, other;
	char bytes[BUILD_ID_MAX + 1] = {0};

	elf_version(EV_CURRENT);
	note_add(&n, "stapsdt", NT_GNU_BUILD_ID, "\1\2\3\4\5\6\7\10", 8);
	ok(!find(&n, n.len, &id) && id.len == 0, "a probe's note of the same number is none");
	note_add(&n, "GNU", NT_GNU_ABI_TAG, "\0\0\0\0", 4);
	note_add(&n, "GNU", NT_GNU_BUILD_ID, "\xab\x01\xff\x10", 4);
	ok(find(&n, n.len, &id) && id.len == 4, "it stands behind other notes");
	build_id_add(&sb, &id, 0);
	is_str(strbuf_text(&sb), "ab01ff10", "its digits");
	strbuf_clear(&sb);
	build_id_add(&sb, &id, 1);
	is_str(strbuf_text(&sb), "01ff10", "those behind the first byte");
	strbuf_deinit(&sb);
	ok(!find(&n, n.len - 1, &other), "a note that is cut is none");
	ok(!build_id_equal(&id, &other) && build_id_equal(&id, &id),
	   "having one is not having none");

	note_add(&large, "GNU", NT_GNU_BUILD_ID, bytes, BUILD_ID_MAX + 1);
	ok(!find(&large, large.len, &other) && other.len == 0, "one that is too long is none");
	ok(!build_id_find(&other, NULL), "no section has none");
	test_mark();
	return tap_done();
}
