/* SPDX-License-Identifier: MIT */
/*
 * Values of Node.js 18, 20, 22, 24 and 26 (V8), for debuggers: what a tagged word is, the
 * properties of objects, classes, and how objects are found in memory.
 *
 * A word is a small integer (in its upper half) or the address of an object plus 1. The first word
 * of an object is its map, which has the type, the size and the descriptors of the properties. All
 * offsets and types are those that V8 exports; what it does not export is the same in all of these
 * versions, or stands in read_numbers().
 */
uint64_t v_map, v_number, v_oddball, v_hole, v_symbol, v_bigint;
uint64_t v_receiver, v_array, v_date, v_map_object, v_set, v_regexp, v_error, v_typed, v_proxy;
uint64_t v_promise, v_buffer, v_context, v_context_last, v_native, v_cell, v_free;
uint64_t d_context;
uint64_t v_reaction, v_capability, v_weak_ref;
uint64_t v_uncompiled, d_token; /* the first type of what is not compiled; of SharedFunctionInfo */
uint64_t v_object, d_prototype, d_initial; /* the type JSObject; of Map and JSFunction */
uint64_t d_store, d_store_length; /* of JSArrayBuffer */
uint64_t v_global, v_global_proxy, v_property; /* JSGlobalObject, JSGlobalProxy, PropertyCell */
uint64_t v_accessors, v_accessor; /* AccessorPair, AccessorInfo */
uint64_t d_ctor, d_descriptors, d_first, d_size, d_source, d_length, d_external, d_base;
uint64_t k_dictionary;
uint64_t n_prefix; /* words before the entries of a dictionary of names */

/* the int of an exported symbol, whose name is known up to what follows the prefix */
inline int EXPORT[string s, int otherwise] = symaddr(s) ? *(int *)symaddr(s) : otherwise;

inline void read_numbers()
{
	v_map = EXPORT["v8dbg_type_Map__*", 0];
	v_number = EXPORT["v8dbg_type_HeapNumber__*", 130];
	v_oddball = EXPORT["v8dbg_type_Oddball__*", 131];
	v_symbol = EXPORT["v8dbg_type_Symbol__*", 128];
	v_bigint = EXPORT["v8dbg_type_BigInt__*", 129];
	v_hole = EXPORT["v8dbg_type_Hole__*", version == 1406 ? 274 : 0];
	v_receiver = EXPORT["v8dbg_type_JSPrimitiveWrapper__*", 1041];
	v_array = EXPORT["v8dbg_type_JSArray__*", 0];
	v_date = EXPORT["v8dbg_type_JSDate__*", 0];
	v_map_object = EXPORT["v8dbg_type_JSMap__*", 0];
	v_set = EXPORT["v8dbg_type_JSSet__*", 0];
	v_regexp = EXPORT["v8dbg_type_JSRegExp__*", 0];
	v_error = EXPORT["v8dbg_type_JSError__*", 0];
	v_typed = EXPORT["v8dbg_type_JSTypedArray__*", 0];
	v_buffer = EXPORT["v8dbg_type_JSArrayBuffer__*", 0];
	v_proxy = EXPORT["v8dbg_type_JSProxy__*", 0];
	v_promise = EXPORT["v8dbg_type_JSPromise__*", 0];
	v_context = EXPORT["v8dbg_FirstContextType", 0];
	v_context_last = EXPORT["v8dbg_LastContextType", 0];
	v_native = EXPORT["v8dbg_type_NativeContext__*", 0];
	v_cell = EXPORT["v8dbg_type_ContextCell__*", version == 1406 ? 265 : 0];
	d_context = EXPORT["v8dbg_class_JSFunction__context__*", 32] - 1;
	v_free = EXPORT["v8dbg_type_FreeSpace__*", 0];
	v_reaction = EXPORT["v8dbg_type_PromiseReaction__*", 65534];
	v_capability = EXPORT["v8dbg_type_PromiseCapability__*", 65534];
	v_weak_ref = EXPORT["v8dbg_type_JSWeakRef__*", 65534];
	v_uncompiled = EXPORT["v8dbg_type_UncompiledDataWithPreparseData__*", 65535];
	d_token = EXPORT["v8dbg_class_SharedFunctionInfo__raw_function_token_offset__*", 44];
	v_object = EXPORT["v8dbg_type_JSObject__*", 0];
	v_global = EXPORT["v8dbg_type_JSGlobalObject__*", 65534];
	v_global_proxy = EXPORT["v8dbg_type_JSGlobalProxy__*", 65534];
	v_property = EXPORT["v8dbg_type_PropertyCell__*", 65534];
	v_accessors = EXPORT["v8dbg_type_AccessorPair__*", 65534];
	v_accessor = EXPORT["v8dbg_type_AccessorInfo__*", 65534];
	d_prototype = EXPORT["v8dbg_class_Map__prototype__*", 24] - 1;
	d_initial = EXPORT["v8dbg_class_JSFunction__prototype_or_initial_map__*", 56] - 1;
	d_store = EXPORT["v8dbg_class_JSArrayBuffer__backing_store__*", 48] - 1;
	d_store_length = EXPORT["v8dbg_class_JSArrayBuffer__byte_length__*", 32] - 1;
	d_ctor = EXPORT["v8dbg_class_Map__constructor_or_back_pointer__*", 32] - 1;
	d_descriptors = EXPORT["v8dbg_class_Map__instance_descriptors__*", 40] - 1;
	d_first = EXPORT["v8dbg_class_DescriptorArray__header_size__*", 24] - 1;
	d_size = 24;
	d_source = EXPORT["v8dbg_class_JSRegExp__source__*", 32] - 1;
	d_length = EXPORT["v8dbg_class_JSArrayBufferView__byte_length__*", 40] - 1;
	d_external = EXPORT["v8dbg_class_JSTypedArray__external_pointer__*", 64] - 1;
	d_base = EXPORT["v8dbg_class_JSTypedArray__base_pointer__*", 72] - 1;
	k_dictionary = EXPORT["v8dbg_elements_dictionary_elements", 13];
	n_prefix = EXPORT["v8dbg_namedictionary_prefix_start_index", 3] +
	    EXPORT["v8dbg_namedictionaryshape_prefix_size", 3];
}

