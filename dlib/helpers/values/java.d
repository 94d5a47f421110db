/* SPDX-License-Identifier: MIT */
/*
 * Values of Java (HotSpot 8 to 25), for debuggers: objects with their fields, variables of
 * interpreted frames, classes, and where the collectors G1, Serial, Parallel and Shenandoah have objects.
 *
 * A word is the address of an object, 0 is null. Other words stand for what is no object: the name
 * of a class (bit 0), a name that is a Symbol (bit 1), the number of a slot, and a primitive value,
 * which is the address of its memory with the letter of its type in the uppermost bytes.
 *
 * Where fields are is read from the tables that libjvm.so exports. What these lack: how the fields
 * of a class and the variables of a method are listed, OpenJDK src/hotspot/share/oops/
 * {fieldInfo,constMethod}.hpp, and the bits of an array's class, oops/klass.hpp.
 */
uint64_t flags, flag_row, flag_name, flag_at; /* the table of the virtual machine's options */
uint64_t h_at, h_right, h_mask, h_left, h_base; /* how an object leads to its class */
uint64_t is_small;		/* references have four bytes */
uint64_t ref_base, ref_shift;	/* and lead to base + (reference << shift) */
uint64_t is_coloured, z_mask; /* references of ZGC, and where the bits of incorrect ones are */
uint64_t a_length;		/* of an array: its length */
uint64_t k_layout, k_super, k_mirror, has_handles;
uint64_t k_fields, k_nfields, k_stream, k_pool, words_data;
uint64_t c_class, c_array, c_size; /* of a mirror: its class, the class of arrays of it, its size */
uint64_t m_locals, m_signature, m_size;
uint64_t heap, collector;
uint64_t s_value, s_coder; /* of a String: offsets of its fields; 0: not known yet */

inline uint64_t NONE = ~0ull;
inline int G1 = 1;
inline int SERIAL = 2;
inline int PARALLEL = 3;
inline int SHENANDOAH = 4;

/* in attach and heap clauses, of what not all versions have: a field's offset, an address */
inline uint64_t OFFSET[string type, string name] =
    (this->entry = ufind(structs, STRUCT_ROW, STRUCT_TYPE, type, STRUCT_FIELD, name)) ?
    WORD[this->entry + STRUCT_OFFSET] : NONE;
inline uint64_t ADDRESS[string type, string name] =
    (this->entry = ufind(structs, STRUCT_ROW, STRUCT_TYPE, type, STRUCT_FIELD, name)) ?
    WORD[this->entry + STRUCT_ADDRESS] : 0;
inline uint64_t OPTION[string name] =
    (this->entry = ufind(flags, flag_row, flag_name, name, flag_name, NULL)) ?
    BYTE[WORD[this->entry + flag_at]] : 0;
inline int HAS_OPTION[string name] =
    ufind(flags, flag_row, flag_name, name, flag_name, NULL) != 0;

dtrace:helper:attach:
/structs/
{
	this->missing = 0;
	this->type = has_one_heap ? "Flag" : "JVMFlag";
	flags = WORD[STATIC[this->type, "flags"]];
	flag_name = FIELD[this->type, "_name"];
	flag_at = FIELD[this->type, "_addr"];
	flag_row = SIZE[this->type];
	k_layout = FIELD["Klass", "_layout_helper"];
	k_super = FIELD["Klass", "_super"];
	k_mirror = FIELD["Klass", "_java_mirror"];
	has_handles = ufind(types, TYPE_ROW, TYPE_NAME, "OopHandle", TYPE_NAME, NULL) != 0;
	k_pool = FIELD["InstanceKlass", "_constants"];
	k_stream = OFFSET["InstanceKlass", "_fieldinfo_stream"];
	k_fields = k_stream == NONE ? FIELD["InstanceKlass", "_fields"] : 0;
	k_nfields = k_stream == NONE ? FIELD["InstanceKlass", "_java_fields_count"] : 0;
	words_data = FIELD["Array<u1>", "_data"];
	c_class = (uint64_t)HALF[STATIC["java_lang_Class", "_klass_offset"]];
	c_array = (uint64_t)HALF[STATIC["java_lang_Class", "_array_klass_offset"]];
	c_size = (uint64_t)HALF[STATIC["java_lang_Class", "_oop_size_offset"]];
	m_locals = FIELD["ConstMethod", "_max_locals"];
	m_signature = FIELD["ConstMethod", "_signature_index"];
	m_size = FIELD["ConstMethod", "_constMethod_size"];
	heap = STATIC["Universe", "_collectedHeap"];
	if (this->missing)
		udecline("this Java virtual machine lacks a field that values are made of");
}

/* Classes and references are numbers of four bytes, unless there are options that say no. */
dtrace:helper:attach:
/structs && flags/
{
	h_at = 8ull;
	h_right = 0ull;
	h_mask = NONE;
	h_left = 0ull;
	h_base = 0ull;
	a_length = 16ull;
	if (OPTION["UseCompactObjectHeaders"]) { /* markWord.hpp: klass_shift; from 24 on */
		h_at = 0ull;
		h_right = 42ull;
		a_length = 8ull;
	} else if (OPTION["UseCompressedClassPointers"]) {
		h_mask = 0xffffffffull;
		a_length = 12ull;
	}
	if (a_length != 16) {
		this->at = ADDRESS["CompressedKlassPointers", "_base"];
		this->at = this->at ? this->at :
		    ADDRESS["CompressedKlassPointers", "_narrow_klass._base"];
		this->at = this->at ? this->at : ADDRESS["Universe", "_narrow_klass._base"];
		h_base = this->at ? WORD[this->at] : 0;
		this->at = ADDRESS["CompressedKlassPointers", "_shift"];
		this->at = this->at ? this->at :
		    ADDRESS["CompressedKlassPointers", "_narrow_klass._shift"];
		this->at = this->at ? this->at : ADDRESS["Universe", "_narrow_klass._shift"];
		h_left = this->at ? (uint64_t)HALF[this->at] : 0;
	}
	is_small = OPTION["UseCompressedOops"];
	if (is_small) {
		this->at = ADDRESS["CompressedOops", "_base"];
		this->at = this->at ? this->at : ADDRESS["CompressedOops", "_narrow_oop._base"];
		this->at = this->at ? this->at : ADDRESS["Universe", "_narrow_oop._base"];
		ref_base = this->at ? WORD[this->at] : 0;
		this->at = ADDRESS["CompressedOops", "_shift"];
		this->at = this->at ? this->at : ADDRESS["CompressedOops", "_narrow_oop._shift"];
		this->at = this->at ? this->at : ADDRESS["Universe", "_narrow_oop._shift"];
		ref_shift = this->at ? (uint64_t)HALF[this->at] : 0;
	}
	collector = OPTION["UseG1GC"] ? G1 : OPTION["UseSerialGC"] ? SERIAL :
	    OPTION["UseParallelGC"] ? PARALLEL : OPTION["UseShenandoahGC"] ? SHENANDOAH : 0;
	/*
	 * Without generations, for which 21 to 23 have an option, references of ZGC are addresses:
	 * the memory is mapped once for each bit.
	 */
	this->at = OFFSET["ZGlobalsForVMStructs", "_ZPointerLoadBadMask"];
	if (OPTION["UseZGC"] && this->at != NONE &&
	    (OPTION["ZGenerational"] || !HAS_OPTION["ZGenerational"])) {
		is_coloured = 1ull;
		z_mask = WORD[WORD[ADDRESS["ZGlobalsForVMStructs", "_instance_p"]] + this->at];
	}
}

this uint64_t blob;
this uint64_t method;
this uint64_t pool;
this uint64_t end;
this int good;
this uint64_t bci;

