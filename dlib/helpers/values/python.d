/* SPDX-License-Identifier: MIT */
/*
 * Values of CPython 3.8 to 3.13, for debuggers: objects of the types that are built in, attributes
 * of others, variables of frames, classes, and the lists of the garbage collector.
 *
 * A word is the address of an object, whose second word is its type. The flags of a type say which
 * of the types that are built in it is derived from. A word with bit 0 set stands for the name of
 * the type at the address before it; only a census has such words.
 *
 * A dict of attributes that has been made for none but its object is not shown as an object of its
 * own.
 *
 * Offsets: CPython Include/object.h, Include/cpython/{object,longintrepr,dictobject,funcobject}.h,
 * Include/internal/pycore_{dict,gc,interp,code}.h, Objects/setobject.c.
 */
table VALUES { /*	       3.8  3.9 3.10 3.11 3.12 3.13 */
	uint64_t v_minor  =	 8,   9,  10,  11,  12,  13;
	/* of a type made by a class statement: its name; slots, qualified name and keys follow */
	uint64_t h_name	  =    848, 840, 848, 848, 856, 856;
	/* of a function: its qualified name */
	uint64_t d_name	  =    104, 104,  40,  40,  40,  40;
	/* of a generator or a coroutine: its qualified name */
	uint64_t g_name	  =	56,  56,  48,  40,  32,	 32;
	/* of an exception: the one that was handled when it was raised; its cause follows */
	uint64_t e_before =	40,  40,  40,  48,  48,  48;
	/* of a thread: its exception, on the way; the one it handles (_PyErr_StackItem *) */
	uint64_t t_raised =	96,  96,  96, 104,  96,	  0;
	uint64_t t_items  =    144, 144, 144, 120, 104,	  0;
	/* where the garbage collector has its lists: in _PyRuntime (3.8), in an interpreter */
	uint64_t g_lists  =    344, 616, 616, 648, 112,	  0;
	/* of code: the names of its variables; their kinds, or names that inner functions use */
	uint64_t c_locals =	72,  72,  72,  96,  96,	 96;
	uint64_t c_kinds  =	88,  88,  88, 104, 104, 104;
	uint64_t c_free	  =	80,  80,  80,	0,   0,	  0;
	/* of a frame of a module or a class: the dict of its variables */
	uint64_t f_dict	  =	56,  56,  56,  24,  40,	 40;
	/* of a dict's keys: how many entries there have been, the indices */
	uint64_t k_count  =	32,  32,  32,  24,  24,	 24;
	uint64_t k_start  =	40,  40,  40,  32,  32,	 32;
};

uint64_t type_type, float_type, set_type, frozenset_type, complex_type, bytearray_type;
uint64_t tuple_type, dict_type, module_type, cell_type, frame_type;
uint64_t none, true_object, false_object, ellipsis, not_implemented;

/* The other types are variables of the helper, which sets them only with -x jstackasync. */
dtrace:helper:attach:
{
	if (!VALUES[minor])
		udecline("values of this version of CPython are not known (those of 3.8 to 3.13 are)");
	this->files = symaddr("_PyEval_EvalFrameDefault", "libpython3*") ? "libpython3*" :
	    symaddr("_PyEval_EvalFrameDefault", "python3*") ? "python3*" : "*";
	this->runtime = symaddr("_PyRuntime", this->files);
	if (minor == 8)
		g_lists += this->runtime;
	if (minor > 12)
		g_lists = WORD[this->runtime + 80];
	type_type = symaddr("PyType_Type", this->files);
	float_type = symaddr("PyFloat_Type", this->files);
	set_type = symaddr("PySet_Type", this->files);
	frozenset_type = symaddr("PyFrozenSet_Type", this->files);
	complex_type = symaddr("PyComplex_Type", this->files);
	bytearray_type = symaddr("PyByteArray_Type", this->files);
	function_type = symaddr("PyFunction_Type", this->files);
	builtin_type = symaddr("PyCFunction_Type", this->files);
	list_type = symaddr("PyList_Type", this->files);
	tuple_type = symaddr("PyTuple_Type", this->files);
	dict_type = symaddr("PyDict_Type", this->files);
	module_type = symaddr("PyModule_Type", this->files);
	cell_type = symaddr("PyCell_Type", this->files);
	frame_type = symaddr("PyFrame_Type", this->files);
	gen_type = symaddr("PyGen_Type", this->files);
	coro_type = symaddr("PyCoro_Type", this->files);
	agen_type = symaddr("PyAsyncGen_Type", this->files);
	none = symaddr("_Py_NoneStruct", this->files);
	true_object = symaddr("_Py_TrueStruct", this->files);
	false_object = symaddr("_Py_FalseStruct", this->files);
	ellipsis = symaddr("_Py_EllipsisObject", this->files);
	not_implemented = symaddr("_Py_NotImplementedStruct", this->files);
	if (!type_type)
		udecline("a symbol is missing");
}

this string files;
this uint64_t runtime;
this uint64_t own; /* of the helper's blocks: the frame of a uframe() */
this uint64_t thread; /* of them, too: the state of the thread */

this uint64_t o;     /* the object */
this uint64_t t;     /* its type; 0: it is no object */
this uint64_t b;     /* a type from which that one is derived */
this uint64_t solid; /* the first of these that is written in C */
this uint64_t flags;
this uint64_t meta;
this uint64_t hops;
this uint64_t most;
this uint64_t start;
this uint64_t i;
this uint64_t shown;
this uint64_t opened;
this uint64_t known; /* the type from which it is derived: find_known_type() */
this uint64_t keys;
this uint64_t values;
this uint64_t dict;
this uint64_t entries;
this uint64_t stride;
this uint64_t order; /* the indices of entries in the order in which they were added */
this uint64_t step;
this uint64_t index;
this uint64_t key;
this uint64_t item;
this uint64_t members;
this uint64_t width;
this int64_t dot;
this int64_t count;
this int64_t n;
this int64_t point;
this string str;
this string digits;