dtrace:helper:attach:
{
	read_numbers();
}

/* of the helper's blocks */
this uint64_t anon;
this uint64_t bytecode;
this uint64_t chars;
this uint64_t context;
this uint64_t counted;
this uint64_t from;
this uint64_t generator;
this uint64_t handler;
this uint64_t is_async;
this uint64_t is_recorded;
this uint64_t j;
this uint64_t len;
this uint64_t more; /* other functions follow in the frame */
this uint64_t n;    /* how many came before */
this uint64_t offset;
this uint64_t position;
this uint64_t promise;
this uint64_t reaction;
this uint64_t rep;
this uint64_t s;
this uint64_t script;
this uint64_t sfi;
this uint64_t table;
this uint64_t wide;
this int64_t at;
this int64_t id;
this int64_t k;

this uint64_t o;      /* the object, tagged */
this uint64_t t;      /* its type */
this uint64_t m;      /* its map, tagged */
this uint64_t properties;
this uint64_t descriptors;
this uint64_t d;
this uint64_t i;
this uint64_t most;
this uint64_t kind;
this uint64_t elements;
this uint64_t first;
this uint64_t key;
this uint64_t item;
this uint64_t ctor;
this uint64_t hops;
this uint64_t shown;
this uint64_t entry;
this uint64_t size;
this uint64_t inside; /* properties that lie in the object */
this uint64_t start;
this uint64_t end;
this string str;
this string class;
this string base;
this string prefix;
this int at_type;

/* the type of a tagged object whose map is one */
inline uint64_t KIND[uint64_t o] = TYPE[o] == 65535 ? 65535 :
    TYPE[WORD[(o & ~3)]] != v_map ? 65535 : TYPE[o];
inline int IS_HOLE[uint64_t o] = (o & 3) == 1 && (TYPE[o] == v_hole ||
    (TYPE[o] == v_oddball && BYTE[o + 39 + 4] == 2));
inline uint64_t ELEMENT[uint64_t array, uint64_t i] = WORD[array + ARRAY_DATA + 8 * (i)];

/* The text of the string this->s in this->str. */
inline void get_text()
{
	find_characters();
	this->str = !this->chars || !this->len ? "" :
	    this->wide ? utf16(this->chars, this->len) : ulatin1(this->chars, this->len);
}

/* The name of the function this->ctor: a string in this->s, or 0. */
inline void get_function_name()
{
	this->sfi = MOVED[WORD[this->ctor - 1 + o_shared]];
	this->s = 0;
	this->anon = 0;
	if (TYPE[this->sfi] == t_shared) {
		this->sfi--;
		find_name();
	}
	if (this->s && (TYPE[this->s] >= t_string || LENGTH[this->s] == 0))
		this->s = 0;
}

/* Whether a string of one-byte characters is "constructor". */
inline int IS_CONSTRUCTOR[uint64_t s] = TYPE[s] < t_string && LENGTH[s] == 11 &&
    (TYPE[s] & (STRING_KIND | ONE_BYTE)) == ONE_BYTE &&
    WORD[s + STRING_CHARS] == 0x63757274736e6f63; /* "construc" */

/*
 * What the prototype of the map this->m says that its constructor is, in this->ctor: the map of an
 * object of a class that extends a builtin one has the constructor of that one.
 */
inline void get_derived()
{
	this->hops = 0;
	this->key = WORD[this->m + d_prototype];
	this->properties = WORD[this->key - 1];
	this->entry = WORD[this->properties + d_descriptors] + d_first;
	this->item = WORD[this->key + 7];
	this->inside = BYTE[this->properties + 7] - BYTE[this->properties + 8];
	if (HALF[this->properties + 15] >> 21 & 1) {
		this->j = SMI[this->item + ARRAY_DATA + 16];
		while (this->hops < this->j && this->hops < 1024; 1024) {
			this->from = ARRAY_DATA + this->item + 8 * (n_prefix + 3 * this->hops);
			this->hops += IS_CONSTRUCTOR[WORD[this->from]] ? 4096 : 1;
		}
		this->from = this->hops < 4096 ? 0 : WORD[this->from + 8];
	} else {
		this->j = HALF[this->properties + 15] >> 10 & 0x3ff;
		this->from = 0;
		while (this->hops < this->j && this->hops < 1024; 1024) {
			if (IS_CONSTRUCTOR[WORD[this->entry]]) {
				this->j = (SMI[this->entry + 8] & 0x1ff80000) >> 19;
				this->from = (SMI[this->entry + 8] & 32) ? WORD[this->entry + 16] :
				    this->j < this->inside ?
				    WORD[this->key - 1 + 8 * (BYTE[this->properties + 8] + this->j)] :
				    WORD[this->item + ARRAY_DATA + 8 * (this->j - this->inside)];
				this->hops = 4096;
			}
			this->entry += d_size;
			this->hops++;
		}
	}
	if (TYPE[this->from] >= t_function && TYPE[this->from] <= t_function_last)
		this->ctor = this->from;
}

