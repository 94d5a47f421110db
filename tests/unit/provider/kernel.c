/* SPDX-License-Identifier: MIT */
/* What the kernel's lists and formats say: functions of ftrace, kallsyms, events of tracefs. */
#include "provider/kfuncs.h"
#include "provider/providers.h"
#include "provider/sdt.h"
#include "tap.h"

static void kfuncs_make(struct kfuncs *fs, const char *only, const char *text, bool has_addrs)
{
	*fs = (struct kfuncs){.only = only};
	strbuf_adds(&fs->text, text);
	kfuncs_parse(fs, has_addrs);
}

static void kfuncs_place(struct kfuncs *fs, const char *symbols)
{
	FILE *f = fmemopen((void *)(uintptr_t)symbols, strlen(symbols), "r");

	if (!ok(f != NULL, "symbols can be read"))
		return;
	kfuncs_locate_in(fs, f);
	(void)fclose(f);
}

static const char list[] = "vfs_read\n"
			   "vfs_read\n"
			   "ext4_sync [ext4]\n"
			   "__probestub_x\n"
			   "__ftrace_invalid_address___12\n"
			   "tcp_close\n"
			   "same [ext4]\n"
			   "same [xfs]";

static void test_names(void)
{
	struct kfuncs fs;

	kfuncs_make(&fs, NULL, list, false);
	is_int(fs.list.len, 5, "each function once, and what is none not at all");
	is_str(fs.list.data[0].place.name, "vfs_read", "a function of the kernel");
	is_str(fs.list.data[0].place.mod, KFUNC_KERNEL, "is in its own module");
	is_str(fs.list.data[1].place.name, "ext4_sync", "one of a module");
	is_str(fs.list.data[1].place.mod, "ext4", "has the module's name");
	is_int(fs.stops.len, 0, "addresses are not known");
	kfuncs_deinit(&fs);
	kfuncs_make(&fs, "ext4", list, false);
	ok(fs.list.len == 2 && strcmp(fs.list.data[1].place.name, "same") == 0,
	   "of one module, only its functions");
	kfuncs_deinit(&fs);
	kfuncs_make(&fs, NULL, "", false);
	is_int(fs.list.len, 0, "an empty list");
	kfuncs_deinit(&fs);
}

static void test_addresses(void)
{
	static const char addrs[] = "ffffffff81000204 vfs_read\n"
				    "ffffffff81000104 tcp_close\n"
				    "ffffffffc0000004 same [xfs]\n";
	static const char symbols[] = "ffffffff81000100 T tcp_close\n"
				      "ffffffff81000200 T vfs_read\n"
				      "ffffffff81009000 t vfs_read\n"
				      "ffffffff81000300 D vfs_read\n"
				      "0000000000000000 T vfs_read\n"
				      "garbage\n"
				      "ffffffffc0000000 t same\t[xfs]\n"
				      "ffffffffc0100000 t same\t[ext4]\n";
	struct kfuncs fs;

	kfuncs_make(&fs, NULL, addrs, true);
	ok(fs.stops.len == 3 && fs.stops.data[0] == 0xffffffff81000104, "stops are in order");
	for (uint32_t i = 0; i < fs.list.len; i++) {
		kfunc_mark(&fs.list.data[i]);
		fs.list.data[i].keys[0] = i + 1;
	}
	is_int(fs.nkeyed, 3, "three have probes");
	kfuncs_place(&fs, symbols);
	ok(fs.list.data[0].place.naddrs == 1 &&
		   fs.list.data[0].place.addrs[0] == 0xffffffff81000200,
	   "a symbol without a stop is another function");
	is_int(fs.list.data[0].nsame, 2, "which has the same name");
	ok(!kfunc_is_single(&fs.list.data[0]), "so that the name means two");
	ok(kfunc_is_single(&fs.list.data[1]), "another means one");
	ok(fs.list.data[2].place.naddrs == 1 && fs.list.data[2].nsame == 2,
	   "modules count for names");
	kfuncs_deinit(&fs);
	ok(kfunc_is_ours("bpf_get_current_task") && !kfunc_is_ours("vfs_read"),
	   "what our programs call is told apart");
}

static void test_format(void)
{
	char text[] = "name: sample\nID: 314\nformat:\n"
		      "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
		      "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n"
		      "\n"
		      "\tfield:char comm[16];\toffset:8;\tsize:16;\tsigned:1;\n"
		      "\tfield:const int prio;\toffset:24;\tsize:4;\tsigned:1;\n"
		      "\tfield:u64 when;\toffset:32;\tsize:8;\tsigned:0;\n"
		      "\tfield:__data_loc char[] name;\toffset:40;\tsize:4;\tsigned:1;\n"
		      "\tfield:void * at;\toffset:48;\tsize:8;\tsigned:0;\n"
		      "\tfield:u32 odd;\toffset:57;\tsize:4;\tsigned:0;\n"
		      "\tfield:broken\n"
		      "print fmt: \"%s\", REC->comm\n";
	static const struct {
		const char *name;
		uint32_t off, kind;
		const char *type;
	} want[] = {
		{"comm", 8, PLACE_FIELD_ADDRESS, "char * : string"},
		{"prio", 24, PLACE_FIELD_NUMBER, "int"},
		{"when", 32, PLACE_FIELD_NUMBER, "uint64_t"},
		{"name", 40, PLACE_FIELD_LOC, "char * : string"},
		{"at", 48, PLACE_FIELD_NUMBER, "void *"},
		{"odd", 57, PLACE_FIELD_ADDRESS, "void *"},
	};
	struct arena *a = arena_create();
	struct sdt_event ev = {.arena = a};

	sdt_format_parse(&ev, text);
	is_int(ev.record.id, 314, "the event's number");
	is_int(ev.record.nfields, ARRAY_LEN(want), "its fields, without those of all events");
	for (uint32_t i = 0; i < ev.record.nfields && i < ARRAY_LEN(want); i++) {
		struct argtext t = argtext_parse(a, ev.types[i], i);

		ok(t.name && strcmp(t.name, want[i].name) == 0 &&
			   ev.record.fields[i].off == want[i].off &&
			   ev.record.fields[i].kind == want[i].kind,
		   "field %s is at %u", want[i].name, want[i].off);
		is_str(ev.types[i], argtext_named(a, want[i].type, want[i].name), "its type");
	}
	arena_destroy(a);
}

static void test_blocks(void)
{
	is_int(dtrace_ID_BASE, 1, "BEGIN is probe 1");
	is_int(profile_ID_BASE, 4, "profile's block is behind it");
	is_int(syscall_ID_BASE, 17, "syscall's");
	is_int(rawtp_ID_BASE, 1001, "rawtp's");
	is_int(sdt_ID_BASE, 5001, "sdt's");
	is_int(PROVIDER_IDS_END, PROBE_ID_DYNAMIC, "and the others begin behind these");
	for (uint32_t i = 0; provider_list[i]; i++)
		for (uint32_t k = 0; k < i; k++)
			if (provider_list[i]->id_count && provider_list[k]->id_count)
				ok(provider_list[k]->id_base + provider_list[k]->id_count <=
					   provider_list[i]->id_base,
				   "the ids of %s are before those of %s", provider_list[k]->name,
				   provider_list[i]->name);
	ok(is_tracepoint_name("sched_switch") && is_tracepoint_name("sched_*") &&
		   is_tracepoint_name("") && !is_tracepoint_name("BEGIN") &&
		   !is_tracepoint_name("tick-1s"),
	   "names of tracepoints");
}

int main(void)
{
	test_names();
	test_addresses();
	test_format();
	test_blocks();
	return tap_done();
}
