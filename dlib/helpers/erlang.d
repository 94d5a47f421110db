/* SPDX-License-Identifier: MIT */
/*
 * Erlang/OTP 24, 25, 27 and 28 with the JIT: frames of Erlang functions, as "lists:map/2
 * (lists.erl:1559)" in place of the address of the generated code. The column of 28 is from its
 * published sources and was not tested, so more is checked there before it is believed.
 *
 * Generated code runs on the stack of the Erlang process, which has no frame pointers: words whose
 * two low bits are clear are return addresses, all others are terms. Functions in C are called on
 * the stack of the scheduler's thread; the process's own stack pointer is then in rbp (24: r12), or
 * in the process, and what is in the other place is old. The code behind the call says which: it
 * takes the pointer back from there. So this helper chooses the frames behind those of generated
 * code: first those of the process, then what has called the scheduler's loop. A thread of a dirty
 * scheduler runs no generated code: the frames of the process whose function it executes stand
 * behind its loop.
 *
 * The emulator's table of modules is what erts_init_ranges() clears. Offsets: erl_process.h,
 * erl_term.h, atom.h, beam_code.h, jit/beam_asm.h of OTP.
 */
#pragma D helper exec "beam.smp|beam"
#pragma D helper registers "in_r12"

table VERSIONS { /*             24        25        27        28 */
	uint64_t version  =       24,       25,       27,       28;
	/* in the header of a module's code: the entries of its functions, in ascending order */
	uint64_t functions =      88,       96,      136,      152;
	/* in a process: where its heap and stack begin and end; the function that it has called */
	uint64_t heap_start =    120,      128,      192,      192;
	uint64_t heap_end =      128,      136,      200,      200;
	uint64_t called	  =      464,      472,      464,      464;
	/* while C runs, the process's stack pointer is in r12, not in rbp */
	uint64_t in_r12	  =        1,        0,        0,        0;
	/* what takes it from there: "mov %r12,%rsp", "mov %rbp,%rsp" */
	uint64_t taken	  = 0xe4894c, 0xec8948, 0xec8948, 0xec8948;
	/* names of files are atoms, not lists of characters */
	uint64_t by_atoms =        1,        0,        0,        0;
	/* the text of an atom is a term, a binary */
	uint64_t binaries =        0,        0,        0,        1;
	/* nothing but an instruction that was found says where the stack pointer is */
	uint64_t strict   =        0,        0,        0,        1;
	/* where the frame of the scheduler's loop ends, from its registers on; how far at most */
	uint64_t loop_at  =   0x40e8,   0x40e8,   0x40e8,   0x4040;
	uint64_t loop_max =      104,      104,      104,      448;
};

uint64_t key;	      /* address of the key of the thread-specific scheduler data */
uint64_t specific;    /* where struct pthread has the values, from the thread's own address */
uint64_t current;     /* offset of the process in the scheduler data */
uint64_t ranges, active; /* three tables of modules, the number of the one in use */
uint64_t atoms;	      /* the table of segments of atoms */
uint64_t stub;	      /* the end of a process's stack; shared code lies before it */
uint64_t loop, loop_end; /* erts_dirty_process_main() */
uint64_t nif, nif_end;	 /* beam_jit_call_nif() */
uint64_t main;		 /* process_main() */
uint64_t start_text, text_size;

/* terms (erl_term.h): their kinds are in the low bits */
inline int ATOM_MASK = 63;
inline int ATOM_TAG = 11;
inline int PRIMARY_MASK = 3; /* all of these are clear in return addresses */
inline int LIST_TAG = 1;     /* from an address with this tag: the head at -1, the tail at 7 */
inline int SMALL_SHIFT = 4;  /* of an integer, which a character is */
/* the table of atoms (index.h), by whose numbers it is a list of segments; an atom (atom.h) */
inline int TABLE_SEGMENTS = 120;
inline int INDEX_SHIFT = 6; /* the number of an atom in its term */
inline int SEGMENT_SHIFT = 10;
inline int SEGMENT_MASK = 1023;
inline int ATOM_LENGTH = 24;
inline int ATOM_NAME = 32;
/* a binary of at most 64 bytes (erl_bits.h): its kind, in the low bits; its bits; its text */
inline int BINARY_MASK = 63;
inline int BINARY_KIND = 32;
inline int BINARY_BITS = 8;
inline int BINARY_TEXT = 16;
/* a process (erl_process.h): its stack pointer, which instructions name, too */
inline int P_STOP = 88;
/* struct ranges (beam_ranges.c) and one of its modules: the start of its code, the end */
inline int RANGES_SIZE = 32;
inline int RANGES_COUNT = 8;
inline int RANGES_MASK = 3; /* of the number of the table in use */
inline int RANGE_SIZE = 16;
inline int RANGE_END = 8;
/* the header of a module's code (beam_code.h), which begins with the number of functions */
inline int CODE_LINES = 72;
/* the entry of a function: its module, name and arity */
inline int ENTRY_MFA = 16;
inline int MFA_NAME = 8;
inline int MFA_ARITY = 16;
inline int ARITY_MAX = 255;
/*
 * the table of lines, which begins with the names of files: the size of a location, the locations,
 * the addresses, by function
 */