/* The name of the constructor of the map this->m in this->s, or 0. */
inline void get_class()
{
	this->ctor = WORD[this->m + d_ctor];
	this->hops = 0;
	while (this->hops < 64 && TYPE[this->ctor] == v_map; 64) {
		this->ctor = WORD[this->ctor + d_ctor];
		this->hops++;
	}
	this->s = 0;
	if (TYPE[this->ctor] >= t_function && TYPE[this->ctor] <= t_function_last) {
		this->j = SHORT[this->m + MAP_TYPE];
		this->item = WORD[this->ctor - 1 + d_initial + 1];
		if (this->j != v_object && TYPE[WORD[this->m + d_prototype]] >= v_object &&
		    TYPE[WORD[this->m + d_prototype]] != 65535 && TYPE[this->item] == v_map &&
		    WORD[this->item + d_prototype] != WORD[this->m + d_prototype])
			get_derived();
		get_function_name();
	}
}

inline void say_string()
{
	this->kind = this->t & STRING_KIND;
	this->size = this->t & ONE_BYTE ? 1 : 2;
	if (this->kind == SEQUENTIAL)
		utext(this->o + STRING_CHARS, LENGTH[this->o], this->size);
	else if (this->kind == EXTERNAL)
		utext(WORD[this->o + STRING_SECOND], LENGTH[this->o], this->size);
	else if (this->kind == SLICED)
		ujoin(WORD[this->o + STRING_FIRST], SMI[this->o + STRING_SECOND],
		    LENGTH[this->o]);
	else if (this->kind == THIN)
		ujoin(WORD[this->o + STRING_FIRST], 0, LENGTH[this->o]);
	else if (this->kind == CONS) {
		this->s = WORD[this->o + STRING_FIRST];
		ujoin(this->s, 0, LENGTH[this->s]);
		this->s = WORD[this->o + STRING_SECOND];
		if (LENGTH[this->s])
			ujoin(this->s, 0, LENGTH[this->s]);
	}
}

inline void say_oddball()
{
	this->s = WORD[this->o + 15];
	get_text();
	uliteral(this->str == "hole" || this->str == "uninitialized" ?
	    strjoin("<", strjoin(this->str, ">")) : this->str);
}

inline void say_symbol()
{
	this->s = WORD[this->o + 15];
	this->str = "";
	if (TYPE[this->s] < t_string)
		get_text();
	uliteral(strjoin("Symbol(", strjoin(this->str, ")")));
}

inline void say_function()
{
	this->ctor = this->o;
	get_function_name();
	this->str = "";
	if (this->s)
		get_text();
	uliteral(this->str == "" ? "function (anonymous)" :
	    strjoin(this->anon ? "function (anonymous) as " : "function ", this->str));
}

inline void say_date()
{
	this->item = WORD[this->o + 23];
	if (version > 1204)
		udate(this->item);
	else if ((this->item & 1) == 0)
		udate((int64_t)this->item >> 32, 1);
	else
		udate(WORD[this->item + 7]);
}

inline void say_regexp()
{
	this->s = WORD[this->o + d_source];
	get_text();
	this->item = (WORD[this->o + d_source + 8] >> 32) & 0x1ff;
	uliteral("/");
	uliteral(this->str);
	uliteral("/");
	if (this->item & 128)
		uliteral("d");
	if (this->item & 1)
		uliteral("g");
	if (this->item & 2)
		uliteral("i");
	if (this->item & 4)
		uliteral("m");
	if (this->item & 32)
		uliteral("s");
	if (this->item & 16)
		uliteral("u");
	if (this->item & 256)
		uliteral("v");
	if (this->item & 8)
		uliteral("y");
}

/* Map and Set keep their entries in the order in which they were added. */
inline void say_table()
{
	this->elements = WORD[this->o + 23];
	this->first = 3 + SMI[this->elements + ARRAY_DATA + 16];
	this->size = this->t == v_set ? 2 : 3;
	this->most = SMI[this->elements + ARRAY_DATA] + SMI[this->elements + ARRAY_DATA + 8];
	uopen("{}", strjoin(this->t == v_set ? "Set(" : "Map(",
	    strjoin(lltostr(SMI[this->elements + ARRAY_DATA]), ")")), " => ");
	this->i = 0;
	this->shown = 0;
	while (this->i < this->most && this->shown < arg1; 65536) {
		this->key = ELEMENT[this->elements, this->first + this->i * this->size];
		if (!IS_HOLE[this->key]) {
			if (this->t == v_set)
				umember(this->key);
			else
				uentry(this->key,
				    ELEMENT[this->elements, this->first + this->i * this->size + 1]);
			this->shown++;
		}
		this->i++;
	}
	if (this->shown < SMI[this->elements + ARRAY_DATA])
		umore(SMI[this->elements + ARRAY_DATA] - this->shown);
}

inline void say_promise()
{
	this->kind = SMI[this->o + PROMISE_FLAGS] & 3;
	uopen("{}", "Promise", ": ");
	uitem("state");
	uliteral(this->kind == 0 ? "pending" : this->kind == 1 ? "fulfilled" : "rejected");
	if (this->kind)
		uitem(this->kind == 1 ? "value" : "reason", WORD[this->o + PROMISE_REACTIONS]);
}

/*
 * The kinds of typed arrays follow those of other elements: integers of 8, 16 and 32 bits, each
 * without and with a sign, then those of 64 bits, bytes that are clamped, floats, from V8 13 on;
 * before, floats and clamped bytes stood before those of 64 bits.
 */
inline uint64_t T_FIRST = k_dictionary + 5;
inline uint64_t T_CLAMPED = 8;
inline uint64_t T_FLOAT = version > 1204 ? 9 : 6;
inline uint64_t T_DOUBLE = version > 1204 ? 10 : 7;
inline uint64_t T_HALF = version > 1204 ? 11 : 255;
inline uint64_t TYPED_START = WORD[this->o + d_external] +
    ((WORD[this->o + d_base] & 1) ? WORD[this->o + d_base] : 0);

