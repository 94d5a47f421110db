/* SPDX-License-Identifier: MIT */
/*
 * Values of Perl 5.30 to 5.42, for debuggers: scalars, arrays, hashes, code and globs, objects by
 * their package, variables of subroutines, and the arenas in which all values have their heads.
 *
 * A word is the address of a head (SV): the body, the number of references, the flags with the type
 * in their low 8 bits, and a word that is the number, the address of the text, the elements or what
 * a reference leads to. Addresses of heads have no low bits set. Words that have some stand for
 * what has a name but is no value; a census and frames have them:
 *
 *     1: a name of a variable (PADNAME)         4: a kind of values, by its number
 *     2: a package (its stash)                  5: the variables that code has captured
 *     3: a key of a hash (HEK)
 *
 * Offsets: sv.h, av.h, hv.h, cv.h, gv.h, pad.h, mg.h, cop.h, intrpvar.h of Perl.
 */
table VALUES { /*	     5.30  5.32  5.34  5.36  5.38  5.40  5.42 */
	uint64_t v_minor  =    30,   32,   34,   36,   38,   40,   42;
	/* offsets in the interpreter: PL_sv_arenaroot, PL_main_cv */
	uint64_t p_arenas =   272,  272,  256,  256,  256,  256,  256;
	uint64_t p_main	  =  1816, 1816, 1800, 1800, 1584, 1584, 1584;
	/* of the name of a variable: the numbers of statements; the length, flags behind it */
	uint64_t n_low	  =    24,   24,   24,   24,   32,   32,   32;
	uint64_t n_length =    40,   40,   40,   40,   48,   48,   48;
};

uint64_t interpreter; /* where the address of the program's interpreter is */

dtrace:helper:attach:
{
	if (!VALUES[minor])
		udecline("values of this version of Perl are not known (those of 5.30 to 5.42 are)");
	interpreter = symaddr("PL_curinterp");
	if (!interpreter)
		udecline("a symbol is missing");
}

/* flags */
inline int IOK = 0x100;
inline int NOK = 0x200;
inline int POK = 0x400;
inline int SOME_IOK = 0x1000; /* there is a number, but it is not all of the value */
inline int SOME_NOK = 0x2000;
inline int SOME_POK = 0x4000;
inline int ROK = 0x800;
inline int BLESSED = 0x100000;
inline int MAGICAL = 0xe00000;
inline int UTF8 = 0x20000000;
inline int HAS_AUX = 0x2000000;
inline uint32_t UNSIGNED = 0x80000000;

/* types between those that the helper names */
inline int SV_INTEGER = 1;
inline int SV_NUMBER = 2;
inline int SV_LIST = 4; /* of characters, for regular expressions */
inline int SV_REGEXP = 8;
inline int SV_LVALUE = 10;
inline int SV_ARRAY = 11;
inline int SV_FORMAT = 14;
inline int SV_IO = 15;
inline int SV_FIELDS = 16; /* an object of a class */

inline uint32_t FLAGS[uint64_t o] = HALF[o + SV_FLAGS];
inline uint32_t KIND[uint64_t o] = HALF[o + SV_FLAGS] & 0xff;
inline uint64_t BODY[uint64_t o] = WORD[o];
inline uint64_t CONTENT[uint64_t o] = WORD[o + 16];
/* whether something can be a head: those of numbers have themselves as their body */
inline int IS_HEAD[uint64_t o] = IS_POINTER[o] && HALF[o + 8] && HALF[o + 8] < 0x80000000 &&
    (KIND[o] == 0 ? !BODY[o] : KIND[o] == SV_INTEGER ? BODY[o] == o - 16 :
    KIND[o] == SV_NUMBER ? BODY[o] == o - 24 : KIND[o] <= SV_FIELDS && IS_POINTER[BODY[o]]);
inline int IS_SCALAR[uint64_t o] = KIND[o] <= SV_LVALUE && KIND[o] != SV_REGEXP &&
    !(KIND[o] == SV_GLOB && FLAGS[o] & GV_PROPER);
inline int IS_GLOB[uint64_t o] = KIND[o] == SV_GLOB && FLAGS[o] & GV_PROPER;
inline int IS_REFERENCE[uint64_t o] = IS_SCALAR[o] && FLAGS[o] & ROK;

