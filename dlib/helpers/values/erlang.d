/* SPDX-License-Identifier: MIT */
/*
 * Terms and processes of Erlang/OTP 25 and 27, for debuggers.
 *
 * A word is a term: its low bits say what it is, or where it is and of which kind. A process is the
 * address of its struct. What the struct has of a process that runs is what it had when it was
 * chosen to: its stack pointer is in a register.
 *
 * Facts: erl_term.h, erl_map.h, erl_bits.h (25: erl_binary.h), erl_fun.h, erl_ptab.h, erl_process.h,
 * erl_message.h, erl_proc_sig_queue.h of OTP; erts/etc/unix/etp-commands.
 */
table TERMS { /*		 25    27 */
	uint64_t t_version =	 25,   27;
	/* kinds of boxed terms, by the low bits of their first word */
	uint64_t map_kind =	 60,   44;
	/* of a function that is called by name: where its name is in the entry */
	uint64_t exported =	 56,   64;
	/* of what a reference keeps alive: the numbers of the reference */
	uint64_t r_numbers =	 32,   40;
	/* of a table of processes or ports: the element of a slot that is reserved */
	uint64_t reserved =	248,  272;
	/* of a process: its registration; where it goes on; reductions; links */
	uint64_t p_name	  =	 48,   32;
	uint64_t p_goes_on =	256,  248;
	uint64_t p_leader =	296,  280;
	uint64_t p_reds	  =	280,  272;
	/* the words of its heap, and where the older generation begins */
	uint64_t p_size	  =	152,  216;
	uint64_t p_old	  =	504,  496;
	/* messages: two queues, how many are in both (25), or in each; the one that others add to */
	uint64_t p_inner  =	328,  312;
	uint64_t p_middle =	352,  344;
	uint64_t p_count  =	392,  336;
	uint64_t p_more	  =	  0,  376;
	uint64_t p_outer  =	656,  640;
	/* what it has begun with; who has started it; what it does */
	uint64_t p_initial =	448,  440;
	uint64_t p_parent =	480,  472;
	uint64_t p_state  =	640,  624;
};

uint64_t processes, ports;

dtrace:helper:attach:
{
	if (!TERMS[version])
		udecline("terms of this version of Erlang/OTP are not known (those of 25 and 27 are)");
	processes = symaddr("erts_proc");
	ports = symaddr("erts_port");
	if (!processes || !ports)
		udecline("a symbol is missing");
}

/* of the helper's blocks */
this uint64_t modules;
this uint64_t count;
this uint64_t module;
this uint64_t table;
this uint64_t mfa;
this uint64_t at;
this uint64_t first;
this uint64_t lines;
this uint64_t location;
this uint64_t word;
this int64_t index;
this string text;
this string file;

this uint64_t a;    /* where a term is */
this uint64_t head; /* its first word */
this uint64_t kind;
this uint64_t i;
this uint64_t n;
this uint64_t is_text;
this uint64_t data; /* of a binary: its bytes, the first bit in them, how many bits */
this uint64_t start;
this uint64_t bits;
this uint64_t c;
this uint64_t keys;
this uint64_t child;
this uint64_t p;
this uint64_t q;
this uint64_t state;
this uint64_t sp;
this uint64_t end;
this uint64_t shown;