inline void say_typed()
{
	this->kind = (BYTE[this->m + 14] >> 2) - T_FIRST;
	this->size = this->kind < 2 || this->kind == T_CLAMPED ? 1 :
	    this->kind < 4 || this->kind == T_HALF ? 2 :
	    this->kind < 6 || this->kind == T_FLOAT ? 4 : 8;
	this->most = WORD[this->o + d_length] / this->size;
	this->start = TYPED_START;
	get_class();
	this->str = "TypedArray";
	if (this->s)
		get_text();
	this->i = 0;
	if (this->str == "FastBuffer" || this->str == "Buffer")
		uopen("<>", "Buffer", ": ");
	else
		uopen("[]", strjoin(this->str, strjoin("(", strjoin(lltostr(this->most), ")"))),
		    ": ");
	while (this->i < this->most && this->i < arg1; 65536) {
		uelement(this->i);
		this->entry = this->start + this->i * this->size;
		if (this->kind == T_FLOAT)
			udouble(HALF[this->entry], 2);
		else if (this->kind == T_HALF)
			udouble(SHORT[this->entry], 3);
		else if (this->kind == T_DOUBLE)
			udouble(WORD[this->entry]);
		else if (this->size == 1)
			unumber(this->kind == 1 ? (int64_t)*(int8_t *)this->entry :
			    (int64_t)BYTE[this->entry]);
		else if (this->size == 2)
			unumber(this->kind == 3 ? (int64_t)*(int16_t *)this->entry :
			    (int64_t)SHORT[this->entry]);
		else if (this->size == 4)
			unumber(this->kind == 5 ? (int64_t)INT[this->entry] :
			    (int64_t)HALF[this->entry]);
		else
			unumber(WORD[this->entry]);
		this->i++;
	}
	if (this->i < this->most)
		umore(this->most - this->i);
}

/* of a PropertyCell; details of properties */
inline int CELL_NAME = 7;
inline int CELL_DETAILS = 15;
inline int CELL_VALUE = 23;
inline int IS_ACCESSOR = 1;
inline int NOT_ENUMERABLE = 8;

/* The elements of an array, and the properties of any object whose names are numbers. */
inline void say_elements()
{
	this->kind = (BYTE[this->m + 14] & 0xfc) >> 2;
	this->elements = WORD[this->o + 15];
	this->most = SMI[this->elements + ARRAY_LENGTH];
	if (this->t == v_array && this->kind < k_dictionary && SMI[this->o + 23] < this->most)
		this->most = SMI[this->o + 23];
	this->i = 0;
	if (this->kind == k_dictionary) {
		this->most = SMI[this->elements + ARRAY_DATA + 16];
		while (this->i < this->most && this->shown < arg1; 65536) {
			this->key = ELEMENT[this->elements, 4 + 3 * this->i];
			if ((this->key & 1) == 0) {
				uelement((uint32_t)(this->key >> 32),
				    ELEMENT[this->elements, 5 + 3 * this->i]);
				this->shown++;
			}
			this->i++;
		}
	} else if (this->kind < k_dictionary) {
		while (this->i < this->most && this->i < arg1; 65536) {
			this->item = ELEMENT[this->elements, this->i];
			if (this->kind != 4 && this->kind != 5) {
				if (this->t == v_array || !IS_HOLE[this->item]) {
					uelement(this->i, this->item);
					this->shown++;
				}
			} else if (this->item != 0xfff7fffffff7ffff) {
				uelement(this->i);
				udouble(this->item);
				this->shown++;
			} else {
				uelement(this->i);
				uliteral("<hole>");
				this->shown++;
			}
			this->i++;
		}
		if (this->t == v_array && this->i < this->most)
			umore(this->most - this->i);
	}
}

/* The name of a property that was made by the runtime for itself has no description. */
inline int IS_SHOWN[uint64_t key] = TYPE[key] < t_string ||
    (TYPE[key] == v_symbol && TYPE[WORD[key + 15]] < t_string);

inline void say_dictionary()
{
	this->most = SMI[this->properties + ARRAY_DATA + 16];
	this->i = 0;
	while (this->i < this->most && this->shown < arg1; 65536) {
		this->key = ELEMENT[this->properties, n_prefix + 3 * this->i];
		if ((this->key & 3) == 1 && IS_SHOWN[this->key]) {
			this->d = SMI[this->properties + ARRAY_DATA +
			    8 * (n_prefix + 3 * this->i + 2)];
			uproperty(this->key, ELEMENT[this->properties, n_prefix + 3 * this->i + 1],
			    1 + (this->d >> 8 & 0x7fffff));
			this->shown++;
		}
		this->i++;
	}
}

inline void say_fields()
{
	this->most = HALF[this->m + 15] >> 10 & 0x3ff;
	this->descriptors = WORD[this->m + d_descriptors];
	this->inside = BYTE[this->m + 7] - BYTE[this->m + 8];
	this->i = 0;
	while (this->i < this->most; 1024) {
		this->entry = this->descriptors + d_first + this->i * d_size;
		this->key = WORD[this->entry];
		this->d = SMI[this->entry + 8];
		this->item = (this->d & 0x1ff80000) >> 19;
		/* arrays show their length, functions are not shown this way */
		if (IS_SHOWN[this->key] && !((this->d & 33) == 33 && this->t == v_array)) {
			if (this->shown >= arg1)
				umore(1);
			else if ((this->d & 1) != 0) {
				uproperty(this->key);
				uliteral("[accessor]");
			} else if ((this->d & 32) != 0)
				uproperty(this->key, WORD[this->entry + 16]);
			else if (this->item < this->inside)
				uproperty(this->key,
				    WORD[this->o - 1 + 8 * (BYTE[this->m + 8] + this->item)]);
			else
				uproperty(this->key,
				    ELEMENT[this->properties, this->item - this->inside]);
			this->shown++;
		}
		this->i++;
	}
}

