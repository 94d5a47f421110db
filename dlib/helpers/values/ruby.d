/* SPDX-License-Identifier: MIT */
/*
 * Values of Ruby 2.7 to 3.3, for debuggers: objects of the classes that are built in, instance
 * variables of others, variables of frames and of procs, classes, and the pages of the heap.
 *
 * A word is what Ruby calls a VALUE: a small integer, a float or a symbol in the number itself, or
 * the address of an object, whose first word has its type and whose second is its class. An address
 * is believed if it is that of a slot of a page of the heap; all objects are there.
 *
 * Instance variables of objects that are neither plain objects nor classes (of a string, an array)
 * are kept elsewhere and left out.
 *
 * Offsets: ruby/internal/core/robject.h and its neighbours, internal/{class,hash,struct,bignum}.h,
 * st.h, shape.h, vm_core.h, gc.c, time.c of Ruby.
 */
table VALUES { /*	       2.7   3.0   3.1   3.2   3.3 */
	uint64_t v_minor  =	27,   30,   31,   32,   33;
	/* of the virtual machine: the objects' space; of that: the pages, and their number */
	uint64_t g_space  =   1152, 1088, 1104, 1136, 1304;
	uint64_t g_pages  =    248,  240,  256, 1096, 1208;
	/* of a page: the first slot; how many; the bytes of each, which are 40 where that is 255 */
	uint64_t p_start  =	24,   24,   32,   32,   32;
	uint64_t p_slots  =	 0,    0,    2,    2,    2;
	uint64_t p_size	  =    255,  255,    0,    0,    0;
	/* the size of a page, less 1 */
	uint64_t p_mask	  = 0x3fff, 0x3fff, 0x3fff, 0xffff, 0xffff;
	/* the number nil; bits of the length of an array, a struct that lies in its object */
	uint64_t nil	  =	 8,    8,    8,    4,    4;
	uint64_t a_mask	  =	 3,    3,    3, 0x7f, 0x7f;
	uint64_t s_mask	  =	 3,    3,    3,    3, 0x7f;
	/* of a class: its name, where that is no variable of it */
	uint64_t c_path	  =	 0,    0,    0,    0,  152;
	/* of a body of instructions: the names of the variables, and how many there are */
	uint64_t b_names  =    152,  152,  152,  144,  144;
	uint64_t b_count  =    232,  232,  240,  232,  232;
	/* what a class has: the table of its constants; 0: not known */
	uint64_t x_consts =	 0,    0,   24,    0,    0;
	/* the bytes of a shape; 0: there are none */
	uint64_t x_size	  =	 0,    0,    0,   32,   40;
};

uint64_t vm_at;	     /* where the address of the virtual machine is */
uint64_t shapes;     /* the array of shapes */
uint64_t path, temporary; /* ids of the variables that have the name of a class */
uint64_t range_class;
uint64_t ec_errinfo; /* of a context: the exception on its way; 0: where it is is not known */

/* types */
inline int T_OBJECT = 1;
inline int T_FLOAT = 4;
inline int T_REGEXP = 6;
inline int T_HASH = 8;
inline int T_STRUCT = 9;
inline int T_BIGNUM = 10;
inline int T_DATA = 12;
inline int T_COMPLEX = 14;
inline int T_RATIONAL = 15;
inline int T_SYMBOL = 20;
inline int T_ICLASS = 28;
inline int IMEMO_ENV = 0;
inline int IS_SINGLETON = 0x1000;
inline int STRUCT_INSIDE = 0x6000; /* of a struct: bits of its length, if it lies in the slot */
inline int HASH_APART = 0x8000;	   /* of a hash: it has a table */

inline uint64_t OTYPE[uint64_t o] = WORD[o] & 31;
inline uint64_t OCLASS[uint64_t o] = WORD[o + 8];
inline uint64_t SUPER[uint64_t c] = WORD[c + 16];
inline uint64_t PAGE[uint64_t o] = WORD[o & ~p_mask];
inline uint64_t SLOT_SIZE[uint64_t page] = p_size ? 40 : SHORT[page];
/* whether an address is that of a slot in which something is */
inline int IS_SLOT[uint64_t o] = IS_POINTER[o] && IS_POINTER[PAGE[o]] &&
    (WORD[PAGE[o] + p_start] & ~p_mask) == (o & ~p_mask) && WORD[PAGE[o] + p_start] <= o &&
    SLOT_SIZE[PAGE[o]] &&
    (o - WORD[PAGE[o] + p_start]) % SLOT_SIZE[PAGE[o]] == 0 &&
    (o - WORD[PAGE[o] + p_start]) / SLOT_SIZE[PAGE[o]] < SHORT[PAGE[o] + p_slots] &&
    OTYPE[o] && OTYPE[o] <= T_ICLASS;
inline int IS_FIXNUM[uint64_t w] = w & 1;
inline int IS_FLONUM[uint64_t w] = (w & 3) == 2;
inline int IS_SYMBOL_ID[uint64_t w] = (w & 0xff) == 12;
inline uint64_t VALUE_TRUE = 20;
inline uint64_t UNDEF = minor < 32 ? 52 : 36;

/* of the helper's blocks */
this uint64_t array;
this uint64_t body;
this uint64_t context;
this uint64_t env;
this uint64_t frame;
this uint64_t id;
this uint64_t iseq;
this int is_c;

this uint64_t o;
this uint64_t flags;
this uint64_t t;
this uint64_t c;
this uint64_t i;
this uint64_t j;
this uint64_t most;
this uint64_t shown;
this uint64_t opened;
this uint64_t table;
this uint64_t entries;
this uint64_t values;
this uint64_t at;
this uint64_t key;
this uint64_t item;
this uint64_t name;  /* the string that is a name; 0: none */
this uint64_t shape;
this uint64_t hops;
this uint64_t wanted;
this uint64_t bits;
this uint64_t scope;
this uint64_t thread;
this uint64_t is_running;
this uint64_t is_fiber;
this uint64_t l_i;
this uint64_t l_n;
this uint64_t l_names;
this uint64_t l_ep;
this string str;