inline uint64_t KIND_MASK = 63;
inline uint64_t PID = 3; /* of immediate terms, in the low 4 bits */
inline uint64_t PORT = 7;
inline uint64_t SMALL = 15;
inline uint64_t NIL = 59;
inline uint64_t CATCH = 27; /* in the low 6 bits */
inline uint64_t BOXED = 2; /* in the low 2 bits */
/* of boxed terms */
inline uint64_t TUPLE = 0;
inline uint64_t MATCH = 4; /* 25: a place in a binary */
inline uint64_t BIG = 8;
inline uint64_t NEGATIVE = 12;
inline uint64_t REFERENCE = 16;
inline uint64_t FUN = 20;
inline uint64_t FLOAT = 24;
inline uint64_t BINARY_FAR = 32;  /* 25: bytes are elsewhere; 27: in the term */
inline uint64_t BINARY_NEAR = 36; /* 25: in the term; 27: elsewhere */
inline uint64_t BINARY_PART = 40; /* 25 */
inline uint64_t OTHER_PID = 48;
inline uint64_t OTHER_PORT = 52;
inline uint64_t OTHER_REFERENCE = 56;
inline uint64_t ARITY_SHIFT = 6;
/* of a map, in its first word: 0 keys and values in a row, 1 inside of a tree, 2 and 3 its top */
inline uint64_t MAP_FORM[uint64_t head] = head >> ARITY_SHIFT & 3;
inline uint64_t MAP_BITS[uint64_t head] = head >> 16 & 0xffff;
inline uint64_t POINTER[uint64_t t] = t & ~7ull;
inline uint64_t HEAD[uint64_t t] = WORD[t - LIST_TAG];
inline uint64_t TAIL[uint64_t t] = WORD[t - LIST_TAG + 8];
/* the letters of io_lib:printable_list() */
inline int PRINTABLE[uint64_t c] = c >= 32 && c <= 126 || c >= 160 && c <= 255 ||
    c >= 8 && c <= 13 || c == 27;

/* Sets this->kind to that of a boxed term. */
inline void find_boxed(uint64_t t)
{
	this->a = POINTER[t];
	this->head = (t & PRIMARY_MASK) == BOXED && IS_POINTER[this->a] ? WORD[this->a] : 1;
	this->kind = this->head & KIND_MASK;
	if (this->head & PRIMARY_MASK)
		this->kind = 1;
}

/* Numbers of processes and ports are mixed: neighbours are not in the same line of memory. */
inline uint64_t UNMIXED[uint64_t d, uint64_t of] =
    (d >> (HALF[of + 240] & 31) & WORD[of + 224]) |
    (d & WORD[of + 232]) << (HALF[of + 244] & 31) | (d & ~WORD[of + 216]);
inline string PID_TEXT[uint64_t t] = version == 25 ?
    strjoin("<0.", strjoin(lltostr(t >> 4 & 0x7fff), strjoin(".",
    strjoin(lltostr(t >> 19 & 0x1fff), ">")))) :
    strjoin("<0.", strjoin(lltostr(UNMIXED[t >> 4, processes] & 0xfffffff), strjoin(".",
    strjoin(lltostr(UNMIXED[t >> 4, processes] >> 28), ">"))));
inline string PORT_TEXT[uint64_t t] = strjoin("#Port<0.", strjoin(lltostr(version == 25 ?
    t >> 4 & 0xfffffff : UNMIXED[t >> 4, ports]), ">"));

inline void say_atom(uint64_t t)
{
	uliteral("'");
	utext(WORD[ATOM[t] + ATOM_NAME], SHORT[ATOM[t] + ATOM_LENGTH], 0);
}

/* A list of letters is a string. Of another one, the items, and its tail if that is no list. */
inline void say_list()
{
	this->q = arg0;
	this->i = 0;
	this->is_text = 1;
	while ((this->q & PRIMARY_MASK) == LIST_TAG && this->is_text; 65536) {
		this->c = HEAD[this->q];
		this->is_text = (this->c & 15) == SMALL && PRINTABLE[this->c >> SMALL_SHIFT];
		this->q = TAIL[this->q];
	}
	this->is_text = this->is_text && this->q == NIL;
	this->q = arg0;
	if (!this->is_text)
		uopen("[]", "", "");
	while ((this->q & PRIMARY_MASK) == LIST_TAG && (this->is_text || this->i < arg1); 65536) {
		if (this->is_text)
			ucharacter(HEAD[this->q] >> SMALL_SHIFT);
		else
			umember(HEAD[this->q]);
		this->q = TAIL[this->q];
		this->i++;
	}
	this->n = 0;
	while ((this->q & PRIMARY_MASK) == LIST_TAG; 65536) {
		this->q = TAIL[this->q];
		this->n++;
	}
	if (this->n)
		umore(this->n);
	else if (!this->is_text && this->q != NIL)
		uitem("|", this->q);
}