inline void say_object()
{
	get_class();
	this->str = "";
	if (this->s)
		get_text();
	uopen(this->t == v_array ? "[]" : "{}",
	    this->str == "Object" || (this->t == v_array && this->str == "Array") ? "" : this->str,
	    ": ");
	this->shown = 0;
	this->properties = WORD[this->o + 7];
	say_elements();
	if (HALF[this->m + 15] >> 21 & 1)
		say_dictionary();
	else
		say_fields();
}

/*
 * The global object, or the proxy that stands for it, whose prototype it is; functions that are not
 * strict have it as "this". Its table has a cell for each property: name, details, value (Node
 * deps/v8/src/objects/property-cell.tq). Those that can be enumerated are shown: what a program has
 * added.
 */
inline void say_global()
{
	if (this->t == v_global_proxy)
		this->o = MOVED[WORD[this->m + d_prototype]];
	uopen("{}", "global", ": ");
	this->properties = TYPE[this->o] == v_global ? MOVED[WORD[this->o + 7]] : 0;
	this->most = this->properties ? SMI[this->properties + ARRAY_LENGTH] : 0;
	this->i = n_prefix;
	this->shown = 0;
	while (this->i < this->most && this->shown < arg1; 65536) {
		this->item = ELEMENT[this->properties, this->i];
		if ((this->item & 3) == 1 && TYPE[this->item] == v_property) {
			this->key = WORD[this->item + CELL_NAME];
			this->d = SMI[this->item + CELL_DETAILS];
			if (!(this->d & (NOT_ENUMERABLE | IS_ACCESSOR)) && IS_SHOWN[this->key] &&
			    !IS_HOLE[WORD[this->item + CELL_VALUE]]) {
				uproperty(this->key, WORD[this->item + CELL_VALUE],
				    1 + (this->d >> 8 & 0x7fffff));
				this->shown++;
			}
		}
		this->i++;
	}
}

/*
 * A context has its scope, the context around it, in some an extension, and the variables whose
 * names the scope has. One that changes may be in a cell. Names of 75 and more are in a table.
 */
inline void say_context()
{
	this->s = MOVED[WORD[this->o + 15]];
	uopen("{}", "Context", ": ");
	if (TYPE[this->s] == t_scope) {
		this->chars = this->s - 1;
		this->from = is_raw ? HALF[this->chars + SCOPE_FLAGS] :
		    (uint64_t)SMI[this->chars + SCOPE_FLAGS];
		this->most = SMI[this->chars + SCOPE_VARS];
		this->j = first_var + ((this->from & 15) == t_module);
		this->start = 2 + (this->from >> 26 & 1);
		this->i = 0;
		while (this->i < this->most && this->most < 75 && this->i < arg1; 75) {
			this->key = WORD[this->chars + 8 + 8 * (this->j + this->i)];
			this->item = ELEMENT[this->o, this->start + this->i];
			if (v_cell && TYPE[this->item] == v_cell)
				this->item = WORD[this->item + 7];
			uproperty(this->key, this->item);
			this->i++;
		}
		if (this->i < this->most)
			umore(this->most - this->i);
	}
}

dtrace:helper:closure:
/(arg0 & 3) == 1 && KIND[MOVED[arg0]] >= t_function && KIND[MOVED[arg0]] <= t_function_last/
{
	this->item = WORD[MOVED[arg0] + d_context];
	this->hops = 0;
	while (this->hops < 64 && TYPE[this->item] >= v_context && TYPE[this->item] <= v_context_last &&
	    TYPE[this->item] != v_native; 64) {
		umember(this->item);
		this->item = ELEMENT[this->item, 1];
		this->hops++;
	}
}

inline int IS_FUNCTION[uint64_t o] = KIND[o] >= t_function && KIND[o] <= t_function_last;

/*
 * Where the source of the function this->sfi begins and ends: what is compiled has a scope, which
 * says so behind its flags or, before V8 13, behind its names; what is not has it in its data. The
 * word function, or the name of a method, may be before that.
 */
inline void find_extent()
{
	this->s = MOVED[WORD[this->sfi + o_name]];
	this->end = 0;
	if (TYPE[this->s] == t_scope) {
		this->chars = this->s - 1;
		this->from = is_raw ? HALF[this->chars + SCOPE_FLAGS] :
		    (uint64_t)SMI[this->chars + SCOPE_FLAGS];
		this->len = SMI[this->chars + SCOPE_VARS];
		this->j = first_var - 2;
		if (first_var == 3)
			this->j = first_var + this->len + (this->len < 75 ? this->len : 1) +
			    ((this->from & 15) == t_module) + (this->from >> 10 & 1) +
			    ((this->from >> 12 & 3) ? 2 : 0) + (this->from >> 14 & 1);
		this->start = SMI[this->chars + 8 + 8 * this->j];
		this->end = SMI[this->chars + 16 + 8 * this->j];
	} else {
		this->s = MOVED[WORD[this->sfi + O_DATA]];
		if (TYPE[this->s] - v_uncompiled < 4) {
			this->start = HALF[this->s + 15];
			this->end = HALF[this->s + 19];
		}
	}
	if (this->end && SHORT[this->sfi + d_token] != 65535)
		this->start -= SHORT[this->sfi + d_token];
}

