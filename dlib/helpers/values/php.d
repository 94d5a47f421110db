/* SPDX-License-Identifier: MIT */
/*
 * Values of PHP 7.4 to 8.4, for debuggers: values of all types, properties of objects, variables of
 * frames, what closures have captured, and the table of objects.
 *
 * A word is the address of a string, an array, an object, a resource or a reference. Its low bits
 * say what it is otherwise: the address of a zval, the name of a property, an index, a class, whose
 * static properties it stands for, or a frame, for its variables. Those of the last two kinds and
 * names are not values that a program has.
 *
 * A reference is shown as what it refers to, with "&" before it if it is not the only one. What
 * classes of extensions have outside of their properties is not shown.
 *
 * Offsets: Zend/zend_types.h, Zend/zend_globals.h, Zend/zend.h, Zend/zend_compile.h,
 * Zend/zend_closures.c.
 */
table VALUES { /*	       7.4  8.0  8.1  8.2  8.3  8.4 */
	uint64_t v_version  =	74,  80,  81,  82,  83,	 84;
	/* in executor_globals: the table of objects */
	uint64_t g_objects  =  840, 840, 840, 840, 840, 856;
	/* in compiler_globals: what offsets of data of a request count from */
	uint64_t g_base	    =  528,   0, 480, 480, 480, 512;
	/* of a class: an array of descriptions of its properties */
	uint64_t c_table    =  232, 232, 248, 248, 248, 248;
	/* of a function (zend_op_array): the number of its variables, that of its temporaries */
	uint64_t f_count    =	52,  60,  60,  76,  72,	 92;
	uint64_t f_temps    =	56,  64,  64,  56,  64,	 72;
	/* its size */
	uint64_t f_size	    =  224, 232, 240, 248, 240, 256;
	uint64_t indirect   =	13,  12,  12,  12,  12,	 12;
	uint64_t pointer    =	14,  13,  13,  13,  13,	 13;
};

uint64_t objects, globals, classes, base, closure_class;
uint64_t fiber_class, generator_class;
uint64_t exception_class, error_class; /* what all that can be thrown derives from */

dtrace:helper:attach:
{
	if (!VALUES[version])
		udecline("values of this version of PHP are not known (those of 7.4 to 8.4 are)");
	this->globals = symaddr("executor_globals");
	objects = this->globals + g_objects;
	globals = this->globals + 304;
	classes = this->globals + 440;
	base = g_base && symaddr("compiler_globals") ? symaddr("compiler_globals") + g_base : 0;
	closure_class = symaddr("zend_ce_closure");
	exception_class = symaddr("zend_ce_exception");
	error_class = symaddr("zend_ce_error");
	fiber_class = symaddr("zend_ce_fiber"); /* from 8.1 on */
	generator_class = version < 80 ? 0 : symaddr("zend_ce_generator");
}

/* of the helper's blocks, as is this->self, a frame, whose name cannot be declared */
this uint64_t globals;
this uint64_t func;
this uint32_t info;

this uint64_t o;    /* the value without its tag */
this uint64_t t;    /* its type; 0: it is no value */
this uint64_t z;    /* a zval */
this uint64_t item; /* its word; 0: it is not set */
this int is_ref;
this uint64_t a; /* an array, and what it has */
this uint64_t used;
this uint64_t count;
this uint64_t data;
this uint64_t stride;
this uint64_t thin; /* it has values without keys */
this uint64_t key;
this uint64_t i;
this uint64_t k;
this uint64_t n;
this uint64_t shown;
this uint64_t class;
this uint64_t table;
this uint64_t description;
this uint64_t text;
this uint64_t hops;
this uint64_t status;
this string str;

