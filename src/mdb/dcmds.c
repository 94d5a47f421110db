/* SPDX-License-Identifier: MIT */
/* The table of commands. */
#include "mdb/impl.h"

#define ANY UINT32_MAX

/* clang-format off */
const struct dcmd dcmds[] = {
	/* name, synopsis, what; options, flags, arguments at least and at most, function */
	{"$<", "$< FILE", "execute the commands of a file", "", DCMD_NO_ADDR, 1, 1, cmd_source},
	{"$C", "[TID]$C [-n] [-l]", "stack of the chosen thread, with frame pointers and addresses", "nlau", 0, 0, 0, cmd_stack_fp},
	{"$c", "[TID]$c [-n] [-l]", "stack of the chosen thread", "nlau", 0, 0, 0, cmd_stack},
	{"$l", "$l", "list the threads", "", DCMD_NO_ADDR, 0, 0, cmd_threads},
	{"$m", "[ADDR]$m", "list what is mapped", "", 0, 0, 0, cmd_mappings},
	{"$q", "$q", "end the debugger", "", DCMD_NO_ADDR, 0, 0, cmd_quit},
	{"$r", "$r [-f N]", "registers of the chosen thread, or of an outer frame", "f:", DCMD_NO_ADDR, 0, 0, cmd_regs},
	{"args", "::args", "arguments of the program", "", DCMD_NO_ADDR, 0, 0, cmd_args},
	{"array", "ADDR::array TYPE N", "hand on the addresses of N elements; N is decimal", "", DCMD_ADDR, 2, ANY, cmd_array},
	{"auxv", "::auxv", "auxiliary vector: what the kernel has told the program", "", DCMD_NO_ADDR, 0, 0, cmd_auxv},
	{"chunk", "ADDR::chunk", "the chunk of malloc around an address", "", DCMD_ADDR, 0, 0, cmd_chunk},
	{"context", "[TID]::context [TID]", "choose a thread; as an argument, TID is decimal", "", 0, 0, 1, cmd_context},
	{"dcmds", "::dcmds", "list the commands", "", DCMD_NO_ADDR, 0, 0, cmd_dcmds},
	{"dis", "ADDR[,COUNT]::dis [-f] [-b] [-n N]", "disassemble to the function's end; -f: all of it, -n: N instructions around, -b: bare addresses", "fbn:", DCMD_ADDR | DCMD_COUNT, 0, 0, cmd_dis},
	{"env", "::env", "environment of the program, at its start", "", DCMD_NO_ADDR, 0, 0, cmd_env},
	{"exec", "::exec FILE", "execute the commands of a file", "", DCMD_NO_ADDR, 1, 1, cmd_source},
	{"files", "::files", "list the open files of a process", "", DCMD_NO_ADDR, 0, 0, cmd_files},
	{"findleaks", "::findleaks [-d] [-v]", "chunks of malloc to which nothing points, by size; -d: each of them, -v: what was searched", "dv", DCMD_NO_ADDR, 0, 0, cmd_findleaks},
	{"findptr", "ADDR::findptr", "all words of memory that hold the address", "", DCMD_ADDR, 0, 0, cmd_findptr},
	{"findstr", "::findstr TEXT", "all places of memory with the text", "", DCMD_NO_ADDR, 1, 1, cmd_findstr},
	{"findsym", "::findsym PATTERN", "symbols whose names match the pattern (* ? [a-z])", "", DCMD_NO_ADDR, 1, 1, cmd_findsym},
	{"formats", "::formats", "list the letters of / and =", "", DCMD_NO_ADDR, 0, 0, cmd_formats},
	{"fpregs", "::fpregs [-v]", "registers of floating point and vectors of the chosen thread; -v: all that AVX-512 has, zmm0 to zmm31 and k0 to k7", "v", DCMD_NO_ADDR, 0, 0, cmd_fpregs},
	{"grep", "ADDR::grep EXPR", "hand on the addresses for which the expression is not 0; . is the address", "", DCMD_ADDR, 1, ANY, cmd_grep},
	{"help", "::help [NAME]", "explain a command, or the language", "", DCMD_NO_ADDR, 0, 1, cmd_help},
	{"lbytes", "VALUE::lbytes", "address and length of the bytes of a value, as of a Buffer; hands on the address", "", DCMD_ADDR, 0, 0, cmd_lbytes},
	{"lclosure", "FUNCTION::lclosure [-a] [-d DEPTH] [-n ITEMS] [-m SIZE]", "the variables that a function has captured, scope by scope from the innermost one; -m: so many characters of each at most (100000)", "ad:n:m:", DCMD_ADDR, 0, 0, cmd_lclosure},
	{"lconstructor", "VALUE::lconstructor", "the function that has made an object, and where it stands", "", DCMD_ADDR, 0, 0, cmd_lconstructor},
	{"lfibers", "[VALUE]::lfibers [-s STATE]", "what can be waited for, as promises: how many in which state, and who waits for those that wait for nothing themselves; -s: those of a state; of a value: who waits for it", "s:", 0, 0, 0, cmd_lfibers},
	{"lframe", "FP::lframe [-v]", "the frames of languages at a frame pointer; -v: files, lines, receivers, arguments and variables", "v", DCMD_ADDR, 0, 0, cmd_lframe},
	{"lfunctions", "::lfunctions [-n NAME] [-s FILE] [-l]", "functions by their code: how many, the first, name, file and line; of those whose name or file contains a text; -l: each of them", "n:s:l", DCMD_NO_ADDR, 0, 0, cmd_lfunctions},
	{"lhandles", "::lhandles", "what the event loop has: handles of sockets, servers, timers, with their objects", "", DCMD_NO_ADDR, 0, 0, cmd_lhandles},
	{"libs", "::libs", "list what the dynamic linker has loaded, in its order", "", DCMD_NO_ADDR, 0, 0, cmd_libs},
	{"list", "ADDR[,COUNT]::list TYPE MEMBER", "hand on the addresses of a linked list; MEMBER leads to the next element, as in next, or link.next of a link that leads to a link", "", DCMD_ADDR | DCMD_COUNT, 2, ANY, cmd_list},
	{"load", "::load FILE", "use a ustack helper, a file of D, for frames of a language", "", DCMD_NO_ADDR, 1, 1, cmd_load},
	{"lobjects", "[VALUE]::lobjects [-c CLASS] [-p PROPERTY[=VALUE]] [-k KIND] [-s BYTES] [-t TID] [-l]", "census of objects by class and properties; -k: of a kind, as ::ltype says it, -s: of so many bytes at least, -t: of a thread that has objects of its own, -l: each of them; of a value: all like it", "c:p:k:s:t:l", 0, 0, 0, cmd_lobjects},
	{"locks", "::locks", "threads that wait for locks, who owns these, and deadlocks", "", DCMD_NO_ADDR, 0, 0, cmd_locks},
	{"log", "::log [-d] [FILE]", "append commands and output to a file; -d: no longer", "d", DCMD_NO_ADDR, 0, 1, cmd_log},
	{"lprint", "VALUE::lprint [-a] [-b] [-d DEPTH] [-n ITEMS] [-m SIZE] [MEMBER...]", "the value as its language writes it, or members of it; -a: addresses of values in it, -b: its own, -m: so many characters at most (100000)", "abd:n:m:", DCMD_ADDR, 0, ANY, cmd_lprint},
	{"lraw", "VALUE::lraw", "the runtime's own structure of a value, with the classes it derives from", "", DCMD_ADDR, 0, 0, cmd_lraw},
	{"lrefs", "VALUE::lrefs [-r]", "the objects that refer to a value, and where else it is held: variables of frames, stacks, native memory; -r: the shortest chain from such a place to the value", "r", DCMD_ADDR, 0, 0, cmd_lrefs},
	{"lretained", "[VALUE]::lretained [-n N]", "bytes and objects that would be freed with a value; without one, of the N that hold most (20)", "n:", 0, 0, 0, cmd_lretained},
	{"lsource", "FUNCTION::lsource [-n LINES]", "the source of a function; -n: with so many lines around it", "n:", DCMD_ADDR, 0, 0, cmd_lsource},
	{"lstack", "[TID]::lstack [-v] [-a]", "stack of the chosen thread by languages; -v: files, lines, receivers, arguments and variables, -a: all threads", "va", 0, 0, 0, cmd_lstack},
	{"lstr", "VALUE::lstr [-v]", "the whole of a text; -v: how it is made up", "v", DCMD_ADDR, 0, 0, cmd_lstr},
	{"ltasks", "[TASK]::ltasks [-v] [-a] [-s COLUMN] [TEXT]", "what the runtime has in place of threads: all, or those with the text in a column; -v: all that is known of each, -a: with addresses of values, -s: sorted, numbers from the largest", "avs:", 0, 0, 1, cmd_ltasks},
	{"ltaskstack", "[TASK]::ltaskstack [-a] [TEXT]", "the stacks of these, with the values in each frame; -a: and their addresses", "a", 0, 0, 1, cmd_ltaskstack},
	{"lthreads", "::lthreads [-v] [-c]", "threads that run a language: what the runtime has for each, name, state, innermost frame; -v: all that is known of each, -c: with the objects of each", "vc", DCMD_NO_ADDR, 0, 0, cmd_lthreads},
	{"ltype", "VALUE::ltype", "what the runtime calls the kind of the value", "", DCMD_ADDR, 0, 0, cmd_ltype},
	{"malloc", "::malloc", "malloc's arenas and its chunks by size", "", DCMD_NO_ADDR, 0, 0, cmd_malloc},
	{"mallocbrk", "::mallocbrk [-s]", "the chunks of malloc's main arena one by one; -s: their sums only", "s", DCMD_NO_ADDR, 0, 0, cmd_mallocbrk},
	{"map", "ADDR::map EXPR", "hand on the value of the expression; . is the address", "", DCMD_ADDR, 1, ANY, cmd_map},
	{"mappings", "[ADDR]::mappings", "list what is mapped, or the mapping of the address", "", 0, 0, 0, cmd_mappings},
	{"nm", "::nm [-D] [-u] [-f func|objt] [OBJECT]", "symbols; -D: of the dynamic linker, -u: undefined ones", "Duf:", DCMD_NO_ADDR, 0, 1, cmd_nm},
	{"objects", "::objects", "list the files that are mapped, with their build ids", "", DCMD_NO_ADDR, 0, 0, cmd_objects},
	{"offsetof", "::offsetof TYPE MEMBER", "offset of a member in a structure, in bytes", "", DCMD_NO_ADDR, 2, ANY, cmd_offsetof},
	{"print", "ADDR::print [-atx] [-d DEPTH] [-l N] [TYPE] [MEMBER...]", "a value by its type, which of a variable need not be said: x::print, x::print .member; -a: addresses, -t: types, -x: hexadecimal, -d: nested structures, -l: elements of arrays (0: all)", "atxd:l:", DCMD_ADDR, 0, ANY, cmd_print},
	{"printf", "ADDR::printf FORMAT TYPE MEMBER...", "members by a format as in C: %d %u %x %p %c %s %a (symbol) %f; the member . is the value itself", "", DCMD_ADDR, 2, ANY, cmd_printf},
	{"quit", "::quit", "end the debugger", "", DCMD_NO_ADDR, 0, 0, cmd_quit},
	{"regs", "::regs [-f N]", "registers of the chosen thread; -f: of its frame N, 0 is the innermost", "f:", DCMD_NO_ADDR, 0, 0, cmd_regs},
	{"siginfo", "::siginfo", "the signal that ended the process", "", DCMD_NO_ADDR, 0, 0, cmd_siginfo},
	{"sizeof", "::sizeof TYPE", "size of a type, in bytes", "", DCMD_NO_ADDR, 1, ANY, cmd_sizeof},
	{"stack", "[TID]::stack [-n] [-l] [-a] [-u]", "stack; -n: native frames only, -l: those of languages, -a: of all threads, -u: equal ones once", "nlau", 0, 0, 0, cmd_stack},
	{"stackregs", "[TID]::stackregs [-n] [-l] [-a] [-u]", "stack with frame pointers and addresses", "nlau", 0, 0, 0, cmd_stack_fp},
	{"status", "::status", "what is debugged, and why it ended", "", DCMD_NO_ADDR, 0, 0, cmd_status},
	{"threads", "::threads", "list the threads", "", DCMD_NO_ADDR, 0, 0, cmd_threads},
	{"typedef", "::typedef ['DECLARATION']", "declare a type in C, for programs without debug information: 'struct node { struct node *next; int n; }'; or list what was declared", "", DCMD_NO_ADDR, 0, ANY, cmd_typedef},
	{"walk", "[ADDR]::walk NAME", "hand on the addresses of a walker", "", 0, 1, 1, cmd_walk},
	{"walkers", "::walkers", "list what ::walk walks", "", DCMD_NO_ADDR, 0, 0, cmd_walkers},
	{"whatis", "ADDR::whatis", "what an address is in: symbol, stack, chunk of malloc, mapping", "", DCMD_ADDR, 0, 0, cmd_whatis},
	{"windows", "::windows [FILE]", "at how many entries and exits of functions a jump can stand in place of a trap, of the files that are mapped; of one file, and why not", "", DCMD_NO_ADDR, 0, 1, cmd_windows},
};
const uint32_t ndcmds = ARRAY_LEN(dcmds);