/* The string of an id in this->name. */
inline void get_id_name(uint64_t id)
{
	this->name = 0;
	this->id = (id) > last_operator ? (id) >> 4 : (id);
	this->array = symbols ? WORD[symbols] : 0;
	if (this->array && ISARRAY[this->array] &&
	    this->id / IDS_AN_ARRAY < ARRAYLEN[this->array]) {
		this->array = WORD[ARRAYPTR[this->array] + 8 * (this->id / IDS_AN_ARRAY)];
		this->id = 2 * (this->id % IDS_AN_ARRAY);
		if (ISARRAY[this->array] && this->id < ARRAYLEN[this->array]) {
			this->name = WORD[ARRAYPTR[this->array] + 8 * this->id];
			if (!ISSTRING[this->name])
				this->name = 0;
		}
	}
}

/* The entries of a table (st_table): hash, key and value of each; a hash of ~0: it was deleted. */
inline void find_entries(uint64_t table)
{
	this->table = table;
	this->entries = this->table ? WORD[this->table + 48] : 0;
	this->i = this->entries ? WORD[this->table + 32] : 0;
	this->most = this->entries ? WORD[this->table + 40] : 0;
}
inline uint64_t HASH_OF[uint64_t i] = WORD[this->entries + 24 * (i)];
inline uint64_t KEY_OF[uint64_t i] = WORD[this->entries + 24 * (i) + 8];
inline uint64_t VALUE_OF[uint64_t i] = WORD[this->entries + 24 * (i) + 16];

inline void find_shape(uint64_t id)
{
	this->shape = shapes + x_size * (id);
	this->hops = 0;
}
inline uint64_t SHAPE_NAME[uint64_t s] = WORD[s + 8];
inline uint64_t SHAPE_NEXT[uint64_t s] = HALF[s + 16];
inline uint64_t SHAPE_PARENT[uint64_t s] = HALF[s + 28];
inline int SHAPE_TYPE[uint64_t s] = BYTE[s + 24];
inline int SHAPE_IVAR = 1;
inline int HAS_TABLE = minor == 33 && SHAPE_TYPE[this->shape] == 4;
inline uint64_t NO_SHAPE = 0xffffffff;
inline void next_shape()
{
	this->shape = SHAPE_PARENT[this->shape] == NO_SHAPE ? 0 :
	    shapes + x_size * SHAPE_PARENT[this->shape];
	this->hops++;
}

/* The variable of a class with the name this->str: its id in this->key, its value in this->item. */
inline void find_class_variable(uint64_t c)
{
	this->item = 0;
	if (x_size) {
		find_shape(WORD[c] >> 32);
		while (this->shape && !this->item && this->hops < 1024; 1024) {
			if (SHAPE_TYPE[this->shape] == SHAPE_IVAR) {
				get_id_name(SHAPE_NAME[this->shape]);
				this->key = SHAPE_NAME[this->shape];
				if (this->name && RSTRING[this->name] == this->str)
					this->item = WORD[WORD[c + 32] +
					    8 * (SHAPE_NEXT[this->shape] - 1)];
			}
			next_shape();
		}
	} else {
		find_entries(WORD[WORD[c + 24] + 8]);
		while (this->i < this->most && !this->item; 1024) {
			if (~HASH_OF[this->i]) {
				this->key = KEY_OF[this->i];
				get_id_name(this->key);
				if (this->name && RSTRING[this->name] == this->str)
					this->item = VALUE_OF[this->i];
			}
			this->i++;
		}
	}
}

/* The same of the variable that has its name. */
inline void find_path(uint64_t c)
{
	this->item = 0;
	if (c_path)
		this->item = WORD[c + c_path];
	else if (x_size) {
		find_shape(WORD[c] >> 32);
		while (this->shape && !this->item && this->hops < 1024; 1024) {
			if (SHAPE_TYPE[this->shape] == SHAPE_IVAR &&
			    (SHAPE_NAME[this->shape] == path || SHAPE_NAME[this->shape] == temporary))
				this->item = WORD[WORD[c + 32] + 8 * (SHAPE_NEXT[this->shape] - 1)];
			next_shape();
		}
	} else {
		find_entries(WORD[WORD[c + 24] + 8]);
		while (this->i < this->most && !this->item; 1024) {
			if (~HASH_OF[this->i] &&
			    (KEY_OF[this->i] == path || KEY_OF[this->i] == temporary))
				this->item = VALUE_OF[this->i];
			this->i++;
		}
	}
	if (!ISSTRING[this->item])
		this->item = 0;
}

/* The class of an object without those that only this object has, in this->c. */
inline void find_class_of(uint64_t o)
{
	this->c = OCLASS[o];
	this->hops = 0;
	while (this->c && (OTYPE[this->c] == T_ICLASS || (WORD[this->c] & IS_SINGLETON)) &&
	    this->hops < 64; 64) {
		this->c = SUPER[this->c];
		this->hops++;
	}
	if (this->c && !ISCLASS[this->c])
		this->c = 0;
}

inline void get_address(uint64_t o)
{
	this->str = substr(lltostr(o, 16), 2);
	this->str = strjoin("0x", strjoin(substr("0000000000000000", strlen(this->str)), this->str));
}

/* The name of a class in this->str. */
inline void get_class_name(uint64_t class)
{
	find_path(class);
	if (this->item)
		this->str = RSTRING[this->item];
	else {
		get_address(class);
		this->str = strjoin(OTYPE[class] == T_MODULE ? "#<Module:" : "#<Class:",
		    strjoin(this->str, ">"));
	}
}

