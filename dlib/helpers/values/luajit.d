/* SPDX-License-Identifier: MIT */
/*
 * Values of LuaJIT 2.1 with references of 64 bits, for debuggers: values of all types, variables of
 * functions, what they have captured, and the list of all objects that the collector has.
 *
 * A word is the address of a string, a table, a function, a userdata, a thread or a cdata. Its low
 * bits say what it is otherwise: the address of a value (TValue), as of a number; an index; a
 * function, for the variables that it has captured; a thread, for what is in its stack; the name of
 * a variable; the name of a kind of values.
 *
 * A value has 64 bits: those of a double, or a type in the upper 17 and an address. Nothing leads
 * to the state but the stacks of its threads: the heap is found by them.
 *
 * Offsets: lj_obj.h of LuaJIT.
 */
uint64_t global_state; /* what all threads share; 0: no stack was walked yet */

/* of the helper's blocks */
this uint64_t frame;
this uint64_t proto;
this uint64_t at;
this uint64_t own;
this uint64_t from_hashed;
this uint64_t from_hash;
this uint64_t hash;

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
this uint64_t names;
this uint64_t full; /* the array has no nil */
this string str;

/* kinds: those of objects, and of values, whose types are their complements */
inline uint64_t NIL = 0;
inline uint64_t FALSE_KIND = 1;
inline uint64_t TRUE_KIND = 2;
inline uint64_t LIGHT = 3;
inline uint64_t STRING = 4;
inline uint64_t UPVALUE = 5;
inline uint64_t CDATA = 10;
inline uint64_t TABLE = 11;
inline uint64_t USERDATA = 12;
inline uint64_t NUMBER = 13;
/* tags of words */
inline uint64_t VALUE_AT = 1;
inline uint64_t VARIABLE = 2;
inline uint64_t INDEX = 4;
inline uint64_t CAPTURED = 5;
inline uint64_t KIND_NAME = 6;
inline uint64_t STACK = 7;

/* The kind of a value's bits; what is no type is a number. */
inline uint64_t KIND_OF[uint64_t bits] = bits >> 47 < 0x1fff3 ? NUMBER : 0x1ffff - (bits >> 47);
inline uint64_t KIND[uint64_t o] = IS_POINTER[o] ? BYTE[o + GC_KIND] : 0;
inline uint64_t LENGTH[uint64_t s] = (uint64_t)HALF[s + 20];
inline int IS_OBJECT[uint64_t k] = k == STRING || k == KIND_THREAD || k == KIND_FUNCTION ||
    k >= CDATA && k <= USERDATA;
inline int IS_STRING[uint64_t s] = KIND[s] == STRING && !BYTE[s + 24 + LENGTH[s]];
inline int IS_C[uint64_t f] = BYTE[f + FUNCTION_FFID] != 0;
inline int COUNT_CAPTURED[uint64_t f] = BYTE[f + 11];
/* a table: its array, its metatable, its entries; the size of the array, that of the others - 1 */
inline int T_ARRAY = 16;
inline int T_META = 32;
inline int T_ENTRIES = 40;
inline int T_SIZE = 48;
inline int T_MASK = 52;
inline int ENTRY_SIZE = 24;
inline uint64_t ENTRY_COUNT[uint64_t t] = (uint64_t)HALF[t + T_MASK] + 1;
/* all entries of a table are there, also the last one */
inline int IS_TABLE_AT[uint64_t t] = KIND[t] == TABLE && IS_POINTER[WORD[t + T_ENTRIES]] &&
    !(ENTRY_COUNT[t] & ENTRY_COUNT[t] - 1) &&
    KIND_OF[WORD[WORD[t + T_ENTRIES] + ENTRY_SIZE * (ENTRY_COUNT[t] - 1)]] <= NUMBER;
inline int U_META = 32;	    /* of a userdata, and its size */
inline int U_SIZE = 24;
inline int F_CAPTURED = 40; /* of a function */
inline int V_AT = 32;	    /* of a captured variable: the address of its value */
inline int G_OBJECTS = 40;

/* The word of a value in memory, in this->item. */
inline void get_word(uint64_t z)
{
	this->z = z;
	this->item = !(KIND_OF[WORD[z]]) ? 0 : IS_OBJECT[KIND_OF[WORD[z]]] ? REFERENCE[z] :
	    z | VALUE_AT;
}