dtrace:helper:function:
/(arg0 & 3) == 1 && IS_FUNCTION[MOVED[arg0]]/
{
	this->ctor = MOVED[arg0];
	get_function_name();
	if (this->s)
		uitem(this->anon ? "inferred" : "name", this->s);
	this->sfi = MOVED[WORD[this->ctor - 1 + o_shared]];
	this->script = TYPE[this->sfi] == t_shared ?
	    MOVED[WORD[this->sfi - 1 + o_script]] : 0;
	if (TYPE[this->script] == t_script) {
		this->sfi--;
		this->script--;
		if (TYPE[WORD[this->script + SCRIPT_NAME]] < t_string)
			uitem("file", WORD[this->script + SCRIPT_NAME]);
		if (TYPE[WORD[this->script + SCRIPT_SOURCE]] < t_string)
			uitem("source", WORD[this->script + SCRIPT_SOURCE]);
		uitem("line of source");
		unumber(SMI[this->script + SCRIPT_LINE]);
		find_extent();
		if (this->end && this->start <= this->end) {
			uitem("begin");
			unumber(this->start);
			uitem("end");
			unumber(this->end);
		}
	}
}

/*
 * One reaction of a promise: what waits, and the promise that is settled by it. Without a builtin
 * that is known, it is a function that then() or catch() was given.
 */
inline void say_waiter()
{
	this->promise = MOVED[WORD[this->reaction + o_handler + 8]];
	this->handler = MOVED[WORD[this->reaction + o_handler]];
	find_builtin();
	if (job && !IS_AWAIT[this->id]) {
		/* of Promise.any() it is known by the handler of rejections */
		this->k = this->id;
		this->from = this->handler;
		this->handler = MOVED[WORD[this->reaction + o_handler - 8]];
		find_builtin();
		if (this->id != id_all + 3 && TYPE[this->from] - t_function <=
		    t_function_last - t_function) {
			this->id = this->k;
			this->handler = this->from;
		}
	}
	uitem("waiter");
	this->context = this->id >= 0 ? MOVED[WORD[this->handler - 1 + o_shared + 8]] : 0;
	if (job && IS_AWAIT[this->id]) {
		this->promise = 0;
		this->n = 1;
		find_waiting();
		uliteral("async");
		uitem("function", MOVED[WORD[this->generator + GENERATOR_FUNCTION]]);
		if (this->promise && this->offset) {
			uitem("at");
			unumber(this->offset - 1);
		}
	} else if (job && IS_COMBINATOR[this->id]) {
		uliteral(this->id == id_all + 1 ? "Promise.allSettled" :
		    this->id == id_all + 3 ? "Promise.any" : "Promise.all");
		if (HALF[this->handler + FUNCTION_HASH] == 0) {
			uliteral(strjoin(" (index ",
			    strjoin(lltostr(SMI[this->handler + FUNCTION_HASH] - 1), ")")));
		}
		this->promise = MOVED[WORD[this->context + CONTEXT_SECOND]];
	} else if (job && this->id == id_resolve) {
		uliteral("");
		this->promise = MOVED[WORD[this->context + CONTEXT_FIRST]];
	} else {
		uliteral("then");
		if (IS_FUNCTION[this->handler])
			uitem("function", this->handler);
	}
	if (TYPE[this->promise] == v_capability)
		this->promise = MOVED[WORD[this->promise + CAPABILITY_PROMISE]];
	if (TYPE[this->promise] == v_promise)
		uitem("next", this->promise);
}

dtrace:helper:fiber:
/(arg0 & 3) == 1 && KIND[MOVED[arg0]] == v_promise/
{
	this->o = MOVED[arg0];
	this->kind = SMI[this->o + PROMISE_FLAGS] & 3;
	uitem("state");
	uliteral(this->kind == 0 ? "pending" : this->kind == 1 ? "fulfilled" : "rejected");
	this->reaction = this->kind ? 0 : MOVED[WORD[this->o + PROMISE_REACTIONS]];
	this->i = 0;
	while (this->i < 100 && TYPE[this->reaction] == v_reaction; 100) {
		say_waiter();
		this->reaction = MOVED[WORD[this->reaction + o_handler - 16]];
		this->i++;
	}
}

/*
 * A handle of libuv: the object of C++ behind it has a global handle of V8, which leads to the
 * object of JavaScript. deps/uv/include/uv.h: struct uv_loop_s.handle_queue, uv_handle_s.type,
 * handle_queue, flags, and where the io_watcher.fd of handles with one is.
 */
inline int LOOP_QUEUE = 16;
inline int HANDLE_TYPE = 16;
inline int HANDLE_QUEUE = 32;
inline int HANDLE_FLAGS = 88;
inline int IS_THERE[uint64_t a] = (a & 7) == 0 && a > 4096 && ucountnl(a, 8) >= 0;
inline string HANDLE_NAME[uint64_t t] = t == 1 ? "async" : t == 2 ? "check" : t == 3 ? "fs_event" :
    t == 4 ? "fs_poll" : t == 6 ? "idle" : t == 7 ? "pipe" : t == 8 ? "poll" :
    t == 9 ? "prepare" : t == 10 ? "process" : t == 12 ? "tcp" : t == 13 ? "timer" :
    t == 14 ? "tty" : t == 15 ? "udp" : t == 16 ? "signal" : "handle";
inline int HANDLE_FD[uint64_t t] = t == 7 || t == 12 || t == 14 ? 184 : t == 15 ? 176 :
    t == 8 ? 152 : 0;

inline void say_handle()
{
	this->t = HALF[this->s + HANDLE_TYPE];
	this->d = HALF[this->s + HANDLE_FLAGS];
	uitem("handle", this->s);
	uitem("type");
	uliteral(HANDLE_NAME[this->t]);
	uitem("state");
	uliteral((this->d & 3) ? "closing" : (this->d & 4) ? "active" : "inactive");
	if (!(this->d & 8))
		uliteral(", unref");
	if (HANDLE_FD[this->t]) {
		uitem("fd");
		unumber(INT[this->s + HANDLE_FD[this->t]]);
	}
	this->item = WORD[this->s];
	this->item = IS_THERE[this->item] && IS_THERE[this->item + 8] ? WORD[this->item + 8] : 0;
	this->item = IS_THERE[this->item] ? WORD[this->item] : 0;
	if ((this->item & 3) == 1 && IS_THERE[this->item - 1]) {
		this->key = WORD[this->item - 1] - 1;
		if (IS_THERE[this->key] && IS_THERE[this->key + 8] &&
		    KIND[this->item] != 65535 && KIND[this->item] >= v_receiver)
			uitem("object", this->item);
	}
}