inline void say_tuple()
{
	this->n = this->head >> ARITY_SHIFT;
	uopen("{}", "", "");
	this->i = 0;
	while (this->i < this->n && this->i < arg1; 65536) {
		this->i++;
		umember(WORD[this->a + 8 * this->i]);
	}
	if (this->n > this->i)
		umore(this->n - this->i);
}

/* What a tree of a map has at a place: a key and its value, a smaller tree, or keys of one hash. */
inline void say_child(uint64_t t)
{
	this->child = t;
	if ((this->child & PRIMARY_MASK) == LIST_TAG)
		uentry(HEAD[this->child], TAIL[this->child]);
	else if (WORD[POINTER[this->child]] & KIND_MASK)
		uspread(this->child);
	else {
		this->keys = POINTER[this->child];
		this->c = WORD[this->keys] >> ARITY_SHIFT;
		while (this->c; 1024) {
			this->child = WORD[this->keys + 8 * this->c];
			if ((this->child & PRIMARY_MASK) == LIST_TAG)
				uentry(HEAD[this->child], TAIL[this->child]);
			this->c--;
		}
	}
}

inline void say_map()
{
	this->i = 0;
	if (MAP_FORM[this->head] != 1) {
		uopen("{}", "#", " => ");
		this->n = WORD[this->a + 8];
	}
	if (MAP_FORM[this->head] == 0) {
		this->keys = POINTER[WORD[this->a + 16]];
		while (this->i < this->n && this->i < arg1; 1024) {
			this->i++;
			uentry(WORD[this->keys + 8 * this->i], WORD[this->a + 16 + 8 * this->i]);
		}
		if (this->n > this->i)
			umore(this->n - this->i);
	} else {
		this->data = this->a + (MAP_FORM[this->head] == 1 ? 8 : 16);
		this->start = 0;
		while (this->start < 16; 16) {
			if (MAP_BITS[this->head] >> this->start & 1) {
				say_child(WORD[this->data + 8 * this->i]);
				this->i++;
			}
			this->start++;
		}
		if (MAP_FORM[this->head] != 1 && this->n > arg1)
			umore(this->n - arg1);
	}
}

/* Where the bits of a binary are. */
inline void find_bits()
{
	this->start = 0;
	if (version == 25 && this->kind == BINARY_PART) {
		this->bits = 8 * WORD[this->a + 8] + BYTE[this->a + 24];
		this->start = 8 * WORD[this->a + 16] + BYTE[this->a + 25];
		this->data = POINTER[WORD[this->a + 32]];
		this->data = (WORD[this->data] & KIND_MASK) == BINARY_FAR ? WORD[this->data + 32] :
		    this->data + 16;
	} else if (version == 25) {
		this->bits = 8 * WORD[this->a + 8];
		this->data = this->kind == BINARY_FAR ? WORD[this->a + 32] : this->a + 16;
	} else if (this->kind == BINARY_FAR) {
		this->bits = WORD[this->a + 8];
		this->data = this->a + 16;
	} else {
		this->start = WORD[this->a + 16];
		this->bits = WORD[this->a + 24] - this->start;
		this->data = WORD[this->a + 8] & ~3ull;
	}
	this->data += this->start >> 3;
	this->start &= 7;
}

/* The byte of that index, of a binary that may begin inside of one. */
inline uint64_t BIN_BYTE[uint64_t i] = this->start ?
    (BYTE[this->data + i] << this->start |
	(8 * i + 8 - this->start < this->bits ? BYTE[this->data + i + 1] >> (8 - this->start) : 0)) & 255 :
    BYTE[this->data + i];