/* The name of the class this->c, of the object this->o that has it, in this->str. */
inline void get_class()
{
	find_class_of(this->o);
	if (this->c)
		get_class_name(this->c);
	else
		this->str = "";
}

/*
 * From 3.3 on, two variables are not exported: rb_gc_count() begins with the address of that of the
 * virtual machine ("lea x(%rip),%rax"), and rb_shape_get_shape_by_id() with the value of that of
 * the shapes ("mov x(%rip),%rax").
 */
inline void find_variables()
{
	vm_at = symaddr("ruby_current_vm_ptr");
	this->at = minor < 33 ? 0 : symaddr("rb_gc_count");
	this->at = this->at ? ubytes(this->at, 16, "48 8d 05 ?? ?? ?? ??") : 0;
	if (this->at)
		vm_at = TARGET[this->at + 3];
	shapes = minor == 32 && vm_at ? WORD[WORD[vm_at] + 376] : 0;
	this->at = minor < 33 ? 0 : symaddr("rb_shape_get_shape_by_id");
	this->at = this->at ? ubytes(this->at, 16, "48 8b 05 ?? ?? ?? ??") : 0;
	if (this->at)
		shapes = WORD[WORD[TARGET[this->at + 3]]];
}

/*
 * Ids are numbered in the order in which they were made: the one of names of classes that lie in
 * classes without a name follows the other one.
 */
dtrace:helper:attach:
{
	if (!VALUES[minor])
		udecline("values of this version of Ruby are not known (those of 2.7 to 3.3 are)");
	find_variables();
	this->o = symaddr("rb_cRange");
	range_class = this->o ? WORD[this->o] : 0;
	if (!vm_at || !range_class || !symbols || x_size && !shapes)
		udecline("a symbol is missing, without which values cannot be found");
	this->str = "__classpath__";
	path = 0;
	if (!c_path) {
		find_class_variable(range_class);
		path = this->item ? this->key : 0;
	}
	temporary = path + 16;
}

/* ---- values ---------------------------------------------------------------------------------- */

inline void say_flonum()
{
	this->bits = (uint64_t)arg0;
	this->bits = 2 - (this->bits >> 63) | this->bits & ~3ull;
	udouble(arg0 == 0x8000000000000002 ? 0 : this->bits >> 3 | this->bits << 61, 7);
}

/* Text without quotes is that of a symbol, behind a colon. */
inline void say_text(uint64_t s)
{
	utext(TEXT_AT[s], TEXT_SIZE[s], (WORD[s] >> 22 & 127) == 1 ? 0 : 1);
}

inline void say_bignum()
{
	if (this->flags & 0x4000)
		ubig(!(this->flags & 0x2000), this->o + 16, this->flags >> 15 & 7, 32);
	else
		ubig(!(this->flags & 0x2000), WORD[this->o + 24], WORD[this->o + 16], 32);
}

inline void say_array()
{
	get_class();
	uopen("[]", this->str == "Array" ? "" : this->str, ": ");
	this->most = WORD[this->o] & NOEMBED ? WORD[this->o] >> 15 & a_mask : WORD[this->o + 16];
	this->values = ARRAYPTR[this->o];
	this->i = 0;
	while (this->i < this->most && this->i < arg1; 65536) {
		uelement(this->i, WORD[this->values + 8 * this->i]);
		this->i++;
	}
	if (this->i < this->most)
		umore(this->most - this->i);
}

/* Up to eight entries are pairs, of which one that was deleted has no key; more are in a table. */
inline void say_hash()
{
	get_class();
	uopen("{}", this->str == "Hash" ? "" : this->str, "=>");
	this->shown = 0;
	if (this->flags & HASH_APART) {
		find_entries(minor < 33 ? WORD[this->o + 16] : this->o + 24);
		while (this->i < this->most && this->shown < arg1; 65536) {
			if (~HASH_OF[this->i]) {
				uentry(KEY_OF[this->i], VALUE_OF[this->i]);
				this->shown++;
			}
			this->i++;
		}
		this->most = WORD[this->table + 16];
	} else {
		this->most = this->flags >> 20 & 15;
		this->entries = minor < 33 ? WORD[this->o + 16] : this->o + 32;
		this->i = 0;
		while (this->i < this->most && this->shown < arg1; 8) {
			this->key = WORD[this->entries + 16 * this->i];
			if (this->key != UNDEF) {
				uentry(this->key, WORD[this->entries + 16 * this->i + 8]);
				this->shown++;
			}
			this->i++;
		}
		this->most = this->flags >> 16 & 15;
	}
	if (this->shown < this->most)
		umore(this->most - this->shown);
}

inline void open_object()
{
	if (!this->opened) {
		uopen("#>", this->str, "=");
		this->opened = 1;
	}
}

/*
 * A variable of the object with the id this->key and the value this->item. Those whose name does
 * not begin with @ are Ruby's own: exceptions have some.
 */
inline void say_variable(uint64_t place)
{
	if (this->item != UNDEF) {
		get_id_name(this->key);
		this->shown++;
		if (this->name && BYTE[TEXT_AT[this->name]] == 64) {
			open_object();
			uproperty(this->name, this->item, place);
		} else if (this->name && RSTRING[this->name] == "mesg") {
			open_object();
			umember(this->item);
		} else if (this->name && RSTRING[this->name] == "cause" && this->item != nil) {
			open_object();
			uproperty(this->name, this->item, 1 << 20);
		}
	}
}