inline int LINES_SIZE = 8;
inline int LINES_LOCATIONS = 16;
inline int LINES_ADDRESSES = 24;
/* a location: the number of the file, and the line */
inline int LOCATION_FILE = 24;
inline int LOCATION_LINE = 0xffffff;

/* instructions, by their first bytes as a number, with the bits that say which they are */
inline int THREE_BYTES = 0xffffff;
inline int RSP_MASK = 0xd7fdff;	  /* both of the following, and "add": */
inline int RSP_CHANGE = 0xc48148;
inline int SUB_BYTE = 0xec8348;	  /* sub $byte,%rsp */
inline int SUB_LONG = 0xec8148;	  /* sub $long,%rsp */
inline int KEPT_BIT = 0x100000;	  /* %rsp and %rsi differ by it in: */
inline int KEPT_LOAD = 0x58758b49; /* mov 88(%r13),%rsi */
inline int KEPT_MOVE = 0xf48949;  /* mov %rsi,%r12 */
inline int CALL = 0xe8;		  /* five bytes, the last four of which are the distance */
inline int JUMP = 0xe940;	  /* six bytes: jmp with a prefix that it does not need */

/* bytes of code: of that which all modules use; of a function before an address, behind a call */
inline int SHARED_SIZE = 0x8000;
inline int ROOM_SEARCH = 192;
inline int KEPT_SEARCH = 96;
inline int KEPT_SEARCH_SHARED = 40;
inline int STACK_MAX = 0x100000; /* bytes of a stack whose end is not known */

/* the text of an atom */
inline uint64_t ATOM[uint64_t t] = WORD[WORD[WORD[atoms] + 8 * (t >> INDEX_SHIFT + SEGMENT_SHIFT)] +
    8 * (t >> INDEX_SHIFT & SEGMENT_MASK)];
inline uint64_t BINARY[uint64_t a] = WORD[a + ATOM_NAME] & ~7ull;
inline int IS_TEXT[uint64_t b, uint64_t length] = (WORD[b] & BINARY_MASK) == BINARY_KIND &&
    WORD[b + BINARY_BITS] == 8 * length;
inline string NAME[uint64_t t] = (t & ATOM_MASK) != ATOM_TAG ||
    binaries && !IS_TEXT[BINARY[ATOM[t]], SHORT[ATOM[t] + ATOM_LENGTH]] ? "?" :
    ustr(binaries ? BINARY[ATOM[t]] + BINARY_TEXT : WORD[ATOM[t] + ATOM_NAME],
	SHORT[ATOM[t] + ATOM_LENGTH]);
inline string ASCII =
    " !\"#$%&'()*+,-./0123456789:;<=>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_`abcdefghijklmnopqrstuvwxyz{|}~";
inline int ASCII_FIRST = 32; /* the characters of that text */
inline int ASCII_LAST = 126;
/* whether an address is in the code that all modules use, which ends there */
inline int IS_SHARED[uint64_t a, uint64_t end] = a <= end && a > end - SHARED_SIZE;
/* in attach clauses: what the operand of an instruction with an address behind n bytes points to */
inline uint64_t OPERAND[uint64_t a, int n, int all] = a + all + *(int *)(a + n);

