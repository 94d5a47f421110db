/* SPDX-License-Identifier: MIT */
/*
 * Values of Lua 5.1 to 5.4, for debuggers: values of all types, variables of functions, what they
 * have captured, and the list of all objects that the collector has.
 *
 * A word is the address of a string, a table, a function, a userdata or a thread. Its low bits say
 * what it is otherwise: the address of a value (TValue), as of a number; the address of an entry of
 * a table, for its key; an index; a function, for the variables that it has captured; a thread, for
 * what is in its stack; the name of a kind of values.
 *
 * Nothing leads to the state of Lua but the stacks of its threads: the heap is found by them.
 *
 * Offsets: lobject.h, lstate.h of Lua.
 */
table VALUES { /*             5.1  5.2  5.3  5.4.0 5.4.3 */
	uint64_t v_version =   51,  52,  53,  540,  543;
	/* of a table: its array and the size of that, its entries, its metatable */
	uint64_t t_array   =   24,  16,  16,   16,   16;
	uint64_t t_size	   =   56,  12,  12,   12,   12;
	uint64_t t_entries =   32,  24,  24,   24,   24;
	uint64_t t_meta	   =   16,  40,  40,   40,   40;
	/* an entry: its size, the type of the key */
	uint64_t e_size	   =   40,  40,  32,   24,   24;
	uint64_t e_tag	   =   24,  24,  24,    9,    9;
	/* of a userdata: its metatable, its size */
	uint64_t u_meta	   =   16,  16,  16,   24,   24;
	uint64_t u_size	   =   32,  32,  24,   16,   16;
	/* of a function: how many variables it has captured, its prototype; they follow this */
	uint64_t f_count   =   11,  10,  10,   10,   10;
	uint64_t f_proto   =   32,  24,  24,   24,   24;
	/* of a captured variable: the address of its value */
	uint64_t v_at	   =   16,  16,	  0,   16,   16;
	/* of a thread: what all threads share; its stack; in the first: lists of objects */
	uint64_t s_shared  =   32,  24,  24,   24,   24;
	uint64_t s_stack   =   64,  56,  56,   48,   48;
	uint64_t g_objects =   40,  96,  88,  112,  112;
	uint64_t g_finals  =    0, 104, 104,  128,  128;
	/* of a call: where its variables begin; 0: behind the slot of its function */
	uint64_t c_base	   =    0,  48,  32,    0,    0;
};

/* what all threads share, and the first of them; 0: no stack was walked yet */
uint64_t global_state, first_thread;

dtrace:helper:attach:
{
	if (!VALUES[version])
		udecline("values of this version of Lua are not known (those of 5.1 to 5.4 are)");
}

/* of the helper's blocks, as is this->self, a call, whose name cannot be declared */
this uint64_t state;
this uint64_t own;
this uint64_t proto;
this uint64_t at;

this uint64_t o; /* the value without its tag */
this uint64_t k; /* its kind */
this int is_value;
this uint64_t z;    /* a value in memory (TValue) */
this uint64_t item; /* its word; 0: it is nil */
this uint64_t key;
this uint64_t array;
this uint64_t n;
this uint64_t i;
this uint64_t entry;
this uint64_t entries;
this uint64_t shown;
this uint64_t meta;
this uint64_t label; /* a string that names a class; 0: none */
this uint64_t full; /* the array has no nil */
this string str;

inline uint64_t NIL = 0;
inline uint64_t BOOLEAN = 1;
inline uint64_t LIGHT = 2;
inline uint64_t NUMBER = 3;
inline uint64_t STRING = 4;
inline uint64_t TABLE = 5;
inline uint64_t FUNCTION = 6;
inline uint64_t USERDATA = 7;
inline uint64_t THREAD = 8;
inline uint64_t LONG_STRING = 0x14;
inline uint64_t LIGHT_FUNCTION = 0x16;
/* tags of words */
inline uint64_t VALUE_AT = 1;
inline uint64_t KEY_OF = 2;
inline uint64_t INDEX = 4;
inline uint64_t CAPTURED = 5;
inline uint64_t KIND_NAME = 6;
inline uint64_t STACK = 7;