/* Sets this->o, this->k and this->is_value of a word. */
inline void find_value(uint64_t word)
{
	this->is_value = 0;
	this->o = word;
	this->k = 0;
	if ((word & 7) == VALUE_AT && IS_POINTER[word - VALUE_AT]) {
		this->o = word - VALUE_AT;
		this->k = KIND_OF[WORD[this->o]];
		this->is_value = this->k <= LIGHT || this->k == NUMBER;
		if (IS_OBJECT[this->k])
			this->o = REFERENCE[this->o];
	}
	if (IS_POINTER[this->o] && !this->is_value) {
		this->k = KIND[this->o];
		this->meta = this->k == TABLE ? WORD[this->o + T_META] :
		    this->k == USERDATA ? WORD[this->o + U_META] : 0;
		this->is_value = this->k == STRING ? IS_STRING[this->o] :
		    this->k == TABLE ? IS_TABLE_AT[this->o] :
		    this->k == KIND_FUNCTION ? IS_C[this->o] || PROTO[this->o] != 0 :
		    this->k == KIND_THREAD ? IS_POINTER[WORD[this->o + L_STACK]] &&
		    IS_POINTER[WORD[this->o + L_GLOBAL]] :
		    this->k == USERDATA || this->k == CDATA;
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
		this->entry = WORD[meta + T_ENTRIES] + ENTRY_SIZE * this->i;
		this->key = KIND_OF[WORD[this->entry + 8]] == STRING ?
		    REFERENCE[this->entry + 8] : 0;
		this->item = this->key && KIND_OF[WORD[this->entry]] == STRING ?
		    REFERENCE[this->entry] : 0;
		if (this->item && IS_STRING[this->key] && LENGTH[this->key] == 6 &&
		    IS_STRING[this->item] && TEXT[this->key] == "__name")
			this->label = this->item;
		this->i++;
	}
}

/* The array has index 0 at its beginning. */
inline void find_array()
{
	this->array = WORD[this->o + T_ARRAY];
	this->n = HALF[this->o + T_SIZE];
	/* what it has room for at its end is not there */
	while (this->n && KIND_OF[WORD[this->array + 8 * this->n - 8]] == NIL; 65536)
		this->n--;
	this->full = (uint64_t)(!this->n || KIND_OF[WORD[this->array]] == NIL);
	this->i = 1;
	while (this->i < this->n && this->full; 65536) {
		this->full = (uint64_t)(KIND_OF[WORD[this->array + 8 * this->i]] != NIL);
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
		get_word(this->array + 8 * this->i);
		if (this->item && this->full)
			uelement(this->i, this->item);
		else if (this->item)
			uentry(this->i << 3 | INDEX, this->item);
		this->shown += this->item != 0;
		this->i++;
	}
	if (this->i < this->n)
		umore(this->n - this->i);
	this->entries = WORD[this->o + T_ENTRIES];
	this->n = ENTRY_COUNT[this->o];
	this->i = 0;
	while (this->i < this->n; 65536) {
		this->entry = this->entries + ENTRY_SIZE * this->i;
		get_word(this->entry + 8);
		this->key = this->item;
		get_word(this->entry);
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
		uliteral(lltostr((int64_t)WORD[this->o + F_CAPTURED], 16));
	} else {
		this->proto = PROTO[this->o];
		this->label = WORD[this->proto + PROTO_NAME];
		this->str = IS_STRING[this->label] ? TEXT[this->label] : "?";
		uliteral(BYTE[this->label + 24] == '@' || BYTE[this->label + 24] == '=' ?
		    substr(this->str, 1) : "[string]");
		uliteral(":");
		uliteral(lltostr((int64_t)INT[this->proto + PROTO_FIRST]));
	}
	uliteral(">");
}