inline uint64_t FLAGS[uint64_t t] = WORD[t + 168];
inline uint64_t BASE[uint64_t t] = WORD[t + 256];
inline uint64_t BASIC_SIZE[uint64_t t] = WORD[t + 32];
inline uint64_t ITEM_SIZE[uint64_t t] = WORD[t + 40];
inline int64_t DICT_AT[uint64_t t] = *(int64_t *)(t + 288);
inline int64_t COUNT[uint64_t o] = *(int64_t *)(o + 16);
inline uint64_t MANAGED = minor > 10 ? 1 << 4 : 0; /* the dict is before the object */
inline uint64_t INLINE = minor > 12 ? 1 << 2 : 0;  /* the values are behind it */
inline uint64_t HEAP = 1 << 9;
inline uint64_t INT_TYPE = 1 << 24;
inline uint64_t LIST = 1 << 25;
inline uint64_t TUPLE = 1 << 26;
inline uint64_t BYTES = 1 << 27;
inline uint64_t STR = 1 << 28;
inline uint64_t DICT = 1 << 29;
inline uint64_t EXCEPTION = 1 << 30;
inline uint64_t CLASS = 1ull << 31;

/* A type is believed if its own type is "type", or is derived from that. */
inline void find_type(uint64_t o)
{
	this->t = IS_POINTER[o] ? TYPE[o] : 0;
	this->meta = IS_POINTER[this->t] ? TYPE[this->t] : 0;
	this->hops = 0;
	while (this->meta != type_type && IS_POINTER[this->meta] && this->hops < 16; 16) {
		this->meta = BASE[this->meta];
		this->hops++;
	}
	if (this->meta != type_type)
		this->t = 0;
}

/* The name of the type this->b without its module, in this->str. */
inline void get_name()
{
	this->str = copyinstr(TYPE_NAME[this->b]);
	this->dot = rindex(this->str, ".");
	if (this->dot >= 0)
		this->str = substr(this->str, this->dot + 1);
}

/* The name that the brackets of an object of a type that is built in have before them. */
inline void get_class(uint64_t builtin)
{
	this->str = "";
	this->b = this->t;
	if (this->t != builtin)
		get_name();
}

inline void say_int()
{
	if (minor > 11)
		ubig((WORD[this->o + 16] & 3) == 2, this->o + 24, WORD[this->o + 16] >> 3, 30);
	else
		ubig(COUNT[this->o] < 0, this->o + 24,
		    COUNT[this->o] < 0 ? -COUNT[this->o] : COUNT[this->o], 30);
}

inline void say_str()
{
	this->width = PYSTATE[this->o] >> 2 & 7;
	this->start = !(PYSTATE[this->o] & 0x20) ? WORD[this->o + compact] :
	    PYSTATE[this->o] & 0x40 ? this->o + ascii : this->o + compact;
	if (this->width == 1 || this->width == 2 || this->width == 4)
		utext(this->start, PYLEN[this->o], this->width);
	else
		uliteral("<str without characters>");
}

/* The entries of this->keys. */
inline void find_entries()
{
	if (minor > 10) {
		this->stride = BYTE[this->keys + 10] ? 16 : 24;
		this->entries = this->keys + k_start + (1ull << (BYTE[this->keys + 9] & 63)) +
		    (this->stride == 16 ? 0 : 8);
	} else {
		this->stride = 24;
		this->most = WORD[this->keys + 8];
		this->entries = this->keys + k_start + 8 + this->most *
		    (this->most <= 0xff ? 1 : this->most <= 0xffff ? 2 :
		    this->most <= 0xffffffff ? 4 : 8);
	}
	this->most = WORD[this->keys + k_count];
	this->order = 0;
	this->step = 1;
}

/* The same of keys whose values, this->values, are elsewhere; another object has others. */
inline void find_split_entries()
{
	find_entries();
	if (minor > 12) {
		this->order = this->values + 8 + 8 * BYTE[this->values];
		this->most = BYTE[this->values + 1];
		this->values += 8;
	} else if (minor > 10) {
		this->order = this->values - 3;
		this->step = -1;
		this->most = BYTE[this->values - 2];
	}
}

/* Sets this->key and this->item to those of the entry this->i; an item of 0: it was deleted. */
inline void get_entry()
{
	this->index = this->order ? BYTE[this->order + this->step * this->i] : this->i;
	this->key = WORD[this->entries + this->index * this->stride];
	this->item = this->values ? WORD[this->values + 8 * this->index] :
	    WORD[this->entries + this->index * this->stride + 8];
}

inline void find_dict_entries(uint64_t dict)
{
	this->keys = WORD[dict + 32];
	this->values = WORD[dict + 40];
	if (this->values)
		find_split_entries();
	else
		find_entries();
}

inline void open_object()
{
	if (!this->opened) {
		this->b = this->t;
		get_name();
		uopen("()", this->str, "=");
		this->opened = 1;
	}
}

/*
 * Finds the entries of the attributes that are in a dict of the object, or would be if it had one:
 * this->most of them.
 */
inline void find_attributes()
{
	this->dict = 0;
	this->values = 0;
	if ((this->flags & MANAGED) && minor == 11) {
		this->values = WORD[this->o - 32];
		this->dict = WORD[this->o - 24];
	} else if ((this->flags & MANAGED) && minor == 12) {
		this->dict = WORD[this->o - 24];
		this->values = this->dict & 1 ? this->dict + 1 : 0;
	} else if (this->flags & MANAGED) {
		this->dict = WORD[this->o - 24];
		this->start = this->o + BASIC_SIZE[this->t];
		if ((this->flags & INLINE) && BYTE[this->start + 3])
			this->values = this->start;
	} else if (DICT_AT[this->t] > 0) {
		this->dict = WORD[this->o + DICT_AT[this->t]];
	} else if (DICT_AT[this->t] < 0) {
		this->count = (this->flags & INT_TYPE) && minor > 11 ? WORD[this->o + 16] >> 3 :
		    COUNT[this->o] < 0 ? -COUNT[this->o] : COUNT[this->o];
		this->dict = WORD[this->o + DICT_AT[this->t] +
		    ((BASIC_SIZE[this->t] + ITEM_SIZE[this->t] * this->count + 7) & ~7ull)];
	}
	this->most = 0;
	if (this->values) {
		this->keys = WORD[this->t + h_name + 24];
		if (this->keys)
			find_split_entries();
	} else if (this->dict && (FLAGS[TYPE[this->dict]] & DICT))
		find_dict_entries(this->dict);
}