this uint64_t o;     /* the object */
this uint64_t k;     /* its class, or a class from which that one is derived */
this uint64_t was_k;
this uint64_t mirror;
this int layout;     /* of its class: negative for arrays */
this int special;
this uint64_t shown;
this uint64_t hops;
this uint64_t i;
this uint64_t most;
this uint64_t at;
this uint64_t size;
this uint64_t table;
this uint64_t item;
this uint64_t a;      /* the address of a primitive value */
this uint64_t letter; /* of its type */
this string str;
this string dims;
this string name;
this string type;
this int64_t dot;
/* the field that has been read, and how many there are */
this uint64_t f_i;
this uint64_t f_n;
this uint64_t f_next;
this uint64_t f_pool;
this uint64_t f_name;
this uint64_t f_type;
this uint64_t f_at;
this uint64_t f_flags;
this uint64_t n_part;
this uint64_t n_parts;
this uint64_t n_value;
this uint64_t n_bits;
this uint64_t n_byte;
/* fields that are looked for, and where they are; 0: there are none */
this string want0;
this string want1;
this string want2;
this uint64_t at0;
this uint64_t letter0; /* of the type of the first */
this uint64_t at1;
this uint64_t at2;

inline int IS_STATIC = 8;
inline uint64_t KIND_SHIFT = 48; /* of words: the letter of a type, or these two */
inline uint64_t KIND_SLOT = 1;
inline uint64_t KIND_UNKNOWN = 2; /* of the memory of a slot whose type is not known */
inline uint64_t KIND_STALE = 3;	  /* of a reference that ZGC has not corrected yet */
inline uint64_t PLACE[uint64_t w] = w & 0xffffffffffffull;

inline uint64_t KLASS[uint64_t o] = h_base + ((WORD[o + h_at] >> h_right & h_mask) << h_left);
/*
 * A reference of ZGC has one of four bits, behind which the address begins (zAddress.hpp): it says
 * in which phase the reference was correct. Where another bit is expected now, the object may have
 * been moved.
 */
inline uint64_t UNCOLOURED[uint64_t w] =
    w >> (w & 0x1000 ? 13 : w & 0x2000 ? 14 : w & 0x4000 ? 15 : 16);
/* the object to which a field leads */
inline uint64_t REF[uint64_t a] = is_coloured ?
    (UNCOLOURED[WORD[a]] && (WORD[a] & WORD[z_mask]) ? KIND_STALE << KIND_SHIFT :
    UNCOLOURED[WORD[a]]) :
    !is_small ? WORD[a] : HALF[a] ? ref_base + ((uint64_t)HALF[a] << ref_shift) : 0;
/* leads back to the class if it is right */
inline uint64_t MIRROR[uint64_t k] = !has_handles ? WORD[k + k_mirror] :
    !WORD[k + k_mirror] ? 0 :
    is_coloured ? UNCOLOURED[WORD[WORD[k + k_mirror]]] : WORD[WORD[k + k_mirror]];
inline uint64_t LENGTH[uint64_t array] = (uint64_t)HALF[array + a_length];
inline uint64_t REF_SIZE = is_small ? 4 : 8;
/* of an array's class: offset of the elements, the binary logarithm of their size, their type */
inline uint64_t DATA[int layout] = (uint64_t)(layout >> 16 & 255);
inline uint64_t LOG[int layout] = (uint64_t)(layout & 63);
inline int ELEMENT[int layout] = layout >> 8 & 255;
inline int IS_PRIMITIVES[int layout] = layout >> 30 == -1;

/* Whether an address is that of a class: its mirror leads back to it. */
inline void find_mirror(uint64_t k)
{
	this->mirror = k && !(k & 7) ? MIRROR[k] : 0;
	if (!this->mirror || (this->mirror & 7) || WORD[this->mirror + c_class] != k)
		this->mirror = 0;
}

/* An object that was moved has the address of its copy. */
inline void find_object(uint64_t word)
{
	this->o = word;
	if (h_right == 0 && (WORD[this->o] & MARKED) == MARKED)
		this->o = WORD[this->o] & ~7ull;
	this->k = KLASS[this->o];
	find_mirror(this->k);
	this->layout = this->mirror ? INT[this->k + k_layout] : 0;
}

/* ---- names ---- */

/* this->str as Java writes it: "java/util/List" and "[Ljava/lang/String;" are names of classes. */
inline void get_class_name()
{
	this->dims = "";
	while (substr(this->str, 0, 1) == "["; 16) {
		this->dims = strjoin(this->dims, "[]");
		this->str = substr(this->str, 1);
	}
}

inline void get_type_name()
{
	this->str = substr(this->str, 0, 1) == "L" ?
	    substr(this->str, 1, strlen(this->str) - 2) : this->str == "I" ? "int" :
	    this->str == "J" ? "long" : this->str == "Z" ? "boolean" : this->str == "B" ? "byte" :
	    this->str == "C" ? "char" : this->str == "D" ? "double" : this->str == "F" ? "float" :
	    this->str == "S" ? "short" : this->str;
}

inline void dot_name()
{
	this->dot = index(this->str, "/");
	while (this->dot >= 0; 32) {
		this->str = strjoin(substr(this->str, 0, this->dot), strjoin(".",
		    substr(this->str, this->dot + 1)));
		this->dot = index(this->str, "/");
	}
	this->dot = index(this->str, "+0x"); /* of a hidden class: what tells it from others */
	if (this->dot > 0)
		this->str = strjoin(substr(this->str, 0, this->dot), strjoin("/",
		    substr(this->str, this->dot + 1)));
	this->str = strjoin(this->str, this->dims);
}

inline void get_name(uint64_t k)
{
	this->str = SYMBOL[WORD[k + klass_name]];
	get_class_name();
	if (this->dims != "")
		get_type_name();
	dot_name();
}

/* ---- fields ---- */

/*
 * The fields of the class this->k: from 21 on packed numbers, of which the first two say how many
 * fields the class file has, and how many the virtual machine has added; before, six halves each.
 */
inline void begin_fields()
{
	this->f_i = 0;
	this->f_n = 0;
	this->f_pool = this->k ? WORD[this->k + k_pool] : 0;
	if (this->f_pool && k_stream == NONE) {
		this->f_next = WORD[this->k + k_fields] + words_data;
		this->f_n = SHORT[this->k + k_nfields];
	} else if (this->f_pool) {
		this->f_next = WORD[this->k + k_stream] + words_data;
		this->n_part = 0;
		this->n_value = 0;
		this->n_bits = 0;
		while (this->n_part < 2; 10) {
			this->n_byte = BYTE[this->f_next];
			this->f_next++;
			this->n_value += (this->n_byte - 1) << this->n_bits;
			this->n_bits += PACKED_BITS;
			if (this->n_byte < PACKED_MORE || this->n_bits == PACKED_END) {
				if (this->n_part == 0)
					this->f_n = this->n_value;
				this->n_part++;
				this->n_value = 0;
				this->n_bits = 0;
			}
		}
	}
}

