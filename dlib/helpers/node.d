/* SPDX-License-Identifier: MIT */
/*
 * Node.js 16, 18, 20, 22, 24 and 26 (V8): frames of JavaScript functions, as "handle at /srv/app/server.js line 88".
 *
 * All code that V8 generates keeps frame pointers, and each frame has its function: the slot below
 * the context. The code that belongs to the function says which tier the frame is of. Interpreted
 * code has its position in a slot of the frame, baseline and optimised code in tables of the code
 * object; an optimised frame stands for the functions that were inlined into it, too.
 *
 * Numbers and offsets that V8 exports (v8dbg_*) are read from the process; the rest is known for
 * the versions below. An object is believed only if its map has the right instance type. While the
 * collector moves objects, the first word of one that was moved leads to the copy.
 */
#pragma D helper exec "node|nodejs|libnode.so*"

uint64_t major, minor, version;
uint64_t text, text_end; /* the code of the program, and */
uint64_t blob, blob_size; /* the builtins in it */
uint64_t copy, b0;	  /* where V8 has mapped them once more; their first word */
uint64_t o_inline; /* the distance of instructions from their Code, or 0 */
uint64_t o_dispatch; /* functions have numbers in a table of code: where its address is, or 0 */
uint64_t dispatch; /* the table of the process, or 0 if each isolate has its own, and */
uint64_t isolate;  /* where from the thread pointer the thread's isolate is */
uint64_t pair_flags; /* the flags of an entry in the table of positions */
uint64_t i_literals, i_inlined; /* of the data for deoptimisation */
uint64_t t_baseline; /* what lies between a function and its baseline code, or 0 */
uint64_t t_module; /* the kind of scopes that count their variables, too */
uint64_t is_raw; /* flags of a scope are no small integer */
uint64_t has_receiver; /* a scope says where its receiver is */
uint64_t has_calls; /* code has a table of its calls behind it */
uint64_t libc, libc_end;
uint64_t t_string, t_function, t_function_last, t_shared, t_scope, t_script, t_code, t_bytecode;
uint64_t t_array, t_bytes, t_bytes2; /* arrays of values, and two kinds of arrays of bytes */
uint64_t o_shared, o_code, o_data, o_name, o_script, o_literal;
uint64_t o_table, o_deopt, o_start, o_flags, o_size; /* of Code */
uint64_t o_lines, o_bytes, o_positions;		      /* of Script and BytecodeArray */
uint64_t k_baseline, k_optimised;
uint64_t first_var;
uint64_t sizes, nsizes; /* of bytecodes */

/* State of a frame. */
this uint64_t anon;
this uint64_t bytecode;
this uint64_t chars;
this uint64_t code;
this uint64_t counted; /* bytes of sources in which lines were counted */
this uint64_t dispatch;
this uint64_t fresh;   /* the frame is to be made: it was not recorded before */
this uint64_t from;
this uint64_t function;
this uint64_t in_blob;
this uint64_t is_maglev;
this uint64_t j;
this uint64_t len;
this uint64_t more;
this uint64_t n;
this uint64_t next;
this uint64_t offset;
this uint64_t pc;
this uint64_t position;
this uint64_t rep;
this uint64_t s;
this uint64_t script;
this uint64_t sfi;
this uint64_t shared;
this uint64_t table;
this uint64_t tier;
this uint64_t wide;
this int64_t at;
this int64_t id;
this int64_t k;
this int64_t line;
this string file;
this string head; /* the first pieces of a name */
this string name;
this string own;

/* of sources in which lines are counted during a walk, and those up to a function's end */
inline uint64_t COUNTED_MOST = 1048576;
inline uint64_t COUNTED_ONE = 65536;

inline uint64_t WORD[uint64_t a] = *(uint64_t *)a;
inline int32_t SMI[uint64_t a] = *(int32_t *)(a + 4);
/* the instance type of a tagged object; no type is 65535 */
inline uint64_t TYPE[uint64_t o] = (o & 1) == 0 ? 65535 :
    (WORD[(o & ~3)] & 3) != 1 ? 65535 : *(uint16_t *)(WORD[(o & ~3)] + 11);
/* the tagged object, or its copy if the collector has moved it */
inline uint64_t MOVED[uint64_t o] = (o & 1) == 0 ? o :
    (WORD[(o & ~3)] & 7) != 0 || WORD[(o & ~3)] < 4096 ? o : WORD[(o & ~3)] + 1;