inline void say_variables_by_shape()
{
	this->values = this->flags & NOEMBED ? this->o + 16 : WORD[this->o + 16];
	find_shape(this->flags >> 32);
	if (HAS_TABLE) {
		find_entries(WORD[this->o + 16]);
		while (this->i < this->most && this->shown < arg1; 65536) {
			this->key = KEY_OF[this->i];
			this->item = ~HASH_OF[this->i] ? VALUE_OF[this->i] : UNDEF;
			say_variable(1 + this->i);
			this->i++;
		}
		this->shape = 0;
	}
	while (this->shape && this->hops < 65536; 65536) {
		if (SHAPE_TYPE[this->shape] == SHAPE_IVAR) {
			this->at = SHAPE_NEXT[this->shape] - 1;
			this->key = SHAPE_NAME[this->shape];
			this->item = WORD[this->values + 8 * this->at];
			say_variable(1 + this->at);
		}
		next_shape();
	}
}

/* The class has the places of its objects' variables, in the order in which they were met. */
inline void say_variables_by_class()
{
	this->values = this->flags & NOEMBED ? this->o + 16 : WORD[this->o + 24];
	this->wanted = this->flags & NOEMBED ? 3 : HALF[this->o + 16];
	find_entries(WORD[WORD[this->c + 24]]);
	while (this->i < this->most && this->shown < arg1; 65536) {
		if (~HASH_OF[this->i]) {
			this->key = KEY_OF[this->i];
			this->at = minor > 27 ? HALF[VALUE_OF[this->i]] : VALUE_OF[this->i];
			this->item = this->at < this->wanted ?
			    WORD[this->values + 8 * this->at] : UNDEF;
			say_variable(1 + this->at);
		}
		this->i++;
	}
	if (this->i < this->most)
		umore(this->most - this->i);
}

inline void say_address()
{
	get_class();
	uliteral("#<");
	uliteral(this->str);
	uliteral(":");
	get_address(this->o);
	uliteral(this->str);
	uliteral(">");
}

inline void say_object()
{
	this->opened = 0;
	this->shown = 0;
	get_class();
	if (this->c && x_size)
		say_variables_by_shape();
	else if (this->c)
		say_variables_by_class();
	if (!this->opened)
		say_address();
}

/* What is between numbers, or the ends as they are. */
inline void say_range()
{
	this->values = this->flags & STRUCT_INSIDE ? this->o + 16 : WORD[this->o + 24];
	this->key = WORD[this->values];
	this->item = WORD[this->values + 8];
	this->str = WORD[this->values + 16] & ~nil ? "..." : "..";
	if ((IS_FIXNUM[this->key] || this->key == nil) &&
	    (IS_FIXNUM[this->item] || this->item == nil)) {
		if (IS_FIXNUM[this->key])
			unumber((int64_t)this->key >> 1);
		uliteral(this->str);
		if (IS_FIXNUM[this->item])
			unumber((int64_t)this->item >> 1);
	} else {
		uopen("()", "", this->str);
		uentry(this->key, this->item);
	}
}

/* The class of a struct, or one from which it is derived, has the names. */
inline void find_members()
{
	this->at = this->c;
	this->wanted = 0;
	this->j = 0;
	while (this->at && !this->wanted && this->j < 64; 64) {
		this->str = "__members__";
		if (ISCLASS[this->at]) {
			find_class_variable(this->at);
			this->wanted = this->item && ISARRAY[this->item] ? this->item : 0;
		}
		this->at = SUPER[this->at];
		this->j++;
	}
}

inline void say_struct()
{
	find_members();
	this->str = "struct ";
	if (this->wanted && this->at && ISCLASS[this->at]) {
		find_path(this->at);
		if (this->item && RSTRING[this->item] == "Data")
			this->str = "data ";
	}
	if (this->c)
		find_path(this->c);
	if (this->c && this->item)
		uopen("#>", strjoin(this->str, RSTRING[this->item]), "=");
	else
		uopen("#>", substr(this->str, 0, strlen(this->str) - 1), "=");
	this->most = this->flags >> 13 & s_mask;
	this->values = this->most ? this->o + 16 : WORD[this->o + 24];
	this->most = this->most ? this->most : WORD[this->o + 16];
	this->entries = this->wanted ? ARRAYPTR[this->wanted] : 0;
	this->i = 0;
	while (this->i < this->most && this->i < arg1; 65536) {
		if (this->entries)
			uproperty(WORD[this->entries + 8 * this->i],
			    WORD[this->values + 8 * this->i]);
		else
			umember(WORD[this->values + 8 * this->i]);
		this->i++;
	}
	if (this->i < this->most)
		umore(this->most - this->i);
}

inline void say_regexp()
{
	this->key = WORD[this->o + 24];
	uliteral("/");
	uliteral(ISSTRING[this->key] ? RSTRING[this->key] : "");
	uliteral("/");
	this->bits = WORD[this->o + 16] ? HALF[WORD[this->o + 16] + 56] : 0;
	if (this->bits & 4)
		uliteral("m");
	if (this->bits & 1)
		uliteral("i");
	if (this->bits & 2)
		uliteral("x");
}

inline void say_rational()
{
	this->key = WORD[this->o + 16];
	this->item = WORD[this->o + 24];
	if (IS_FIXNUM[this->key] && IS_FIXNUM[this->item]) {
		uliteral("(");
		unumber((int64_t)this->key >> 1);
		uliteral("/");
		unumber((int64_t)this->item >> 1);
		uliteral(")");
	} else {
		uopen("()", "", "/");
		uentry(this->key, this->item);
	}
}

inline void say_complex()
{
	this->key = WORD[this->o + 16];
	this->item = WORD[this->o + 24];
	if (IS_FIXNUM[this->key] && IS_FIXNUM[this->item]) {
		uliteral("(");
		unumber((int64_t)this->key >> 1);
		uliteral((int64_t)this->item < 0 ? "" : "+");
		unumber((int64_t)this->item >> 1);
		uliteral("i)");
	} else {
		uopen("()", "Complex", "=");
		umember(this->key);
		umember(this->item);
	}
}