inline void say_attributes()
{
	find_attributes();
	this->i = 0;
	while (this->i < this->most && this->shown < arg1; 65536) {
		get_entry();
		if (this->key && this->item) {
			open_object();
			uproperty(this->key, this->item);
			this->shown++;
		}
		this->i++;
	}
	if (this->i < this->most)
		umore(this->most - this->i);
}

/* The attributes that have a place in the object: __slots__, and those of types written in C. */
inline void say_members()
{
	this->b = this->t;
	this->hops = 0;
	while (this->b && this->hops < 32; 32) {
		this->members = WORD[this->b + 240];
		this->index = 0;
		while (this->members && WORD[this->members] && this->index < 256 &&
		    this->shown < arg1; 256) {
			this->width = HALF[this->members + 8];
			this->start = WORD[this->members + 16];
			this->item = (this->width == 6 || this->width == 16) &&
			    this->start < BASIC_SIZE[this->t] ? WORD[this->o + this->start] : 0;
			if (this->item) {
				this->meta = this->b;
				open_object();
				this->b = this->meta;
				uitem(copyinstr(WORD[this->members]), this->item);
				this->shown++;
			}
			this->members += 40;
			this->index++;
		}
		this->b = BASE[this->b];
		this->hops++;
	}
}

inline void say_dict()
{
	get_class(dict_type);
	uopen("{}", this->str, ": ");
	find_dict_entries(this->o);
	this->i = 0;
	this->shown = 0;
	while (this->i < this->most && this->shown < arg1; 65536) {
		get_entry();
		if (this->key && this->item) {
			uentry(this->key, this->item);
			this->shown++;
		}
		this->i++;
	}
	if (PYLEN[this->o] > this->shown)
		umore(PYLEN[this->o] - this->shown);
	this->shown = 0;
	this->opened = 1;
	if (this->t != dict_type) {
		say_members();
		say_attributes();
	}
}

/* In the order of the table, as Python has it. A key that was removed has the hash -1. */
inline void say_set()
{
	get_class(set_type);
	if (this->t == set_type && !WORD[this->o + 24])
		this->str = "set";
	uopen("{}", this->str, ": ");
	this->most = WORD[this->o + 32] + 1;
	this->entries = WORD[this->o + 40];
	this->i = 0;
	this->shown = 0;
	while (this->i < this->most && this->shown < arg1; 65536) {
		this->key = WORD[this->entries + 16 * this->i];
		if (this->key && ~WORD[this->entries + 16 * this->i + 8]) {
			umember(this->key);
			this->shown++;
		}
		this->i++;
	}
	if (WORD[this->o + 24] > this->shown)
		umore(WORD[this->o + 24] - this->shown);
	this->shown = 0;
	this->opened = 1;
	if (this->t != set_type && this->t != frozenset_type) {
		say_members();
		say_attributes();
	}
}

/* Blocks of 64 elements with links on both sides (Modules/_collectionsmodule.c). */
inline void say_deque()
{
	this->b = this->t;
	get_name();
	uopen("[]", this->str, "=");
	this->most = PYLEN[this->o];
	this->start = WORD[this->o + 24];
	this->index = WORD[this->o + 40];
	this->i = 0;
	while (this->start && this->i < this->most && this->i < arg1; 65536) {
		uelement(this->i, WORD[this->start + 8 + 8 * this->index]);
		this->i++;
		this->index++;
		if (this->index == 64) {
			this->index = 0;
			this->start = WORD[this->start + 520];
		}
	}
	if (this->i < this->most)
		umore(this->most - this->i);
	if (*(int64_t *)(this->o + 64) >= 0) {
		uitem("maxlen");
		unumber(*(int64_t *)(this->o + 64));
	}
	this->shown = 0;
	this->opened = 1;
	say_attributes();
}

inline void say_comma(int64_t n)
{
	uliteral(", ");
	unumber(n);
}

/*
 * Year, month and so on are bytes, the highest first, behind a byte that says whether there is a
 * time zone (Include/datetime.h).
 */
inline void say_date()
{
	this->str = copyinstr(TYPE_NAME[this->solid]);
	this->dot = this->str == "datetime.datetime" ? 10 : this->str == "datetime.time" ? 6 : 4;
	this->start = this->o + 25;
	this->item = this->dot > 4 && BYTE[this->o + 24] ?
	    WORD[this->o + (this->dot == 10 ? 40 : 32)] : 0;
	this->str = strjoin(copyinstr(TYPE_NAME[this->t]), "(");
	uliteral(this->str);
	if (this->dot != 6) {
		unumber(BYTE[this->start] << 8 | BYTE[this->start + 1]);
		say_comma(BYTE[this->start + 2]);
		say_comma(BYTE[this->start + 3]);
		this->start += 4;
	}
	if (this->dot == 10)
		uliteral(", ");
	if (this->dot > 4) {
		unumber(BYTE[this->start]);
		say_comma(BYTE[this->start + 1]);
		this->count = BYTE[this->start + 3] << 16 | BYTE[this->start + 4] << 8 |
		    BYTE[this->start + 5];
		if (BYTE[this->start + 2] || this->count)
			say_comma(BYTE[this->start + 2]);
		if (this->count)
			say_comma(this->count);
		if (BYTE[this->start + 6] == 1)
			uliteral(", fold=1");
	}
	if (this->item) {
		uliteral(", tzinfo=");
		this->b = TYPE[this->item];
		get_name();
		uliteral(this->str);
	}
	uliteral(")");
}