inline uint64_t NULL_TYPE = 1;
inline uint64_t FALSE_TYPE = 2;
inline uint64_t TRUE_TYPE = 3;
inline uint64_t INT_TYPE = 4;
inline uint64_t FLOAT_TYPE = 5;
inline uint64_t STRING = 6;
inline uint64_t ARRAY = 7;
inline uint64_t OBJECT = 8;
inline uint64_t RESOURCE = 9;
inline uint64_t REFERENCE = 10;
inline uint64_t CONSTANT = 11; /* an expression that was not evaluated yet */
/* tags of words */
inline uint64_t ZVAL = 1;
inline uint64_t PROPERTY = 2;
inline uint64_t INDEX_AT = 3;
inline uint64_t INDEX = 4;
inline uint64_t STATICS = 5;
inline uint64_t VARIABLES = 6;

inline uint64_t ZTYPE[uint64_t z] = BYTE[z + 8];
inline uint64_t COUNTED[uint64_t a] = IS_POINTER[a] ? BYTE[a + 4] & 15 : 0;
inline int IS_COUNTED[uint64_t t] = t >= STRING && t <= RESOURCE;
inline uint64_t PROPERTIES = 40; /* of an object */
inline uint64_t CLASS[uint64_t o] = WORD[o + 16];
inline uint32_t PROPERTY_COUNT[uint64_t class] = HALF[class + 32];
inline int IS_ENUM[uint64_t class] = HALF[class + 28] >> 28 & 1;
inline uint64_t CLOSURE_FUNC = 56;
inline uint64_t FRAME_ARGS = 44; /* of a frame: how many arguments there are; the first variable */
inline uint64_t FRAME_VARS = 80;
inline uint32_t IS_VARIADIC = 1 << 14;
inline uint64_t NAMES[uint64_t func] = WORD[func + filename - 40];

/* The word of the zval at z, in this->item. */
inline void get_word(uint64_t z)
{
	this->z = z;
	this->is_ref = 0;
	this->hops = 0;
	while (this->hops < 3 && (ZTYPE[this->z] == indirect || ZTYPE[this->z] == REFERENCE); 3) {
		this->is_ref |= ZTYPE[this->z] == REFERENCE && HALF[WORD[this->z]] > 1;
		this->z = WORD[this->z] + (ZTYPE[this->z] == REFERENCE ? 8 : 0);
		this->hops++;
	}
	this->item = IS_COUNTED[ZTYPE[this->z]] ? WORD[this->z] :
	    ZTYPE[this->z] ? this->z | ZVAL : 0;
}

/* A class is one of C or of PHP, and has a name. */
inline int IS_CLASS[uint64_t c] = IS_POINTER[c] && (BYTE[c] == 1 || BYTE[c] == 2) &&
    COUNTED[WORD[c + 8]] == STRING;
inline int IS_POWER[uint64_t n] = n && !(n & n - 1);

/* Sets this->o and this->t of a word; what is damaged has no type. */
inline void find_value(uint64_t word)
{
	this->t = 0;
	this->o = word;
	if ((word & 7) == ZVAL && IS_POINTER[word - ZVAL]) {
		get_word(word - ZVAL);
		this->t = ZTYPE[this->z];
		this->o = this->t >= STRING ? WORD[this->z] : this->z;
		if (this->t < STRING && HALF[this->z + 8] != this->t || this->t > CONSTANT)
			this->t = 0;
	}
	if ((word & 7) == 0 && COUNTED[word] == REFERENCE) {
		get_word(word + 8);
		this->t = ZTYPE[this->z];
		this->o = this->t >= STRING ? WORD[this->z] : this->z;
	} else if ((word & 7) == 0)
		this->t = COUNTED[word];
	if (this->t == STRING && (COUNTED[this->o] != STRING ||
	    WORD[this->o + STRING_LENGTH] >> 32 ||
	    BYTE[this->o + STRING_TEXT + WORD[this->o + STRING_LENGTH]]))
		this->t = 0;
	if (this->t == ARRAY && (COUNTED[this->o] != ARRAY || !IS_POWER[HALF[this->o + 32]] ||
	    HALF[this->o + 24] > HALF[this->o + 32] || HALF[this->o + 28] > HALF[this->o + 24] ||
	    INT[this->o + 12] >= 0))
		this->t = 0;
	if (this->t == OBJECT && (COUNTED[this->o] != OBJECT || !IS_CLASS[CLASS[this->o]] ||
	    !IS_POINTER[WORD[this->o + 24]]))
		this->t = 0;
	if (this->t == RESOURCE && (COUNTED[this->o] != RESOURCE || !HALF[this->o + 8]))
		this->t = 0;
	if ((word & 7) == 0 && !IS_COUNTED[this->t] && COUNTED[word] != REFERENCE)
		this->t = 0;
}