/* Where the block begins, or the method that it calls. */
inline void say_proc(uint64_t proc)
{
	this->iseq = HALF[proc + 24] ? 0 : WORD[proc + 16];
	uliteral("#<Proc");
	if (ISIMEMO[this->iseq, IMEMO_ISEQ]) {
		this->body = WORD[this->iseq + ISEQ_BODY];
		this->at = WORD[this->body + BODY_PATH];
		this->at = ISARRAY[this->at] ? WORD[ARRAYPTR[this->at]] : this->at;
		uliteral(" ");
		uliteral(ISSTRING[this->at] ? RSTRING[this->at] : "");
		uliteral(":");
		unumber(HALF[this->body + BODY_FIRST_LINE] >> !is_number);
	}
	if (HALF[proc + 24] == 2) {
		get_id_name(IS_SYMBOL_ID[WORD[proc]] ? WORD[proc] >> 8 : 0);
		uliteral("(&:");
		uliteral(this->name ? RSTRING[this->name] : "");
		uliteral(")");
	}
	uliteral(BYTE[proc + 32] & 2 || HALF[proc + 24] == 2 ? " (lambda)>" : ">");
}

/* What C has made for Ruby: the name of its type is text in C. */
inline string DATA_TYPE[uint64_t o] =
    (WORD[o + 24] & ~2ull) == 1 ? copyinstr(WORD[WORD[o + 16]]) : "";
inline uint64_t DATA[uint64_t o] = WORD[o + 24] & 2 ? o + 32 : WORD[o + 32];

inline void say_data()
{
	this->str = DATA_TYPE[this->o];
	if (this->str == "proc")
		say_proc(DATA[this->o]);
	else if (this->str == "time" && IS_FIXNUM[WORD[DATA[this->o]]])
		udate(((int64_t)WORD[DATA[this->o]] >> 1) / 1000000, 1);
	else
		say_address();
}

/* The variables of an environment that has outlived its frame, or may. */
inline void say_scope(uint64_t ep, uint64_t iseq)
{
	this->body = ISIMEMO[iseq, IMEMO_ISEQ] ? WORD[iseq + ISEQ_BODY] : 0;
	this->most = this->body ? HALF[this->body + b_count] : 0;
	this->table = this->body ? WORD[this->body + b_names] : 0;
	uopen("{}", "Scope", ": ");
	this->j = 0;
	while (this->j < this->most && this->j < arg1; 4096) {
		get_id_name(WORD[this->table + 8 * this->j]);
		if (this->name)
			uproperty(this->name, WORD[ep - 8 * (this->most - this->j + 2)]);
		this->j++;
	}
	if (this->j < this->most)
		umore(this->most - this->j);
}

inline void say_slot()
{
	if (this->t == T_OBJECT)
		say_object();
	else if (this->t == T_CLASS || this->t == T_MODULE) {
		get_class_name(this->o);
		uliteral(this->str);
	} else if (this->t == T_FLOAT)
		udouble(WORD[this->o + 16], 7);
	else if (this->t == T_STRING)
		say_text(this->o);
	else if (this->t == T_REGEXP)
		say_regexp();
	else if (this->t == T_ARRAY)
		say_array();
	else if (this->t == T_HASH)
		say_hash();
	else if (this->t == T_STRUCT) {
		find_class_of(this->o);
		if (this->c == range_class)
			say_range();
		else
			say_struct();
	} else if (this->t == T_BIGNUM)
		say_bignum();
	else if (this->t == T_DATA)
		say_data();
	else if (this->t == T_COMPLEX)
		say_complex();
	else if (this->t == T_RATIONAL)
		say_rational();
	else if (this->t == T_SYMBOL) {
		uliteral(":");
		say_text(WORD[this->o + 24]);
	} else if (ISIMEMO[this->o, IMEMO_ENV])
		say_scope(WORD[this->o + 16], WORD[this->o + 8]);
	else if (this->t < T_IMEMO)
		say_address();
	else
		uliteral("<of the interpreter>");
}

dtrace:helper:value:
/IS_FIXNUM[arg0]/
{
	unumber((int64_t)arg0 >> 1);
}

dtrace:helper:value:
/IS_FLONUM[arg0]/
{
	say_flonum();
}

dtrace:helper:value:
/IS_SYMBOL_ID[arg0]/
{
	get_id_name(arg0 >> 8);
	if (this->name) {
		uliteral(":");
		say_text(this->name);
	} else
		uliteral("<Symbol>");
}

dtrace:helper:value:
/arg0 == 0 || arg0 == nil || arg0 == VALUE_TRUE || arg0 == UNDEF/
{
	uliteral(arg0 == 0 ? "false" : arg0 == nil ? "nil" : arg0 == UNDEF ? "<undefined>" : "true");
}

dtrace:helper:value:
/IS_POINTER[arg0]/
{
	this->o = arg0;
	if (IS_SLOT[arg0]) {
		this->flags = WORD[this->o];
		this->t = OTYPE[this->o];
		say_slot();
	}
}

dtrace:helper:type:
/!IS_POINTER[arg0]/
{
	if (IS_FIXNUM[arg0])
		uliteral("Integer");
	else if (IS_FLONUM[arg0])
		uliteral("Float");
	else if (IS_SYMBOL_ID[arg0])
		uliteral("Symbol");
	else if (arg0 == 0)
		uliteral("FalseClass");
	else if (arg0 == nil)
		uliteral("NilClass");
	else if (arg0 == VALUE_TRUE)
		uliteral("TrueClass");
}

dtrace:helper:type:
/IS_POINTER[arg0]/
{
	if (IS_SLOT[arg0]) {
		this->o = arg0;
		if (OTYPE[arg0] < T_IMEMO && OCLASS[arg0])
			get_class();
		else
			this->str = "an object of the interpreter";
		uliteral(this->str);
	}
}