/* Name, type, offset and flags; further numbers that the kind of the field has are skipped. */
inline void read_field()
{
	this->f_i++;
	if (k_stream == NONE) {
		this->f_flags = SHORT[this->f_next];
		this->f_name = SHORT[this->f_next + 2];
		this->f_type = SHORT[this->f_next + 4];
		this->f_at = SHORT[this->f_next + 8] >> 2 |
		    (uint64_t)SHORT[this->f_next + 10] << 14;
		this->f_next += 12;
	} else {
		this->n_part = 0;
		this->n_parts = 5;
		this->n_value = 0;
		this->n_bits = 0;
		while (this->n_part < this->n_parts; 40) {
			this->n_byte = BYTE[this->f_next];
			this->f_next++;
			this->n_value += (this->n_byte - 1) << this->n_bits;
			this->n_bits += PACKED_BITS;
			if (this->n_byte < PACKED_MORE || this->n_bits == PACKED_END) {
				if (this->n_part == 0)
					this->f_name = this->n_value;
				else if (this->n_part == 1)
					this->f_type = this->n_value;
				else if (this->n_part == 2)
					this->f_at = this->n_value;
				else if (this->n_part == 3)
					this->f_flags = this->n_value;
				else if (this->n_part == 4)
					this->n_parts += (this->n_value & 1) +
					    (this->n_value >> 2 & 1) + (this->n_value >> 4 & 1);
				this->n_part++;
				this->n_value = 0;
				this->n_bits = 0;
			}
		}
	}
	this->f_name = SLOT[this->f_pool, this->f_name];
	this->f_type = SLOT[this->f_pool, this->f_type];
	this->letter = BYTE[this->f_type + symbol_body];
}

/* Where the class this->k has the fields that are wanted. */
inline void find_fields()
{
	this->at0 = 0;
	this->at1 = 0;
	this->at2 = 0;
	begin_fields();
	while (this->f_i < this->f_n; 4096) {
		read_field();
		this->name = SYMBOL[this->f_name];
		if (!(this->f_flags & IS_STATIC)) {
			if (this->name == this->want0) {
				this->at0 = this->f_at;
				this->letter0 = this->letter;
			} else if (this->name == this->want1)
				this->at1 = this->f_at;
			else if (this->name == this->want2)
				this->at2 = this->f_at;
		}
	}
}

inline int IS_REFERENCE[uint64_t letter] = letter == 'L' || letter == '[';

/* ---- values ---- */

/* The primitive value at this->a, by the letter of its type. */
inline void say_primitive()
{
	if (this->letter == 'I')
		unumber((int64_t)INT[this->a]);
	else if (this->letter == 'J')
		unumber((int64_t)WORD[this->a]);
	else if (this->letter == 'Z')
		uliteral(BYTE[this->a] ? "true" : "false");
	else if (this->letter == 'B')
		unumber((int64_t)*(int8_t *)this->a);
	else if (this->letter == 'S')
		unumber((int64_t)*(int16_t *)this->a);
	else if (this->letter == 'C') {
		uliteral("'");
		uliteral(utf16(this->a, 1));
		uliteral("'");
	} else if (this->letter == 'D')
		udouble(WORD[this->a], 5);
	else if (this->letter == 'F')
		udouble(HALF[this->a], 6);
}

/* The letter of the elements' type: basicType.hpp numbers them from T_BOOLEAN = 4 on. */
inline uint64_t ELEMENT_LETTER[int type] = type == 4 ? 'Z' : type == 5 ? 'C' : type == 6 ? 'F' :
    type == 7 ? 'D' : type == 8 ? 'B' : type == 9 ? 'S' : type == 10 ? 'I' : 'J';

inline void say_array()
{
	get_name(this->k);
	this->most = LENGTH[this->o];
	this->dot = index(this->str, "[");
	uopen("[]", strjoin(substr(this->str, 0, this->dot), strjoin("[", strjoin(
	    lltostr(this->most), substr(this->str, this->dot + 1)))), "=");
	this->letter = ELEMENT_LETTER[ELEMENT[this->layout]];
	this->at = this->o + DATA[this->layout];
	this->size = 1ull << LOG[this->layout];
	this->i = 0;
	while (this->i < this->most && this->i < arg1; 65536) {
		this->a = this->at + this->size * this->i;
		if (IS_PRIMITIVES[this->layout]) {
			uelement(this->i);
			say_primitive();
		} else
			uelement(this->i, REF[this->a]);
		this->i++;
	}
	if (this->i < this->most)
		umore(this->most - this->i);
}

/* Fields of the class this->k that are static, or not; those of an object are at this->o. */
inline void say_fields(int is_static)
{
	begin_fields();
	while (this->f_i < this->f_n; 4096) {
		read_field();
		if ((this->f_flags & IS_STATIC) != is_static)
			;
		else if (this->shown >= arg1)
			umore(1);
		else {
			this->a = this->o + this->f_at;
			if (IS_REFERENCE[this->letter])
				uitem(SYMBOL[this->f_name], REF[this->a]);
			else {
				uitem(SYMBOL[this->f_name]);
				say_primitive();
			}
			this->shown++;
		}
	}
}

/* Kinds of objects that are not shown by their fields. */
inline int PLAIN = 0;
inline int STRING = 1;
inline int BOX = 2;
inline int ENUM = 3;
inline int MIRRORED = 4;
inline int LIST = 5;
inline int MAP = 6;
inline int LINKED = 7;
inline int SET = 8;
inline int NOTHING = 9; /* it is no object */

/* Names for which are no objects. */
dtrace:helper:value:
/(arg0 & 7) == 1 && !(arg0 >> KIND_SHIFT)/
{
	get_name(arg0 - 1);
	uliteral(this->str);
}

dtrace:helper:value:
/(arg0 & 7) == 2 && !(arg0 >> KIND_SHIFT)/
{
	uliteral(SYMBOL[arg0 - 2]);
}

dtrace:helper:value:
/arg0 >> KIND_SHIFT/
{
	this->letter = arg0 >> KIND_SHIFT;
	this->a = PLACE[arg0];
	if (this->letter == KIND_SLOT) {
		uliteral("slot ");
		unumber(this->a);
	} else if (this->letter == KIND_UNKNOWN)
		uliteral(lltostr(WORD[this->a], 16));
	else if (this->letter == KIND_STALE)
		uliteral("<may have been moved>");
	else
		say_primitive();
}

dtrace:helper:value:
/!arg0/
{
	uliteral("null");
}

dtrace:helper:value:
/arg0 && !(arg0 & 7) && !(arg0 >> KIND_SHIFT)/
{
	find_object(arg0);
	this->special = this->mirror ? PLAIN : NOTHING;
	this->shown = 0;
	this->want0 = "";
	this->want1 = "";
	this->want2 = "";
	this->was_k = this->k;
	this->name = this->mirror && this->layout > 0 ? SYMBOL[WORD[this->k + klass_name]] : "";
	if (substr(this->name, 0, 10) == "java/lang/") {
		this->name = substr(this->name, 10);
		this->want0 = "value";
		this->want1 = "coder";
		this->special = this->name == "String" ? STRING : this->name == "Class" ? MIRRORED :
		    this->name == "Integer" || this->name == "Long" || this->name == "Boolean" ||
		    this->name == "Byte" || this->name == "Short" || this->name == "Character" ||
		    this->name == "Double" || this->name == "Float" ? BOX : PLAIN;
	} else if (substr(this->name, 0, 10) == "java/util/") {
		this->name = substr(this->name, 10);
		this->want0 = this->name == "HashSet" || this->name == "LinkedHashSet" ? "map" :
		    "size";
		this->want1 = this->name == "ArrayList" ? "elementData" : "table";
		this->special = this->name == "ArrayList" ? LIST : this->name == "HashMap" ? MAP :
		    this->name == "LinkedHashMap" ? LINKED :
		    this->name == "HashSet" || this->name == "LinkedHashSet" ? SET : PLAIN;
		/* both are derived from the class that has the fields */
		if (this->name == "LinkedHashMap" || this->name == "LinkedHashSet")
			this->k = WORD[this->k + k_super];
	}
	/* of an enumeration's constant, one class or two above */
	if (this->special == PLAIN && this->layout > 0 && WORD[this->k + k_super]) {
		this->k = WORD[this->k + k_super];
		if (SYMBOL[WORD[this->k + klass_name]] == "java/lang/Enum")
			this->special = ENUM;
		else if (WORD[this->k + k_super] &&
		    SYMBOL[WORD[WORD[this->k + k_super] + klass_name]] == "java/lang/Enum") {
			this->was_k = this->k;
			this->k = WORD[this->k + k_super];
			this->special = ENUM;
		}
		this->want0 = "name";
	}
}