/* Ten digits of a number. */
inline string PADDED[string digits] = strjoin(substr("0000000000", strlen(digits)), digits);

/*
 * Words of 19 digits, the lowest first, and an exponent (Modules/_decimal/libmpdec/mpdecimal.h); as
 * repr() of Decimal writes it. Of one with more than 190 digits, the first and how many there are.
 */
inline void say_decimal()
{
	this->flags = BYTE[this->o + 24];
	this->n = *(int64_t *)(this->o + 40);
	this->count = *(int64_t *)(this->o + 32);
	this->i = WORD[this->o + 48];
	this->start = WORD[this->o + 64];
	uliteral(this->t == this->solid ? "Decimal('" : strjoin(copyinstr(TYPE_NAME[this->t]), "('"));
	uliteral(this->flags & 1 ? "-" : "");
	this->str = "";
	this->most = 0;
	while (this->i && this->most < 10; 10) {
		this->i--;
		this->item = WORD[this->start + 8 * this->i];
		this->digits = lltostr(this->item / 10000000000ull);
		this->str = strjoin(this->str, this->digits == "0" && this->str == "" ? "" :
		    this->str == "" ? this->digits :
		    substr(PADDED[this->digits], 1));
		this->digits = lltostr(this->item % 10000000000ull);
		this->str = strjoin(this->str, this->str == "" ? this->digits : PADDED[this->digits]);
		this->most++;
	}
	/* where the point is, from the first digit on */
	this->point = this->n + this->count;
	if (this->flags & 2)
		uliteral("Infinity");
	else if (this->flags & 12) {
		uliteral(this->flags & 8 ? "sNaN" : "NaN");
		if (this->n)
			uliteral(this->str);
	} else if (this->i)
		uliteral(strjoin(substr(this->str, 0, 19), strjoin("... with ",
		    strjoin(lltostr(this->n), " digits"))));
	else if (this->count == 0)
		uliteral(this->str);
	else if (this->count < 0 && this->point > 0) {
		uliteral(substr(this->str, 0, this->point));
		uliteral(".");
		uliteral(substr(this->str, this->point));
	} else if (this->count < 0 && this->point > -6) {
		uliteral("0.");
		uliteral(substr("000000", 0, -this->point));
		uliteral(this->str);
	} else {
		uliteral(substr(this->str, 0, 1));
		uliteral(this->n > 1 ? "." : "");
		uliteral(substr(this->str, 1));
		uliteral(this->point > 0 ? "E+" : "E");
		unumber(this->point - 1);
	}
	uliteral("')");
}

inline void say_timedelta()
{
	this->str = strjoin(copyinstr(TYPE_NAME[this->t]), "(");
	uliteral(this->str);
	this->str = "";
	this->count = *(int *)(this->o + 24);
	if (this->count) {
		uliteral("days=");
		unumber(this->count);
		this->str = ", ";
	}
	if (HALF[this->o + 28]) {
		uliteral(this->str);
		uliteral("seconds=");
		unumber(HALF[this->o + 28]);
		this->str = ", ";
	}
	if (HALF[this->o + 32]) {
		uliteral(this->str);
		uliteral("microseconds=");
		unumber(HALF[this->o + 32]);
	}
	if (!this->count && !HALF[this->o + 28] && !HALF[this->o + 32])
		uliteral("0");
	uliteral(")");
}

/* Elements of a list or a tuple. */
inline void say_elements()
{
	this->i = 0;
	this->most = PYLEN[this->o];
	this->start = (this->flags & LIST) ? WORD[this->o + 24] : this->o + 24;
	while (this->i < this->most && this->i < arg1; 65536) {
		this->item = WORD[this->start + 8 * this->i];
		if (this->item)
			uelement(this->i, this->item);
		else {
			uelement(this->i);
			uliteral("<NULL>");
		}
		this->i++;
	}
	if (this->i < this->most)
		umore(this->most - this->i);
	this->shown = 0;
	this->opened = 1;
	if (this->t != list_type && this->t != tuple_type) {
		say_members();
		say_attributes();
	}
}

/* What it was made of; its cause, or what was handled when it was raised; attributes. */
inline void say_exception()
{
	open_object();
	this->start = WORD[this->o + 24];
	this->most = IS_POINTER[this->start] && TYPE[this->start] == tuple_type ?
	    PYLEN[this->start] : 0;
	this->i = 0;
	while (this->i < this->most && this->i < arg1; 1024) {
		uelement(this->i, WORD[this->start + 24 + 8 * this->i]);
		this->i++;
	}
	if (this->i < this->most)
		umore(this->most - this->i);
	this->shown = 0;
	say_attributes();
	if (WORD[this->o + e_before + 8])
		uitem("__cause__", WORD[this->o + e_before + 8]);
	else if (WORD[this->o + e_before])
		uitem("__context__", WORD[this->o + e_before]);
}

/* The dict of a class has the name of its module, which other types have in their names. */
inline void say_type()
{
	this->str = copyinstr(TYPE_NAME[this->o]);
	uliteral("<class '");
	this->dict = (FLAGS[this->o] & HEAP) && index(this->str, ".") < 0 ? WORD[this->o + 264] : 0;
	if (this->dict && (FLAGS[TYPE[this->dict]] & DICT)) {
		find_dict_entries(this->dict);
		this->i = 0;
		this->item = 0;
		this->key = 0;
		while (this->i < this->most && !this->shown && this->i < 64; 64) {
			get_entry();
			this->shown = this->key && this->item && PYLEN[this->key] == 10 &&
			    (FLAGS[TYPE[this->key]] & FLAGS[TYPE[this->item]] & STR) &&
			    PYSTR[this->key] == "__module__";
			this->i++;
		}
		if (this->shown && PYSTR[this->item] != "builtins") {
			uliteral(PYSTR[this->item]);
			uliteral(".");
		}
		this->str = PYSTR[WORD[this->o + h_name + 16]];
	}
	uliteral(this->str);
	uliteral("'>");
}