/* of the helper's blocks */
this uint64_t aux;
this uint64_t body;
this uint64_t context;
this uint64_t cop;
this uint64_t cv;
this uint64_t egv;
this uint64_t gv;
this uint64_t info;
this uint64_t name;
this uint64_t package;
this uint64_t perl;
this uint64_t stash;
this int flags;
this int index;
this int kind;

this uint64_t o;
this uint64_t i;
this uint64_t j;
this uint64_t most;
this uint64_t shown;
this uint64_t hops;
this uint64_t array;
this uint64_t entry;
this uint64_t random;
this uint64_t item;
this uint64_t names;
this uint64_t tied;
this uint64_t l_cv;
this uint64_t l_depth;
this uint64_t l_pad;
this uint64_t l_names;
this uint64_t l_name;
this uint64_t l_item;
this uint64_t l_i;
this uint64_t l_n;
this uint64_t l_seq;
this uint64_t l_context;
this int l_index;
this string str;

/* The name of the package this->stash in this->str. */
inline void get_package()
{
	this->package = 0;
	find_package();
	this->str = this->package ? KEY[this->package] : "__ANON__";
}

/* The package into which a value was blessed in this->str; "": into none. */
inline void get_class(uint64_t o)
{
	this->str = "";
	if (FLAGS[o] & BLESSED) {
		this->stash = WORD[BODY[o]];
		get_package();
	}
}

/* What a tied variable is tied to. */
inline void find_tied(uint64_t o, int letter)
{
	this->tied = 0;
	this->entry = KIND[o] >= 7 && FLAGS[o] & MAGICAL ? WORD[BODY[o] + 8] : 0;
	this->hops = 0;
	while (this->entry && !this->tied && this->hops < 16; 16) {
		if (BYTE[this->entry + 18] == letter)
			this->tied = WORD[this->entry + 32];
		this->entry = WORD[this->entry];
		this->hops++;
	}
}

inline void say_tied()
{
	uopen("()", "tied", "=");
	umember(this->tied);
}

inline void say_array()
{
	get_class(this->o);
	uopen("[]", this->str, " => ");
	this->most = WORD[BODY[this->o] + 16] + 1;
	this->array = CONTENT[this->o];
	this->i = 0;
	while (this->i < this->most && this->i < arg1 && this->array; 65536) {
		this->item = WORD[this->array + 8 * this->i];
		if (this->item)
			uelement(this->i, this->item);
		else {
			uelement(this->i);
			uliteral("undef");
		}
		this->i++;
	}
	if (this->i < this->most)
		umore(this->most - this->i);
}

/* In the order of keys(), which begins at a random place once the hash was gone through. */
inline void say_hash()
{
	get_class(this->o);
	uopen("{}", this->str, " => ");
	this->most = WORD[BODY[this->o] + 24];
	this->array = CONTENT[this->o];
	this->random = !(FLAGS[this->o] & HAS_AUX) ? 0 :
	    HALF[(is_old ? this->array + 8 * this->most + 8 : BODY[this->o] + 32) + 40];
	this->shown = 0;
	this->i = 0;
	while (this->array && this->i <= this->most && this->shown < arg1; 65536) {
		this->entry = WORD[this->array + 8 * ((this->i ^ this->random) & this->most)];
		this->hops = 0;
		while (this->entry && this->shown < arg1 && this->hops < 4096; 4096) {
			this->item = WORD[this->entry + 8];
			uproperty(INT[this->item + 4] == -2 ? WORD[this->item + 8] :
			    this->item | 3, WORD[this->entry + 16]);
			this->entry = WORD[this->entry];
			this->shown++;
			this->hops++;
		}
		this->i++;
	}
	if (WORD[BODY[this->o] + 16] > this->shown)
		umore(WORD[BODY[this->o] + 16] - this->shown);
}