dtrace:helper:closure:
/IS_POINTER[arg0]/
{
	this->o = arg0;
	this->scope = IS_SLOT[arg0] && OTYPE[arg0] == T_DATA && DATA_TYPE[arg0] == "proc" &&
	    HALF[DATA[arg0] + 24] < 2 ? WORD[DATA[arg0] + 8] : 0;
	this->hops = 0;
	while (this->scope && this->hops < 64; 64) {
		if (ISIMEMO[WORD[this->scope + 8], IMEMO_ENV])
			umember(WORD[this->scope + 8]);
		this->scope = WORD[this->scope] & FLAG_LOCAL ? 0 : WORD[this->scope - 8] & ~3ull;
		this->hops++;
	}
}

/* ---- frames ---------------------------------------------------------------------------------- */

/* The frame that was added is the one before this->frame; of a method in C, only the receiver. */
dtrace:helper:locals:
/arg7/
{
	uself(WORD[this->frame - size + 24]);
	this->l_ep = WORD[this->frame - size + CFP_EP];
	this->l_n = this->is_c ? 0 : HALF[this->body + b_count];
	this->l_names = this->l_n ? WORD[this->body + b_names] : 0;
	this->l_i = 0;
	while (this->l_i < this->l_n; 4096) {
		get_id_name(WORD[this->l_names + 8 * this->l_i]);
		this->item = WORD[this->l_ep - 8 * (this->l_n - this->l_i + 2)];
		if (this->name && this->item != UNDEF)
			ulocal(this->name, this->item);
		this->l_i++;
	}
}

/* The exception on its way is where rb_errinfo() finds it, at its end. */
dtrace:helper:attach:
{
	this->l_ep = symaddr("rb_errinfo");
	this->l_ep = this->l_ep ? ubytes(this->l_ep, 48, "48 8b 40 ?? 48 83 c4 08 c3") : 0;
	ec_errinfo = this->l_ep ? BYTE[this->l_ep + 3] : 0;
}

dtrace:helper:locals:
/arg7 && ec_errinfo && this->context/
{
	this->item = WORD[this->context + ec_errinfo];
	if (this->item != nil && IS_SLOT[this->item])
		uitem("raised", this->item);
}

/* Code of "rescue" and "ensure" is a frame of its own, whose first variable is $!. */
inline int IS_RESCUE[uint64_t body] = HALF[body] == 4 || HALF[body] == 5;

dtrace:helper:locals:
/arg7 && !this->is_c && this->body && IS_RESCUE[this->body]/
{
	this->item = WORD[WORD[this->frame - size + CFP_EP] - 24];
	if (this->item != nil && IS_SLOT[this->item])
		uitem("handled", this->item);
}

/* ---- fibers ---------------------------------------------------------------------------------- */

/* in an execution context: the fiber that it is part of, its thread; in that: the present one */
inline int EC_FIBER = 40;
inline int EC_THREAD = 48;
inline int THREAD_FIRST = 24;
inline int THREAD_LAST = 96;

/*
 * Sets this->context of a fiber that has begun and has not ended, and this->is_running. Its context
 * is where the fiber's memory has its own address.
 */
inline void find_fiber(uint64_t o)
{
	this->context = 0;
	this->i = 0;
	this->at = IS_SLOT[o] && OTYPE[o] == T_DATA && DATA_TYPE[o] == "fiber" ? DATA[o] : 0;
	while (this->at && !this->context && this->i < 64; 64) {
		if (WORD[this->at + 8 * this->i] == this->at)
			this->context = this->at + 8 * this->i - EC_FIBER;
		this->i++;
	}
	if (this->context && (!EC_STACK[this->context] ||
	    WORD[this->context + EC_CFP] - EC_STACK[this->context] >=
	    8 * WORD[this->context + EC_STACK_SIZE]))
		this->context = 0;
	this->thread = this->context ? WORD[this->context + EC_THREAD] : 0;
	this->is_running = 0;
	this->i = THREAD_FIRST;
	while (this->thread && this->i < THREAD_LAST; 32) {
		this->is_running |= (uint64_t)(WORD[this->thread + this->i] == this->context);
		this->i += 8;
	}
}

/* One that has resumed another fiber waits for it, and does not run. */
dtrace:helper:task:
{
	find_fiber(arg0);
	if (this->context) {
		uitem("kind");
		uliteral("fiber");
		uitem("state");
		uliteral(this->is_running ? "running" : "suspended");
	}
}

dtrace:helper:backtrace:
{
	find_fiber(arg0);
	if (this->context && !this->is_running) {
		this->frame = WORD[this->context + EC_CFP];
		this->bottom = EC_STACK[this->context] +
		    8 * WORD[this->context + EC_STACK_SIZE] - size;
		this->is_all = 1;
		this->is_last = 0;
		this->is_shown = 0;
		this->hashed = 0;
		this->hash = 0;
		while (this->frame < this->bottom; 65536)
			show_next_frame();
	}
}

/* ---- the heap -------------------------------------------------------------------------------- */

/* Kinds of classes, as a census knows them. */
inline int SHOWN = 1;
inline int TASK = 0x20000;
inline int PART = 4;
inline int OTHER = 8;
inline int ROOT = 0x80000; /* of objects that the program has by their names */
inline int APART = 64; /* of objects that have items elsewhere in memory */

/*
 * Slots of objects of the interpreter itself have no class. The kind of a slot is its type and, of
 * a class, whether it has the methods of one object; whether its items lie in it; with shapes, also
 * the shape.
 */
inline int IS_APART[uint64_t kind] = (kind & 31) == T_OBJECT || (kind & 31) == T_ARRAY ?
    !(kind & NOEMBED) : (kind & 31) == T_STRUCT ? !(kind & STRUCT_INSIDE) :
    (kind & 31) == T_HASH && (minor < 33 || kind & HASH_APART);