/* Where the fields are; those of Strings are the same in all of them. */
dtrace:helper:value:
/arg0 && !(arg0 & 7) && !(arg0 >> KIND_SHIFT) && this->special != NOTHING &&
    this->special != PLAIN && this->special != MIRRORED && !(this->special == STRING && s_value)/
{
	find_fields();
	if (this->special == STRING) {
		s_value = this->at0;
		s_coder = this->at1;
	}
}

/* The characters of the String this->item: this->at, this->most and this->size of each. */
inline void find_characters()
{
	this->table = REF[this->item + s_value];
	this->most = LENGTH[this->table];
	this->size = 1ull << LOG[INT[KLASS[this->table] + k_layout]];
	this->at = this->table + DATA[INT[KLASS[this->table] + k_layout]];
	if (this->size == 1 && s_coder && BYTE[this->item + s_coder]) {
		this->size = 2;
		this->most >>= 1;
	}
}

dtrace:helper:value:
/arg0 && !(arg0 & 7) && !(arg0 >> KIND_SHIFT) && this->special == STRING/
{
	this->item = this->o;
	if (REF[this->item + s_value]) {
		find_characters();
		utext(this->at, this->most, this->size);
	} else
		uliteral("<String without characters>");
}

dtrace:helper:value:
/arg0 && !(arg0 & 7) && !(arg0 >> KIND_SHIFT) && this->special == BOX/
{
	this->a = this->o + this->at0;
	this->letter = this->letter0;
	say_primitive();
}

this uint64_t map;
this uint64_t count;
this uint64_t stage;
this uint64_t is_linked;
this uint64_t node_class;
this uint64_t o_key;
this uint64_t o_value;
this uint64_t o_next;
this uint64_t o_after;

inline void climb(string name)
{
	this->hops = 0;
	while (this->k && this->hops < 4 && SYMBOL[WORD[this->k + klass_name]] != name; 4) {
		this->k = WORD[this->k + k_super];
		this->hops++;
	}
}

/* Sets this->item to the first entry of this->table. */
inline void find_entry()
{
	this->i = 0;
	this->item = 0;
	this->most = this->table ? LENGTH[this->table] : 0;
	this->at = this->table + DATA[INT[KLASS[this->table] + k_layout]];
	while (!this->item && this->i < this->most; 65536) {
		this->item = REF[this->at + REF_SIZE * this->i];
		this->i++;
	}
}

/* "RED" of an enumeration Colour is written Colour.RED. */
dtrace:helper:value:
/arg0 && !(arg0 & 7) && !(arg0 >> KIND_SHIFT) && this->special == ENUM/
{
	get_name(this->was_k);
	uliteral(this->str);
	uliteral(".");
	this->item = REF[this->o + this->at0];
	if (!s_value && this->item) {
		this->k = KLASS[this->item];
		this->want0 = "value";
		this->want1 = "coder";
		find_fields();
		s_value = this->at0;
		s_coder = this->at1;
	}
	if (this->item) {
		find_characters();
		uliteral(this->size == 1 ? ulatin1(this->at, this->most) :
		    utf16(this->at, this->most));
	}
}

/* A class has its static fields; those of primitive types have the class of their arrays only. */
dtrace:helper:value:
/arg0 && !(arg0 & 7) && !(arg0 >> KIND_SHIFT) && this->special == MIRRORED/
{
	this->k = WORD[this->o + c_class];
	if (!this->k) {
		this->k = WORD[this->o + c_array];
		this->str = "void";
		if (this->k)
			get_name(this->k);
		uliteral(strjoin("class ", this->k ? strtok(this->str, "[") : "void"));
	} else {
		get_name(this->k);
		if (INT[this->k + k_layout] < 0)
			uliteral(strjoin("class ", this->str));
		else {
			uopen("{}", strjoin("class ", this->str), "=");
			say_fields(IS_STATIC);
		}
	}
}

dtrace:helper:value:
/arg0 && !(arg0 & 7) && !(arg0 >> KIND_SHIFT) && this->special == LIST/
{
	get_name(this->was_k);
	this->count = HALF[this->o + this->at0];
	this->table = REF[this->o + this->at1];
	uopen("[]", strjoin(this->str, strjoin("(", strjoin(lltostr(this->count), ")"))), "=");
	this->most = this->table ? LENGTH[this->table] : 0;
	this->most = this->count < this->most ? this->count : this->most;
	this->at = this->table + DATA[INT[KLASS[this->table] + k_layout]];
	this->i = 0;
	while (this->i < this->most && this->i < arg1; 65536) {
		uelement(this->i, REF[this->at + REF_SIZE * this->i]);
		this->i++;
	}
	if (this->i < this->count)
		umore(this->count - this->i);
}

/* Where a map has its entries: in a table of lists, or in one list if it keeps their order. */
dtrace:helper:value:
/arg0 && !(arg0 & 7) && !(arg0 >> KIND_SHIFT) &&
    (this->special == MAP || this->special == LINKED || this->special == SET)/
{
	this->map = this->special == SET ? REF[this->o + this->at0] : this->o;
	this->count = 0;
	this->table = 0;
	this->item = 0;
	this->stage = this->map ? 0 : 4;
	while (this->stage < 4; 4) {
		this->k = KLASS[this->map];
		if (this->stage == 0) {
			this->is_linked =
			    SYMBOL[WORD[this->k + klass_name]] == "java/util/LinkedHashMap";
			climb("java/util/HashMap");
			this->want0 = "size";
			this->want1 = "table";
			this->want2 = "";
		} else if (this->stage == 1) {
			this->k = this->is_linked ? this->k : 0;
			this->want0 = "head";
		} else {
			this->k = this->item ? KLASS[this->item] : 0;
			if (this->stage == 2)
				climb("java/util/HashMap$Node");
			else if (this->is_linked)
				climb("java/util/LinkedHashMap$Entry");
			else
				this->k = 0;
			this->want0 = this->stage == 2 ? "key" : "after";
			this->want1 = "value";
			this->want2 = "next";
		}
		find_fields();
		if (this->stage == 0) {
			this->count = HALF[this->map + this->at0];
			this->table = REF[this->map + this->at1];
			if (this->table && !this->is_linked)
				find_entry();
		} else if (this->stage == 1 && this->is_linked)
			this->item = REF[this->map + this->at0];
		else if (this->stage == 2) {
			this->o_key = this->at0;
			this->o_value = this->at1;
			this->o_next = this->at2;
		} else if (this->stage == 3)
			this->o_after = this->at0;
		this->stage++;
	}
}

inline void say_entry()
{
	if (this->special == SET)
		umember(REF[this->item + this->o_key]);
	else
		uentry(REF[this->item + this->o_key], REF[this->item + this->o_value]);
	this->shown++;
}

dtrace:helper:value:
/arg0 && !(arg0 & 7) && !(arg0 >> KIND_SHIFT) &&
    (this->special == MAP || this->special == LINKED || this->special == SET)/
{
	get_name(this->was_k);
	uopen("{}", strjoin(this->str, strjoin("(", strjoin(lltostr(this->count), ")"))), "=");
	this->i = 0;
	this->most = this->table && this->item && this->o_key ? LENGTH[this->table] : 0;
	if (this->is_linked) {
		while (this->item && this->o_after && this->shown < arg1; 65536) {
			say_entry();
			this->item = REF[this->item + this->o_after];
		}
		this->most = 0;
	}
	this->at = this->table ? this->table + DATA[INT[KLASS[this->table] + k_layout]] : 0;
	while (this->i < this->most && this->shown < arg1; 65536) {
		this->item = REF[this->at + REF_SIZE * this->i];
		while (this->item && this->shown < arg1; 65536) {
			say_entry();
			this->item = REF[this->item + this->o_next];
		}
		this->i++;
	}
	if (this->shown < this->count)
		umore(this->count - this->shown);
}