/* "\&main::f", or where code without a name begins. */
inline void say_code()
{
	get_class(this->o);
	if (this->str != "") {
		uliteral(this->str);
		uliteral(" ");
	}
	this->cv = this->o;
	find_name();
	if (this->name && KEY[this->name] != "__ANON__") {
		uliteral("\\&");
		if (this->stash) {
			get_package();
			uliteral(this->str);
			uliteral("::");
		}
		uliteral(KEY[this->name]);
	} else {
		uliteral("sub {...}");
		this->entry = WORD[BODY[this->o] + 40];
		if (IS_POINTER[this->entry] && OPTYPE[this->entry] == nextstate) {
			uliteral(" at ");
			uliteral(copyinstr(WORD[this->entry + COP_FILE]));
			uliteral(" line ");
			unumber(HALF[this->entry + COP_LINE]);
		}
	}
}

inline void say_glob()
{
	this->name = WORD[BODY[this->o] + GV_NAME];
	this->stash = WORD[BODY[this->o] + GV_STASH];
	uliteral("*");
	if (this->stash) {
		get_package();
		uliteral(this->str);
		uliteral("::");
	}
	uliteral(this->name ? KEY[this->name] : "__ANON__");
}

inline void say_number()
{
	this->item = WORD[BODY[this->o] + 40];
	if ((this->item << 1) == 0xffe0000000000000)
		uliteral(this->item >> 63 ? "-Inf" : "Inf");
	else
		udouble(this->item, 8);
}

/* A text that was used as a number is a text; one that was made of a number, the number. */
inline void say_scalar()
{
	find_tied(this->o, 113);
	if (this->tied)
		say_tied();
	else if (FLAGS[this->o] & POK || FLAGS[this->o] & SOME_POK && !(FLAGS[this->o] & (IOK | NOK)))
		utext(CONTENT[this->o], WORD[BODY[this->o] + 16], FLAGS[this->o] & UTF8 ? 0 : 1);
	else if (FLAGS[this->o] & IOK && FLAGS[this->o] & UNSIGNED)
		ubig(0, BODY[this->o] + 32, 1, 64);
	else if (FLAGS[this->o] & IOK)
		unumber(WORD[BODY[this->o] + 32]);
	else if (FLAGS[this->o] & (NOK | SOME_NOK))
		say_number();
	else if (FLAGS[this->o] & SOME_IOK)
		unumber(WORD[BODY[this->o] + 32]);
	else
		uliteral("undef");
}

/* Of what has no brackets, the package before it. */
inline void say_class()
{
	if (FLAGS[this->o] & BLESSED && (IS_SCALAR[this->o] || IS_GLOB[this->o])) {
		get_class(this->o);
		uliteral(this->str);
		uliteral(" ");
	}
}

/* References are followed: one to an array is shown as the array. */
inline void follow_references()
{
	this->j = 0;
	say_class();
	while (IS_HEAD[this->o] && IS_REFERENCE[this->o] && this->j < 16; 16) {
		this->o = CONTENT[this->o];
		if (IS_HEAD[this->o] && (IS_SCALAR[this->o] || IS_GLOB[this->o])) {
			say_class();
			uliteral("\\");
		}
		this->j++;
	}
}

/* What this->o is, which is no reference. */
inline void say_content()
{
	find_tied(this->o, 80);
	if (this->tied && (KIND[this->o] == SV_ARRAY || KIND[this->o] == SV_HASH))
		say_tied();
	else if (KIND[this->o] == SV_ARRAY)
		say_array();
	else if (KIND[this->o] == SV_HASH)
		say_hash();
	else if (KIND[this->o] == SV_CODE || KIND[this->o] == SV_FORMAT)
		say_code();
	else if (IS_GLOB[this->o])
		say_glob();
	else if (KIND[this->o] == SV_REGEXP) {
		uliteral("qr/");
		uliteral(FLAGS[this->o] & UTF8 ?
		    ustr(CONTENT[this->o], WORD[BODY[this->o] + 16]) :
		    ulatin1(CONTENT[this->o], WORD[BODY[this->o] + 16]));
		uliteral("/");
	} else if (KIND[this->o] == SV_IO)
		uliteral("<IO>");
	else if (KIND[this->o] == SV_FIELDS)
		uliteral("<object>");
	else
		say_scalar();
}

dtrace:helper:value:
/(arg0 & 7) == 1/
{
	utext(WORD[arg0 - 1], BYTE[arg0 - 1 + n_length], 0);
}