dtrace:helper:heap:
{
	uslotkind(0, 31 | IS_SINGLETON | NOEMBED | STRUCT_INSIDE | HASH_APART |
	    (x_size ? 0xffffffff00000000 : 0));
	uslotclass(0x10, 0, 8);
	uslotclass(0x18, 0x10, 8);
	this->o = WORD[WORD[vm_at] + g_space];
	this->table = WORD[this->o + g_pages];
	this->most = WORD[this->o + g_pages + 8];
	this->i = 0;
	this->j = 0;
	while (this->i < this->most && this->j < 16; 16) {
		while (this->i < this->most && this->i < (this->j + 1) * 65536; 65536) {
			this->at = WORD[this->table + 8 * this->i];
			uslots(WORD[this->at + p_start], SHORT[this->at + p_slots],
			    SLOT_SIZE[this->at]);
			this->i++;
		}
		this->j++;
	}
}

/*
 * The constants of Object that are neither classes nor modules: a table of ids, each with where its
 * value is (id_table.c, constant.h).
 */
dtrace:helper:heap:
/x_consts && symaddr("rb_cObject")/
{
	this->c = WORD[symaddr("rb_cObject")];
	this->table = ISCLASS[this->c] ? WORD[WORD[this->c + 24] + x_consts] : 0;
	this->most = this->table ? INT[this->table] : 0;
	this->entries = this->table ? WORD[this->table + 16] : 0;
	this->j = 0;
	while (this->j < this->most; 65536) {
		this->key = HALF[this->entries + 16 * this->j];
		this->item = this->key ? WORD[WORD[this->entries + 16 * this->j + 8] + 8] : 0;
		if (IS_SLOT[this->item] && !ISCLASS[this->item]) {
			get_id_name(this->key << 4);
			uroot(this->name ? strjoin("constant ", RSTRING[this->name]) : "constant",
			    this->item);
		}
		this->j++;
	}
}

dtrace:helper:class:
/(arg1 & 31) && (arg1 & 31) != 29 && (arg1 & 31) != 30/
{
	this->t = arg1 & 31;
	this->c = this->t < T_IMEMO ? arg0 : 0;
	this->hops = 0;
	while (this->c && (OTYPE[this->c] == T_ICLASS || (WORD[this->c] & IS_SINGLETON)) &&
	    this->hops < 64; 64) {
		this->c = SUPER[this->c];
		this->hops++;
	}
	if (this->c && !ISCLASS[this->c])
		this->c = 0;
	/* Fiber, and what is derived from it */
	this->is_fiber = 0;
	this->at = this->t == T_DATA ? this->c : 0;
	this->j = 0;
	while (this->at && !this->is_fiber && this->j < 16; 16) {
		if (ISCLASS[this->at]) {
			find_path(this->at);
			this->is_fiber = (uint64_t)(this->item && RSTRING[this->item] == "Fiber");
		}
		this->at = SUPER[this->at];
		this->j++;
	}
	if (this->t == T_CLASS && (arg1 & IS_SINGLETON))
		uclass(OTHER, 0, 0);
	else if (this->c && this->t == T_ICLASS)
		uclass(OTHER, 0, 0);
	else if (this->c)
		uclass(SHOWN | (IS_APART[arg1] ? APART : 0) | (this->is_fiber ? TASK : 0) |
		    (this->t == T_CLASS || this->t == T_MODULE ? ROOT : 0), 0, this->c);
	else
		uclass(PART, 0, 0);
}

/* The names of instance variables, and the members of structs. */
dtrace:helper:shape:
/(arg1 & 31) == T_OBJECT || (arg1 & 31) == T_STRUCT/
{
	this->c = arg0;
	this->hops = 0;
	while (this->c && (OTYPE[this->c] == T_ICLASS || (WORD[this->c] & IS_SINGLETON)) &&
	    this->hops < 64; 64) {
		this->c = SUPER[this->c];
		this->hops++;
	}
	if ((arg1 & 31) == T_STRUCT) {
		find_members();
		this->most = this->wanted ? WORD[this->wanted] & NOEMBED ?
		    WORD[this->wanted] >> 15 & a_mask : WORD[this->wanted + 16] : 0;
		this->entries = this->wanted ? ARRAYPTR[this->wanted] : 0;
		this->i = 0;
		while (this->i < this->most && this->i < 64; 64) {
			uprop(WORD[this->entries + 8 * this->i]);
			this->i++;
		}
	} else if (x_size) {
		/* a shape leads to the one before it: which has the next variable in their order? */
		this->wanted = 1;
		find_shape(arg1 >> 32);
		this->most = HAS_TABLE ? 0 : SHAPE_NEXT[this->shape];
		while (this->wanted <= this->most && this->wanted <= 64; 64) {
			find_shape(arg1 >> 32);
			while (this->shape && (SHAPE_TYPE[this->shape] != SHAPE_IVAR ||
			    SHAPE_NEXT[this->shape] != this->wanted) && this->hops < 1024; 1024)
				next_shape();
			if (this->shape) {
				get_id_name(SHAPE_NAME[this->shape]);
				if (this->name && BYTE[TEXT_AT[this->name]] == 64)
					uprop(this->name);
			}
			this->wanted++;
		}
	} else {
		find_entries(WORD[WORD[this->c + 24]]);
		while (this->i < this->most && this->i < 64; 64) {
			if (~HASH_OF[this->i]) {
				get_id_name(KEY_OF[this->i]);
				if (this->name && BYTE[TEXT_AT[this->name]] == 64)
					uprop(this->name);
			}
			this->i++;
		}
	}
}