/* The array this->a. */
inline void find_elements()
{
	this->used = HALF[this->a + 24];
	this->count = HALF[this->a + 28];
	this->data = WORD[this->a + 16];
	this->thin = version >= 82 && (HALF[this->a + 8] & 4);
	this->stride = this->thin ? 16 : 32;
}

/* The word of the key of the element this->i: a text, or an index. */
inline void get_key()
{
	this->key = this->thin ? this->i << 3 | INDEX : WORD[this->data + this->stride * this->i + 24];
	if (!this->key)
		this->key = this->data + this->stride * this->i + 16 | INDEX_AT;
}

inline void say_reference()
{
	if (this->is_ref)
		uliteral("&");
}

/* Indices are shown unless they are 0, 1, 2 ... */
inline void say_array()
{
	uopen("[]", "", " => ");
	this->a = this->o;
	find_elements();
	this->k = (uint64_t)((HALF[this->a + 8] & 4) && this->used == this->count);
	this->i = 0;
	this->shown = 0;
	while (this->i < this->used && this->shown < arg1; 65536) {
		get_word(this->data + this->stride * this->i);
		if (this->item) {
			get_key();
			if (this->k)
				uelement(this->i, this->item);
			else
				uentry(this->key, this->item);
			say_reference();
			this->shown++;
		}
		this->i++;
	}
	if (this->i < this->used && this->count > this->shown)
		umore(this->count - this->shown);
}

/* Elements of the array this->a as items with names, but for those that are elsewhere. */
inline void say_named()
{
	find_elements();
	this->i = 0;
	while (this->i < this->used; 65536) {
		this->z = this->data + this->stride * this->i;
		if (ZTYPE[this->z] && ZTYPE[this->z] != indirect && this->shown >= arg1)
			umore(1);
		else if (ZTYPE[this->z] && ZTYPE[this->z] != indirect) {
			get_word(this->z);
			get_key();
			uproperty(this->key, this->item);
			say_reference();
			this->shown++;
		}
		this->i++;
	}
}

/* A closure has its function; then the object that it is bound to, and what it has captured. */
inline void say_closure()
{
	this->func = this->o + CLOSURE_FUNC;
	uopen("{}", "Closure", ": ");
	uitem("function");
	this->text = WORD[this->func + FUNC_NAME];
	this->str = this->text ? TEXT[this->text] : "";
	uliteral(this->str);
	if (BYTE[this->func] == USER) {
		uliteral(" at ");
		uliteral(TEXT[WORD[this->func + filename]]);
		uliteral(":");
		uliteral(lltostr((int64_t)HALF[this->func + filename + 8]));
	}
	get_word(this->func + f_size);
	if (this->item && ZTYPE[this->z] == OBJECT)
		uitem("this", this->item);
	this->a = 0;
	if (BYTE[this->func] == USER && version > 81)
		this->a = WORD[this->func + filename - 56];
	if (BYTE[this->func] == USER && (!this->a || (this->a & 1)))
		this->a = WORD[this->func + filename - 48];
	this->shown = 0;
	if (COUNTED[this->a] == ARRAY)
		say_named();
}