inline uint64_t KIND[uint64_t o] = IS_POINTER[o] ? BYTE[o + 8] & 15 : 0;
inline uint64_t LENGTH[uint64_t s] = BYTE[s + 8] == LONG_STRING || minor <= 2 ? WORD[s + 16] :
    (uint64_t)BYTE[s + 11];
inline int IS_OBJECT[uint64_t tag] = (tag & 15) >= STRING && (tag & 15) <= THREAD &&
    (tag & 63) != LIGHT_FUNCTION;
inline int IS_STRING[uint64_t s] = KIND[s] == STRING && !(LENGTH[s] >> 32) &&
    !BYTE[s + 24 + LENGTH[s]];
inline uint64_t ENTRY_COUNT[uint64_t t] = 1ull << (BYTE[t + 11] & 31);
/* all entries of a table are there, also the last one */
inline int IS_TABLE_AT[uint64_t t] = KIND[t] == TABLE && BYTE[t + 11] < 32 &&
    IS_POINTER[WORD[t + t_entries]] &&
    BYTE[WORD[t + t_entries] + e_size * (ENTRY_COUNT[t] - 1) + 8] < 128;
inline int IS_C[uint64_t f] = minor == 1 ? BYTE[f + 10] : BYTE[f + 8] != FUNCTION;

/* The word of a value in memory, in this->item. */
inline void get_word(uint64_t z)
{
	this->z = z;
	this->item = IS_OBJECT[BYTE[z + 8]] ? WORD[z] : BYTE[z + 8] & 15 ? z | VALUE_AT : 0;
}

/* The word of the key of the entry this->entry, in this->key; 0: it was removed. */
inline void get_key()
{
	this->key = BYTE[this->entry + e_tag];
	this->key = IS_OBJECT[this->key] ? WORD[this->entry + 16] :
	    (this->key & 15) && (this->key & 15) < STRING || (this->key & 63) == LIGHT_FUNCTION ?
	    this->entry | KEY_OF : 0;
}

/* Sets this->o, this->k and this->is_value of a word. */
inline void find_value(uint64_t word)
{
	this->is_value = 0;
	this->o = word;
	this->k = 0;
	if ((word & 7) == VALUE_AT && IS_POINTER[word - VALUE_AT] &&
	    BYTE[word - VALUE_AT + 8] < 128) {
		this->o = word - VALUE_AT;
		this->k = BYTE[this->o + 8] & 63;
		this->is_value = (this->k & 15) <= NUMBER || this->k == LIGHT_FUNCTION;
		if (IS_OBJECT[this->k])
			this->o = WORD[this->o];
	}
	if (IS_POINTER[this->o] && !this->is_value) {
		this->k = KIND[this->o];
		this->meta = this->k == TABLE ? WORD[this->o + t_meta] :
		    this->k == USERDATA ? WORD[this->o + u_meta] : 0;
		this->is_value = this->k == STRING ? IS_STRING[this->o] :
		    this->k == TABLE ? IS_TABLE_AT[this->o] :
		    this->k == FUNCTION ? IS_C[this->o] ||
		    KIND[WORD[this->o + f_proto]] == (PROTO_TAG & 15) :
		    this->k == THREAD ? IS_POINTER[WORD[this->o + s_stack]] &&
		    IS_POINTER[WORD[this->o + s_shared]] : this->k == USERDATA;
		if (this->meta && !IS_TABLE_AT[this->meta])
			this->is_value = 0;
	}
}

/* The string "__name" of a metatable. */
inline void find_name(uint64_t meta)
{
	this->label = 0;
	this->n = meta && IS_TABLE_AT[meta] ? ENTRY_COUNT[meta] : 0;
	this->i = 0;
	while (this->i < this->n && !this->label; 256) {
		this->entry = WORD[meta + t_entries] + e_size * this->i;
		get_key();
		this->item = this->key && !(this->key & 7) ? WORD[this->entry] : 0;
		if (this->item && IS_STRING[this->key] && LENGTH[this->key] == 6 &&
		    (BYTE[this->entry + 8] & 15) == STRING && IS_STRING[this->item] &&
		    TEXT[this->key] == "__name")
			this->label = this->item;
		this->i++;
	}
}