inline int CONST[string s] = *(int *)symaddr(s);
inline uint64_t START[uint64_t c] = WORD[c + o_start] * (o_inline == 0) + (c + o_inline) * (o_inline != 0);

dtrace:helper:attach:
{
	major = symaddr("_ZN2v88internal7Version6major_E");
	minor = symaddr("_ZN2v88internal7Version6minor_E");
	if (!major || !minor || !symaddr("v8dbg_type_Code__CODE_TYPE"))
		udecline("this Node.js does not describe its V8");
	version = *(int *)major * 100 + *(int *)minor;
	if (version != 904 && version != 1002 && version != 1103 && version != 1204 && version != 1306 && version != 1406)
		udecline("this version of V8 is not known");
	has_calls = version >= 1002;
	text = secaddr(".text");
	text_end = text + secsize(".text");
	libc = secaddr(".text", "libc.so*");
	libc_end = libc + secsize(".text", "libc.so*");
	blob = symaddr("v8_Default_embedded_blob_code_");
	blob_size = blob ? *(uint32_t *)symaddr("v8_Default_embedded_blob_code_size_") : 0;
	sizes = symaddr("_ZN2v88internal11interpreter9Bytecodes14kBytecodeSizesE");
	nsizes = symsize("_ZN2v88internal11interpreter9Bytecodes14kBytecodeSizesE") / 3;
	if (version < 1100) {
		blob = symaddr("v8_Default_embedded_blob_code_data_");
	} else if (blob) {
		b0 = *(uint64_t *)blob;
	}
	if (!blob || !sizes)
		udecline("its program is without symbols");

	/* what all of them export */
	t_string = CONST["v8dbg_FirstNonstringType"];
	t_shared = CONST["v8dbg_type_SharedFunctionInfo__SHARED_FUNCTION_INFO_TYPE"];
	t_scope = CONST["v8dbg_type_ScopeInfo__SCOPE_INFO_TYPE"];
	t_script = CONST["v8dbg_type_Script__SCRIPT_TYPE"];
	t_code = CONST["v8dbg_type_Code__CODE_TYPE"];
	t_bytecode = CONST["v8dbg_type_BytecodeArray__BYTECODE_ARRAY_TYPE"];
	t_array = CONST["v8dbg_type_FixedArray__FIXED_ARRAY_TYPE"];
	t_bytes = CONST["v8dbg_type_ByteArray__BYTE_ARRAY_TYPE"];
	o_shared = CONST["v8dbg_class_JSFunction__shared__SharedFunctionInfo"];
	o_lines = CONST["v8dbg_class_Script__line_ends__Object"];
	o_bytes = version == 904 ? 54 : CONST["v8dbg_class_BytecodeArray__data__uintptr_t"];
	k_baseline = version == 904 ? 11 : CONST["v8dbg_CodeKindBaseline"];
	k_optimised = k_baseline + 1;
	first_var = CONST["v8dbg_scopeinfo_idx_first_vars"];

	o_data = 8;
	if (version < 1200) {
		t_function = CONST["v8dbg_type_JSFunction__JS_FUNCTION_TYPE"];
		t_function_last = t_function + (version == 904 ? 13 : 15);
		t_bytes2 = t_bytes;
		o_name = CONST["v8dbg_class_SharedFunctionInfo__name_or_scope_info__Object"];
		o_script = CONST["v8dbg_class_SharedFunctionInfo__script_or_debug_info__HeapObject"];
		o_code = o_shared + 24;
		o_table = 24;
		o_flags = 48;
		o_positions = 32;
		t_module = 16;
	} else {
		t_function = CONST["v8dbg_FirstJSFunctionType"];
		t_function_last = CONST["v8dbg_LastJSFunctionType"];
		t_bytes2 = CONST["v8dbg_type_TrustedByteArray__TRUSTED_BYTE_ARRAY_TYPE"];
		o_script = CONST["v8dbg_class_SharedFunctionInfo__script__Tagged_HeapObject_"];
		o_code = o_shared - 8;
		o_table = 16;
		o_start = CONST["v8dbg_class_Code__instruction_start__Address"];
		o_size = CONST["v8dbg_class_Code__instruction_size__int"];
		o_flags = CONST["v8dbg_class_Code__flags__uint32_t"];
		o_positions = 24;
	}
	o_deopt = o_table - 8;
	i_literals = 2;
	i_inlined = 7;
	if (version < 1100) {
		o_inline = version == 904 ? 96 : 128;
		o_size = 40;
	}
	if (version == 904) {
		has_receiver = 1;
		t_baseline = CONST["v8dbg_type_BaselineData__BASELINE_DATA_TYPE"];
	}
	if (version == 1103) {
		o_start = 40;
		o_size = 56;
	}
	if (version == 1204) {
		o_name = CONST["v8dbg_class_SharedFunctionInfo__name_or_scope_info__Tagged_Object_"];
		t_module = 3;
	}
	if (version > 1204) {
		o_name = CONST["v8dbg_class_SharedFunctionInfo__name_or_scope_info__Tagged_NameOrScopeInfoT_"];
		t_module = 5;
		is_raw = 1;
		i_literals = CONST["v8dbg_DeoptimizationDataLiteralArrayIndex"];
		i_inlined = CONST["v8dbg_DeoptimizationDataInliningPositionsIndex"];
	}
	if (version == 1306) {
		o_dispatch = 0x3270;
		dispatch = *(uint64_t *)symaddr("_ZN2v88internal12IsolateGroup22default_isolate_group_E");
		if (!dispatch)
			udecline("its V8 is not yet initialised");
		dispatch = *(uint64_t *)(dispatch + o_dispatch);
	}
	if (version == 1406) {
		pair_flags = 2;
		o_dispatch = 616;
		isolate = tpoff("_ZN2v88internal18g_current_isolate_E");
	}
}