dtrace:helper:value:
/arg0 && !(arg0 & 7) && !(arg0 >> KIND_SHIFT) && this->special == PLAIN && this->layout < 0/
{
	say_array();
}

/* The fields of the object's class come before those of the class from which that is derived. */
dtrace:helper:value:
/arg0 && !(arg0 & 7) && !(arg0 >> KIND_SHIFT) && this->special == PLAIN && this->layout > 0/
{
	this->k = this->was_k;
	get_name(this->k);
	uopen("{}", this->str, "=");
	this->hops = 0;
	while (this->k && this->hops < 64; 64) {
		say_fields(0);
		this->k = WORD[this->k + k_super];
		this->hops++;
	}
}

dtrace:helper:type:
/!arg0/
{
	uliteral("null");
}

dtrace:helper:type:
/arg0 && !(arg0 & 7) && !(arg0 >> KIND_SHIFT)/
{
	find_object(arg0);
	if (this->mirror) {
		get_name(this->k);
		uliteral(this->str);
	}
}

dtrace:helper:type:
/(arg0 >> KIND_SHIFT) > KIND_STALE/
{
	this->letter = arg0 >> KIND_SHIFT;
	if (this->letter == 'I' || this->letter == 'J' || this->letter == 'Z' ||
	    this->letter == 'B' || this->letter == 'S' || this->letter == 'C' ||
	    this->letter == 'D' || this->letter == 'F') {
		this->str = this->letter == 'I' ? "I" : this->letter == 'J' ? "J" :
		    this->letter == 'Z' ? "Z" : this->letter == 'B' ? "B" :
		    this->letter == 'S' ? "S" : this->letter == 'C' ? "C" :
		    this->letter == 'D' ? "D" : "F";
		get_type_name();
		this->letter = BYTE[PLACE[arg0]]; /* it is there */
		uliteral(this->str);
	}
}

/* The fields with their declared types and addresses, of each class in its turn. */
dtrace:helper:raw:
/arg0 && !(arg0 & 7) && !(arg0 >> KIND_SHIFT)/
{
	find_object(arg0);
	this->hops = 0;
	if (this->layout <= 0)
		this->k = 0;
	while (this->k && this->hops < 16; 16) {
		get_name(this->k);
		ubase(this->str);
		begin_fields();
		while (this->f_i < this->f_n; 4096) {
			read_field();
			if (!(this->f_flags & IS_STATIC)) {
				this->str = SYMBOL[this->f_type];
				get_class_name();
				get_type_name();
				dot_name();
				this->a = this->o + this->f_at;
				ufield(SYMBOL[this->f_name], this->str, this->a,
				    IS_REFERENCE[this->letter] ? REF[this->a] :
				    this->a | this->letter << KIND_SHIFT);
			}
		}
		this->k = WORD[this->k + k_super];
		this->hops++;
	}
}

/*
 * Variables of an interpreted frame: slots below an address that is in the frame or, from 21 on,
 * its distance in words. A number of eight bytes takes two slots and lies in the second one. Those
 * of frames in chunks of the heap, and of compiled frames, are not known.
 */
this uint64_t l_const;
this uint64_t l_pool;
this uint64_t l_base;
this uint64_t l_has_table;
this uint64_t l_end;
this uint64_t l_n;
this uint64_t l_i;
this uint64_t l_slot;
this uint64_t l_letter;
this uint64_t l_type;
this uint64_t l_at;
this uint64_t l_arg;
this uint64_t l_flags;
this uint64_t l_word;

inline int HAS_CHECKED = 2; /* constMethodFlags.hpp, and before 21 in constMethod.hpp */
inline int HAS_VARIABLES = 4;
inline int HAS_EXCEPTIONS = 8;
inline int HAS_SIGNATURE = 16;
inline int HAS_PARAMETERS = 32;
inline int ANNOTATIONS = 7; /* first of four bits, each of which stands for an address at the end */

/* The word of the slot this->l_slot, whose type begins with this->l_letter. */
inline void get_word()
{
	this->l_at = this->l_base - 8 * this->l_slot;
	if (this->l_letter == 'J' || this->l_letter == 'D')
		this->l_at -= 8;
	this->l_word = IS_REFERENCE[this->l_letter] ? WORD[this->l_at] :
	    this->l_at | this->l_letter << KIND_SHIFT;
}

/*
 * The table of variables lies before other tables at the end of the ConstMethod, each of which has
 * its length behind it.
 */
inline void find_table()
{
	this->l_flags = SHORT[this->l_const + cm_flags];
	this->l_end = this->l_const + 8 * (uint64_t)HALF[this->l_const + m_size] - 2 -
	    8 * (uint64_t)upopcount(this->l_flags >> ANNOTATIONS & 15);
	if (this->l_flags & HAS_SIGNATURE)
		this->l_end -= 2;
	if (this->l_flags & HAS_PARAMETERS)
		this->l_end -= 2 + 4 * (uint64_t)SHORT[this->l_end];
	if (this->l_flags & HAS_CHECKED)
		this->l_end -= 2 + 2 * (uint64_t)SHORT[this->l_end];
	if (this->l_flags & HAS_EXCEPTIONS)
		this->l_end -= 2 + 8 * (uint64_t)SHORT[this->l_end];
	this->l_n = this->l_flags & HAS_VARIABLES ? (uint64_t)SHORT[this->l_end] : 0;
	this->l_end -= 12 * this->l_n;
}

inline int IS_IN_FRAME = this->blob && HALF[WORD[this->blob + blob_name]] == INTERPRETER &&
    this->good && !(this->end && this->end - arg2 < CODE_MAX);

dtrace:helper:locals:
/!arg7 && IS_IN_FRAME/
{
	this->is_unnamed = this->is_unclassed = 0;
	this->l_const = WORD[this->method + m_const];
	this->l_pool = WORD[this->l_const + cm_pool];
	this->l_base = WORD[arg1 - at_cache - 8];
	if (this->l_base < RELATIVE_MAX)
		this->l_base = arg1 + 8 * this->l_base;
	if (this->l_base < arg1 || this->l_base - arg1 > ARGS_MAX)
		this->l_base = 0;
	this->l_n = 0;
	if (this->l_base)
		find_table();
	this->l_has_table = this->l_n;
	this->l_i = 0;
	while (this->l_i < this->l_n && this->l_i < 1024; 1024) {
		this->l_at = this->l_end + 12 * this->l_i;
		if (this->bci >= SHORT[this->l_at] &&
		    this->bci < SHORT[this->l_at] + SHORT[this->l_at + 2]) {
			this->l_slot = SHORT[this->l_at + 10];
			this->l_type = SLOT[this->l_pool, SHORT[this->l_at + 6]];
			this->l_type = BYTE[this->l_type + symbol_body];
			this->l_letter = this->l_type;
			this->l_type = SLOT[this->l_pool, SHORT[this->l_at + 4]];
			get_word();
			ulocal(this->l_type | 2, this->l_word);
		}
		this->l_i++;
	}
}

/*
 * Without a table, the receiver and arguments are known by the method's signature. What other slots
 * hold is not known.
 */