/* of a thread that has the thread pointer `tp`: where its native thread-local variables are */
inline uint64_t BLOCK_OF[uint64_t tp] = WORD[WORD[tp + 8] + 16 * module];

/* ---- lines ----------------------------------------------------------------------------------- */

/*
 * rb_vm_get_ruby_level_next_cfp() goes through the frames of a context: "mov 8(%rdi),%register",
 * "mov (%rdi),%register", "add $size,%register", "mov 32(%register),%register".
 */
inline void find_proof()
{
	this->at = symaddr("rb_vm_get_ruby_level_next_cfp");
	this->most = this->at ? symsize("rb_vm_get_ruby_level_next_cfp") : 0;
	this->shown = this->at && this->most <= 256 ? 1 : 0;
	this->key = this->shown ? ubytes(this->at, this->most, "48 8b ?? 08") : 0;
	this->shown = this->key && (BYTE[this->key + 2] & 0xc7) == 0x47 ? 1 : 0;
	this->key = this->shown ? ubytes(this->at, this->most, "48 83 ?? ??") : 0;
	this->shown = this->key && (BYTE[this->key + 2] & 0xf8) == 0xc0 &&
	    BYTE[this->key + 3] == size ? 1 : 0;
	this->key = this->shown ? ubytes(this->at, this->most, "48 8b ?? 20") : 0;
	this->shown = this->key && (BYTE[this->key + 2] & 0xc0) == 0x40 ? 1 : 0;
}

/* A function that a thread may run whose context has been freed, if the runtime's file has it. */
inline void say_unlocked(string name)
{
	this->at = symaddr(name);
	if (this->at) {
		uitem("unlocked");
		unumber(this->at);
		uitem("extent");
		unumber(symsize(name));
	}
}

/* Objects of 3.3 are handed out elsewhere, and of 2.7 the context is in a global variable. */
dtrace:helper:context:
/module && minor >= 30 && minor < 33/
{
	find_proof();
	uitem("module");
	unumber(module);
	uitem("variable");
	unumber(variable);
	uitem("stack");
	unumber(0);
	uitem("words");
	unumber(EC_STACK_SIZE);
	uitem("top");
	unumber(EC_CFP);
	uitem("size");
	unumber(size);
	uitem("code");
	unumber(CFP_ISEQ);
	uitem("position");
	unumber(0);
	/* as find_caller() looks at: a method in C, and 64 frames behind it */
	uitem("depth");
	unumber(65);
	uitem("proven");
	unumber(this->shown);
	uitem("inside");
	unumber(symaddr("ruby_api_version"));
	/*
	 * A thread that has ended keeps the address of its context (3.0 to 3.2), which another one
	 * frees, while it waits to be used again; and any thread may handle a signal.
	 */
	say_unlocked("thread_start_func_1");
	say_unlocked("thread_start_func_2");
	say_unlocked("native_thread_init");
	say_unlocked("register_cached_thread_and_wait");
	say_unlocked("use_cached_thread");
	say_unlocked("ruby_thread_set_native");
	say_unlocked("gvl_release");
	say_unlocked("gvl_release_common");
	say_unlocked("gvl_acquire");
	say_unlocked("gvl_acquire_common");
	say_unlocked("native_cond_timeout");
	say_unlocked("native_cond_timedwait");
	say_unlocked("rb_native_cond_timedwait");
	say_unlocked("rb_native_cond_wait");
	say_unlocked("rb_native_cond_signal");
	say_unlocked("rb_native_cond_broadcast");
	say_unlocked("rb_native_cond_initialize");
	say_unlocked("rb_native_cond_destroy");
	say_unlocked("rb_native_mutex_lock");
	say_unlocked("rb_native_mutex_trylock");
	say_unlocked("rb_native_mutex_unlock");
	say_unlocked("rb_native_mutex_initialize");
	say_unlocked("rb_native_mutex_destroy");
	say_unlocked("rb_hrtime_now");
	say_unlocked("rb_hrtime_add");
	say_unlocked("rb_timespec_now");
	say_unlocked("sighandler");
	say_unlocked("sigsegv");
	say_unlocked("sigbus");
	say_unlocked("check_stack_overflow");
	say_unlocked("rb_thread_wakeup_timer_thread");
	say_unlocked("rb_thread_wakeup_timer_thread_fd");
}

dtrace:helper:site:
/ISIMEMO[arg0, IMEMO_ISEQ]/
{
	this->iseq = arg0;
	this->pc = (uint64_t)arg1;
	this->body = WORD[this->iseq + ISEQ_BODY];
	this->first = HALF[this->body + BODY_FIRST_LINE] >> !is_number;
	this->key = WORD[this->body + BODY_ENCODED];
	this->most = 8 * HALF[this->body + BODY_SIZE];
	this->o = WORD[this->body + BODY_PATH];
	this->o = ISARRAY[this->o] ? WORD[ARRAYPTR[this->o]] : this->o;
	this->shown = ISSTRING[this->o] && (!arg1 || arg1 - this->key <= this->most) ? 1 : 0;
	this->line = 0;
	if (this->shown && arg1)
		find_line();
	if (this->shown) {
		uitem("file");
		utext(TEXT_AT[this->o], TEXT_SIZE[this->o], 1);
		uitem("line");
		unumber(this->line);
	}
}

/* The context that the thread has used last, whose thread (rb_thread_t) has the object. */
dtrace:helper:thread:
/module/
{
	this->table = BLOCK_OF[arg0];
	this->at = this->table && ~this->table ? WORD[this->table + variable] : 0;
	this->at = this->at ? WORD[this->at + EC_THREAD] : 0;
	this->o = this->at ? WORD[this->at + 16] : 0;
	if (IS_SLOT[this->o] && OTYPE[this->o] == T_DATA && WORD[this->o + 32] == this->at)
		uitem("thread", this->o);
}
