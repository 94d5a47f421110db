/* SPDX-License-Identifier: MIT */
/*
 * Fuzz target: what the kernel tells of processes. The first byte chooses: lines of /proc/PID/maps,
 * the records of what processes map (perf events).
 */
#include <sys/mman.h>

#include "target/maps.h"
#include "sym/sym.h"
#include "watch/names.h"
#include "watch/records.h"
#include "watch/subscribers.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define DATA_SIZE ((size_t)16 << 10)
#define FIRST_PID 0x40000000u /* beyond those that exist: nothing of this machine is read */

static void check_maps(const uint8_t *data, size_t size)
{
	struct arena *a = arena_create();
	CLEANUP(free) char *text = xcalloc(1, size + 1);
	char *save = NULL;

	memcpy(text, data, size);
	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		struct proc_map m;

		if (!proc_map_parse(line, a, &m))
			continue;
		if (m.start >= m.end || strlen(m.path) > size)
			BUG("a mapping that cannot be");
	}
	arena_destroy(a);
}

/* Sizes and process ids as the kernel would write them; all else is as it came. */
static size_t make_records(uint8_t *to, const uint8_t *data, size_t size)
{
	size_t n = 0;

	while (size - n >= sizeof(struct perf_event_header) + 2 * sizeof(uint32_t)) {
		struct perf_event_header h;
		uint32_t ids[2];

		memcpy(&h, data + n, sizeof(h));
		memcpy(ids, data + n + sizeof(h), sizeof(ids));
		h.size = (uint16_t)MIN((size_t)ROUND_UP(MAX(h.size, 16u), 8u) & 0x7f8,
				       (size - n) & ~(size_t)7);
		for (size_t i = 0; i < ARRAY_LEN(ids); i++)
			ids[i] = FIRST_PID + ids[i] % 8;
		if (h.size < sizeof(h) + sizeof(ids))
			break;
		memcpy(to + n, data + n, h.size);
		memcpy(to + n, &h, sizeof(h));
		memcpy(to + n + sizeof(h), ids, sizeof(ids));
		n += h.size;
	}
	return n;
}

static void check_records(const uint8_t *data, size_t size)
{
	size_t page_size = (size_t)sysconf(_SC_PAGESIZE);
	struct perf_event_mmap_page *page =
		mmap(NULL, page_size + DATA_SIZE, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct syms *syms = syms_create();
	struct subscribers subs = {0};
	struct records *w;
	struct sym_name name;

	if (page == MAP_FAILED)
		BUG("no memory");
	/* begins before the end of the buffer: records go around it */
	page->data_tail = DATA_SIZE - 64;
	page->data_head = page->data_tail;
	vec_push(&subs.list, (struct subscription){&watch_names, syms});
	w = records_create_over(&subs, page, DATA_SIZE);
	{
		CLEANUP(free) uint8_t *records = xcalloc(1, size + 16);
		size_t n = make_records(records, data, MIN(size, DATA_SIZE - 64));
		uint8_t *ring = (uint8_t *)page + page_size;

		memcpy(ring + DATA_SIZE - 64, records, MIN(n, (size_t)64));
		if (n > 64)
			memcpy(ring, records + 64, n - 64);
		page->data_head += n;
	}
	records_drain(w);
	for (uint32_t pid = FIRST_PID; pid < FIRST_PID + 8; pid++)
		(void)syms_find(syms, pid, 0x1000 * (pid - FIRST_PID), &name);
	records_destroy(w);
	vec_deinit(&subs.list);
	syms_destroy(syms);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static void (*const readers[])(const uint8_t *data, size_t size) = {check_maps,
									    check_records};

	if (size)
		readers[data[0] % ARRAY_LEN(readers)](data + 1, size - 1);
	return 0;
}