dtrace:helper:uthread:
/o_dispatch/
{
	this->dispatch = dispatch;
	if (!dispatch)
		this->dispatch = WORD[WORD[arg4 + isolate] + o_dispatch];
}

/*
 * A frame of JavaScript: neither C++ nor the C library, whose functions may leave the register as
 * their caller had it; all slots are in use; context and function are objects.
 */
dtrace:helper:ustack:
{
	this->shared = 0;
	this->fresh = 0;
}

dtrace:helper:ustack:
/(arg0 < text || arg0 >= text_end || arg0 - blob < blob_size) && (arg0 < libc || arg0 >= libc_end) &&
    arg1 - arg2 - 24 < 0x1000000 && (WORD[arg1 - 8] & 3) == 1 &&
    TYPE[WORD[arg1 - 16]] - t_function <= t_function_last - t_function/
{
	this->function = WORD[arg1 - 16] - 1;
	this->shared = WORD[this->function + o_shared] - 1;
	if (TYPE[this->shared + 1] != t_shared)
		this->shared = 0;
}

/* Which tier? 0: not known, 1: interpreted, 2: baseline, 3: optimised */
dtrace:helper:ustack:
/this->shared/
{
	this->tier = 0;
	this->pc = arg0 - (arg3 != 0);
	this->in_blob = this->pc - blob < blob_size || (copy && this->pc - copy < blob_size);
	if (!this->in_blob) {
		if (o_dispatch) {
			this->code = WORD[this->dispatch + (*(uint32_t *)(this->function + o_code) >> 8) * 16 + 8];
			this->code = (this->code >> 16) & ~1;
		} else {
			this->code = WORD[this->function + o_code] - 1;
		}
		if (TYPE[this->code + 1] != t_code ||
		    this->pc - START[this->code] >= *(uint32_t *)(this->code + o_size))
			this->code = WORD[(t_baseline && TYPE[WORD[this->shared + o_data]] == t_baseline ?
			    WORD[this->shared + o_data] - 1 : this->shared) + o_data] - 1;
		if (TYPE[this->code + 1] == t_code &&
		    this->pc - START[this->code] < *(uint32_t *)(this->code + o_size)) {
			this->k = *(uint32_t *)(this->code + o_flags) & 15;
			if (this->k == k_baseline)
				this->tier = 2;
			if (this->k >= k_optimised)
				this->tier = 3;
			this->is_maglev = this->k == k_optimised;
		}
	}
	/*
	 * Interpreted code runs in builtins. Their copy begins where a page of the heap could; most
	 * frames are in its first 256 KB, in which it is found.
	 */
	this->bytecode = WORD[arg1 - 32] - 1;
	if (!this->tier) {
		/* slots that are not yet made have those of an earlier call */
		if (arg1 - arg2 >= 40 && (WORD[arg1 - 40] & 0xffffffff) == 0 && this->bytecode + 1 > 4096 &&
		    TYPE[this->bytecode + 1] == t_bytecode) {
			this->s = this->pc & ~0x3ffff;
			if (!this->in_blob && WORD[this->s] == b0) {
				copy = this->s;
				this->in_blob = 1;
			}
			if (this->in_blob)
				this->tier = 1;
		}
	}
	/* a builtin that runs in a frame of its own has its native name */
	if (this->in_blob && !this->tier)
		this->shared = 0;
}