inline void say_object()
{
	this->class = CLASS[this->o];
	uopen("{}", TEXT[WORD[this->class + 8]], ": ");
	this->n = PROPERTY_COUNT[this->class];
	this->table = WORD[this->class + c_table];
	this->k = 0;
	this->shown = 0;
	while (this->k < this->n && this->table && this->shown < arg1; 65536) {
		this->description = WORD[this->table + 8 * this->k];
		get_word(this->o + PROPERTIES + 16 * this->k);
		if (this->item && this->description) {
			uproperty(WORD[this->description + 8] | PROPERTY, this->item);
			say_reference();
			this->shown++;
		}
		this->k++;
	}
	if (this->table && this->k < this->n)
		umore(this->n - this->k);
	this->a = WORD[this->o + 32];
	if (COUNTED[this->a] == ARRAY)
		say_named();
}

inline void say_float()
{
	this->n = WORD[this->o];
	if ((this->n >> 52 & 0x7ff) != 0x7ff)
		udouble(this->n, 1);
	else
		uliteral(this->n << 12 ? "NAN" : this->n >> 63 ? "-INF" : "INF");
}

dtrace:helper:value:
/(arg0 & 7) < 2/
{
	find_value(arg0);
	if (this->t == NULL_TYPE)
		uliteral("null");
	else if (this->t == FALSE_TYPE)
		uliteral("false");
	else if (this->t == TRUE_TYPE)
		uliteral("true");
	else if (this->t == INT_TYPE)
		unumber((int64_t)WORD[this->o]);
	else if (this->t == FLOAT_TYPE)
		say_float();
	else if (this->t == STRING)
		utext(this->o + STRING_TEXT, WORD[this->o + STRING_LENGTH], 0);
	else if (this->t == ARRAY)
		say_array();
	else if (this->t == OBJECT && IS_ENUM[CLASS[this->o]]) {
		uliteral(TEXT[WORD[CLASS[this->o] + 8]]);
		uliteral("::");
		this->text = WORD[this->o + PROPERTIES];
		uliteral(TEXT[this->text]);
	} else if (this->t == OBJECT && closure_class && CLASS[this->o] == WORD[closure_class])
		say_closure();
	else if (this->t == OBJECT)
		say_object();
	else if (this->t == RESOURCE) {
		uliteral("resource(");
		uliteral(lltostr((int64_t)HALF[this->o + 8]));
		uliteral(")");
	} else if (this->t == CONSTANT)
		uliteral("<constant expression>");
}

/* A property that is not public has in its name "\0CLASS\0", or "\0*\0", before it. */
dtrace:helper:value:
/(arg0 & 7) == PROPERTY && COUNTED[arg0 - PROPERTY] == STRING/
{
	this->text = arg0 - PROPERTY;
	this->n = WORD[this->text + STRING_LENGTH];
	this->k = 0;
	if (this->n && !BYTE[this->text + STRING_TEXT]) {
		this->k = 1;
		while (this->k < this->n && BYTE[this->text + STRING_TEXT + this->k]; 1024)
			this->k++;
		this->k++;
	}
	if (this->k < this->n)
		utext(this->text + STRING_TEXT + this->k, this->n - this->k, 0);
}

dtrace:helper:value:
/(arg0 & 7) == INDEX_AT/
{
	unumber((int64_t)WORD[arg0 - INDEX_AT]);
}

dtrace:helper:value:
/(arg0 & 7) == INDEX/
{
	unumber((int64_t)arg0 >> 3);
}

/* The description of a static property has its index. */
dtrace:helper:value:
/(arg0 & 7) == STATICS && IS_CLASS[arg0 - STATICS]/
{
	this->class = arg0 - STATICS;
	this->table = WORD[this->class + 56];
	/* the offset of their address, that itself, or, before 8.2, an address where it is */
	if (this->table & 1)
		this->table = base ? WORD[WORD[base] + this->table] : 0;
	else if (this->table && version < 82)
		this->table = WORD[this->table];
	uopen("{}", TEXT[WORD[this->class + 8]], ": ");
	this->a = this->class + 120;
	find_elements();
	this->i = 0;
	while (this->table && this->i < this->used; 65536) {
		this->description = ZTYPE[this->data + 32 * this->i] == pointer ?
		    WORD[this->data + 32 * this->i] : 0;
		if (this->description && (HALF[this->description + 4] & 16) &&
		    HALF[this->description] < HALF[this->class + 36]) {
			get_word(this->table + 16 * (uint64_t)HALF[this->description]);
			if (this->item)
				uproperty(WORD[this->description + 8] | PROPERTY, this->item);
		}
		this->i++;
	}
}