inline void say_binary()
{
	find_bits();
	this->n = this->bits >> 3;
	this->is_text = this->n && !(this->bits & 7);
	this->i = 0;
	while (this->is_text && this->i < this->n && this->i < 4096; 4096) {
		this->is_text = PRINTABLE[BIN_BYTE[this->i]];
		this->i++;
	}
	this->i = 0;
	if (this->is_text) {
		uliteral("<<");
		if (!this->start)
			utext(this->data, this->n, 1);
		while (this->start && this->i < this->n && this->i < 4096; 4096) {
			ucharacter(BIN_BYTE[this->i]);
			this->i++;
		}
		uliteral(">>");
	} else {
		uopen("<>", "", "");
		while (this->i < this->n && this->i < arg1; 65536) {
			uelement(this->i);
			unumber(BIN_BYTE[this->i]);
			this->i++;
		}
		if (this->n > this->i)
			umore(this->n - this->i);
		else if (this->bits & 7) {
			uelement(this->i);
			unumber(BIN_BYTE[this->i] >> (8 - (this->bits & 7)));
			uliteral(":");
			unumber(this->bits & 7);
		}
	}
}

/* The numbers of a reference are in it, or in what it keeps alive. */
inline void say_reference()
{
	this->data = HALF[this->a + 8] == 0xffffffff ? this->a + 12 : WORD[this->a + 8] + r_numbers;
	uliteral("#Ref<0.");
	unumber(HALF[this->data + 8]);
	uliteral(".");
	unumber(HALF[this->data + 4]);
	uliteral(".");
	unumber(HALF[this->data]);
	uliteral(">");
}

inline int IS_EXTERNAL[uint64_t a, uint64_t head] = version == 25 ?
    (WORD[a + 32] & ATOM_MASK) == ATOM_TAG : !(head >> 16);

inline void say_fun()
{
	this->data = WORD[this->a + 8];
	if (IS_EXTERNAL[this->a, this->head]) {
		uliteral("fun ");
		uliteral(NAME[WORD[this->data + exported]]);
		uliteral(":");
		uliteral(NAME[WORD[this->data + exported + 8]]);
		uliteral("/");
		unumber(WORD[this->data + exported + 16]);
	} else {
		uliteral("#Fun<");
		uliteral(NAME[WORD[this->data + 32]]);
		uliteral(".");
		unumber(HALF[this->data + 72]);
		uliteral(".");
		unumber(HALF[this->data + 68]);
		uliteral(">");
	}
}

inline void say_boxed()
{
	if (this->kind == TUPLE)
		say_tuple();
	else if (this->kind == map_kind)
		say_map();
	else if (this->kind == BIG || this->kind == NEGATIVE)
		ubig(this->kind == NEGATIVE, this->a + 8, this->head >> ARITY_SHIFT, 64);
	else if (this->kind == FLOAT)
		udouble(WORD[this->a + 8], 4);
	else if (this->kind == FUN)
		say_fun();
	else if (this->kind == REFERENCE)
		say_reference();
	else if (this->kind == BINARY_FAR || this->kind == BINARY_NEAR ||
	    version == 25 && this->kind == BINARY_PART)
		say_binary();
	else if (this->kind == OTHER_PID)
		uliteral("#Pid<of another node>");
	else if (this->kind == OTHER_PORT)
		uliteral("#Port<of another node>");
	else if (this->kind == OTHER_REFERENCE)
		uliteral("#Ref<of another node>");
	else if (this->kind == MATCH)
		uliteral("#MatchState<>");
}

dtrace:helper:value:
/(arg0 & PRIMARY_MASK) == 3/
{
	if ((arg0 & 15) == SMALL)
		unumber((int64_t)arg0 >> SMALL_SHIFT);
	else if ((arg0 & 15) == PID)
		uliteral(PID_TEXT[arg0]);
	else if ((arg0 & 15) == PORT)
		uliteral(PORT_TEXT[arg0]);
	else if ((arg0 & ATOM_MASK) == ATOM_TAG)
		say_atom(arg0);
	else if (arg0 == NIL)
		uliteral("[]");
	else if ((arg0 & KIND_MASK) == CATCH)
		uliteral("catch");
}

