/* SPDX-License-Identifier: MIT */
/*
 * Reads the list of the kernel's functions that can be traced, and their addresses.
 *
 * Facts    lines of available_filter_functions: "NAME", "NAME [MODULE]"; lines of kallsyms:
 *          "ADDRESS TYPE NAME", "ADDRESS TYPE NAME\t[MODULE]".
 */
#include "provider/kfuncs.h"

#include <errno.h>

#include "base/text.h"
#include "kernel/kernel.h"
#include "provider/providers.h"
#include "sym/kallsyms.h"

#define LIST_FILE  "available_filter_functions"
#define ADDRS_FILE "available_filter_functions_addrs" /* Linux 6.5 */
#define STOP_MAX   16 /* the call of ftrace is so near the start: behind an endbr64, a few nops */

/* ---- functions of tracers -------------------------------------------------------------------- */

/* Names that are no functions: places where a weak function was; stubs of tracepoints. */
static const char *const none_prefixes[] = {"__ftrace_invalid_address__", "__probestub_",
					    "__traceiter_"};

/*
 * What runs between a traced function and our programs, and what these call. While a program runs,
 * the kernel does not run it again on the same CPU: probes there would cost much and tell nothing.
 */
static const char *const our_prefixes[] = {
	"__bpf_",
	"bpf_dispatcher_",
	"bpf_get_",
	"bpf_ktime_",
	"bpf_loop",
	"bpf_map_",
	"bpf_mem_",
	"bpf_perf_",
	"bpf_probe_read_",
	"bpf_prog_",
	"bpf_ringbuf_",
	"bpf_task_",
	"bpf_trace_run",
	"array_map_",
	"htab_",
	"__htab_",
	"pcpu_freelist_",
	"__pcpu_freelist_",
	"percpu_array_",
	"copy_from_kernel_nofault",
	"fprobe_",
	"ftrace_",
	"kprobe_",
	"kretprobe_",
	"perf_call_bpf_",
	"perf_trace_",
	"rethook_",
	"trace_call_bpf",
	"unwind_",
	"__unwind_",
	"orc_",
	"migrate_disable",
	"__rcu_read_",
	"rcu_read_",
	"ktime_get_mono_",
	"get_perf_callchain",
	"perf_callchain_",
	"get_callchain_entry",
	"is_bpf_text_",
	"migrate_enable",
};

bool kfunc_is_ours(const char *name)
{
	return text_begins(name, our_prefixes, ARRAY_LEN(our_prefixes));
}

/* ---- the list -------------------------------------------------------------------------------- */

/* mod: " [MODULE]" of a line, which is len bytes; NULL: it is a function of the kernel itself. */
static bool is_meant(const struct kfuncs *fs, const char *mod, size_t len)
{
	size_t only = fs->only ? strlen(fs->only) : 0;

	return !fs->only || (mod && len == only + 3 && memcmp(mod + 2, fs->only, only) == 0);
}

static void line_add(struct kfuncs *fs, char *line, size_t len)
{
	char *mod = memchr(line, ' ', len);
	struct kfunc f = {0};

	if (!is_meant(fs, mod, len - (size_t)(mod ? mod - line : 0)) ||
	    text_begins(line, none_prefixes, ARRAY_LEN(none_prefixes)) ||
	    hashmap_find(fs->by_line, line, len))
		return;
	hashmap_set(fs->by_line, line, len, (void *)(uintptr_t)(fs->list.len + 1));
	f.all = fs;
	f.place.name = line;
	f.place.mod = KFUNC_KERNEL;
	if (mod && mod[1] == '[' && line[len - 1] == ']') {
		*mod = '\0';
		line[len - 1] = '\0';
		f.place.mod = mod + 2;
	}
	vec_push(&fs->list, f);
}

/* Cuts the address off a line, and keeps it. */
static char *stop_cut(struct kfuncs *fs, char *line)
{
	char *end;
	uint64_t addr = strtoull(line, &end, 16);

	if (*end != ' ')
		return line;
	if (addr)
		vec_push(&fs->stops, addr);
	return end + 1;
}

static int by_addr(const void *pa, const void *pb)
{
	const uint64_t *a = pa, *b = pb;

	return (*a > *b) - (*a < *b);
}

/* Reads the list with addresses, where there is one, else that of names. 0, or errno. */
static int list_read(struct kfuncs *fs)
{
	int sys = tracefs_read(ADDRS_FILE, &fs->text);
	bool has_addrs = !sys && fs->text.len;

	if (!has_addrs)
		sys = tracefs_read(LIST_FILE, &fs->text);
	if (sys || !fs->text.len)
		return sys ? sys : ENOENT;
	kfuncs_parse(fs, has_addrs);
	return 0;
}

void kfuncs_parse(struct kfuncs *fs, bool has_addrs)
{
	char *save = NULL;

	fs->by_line = hashmap_create();
	for (char *line = strtok_r(fs->text.data, "\n", &save); line;
	     line = strtok_r(NULL, "\n", &save)) {
		if (has_addrs)
			line = stop_cut(fs, line);
		line_add(fs, line, strlen(line));
	}
	if (fs->stops.len)
		qsort(fs->stops.data, fs->stops.len, sizeof(*fs->stops.data), by_addr);
}