dtrace:helper:handles:
/symaddr("default_loop_struct")/
{
	this->o = symaddr("default_loop_struct") + LOOP_QUEUE;
	this->m = WORD[this->o];
	this->i = 0;
	while (this->m && this->m != this->o && this->i < 10000; 10000) {
		this->s = this->m - HANDLE_QUEUE;
		say_handle();
		this->m = WORD[this->m];
		this->i++;
	}
}

dtrace:helper:constructor:
/(arg0 & 3) == 1 && KIND[MOVED[arg0]] != 65535 && TYPE[MOVED[arg0]] >= v_receiver/
{
	this->o = MOVED[arg0];
	this->m = WORD[this->o - 1];
	get_class();
	if (IS_FUNCTION[this->ctor])
		umember(this->ctor);
}

dtrace:helper:bytes:
/(arg0 & 3) == 1 && KIND[MOVED[arg0]] == v_typed/
{
	this->o = MOVED[arg0];
	utext(TYPED_START, WORD[this->o + d_length], 1);
}

dtrace:helper:bytes:
/(arg0 & 3) == 1 && KIND[MOVED[arg0]] == v_buffer/
{
	this->o = MOVED[arg0];
	utext(WORD[this->o + d_store], WORD[this->o + d_store_length], 1);
}

dtrace:helper:value:
/(arg0 & 1) == 0 && (uint32_t)arg0 == 0/
{
	unumber((int64_t)arg0 >> 32);
}

dtrace:helper:value:
/arg0 == 3/
{
	uliteral("<cleared weak reference>");
}

dtrace:helper:value:
/(arg0 & 1) == 1 && arg0 != 3 && KIND[MOVED[arg0 & ~2]] != 65535/
{
	this->o = MOVED[arg0 & ~2];
	this->t = TYPE[this->o];
	this->m = WORD[this->o - 1];
	if (this->t < t_string)
		say_string();
	else if (this->t == v_number)
		udouble(WORD[this->o + 7]);
	else if (this->t == v_oddball)
		say_oddball();
	else if (this->t == v_hole)
		uliteral("<hole>");
	else if (this->t == v_symbol)
		say_symbol();
	else if (this->t == v_bigint) {
		ubig(HALF[this->o + 7] & 1, this->o + 15, HALF[this->o + 7] >> 1, 64);
		uliteral("n");
	} else if (this->t >= t_function && this->t <= t_function_last)
		say_function();
	else if (this->t == v_date)
		say_date();
	else if (this->t == v_regexp)
		say_regexp();
	else if (this->t == v_map_object || this->t == v_set)
		say_table();
	else if (this->t == v_promise)
		say_promise();
	else if (this->t == v_typed)
		say_typed();
	else if (this->t == v_proxy) {
		uopen("{}", "Proxy", ": ");
		uitem("target", WORD[this->o + 15]);
		uitem("handler", WORD[this->o + 23]);
	} else if (this->t >= v_context && this->t <= v_context_last)
		say_context();
	else if (this->t == v_global || this->t == v_global_proxy)
		say_global();
	else if (this->t == v_accessors || this->t == v_accessor)
		uliteral("[accessor]");
	else if (this->t >= v_receiver)
		say_object();
}

dtrace:helper:type:
/(arg0 & 1) == 0 && (uint32_t)arg0 == 0/
{
	uliteral("Smi");
}

dtrace:helper:type:
/(arg0 & 1) == 1 && arg0 != 3 && KIND[MOVED[arg0 & ~2]] != 65535/
{
	this->t = TYPE[MOVED[arg0 & ~2]];
	this->str = strtok(symrest("v8dbg_type_", this->t), "_");
	uliteral(this->str != "" ? this->str : this->t == v_bigint ? "BigInt" :
	    this->t >= v_context && this->t <= v_context_last ? "Context" :
	    this->t == v_hole ? "Hole" : strjoin("instance type ", lltostr(this->t)));
}

/*
 * The class from which one derives: V8 says so up to Node.js 20. Later, what matters is that all
 * objects have those fields.
 */
inline void get_base()
{
	this->base = symnth(strjoin(strjoin("v8dbg_parent_", this->class), "__"), 0);
	if (this->base == "")
		this->base = this->class == "HeapObject" || this->class == "Object" ? "" :
		    this->class == "JSReceiver" ? "HeapObject" :
		    this->class == "JSObject" ? "JSReceiver" :
		    substr(this->class, 0, 2) == "JS" ? "JSObject" :
		    this->class != "String" && index(this->class, "String") > 0 ? "String" :
		    "HeapObject";
	if (this->base == "Object")
		this->base = "";
}

dtrace:helper:raw:
/(arg0 & 1) == 1 && arg0 != 3 && KIND[MOVED[arg0 & ~2]] != 65535/
{
	this->o = MOVED[arg0 & ~2];
	this->class = strtok(symrest("v8dbg_type_", TYPE[this->o]), "_");
	if (this->class == "")
		this->class = TYPE[this->o] >= v_receiver ? "JSObject" : "HeapObject";
	this->hops = 0;
	while (this->class != "" && this->hops < 12; 12) {
		ubase(this->class);
		this->prefix = strjoin(strjoin("v8dbg_class_", this->class), "__");
		this->i = 0;
		this->str = symnth(this->prefix, 0);
		while (this->str != "" && this->i < 40; 40) {
			this->at_type = index(this->str, "__");
			if (this->at_type > 0)
				ufield(substr(this->str, 0, this->at_type),
				    substr(this->str, this->at_type + 2),
				    this->o - 1 + *(int *)symaddr(strjoin(this->prefix, this->str)));
			this->i++;
			this->str = symnth(this->prefix, this->i);
		}
		get_base();
		this->class = this->base;
		this->hops++;
	}
}