dtrace:helper:locals:
/!arg7 && IS_IN_FRAME && this->l_base && !this->l_has_table/
{
	this->l_slot = 0;
	if (!(SHORT[this->method + m_access] & IS_STATIC)) {
		uself(WORD[this->l_base]);
		this->l_slot = 1;
	}
	this->l_type = SLOT[this->l_pool, SHORT[this->l_const + m_signature]];
	this->l_n = SHORT[this->l_type + symbol_length];
	this->l_type += symbol_body;
	this->l_i = 1;
	this->l_arg = 1;
	while (this->l_i < this->l_n && BYTE[this->l_type + this->l_i] != ')' &&
	    this->l_arg < 256; 256) {
		this->l_letter = BYTE[this->l_type + this->l_i];
		while (BYTE[this->l_type + this->l_i] == '[' && this->l_i < this->l_n; 256)
			this->l_i++;
		if (BYTE[this->l_type + this->l_i] == 'L') {
			while (BYTE[this->l_type + this->l_i] != ';' && this->l_i < this->l_n; 4096)
				this->l_i++;
		}
		this->l_i++;
		get_word();
		uarg(this->l_arg, this->l_word);
		this->l_slot += this->l_letter == 'J' || this->l_letter == 'D' ? 2 : 1;
		this->l_arg++;
	}
	this->l_n = SHORT[this->l_const + m_locals];
	while (this->l_slot < this->l_n && this->l_slot < 256; 256) {
		this->l_at = this->l_base - 8 * this->l_slot;
		ulocal(this->l_slot | KIND_SLOT << KIND_SHIFT,
		    this->l_at | KIND_UNKNOWN << KIND_SHIFT);
		this->l_slot++;
	}
}

/* ---- virtual threads ---- */

/* its class, and where its fields are; 0: none was met yet */
uint64_t v_class, v_state, v_cont, v_carrier, v_number, v_name;

this uint64_t chunk;
this uint64_t was;
this uint64_t entry;
this uint64_t next;
this uint64_t sp;
this uint64_t fp;
this uint64_t tries;
this uint64_t is_bottom;
this uint64_t state;

/* java.lang.VirtualThread: numbers of its states, of which these are of one that is not carried */
inline uint64_t STATE_STARTED = 1;
inline uint64_t STATE_ENDED = 99;
inline string STATE_TEXT[uint64_t s] = s == 4 || s == 16 ? "waiting" :
    s == 7 || s == 18 ? "timed_waiting" : s == 13 ? "blocked" : "runnable";

/* The name and the number are fields of a class from which the class this->k derives. */
inline void find_virtual_class()
{
	this->was_k = this->k;
	this->want0 = "state";
	this->want1 = "cont";
	this->want2 = "carrierThread";
	find_fields();
	v_state = this->at0;
	v_cont = this->at1;
	v_carrier = this->at2;
	this->hops = 0;
	while (this->k && SYMBOL[WORD[this->k + klass_name]] != "java/lang/Thread" &&
	    this->hops < 8; 8) {
		this->k = WORD[this->k + k_super];
		this->hops++;
	}
	this->want0 = "tid";
	this->want1 = "name";
	this->want2 = "";
	find_fields();
	v_number = this->at0;
	v_name = this->at1;
	this->k = this->was_k;
	v_class = v_state && v_cont && v_carrier && v_number && v_name ? this->k : 0;
}

/*
 * Sets this->state of a virtual thread that has begun, and this->chunk, which is 0 while a thread
 * carries it.
 */
inline void find_virtual_thread(uint64_t word)
{
	this->state = 0;
	this->chunk = 0;
	find_object(word);
	if (this->mirror && !v_class &&
	    SYMBOL[WORD[this->k + klass_name]] == "java/lang/VirtualThread")
		find_virtual_class();
	if (this->mirror && v_class && this->k == v_class) {
		this->state = HALF[this->o + v_state] & 0xff;
		if (this->state > STATE_STARTED && this->state != STATE_ENDED && entered &&
		    !REF[this->o + v_carrier])
			this->chunk = COPY[REF[this->o + v_cont]];
		if (this->chunk)
			this->chunk = OBJECT[this->chunk + HALF[co_tail]];
	}
}

dtrace:helper:task:
{
	find_virtual_thread(arg0);
	if (this->state > STATE_STARTED && this->state != STATE_ENDED) {
		uitem("kind");
		uliteral("virtual thread");
		uitem("state");
		uliteral(this->chunk ? STATE_TEXT[this->state] : "running");
		if (REF[this->o + v_name])
			uitem("name", REF[this->o + v_name]);
		uitem("number");
		unumber((int64_t)WORD[this->o + v_number]);
	}
}

/* Frames lie in the chunk as on a stack, and clauses on ustack walk them. */
dtrace:helper:backtrace:
{
	find_virtual_thread(arg0);
	this->end = 0;
	this->entry = 0;
	if (this->chunk)
		enter_chunk();
}

/* Kinds of classes, as a census knows them. */
inline int SHOWN = 1;
inline int TASK = 0x20000;

this uint64_t thread;
this uint64_t tlab;
this uint64_t regions;
this uint64_t bottom;
this uint64_t top;
this uint64_t reserve;
this uint64_t tlab_top;
this uint64_t tlab_end;
this uint64_t region;
this uint64_t young;
this uint64_t old;
this uint64_t tenured;
this uint64_t is_known;
this uint64_t type_at;
this uint32_t humongous;

/* rows of the table of constants */
inline int CONSTANT_ROW = 16;
inline int CONSTANT_NAME = 0;
inline int CONSTANT_VALUE = 8;

/* In a heap clause: the first of two fields of which a version has one. */
inline uint64_t EITHER[string type, string name, string other, string other_name] =
    (this->at = OFFSET[type, name]) != NONE ? this->at : OFFSET[other, other_name];

/*
 * Each thread has a piece of the heap from which it takes memory for its objects. What it has not
 * taken yet is no object, and neither is a reserve behind the end.
 */
inline void say_free(uint64_t thread)
{
	if (WORD[thread + this->tlab + this->tlab_top])
		uhole(WORD[thread + this->tlab + this->tlab_top],
		    WORD[thread + this->tlab + this->tlab_end] + 8 * this->reserve);
}

dtrace:helper:heap:
{
	this->heap = WORD[heap];
	this->is_known = 0;
	this->at = ADDRESS["ThreadLocalAllocBuffer", "_reserve_for_allocation_prefetch"];
	this->reserve = this->at ? (uint64_t)HALF[this->at] : 0;
	this->reserve = this->reserve < 2 ? 2 : this->reserve;
	this->tlab = OFFSET["Thread", "_tlab"];
	this->tlab_top = OFFSET["ThreadLocalAllocBuffer", "_top"];
	this->tlab_end = OFFSET["ThreadLocalAllocBuffer", "_end"];
	uheader(h_at, h_right, h_mask, h_left, h_base);
	if (is_small)
		unarrow(ref_base, ref_shift);
	if (OPTION["UseZGC"])
		uliteral("ZGC moves objects while the program runs, and keeps both copies");
	else if (OPTION["UseEpsilonGC"] || OPTION["UseConcMarkSweepGC"] || !collector)
		uliteral(
		    "this collector is not known (G1, Serial, Parallel and Shenandoah are)");
}

dtrace:helper:heap:
/collector/
{
	this->at = ADDRESS["ThreadsSMRSupport", "_java_thread_list"];
	if (this->at) {
		this->table = WORD[this->at];
		this->most = HALF[this->table + OFFSET["ThreadsList", "_length"]];
		this->table = WORD[this->table + OFFSET["ThreadsList", "_threads"]];
		this->i = 0;
		while (this->i < this->most; 65536) {
			this->thread = WORD[this->table + 8 * this->i];
			say_free(this->thread);
			this->i++;
		}
	} else {
		this->at = ADDRESS["Threads", "_thread_list"];
		this->thread = this->at ? WORD[this->at] : 0;
		this->at = OFFSET["JavaThread", "_next"];
		while (this->thread; 65536) {
			say_free(this->thread);
			this->thread = WORD[this->thread + this->at];
		}
	}
}