dtrace:helper:value:
/(arg0 & 7) == VARIABLES/
{
	this->self = arg0 - VARIABLES;
	this->func = WORD[this->self + FRAME_FUNC];
	uopen("{}", "", ": ");
	this->n = BYTE[this->func] == INTERNAL ? HALF[this->self + FRAME_ARGS] :
	    HALF[this->func + f_count];
	this->i = 0;
	while (this->i < this->n; 4096) {
		get_word(this->self + FRAME_VARS + 16 * this->i);
		if (this->item && BYTE[this->func] == INTERNAL)
			uelement(this->i + 1, this->item);
		else if (this->item)
			uproperty(WORD[NAMES[this->func] + 8 * this->i], this->item);
		this->i++;
	}
}

dtrace:helper:type:
/(arg0 & 7) < 2/
{
	find_value(arg0);
	if (this->t == OBJECT)
		uliteral(TEXT[WORD[CLASS[this->o] + 8]]);
	else if (this->t)
		uliteral(this->t == NULL_TYPE ? "null" : this->t <= TRUE_TYPE ? "bool" :
		    this->t == INT_TYPE ? "int" : this->t == FLOAT_TYPE ? "float" :
		    this->t == STRING ? "string" : this->t == ARRAY ? "array" :
		    this->t == RESOURCE ? "resource" : "constant expression");
}

this uint64_t l_i;
this uint64_t l_n;
this int is_c; /* the function is one of an extension */
/* instructions: the first one of the function, the present one, that of a "catch" block */
this uint64_t l_first;
this uint64_t l_at;
this uint64_t l_found;
this uint64_t l_class;

/*
 * Arguments beyond those that the function has names for stand behind its temporary values, but not
 * if one of its variables has them (...$rest).
 */
dtrace:helper:locals:
/arg7/
{
	this->is_c = BYTE[this->func] == INTERNAL;
	if ((this->info & 0xff) == TYPE_OBJECT)
		uself(WORD[this->self + FRAME_THIS]);
	this->l_n = this->is_c ? 0 : HALF[this->func + f_count];
	this->l_i = 0;
	while (this->l_i < this->l_n; 4096) {
		get_word(this->self + FRAME_VARS + 16 * this->l_i);
		if (this->item)
			ulocal(WORD[NAMES[this->func] + 8 * this->l_i], this->item);
		this->l_i++;
	}
	this->l_n = !this->is_c && (HALF[this->func + 4] & IS_VARIADIC) ? 0 :
	    HALF[this->self + FRAME_ARGS];
	this->l_i = this->is_c ? 0 : HALF[this->func + 32];
	this->data = this->self + FRAME_VARS;
	if (!this->is_c)
		this->data += 16 * ((uint64_t)HALF[this->func + f_count] +
		    HALF[this->func + f_temps] - this->l_i);
	while (this->l_i < this->l_n; 4096) {
		get_word(this->data + 16 * this->l_i);
		if (this->item)
			uarg(this->l_i + 1, this->item);
		this->l_i++;
	}
}

/* instructions: their operands, the kind of the result */
inline uint64_t OP_FIRST = 8;
inline uint64_t OP_SECOND = 12;
inline uint64_t OP_RESULT = 16;
inline uint64_t OP_RESULT_KIND = 31;
inline int IS_VARIABLE = 8;
inline int JUMP = 42;
inline int CATCH = 107;
inline int IS_LAST_CATCH = 1;
/* in a function, before the file's name: its "try" statements, and their number */
inline uint64_t TRIES[uint64_t func] = WORD[func + filename - 8];
inline uint32_t TRY_COUNT[uint64_t func] = HALF[func + filename - 20];