/* What the kernel lacks; sys: why the list cannot be read, or 0. */
static struct err *functions_lack(int sys)
{
	struct err *e;

	if (!feat_has(FEAT_KPROBE) && !feat_has(FEAT_KPROBE_MULTI))
		e = err_new("functions of this kernel cannot be traced: it has neither %s nor %s",
			    feat_what(FEAT_KPROBE), feat_what(FEAT_KPROBE_MULTI));
	else
		e = err_sys(sys, "functions of this kernel cannot be traced: tracefs does not show "
				 "'" LIST_FILE "'");
	return err_hint(e, "dtrace -l -P rawtp and -P sdt list the kernel's tracepoints; "
			   "profile-997 with stack() shows in which functions its time goes");
}

struct err *kfuncs_read(struct kfuncs *ret)
{
	int sys;

	if (!feat_has(FEAT_KPROBE) && !feat_has(FEAT_KPROBE_MULTI))
		return functions_lack(0);
	sys = list_read(ret);
	return sys ? functions_lack(sys) : NULL;
}

void kfuncs_deinit(struct kfuncs *fs)
{
	for (uint32_t i = 0; i < fs->list.len; i++)
		free((void *)(uintptr_t)fs->list.data[i].place.addrs);
	vec_deinit(&fs->list);
	vec_deinit(&fs->stops);
	hashmap_destroy(fs->by_line);
	strbuf_deinit(&fs->text);
}

/* ---- addresses ------------------------------------------------------------------------------- */

/* Keeps the addresses ascending. */
static void address_add(struct place_func *f, uint64_t addr)
{
	uint64_t *addrs = (uint64_t *)(uintptr_t)f->addrs;
	uint32_t i = f->naddrs;

	addrs = xrealloc(addrs, (i + 1) * sizeof(*addrs));
	for (; i && addrs[i - 1] > addr; i--)
		addrs[i] = addrs[i - 1];
	addrs[i] = addr;
	f->addrs = addrs;
	f->naddrs++;
}

/* Whether ftrace can stop at the start of the function at addr. */
static bool is_stop(const struct kfuncs *fs, uint64_t addr)
{
	uint32_t low = 0, high = fs->stops.len;

	while (low < high) {
		uint32_t mid = low + (high - low) / 2;

		if (fs->stops.data[mid] < addr)
			low = mid + 1;
		else
			high = mid;
	}
	return !fs->stops.len || (low < fs->stops.len && fs->stops.data[low] <= addr + STOP_MAX);
}

/* names: of functions with probes -> 1 + how many have that name. line: without its newline */
static void symbol_read(struct kfuncs *fs, struct hashmap *names, char *line)
{
	struct kallsym sym = {0};
	char *end, *tab;
	uintptr_t at, same;

	sym.addr = strtoull(line, &end, 16);
	if (!sym.addr || end[0] != ' ' || !end[1] || end[2] != ' ')
		return;
	sym.type = end[1];
	if (!kallsym_is_function(&sym))
		return;
	tab = strchr(end + 3, '\t');
	if (tab)
		*tab = '\0';
	same = (uintptr_t)hashmap_finds(names, end + 3);
	if (same)
		hashmap_sets(names, end + 3, (void *)(same + 1));
	if (tab)
		*tab = ' ';
	at = (uintptr_t)hashmap_finds(fs->by_line, end + 3);
	if (at && is_stop(fs, sym.addr))
		address_add(&fs->list.data[at - 1].place, sym.addr);
}

void kfunc_mark(struct kfunc *f)
{
	f->all->nkeyed += !f->keys[0] && !f->keys[1];
}

/* The names of functions that have probes; none if these are many. */
static struct hashmap *names_collect(const struct kfuncs *fs)
{
	struct hashmap *names = hashmap_create();

	for (uint32_t i = 0; fs->nkeyed <= KFUNC_FEW && i < fs->list.len; i++)
		if (fs->list.data[i].keys[0] || fs->list.data[i].keys[1])
			hashmap_sets(names, fs->list.data[i].place.name, (void *)(uintptr_t)1);
	return names;
}

void kfuncs_locate(struct kfuncs *fs)
{
	CLEANUP(file) FILE *f = fs->has_addrs ? NULL : fopen(KALLSYMS_PATH, "re");

	if (!fs->has_addrs)
		kfuncs_locate_in(fs, f);
	fs->has_addrs = true;
}

void kfuncs_locate_in(struct kfuncs *fs, FILE *f)
{
	struct hashmap *names = names_collect(fs);
	char line[1024];

	while (f && fgets(line, sizeof(line), f)) {
		line[strcspn(line, "\n")] = '\0';
		symbol_read(fs, names, line);
	}
	for (uint32_t i = 0; hashmap_count(names) && i < fs->list.len; i++) {
		struct kfunc *fn = &fs->list.data[i];
		uintptr_t n = (uintptr_t)hashmap_finds(names, fn->place.name);

		fn->nsame = n ? (uint32_t)n - 1 : 0;
	}
	hashmap_destroy(names);
}

bool kfunc_is_single(const struct kfunc *f)
{
	return f->nsame == 1 && f->place.naddrs == 1 && !kfunc_is_ours(f->place.name);
}