/* As Python writes what it knows nothing of. */
inline void say_address()
{
	this->b = this->t;
	get_name();
	uliteral("<");
	uliteral(this->str);
	uliteral(" object ");
	if (this->t == gen_type || this->t == coro_type || this->t == agen_type) {
		uliteral(PYSTR[WORD[this->o + g_name]]);
		uliteral(" ");
	}
	uliteral("at ");
	uliteral(lltostr(this->o, 16));
	uliteral(">");
}

/* ---- tasks of asyncio, written in C ---- */

this uint64_t task_type; /* the type Task, from which the task's own one is derived; 0: none */
this uint64_t future_type;
this uint64_t coro_at;	 /* what a task has behind what futures have */
this uint64_t code;
this uint64_t state;
this uint64_t instr;
this uint64_t first;
/* of the helper's blocks */
this uint64_t at;
this uint64_t body;
this uint64_t top;
this uint64_t table;
this int line;

inline void find_task_type(uint64_t type)
{
	this->b = type;
	this->task_type = 0;
	this->future_type = 0;
	this->hops = 0;
	while (this->b && !this->future_type && this->hops < 16; 16) {
		if (IS_NAMED_TASK[TYPE_NAME[this->b]])
			this->task_type = this->b;
		else if (IS_NAMED_FUTURE[TYPE_NAME[this->b]])
			this->future_type = this->b;
		this->b = BASE[this->b];
		this->hops++;
	}
	this->coro_at = this->task_type && this->future_type ?
	    BASIC_SIZE[this->future_type] + t_coro : 0;
	if (!this->coro_at)
		this->task_type = 0;
}

/* Whether a future is done: 0 no, 1 it was cancelled, 2 yes. */
inline uint32_t FUTURE_STATE[uint64_t o, uint64_t type] =
    HALF[o + (minor > 12 ? BASIC_SIZE[type] - 8 : DICT_AT[type] - 16)];
inline uint64_t FUTURE_RESULT[uint64_t o, uint64_t type] =
    WORD[o + (minor < 10 ? 56 : minor == 10 ? DICT_AT[type] - 40 : 64)];
inline uint64_t FUTURE_ERROR[uint64_t o] = WORD[o + 48];
inline uint64_t TASK_AWAITS[uint64_t o, uint64_t coro_at] = WORD[o + coro_at - 8];

/* Whether the code of a coroutine runs. */
inline int IS_EXECUTED[uint64_t coro] = minor > 10 ? BYTE[GEN_FRAME[coro] - 5] == 0 :
    minor == 10 ? GEN_FRAME[coro] && BYTE[GEN_FRAME[coro] + f_last + 12] == 0 : BYTE[coro + 24];

inline string STATE_TEXT[uint64_t o, uint64_t future, uint64_t coro_at] =
    FUTURE_STATE[o, future] == 1 ? "cancelled" :
    FUTURE_STATE[o, future] == 2 ? (FUTURE_ERROR[o] ? "failed" : "finished") :
    !coro_at || TASK_AWAITS[o, coro_at] ? "waiting" :
    IS_GEN[TYPE[WORD[o + coro_at]]] && IS_EXECUTED[WORD[o + coro_at]] ? "running" : "ready";

/* The name of a task is a number while nobody has asked for it (3.12 and later). */
inline string TASK_NAME[uint64_t name] = !IS_POINTER[name] ? "?" :
    FLAGS[TYPE[name]] & STR ? PYSTR[name] : FLAGS[TYPE[name]] & INT_TYPE ?
    strjoin("Task-", lltostr((uint64_t)HALF[name + 24])) : "?";

/* Where the generator or coroutine is: "leaf (app.py:12)", in this->str. */
inline void find_place(uint64_t coro)
{
	this->body = GEN_FRAME[coro];
	this->code = this->body ? REF[this->body + f_code] : 0;
	this->str = this->code ? PYSTR[WORD[this->code + c_name]] : "(ended)";
	if (this->code) {
		this->instr = minor > 10 ? WORD[this->body + f_last] : HALF[this->body + f_last];
		this->first = HALF[this->code + c_first];
		this->table = WORD[this->code + c_lines];
		find_line();
		this->str = strjoin(this->str, strjoin(" (", strjoin(
		    basename(PYSTR[WORD[this->code + c_file]]), strjoin(":",
		    strjoin(lltostr((int)this->first + this->line), ")")))));
	}
}

/* Sets this->at to the innermost one of the generators and coroutines that wait for each other. */
inline void find_innermost(uint64_t coro)
{
	this->at = coro;
	this->item = coro;
	while (this->at; 1000) {
		this->item = this->at;
		find_next();
	}
	this->at = this->item;
}

inline void say_future()
{
	open_object();
	this->key = this->coro_at ? WORD[this->o + this->coro_at + 8] : 0;
	if (IS_POINTER[this->key] && (FLAGS[TYPE[this->key]] & STR))
		uitem("name", this->key);
	else if (this->key) {
		uitem("name");
		uliteral(TASK_NAME[this->key]);
	}
	uitem("state");
	uliteral(STATE_TEXT[this->o, this->future_type, this->coro_at]);
	if (this->coro_at && WORD[this->o + this->coro_at])
		uitem("coro", WORD[this->o + this->coro_at]);
	if (this->coro_at && TASK_AWAITS[this->o, this->coro_at])
		uitem("waits_for", TASK_AWAITS[this->o, this->coro_at]);
	if (FUTURE_STATE[this->o, this->future_type] == 2 && FUTURE_ERROR[this->o])
		uitem("exception", FUTURE_ERROR[this->o]);
	else if (FUTURE_STATE[this->o, this->future_type] == 2)
		uitem("result", FUTURE_RESULT[this->o, this->future_type]);
}

inline void say_instance()
{
	if ((this->flags & MANAGED) || DICT_AT[this->t])
		open_object();
	if (this->t != frame_type) /* it leads to all variables of the program */
		say_members();
	say_attributes();
	if (!this->opened)
		say_address();
}