/* Says the object this->item if it can be thrown. */
inline void say_thrown(string how)
{
	this->l_class = COUNTED[this->item] == OBJECT ? CLASS[this->item] : 0;
	this->hops = 0;
	while (this->hops < 64 && IS_CLASS[this->l_class] && IS_POINTER[WORD[this->l_class + 16]]; 64) {
		this->l_class = WORD[this->l_class + 16]; /* what it extends */
		this->hops++;
	}
	if (this->l_class && (this->l_class == WORD[exception_class] ||
	    this->l_class == WORD[error_class]))
		uitem(how, this->item);
}

/* The exception that is on its way through the frames. */
dtrace:helper:locals:
/arg7 && exception_class && error_class/
{
	this->item = WORD[thrower - 16];
	say_thrown("raised");
}

/*
 * The variable of the innermost "catch" block that runs. The blocks of a "try" statement follow its
 * body, which ends with a jump behind them; each begins with an instruction that names the
 * variable, and leads to the next one.
 */
dtrace:helper:locals:
/arg7 && !this->is_c && exception_class && error_class/
{
	this->l_first = WORD[this->func + opcodes];
	this->l_at = WORD[this->self];
	this->l_found = (uint64_t)0;
	this->l_n = TRY_COUNT[this->func] <= 4096 ? TRY_COUNT[this->func] : 0;
	this->l_i = 0;
	while (this->l_i < this->l_n; 4096) {
		this->z = (uint64_t)HALF[TRIES[this->func] + 16 * this->l_i + 4];
		this->z = this->z ? this->l_first + OP_SIZE * this->z : 0;
		if (this->z && this->l_at >= this->z && BYTE[this->z - OP_SIZE + OP_CODE] == JUMP &&
		    this->l_at < this->z - OP_SIZE + INT[this->z - OP_SIZE + OP_FIRST] &&
		    this->z > this->l_found)
			this->l_found = this->z;
		this->l_i++;
	}
	this->l_i = 0;
	while (this->l_found && this->l_i < 64 && BYTE[this->l_found + OP_CODE] == CATCH &&
	    !(HALF[this->l_found + OP_EXTENDED] & IS_LAST_CATCH) &&
	    this->l_found + INT[this->l_found + OP_SECOND] <= this->l_at; 64) {
		this->l_found += INT[this->l_found + OP_SECOND];
		this->l_i++;
	}
	if (this->l_found && BYTE[this->l_found + OP_CODE] == CATCH &&
	    BYTE[this->l_found + OP_RESULT_KIND] == IS_VARIABLE) {
		get_word(this->self + HALF[this->l_found + OP_RESULT]);
		say_thrown("handled");
	}
}

/* Kinds of classes, as a census knows them. */
inline int SHOWN = 1;
inline int TASK = 0x20000;
inline int PARKED = 0x40000;
inline int LEADS = 0x10000; /* arrays are in no table: whoever has an object may have it in one */

dtrace:helper:heap:
{
	uarray(WORD[objects], HALF[objects + 8], 8, 1, 16);
	uroot("$GLOBALS", globals);
	this->a = WORD[classes];
	find_elements();
	this->i = 0;
	while (this->i < this->used; 65536) {
		this->class = ZTYPE[this->data + 32 * this->i] == pointer ?
		    WORD[this->data + 32 * this->i] : 0;
		if (this->class && HALF[this->class + 36])
			uroot(strjoin("static properties of ", TEXT[WORD[this->class + 8]]),
			    this->class | STATICS);
		this->i++;
	}
}