dtrace:helper:value:
/(arg0 & PRIMARY_MASK) == LIST_TAG && IS_POINTER[POINTER[arg0]]/
{
	say_list();
}

dtrace:helper:value:
/(arg0 & PRIMARY_MASK) == BOXED/
{
	find_boxed(arg0);
	say_boxed();
}

dtrace:helper:type:
/(arg0 & PRIMARY_MASK) == 3/
{
	this->n = (arg0 & ATOM_MASK) == ATOM_TAG ? WORD[ATOM[arg0] + ATOM_NAME] : 0;
	if ((arg0 & 15) == SMALL)
		uliteral("integer (small)");
	else if ((arg0 & 15) == PID)
		uliteral("pid");
	else if ((arg0 & 15) == PORT)
		uliteral("port");
	else if (this->n)
		uliteral("atom");
	else if (arg0 == NIL)
		uliteral("list (empty)");
	else if ((arg0 & KIND_MASK) == CATCH)
		uliteral("catch");
}

/* Neither the head nor the tail of a list is anything but a term. */
dtrace:helper:type:
/(arg0 & PRIMARY_MASK) == LIST_TAG && IS_POINTER[POINTER[arg0]]/
{
	if ((HEAD[arg0] & PRIMARY_MASK) && (TAIL[arg0] & PRIMARY_MASK))
		uliteral("list");
}

dtrace:helper:type:
/(arg0 & PRIMARY_MASK) == BOXED/
{
	find_boxed(arg0);
	if (this->kind == TUPLE)
		uliteral("tuple");
	else if (this->kind == map_kind)
		uliteral(MAP_FORM[this->head] == 0 ? "map (flat)" : MAP_FORM[this->head] == 1 ?
		    "map (a part of one)" : "map (hash)");
	else if (this->kind == BIG || this->kind == NEGATIVE)
		uliteral("integer (big)");
	else if (this->kind == FLOAT)
		uliteral("float");
	else if (this->kind == FUN)
		uliteral(IS_EXTERNAL[this->a, this->head] ? "fun (external)" : "fun");
	else if (this->kind == REFERENCE || this->kind == OTHER_REFERENCE)
		uliteral("reference");
	else if (this->kind == (version == 25 ? BINARY_NEAR : BINARY_FAR))
		uliteral("binary (heap)");
	else if (this->kind == BINARY_FAR)
		uliteral("binary (reference counted)");
	else if (this->kind == (version == 25 ? BINARY_PART : BINARY_NEAR))
		uliteral("binary (part of another)");
	else if (this->kind == OTHER_PID)
		uliteral("pid (of another node)");
	else if (this->kind == OTHER_PORT)
		uliteral("port (of another node)");
	else if (this->kind == MATCH && version == 25)
		uliteral("match state");
}

/* Sets this->text to the function of an address, "" if there is none. */
inline void find_function(uint64_t address)
{
	this->at = address;
	this->text = "";
	this->table = ranges + RANGES_SIZE * (HALF[active] & RANGES_MASK);
	this->modules = WORD[this->table];
	this->count = WORD[this->table + RANGES_COUNT];
	this->index = ubsearch(this->modules, this->count, RANGE_SIZE, 8, this->at);
	this->module = this->index >= 0 ? WORD[this->modules + RANGE_SIZE * this->index] : 0;
	if (this->module && this->at >= WORD[this->modules + RANGE_SIZE * this->index + RANGE_END])
		this->module = 0;
	this->index = this->module ?
	    ubsearch(this->module + functions, WORD[this->module], 8, 8, this->at) : -1;
	if (this->index >= 0) {
		this->mfa = WORD[this->module + functions + 8 * this->index] + ENTRY_MFA;
		this->table = WORD[this->module + CODE_LINES];
		find_line();
		make_text();
	}
}