/* The names that the commands of languages have for one of these. */
/* clang-format off */
const struct dcmd_alias dcmd_aliases[] = {
	{"erlprint", "lprint"},
	{"erlps", "ltasks"},
	{"erlstack", "ltaskstack"},
	{"erlstr", "lstr"},
	{"erltype", "ltype"},
	{"findjavaobjects", "lobjects"},
	{"findjsobjects", "lobjects"},
	{"findluaobjects", "lobjects"},
	{"findphpobjects", "lobjects"},
	{"findplobjects", "lobjects"},
	{"findpyobjects", "lobjects"},
	{"findrbobjects", "lobjects"},
	{"javaprint", "lprint"},
	{"javaraw", "lraw"},
	{"javarefs", "lrefs"},
	{"javastack", "lstack"},
	{"javastr", "lstr"},
	{"javathreads", "lthreads"},
	{"javatype", "ltype"},
	{"jsclosure", "lclosure"},
	{"jsconstructor", "lconstructor"},
	{"jsfindrefs", "lrefs"},
	{"jsframe", "lframe"},
	{"jsfunctions", "lfunctions"},
	{"jsprint", "lprint"},
	{"jspromises", "lfibers"},
	{"jsretained", "lretained"},
	{"jssource", "lsource"},
	{"jsstack", "lstack"},
	{"jsworkers", "lthreads"},
	{"luaclosure", "lclosure"},
	{"luaprint", "lprint"},
	{"luarefs", "lrefs"},
	{"luastack", "lstack"},
	{"luatype", "ltype"},
	{"nodebuffer", "lbytes"},
	{"nodehandles", "lhandles"},
	{"phpprint", "lprint"},
	{"phprefs", "lrefs"},
	{"phpstack", "lstack"},
	{"phptype", "ltype"},
	{"plclosure", "lclosure"},
	{"plprint", "lprint"},
	{"plrefs", "lrefs"},
	{"plstack", "lstack"},
	{"pltype", "ltype"},
	{"pyprint", "lprint"},
	{"pyrefs", "lrefs"},
	{"pystack", "lstack"},
	{"pytasks", "ltasks"},
	{"pytaskstack", "ltaskstack"},
	{"pythreads", "lthreads"},
	{"pytype", "ltype"},
	{"rbclosure", "lclosure"},
	{"rbprint", "lprint"},
	{"rbrefs", "lrefs"},
	{"rbstack", "lstack"},
	{"rbthreads", "lthreads"},
	{"rbtype", "ltype"},
	{"v8print", "lraw"},
	{"v8str", "lstr"},
	{"v8type", "ltype"},
};
/* clang-format on */
const uint32_t ndcmd_aliases = ARRAY_LEN(dcmd_aliases);

static const struct dcmd *dcmd_named(const char *name)
{
	for (uint32_t i = 0; i < ndcmds; i++)
		if (strcmp(dcmds[i].name, name) == 0)
			return &dcmds[i];
	return NULL;
}

const struct dcmd *dcmd_find(const char *name)
{
	for (uint32_t i = 0; i < ndcmd_aliases; i++)
		if (strcmp(dcmd_aliases[i].name, name) == 0)
			return dcmd_named(dcmd_aliases[i].of);
	return dcmd_named(name);
}