/*
 * Has this been recorded before? The collector moves objects, and others come to lie where they were: so
 * the numbers of the script and of the function in it count, and the words that are next to the latter.
 */
dtrace:helper:ustack:
/this->shared/
{
	this->script = WORD[this->shared + o_script] - 1;
	this->j = this->tier == 1 ? WORD[arg1 - 40] : this->tier == 3 ? WORD[this->code + o_deopt] : 0;
	this->s = TYPE[this->script + 1] != t_script ? 0 :
	    (WORD[WORD[this->script + 8] + 7] & 0xffffffff00000000) | WORD[this->script + o_lines + 8] >> 32;
	this->fresh = !uknown(this->pc, this->j + (this->tier << 60), WORD[this->shared + o_script + 8],
	    WORD[this->shared + o_script + 16] + (this->counted > COUNTED_MOST - COUNTED_ONE), this->s);
	this->own = "";
}

/* The offset of the bytecode, or of the instruction; -1: not known */
dtrace:helper:ustack:
/this->fresh/
{
	this->position = 0;
	this->at = -1;
	this->table = 0;
	if (this->tier == 1) {
		this->at = SMI[arg1 - 40] - (int64_t)(o_bytes - 1);
		this->table = WORD[this->bytecode + o_positions];
	}
	if (this->tier == 3) {
		/*
		 * A frame of code that V8 has given up returns to where the code is left, by a call through r13
		 * behind all others. V8's table of calls, behind the code, says where it was called from.
		 */
		this->at = this->pc - START[this->code];
		this->k = *(uint32_t *)arg0 & 0xffffff;
		if (this->k == 0x95ff41 || this->k == 0x55ff41) {
			this->s = START[this->code] + *(uint32_t *)(this->code + o_size);
			this->rep = *(uint32_t *)(this->s + 4);
			this->wide = this->rep >> 4 & 7; /* the size of an address */
			this->from = this->wide + (this->rep >> 7 & 7);
			this->len = !has_calls || this->is_maglev || !(this->rep & 1) || !this->wide || this->wide > 4 ? 0 :
			    *(uint32_t *)this->s;
			this->k = (1ull << 8 * this->wide) - 1;
			this->next = this->at + 2; /* 0 stands for none */
			this->at = -1;
			this->s += 8;
			while (this->len && this->at < 0; 2048) {
				if ((*(uint32_t *)(this->s + this->from) & this->k) == this->next)
					this->at = (*(uint32_t *)this->s & this->k) - 1;
				this->s += this->from + this->wide + (this->rep >> 1 & 7);
				this->len--;
			}
		}
		this->table = WORD[this->code + o_table];
	}
	if (this->tier == 2 && TYPE[this->bytecode + 1] == t_bytecode) {
		this->table = MOVED[WORD[this->code + o_table]];
		this->k = 0;
		if (TYPE[this->table] == t_bytes || TYPE[this->table] == t_bytes2)
			this->k = uvlqindex(this->table + 15, SMI[this->table + 7],
			    this->pc - START[this->code]) - 1;
		this->at = 0;
		/* that many bytecodes from the first one; 0 to 3 are prefixes that widen the operands */
		while (this->k > 0; 4096) {
			this->j = *(uint8_t *)(this->bytecode + o_bytes + this->at);
			this->rep = 0;
			if (this->j < 4)
				this->rep = 1 + (this->j & 1);
			if (this->rep) {
				this->at++;
				this->j = *(uint8_t *)(this->bytecode + o_bytes + this->at);
			}
			this->at += *(uint8_t *)(sizes + this->rep * nsizes + this->j);
			this->k--;
		}
		if (this->k > 0) /* a large function */
			this->at = -1;
		this->table = WORD[this->bytecode + o_positions];
	}
	this->table = MOVED[this->table];
	if (this->at >= 0 && (TYPE[this->table] == t_bytes || TYPE[this->table] == t_bytes2))
		this->position = uvlqpairs(this->table + 15, SMI[this->table + 7], this->at + 1, pair_flags);
}

