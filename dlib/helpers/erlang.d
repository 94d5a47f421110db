/* SPDX-License-Identifier: MIT */
/*
 * Erlang/OTP 24, 25 and 27 with the JIT: frames of Erlang functions, as "lists:map/2
 * (lists.erl:1559)" in place of the address of the generated code.
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

uint64_t key;	      /* address of the key of the thread-specific scheduler data */
uint64_t specific;    /* where struct pthread has the values, from the thread's own address */
uint64_t current;     /* offset of the process in the scheduler data */
uint64_t ranges, active; /* three tables of modules, the number of the one in use */
uint64_t atoms;	      /* the table of segments of atoms */
uint64_t stub;	      /* the end of a process's stack; shared code lies before it */
uint64_t heap_start, heap_end, called, functions; /* offsets in process and module */
uint64_t in_r12;	 /* 24: while C runs, the process's stack pointer is in r12 */
uint64_t taken;		 /* the instruction that takes it from the register */
uint64_t by_atoms;	 /* 24: names of files are atoms */
uint64_t loop, loop_end; /* erts_dirty_process_main() */
uint64_t nif, nif_end;	 /* beam_jit_call_nif() */
uint64_t main;		 /* process_main() */
uint64_t start_text, text_size;

/* the text of an atom */
inline uint64_t ATOM[uint64_t t] = WORD[WORD[WORD[atoms] + 8 * (t >> 16)] + 8 * (t >> 6 & 1023)];
inline string NAME[uint64_t t] = (t & 63) == 11 ?
    ustr(WORD[ATOM[t] + 32], *(uint16_t *)(ATOM[t] + 24)) : "?";
inline string ASCII =
    " !\"#$%&'()*+,-./0123456789:;<=>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_`abcdefghijklmnopqrstuvwxyz{|}~";
/* in attach clauses: what the operand of an instruction with an address behind n bytes points to */
inline uint64_t OPERAND[uint64_t a, int n, int all] = a + all + *(int *)(a + n);