dtrace:helper:value:
/(arg0 & 7) == 2/
{
	this->stash = arg0 - 2;
	get_package();
	uliteral(this->str);
}

dtrace:helper:value:
/(arg0 & 7) == 3/
{
	utext(arg0 + 5, HALF[arg0 + 1], BYTE[arg0 + 6 + HALF[arg0 + 1]] & 1 ? 0 : 1);
}

/* What the runtime calls them. */
inline string NAME_OF[uint64_t kind] = kind == SV_ARRAY ? "ARRAY" : kind == SV_HASH ? "HASH" :
    kind == SV_CODE ? "CODE" : kind == SV_GLOB ? "GLOB" : kind == SV_REGEXP ? "REGEXP" :
    kind == SV_IO ? "IO" : kind == SV_FORMAT ? "FORMAT" : kind == SV_FIELDS ? "OBJECT" : "SCALAR";

dtrace:helper:value:
/(arg0 & 7) == 4 && arg0 < 256/
{
	uliteral(NAME_OF[arg0 >> 3]);
}

dtrace:helper:value:
/(arg0 & 7) == 0/
{
	this->o = arg0;
	if (IS_HEAD[arg0]) {
		follow_references();
		if (IS_HEAD[this->o] && !IS_REFERENCE[this->o])
			say_content();
	}
}

/* What ref() says of a reference to it, or of the reference that it is. */
dtrace:helper:type:
/(arg0 & 7) == 0/
{
	this->o = arg0;
	if (IS_HEAD[arg0]) {
		if (IS_REFERENCE[this->o] && IS_HEAD[CONTENT[this->o]])
			this->o = CONTENT[this->o];
		get_class(this->o);
		uliteral(this->str != "" ? this->str : IS_REFERENCE[this->o] ? "REF" :
		    NAME_OF[IS_SCALAR[this->o] ? 0 : KIND[this->o]]);
	}
}

/* ---- variables ------------------------------------------------------------------------------- */

/*
 * Code has a list of names, and for each depth of its recursion a pad: an array of the values in
 * the same order. A name has the numbers of the statements between which it is visible; names of
 * captured variables have none. Variables of packages have no values in pads.
 */
inline uint64_t NAMES[uint64_t cv] = WORD[WORD[WORD[BODY[cv] + 72] + 8]];
inline uint64_t PAD[uint64_t cv, uint64_t depth] =
    WORD[WORD[WORD[BODY[cv] + 72] + 8] + 8 * (depth)];
inline uint64_t PAD_ITEM[uint64_t pad, uint64_t i] = WORD[CONTENT[pad] + 8 * (i)];
inline int IS_CAPTURED[uint64_t name] = BYTE[name + n_length + 1] & 1;
inline int IS_OUR[uint64_t name] = WORD[name + 8] != 0;

inline void say_captured(uint64_t cv)
{
	this->names = NAMES[cv];
	this->array = PAD[cv, 1];
	this->most = WORD[this->names] + 1;
	uopen("{}", "Scope", "=");
	this->i = 1;
	while (this->i < this->most && this->i < 4096; 4096) {
		this->item = WORD[WORD[this->names + 8] + 8 * this->i];
		if (IS_POINTER[this->item] && WORD[this->item] && IS_CAPTURED[this->item] &&
		    !IS_OUR[this->item])
			uproperty(this->item | 1, PAD_ITEM[this->array, this->i]);
		this->i++;
	}
}

/* Code in Perl: it is not written in C (CvISXSUB), and has a pad. */
inline int HAS_PAD[uint64_t cv] = KIND[cv] == SV_CODE && !(HALF[BODY[cv] + CV_FLAGS] & 8) &&
    IS_POINTER[WORD[BODY[cv] + 72]];

dtrace:helper:value:
/(arg0 & 7) == 5 && KIND[arg0 - 5] == SV_CODE/
{
	say_captured(arg0 - 5);
}

dtrace:helper:closure:
/(arg0 & 7) == 0/
{
	this->o = arg0;
	if (IS_HEAD[arg0] && IS_REFERENCE[arg0])
		this->o = CONTENT[arg0];
	if (IS_HEAD[this->o] && HAS_PAD[this->o])
		umember(this->o | 5);
}