/*
 * A frame of JavaScript has its function and the number of its arguments, and the receiver and
 * these behind its return address. They are those of the outermost of the functions that were inlined into it.
 */
dtrace:helper:locals:
/!IS_ASYNC && (arg7 ? !this->more : this->n == 1) && arg1 && WORD[arg1 - 24] - 1 < 1000/
{
	umember(WORD[arg1 - 16]);
	uself(WORD[arg1 + 16]);
	this->i = 1;
	while (this->i < WORD[arg1 - 24]; 1000) {
		uarg(this->i, WORD[arg1 + 16 + 8 * this->i]);
		this->i++;
	}
}

/* Kinds of classes: 1 and 2 as a census knows them. */
inline int SHOWN = 1;
inline int META = 2;
inline int PART = 4; /* of an object: elements, properties, tables */
inline int OTHER = 8;
inline int CONTEXT = 16;
inline uint64_t SMI_LOW = 0xffffffff; /* bits that a small integer has not */
inline int SITE = 32; /* where a literal stands: it keeps the object that is copied */
inline int FUNCTION = 128;
inline int PROMISE = 256;
inline int WEAK = 512;

inline int PAGE_BITS = 18;

/* A page, or what it leads to, has its heap, which is a part of the isolate. */
dtrace:helper:owner:
{
	this->s = arg0 & ~((1ull << PAGE_BITS) - 1);
	if (o_page)
		this->s = WORD[this->s + o_page];
	umember(WORD[this->s + o_heap]);
}

dtrace:helper:heap:
{
	uscan(7, 1);
	urequire(SHOWN, 8, 1, PART);
	urequire(SHOWN, 16, 0, PART);
	ukept(SITE, 8);
	uitem("functions", FUNCTION);
	uitem("code", o_shared);
	uitem("waiting", PROMISE);
	uitem("weak", WEAK);
	uitem("owned", PAGE_BITS);
}

/*
 * Tables of names, of the entries of a Map, of a WeakMap (the second of them) and so on have no
 * names; their types lie between those of arrays.
 */
dtrace:helper:class:
/(WORD[arg0] & 7) == 1 && TYPE[arg0 + 1] == v_map && TYPE[WORD[arg0]] == v_map/
{
	this->m = arg0 + 1;
	this->t = SHORT[this->m + MAP_TYPE];
	this->size = 8 * BYTE[this->m + 7];
	this->str = this->t >= v_receiver ? "" : strtok(symrest("v8dbg_type_", this->t), "_");
	this->kind = this->t == v_map ? META : this->t >= v_receiver ? SHOWN :
	    this->t >= v_context && this->t <= v_context_last ? CONTEXT :
	    this->str == "AllocationSite" ? SITE :
	    (this->t > t_array && this->t < t_bytes) ||
	    index(this->str, "FixedArray") >= 0 || index(this->str, "PropertyArray") >= 0 ||
	    index(this->str, "Dictionary") >= 0 || index(this->str, "Hash") >= 0 ||
	    index(this->str, "FixedDoubleArray") >= 0 || index(this->str, "Boilerplate") >= 0 ||
	    index(this->str, "ClosureFeedback") >= 0 ? PART : OTHER;
	this->s = 0;
	if (this->kind == SHOWN)
		get_class();
	if (this->t >= t_function && this->t <= t_function_last)
		this->kind |= FUNCTION;
	if (this->t == v_promise)
		this->kind |= PROMISE;
	if (this->t == v_weak_ref || this->t == t_array + 2 || this->str == "WeakCell")
		this->kind |= WEAK;
	if (this->size || (this->kind & (PART | CONTEXT)))
		uclass(this->kind, this->size, this->s);
	if (!this->size && (this->kind & (PART | CONTEXT)))
		ucount(8, 32, 8, 16, SMI_LOW);
	if (!this->size && this->t < t_string && (this->t & STRING_KIND) == SEQUENTIAL) {
		uclass(OTHER, 0, 0);
		ucount(8, 32, this->t & ONE_BYTE ? 1 : 2, 16, 0);
	}
	if (!this->size && this->t == t_bytes) {
		uclass(OTHER, 0, 0);
		ucount(8, 32, 1, 16, SMI_LOW);
	}
	if (!this->size && v_free && this->t == v_free) {
		uclass(OTHER, 0, 0);
		ucount(8, 32, 1, 0, SMI_LOW);
	}
}

dtrace:helper:shape:
{
	this->m = arg0 + 1;
	this->most = HALF[this->m + 15] >> 10 & 0x3ff;
	this->descriptors = WORD[this->m + d_descriptors];
	this->i = 0;
	while (this->i < this->most && !(HALF[this->m + 15] >> 21 & 1); 1024) {
		this->key = WORD[this->descriptors + d_first + this->i * d_size];
		if (IS_SHOWN[this->key])
			uprop(this->key);
		this->i++;
	}
}

/* of a thread that has the thread pointer `tp`: its isolate, while it is in one */
inline uint64_t ISOLATE_OF[uint64_t tp] = isolate ? WORD[tp + isolate] :
    key && specific && INT[key] < 32 ? WORD[WORD[tp + 16] + specific + 16 * INT[key]] : 0;

dtrace:helper:thread:
{
	this->s = ISOLATE_OF[arg0];
	if (this->s)
		uitem("thread", this->s);
}