inline void say_space(uint64_t space)
{
	uspan(WORD[space + this->bottom], WORD[space + this->top]);
}

dtrace:helper:heap:
/collector == G1/
{
	this->at = OFFSET["G1CollectedHeap", "_hrm"];
	this->regions = EITHER["G1HeapRegionManager", "_regions", "HeapRegionManager", "_regions"];
	this->bottom = EITHER["G1HeapRegion", "_bottom", "HeapRegion", "_bottom"];
	this->bottom = this->bottom == NONE ? OFFSET["Space", "_bottom"] : this->bottom;
	this->top = EITHER["G1HeapRegion", "_top", "HeapRegion", "_top"];
	this->top = this->top == NONE ?
	    EITHER["G1ContiguousSpace", "_top", "G1OffsetTableContigSpace", "_top"] : this->top;
	this->type_at = EITHER["G1HeapRegion", "_type", "HeapRegion", "_type"];
	this->at = WORD[symaddr("gHotSpotVMIntConstants", "libjvm.so")];
	this->entry = ufind(this->at, CONSTANT_ROW, CONSTANT_NAME,
	    "G1HeapRegionType::ContinuesHumongousTag", CONSTANT_NAME, NULL);
	this->entry = this->entry ? this->entry : ufind(this->at, CONSTANT_ROW, CONSTANT_NAME,
	    "HeapRegionType::ContinuesHumongousTag", CONSTANT_NAME, NULL);
	this->humongous = this->entry ? HALF[this->entry + CONSTANT_VALUE] : ~0;
	this->table = OFFSET["G1CollectedHeap", "_hrm"];
	if (this->table != NONE && this->regions != NONE && this->bottom != NONE &&
	    this->top != NONE) {
		this->is_known = 1;
		this->table += this->heap + this->regions;
		this->most = WORD[this->table + OFFSET["G1HeapRegionTable", "_length"]];
		this->table = WORD[this->table + OFFSET["G1HeapRegionTable", "_base"]];
		this->i = 0;
		while (this->i < this->most; 65536) {
			this->region = WORD[this->table + 8 * this->i];
			if (this->region)
				say_space(this->region);
			/* an object that began in another region, and nothing else */
			if (this->region && this->type_at != NONE &&
			    HALF[this->region + this->type_at] == this->humongous)
				uhole(WORD[this->region + this->bottom],
				    WORD[this->region + this->top]);
			this->i++;
		}
	}
}

dtrace:helper:heap:
/collector == SERIAL/
{
	this->young = EITHER["SerialHeap", "_young_gen", "GenCollectedHeap", "_young_gen"];
	this->old = EITHER["SerialHeap", "_old_gen", "GenCollectedHeap", "_old_gen"];
	this->bottom = EITHER["ContiguousSpace", "_bottom", "Space", "_bottom"];
	this->top = OFFSET["ContiguousSpace", "_top"];
	this->tenured = EITHER["TenuredGeneration", "_the_space",
	    "OneContigSpaceCardGeneration", "_the_space"];
	this->at = OFFSET["GenCollectedHeap", "_gens"]; /* of 8: an array of generations */
	if (this->young == NONE && this->at != NONE) {
		this->young = this->at;
		this->old = this->at + 8;
	}
	if (this->young != NONE && this->old != NONE && this->bottom != NONE && this->top != NONE &&
	    this->tenured != NONE) {
		this->is_known = 1;
		this->young = WORD[this->heap + this->young];
		this->old = WORD[this->heap + this->old];
		say_space(WORD[this->young + OFFSET["DefNewGeneration", "_eden_space"]]);
		say_space(WORD[this->young + OFFSET["DefNewGeneration", "_from_space"]]);
		say_space(WORD[this->young + OFFSET["DefNewGeneration", "_to_space"]]);
		say_space(WORD[this->old + this->tenured]);
	}
}

dtrace:helper:heap:
/collector == PARALLEL && !OPTION["UseNUMA"]/
{
	this->young = ADDRESS["ParallelScavengeHeap", "_young_gen"];
	this->old = ADDRESS["ParallelScavengeHeap", "_old_gen"];
	this->bottom = EITHER["MutableSpace", "_bottom", "ImmutableSpace", "_bottom"];
	this->top = OFFSET["MutableSpace", "_top"];
	if (this->young && this->old && this->bottom != NONE && this->top != NONE) {
		this->is_known = 1;
		this->young = WORD[this->young];
		this->old = WORD[this->old];
		say_space(WORD[this->young + OFFSET["PSYoungGen", "_eden_space"]]);
		say_space(WORD[this->young + OFFSET["PSYoungGen", "_from_space"]]);
		say_space(WORD[this->young + OFFSET["PSYoungGen", "_to_space"]]);
		say_space(WORD[this->old + OFFSET["PSOldGen", "_object_space"]]);
	}
}

/* The number of a constant of the virtual machine. */
inline uint64_t CONSTANT[string name] =
    (this->entry = ufind(WORD[symaddr("gHotSpotVMIntConstants", "libjvm.so")], CONSTANT_ROW,
    CONSTANT_NAME, name, CONSTANT_NAME, NULL)) ? HALF[this->entry + CONSTANT_VALUE] : NONE;

/*
 * Regions whose objects are being moved have these, too: one that was moved is there twice until
 * the region is trash.
 */
dtrace:helper:heap:
/collector == SHENANDOAH/
{
	this->table = OFFSET["ShenandoahHeap", "_regions"];
	this->most = OFFSET["ShenandoahHeap", "_num_regions"];
	this->bottom = OFFSET["ShenandoahHeapRegion", "_bottom"];
	this->top = OFFSET["ShenandoahHeapRegion", "_top"];
	this->type_at = OFFSET["ShenandoahHeapRegion", "_state"];
	this->humongous = CONSTANT["ShenandoahHeapRegion::_humongous_cont"];
	this->trash = CONSTANT["ShenandoahHeapRegion::_trash"];
	if (this->table != NONE && this->most != NONE && this->bottom != NONE &&
	    this->top != NONE && this->type_at != NONE && this->humongous != NONE &&
	    this->trash != NONE) {
		this->is_known = 1;
		this->table = WORD[this->heap + this->table];
		this->most = WORD[this->heap + this->most];
		this->i = 0;
		while (this->i < this->most; 65536) {
			this->region = WORD[this->table + 8 * this->i];
			this->state = HALF[this->region + this->type_at];
			if (this->state != this->trash)
				say_space(this->region);
			/* an object that began in another region, and nothing else */
			if (this->state == this->humongous)
				uhole(WORD[this->region + this->bottom],
				    WORD[this->region + this->top]);
			this->i++;
		}
	}
}

dtrace:helper:heap:
/collector && !this->is_known/
{
	uliteral("this Java virtual machine does not say where its collector has objects");
}

/*
 * Mirrors have static fields behind their own ones. A chunk of stack has its frames there, and a
 * bit for each reference for which there is room in them.
 */