inline string NAMES[uint64_t k] = k == TABLE ? "table" : k == KIND_FUNCTION ? "function" :
    k == USERDATA ? "userdata" : k == STRING ? "string" : k == KIND_THREAD ? "thread" :
    k == NUMBER ? "number" : k == FALSE_KIND || k == TRUE_KIND ? "boolean" :
    k == LIGHT ? "userdata" : k == CDATA ? "cdata" : "nil";

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
	else if (this->k == KIND_FUNCTION)
		say_function();
	else if (this->k == NUMBER)
		udouble(WORD[this->o]);
	else if (this->k < LIGHT)
		uliteral(this->k == NIL ? "nil" : this->k == TRUE_KIND ? "true" : "false");
	else {
		uliteral(this->k == LIGHT ? "light userdata" : NAMES[this->k]);
		find_name(this->k == USERDATA ? this->meta : 0);
		if (this->label) {
			uliteral(" ");
			uliteral(TEXT[this->label]);
		}
		uliteral(" at ");
		uliteral(lltostr((int64_t)this->o, 16));
	}
}

dtrace:helper:value:
/(arg0 & 7) == VARIABLE/
{
	this->k = BYTE[arg0 >> 3];
	uliteral(this->k >= 7 ? copyinstr(arg0 >> 3) : this->k == 1 ? "(for index)" :
	    this->k == 2 ? "(for limit)" : this->k == 3 ? "(for step)" :
	    this->k == 4 ? "(for generator)" : this->k == 5 ? "(for state)" : "(for control)");
}

dtrace:helper:value:
/(arg0 & 7) == INDEX/
{
	unumber((int64_t)arg0 >> 3);
}

dtrace:helper:value:
/(arg0 & 7) == KIND_NAME/
{
	uliteral(NAMES[arg0 >> 3]);
}

dtrace:helper:value:
/(arg0 & 7) == CAPTURED/
{
	this->o = arg0 - CAPTURED;
	this->proto = PROTO[this->o];
	this->names = this->proto ? WORD[this->proto + PROTO_UPVALUES] : 0;
	this->n = COUNT_CAPTURED[this->o];
	uopen("{}", "", "=");
	this->i = 0;
	while (this->i < this->n; 256) {
		get_word(WORD[WORD[this->o + F_CAPTURED + 8 * this->i] + V_AT]);
		this->str = this->names ? copyinstr(this->names) : "?";
		if (this->item)
			uitem(this->str, this->item);
		this->names += this->names ? (uint64_t)strlen(this->str) + 1 : 0;
		this->i++;
	}
}