/*
 * What the type is derived from: 1 deque, 2 timedelta, 3 date, datetime or time, 4 Decimal. this->solid: which
 * of these; some are made like those of class statements.
 */
inline void find_known_type()
{
	this->known = 0;
	this->b = this->t;
	this->hops = 0;
	while (this->b && !this->known && this->hops < 16; 16) {
		this->str = copyinstr(TYPE_NAME[this->b]);
		this->known = this->str == "collections.deque" ? 1 :
		    this->str == "decimal.Decimal" ? 4 : this->str == "datetime.timedelta" ? 2 : this->str == "datetime.datetime" ||
		    this->str == "datetime.date" || this->str == "datetime.time" ? 3 : 0;
		this->solid = this->known ? this->b : this->solid;
		this->b = BASE[this->b];
		this->hops++;
	}
}

inline void say_other()
{
	this->known = ~0ull; /* it is one of the following */
	this->solid = this->t;
	this->hops = 0;
	while ((FLAGS[this->solid] & HEAP) && BASE[this->solid] && this->hops < 32; 32) {
		this->solid = BASE[this->solid];
		this->hops++;
	}
	if (this->solid == float_type)
		udouble(WORD[this->o + 16], 1);
	else if (this->solid == set_type || this->solid == frozenset_type)
		say_set();
	else if (this->solid == function_type) {
		uliteral("<function ");
		uliteral(PYSTR[WORD[this->o + d_name]]);
		uliteral(">");
	} else if (this->solid == builtin_type) {
		uliteral("<built-in function ");
		uliteral(copyinstr(WORD[WORD[this->o + 16]]));
		uliteral(">");
	} else if (this->solid == module_type) {
		this->key = WORD[this->o + 48];
		this->str = IS_POINTER[this->key] && (FLAGS[TYPE[this->key]] & STR) ?
		    strjoin("module ", PYSTR[this->key]) : "module";
		uopen("()", this->str, "=");
		this->opened = 1;
		say_attributes();
	} else if (this->solid == code_type) {
		uliteral("<code ");
		uliteral(PYSTR[WORD[this->o + c_name]]);
		uliteral(">");
	} else if (this->solid == complex_type) {
		uliteral("complex(");
		udouble(WORD[this->o + 16], 1);
		uliteral(", ");
		udouble(WORD[this->o + 24], 1);
		uliteral(")");
	} else if (this->solid == bytearray_type) {
		uopen("()", "bytearray", "=");
		uelement(0);
		uliteral("b");
		utext(WORD[this->o + 40], PYLEN[this->o], 1);
	} else if (this->t == gen_type || this->t == coro_type || this->t == agen_type)
		say_address();
	else {
		find_known_type();
		if (this->known == 1)
			say_deque();
		else if (this->known == 2)
			say_timedelta();
		else if (this->known == 3)
			say_date();
		else if (this->known == 4)
			say_decimal();
	}
	if (this->known == 0) {
		find_task_type(this->t);
		if (this->future_type)
			say_future();
		say_instance();
	}
}

dtrace:helper:value:
/(arg0 & 7) == 1/
{
	find_type(arg0 - 1);
	if (this->t && (FLAGS[this->t] & CLASS))
		uliteral(copyinstr(TYPE_NAME[arg0 - 1]));
}

dtrace:helper:value:
/(arg0 & 7) == 0/
{
	find_type(arg0);
	this->o = arg0;
	this->flags = this->t ? FLAGS[this->t] : 0;
	this->opened = 0;
	this->shown = 0;
	if (!this->t)
		this->o = 0;
	else if (this->o == none)
		uliteral("None");
	else if (this->o == true_object)
		uliteral("True");
	else if (this->o == false_object)
		uliteral("False");
	else if (this->o == ellipsis)
		uliteral("Ellipsis");
	else if (this->o == not_implemented)
		uliteral("NotImplemented");
	else if (this->flags & INT_TYPE)
		say_int();
	else if (this->flags & STR)
		say_str();
	else if (this->flags & BYTES) {
		uliteral("b");
		utext(this->o + 32, PYLEN[this->o], 1);
	} else if (this->flags & LIST) {
		get_class(list_type);
		uopen("[]", this->str, "=");
		say_elements();
	} else if (this->flags & TUPLE) {
		get_class(tuple_type);
		uopen("()", this->str, "=");
		say_elements();
	} else if (this->flags & DICT)
		say_dict();
	else if (this->flags & EXCEPTION)
		say_exception();
	else if (this->flags & CLASS)
		say_type();
	else
		say_other();
}

dtrace:helper:type:
{
	find_type(arg0);
	if (this->t)
		uliteral(copyinstr(TYPE_NAME[this->t]));
}

this uint64_t l_code;
this uint64_t l_names;
this uint64_t l_kinds;
this uint64_t l_item;
this uint64_t l_dict;
this uint64_t l_at;
this uint64_t l_i;
this uint64_t l_n;

/* A variable that an inner function uses is in a cell, once the function has begun. */
inline void say_variables(uint64_t names, int is_cell)
{
	this->l_names = names;
	this->l_n = PYLEN[this->l_names];
	this->l_i = 0;
	while (this->l_i < this->l_n && this->l_i < 4096; 4096) {
		this->l_item = WORD[this->l_at + 8 * this->l_i];
		if (this->l_item && (is_cell || this->l_kinds &&
		    (BYTE[this->l_kinds + 32 + this->l_i] & 0xc0)) &&
		    TYPE[this->l_item] == cell_type)
			this->l_item = WORD[this->l_item + 16];
		if (this->l_item)
			ulocal(WORD[this->l_names + 24 + 8 * this->l_i], this->l_item);
		this->l_i++;
	}
	this->l_at += 8 * this->l_n;
}

/*
 * The variables of a module or the body of a class are in a dict; those that Python itself makes,
 * and values of which a module has a name only, are left out.
 */