dtrace:helper:attach:
{
	this->release = symaddr("etp_otp_release");
	if (!this->release)
		udecline("this Erlang has no symbols");
	this->version = (*(uint8_t *)this->release - '0') * 10 + *(uint8_t *)(this->release + 1) -
	    '0';
	if (this->version != 24 && this->version != 25 && this->version != 27)
		udecline("this version of Erlang/OTP is not known (24, 25 and 27 are)");
	main = symaddr("process_main");
	this->init = symaddr("erts_init_ranges");
	this->data = symaddr("erts_get_scheduler_data");
	this->print = symaddr("erts_print_scheduler_info");
	if (this->version == 24) {
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
	atoms = symaddr("erts_atom_table") + 120;
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
	ranges = OPERAND[this->init, 3, 11] + 8;
	key = OPERAND[this->data, 2, 6];
	current = *(uint32_t *)(this->print + 2) - 8;
	start_text = secaddr(".text");
	text_size = secsize(".text");
	functions = this->version == 24 ? 88 : this->version == 25 ? 96 : 136;
	heap_start = this->version == 24 ? 120 : this->version == 25 ? 128 : 192;
	heap_end = heap_start + 8;
	called = this->version == 25 ? 472 : 464;
	in_r12 = this->version == 24;
	by_atoms = in_r12;
	taken = in_r12 ? 0xe4894c : 0xec8948; /* mov %r12,%rsp; mov %rbp,%rsp */
}

dtrace:helper:uthread:
{
	this->number = HALF[key];
	this->data = SPECIFIC[specific, this->number];
	this->process = this->data ? WORD[this->data + current] : 0;
	this->exit = this->data ? WORD[stub] : 0;
	this->table = ranges + 32 * (HALF[active] & 3);
	this->modules = WORD[this->table];
	this->count = WORD[this->table + 8];
	this->low = this->count ? WORD[this->modules] : 0;
	this->low = this->low < this->exit ? this->low : this->exit;
	this->high = this->count ? WORD[this->modules + 16 * this->count - 8] : 0;
}

/* A function in C that Erlang has called by name. */
dtrace:helper:ustack:
/this->process && (arg0 > nif && arg0 <= nif_end || arg0 > loop && arg0 <= loop_end)/
{
	this->mfa = WORD[this->process + called];
	if (this->mfa && (WORD[this->mfa] & 63) == 11)
		uframe("@", NAME[WORD[this->mfa]], ":", NAME[WORD[this->mfa + 8]], "/",
		    WORD[this->mfa + 16]);
}

/*
 * In the interrupted function, "sub $n,%rsp" may just have made room, which still has what was
 * there before; unless "add $n,%rsp" has left it again: the last one of both counts. Terms that
 * have been stored in the room since are no return addresses, so it can be left out.
 */
inline void leave_room_out()
{
	this->module = WORD[this->modules + 16 * this->index];
	this->back = ubsearch(this->module + functions, WORD[this->module], 8, 8, this->at);
	this->first = this->back >= 0 ? WORD[this->module + functions + 8 * this->back] : this->at;
	this->first = this->first < this->at - 192 ? this->at - 192 : this->first;
	this->next = this->at;
	while (this->next > this->first; 33) {
		this->next -= 6;
		this->word = WORD[this->next];
		this->back = (this->word >> 40 & 0xd7fdff) == 0xc48148 ? 5 :
		    (this->word >> 32 & 0xd7fdff) == 0xc48148 ? 4 :
		    (this->word >> 24 & 0xd7fdff) == 0xc48148 ? 3 :
		    (this->word >> 16 & 0xd7fdff) == 0xc48148 ? 2 :
		    (this->word >> 8 & 0xd7fdff) == 0xc48148 ? 1 :
		    (this->word & 0xd7fdff) == 0xc48148 ? 0 : 6;
		if (this->back < 6) {
			this->next += this->back;
			if (this->next >= this->first && this->next < this->at) {
				this->word = WORD[this->next];
				if ((this->word & 0xffffff) == 0xec8348)
					this->sp += this->word >> 24 & 255;
				else if ((this->word & 0xffffff) == 0xec8148)
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
	this->first = arg0 + (this->at ? 96 : 40);
	this->back = 0;
	while (this->next < this->first; 96) {
		this->back = HALF[this->next];
		this->next = (this->back & 0xffffff) == taken ||
		    (this->back | 0x100000) == 0x58758b49 ||
		    (this->back & 0xffffff) == 0xf48949 ? this->first : this->next + 1;
	}
	if ((this->back & 0xffffff) == taken)
		this->sp = in_r12 ? uregs[R_R12] : arg1;
	else if (this->at || (this->back | 0x100000) == 0x58758b49 ||
	    (this->back & 0xffffff) == 0xf48949)
		this->sp = WORD[this->process + 88];
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
		this->sp = WORD[this->process + 88];
	}
	/*
	 * a collection of garbage sets the stack pointer before the bounds: the stack ends where
	 * the outermost function returns to
	 */
	if (this->sp && this->sp == WORD[this->process + 88] &&
	    this->sp - this->start >= this->end - this->start)
		this->end = this->sp + 0x100000;
	else if (this->sp < this->start)
		this->sp = this->end;
	if (this->sp & 7)
		this->sp = this->end;
}

/* Shared code has no frame, and what calls it need not be at an address that is a multiple of 4. */
inline void find_caller_of_shared()
{
	this->word = WORD[this->sp];
	if (this->word <= this->exit && this->word > this->exit - 0x8000) {
		this->sp += 8;
		this->word = this->sp < this->end ? WORD[this->sp] : 0;
	}
	if (this->word & 3 && this->word > this->low && this->word <= this->high &&
	    *(uint8_t *)(this->word - 5) == 0xe8) {
		this->at = this->word - 1;
		this->sp += 8;
	}
}

/* The place of the frame: the number of the file in the high byte, the line; or 0. */
inline void find_line()
{
	this->place = 0;
	if (this->table) {
		this->first = WORD[this->table + 24];
		this->lines = WORD[this->table + 24 + 8 * this->index];
		this->index =
		    ubsearch(this->lines,
		    (WORD[this->table + 32 + 8 * this->index] - this->lines) / 8,
		    8, 8, this->at);
		if (this->index >= 0) {
			this->index += (this->lines - this->first) / 8;
			this->place = HALF[this->table + 8] == 2 ?
			    *(uint16_t *)(WORD[this->table + 16] + 2 * this->index) :
			    HALF[WORD[this->table + 16] + 4 * this->index];
		}
	}
}

/* The file: the module's, or the last part of a list of characters. */
inline void find_file()
{
	this->file = this->place >> 24 ? "" : NAME[WORD[this->mfa]];
	this->word = this->place >> 24 ? WORD[WORD[this->table] +
	    8 * ((uint64_t)(this->place >> 24) - by_atoms)] : 0;
	if (this->word && by_atoms)
		this->file = basename(NAME[this->word]);
	while ((this->word & 3) == 1; 255) {
		this->char = WORD[this->word - 1] >> 4;
		this->word = WORD[this->word + 7];
		this->file = this->char == '/' ? "" : strjoin(this->file,
		    this->char < 32 || this->char > 126 ? "?" :
		    substr(ASCII, this->char - 32, 1));
	}
}

inline void make_text()
{
	this->text = strjoin(NAME[WORD[this->mfa]], strjoin(":", strjoin(NAME[WORD[this->mfa + 8]],
	    strjoin("/", lltostr(WORD[this->mfa + 16])))));
	if (this->place) {
		find_file();
		this->text = strjoin(this->text, strjoin(" (", strjoin(this->file,
		    strjoin(this->place >> 24 ? ":" : ".erl:",
		    strjoin(lltostr(this->place & 0xffffff), ")")))));
	}
}

/*
 * The frame at this->at: the line is the last one of the function that begins before the address.
 */
inline void show_function()
{
	this->index = ubsearch(this->modules, this->count, 16, 8, this->at);
	this->module = this->index >= 0 ? WORD[this->modules + 16 * this->index] : 0;
	if (this->module && this->at >= WORD[this->modules + 16 * this->index + 8])
		this->module = 0;
	this->index = this->module ?
	    ubsearch(this->module + functions, WORD[this->module], 8, 8, this->at) : -1;
	if (this->index >= 0) {
		this->mfa = WORD[this->module + functions + 8 * this->index] + 16;
		this->table = WORD[this->module + 72];
		if (this->is_own || !ucached(this->at, this->mfa ^ WORD[this->mfa + 8] << 48,
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
	this->index = ubsearch(this->modules, this->count, 16, 8, this->pc);
	this->is_code = this->index >= 0 && this->pc < WORD[this->modules + 16 * this->index + 8];
	this->own = "";
	this->at = this->is_code ? this->pc : 0;
	/* behind the last function of a module are jumps to shared code, which count as that */
	if (this->at && !arg3 && (HALF[this->at] & 0xffff) == 0xe940) {
		this->next = this->at + 6 + *(int *)(this->at + 2);
		if (this->next <= this->exit && this->next > this->exit - 0x8000)
			this->at = 0;
	}
	this->is_code |= this->pc <= this->exit && this->pc > this->exit - 0x8000;
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
			if (!(this->word & 3) && this->word >= this->low &&
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
 * What has called the scheduler's loop: its frame is as large as what it keeps for the scheduler.
 */
dtrace:helper:ustack:
/this->data && this->is_code/
{
	this->sp = WORD[this->data] + 0x40e8;
	this->end = this->sp + 104;
	this->word = 0ull;
	while (this->sp < this->end && !this->word; 16) {
		this->word = WORD[this->sp];
		this->sp += 8;
		if (this->word - start_text >= text_size || *(uint8_t *)(this->word - 5) != 0xe8 ||
		    this->word + *(int *)(this->word - 4) != main)
			this->word = 0;
	}
	unwind(this->word, this->word ? this->sp : 0, 0);
	this->own;
}