/* What a process has called; a function in C has no code of Erlang. */
inline void find_current()
{
	find_function(WORD[this->p + p_goes_on]);
	this->mfa = WORD[this->p + called];
	if (this->text == "" && IS_POINTER[this->mfa]) {
		this->location = 0;
		make_text();
	}
}

inline int IS_RUNNING[uint64_t state] = (state & 0x60208000) != 0;

dtrace:helper:tasks:
{
	uarray(WORD[processes + 192], HALF[processes + 208], 8, 7);
}

/* The bits of the state: erl_process.h, ERTS_PSFLG_. */
dtrace:helper:task:
/arg0 != WORD[processes + reserved] && (WORD[arg0] & 15) == PID/
{
	this->p = arg0;
	this->state = HALF[this->p + p_state];
	this->q = WORD[this->p + p_name];
	uitem("pid");
	uliteral(PID_TEXT[WORD[this->p]]);
	if (this->q)
		uitem("name", WORD[this->q + 32]);
	else {
		uitem("name");
		uliteral("-");
	}
	uitem("messages");
	unumber(WORD[this->p + p_count] + (p_more ? WORD[this->p + p_more] : 0) +
	    WORD[this->p + p_outer + 16]);
	uitem("heap");
	this->n = WORD[this->p + p_old + 16];
	unumber(WORD[this->p + p_size] + (this->n ? (WORD[this->p + p_old] - this->n) / 8 : 0));
	uitem("stack");
	unumber((WORD[this->p + heap_end] - WORD[this->p + P_STOP]) / 8);
	uitem("reductions");
	unumber(WORD[this->p + p_reds]);
	uitem("state");
	uliteral(this->state & 0x400 ? "free" : this->state & 0x800 ? "exiting" :
	    this->state & 0x20000 ? "garbage_collecting" : this->state & 0x10000 ? "suspended" :
	    IS_RUNNING[this->state] ? "running" : this->state & 0x142000 ? "runnable" : "waiting");
	find_current();
	uitem("function");
	uliteral(this->text == "" ? "-" : this->text);
}

/* The messages of a queue; what is no message is between them. */
inline void say_messages(uint64_t first)
{
	this->q = first;
	while (this->q && this->shown < 1000; 4096) {
		this->word = WORD[this->q + 16];
		if ((this->word & 0x33) != 0x30) {
			if (this->word)
				uitem("message", this->word);
			else {
				uitem("message");
				uliteral("<of another node>");
			}
			this->shown++;
		}
		this->q = WORD[this->q];
	}
}

dtrace:helper:task:
/arg1 && (WORD[arg0] & 15) == PID/
{
	this->p = arg0;
	this->mfa = this->p + p_initial;
	this->location = 0;
	make_text();
	uitem("began with");
	uliteral(this->text);
	uitem("parent", WORD[this->p + p_parent]);
	uitem("group leader", WORD[this->p + p_leader]);
	this->shown = 0;
	say_messages(WORD[this->p + p_inner]);
	say_messages(WORD[this->p + p_middle]);
	say_messages(WORD[this->p + p_outer]);
}

/* From the function that a process is in to that which it has begun with. */
dtrace:helper:backtrace:
{
	this->p = arg0;
	this->state = HALF[this->p + p_state];
	this->sp = WORD[this->p + P_STOP];
	this->end = WORD[this->p + heap_end];
	find_current();
	uitem(IS_RUNNING[this->state] ? "running: ::lstack -a has its stack" :
	    this->text == "" ? "?" : this->text);
	if (IS_RUNNING[this->state])
		this->sp = this->end;
	this->i = 0;
	while (this->sp < this->end; 65536) {
		this->word = WORD[this->sp];
		this->sp += 8;
		if (this->word & PRIMARY_MASK) {
			uelement(this->i, this->word);
			this->i++;
		} else {
			this->i = 0;
			this->c = this->word;
			find_function(this->c - 1);
			uitem(this->c == WORD[stub] ? "<terminate process normally>" :
			    this->text == "" ? "?" : this->text);
		}
	}
}