/* Code of the frame, and the depth of its recursion; a block (eval) is part of the code around. */
inline void find_code()
{
	this->l_cv = this->kind == MAIN ? WORD[this->perl + p_main] : this->cv;
	this->l_depth = 1;
	if (this->kind == CX_SUB)
		this->l_depth = HALF[this->context + cx_cv + 8] + 1;
	if (this->kind == CX_EVAL && !(this->flags & 0x40))
		this->l_cv = WORD[this->context + cx_cv + 16];
	else if (this->kind == CX_EVAL) {
		this->l_index = this->index;
		this->l_cv = 0;
		while (!this->l_cv && this->l_index >= 0; 256) {
			this->l_context = WORD[this->info + SI_CXSTACK] + cx_size * this->l_index;
			if ((BYTE[this->l_context] & CX_TYPEMASK) == CX_SUB &&
			    !(BYTE[this->l_context] & CX_RE_FAKE)) {
				this->l_cv = WORD[this->l_context + cx_cv];
				this->l_depth = HALF[this->l_context + cx_cv + 8] + 1;
			}
			this->l_index--;
		}
		if (!this->l_cv && this->info && HALF[this->info + si_type] == SI_TYPE_MAIN)
			this->l_cv = WORD[this->perl + p_main];
	}
}

/* What is left of @_, and the variables that can be seen where the frame is. */
dtrace:helper:locals:
/arg7/
{
	find_code();
	this->l_pad = this->l_cv && HAS_PAD[this->l_cv] ? PAD[this->l_cv, this->l_depth] : 0;
	this->l_item = this->l_pad && this->kind == CX_SUB && this->flags & 0x20 ?
	    PAD_ITEM[this->l_pad, 0] : 0;
	this->l_n = this->l_item && KIND[this->l_item] == SV_ARRAY ?
	    WORD[BODY[this->l_item] + 16] + 1 : 0;
	this->l_i = 0;
	while (this->l_i < this->l_n && this->l_i < 256; 256) {
		uarg(this->l_i + 1, PAD_ITEM[this->l_item, this->l_i]);
		this->l_i++;
	}
	this->l_names = this->l_pad ? NAMES[this->l_cv] : 0;
	this->l_n = this->l_names ? WORD[this->l_names] + 1 : 0;
	this->l_seq = this->cop ? HALF[this->cop + COP_SEQ] : 0;
	this->l_i = 1;
	while (this->l_i < this->l_n && this->l_i < 4096; 4096) {
		this->l_name = WORD[WORD[this->l_names + 8] + 8 * this->l_i];
		if (IS_POINTER[this->l_name] && WORD[this->l_name] && BYTE[this->l_name + n_length] > 1 &&
		    !IS_OUR[this->l_name] && (IS_CAPTURED[this->l_name] ||
		    HALF[this->l_name + n_low] < this->l_seq &&
		    this->l_seq <= HALF[this->l_name + n_low + 4]))
			ulocal(this->l_name | 1, PAD_ITEM[this->l_pad, this->l_i]);
		this->l_i++;
	}
}

/* ---- exceptions ------------------------------------------------------------------------------ */

/*
 * PL_errgv, the glob of $@: where in the interpreter its address is. It is known by its name, as
 * its distance from PL_main_cv differs from version to version: between the two, all words are
 * addresses or small numbers (intrpvar.h). 0: nothing was searched yet.
 */
uint64_t p_errors;

this uint64_t x_i;
this uint64_t x_gv;
this uint64_t x_name;
this uint64_t x_item;
this uint64_t x_args;

inline uint64_t NO_ERRORS = ~0ull;
inline int ERRORS_MAX = 40; /* words before PL_main_cv in which it is searched */
inline int SI_TYPE_DIEHOOK = 8;
inline int CX_HASARGS = 0x20;

/* Whether something is a glob with that name, a single character. */
inline int IS_NAMED[uint64_t gv, int c] = SVTYPE[gv] == SV_GLOB && IS_GLOB[gv] &&
    IS_POINTER[BODY[gv]] && IS_POINTER[WORD[BODY[gv] + GV_NAME]] &&
    HALF[WORD[BODY[gv] + GV_NAME] + 4] == 1 && BYTE[WORD[BODY[gv] + GV_NAME] + 8] == c;