/* In 5.4, the size of the array may be that of a part of it. */
inline void find_array()
{
	this->array = WORD[this->o + t_array];
	this->n = HALF[this->o + t_size];
	if (minor == 4 && (BYTE[this->o + 10] & 128) && this->n && (this->n & this->n - 1)) {
		this->i = 1;
		while (this->i < this->n; 32)
			this->i *= 2;
		this->n = this->i;
	}
	/* what it has room for at its end is not there */
	while (this->n && !(BYTE[this->array + 16 * this->n - 8] & 15); 65536)
		this->n--;
	this->full = 1;
	this->i = 0;
	while (this->i < this->n && this->full; 65536) {
		this->full = (uint64_t)((BYTE[this->array + 16 * this->i + 8] & 15) != 0);
		this->i++;
	}
}

inline void say_table()
{
	find_name(this->meta);
	uopen("{}", this->label ? TEXT[this->label] : "", "] = ");
	find_array();
	this->i = 0;
	this->shown = 0;
	while (this->i < this->n && this->shown < arg1; 65536) {
		get_word(this->array + 16 * this->i);
		this->i++;
		if (this->item && this->full)
			uelement(this->i, this->item);
		else if (this->item)
			uentry(this->i << 3 | INDEX, this->item);
		this->shown += this->item != 0;
	}
	if (this->i < this->n)
		umore(this->n - this->i);
	this->entries = WORD[this->o + t_entries];
	this->n = ENTRY_COUNT[this->o];
	this->i = 0;
	while (this->i < this->n; 65536) {
		this->entry = this->entries + e_size * this->i;
		get_word(this->entry);
		if (this->item)
			get_key();
		if (this->item && this->key && this->shown >= arg1)
			umore(1);
		else if (this->item && this->key) {
			uentry(this->key, this->item);
			this->shown++;
		}
		this->i++;
	}
}

/* As in tracebacks: functions have no names of their own. */
inline void say_function()
{
	uliteral("function <");
	if (IS_C[this->o]) {
		uliteral("[C] at ");
		uliteral(lltostr((int64_t)WORD[this->o + f_proto], 16));
	} else {
		this->proto = WORD[this->o + f_proto];
		this->label = WORD[this->proto + p_source];
		this->str = IS_STRING[this->label] ? TEXT[this->label] : "?";
		uliteral(BYTE[this->label + 24] == '@' || BYTE[this->label + 24] == '=' ?
		    substr(this->str, 1) : "[string]");
		uliteral(":");
		uliteral(lltostr((int64_t)INT[this->proto + P_FIRST]));
	}
	uliteral(">");
}

inline void say_number()
{
	if (minor < 3 || this->k == (minor == 3 ? 3 : 0x13))
		udouble(WORD[this->o], minor > 2);
	else
		unumber((int64_t)WORD[this->o]);
}

inline void say_userdata()
{
	find_name(this->meta);
	uliteral("userdata ");
	if (this->label) {
		uliteral(TEXT[this->label]);
		uliteral(" ");
	}
	uliteral("at ");
	uliteral(lltostr((int64_t)this->o, 16));
}

/* A value, or the key of an entry. */
inline void say_simple()
{
	if (this->k == NIL)
		uliteral("nil");
	else if ((this->k & 15) == BOOLEAN)
		uliteral((minor == 4 ? this->k == 0x11 : INT[this->o] != 0) ? "true" : "false");
	else if ((this->k & 15) == NUMBER)
		say_number();
	else if (this->k == LIGHT) {
		uliteral("light userdata ");
		uliteral(lltostr((int64_t)WORD[this->o], 16));
	} else if (this->k == LIGHT_FUNCTION) {
		uliteral("function <[C] at ");
		uliteral(lltostr((int64_t)WORD[this->o], 16));
		uliteral(">");
	}
}