inline void say_dict_variables(uint64_t dict)
{
	find_dict_entries(dict);
	this->l_i = 0;
	this->shown = 0;
	this->i = 0;
	while (this->i < this->most && this->shown < 100; 4096) {
		get_entry();
		if (this->key && this->item && (FLAGS[TYPE[this->key]] & STR) &&
		    substr(PYSTR[this->key], 0, 2) != "__" &&
		    TYPE[this->item] != module_type && TYPE[this->item] != function_type &&
		    !(FLAGS[TYPE[this->item]] & CLASS)) {
			ulocal(this->key, this->item);
			this->shown++;
		}
		this->i++;
	}
}

dtrace:helper:locals:
/arg7/
{
	this->l_code = REF[this->own + f_code];
	this->l_at = this->own + f_local;
	this->l_kinds = minor > 10 ? WORD[this->l_code + c_kinds] : 0;
	say_variables(WORD[this->l_code + c_locals], 0);
	/* CO_OPTIMIZED: of a function, whose dict is what locals() has made */
	this->l_dict = HALF[this->l_code + (minor > 10 ? 48 : 36)] & 1 ? 0 :
	    WORD[this->own + f_dict];
	if (minor < 11) {
		say_variables(WORD[this->l_code + c_kinds], 1);
		say_variables(WORD[this->l_code + c_free], 1);
	}
	if (this->l_dict && IS_POINTER[this->l_dict] && (FLAGS[TYPE[this->l_dict]] & DICT))
		say_dict_variables(this->l_dict);
}

/*
 * The exception that is on its way through the frames of the thread, and the one of the innermost
 * "except" or "finally" that runs. Where these are in 3.13 and later is not known.
 */
dtrace:helper:locals:
/arg7 && this->thread && t_items/
{
	this->l_item = WORD[this->thread + t_raised];
	if (IS_POINTER[this->l_item])
		uitem("raised", this->l_item);
	this->l_at = WORD[this->thread + t_items];
	this->l_item = 0;
	while (IS_POINTER[this->l_at] && !this->l_item; 64) {
		this->l_item = WORD[this->l_at + (minor > 10 ? 0 : 8)];
		if (!IS_POINTER[this->l_item] || this->l_item == none)
			this->l_item = 0;
		this->l_at = WORD[this->l_at + (minor > 10 ? 8 : 24)];
	}
	if (this->l_item)
		uitem("handled", this->l_item);
}

/* Kinds of classes, as a census knows them. */
inline int SHOWN = 1;
inline int APART = 64; /* of objects that have items elsewhere in memory */
inline int TASK = 0x20000;
inline int PARKED = 0x40000;
inline int ROOT = 0x80000; /* of objects that the program has by their names */

/* The lists of three generations, and of objects that gc.freeze() keeps out of them. */
dtrace:helper:heap:
{
	this->o = minor > 8 ? WORD[heads] : g_lists;
	this->i = 0;
	while (this->o && this->i < 32; 32) {
		this->start = (minor > 8 ? this->o + g_lists : g_lists) + 24;
		ulist(this->start, 0, ~3ull, 16, 8);
		ulist(this->start + 24, 0, ~3ull, 16, 8);
		ulist(this->start + 48, 0, ~3ull, 16, 8);
		ulist(this->start + 80, 0, ~3ull, 16, 8);
		this->o = minor > 8 ? WORD[this->o + i_next] : 0;
		this->i++;
	}
}

dtrace:helper:class:
{
	find_type(arg0);
	if (this->t && (FLAGS[this->t] & CLASS)) {
		this->flags = FLAGS[arg0];
		this->solid = arg0;
		this->hops = 0;
		while ((FLAGS[this->solid] & HEAP) && BASE[this->solid] && this->hops < 32; 32) {
			this->solid = BASE[this->solid];
			this->hops++;
		}
		find_task_type(arg0);
		uclass(SHOWN | (this->task_type ? TASK : IS_GEN[arg0] ? PARKED : 0) |
		    (this->solid == module_type ? ROOT : 0) | ((this->flags & (LIST | DICT | MANAGED)) || DICT_AT[arg0] ||
		    this->solid == set_type || this->solid == frozenset_type ? APART : 0),
		    BASIC_SIZE[arg0], arg0 | 1);
		/* Generators have their variables as items, and their number in their code. */
		if (ITEM_SIZE[arg0] && !IS_GEN[arg0])
			ucount(16, 0, ITEM_SIZE[arg0], BASIC_SIZE[arg0]);
	}
}

/* The names in __slots__, and those that the dicts of the class's objects share. */
dtrace:helper:shape:
/FLAGS[arg0] & HEAP/
{
	this->o = WORD[arg0 + h_name + 8];
	this->most = IS_POINTER[this->o] && TYPE[this->o] == tuple_type ? PYLEN[this->o] : 0;
	this->i = 0;
	while (this->i < this->most && this->i < 64; 64) {
		uprop(WORD[this->o + 24 + 8 * this->i]);
		this->i++;
	}
	this->keys = WORD[arg0 + h_name + 24];
	this->most = 0;
	if (this->keys)
		find_entries();
	this->i = 0;
	this->values = 0;
	while (this->i < this->most && this->i < 64; 64) {
		get_entry();
		if (this->key)
			uprop(this->key);
		this->i++;
	}
}

this uint64_t thread;
this uint64_t outer;  /* its outermost frame */
this uint64_t interp; /* the interpreter of a thread */
this uint64_t called; /* its name */

/* Whether it is the code of a function; a frame that belongs to C has none. */
inline int IS_CODE[uint64_t o] = IS_POINTER[o] && TYPE[o] == code_type;

/* Sets this->called to the attribute _name of the object. */
inline void find_thread_name(uint64_t o)
{
	this->called = 0;
	find_type(o);
	this->o = (o);
	this->flags = this->t ? FLAGS[this->t] : 0;
	this->most = 0;
	if (this->t)
		find_attributes();
	this->i = 0;
	while (this->i < this->most && !this->called; 256) {
		get_entry();
		if (this->key && this->item && (FLAGS[TYPE[this->key]] & STR) &&
		    PYSTR[this->key] == "_name")
			this->called = this->item;
		this->i++;
	}
}