dtrace:helper:class:
{
	this->k = arg0;
	find_mirror(this->k);
	this->layout = this->mirror ? INT[this->k + k_layout] : 0;
	this->name = this->layout > 0 ? SYMBOL[WORD[this->k + klass_name]] : "";
	this->special = this->name == "java/lang/Class" ? 1 :
	    this->name == "jdk/internal/vm/StackChunk" ? 2 : 0;
	if (this->layout > 0 && !this->special)
		uclass(SHOWN | (this->name == "java/lang/VirtualThread" ? TASK : 0),
		    this->layout & ~7, arg0 | 1);
	else if (this->layout > 0) {
		uclass(SHOWN, 0, arg0 | 1);
		if (this->special == 1) {
			ucount(c_size - 4, 32, 8, 0);
			uref(this->layout & ~7, NONE);
		} else {
			this->want0 = "size";
			this->want1 = "";
			this->want2 = "";
			find_fields();
			ucount(this->at0 - 4, 32, 8, this->layout & ~7, 0, is_small ? 2 : 1);
		}
	} else if (this->layout < 0) {
		uclass(SHOWN, 0, arg0 | 1);
		ucount(a_length - 4, 32, 1ull << LOG[this->layout], DATA[this->layout]);
		if (!IS_PRIMITIVES[this->layout])
			uref(DATA[this->layout], NONE);
	}
}

dtrace:helper:class:
/this->layout > 0/
{
	this->hops = 0;
	while (this->k && this->hops < 64; 64) {
		begin_fields();
		while (this->f_i < this->f_n; 4096) {
			read_field();
			if (!(this->f_flags & IS_STATIC) && IS_REFERENCE[this->letter])
				uref(this->f_at, 1, this->f_name | 2);
		}
		this->k = WORD[this->k + k_super];
		this->hops++;
	}
}

dtrace:helper:shape:
{
	this->k = INT[arg0 + k_layout] > 0 ? arg0 : 0;
	this->hops = 0;
	while (this->k && this->hops < 64; 64) {
		begin_fields();
		while (this->f_i < this->f_n; 4096) {
			read_field();
			if (!(this->f_flags & IS_STATIC))
				uprop(this->f_name | 2);
		}
		this->k = WORD[this->k + k_super];
		this->hops++;
	}
}

/* ---- exceptions ---- */

/*
 * What a thread keeps of an exception: offsets in a JavaThread of the one that native code has left
 * pending, and of the one for which a handler is being searched; of where its stack begins, and its
 * size; the list of threads.
 */
uint64_t x_pending, x_thrown, x_base, x_size;
uint64_t x_list, x_length, x_threads, x_next;
/*
 * The thread that a frame was last found in, and its stack: frames of a thread follow each other.
 */
uint64_t x_thread, x_low, x_high;
/*
 * The message with which the virtual machine ends itself, and its thread; 0: libjvm.so has no
 * symbols. With -XX:+CrashOnOutOfMemoryError it is "OutOfMemory encountered: Java heap space", and
 * there is no object of the error yet.
 */
uint64_t fatal_text, fatal_thread;

this uint64_t x_i;
this uint64_t x_n;
this uint64_t x_table;
this uint64_t x_word;

inline uint64_t KIND_FATAL = 4; /* of words: the error of such a message, its text */
inline uint64_t KIND_FATAL_TEXT = 5;
inline int FATAL_HEAD = 25; /* length of what stands before the text */
inline int FATAL_MAX = 1024;

dtrace:helper:attach:
/structs/
{
	x_thread = x_low = x_high = 0ull;
	x_pending = OFFSET["ThreadShadow", "_pending_exception"];
	x_thrown = OFFSET["JavaThread", "_exception_oop"];
	x_base = EITHER["JavaThread", "_stack_base", "Thread", "_stack_base"];
	x_size = EITHER["JavaThread", "_stack_size", "Thread", "_stack_size"];
	x_list = ADDRESS["ThreadsSMRSupport", "_java_thread_list"];
	x_length = OFFSET["ThreadsList", "_length"];
	x_threads = OFFSET["ThreadsList", "_threads"];
	x_next = 0ull;
	if (!x_list) {
		x_list = ADDRESS["Threads", "_thread_list"];
		x_next = OFFSET["JavaThread", "_next"];
	}
	if (x_pending == NONE || x_base == NONE || x_size == NONE || x_next == NONE)
		x_list = 0ull;
	fatal_text = symaddr("_ZN7VMError11_detail_msgE", "libjvm.so");
	fatal_thread = symaddr("_ZN7VMError7_threadE", "libjvm.so");
}

/* Notes the thread if the stack pointer is in its stack. */
inline void try_thread(uint64_t thread, uint64_t sp)
{
	if (sp < WORD[thread + x_base] && WORD[thread + x_base] - sp <= WORD[thread + x_size]) {
		x_thread = thread;
		x_high = WORD[thread + x_base];
		x_low = x_high - WORD[thread + x_size];
	}
}

/* The thread in whose stack the frame is, or 0. */
inline void find_thread(uint64_t sp)
{
	if (!x_thread || sp < x_low || sp >= x_high) {
		x_thread = 0;
		this->x_i = 0;
		this->x_n = x_next ? 0 : HALF[WORD[x_list] + x_length];
		this->x_table = x_next ? WORD[x_list] : WORD[WORD[x_list] + x_threads];
		while (!x_thread && this->x_i < this->x_n; 65536) {
			try_thread(WORD[this->x_table + 8 * this->x_i], sp);
			this->x_i++;
		}
		while (!x_thread && x_next && this->x_table; 65536) {
			try_thread(this->x_table, sp);
			this->x_table = WORD[this->x_table + x_next];
		}
	}
}

/* Sets this->x_word to 0 if it is no object whose class derives from Throwable. */
inline void check_thrown()
{
	find_object(this->x_word);
	this->x_i = 0;
	while (this->mirror && this->k && this->x_i < 64 &&
	    SYMBOL[WORD[this->k + klass_name]] != "java/lang/Throwable"; 64) {
		this->k = WORD[this->k + k_super];
		this->x_i++;
	}
	if (!this->mirror || !this->k || this->x_i == 64)
		this->x_word = 0;
}

/* Of each frame of a thread the same is said. */
dtrace:helper:locals:
/x_list && this->blob && !this->end/
{
	find_thread(arg2);
	this->x_word = x_thread ? WORD[x_thread + x_pending] : 0;
	if (x_thread && !this->x_word && x_thrown != NONE)
		this->x_word = WORD[x_thread + x_thrown];
	if (this->x_word)
		check_thrown();
	else if (x_thread && fatal_text && fatal_thread && WORD[fatal_thread] == x_thread &&
	    substr(copyinstr(fatal_text), 0, FATAL_HEAD) == "OutOfMemory encountered: ")
		this->x_word = fatal_text | KIND_FATAL << KIND_SHIFT;
	if (this->x_word)
		uitem("raised", this->x_word);
}

/*
 * An exception that nothing has caught: the virtual machine gives it to this method, which calls
 * the handler of such exceptions.
 */
dtrace:helper:locals:
/!arg7 && IS_IN_FRAME && this->l_base &&
    NAME[this->l_pool, this->l_const] == "dispatchUncaughtException" &&
    CLASS[this->l_pool] == "java/lang/Thread"/
{
	this->x_word = WORD[this->l_base - 8];
	if (this->x_word)
		check_thrown();
	if (this->x_word)
		uitem("raised", this->x_word);
}

dtrace:helper:value:
/arg0 >> KIND_SHIFT == KIND_FATAL/
{
	uopen("{}", "java.lang.OutOfMemoryError", "=");
	uitem("detailMessage", fatal_text | KIND_FATAL_TEXT << KIND_SHIFT);
}

dtrace:helper:value:
/arg0 >> KIND_SHIFT == KIND_FATAL_TEXT/
{
	this->x_i = FATAL_HEAD;
	while (this->x_i < FATAL_MAX && BYTE[fatal_text + this->x_i]; 1024)
		this->x_i++;
	utext(fatal_text + FATAL_HEAD, this->x_i - FATAL_HEAD, 0);
}

dtrace:helper:type:
/arg0 >> KIND_SHIFT == KIND_FATAL/
{
	uliteral("java.lang.OutOfMemoryError");
}