dtrace:helper:value:
/(arg0 & 7) < 2/
{
	find_value(arg0);
	if (!this->is_value)
		this->k = 255;
	else if (this->k == STRING)
		utext(this->o + 24, LENGTH[this->o], 0);
	else if (this->k == TABLE)
		say_table();
	else if (this->k == FUNCTION)
		say_function();
	else if (this->k == USERDATA)
		say_userdata();
	else if (this->k == THREAD) {
		uliteral("thread at ");
		uliteral(lltostr((int64_t)this->o, 16));
	} else
		say_simple();
}

dtrace:helper:value:
/(arg0 & 7) == KEY_OF/
{
	this->o = arg0 - KEY_OF + 16;
	this->k = BYTE[arg0 - KEY_OF + e_tag] & 63;
	say_simple();
}

dtrace:helper:value:
/(arg0 & 7) == INDEX/
{
	unumber((int64_t)arg0 >> 3);
}

inline string NAMES[uint64_t k] = k == TABLE ? "table" : k == FUNCTION ? "function" :
    k == USERDATA ? "userdata" : k == STRING ? "string" : k == THREAD ? "thread" :
    k == NUMBER ? "number" : k == BOOLEAN ? "boolean" : k == LIGHT ? "userdata" : "nil";

dtrace:helper:value:
/(arg0 & 7) == KIND_NAME/
{
	uliteral(NAMES[arg0 >> 3]);
}

dtrace:helper:value:
/(arg0 & 7) == CAPTURED/
{
	this->self = arg0 - CAPTURED;
	this->proto = WORD[this->self + f_proto];
	this->entries = WORD[this->proto + P_UPVALUES];
	this->n = BYTE[this->self + f_count];
	uopen("{}", "", "=");
	this->i = 0;
	while (this->i < this->n; 256) {
		this->at = WORD[this->self + f_proto + 8 + 8 * this->i];
		get_word(WORD[this->at + v_at]);
		this->label = this->entries ?
		    WORD[this->entries + (minor == 1 ? 8 : 16) * this->i] : 0;
		if (this->item && this->label)
			uproperty(this->label, this->item);
		else if (this->item)
			uitem("?", this->item);
		this->i++;
	}
}

dtrace:helper:value:
/(arg0 & 7) == STACK/
{
	this->o = arg0 - STACK;
	this->array = WORD[this->o + s_stack];
	this->n = (WORD[this->o + 16] - this->array) / 16;
	uopen("[]", "", ": ");
	this->i = 0;
	while (this->i < this->n && this->i < arg1; 65536) {
		get_word(this->array + 16 * this->i);
		if (this->item)
			uelement(this->i, this->item);
		this->i++;
	}
	if (this->i < this->n)
		umore(this->n - this->i);
}

dtrace:helper:closure:
{
	find_value(arg0);
	if (this->is_value && this->k == FUNCTION && !IS_C[this->o] && BYTE[this->o + f_count])
		umember(this->o | CAPTURED);
	if (this->is_value && this->k == THREAD)
		umember(this->o | STACK);
}

dtrace:helper:type:
/(arg0 & 7) < 2/
{
	find_value(arg0);
	if (this->is_value)
		uliteral(NAMES[this->k & 15]);
}

this uint64_t l_pc;
this uint64_t l_i;
this uint64_t l_n;
this uint64_t l_var;
this uint64_t l_at;

/* Variables are in the order of their places; those that are in scope count. */
dtrace:helper:locals:
/arg7/
{
	global_state = WORD[this->state + s_shared];
	first_thread = this->state;
	this->l_n = this->proto ? HALF[this->proto + P_NVARS] : 0;
	this->l_at = minor == 1 ? WORD[this->self] : c_base ? WORD[this->self + c_base] :
	    WORD[this->self] + 16;
	this->l_pc = this->proto && this->at > WORD[this->proto + p_code] ?
	    (this->at - WORD[this->proto + p_code]) / 4 - 1 : 0;
	this->l_i = 0;
	while (this->l_i < this->l_n; 1024) {
		this->l_var = WORD[this->proto + P_VARS] + 16 * this->l_i;
		if (HALF[this->l_var + 8] <= this->l_pc && this->l_pc < HALF[this->l_var + 12]) {
			get_word(this->l_at);
			ulocal(WORD[this->l_var], this->item ? this->item : this->z | VALUE_AT);
			this->l_at += 16;
		}
		this->l_i++;
	}
}