/*
 * A thread has a state in an interpreter. Its outermost function is Thread._bootstrap(), whose
 * first variable is the object of the thread, which has the name; in the main thread, it is a module.
 */
dtrace:helper:thread:
{
	this->interp = WORD[heads];
	this->thread = 0;
	this->hops = 0;
	while (this->interp && !this->thread && this->hops < 32; 32) {
		this->thread = WORD[this->interp + i_threads];
		this->i = 0;
		while (this->thread && WORD[this->thread + t_id] != arg0 && this->i < 10000; 10000) {
			this->thread = WORD[this->thread + 8];
			this->i++;
		}
		this->interp = this->thread ? this->interp : WORD[this->interp + i_next];
		this->hops++;
	}
	if (this->thread) {
		uitem("thread", this->thread);
		this->own = WORD[this->thread + t_frame];
		if (this->own && t_frame == 56)
			this->own = WORD[this->own + c_frame];
		this->outer = 0;
		this->i = 0;
		while (this->own && this->i < 20000; 20000) {
			if (IS_CODE[REF[this->own + f_code]])
				this->outer = this->own;
			this->own = WORD[this->own + f_back];
			this->i++;
		}
		this->code = this->outer ? REF[this->outer + f_code] : 0;
		this->called = 0;
		if (this->code && PYSTR[WORD[this->code + c_name]] == "_bootstrap")
			find_thread_name(REF[this->outer + f_local]);
		else if (this->code && PYSTR[WORD[this->code + c_name]] == "<module>") {
			uitem("name");
			uliteral("MainThread");
		}
		if (this->called)
			uitem("name", this->called);
		if (this->interp != WORD[heads])
			uitem("interpreter", this->interp);
	}
}

/*
 * The tasks of asyncio are among the objects of the census, also those that are done and still
 * referred to. Each is a row of a table: the innermost coroutine is where it waits.
 */
dtrace:helper:task:
{
	find_type(arg0);
	this->o = arg0;
	if (this->t)
		find_task_type(this->t);
	if (this->t && this->task_type) {
		this->start = WORD[this->o + this->coro_at];
		this->start = this->start && IS_GEN[TYPE[this->start]] ? this->start : 0;
		this->state = FUTURE_STATE[this->o, this->future_type];
		this->key = TASK_AWAITS[this->o, this->coro_at];
		uitem("name");
		uliteral(TASK_NAME[WORD[this->o + this->coro_at + 8]]);
		uitem("state");
		uliteral(STATE_TEXT[this->o, this->future_type, this->coro_at]);
		uitem("coroutine");
		uliteral(this->start ? PYSTR[WORD[this->start + g_name]] : "-");
		find_innermost(this->state ? 0 : this->start);
		if (this->at)
			find_place(this->at);
		uitem("place");
		uliteral(this->at ? this->str : "-");
		uitem("waits for");
		this->t = this->key ? TYPE[this->key] : 0;
		if (this->t) {
			find_task_type(this->t);
			this->b = this->t;
			get_name();
		}
		uliteral(!this->t ? "-" : this->task_type ?
		    TASK_NAME[WORD[this->key + this->coro_at + 8]] : this->str);
	}
}

/* A generator or a coroutine by itself: one that has not ended. */
inline int IS_PARKED[uint64_t coro] = minor > 10 ? BYTE[GEN_FRAME[coro] - 5] > 127 :
    GEN_FRAME[coro] && !IS_EXECUTED[coro];

dtrace:helper:task:
/IS_GEN[TYPE[arg0]]/
{
	if (IS_PARKED[arg0] || IS_EXECUTED[arg0]) {
		uitem("kind");
		uliteral(TYPE[arg0] == coro_type ? "coroutine" : TYPE[arg0] == gen_type ?
		    "generator" : "async generator");
		uitem("name", WORD[arg0 + g_name]);
		uitem("state");
		uliteral(IS_PARKED[arg0] ? "suspended" : "running");
	}
}

dtrace:helper:task:
/arg1/
{
	find_type(arg0);
	this->o = arg0;
	find_task_type(this->t);
	if (this->task_type) {
		uitem("coroutine object", WORD[this->o + this->coro_at]);
		if (TASK_AWAITS[this->o, this->coro_at])
			uitem("what it waits for", TASK_AWAITS[this->o, this->coro_at]);
		if (FUTURE_STATE[this->o, this->future_type] == 2 && FUTURE_ERROR[this->o])
			uitem("exception", FUTURE_ERROR[this->o]);
		else if (FUTURE_STATE[this->o, this->future_type] == 2)
			uitem("result", FUTURE_RESULT[this->o, this->future_type]);
	}
}

/*
 * The coroutines that wait for each other, each with its variables: objects lead inwards only. Those
 * in the stack of another one are not parked by themselves.
 */
dtrace:helper:backtrace:
{
	find_type(arg0);
	this->o = arg0;
	find_task_type(this->t);
	this->start = this->task_type ? WORD[this->o + this->coro_at] : 0;
	this->start = this->start && IS_GEN[TYPE[this->start]] &&
	    !FUTURE_STATE[this->o, this->future_type] ? this->start : 0;
	if (IS_GEN[TYPE[arg0]])
		this->start = IS_PARKED[arg0] ? (uint64_t)arg0 : 0;
	uopen("", "reversed", "");
	while (this->start; 1000) {
		find_place(this->start);
		uitem(this->str);
		umember(this->start);
		if (this->code) {
			this->l_code = this->code;
			this->l_at = this->body + f_local;
			this->l_kinds = minor > 10 ? WORD[this->l_code + c_kinds] : 0;
			say_variables(WORD[this->l_code + c_locals], 0);
		}
		if (this->code && minor < 11) {
			say_variables(WORD[this->l_code + c_kinds], 1);
			say_variables(WORD[this->l_code + c_free], 1);
		}
		this->at = this->start;
		find_next();
		this->start = this->at;
	}
}