dtrace:helper:attach:
{
	this->release = symaddr("etp_otp_release");
	if (!this->release)
		udecline("this Erlang has no symbols");
	this->number = (BYTE[this->release] - '0') * 10 + BYTE[this->release + 1] - '0';
	if (!VERSIONS[this->number])
		udecline("this version of Erlang/OTP is not known (24, 25, 27 and 28 are)");
	main = symaddr("process_main");
	this->init = symaddr("erts_init_ranges");
	this->data = symaddr("erts_get_scheduler_data");
	this->print = symaddr("erts_print_scheduler_info");
	if (version == 24) {
		nif = symaddr("beam_jit_call_nif");
		nif_end = nif + symsize("beam_jit_call_nif");
	} else {
		nif =
		    symaddr("_Z17beam_jit_call_nifP7processPKvPmPFmP18enif_environment_tiS3_EP14erl_module_nif");
		nif_end = nif +
		    symsize("_Z17beam_jit_call_nifP7processPKvPmPFmP18enif_environment_tiS3_EP14erl_module_nif");
	}
	loop = symaddr("erts_dirty_process_main");
	loop_end = loop + symsize("erts_dirty_process_main");
	active = symaddr("the_active_code_index");
	atoms = symaddr("erts_atom_table") + TABLE_SEGMENTS;
	stub = symaddr("beam_normal_exit");
	find_specific();
	specific = this->specific;
	if (!main || !this->init || !this->data || !this->print || !loop || !active || !stub ||
	    !specific)
		udecline("a symbol is missing: Erlang without the JIT is not known");

	/*
	 * "movq $0, ..." of a counter, behind which the tables are; "mov ...,%edi"; "mov
	 * type(%rdx),%ecx"
	 */
	this->init = ubytes(this->init, symsize("erts_init_ranges"),
	    "48 c7 05 ?? ?? ?? ?? 00 00 00 00");
	this->data = ubytes(this->data, 16, "8b 3d");
	this->print = ubytes(this->print, 64, "8b 8a ?? ?? 00 00");
	if (!this->init || !this->data || !this->print)
		udecline("this Erlang was compiled in a way that is not known");
	/* code that looks a function up has the offset of the entries: "lea 152(%...)" */
	this->search = symaddr("erts_lookup_function_info");
	if (strict && (!this->search ||
	    !ubytes(this->search, symsize("erts_lookup_function_info"), "8d ?? 98 00 00 00")))
		udecline("the modules of this Erlang have a layout that is not known");
	ranges = OPERAND[this->init, 3, 11] + 8;
	key = OPERAND[this->data, 2, 6];
	current = *(uint32_t *)(this->print + 2) - 8;
	start_text = secaddr(".text");
	text_size = secsize(".text");
}

dtrace:helper:uthread:
{
	this->number = HALF[key];
	this->data = SPECIFIC[specific, this->number];
	this->process = this->data ? WORD[this->data + current] : 0;
	this->exit = this->data ? WORD[stub] : 0;
	this->table = ranges + RANGES_SIZE * (HALF[active] & RANGES_MASK);
	this->modules = WORD[this->table];
	this->count = WORD[this->table + RANGES_COUNT];
	this->low = this->count ? WORD[this->modules] : 0;
	this->low = this->low < this->exit ? this->low : this->exit;
	this->high = this->count ?
	    WORD[this->modules + RANGE_SIZE * (this->count - 1) + RANGE_END] : 0;
}

/* A function in C that Erlang has called by name. */
dtrace:helper:ustack:
/this->process && (arg0 > nif && arg0 <= nif_end || arg0 > loop && arg0 <= loop_end)/
{
	this->mfa = WORD[this->process + called];
	if (IS_POINTER[this->mfa] && (WORD[this->mfa] & ATOM_MASK) == ATOM_TAG &&
	    (WORD[this->mfa + MFA_NAME] & ATOM_MASK) == ATOM_TAG &&
	    WORD[this->mfa + MFA_ARITY] <= ARITY_MAX)
		uframe("@", NAME[WORD[this->mfa]], ":", NAME[WORD[this->mfa + MFA_NAME]], "/",
		    WORD[this->mfa + MFA_ARITY]);
}

/*
 * In the interrupted function, "sub $n,%rsp" may just have made room, which still has what was
 * there before; unless "add $n,%rsp" has left it again: the last one of both counts. Terms that
 * have been stored in the room since are no return addresses, so it can be left out.
 */
inline void leave_room_out()
{
	this->module = WORD[this->modules + RANGE_SIZE * this->index];
	this->back = ubsearch(this->module + functions, WORD[this->module], 8, 8, this->at);
	this->first = this->back >= 0 ? WORD[this->module + functions + 8 * this->back] : this->at;
	this->first = this->first < this->at - ROOM_SEARCH ? this->at - ROOM_SEARCH : this->first;
	this->next = this->at;
	while (this->next > this->first; 33) {
		this->next -= 6;
		this->word = WORD[this->next];
		this->back = (this->word >> 40 & RSP_MASK) == RSP_CHANGE ? 5 :
		    (this->word >> 32 & RSP_MASK) == RSP_CHANGE ? 4 :
		    (this->word >> 24 & RSP_MASK) == RSP_CHANGE ? 3 :
		    (this->word >> 16 & RSP_MASK) == RSP_CHANGE ? 2 :
		    (this->word >> 8 & RSP_MASK) == RSP_CHANGE ? 1 :
		    (this->word & RSP_MASK) == RSP_CHANGE ? 0 : 6;
		if (this->back < 6) {
			this->next += this->back;
			if (this->next >= this->first && this->next < this->at) {
				this->word = WORD[this->next];
				if ((this->word & THREE_BYTES) == SUB_BYTE)
					this->sp += this->word >> 24 & 255;
				else if ((this->word & THREE_BYTES) == SUB_LONG)
					this->sp += this->word >> 24 & 0xffff;
				this->next = this->first;
			}
		}
	}
}