/* ---- coroutines ------------------------------------------------------------------------------ */

inline int S_STATUS = 10; /* of a thread: 1 if it has yielded */

/* One that has not begun, or has ended, has no calls; of one that runs, a thread has the stack. */
dtrace:helper:task:
{
	find_value(arg0);
	if (this->is_value && this->k == THREAD && BYTE[this->o + S_STATUS] == 1) {
		uitem("kind");
		uliteral("coroutine");
		uitem("state");
		uliteral("suspended");
	}
}

dtrace:helper:backtrace:
{
	find_value(arg0);
	this->state = this->o;
	this->is_last = (uint64_t)!(this->is_value && this->k == THREAD &&
	    BYTE[this->o + S_STATUS] == 1);
	this->call = this->is_last ? 0 : WORD[this->state + (minor == 1 ? OLD_CALL : S_CALL)];
	this->base = !this->is_last && minor == 1 ? WORD[this->state + S_BASE] : 0;
	this->is_known = 1;
	this->is_first = 0;
	this->is_reached = 0;
	this->named = 0ull;
	this->named_at = 0ull;
	this->mine = 1; /* no call is that of a native frame */
	while (!this->is_last; 65536)
		show_next_call();
}

/* Kinds of classes, as a census knows them. */
inline int SHOWN = 1;
inline int TASK = 0x20000;
inline int PART = 4;
inline int APART = 64;
inline int LEADS = 0x10000; /* of functions and threads, which have scopes */
/* what stands in the low bits of a class, which is a metatable, or else 0 */
inline uint64_t C_TABLE = 1;
inline uint64_t C_USERDATA = 2;
inline uint64_t C_FUNCTION = 3;
inline uint64_t C_THREAD = 4;
inline uint64_t C_STRING = 5;
inline uint64_t C_LONG = 6;
inline uint64_t C_OTHER = 7;

dtrace:helper:heap:
/global_state/
{
	ulist(global_state + g_objects, 0, ~0ull, 0, 8);
	if (g_finals)
		ulist(global_state + g_finals, 0, ~0ull, 0, 8);
	ukind(8, 255, TABLE, t_meta, C_TABLE);
	ukind(8, 255, USERDATA, u_meta, C_USERDATA);
	ukind(8, 15, FUNCTION, 0, C_FUNCTION);
	ukind(8, 255, THREAD, 0, C_THREAD);
	ukind(8, 255, STRING, 0, minor > 2 ? C_STRING : C_LONG);
	ukind(8, 255, LONG_STRING, 0, C_LONG);
	ukind(8, 0, 0, 0, C_OTHER);
	if (minor == 2 || minor == 3) /* it is in no list there */
		uroot("the stack of the first thread", first_thread | STACK);
}

dtrace:helper:class:
{
	this->k = arg0 & 7;
	this->label = 0;
	if (this->k <= C_USERDATA)
		find_name(arg0 & ~7ull);
	/* without the link that the collector has at the end of a table */
	if (this->k == C_TABLE)
		uclass(SHOWN | APART, 48, this->label ? this->label : TABLE << 3 | KIND_NAME);
	else if (this->k == C_USERDATA) {
		uclass(SHOWN | LEADS, 40, this->label ? this->label : USERDATA << 3 | KIND_NAME);
		ucount(u_size, 0, 1, 40);
	} else if (this->k == C_FUNCTION) {
		uclass(SHOWN | LEADS, 40, FUNCTION << 3 | KIND_NAME);
		ucount(f_count - 7, 56, 8, f_proto + 8);
	} else if (this->k == C_THREAD)
		uclass(SHOWN | LEADS | TASK, 200, THREAD << 3 | KIND_NAME);
	else if (this->k == C_STRING || this->k == C_LONG) {
		uclass(SHOWN, 24, STRING << 3 | KIND_NAME);
		if (this->k == C_STRING)
			ucount(4, 56, 1, 25);
		else
			ucount(16, 0, 1, 25);
	} else
		uclass(PART, 40, 0);
}