inline void find_errors()
{
	this->x_i = 1;
	while (!p_errors && this->x_i <= ERRORS_MAX; 40) {
		this->x_gv = WORD[this->perl + p_main - 8 * this->x_i];
		if (IS_POINTER[this->x_gv] && IS_NAMED[this->x_gv, '@'])
			p_errors = p_main - 8 * this->x_i;
		this->x_i++;
	}
	if (!p_errors)
		p_errors = NO_ERRORS;
}

/*
 * What was given to the handler in $SIG{__DIE__}: the first element that @_ had, which is still
 * there if shift() has taken it. Handlers have a stack of contexts of their own.
 */
dtrace:helper:locals:
/arg7 && this->kind == CX_SUB && this->info && this->index < 0 &&
    HALF[this->info + si_type] == SI_TYPE_DIEHOOK && this->flags & CX_HASARGS/
{
	this->x_args = HAS_PAD[this->cv] ?
	    PAD_ITEM[PAD[this->cv, HALF[this->context + cx_cv + 8] + 1], 0] : 0;
	this->x_args = this->x_args && KIND[this->x_args] == SV_ARRAY ?
	    WORD[BODY[this->x_args] + 32] : 0; /* AvALLOC */
	this->x_item = this->x_args ? WORD[this->x_args] : 0;
	if (IS_HEAD[this->x_item])
		uitem("raised", this->x_item);
}

/*
 * $@, the error of the last eval, which is empty if that eval has not failed. The program itself
 * is the outermost frame, so an exception of a handler comes before.
 */
dtrace:helper:locals:
/arg7 && this->kind == MAIN && this->perl/
{
	if (!p_errors)
		find_errors();
	this->x_gv = p_errors == NO_ERRORS ? 0 : WORD[this->perl + p_errors];
	this->x_item = this->x_gv ? WORD[CONTENT[this->x_gv]] : 0;
	if (IS_HEAD[this->x_item] && (FLAGS[this->x_item] & ROK ||
	    FLAGS[this->x_item] & POK && WORD[BODY[this->x_item] + 16]))
		uitem("caught", this->x_item);
}

/* ---- the heap -------------------------------------------------------------------------------- */

/* Kinds of classes, as a census knows them. */
inline int SHOWN = 1;
inline int PART = 4;
inline int OTHER = 8;
inline int APART = 64; /* of objects that have items elsewhere in memory */

/* of the word that has the flags in its upper half */
inline uint64_t K_TYPE = 0xff00000000;
inline uint64_t K_REFERENCE = 0x80000000000;
inline uint64_t K_BLESSED = 0x10000000000000;

/*
 * An arena begins with a head that has the next arena and the number of its heads. Heads that have
 * never had a value have the type 0, and are not counted.
 */
dtrace:helper:heap:
{
	uslotkind(8, K_TYPE | K_REFERENCE | K_BLESSED);
	uslotclass(K_BLESSED, K_BLESSED, 0, 0);
	this->o = WORD[WORD[interpreter] + p_arenas];
	this->j = 0;
	while (this->o && this->j < 16; 16) {
		this->i = 0;
		while (this->o && this->i < 65536; 65536) {
			uslots(this->o + 24, HALF[this->o + 8] - 1, 24);
			this->o = BODY[this->o];
			this->i++;
		}
		this->j++;
	}
}

dtrace:helper:class:
/(arg1 & K_TYPE) <= (uint64_t)SV_FIELDS << 32/
{
	this->kind = (arg1 & K_TYPE) >> 32;
	this->j = this->kind == SV_ARRAY || this->kind == SV_HASH ? SHOWN | APART : SHOWN;
	if (arg1 & K_BLESSED)
		uclass(this->j, 0, arg0 | 2);
	else if (arg1 & K_REFERENCE && this->kind <= SV_LVALUE && this->kind != SV_GLOB)
		uclass(PART, 0, 0);
	else if (this->kind == SV_LIST)
		uclass(OTHER, 0, 0);
	else
		uclass(this->j, 0, (this->kind >= SV_ARRAY || this->kind == SV_GLOB ||
		    this->kind == SV_REGEXP ? this->kind << 3 : 0) | 4);
}