/*
 * C runs: the code behind the call takes the process's stack pointer back from where it is kept, by
 * "mov %rbp,%rsp" or "mov 88(%r13),%rsp", whichever comes first; 24 also has "mov 88(%r13),%rsi",
 * and "mov %rsi,%r12" behind it. Modules also make several calls in a row with the second one
 * behind the last; the loop of the scheduler must not be taken for that.
 */
inline void find_kept()
{
	this->next = arg0;
	this->first = arg0 + (this->at ? KEPT_SEARCH : KEPT_SEARCH_SHARED);
	this->back = 0;
	while (this->next < this->first; 96) {
		this->back = HALF[this->next];
		this->next = (this->back & THREE_BYTES) == taken ||
		    (this->back | KEPT_BIT) == KEPT_LOAD ||
		    (this->back & THREE_BYTES) == KEPT_MOVE ? this->first : this->next + 1;
	}
	if ((this->back & THREE_BYTES) == taken)
		this->sp = in_r12 ? uregs[R_R12] : arg1;
	else if (this->at && !strict || (this->back | KEPT_BIT) == KEPT_LOAD ||
	    (this->back & THREE_BYTES) == KEPT_MOVE)
		this->sp = WORD[this->process + P_STOP];
}

/* Where the stack of the process is read from (this->sp), and its end. */
inline void find_stack()
{
	if (this->is_code && this->end) {
		if (arg2 >= this->start && arg2 < this->end) {
			this->sp = arg2;
			if (this->at && !arg3)
				leave_room_out();
		} else {
			find_kept();
		}
	} else if (this->is_dirty && this->end) {
		this->sp = WORD[this->process + P_STOP];
	}
	/*
	 * a collection of garbage sets the stack pointer before the bounds: the stack ends where
	 * the outermost function returns to
	 */
	if (this->sp && this->sp == WORD[this->process + P_STOP] &&
	    this->sp - this->start >= this->end - this->start)
		this->end = this->sp + STACK_MAX;
	else if (this->sp < this->start)
		this->sp = this->end;
	if (this->sp & 7)
		this->sp = this->end;
}

/* Shared code has no frame, and what calls it need not be at an address that is a multiple of 4. */
inline void find_caller_of_shared()
{
	this->word = WORD[this->sp];
	if (IS_SHARED[this->word, this->exit]) {
		this->sp += 8;
		this->word = this->sp < this->end ? WORD[this->sp] : 0;
	}
	if (this->word & PRIMARY_MASK && this->word > this->low && this->word <= this->high &&
	    BYTE[this->word - 5] == CALL) {
		this->at = this->word - 1;
		this->sp += 8;
	}
}

/* The location of the frame: the number of the file in the high byte, the line; or 0. */
inline void find_line()
{
	this->location = 0;
	if (this->table) {
		this->first = WORD[this->table + LINES_ADDRESSES];
		this->lines = WORD[this->table + LINES_ADDRESSES + 8 * this->index];
		this->index =
		    ubsearch(this->lines,
		    (WORD[this->table + LINES_ADDRESSES + 8 * (this->index + 1)] - this->lines) / 8,
		    8, 8, this->at);
		if (this->index >= 0) {
			this->index += (this->lines - this->first) / 8;
			this->location = HALF[this->table + LINES_SIZE] == 2 ?
			    SHORT[WORD[this->table + LINES_LOCATIONS] + 2 * this->index] :
			    HALF[WORD[this->table + LINES_LOCATIONS] + 4 * this->index];
		}
	}
}

/* The file: the module's, or the last part of a list of characters. */
inline void find_file()
{
	this->file = this->location >> LOCATION_FILE ? "" : NAME[WORD[this->mfa]];
	this->word = this->location >> LOCATION_FILE ? WORD[WORD[this->table] +
	    8 * ((uint64_t)(this->location >> LOCATION_FILE) - by_atoms)] : 0;
	if (this->word && by_atoms)
		this->file = basename(NAME[this->word]);
	while ((this->word & PRIMARY_MASK) == LIST_TAG; 255) {
		this->char = WORD[this->word - LIST_TAG] >> SMALL_SHIFT;
		this->word = WORD[this->word - LIST_TAG + 8];
		this->file = this->char == '/' ? "" : strjoin(this->file,
		    this->char < ASCII_FIRST || this->char > ASCII_LAST ? "?" :
		    substr(ASCII, this->char - ASCII_FIRST, 1));
	}
}