dtrace:helper:value:
/(arg0 & 7) == STACK/
{
	this->o = arg0 - STACK;
	this->array = WORD[this->o + L_STACK];
	this->n = (WORD[this->o + 40] - this->array) / 8;
	uopen("[]", "", ": ");
	this->i = 0;
	while (this->i < this->n && this->i < arg1; 65536) {
		get_word(this->array + 8 * this->i);
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
	if (this->is_value && this->k == KIND_FUNCTION && !IS_C[this->o] && COUNT_CAPTURED[this->o])
		umember(this->o | CAPTURED);
	if (this->is_value && this->k == KIND_THREAD)
		umember(this->o | STACK);
}

dtrace:helper:type:
/(arg0 & 7) < 2/
{
	find_value(arg0);
	if (this->is_value)
		uliteral(NAMES[this->k]);
}

this uint64_t l_vars;
this uint64_t l_name;
this uint64_t l_at;
this int l_pc;
this int l_begin;
this int l_n;
this int l_k;

/*
 * Variables are in the order of their places; those that are in scope count. What is known of them
 * is as find_local() of the helper reads it. Functions that the code of a trace runs have no
 * position here, and their variables are in registers.
 */
dtrace:helper:locals:
/arg7/
{
	global_state = WORD[this->own + L_GLOBAL];
	this->l_vars = this->proto && this->at ? WORD[this->proto + PROTO_VARS] : 0;
	this->l_at = this->frame + 8;
	this->l_pc = (int)((this->at - this->proto - PROTO_SIZE) / 4) - 1;
	this->l_begin = 0;
	while (this->l_vars && BYTE[this->l_vars]; 256) {
		this->l_name = this->l_vars;
		this->l_vars += BYTE[this->l_vars] < 7 ? 1 :
		    (uint64_t)strlen(copyinstr(this->l_vars)) + 1;
		this->l_k = 0;
		while (this->l_k < 2; 2) {
			this->l_n = (int)BYTE[this->l_vars];
			this->l_vars++;
			if (this->l_n & 128) {
				this->l_n = this->l_n & 127 | (int)BYTE[this->l_vars] << 7;
				this->l_vars++;
			}
			if (this->l_n & 16384) {
				this->l_n = this->l_n & 16383 | (int)BYTE[this->l_vars] << 14;
				this->l_vars++;
			}
			this->l_begin += this->l_k ? 0 : this->l_n;
			this->l_k++;
		}
		if (this->l_begin <= this->l_pc && this->l_pc < this->l_begin + this->l_n) {
			get_word(this->l_at);
			ulocal(this->l_name << 3 | VARIABLE,
			    this->item ? this->item : this->z | VALUE_AT);
			this->l_at += 8;
		}
	}
}

/* ---- coroutines ------------------------------------------------------------------------------ */

inline int L_STATUS = 11; /* of a thread: 1 if it has yielded */

/* One that has not begun, or has ended, has no calls; of one that runs, a thread has the stack. */
dtrace:helper:task:
{
	find_value(arg0);
	if (this->is_value && this->k == KIND_THREAD && BYTE[this->o + L_STATUS] == 1) {
		uitem("kind");
		uliteral("coroutine");
		uitem("state");
		uliteral("suspended");
	}
}

dtrace:helper:backtrace:
{
	find_value(arg0);
	this->own = this->is_value && this->k == KIND_THREAD && BYTE[this->o + L_STATUS] == 1 ?
	    this->o : 0;
	this->bottom = this->own ? WORD[this->own + L_STACK] + 8 : 0;
	this->frame = this->own ? WORD[this->own + L_BASE] - 8 : 0;
	this->at = 0;
	while (this->own && this->frame > this->bottom; 65536)
		show_next_frame();
}

/* Kinds of classes, as a census knows them. */
inline int SHOWN = 1;
inline int TASK = 0x20000;
inline int PART = 4;
inline int LEADS = 0x10000; /* they are searched by their items, and by what they have captured */
/* what stands in the low bits of a class, which is a metatable, or else 0 */
inline uint64_t C_TABLE = 1;
inline uint64_t C_USERDATA = 2;
inline uint64_t C_FUNCTION = 3;
inline uint64_t C_THREAD = 4;
inline uint64_t C_CDATA = 5;
inline uint64_t C_OTHER = 7;

/* Strings are in a table of their own. */
dtrace:helper:heap:
/global_state/
{
	ulist(global_state + G_OBJECTS, 0, ~0ull, 0, 8);
	ukind(GC_KIND, 255, TABLE, T_META, C_TABLE);
	ukind(GC_KIND, 255, USERDATA, U_META, C_USERDATA);
	ukind(GC_KIND, 255, KIND_FUNCTION, 0, C_FUNCTION);
	ukind(GC_KIND, 255, KIND_THREAD, 0, C_THREAD);
	ukind(GC_KIND, 255, CDATA, 0, C_CDATA);
	ukind(GC_KIND, 0, 0, 0, C_OTHER);
}

dtrace:helper:class:
{
	this->k = arg0 & 7;
	this->label = 0;
	if (this->k <= C_USERDATA)
		find_name(arg0 & ~7ull);
	if (this->k == C_TABLE)
		uclass(SHOWN | LEADS, 64, this->label ? this->label : TABLE << 3 | KIND_NAME);
	else if (this->k == C_USERDATA) {
		uclass(SHOWN | LEADS, 48, this->label ? this->label : USERDATA << 3 | KIND_NAME);
		ucount(U_SIZE - 4, 32, 1, 48);
	} else if (this->k == C_FUNCTION) {
		uclass(SHOWN | LEADS, 40, (uint64_t)KIND_FUNCTION << 3 | KIND_NAME);
		ucount(4, 56, 8, F_CAPTURED);
	} else if (this->k == C_THREAD)
		uclass(SHOWN | LEADS | TASK, 96, (uint64_t)KIND_THREAD << 3 | KIND_NAME);
	else if (this->k == C_CDATA)
		uclass(SHOWN | LEADS, 16, CDATA << 3 | KIND_NAME);
	else
		uclass(PART, 16, 0);
}