/* Variables of frames, but not of those that are global. */
dtrace:helper:heap:
{
	this->self = WORD[current];
	this->hops = 0;
	while (IS_POINTER[this->self] && this->hops < 4096; 4096) {
		this->func = WORD[this->self + FRAME_FUNC];
		this->text = this->func ? WORD[this->func + FUNC_NAME] : 0;
		if (this->text)
			uroot(strjoin("variables of ", TEXT[this->text]), this->self | VARIABLES);
		this->self = WORD[this->self + FRAME_PREV];
		this->hops++;
	}
}

dtrace:helper:class:
/IS_CLASS[arg0]/
{
	this->k = SHOWN | LEADS;
	if (fiber_class)
		this->k |= arg0 == WORD[fiber_class] ? TASK : 0;
	if (generator_class)
		this->k |= arg0 == WORD[generator_class] ? PARKED : 0;
	uclass(this->k, PROPERTIES + 16 * (uint64_t)PROPERTY_COUNT[arg0], WORD[arg0 + 8]);
}

/* ---- fibers and generators ------------------------------------------------------------------- */

/*
 * of a fiber: its status, what has resumed it, its innermost frame while it does not run; the
 * generators' flags
 */
inline uint64_t FIBER_STATUS = version == 81 ? 96 : 104;
inline uint64_t FIBER_CALLER = version == 81 ? 152 : 168;
inline uint64_t FIBER_FRAME = version == 81 ? 264 : version == 82 ? 280 : 288;
inline uint64_t GENERATOR_FLAGS = frame + 208; /* from 8.0 on */
inline uint64_t GENERATOR_RUNS = 1;
inline uint64_t IS_RUNNING = 1;
inline uint64_t IS_SUSPENDED = 2;

/* Sets this->status and this->frame, which is 0 of what has not begun or has ended. */
inline void find_parked(uint64_t o)
{
	find_value(o);
	this->class = this->t == OBJECT ? CLASS[this->o] : 0;
	this->status = 0;
	this->frame = 0;
	if (fiber_class && this->class && this->class == WORD[fiber_class]) {
		this->status = HALF[this->o + FIBER_STATUS];
		/* one that has resumed another fiber is in the stack of that */
		if (this->status == IS_SUSPENDED && WORD[this->o + FIBER_CALLER])
			this->status = IS_RUNNING;
		this->frame = this->status == IS_SUSPENDED ? WORD[this->o + FIBER_FRAME] : 0;
	}
	if (generator_class && this->class && this->class == WORD[generator_class]) {
		this->frame = WORD[this->o + frame];
		this->status = !this->frame ? 0 :
		    BYTE[this->o + GENERATOR_FLAGS] & GENERATOR_RUNS ? IS_RUNNING : IS_SUSPENDED;
	}
}

dtrace:helper:task:
{
	find_parked(arg0);
	if (this->status == IS_RUNNING || this->status == IS_SUSPENDED) {
		uitem("kind");
		uliteral(fiber_class && this->class == WORD[fiber_class] ? "fiber" : "generator");
		uitem("state");
		uliteral(this->status == IS_RUNNING ? "running" : "suspended");
	}
}

dtrace:helper:backtrace:
{
	find_parked(arg0);
	if (this->status != IS_SUSPENDED)
		this->frame = 0;
	this->is_all = 1;
	this->is_last = 0;
	this->leaf = 0;
	this->hashed = 0;
	this->hash = 0;
	while (this->frame; 65536) {
		show_next_frame();
		if (this->class != WORD[fiber_class]) /* what has resumed a generator is left there */
			this->frame = 0;
	}
}

dtrace:helper:shape:
{
	this->table = WORD[arg0 + c_table];
	this->n = this->table ? PROPERTY_COUNT[arg0] : 0;
	this->i = 0;
	while (this->i < this->n && this->i < 64; 64) {
		this->description = WORD[this->table + 8 * this->i];
		if (this->description)
			uprop(WORD[this->description + 8] | PROPERTY);
		this->i++;
	}
}