inline void make_text()
{
	this->text = strjoin(NAME[WORD[this->mfa]], strjoin(":",
	    strjoin(NAME[WORD[this->mfa + MFA_NAME]],
	    strjoin("/", lltostr(WORD[this->mfa + MFA_ARITY])))));
	if (this->location) {
		find_file();
		this->text = strjoin(this->text, strjoin(" (", strjoin(this->file,
		    strjoin(this->location >> LOCATION_FILE ? ":" : ".erl:",
		    strjoin(lltostr(this->location & LOCATION_LINE), ")")))));
	}
}

/*
 * The frame at this->at: the line is the last one of the function that begins before the address.
 */
inline void show_function()
{
	this->index = ubsearch(this->modules, this->count, RANGE_SIZE, 8, this->at);
	this->module = this->index >= 0 ? WORD[this->modules + RANGE_SIZE * this->index] : 0;
	if (this->module && this->at >= WORD[this->modules + RANGE_SIZE * this->index + RANGE_END])
		this->module = 0;
	this->index = this->module ?
	    ubsearch(this->module + functions, WORD[this->module], 8, 8, this->at) : -1;
	if (this->index >= 0) {
		this->mfa = WORD[this->module + functions + 8 * this->index] + ENTRY_MFA;
		this->table = WORD[this->module + CODE_LINES];
		if (this->is_own || !ucached(this->at, this->mfa ^ WORD[this->mfa + MFA_NAME] << 48,
			WORD[this->mfa] ^ this->table << 16)) {
			find_line();
			make_text();
			if (this->is_own)
				this->own = this->text;
			else
				uframe(this->text);
		}
	}
}

/*
 * The frame of generated code itself, and those behind it. Modules and the functions of a module
 * are sorted; code that all modules use lies before the stub. In another frame than the interrupted
 * one, the address is the one behind the call.
 */
dtrace:helper:ustack:
/this->data/
{
	this->pc = arg3 ? arg0 - 1 : arg0;
	this->index = ubsearch(this->modules, this->count, RANGE_SIZE, 8, this->pc);
	this->is_code = this->index >= 0 &&
	    this->pc < WORD[this->modules + RANGE_SIZE * this->index + RANGE_END];
	this->own = "";
	this->at = this->is_code ? this->pc : 0;
	/* behind the last function of a module are jumps to shared code, which count as that */
	if (this->at && !arg3 && SHORT[this->at] == JUMP) {
		this->next = this->at + 6 + *(int *)(this->at + 2);
		if (IS_SHARED[this->next, this->exit])
			this->at = 0;
	}
	this->is_code |= IS_SHARED[this->pc, this->exit];
	this->is_dirty = arg0 > loop && arg0 <= loop_end;
	this->end = this->process ? WORD[this->process + heap_end] : 0;
	this->start = this->process ? WORD[this->process + heap_start] : 0;
	this->sp = 0ull;
	this->is_own = this->at != 0;
	find_stack();
	if (this->is_code && !this->at && this->sp < this->end)
		find_caller_of_shared();

	while (this->at || this->sp < this->end; 65536) {
		while (!this->at && this->sp < this->end; 1024) {
			this->word = WORD[this->sp];
			this->sp += 8;
			if (!(this->word & PRIMARY_MASK) && this->word >= this->low &&
			    this->word <= this->high)
				this->at = this->word - 1;
		}
		/*
		 * the outermost function returns there: behind it is nothing, whatever the process
		 * says
		 */
		if (this->at + 1 == this->exit) {
			this->at = 0;
			this->sp = this->end;
		}
		if (this->at)
			show_function();
		this->at = 0ull;
		this->is_own = 0;
	}
}

/*
 * What has called the scheduler's loop: its frame has the scheduler's registers, and what it keeps.
 */
dtrace:helper:ustack:
/this->data && this->is_code/
{
	this->sp = WORD[this->data] + loop_at;
	this->end = this->sp + loop_max;
	this->word = 0ull;
	while (this->sp < this->end && !this->word; 64) {
		this->word = WORD[this->sp];
		this->sp += 8;
		if (this->word - start_text >= text_size || BYTE[this->word - 5] != CALL ||
		    TARGET[this->word - 4] != main)
			this->word = 0;
	}
	unwind(this->word, this->word ? this->sp : 0, 0);
	this->own;
}