/* The frames: functions that were inlined, from the inmost one, and the function itself */
dtrace:helper:ustack:
/this->fresh/
{
	this->n = 0;
	this->more = 1;
	while (this->more; 64) {
		this->id = -1;
		if (this->tier == 3)
			this->id = (int64_t)(this->position >> 31 & 0xffff) - 1;
		this->sfi = this->shared;
		this->next = 0;
		if (this->id >= 0) {
			this->s = WORD[this->code + o_deopt] - 1;
			this->chars = WORD[this->s + 16 + 8 * i_literals] - 1;
			this->from = WORD[this->s + 16 + 8 * i_inlined] - 1;
			this->next = WORD[this->from + 16 + 16 * this->id];
			this->len = *(int32_t *)(this->from + 16 + 16 * this->id + 8);
			if (this->len >= 0)
				this->sfi = MOVED[(WORD[this->chars + 16 + 8 * this->len] & ~3) + 1] - 1;
			if (TYPE[this->sfi + 1] != t_shared)
				this->sfi = 0;
			if ((int64_t)(this->next >> 31 & 0xffff) - 1 >= this->id)
				this->more = 0;
		} else {
			this->more = 0;
		}
		this->script = WORD[this->sfi + o_script] - 1;
		if (TYPE[this->script + 1] != t_script)
			this->script = 0;
		this->offset = 0;
		if (this->script && (this->position & 1) == 0)
			this->offset = this->position >> 1 & 0x3fffffff;

		/* the name: of the scope, or of a function that was never compiled */
		this->anon = 0;
		this->s = MOVED[WORD[this->sfi + o_name]];
		if (TYPE[this->s] == t_scope) {
			this->chars = this->s - 1;
			this->from = SMI[this->chars + 8];
			if (is_raw)
				this->from = *(uint32_t *)(this->chars + 8);
			this->j = first_var + 2 * SMI[this->chars + 24] + (this->from >> 10 & 1) +
			    ((this->from & 15) == t_module) + (has_receiver && (this->from >> 7 & 3) - 1 < 2);
			this->s = (this->from >> 12 & 3) ? MOVED[WORD[this->chars + 8 + 8 * this->j]] : 0;
			if ((this->from >> 14 & 1) &&
			    (TYPE[this->s] >= t_string || *(uint32_t *)(this->s + 11) == 0)) {
				this->s = WORD[this->chars + 8 + 8 * (this->j + ((this->from >> 12 & 3) ? 2 : 0))];
				this->anon = 1;
			}
		}
		/* a name that V8 has made up may not be joined yet: "Readable" and what follows it */
		this->head = "";
		this->j = 0;
		while (this->anon && this->j < 12 && TYPE[this->s] < t_string && (TYPE[this->s] & 7) == 1 &&
		    *(uint32_t *)(WORD[this->s + 23] + 11) != 0; 12) {
			this->chars = MOVED[WORD[this->s + 15]];
			this->s = (TYPE[this->chars] & 15) == 8 && TYPE[this->chars] < t_string ? MOVED[WORD[this->s + 23]] : 0;
			if (this->s)
				this->head = strjoin(this->head, ulatin1(this->chars + 15, *(uint32_t *)(this->chars + 11)));
			this->j++;
		}
		/* both strings: the name and the file */
		this->name = "";
		this->file = "";
		this->k = 0;
		while (this->k < 2; 2) {
			/* a string that was joined and one that stands for another lead to it */
			this->j = 0;
			this->s = MOVED[this->s];
			while (this->j < 4 && TYPE[this->s] < t_string &&
			    ((TYPE[this->s] & 7) == 5 || ((TYPE[this->s] & 7) == 1 &&
				*(uint32_t *)(WORD[this->s + 23] + 11) == 0)); 4) {
				this->s = MOVED[WORD[this->s + 15]];
				this->j++;
			}
			this->chars = 0;
			if (TYPE[this->s] < t_string) {
				this->rep = TYPE[this->s] & 7;
				this->wide = !(TYPE[this->s] & 8);
				this->len = *(uint32_t *)(this->s + 11);
				this->from = this->rep == 3 ? SMI[this->s + 23] << this->wide : 0;
				if (this->rep == 3)
					this->s = MOVED[WORD[this->s + 15]];
				this->rep = TYPE[this->s] < t_string ? TYPE[this->s] & 7 : 7;
				if (this->rep == 0)
					this->chars = this->s + 15 + this->from;
				if (this->rep == 2)
					this->chars = WORD[this->s + 23] + this->from;
			}
			if (this->chars && this->len && !this->k)
				this->name = this->wide ? utf16(this->chars, this->len) : ulatin1(this->chars, this->len);
			if (this->chars && this->len && this->k)
				this->file = this->wide ? utf16(this->chars, this->len) : ulatin1(this->chars, this->len);
			this->k++;
			this->s = this->script ? WORD[this->script + 16] : 0;
		}

		/* the line: from V8's table if it has one, otherwise by counting */
		this->line = 0;
		if (this->offset) {
			this->offset--;
			this->s = MOVED[WORD[this->script + o_lines]];
			if (TYPE[this->s] == t_array)
				this->line = !this->offset ? 1 : 2 + ubsearch(this->s + 15, SMI[this->s + 7], 8, 8,
				    ((uint64_t)this->offset << 32) - 1);
			if (!this->line || (this->is_maglev && this->tier == 3)) {
				this->s = MOVED[WORD[this->script + 8]];
				if (TYPE[this->s] < t_string && (TYPE[this->s] & 7) == 1 &&
				    *(uint32_t *)(WORD[this->s + 23] + 11) == 0)
					this->s = MOVED[WORD[this->s + 15]]; /* it was joined */
				this->rep = TYPE[this->s] < t_string ? TYPE[this->s] & 15 : 7;
				this->chars = 0;
				if ((this->rep & 7) == 0)
					this->chars = this->s + 15;
				if ((this->rep & 7) == 2)
					this->chars = WORD[this->s + 23];
				this->len = *(uint32_t *)(this->s + 11);
			}
			/*
			 * Maglev peels the first round off a loop, and gives all that is in the others the position
			 * of the loop: no call has one of these words there.
			 */
			if (this->is_maglev && this->tier == 3) {
				this->from = this->chars + (this->offset << !(this->rep & 8));
				this->j = 0;
				if (this->chars && this->offset < this->len && ucountnl(this->from, 16) >= 0) {
					this->j = WORD[this->from];
					if (!(this->rep & 8))
						this->j = (this->j & 0xff) | (this->j >> 8 & 0xff00) | (this->j >> 16 & 0xff0000) |
						    (this->j >> 24 & 0xff000000) | (WORD[this->from + 8] & 0xff) << 32 |
						    (WORD[this->from + 8] >> 16 & 0xff) << 40;
					if ((this->j & 0xffff) == 0x6f64) /* do */
						this->j >>= 16;
					else if ((this->j & 0xffffff) == 0x726f66) /* for */
						this->j >>= 24;
					else if ((this->j & 0xffffffffff) == 0x656c696877) /* while */
						this->j >>= 40;
					else
						this->j = '0';
					this->j &= 0xff;
				}
				if ((this->j < '0' && this->j != '$') || this->j == '{') {
					this->chars = 0;
					this->line = 0;
					this->offset = -1;
				}
			}
			if (!this->line && this->chars && (this->rep & 8) && this->counted + this->offset <= COUNTED_MOST &&
			    this->offset <= COUNTED_ONE && this->offset <= this->len) {
				this->line = 1 + ucountnl(this->chars, this->offset);
				this->counted += this->offset;
			}
			if (this->line)
				this->line += SMI[this->script + 24];
			this->offset++;
		}
		this->has_name = strlen(this->name) != 0;
		if (this->has_name && strlen(this->head) != 0)
			this->name = strjoin(this->head, this->name);
		if (!this->has_name)
			this->name = "(anon)";
		if (strlen(this->file) == 0)
			this->file = "<anonymous>";
		this->k = this->sfi && this->script;
		if (this->k && this->n == 0 && !this->in_blob) {
			if (this->anon && this->has_name)
				this->name = strjoin("(anon) as ", this->name);
			this->own = strjoin(strjoin(this->name, " at "), this->file);
			if (this->line)
				this->own = strjoin(this->own, strjoin(" line ", lltostr(this->line)));
			else if (this->offset)
				this->own = strjoin(this->own, strjoin(" file position ", lltostr(this->offset - 1)));
		} else if (this->k) {
			this->text = this->anon && this->has_name ? "(anon) as " : "";
			if (this->line)
				uframe(this->text, this->name, " at ", this->file, " line ", this->line);
			else if (this->offset)
				uframe(this->text, this->name, " at ", this->file, " file position ", this->offset - 1);
			else
				uframe(this->text, this->name, " at ", this->file);
		}
		this->n++;
		this->position = this->next;
	}
}

dtrace:helper:ustack:
/this->fresh/
{
	this->own
}
