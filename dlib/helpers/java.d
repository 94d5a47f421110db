/* SPDX-License-Identifier: MIT */
/*
 * HotSpot (OpenJDK 8, 11, 17, 21, 25): frames of Java methods, as
 * "package/Class.method(File.java:49)". A "*" behind it says that compiled code runs.
 *
 * Generated code lies in the code cache, which consists of up to three heaps of blobs: one for the
 * interpreter, one for each stub, one for each compiled method. A blob says how large its frames
 * are, so this helper chooses the next frame. For each place in compiled code where a stack can be
 * walked, the blob has a list of scopes: the methods that were inlined there, innermost first.
 *
 * Where the fields are is read from the tables that libjvm.so exports for debuggers. What the
 * tables lack is the layout of interpreter frames and how numbers and lines are packed: OpenJDK
 * src/hotspot/cpu/x86/frame_x86.hpp, src/hotspot/share/code/{pcDesc,compressedStream}.hpp.
 *
 * libjava.so is mapped when libjvm.so has been relocated: then the attach clauses run again.
 */
#pragma D helper exec "libjvm.so|libjava.so"
/* The tables can be written, and are not, once the initialisers of libjvm.so have run. */
#pragma D helper fixed "structs"
/* The interpreter is generated, too. */
#pragma D helper generated

uint64_t structs, types; /* the tables; 0: the virtual machine is not loaded yet */
uint64_t is_ready;	 /* the code cache is known */
uint64_t low, high;	 /* the code cache, and its heaps: where the code is and the map of blobs */
uint64_t low0, high0, map0, low1, high1, map1, low2, high2, map2;
uint64_t shift;		 /* a segment of the code cache has 1 << shift bytes */
uint64_t heaps, bounds_low, bounds_high, array_data, heap_memory, heap_map, segment_log, header;
uint64_t blob_name, blob_code, blob_complete, blob_frame;
uint64_t nm_method, nm_scopes, nm_pcs, nm_pcs_end, nm_metadata, nm_id, nm_deopt, nm_orig_pc;
uint64_t nm_immutable, blob_mutable, blob_relocation;
uint64_t m_const, m_access, cm_pool, cm_name, cm_size, cm_flags, cm_code;
uint64_t pool_holder, pool_file, pool_cache, pool_slots, klass_name, symbol_length, symbol_body;
uint64_t is_relative; /* blobs have offsets where others have pointers (8, and from 23 on) */
uint64_t is_split;    /* what does not change in a compiled method lies elsewhere (from 23 on) */
uint64_t has_one_heap; /* the code cache is one heap (8) */
/* the end of a compiled method reads a page where others compare rsp (to 15) */
uint64_t has_old_polls;
uint64_t is_class_file; /* the class has the name of the source file, and not its pool (to 14) */
uint64_t at_cache, at_bytecode; /* of an interpreter frame: below its frame pointer */
uint64_t less;	      /* what is added to each byte of a packed number (from 20 on) */
uint64_t call_stub;   /* address of the variable that says where calls of Java return to */
uint64_t barrier;     /* and of that for frames whose callers lie in the heap, or 0 (from 21 on) */
/*
 * Addresses of variables of the virtual machine, from 21 on: where enterSpecial() continues, and
 * its code; offsets of the fields of a continuation and its chunks of stack; how a reference is
 * packed, by which collector: that is an option of the process
 */
uint64_t entered, enter_code, co_tail, ch_parent, ch_sp, ch_pc, ch_bottom, ch_stack;
uint64_t narrow, narrow_base, narrow_shift, z, z_shift, z_bad;
uint64_t generational, old_z_bad; /* which of two ZGCs it is, and the mask of the older (21) */

/*
 * the first four letters of the names of blobs: "Interpreter", "nmethod", "native nmethod",
 * "StubRoutines (1)"
 */
inline uint64_t INTERPRETER = 0x65746e49;
inline uint64_t NMETHOD = 0x74656d6e;
inline uint64_t NATIVE = 0x6974616e;
inline uint64_t STUBS = 0x62757453;
inline uint64_t DEOPTIMIZATION = 0x706f6544; /* "DeoptimizationBlob" */
inline uint64_t UNCOMMON_TRAP = 0x6f636e55;  /* "UncommonTrapBlob" */
/* "native signature handlers" are stubs: the eighth letter tells them from "native nmethod" */
inline uint64_t SIGNATURES = 0x6e676973;
inline int IS_SIGNATURES[uint64_t name] = HALF[name] == NATIVE && BYTE[name + 7] == 's';

/* rows of the tables, of fields and of types: hotspot/share/runtime/vmStructs.hpp */
inline int STRUCT_ROW = 48;
inline int STRUCT_TYPE = 0;
inline int STRUCT_FIELD = 8;
inline int STRUCT_OFFSET = 32;
inline int STRUCT_ADDRESS = 40; /* of a static field */
inline int TYPE_ROW = 40;
inline int TYPE_NAME = 0;
inline int TYPE_SIZE = 32;
inline int TABLE_FAR = 0x10000000; /* nearer than that are the tables to their variables */

/* a VirtualSpace of a heap of the code cache: its bounds, and where the used part begins */
inline int SPACE_HIGH_BOUND = 8;
inline int SPACE_LOW = 16;
inline int SEGMENT_FREE = 255; /* in the map: the segment belongs to no blob */
inline uint64_t SIZE_UNKNOWN = 8 * 0xffffffffull; /* of a frame: what some stubs say */

/* an interpreter's frame, below its frame pointer: the caller's stack pointer, the method */
inline int I_SENDER_SP = 8;
inline int I_METHOD = 24;
/* above it: the return address, the caller's stack */
inline int I_RETURN = 8;
inline int I_CALLER = 16;
/* what frames are no larger than, in bytes: any, and what arguments add to one */
inline int FRAME_MAX = 0x100000;
inline int ARGS_MAX = 0x10000;
inline int STUB_FRAME_MAX = 0x1000;
/* in a chunk of stack, smaller frame pointers are distances, in words */
inline int RELATIVE_MAX = 0x100000;
inline int RECORD_BELOW = 56; /* the continuation, below the return address of enterSpecial() */

/* this->unpacked behind the blob that makes frames: the address of the first one is not known yet */
inline uint64_t NOT_YET = 1;

/* flags: of a method, of a ConstMethod; of an object that was copied (its two low bits) */
inline int ACC_NATIVE = 0x100;
inline int HAS_LINE_TABLE = 1;
inline int MARKED = 3;

/* where a stack can be walked (pcDesc.hpp): the offset of the code, that of the scope */
inline int PC_SIZE = 16;
inline int PC_SCOPE = 4;
inline int PCS_MAX = 1000000;
inline int CODE_MAX = 0x10000000;
/* numbers are packed, 6 bits a byte; from 192 on another byte follows; 5 bytes at most */
inline int PACKED_BITS = 6;
inline int PACKED_MORE = 192;
inline int PACKED_END = 30;

/* instructions, by their first bytes as a number */
inline int IS_TWO[uint64_t insn, uint64_t bytes] = (insn & 0xffff) == bytes;
inline int IS_THREE[uint64_t insn, uint64_t bytes] = (insn & 0xffffff) == bytes;
inline int PUSH_RBP = 0x55;
inline int POP_RBP = 0x5d;
inline int RET = 0xc3;
inline int CMP_LONG = 0xa73b49; /* cmp long(%r15),%rsp */
inline int CMP_BYTE = 0x673b49;
inline int JA = 0x870f;
inline int CMP_LONG_SIZE = 7;
inline int CMP_BYTE_SIZE = 4;
inline int TEST_R10 = 0x028541; /* test %eax,(%r10) */
inline int TEST_R10_SIZE = 3;
inline int TEST_RIP = 0x0585; /* test %eax,long(%rip) */
inline int TEST_RIP_SIZE = 6;
inline int MOV_R10 = 0xba49;	    /* mov $page,%r10 */
inline int LOAD_R10_BYTE = 0x578b4d; /* mov byte(%r15),%r10 */
inline int LOAD_R10_LONG = 0x978b4d;
inline int STORE_RBP_BYTE = 0x6c8948; /* mov %rbp,byte(%rsp) */
inline int STORE_RBP_LONG = 0xac8948;
inline int BARRIER_CMP = 0x8141; /* of the barrier at the entry: cmp $long,byte(%r15); jne */
inline int BARRIER_JNE = 0x850f;

/* in attach clauses: offset of a field, address of a static field, size of a type */
inline uint64_t FIELD[string type, string name] =
    (this->entry = ufind(structs, STRUCT_ROW, STRUCT_TYPE, type, STRUCT_FIELD, name)) ?
    WORD[this->entry + STRUCT_OFFSET] :
    (this->missing++, 0);
inline uint64_t STATIC[string type, string name] =
    (this->entry = ufind(structs, STRUCT_ROW, STRUCT_TYPE, type, STRUCT_FIELD, name)) ?
    WORD[this->entry + STRUCT_ADDRESS] :
    (this->missing++, 0);
inline uint64_t SIZE[string type] =
    (this->entry = ufind(types, TYPE_ROW, TYPE_NAME, type, TYPE_NAME, NULL)) ?
    WORD[this->entry + TYPE_SIZE] :
    (this->missing++, 0);

/*
 * in the others: whether an address is one of generated code; the text of a Symbol; a pool's symbol
 */
inline int IS_CODE[uint64_t a] = a >= low && a < high;
inline string SYMBOL[uint64_t s] = ustr(s + symbol_body, SHORT[s + symbol_length]);
inline uint64_t SLOT[uint64_t pool, uint64_t i] = WORD[pool + pool_slots + 8 * i] & ~1ull;

/* the object that a field refers to, 0 where the collector may have moved it */
inline int IS_Z = z && BYTE[z];
inline int IS_OLD_Z = generational && !BYTE[generational];
inline uint64_t Z_OBJECT[uint64_t a] = IS_OLD_Z ? (WORD[a] & WORD[old_z_bad] ? 0 : WORD[a]) :
    WORD[a] & WORD[z_bad] ? 0 : WORD[a] >> WORD[z_shift];
inline uint64_t OBJECT[uint64_t a] = IS_Z ? Z_OBJECT[a] : !BYTE[narrow] ? WORD[a] :
    HALF[a] ? WORD[narrow_base] + ((uint64_t)HALF[a] << HALF[narrow_shift]) : 0;
/* where a collector that works meanwhile has copied an object to */
inline uint64_t COPY[uint64_t o] = o && (WORD[o] & MARKED) == MARKED ? WORD[o] & ~7ull : o;

inline uint64_t FILE_AT[uint64_t pool] =
    (is_class_file ? WORD[pool + pool_holder] : pool) + pool_file;
inline uint64_t LINE[uint64_t c, uint64_t at] = at < SHORT[c + cm_size] &&
    (SHORT[c + cm_flags] & HAS_LINE_TABLE) ?
    upackedlines(c + cm_code + SHORT[c + cm_size], 65535, at, less) : 0;
inline string FILE[uint64_t pool] = SYMBOL[SLOT[pool, SHORT[FILE_AT[pool]]]];
/*
 * Nobody reads a file's name before an exception's stack is printed, and few those of methods and
 * classes. They may lie in the archive of classes, in a page that the process has not touched yet,
 * and nothing here can wait for that.
 */
inline uint64_t HEAD[uint64_t s] = uword(s + symbol_length); /* 0: it is not there */
this uint64_t is_away; /* the name of the method's file is not there */
this uint64_t is_unnamed, is_unclassed; /* nor that of the method, or of its class */
inline string NOT_READ = "(not read yet)";
inline string FILE_NAME[uint64_t pool] = this->is_away ? "Unknown Source" : FILE[pool];
inline uint64_t CLASS_AT[uint64_t pool] = WORD[WORD[pool + pool_holder] + klass_name];
inline uint64_t NAME_AT[uint64_t pool, uint64_t c] = SLOT[pool, SHORT[c + cm_name]];
inline string CLASS[uint64_t pool] = this->is_unclassed ? NOT_READ : SYMBOL[CLASS_AT[pool]];
inline string NAME[uint64_t pool, uint64_t c] =
    this->is_unnamed ? NOT_READ : SYMBOL[NAME_AT[pool, c]];
/* the whole text: of a method, its ConstMethod and its pool, at a line, and the mark */
inline string TEXT[uint64_t m, uint64_t c, uint64_t pool, uint64_t line, string mark] =
    strjoin(strjoin(strjoin(CLASS[pool], "."), NAME[pool, c]), strjoin(
	SHORT[m + m_access] & ACC_NATIVE ? "(Native Method)" :
	!SHORT[FILE_AT[pool]] ? "(Unknown Source)" :
	line ? strjoin("(", strjoin(FILE_NAME[pool], strjoin(":", strjoin(lltostr(line), ")")))) :
	strjoin("(", strjoin(FILE_NAME[pool], ")")), mark));

dtrace:helper:attach:
{
	this->table = symaddr("gHotSpotVMStructs", "libjvm.so");
	if (!this->table)
		udecline("this Java virtual machine does not describe itself");
	structs = this->table ? WORD[this->table] : 0;
	/* before libjvm.so is relocated, its pointers are no addresses */
	if (structs &&
	    (structs > this->table ? structs - this->table : this->table - structs) > TABLE_FAR)
		structs = 0;
	/*
	 * The sizes of rows, and some rows, are zeros until the initialisers of libjvm.so have run.
	 */
	if (structs && (!WORD[symaddr("gHotSpotVMStructEntryArrayStride", "libjvm.so")] ||
	    !WORD[symaddr("gHotSpotVMTypeEntryArrayStride", "libjvm.so")]))
		structs = 0;
	if (!structs && strlen(objname("libjava.so")))
		udecline("the tables of this Java virtual machine are not known");
	types = structs ? WORD[symaddr("gHotSpotVMTypes", "libjvm.so")] : 0;
	if (structs &&
	    (WORD[symaddr("gHotSpotVMStructEntryArrayStride", "libjvm.so")] != STRUCT_ROW ||
	    WORD[symaddr("gHotSpotVMTypeEntryArrayStride", "libjvm.so")] != TYPE_ROW))
		udecline("the tables of this Java virtual machine are not known");
}

dtrace:helper:attach:
/structs/
{
	this->entry = ufind(structs, STRUCT_ROW, STRUCT_TYPE, "Abstract_VM_Version", STRUCT_FIELD,
	    "_vm_major_version");
	this->version = this->entry ? HALF[WORD[this->entry + STRUCT_ADDRESS]] : 0;
	/* the virtual machine of JDK 8 has a number of its own, 25 */
	has_one_heap = ufind(structs, STRUCT_ROW, STRUCT_TYPE, "CodeCache", STRUCT_FIELD,
	    "_heap") != 0;
	if (has_one_heap)
		this->version = 8;
	if (this->version != 8 && this->version != 11 && this->version != 17 &&
	    this->version != 21 && this->version != 25)
		udecline("this version of the Java virtual machine is not known (8, 11, 17, 21 and 25 are)");
	is_split = this->version >= 23;
	is_relative = is_split || this->version == 8;
	has_old_polls = this->version < 16;
	is_class_file = this->version < 15;
	at_cache = this->version == 8 ? 40 : 48;
	at_bytecode = this->version == 8 ? 56 : 64;
	less = this->version >= 20;
	this->missing = 0;

	heaps = has_one_heap ? STATIC["CodeCache", "_heap"] : STATIC["CodeCache", "_heaps"];
	if (!has_one_heap) {
		bounds_low = STATIC["CodeCache", "_low_bound"];
		bounds_high = STATIC["CodeCache", "_high_bound"];
	}
	array_data = FIELD["GrowableArray<int>", "_data"];
	heap_memory = FIELD["CodeHeap", "_memory"];
	heap_map = FIELD["CodeHeap", "_segmap"];
	segment_log = FIELD["CodeHeap", "_log2_segment_size"];
	header = SIZE["HeapBlock"];
	call_stub = STATIC["StubRoutines", "_call_stub_return_address"];
	barrier = symaddr("_ZN12StubRoutines19_cont_returnBarrierE", "libjvm.so");

	blob_name = FIELD["CodeBlob", "_name"];
	blob_frame = FIELD["CodeBlob", "_frame_size"];
	blob_complete = FIELD["CodeBlob", "_frame_complete_offset"];
	nm_pcs = FIELD["nmethod", "_scopes_pcs_offset"];
	nm_id = FIELD["nmethod", "_compile_id"];
	nm_orig_pc = FIELD["nmethod", "_orig_pc_offset"];

	m_const = FIELD["Method", "_constMethod"];
	m_access = FIELD["Method", "_access_flags"];
	cm_pool = FIELD["ConstMethod", "_constants"];
	cm_name = FIELD["ConstMethod", "_name_index"];
	cm_size = FIELD["ConstMethod", "_code_size"];
	cm_code = SIZE["ConstMethod"];
	pool_holder = FIELD["ConstantPool", "_pool_holder"];
	pool_file = is_class_file ? FIELD["InstanceKlass", "_source_file_name_index"] :
	    FIELD["ConstantPool", "_source_file_name_index"];
	pool_cache = FIELD["ConstantPool", "_cache"];
	pool_slots = SIZE["ConstantPool"];
	klass_name = FIELD["Klass", "_name"];
	symbol_length = FIELD["Symbol", "_length"];
	symbol_body = FIELD["Symbol", "_body"];
}

dtrace:helper:attach:
/structs && !is_split/
{
	cm_flags = this->version <= 17 ? FIELD["ConstMethod", "_flags"] :
	    FIELD["ConstMethod", "_flags._flags"];
	nm_pcs_end = FIELD["nmethod", "_dependencies_offset"];
	nm_metadata = FIELD["nmethod", "_metadata_offset"];
}

dtrace:helper:attach:
/structs && !is_relative/
{
	blob_code = FIELD["CodeBlob", "_code_begin"];
	nm_method = FIELD["CompiledMethod", "_method"];
	nm_scopes = FIELD["CompiledMethod", "_scopes_data_begin"];
	nm_deopt = FIELD["CompiledMethod", "_deopt_handler_begin"];
}

dtrace:helper:attach:
/structs && is_relative/
{
	blob_code = FIELD["CodeBlob", "_code_offset"];
	nm_method = FIELD["nmethod", "_method"];
	nm_scopes = FIELD["nmethod", "_scopes_data_offset"];
	nm_deopt = is_split ? FIELD["nmethod", "_deopt_handler_offset"] :
	    FIELD["nmethod", "_deoptimize_offset"];
}

dtrace:helper:attach:
/structs && is_split/
{
	cm_flags = FIELD["ConstMethod", "_flags._flags"];
	blob_mutable = FIELD["CodeBlob", "_mutable_data"];
	blob_relocation = FIELD["CodeBlob", "_relocation_size"];
	nm_immutable = FIELD["nmethod", "_immutable_data"];
}

dtrace:helper:attach:
/structs && this->missing/
{
	udecline("this Java virtual machine lacks a field that stacks are made of");
}

dtrace:helper:attach:
/structs && barrier/
{
	entered = symaddr("_ZN17ContinuationEntry10_return_pcE", "libjvm.so");
	enter_code = symaddr("_ZN17ContinuationEntry14_enter_specialE", "libjvm.so");
	co_tail = symaddr("_ZN28jdk_internal_vm_Continuation12_tail_offsetE", "libjvm.so");
	ch_parent = symaddr("_ZN26jdk_internal_vm_StackChunk14_parent_offsetE", "libjvm.so");
	ch_sp = symaddr("_ZN26jdk_internal_vm_StackChunk10_sp_offsetE", "libjvm.so");
	ch_pc = symaddr("_ZN26jdk_internal_vm_StackChunk10_pc_offsetE", "libjvm.so");
	ch_bottom = symaddr("_ZN26jdk_internal_vm_StackChunk14_bottom_offsetE", "libjvm.so");
	ch_stack = symaddr("_ZN23InstanceStackChunkKlass16_offset_of_stackE", "libjvm.so");
	narrow = symaddr("UseCompressedOops", "libjvm.so");
	z = symaddr("UseZGC", "libjvm.so");
	generational = z ? symaddr("ZGenerational", "libjvm.so") : 0;
	old_z_bad = generational ? symaddr("XAddressBadMask", "libjvm.so") : 0;
	z_shift = symaddr("ZPointerLoadShift", "libjvm.so");
	z_bad = symaddr("ZPointerLoadBadMask", "libjvm.so");
	narrow_base = symaddr("_ZN14CompressedOops11_narrow_oopE", "libjvm.so");
	narrow_shift = narrow_base ? narrow_base + 8 :
	    symaddr("_ZN14CompressedOops6_shiftE", "libjvm.so");
	narrow_base = narrow_base ? narrow_base :
	    symaddr("_ZN14CompressedOops5_baseE", "libjvm.so");
	if (!entered || !enter_code || !co_tail || !ch_parent || !ch_sp || !ch_pc || !ch_bottom ||
	    !ch_stack ||
	    !narrow || !narrow_base || !narrow_shift ||
	    (z && (!z_bad || !z_shift)) || (generational && !old_z_bad))
		entered = 0;
}

/*
 * The code cache is made after libjvm.so was loaded: a heap is added to the list, then it gets its
 * memory, then its map. It is complete when all heaps have maps, and together the memory of the
 * whole.
 */
dtrace:helper:uthread:
/structs && !is_ready && has_one_heap/
{
	this->heap = WORD[heaps];
	low = low0 = this->heap ? WORD[this->heap + heap_memory] : 0;
	high = high0 = this->heap ? WORD[this->heap + heap_memory + SPACE_HIGH_BOUND] : 0;
	map0 = high > low ? WORD[this->heap + heap_map + SPACE_LOW] : 0;
	if (map0) {
		shift = HALF[this->heap + segment_log];
		is_ready = 1;
	}
}

dtrace:helper:uthread:
/structs && !is_ready && !has_one_heap/
{
	this->list = WORD[heaps];
	this->count = this->list ? HALF[this->list] : 0;
	low = WORD[bounds_low];
	high = WORD[bounds_high];
	if (this->count >= 1 && this->count <= 3 && high > low) {
		this->list = WORD[this->list + array_data];
		this->heap = WORD[this->list];
		low0 = WORD[this->heap + heap_memory + SPACE_LOW];
		high0 = WORD[this->heap + heap_memory + SPACE_HIGH_BOUND];
		map0 = WORD[this->heap + heap_map + SPACE_LOW];
		shift = HALF[this->heap + segment_log];
		this->room = high0 - low0;
		this->has_maps = map0 != 0;
		if (this->count >= 2) {
			this->heap = WORD[this->list + 8];
			low1 = WORD[this->heap + heap_memory + SPACE_LOW];
			high1 = WORD[this->heap + heap_memory + SPACE_HIGH_BOUND];
			map1 = WORD[this->heap + heap_map + SPACE_LOW];
			this->room += high1 - low1;
			this->has_maps = this->has_maps && map1;
		}
		if (this->count == 3) {
			this->heap = WORD[this->list + 16];
			low2 = WORD[this->heap + heap_memory + SPACE_LOW];
			high2 = WORD[this->heap + heap_memory + SPACE_HIGH_BOUND];
			map2 = WORD[this->heap + heap_map + SPACE_LOW];
			this->room += high2 - low2;
			this->has_maps = this->has_maps && map2;
		}
		is_ready = this->has_maps && this->room == high - low;
	}
}

/* the end of the chunk of stack in the heap that the frame lies in, or 0 */
dtrace:helper:uthread:
{
	this->end = 0ull;
	this->unpacked = 0ull;
}

/* The blob: a byte of the map says how many segments before it the blob begins; 255: it is free. */
inline void find_blob()
{
	if (arg0 >= low0 && arg0 < high0) {
		this->base = low0;
		this->map = map0;
	} else if (arg0 >= low1 && arg0 < high1) {
		this->base = low1;
		this->map = map1;
	} else {
		this->base = low2;
		this->map = map2;
	}
	this->segment = (arg0 - this->base) >> shift;
	this->hop = BYTE[this->map + this->segment];
	while (this->hop && this->hop != SEGMENT_FREE; 64) {
		this->segment -= this->hop;
		this->hop = BYTE[this->map + this->segment];
	}
	if (!this->hop) {
		this->blob = this->base + (this->segment << shift) + header;
		this->kind = HALF[WORD[this->blob + blob_name]];
		if (IS_SIGNATURES[WORD[this->blob + blob_name]])
			this->kind = SIGNATURES;
		this->size = 8 * (uint64_t)HALF[this->blob + blob_frame];
		this->code = is_relative ? this->blob + HALF[this->blob + blob_code] :
		    WORD[this->blob + blob_code];
	}
}

/*
 * The interpreter is one large blob, in which most frames of a deep stack run: what of it a walk
 * has found, up to this->found, is not searched again. Nothing below asks for the size of the blob
 * and where its code begins if it is the interpreter.
 */
this uint64_t interpreter, found;
dtrace:helper:ustack:
{
	this->blob = 0ull;
	this->next = 0ull;
	this->stepped = 0;
	this->kind = 0;
	if (is_ready && arg0 >= this->interpreter && arg0 <= this->found) {
		this->blob = this->interpreter;
		this->kind = INTERPRETER;
	} else if (is_ready && IS_CODE[arg0]) {
		find_blob();
		if (this->kind == INTERPRETER) {
			this->interpreter = this->blob;
			this->found = (uint64_t)arg0;
		}
	}
	if (this->kind == DEOPTIMIZATION || this->kind == UNCOMMON_TRAP)
		this->unpacked = NOT_YET;
	else if (this->kind != INTERPRETER)
		this->unpacked = 0;
}

/* A stub has the name of its blob; those in "StubRoutines" keep a frame pointer. */
dtrace:helper:ustack:
/this->blob && this->kind != INTERPRETER && this->kind != NMETHOD && this->kind != NATIVE/
{
	/*
	 * in code between a caller and the called method, the return address is on top of the stack
	 */
	if (arg3 == 0 && !this->size && this->kind != STUBS && IS_CODE[WORD[arg2]])
		unwind(WORD[arg2], arg2 + 8, arg1);
	/*
	 * what compiled methods call before their first instruction, while a collector works: -1
	 * lies below the return address
	 */
	else if (this->kind == STUBS && arg0 != WORD[call_stub]) {
		this->sp = arg1 > arg2 && arg1 - arg2 < STUB_FRAME_MAX ? (uint64_t)arg1 : arg2 - 8;
		if (WORD[this->sp + 8] == -1ull && IS_CODE[WORD[this->sp + 16]])
			unwind(WORD[this->sp + 16], this->sp + 24, this->sp == arg1 ? WORD[arg1] :
			    arg1);
	}
	/*
	 * Other stubs run before the virtual machine has touched the page of these variables, which
	 * cannot be read then.
	 */
	this->part = this->kind != STUBS ? 0 : arg0 == WORD[call_stub] ? 1 :
	    barrier && arg0 == WORD[barrier] ? 2 : 0;
	if (this->part == 2) {
		/*
		 * no register leads on: a record of the continuation is here, then rbp and address
		 * of its caller
		 */
		this->sp = arg2 + 8;
		this->tries = 0;
		while (!IS_CODE[WORD[this->sp]] && this->tries < 24; 24) {
			this->sp += 8;
			this->tries++;
		}
		if (IS_CODE[WORD[this->sp]])
			unwind(WORD[this->sp], this->sp + 8, WORD[this->sp - 8]);
	}
	if (!uknown(WORD[this->blob + blob_name], this->part, this->kind, 0, 0)) {
		/* a virtual thread that goes on gets its frames back from the heap one by one */
		this->text = this->part == 1 ? "\1call_stub" :
		    this->part == 2 ? "\1(callers in this virtual thread are in the heap)" :
		    strjoin("\1", copyinstr(WORD[this->blob + blob_name]));
		this->text;
	}
}

/*
 * Where compiled code cannot go on, a blob makes frames of the interpreter in its place. They are
 * linked, and all have one address, before the virtual machine fills them, outermost first: until
 * then the place of the method has what was on the stack before, the frame of another one perhaps.
 */
dtrace:helper:ustack:
/this->blob && this->kind == INTERPRETER && this->unpacked/
{
	if (this->unpacked == NOT_YET)
		this->unpacked = (uint64_t)arg0;
	if (arg0 != this->unpacked)
		this->unpacked = 0;
}

dtrace:helper:ustack:
/this->blob && this->kind == INTERPRETER && this->unpacked/
{
	if (arg1 > arg2 && arg1 - arg2 < FRAME_MAX && !(arg1 & 7) && IS_CODE[WORD[arg1 + I_RETURN]])
		unwind(WORD[arg1 + I_RETURN], WORD[arg1 - I_SENDER_SP] - arg1 - I_CALLER < ARGS_MAX ?
		    WORD[arg1 - I_SENDER_SP] : arg1 + I_CALLER,
		    WORD[arg1]);
	else
		unwind(0, 0, 0);
	if (!uknown(this->kind, NOT_YET, 0, 0, 0)) {
		this->text = "\1(a frame that is being made)";
		this->text;
	}
}

/*
 * A frame of the interpreter ("Inte"): it is one if the cache in it is that of its method's pool.
 */
dtrace:helper:ustack:
/this->blob && this->kind == INTERPRETER && !this->unpacked/
{
	this->good = 0;
	if (arg1 > arg2 && arg1 - arg2 < FRAME_MAX && !(arg1 & 7) && (arg3 || arg1 - arg2 >= 64)) {
		this->method = WORD[arg1 - I_METHOD];
		this->const = this->method ? WORD[this->method + m_const] : 0;
		this->pool = this->const ? WORD[this->const + cm_pool] : 0;
		this->good = this->pool && WORD[this->pool + pool_cache] == WORD[arg1 - at_cache];
	}
	/*
	 * the frame is not made yet, or a part of it: first comes rbp, then the caller's stack
	 * pointer
	 */
	if (!this->good && arg3 == 0 && IS_CODE[WORD[arg2]])
		unwind(WORD[arg2], arg2 + 8, arg1);
	else if (!this->good && arg3 == 0 && arg1 - arg2 <= 64 && IS_CODE[WORD[arg1 + I_RETURN]])
		unwind(WORD[arg1 + I_RETURN], arg1 - arg2 >= I_SENDER_SP &&
		    WORD[arg1 - I_SENDER_SP] - arg1 - I_CALLER < ARGS_MAX ?
		    WORD[arg1 - I_SENDER_SP] : arg1 + I_CALLER,
		    WORD[arg1]);
	else if (!this->good && arg3 == 0 && WORD[arg2] == arg1 && IS_CODE[WORD[arg2 + 8]])
		unwind(WORD[arg2 + 8], arg2 + 16, arg1);
	else if (!this->good)
		unwind(0, 0, 0);
}

dtrace:helper:ustack:
/this->blob && this->kind == INTERPRETER && !this->unpacked && this->good/
{
	/*
	 * what the caller's stack pointer was before arguments were put there for the interpreter
	 */
	this->sp = this->end ? arg1 + 8 * WORD[arg1 - I_SENDER_SP] : WORD[arg1 - I_SENDER_SP];
	if (this->sp < arg1 + I_CALLER || this->sp > arg1 + ARGS_MAX)
		this->sp = arg1 + I_CALLER;
	this->next = WORD[arg1 + I_RETURN];
	this->fp = WORD[arg1];
	this->slot = (uint64_t)arg1;
	this->stepped = 1;
	unwind(this->next, this->sp, this->fp);
}

/*
 * The end of a compiled method begins with a poll: of a word of the thread, or before 16 of a page.
 */
inline void find_poll()
{
	this->insn = HALF[arg0];
	this->is_poll = IS_THREE[this->insn, CMP_LONG] || IS_THREE[this->insn, CMP_BYTE] ||
	    (IS_TWO[this->insn, JA] && (IS_THREE[HALF[arg0 - CMP_LONG_SIZE], CMP_LONG] ||
		IS_THREE[HALF[arg0 - CMP_BYTE_SIZE], CMP_BYTE]));
	if (has_old_polls) /* of a page, whose address may be fetched behind pop rbp */
		this->is_poll =
		    (IS_THREE[this->insn, TEST_R10] && BYTE[arg0 + TEST_R10_SIZE] == RET) ||
		    (IS_TWO[this->insn, TEST_RIP] && BYTE[arg0 + TEST_RIP_SIZE] == RET) ||
		    (BYTE[arg0 - 1] == POP_RBP && (IS_TWO[this->insn, MOV_R10] ||
			IS_THREE[this->insn, LOAD_R10_BYTE] ||
			IS_THREE[this->insn, LOAD_R10_LONG]));
}

/*
 * Where the return address is, by the interrupted instruction; and whether rbp is saved below it.
 */
inline void find_frame_end()
{
	this->done = HALF[this->blob + blob_complete];
	if (is_split)
		this->done &= 0xffff;
	if ((this->insn & 0xff) == POP_RBP) { /* pop rbp */
		this->sp = arg2 + 16;
	} else if ((this->insn & 0xff) == RET || this->is_poll) { /* ret, and the poll before it */
		this->sp = arg2 + 8;
		this->saved = 0;
	} else if ((this->kind == NMETHOD || this->kind == NATIVE) &&
	    arg0 < this->code + this->done) {
		if (IS_THREE[this->insn, STORE_RBP_BYTE] ||
		    IS_THREE[this->insn, STORE_RBP_LONG])
			this->saved = 0; /* mov rbp to the stack */
		else if (IS_TWO[this->insn, BARRIER_CMP] ||
		    IS_TWO[this->insn, BARRIER_JNE])
			; /* the barrier at the entry */
		else if (arg0 > this->code && BYTE[arg0 - 1] == PUSH_RBP)
			this->sp = arg2 + 16; /* behind push rbp */
		else {
			this->sp = arg2 + 8;
			this->saved = 0;
		}
	}
}

/*
 * The caller of compiled code and of stubs with frames: the return address is at the end of the
 * frame, below it rbp. In the interrupted frame, the instruction says how much of the frame is
 * there.
 */
dtrace:helper:ustack:
/this->blob && this->kind != INTERPRETER && this->size/
{
	/* some stubs do not say how large their frames are: -1 */
	this->is_open = this->size == SIZE_UNKNOWN;
	this->sp = arg2 + (this->is_open ? 8 : this->size);
	this->saved = !this->is_open && this->size >= 16;
	if (arg3 == 0 && !this->is_open) {
		find_poll();
		find_frame_end();
	}
	this->pc = WORD[this->sp - 8];
	this->tries = 0;
	while (!IS_CODE[this->pc] && this->tries < (this->is_open ? 12 : 6); 12) {
		this->tries++;
		this->sp += 8;
		this->pc = WORD[this->sp - 8];
	}
	this->slot = this->sp - 16;
	this->stepped = 1;
	this->fp = this->saved || (this->is_open && this->slot == arg1) ? WORD[this->slot] : arg1;
	this->next = IS_CODE[this->pc] ? this->pc : 0;
	if (this->next)
		unwind(this->next, this->sp, this->fp);
	else
		unwind(0, 0, 0);
}

/*
 * A virtual thread that goes on gets the innermost of its frames back; the others stay in the heap,
 * in chunks of stack of its continuation, and come back one by one when the barrier is returned to.
 * They lie there as on a stack; what leads from an interpreted frame to others is relative. Behind
 * the last one comes enterSpecial(), whose frame has a record; the continuation is six words below
 * the frame pointer that it has saved.
 */
dtrace:helper:ustack:
/this->next && entered && !this->end && this->next == WORD[barrier]/
{
	this->special = 8 * (uint64_t)HALF[WORD[enter_code] + blob_frame];
	this->entry = this->sp;
	this->tries = 0;
	while (!IS_CODE[WORD[this->entry]] && this->tries < 24; 24) {
		this->entry += 8;
		this->tries++;
	}
	this->record = this->entry - RECORD_BELOW;
	this->entry += 8 - this->special;
	this->chunk = this->special && this->tries < 24 ? COPY[WORD[this->record]] : 0;
	this->chunk = this->chunk ? OBJECT[this->chunk + HALF[co_tail]] : 0;
	this->is_bottom = (uint64_t)1;
}

dtrace:helper:ustack:
/this->stepped && this->end/
{
	if (this->fp < RELATIVE_MAX)
		this->fp = this->slot + 8 * this->fp;
	this->is_bottom = (uint64_t)(this->sp >= this->end);
	if (this->is_bottom)
		this->chunk = OBJECT[this->chunk + HALF[ch_parent]];
	else if (this->next)
		unwind(this->next, this->sp, this->fp);
}

/* Goes on with the frames in this->chunk, or in one that follows it. */
inline void enter_chunk()
{
	this->is_bottom = (uint64_t)0;
	this->was = this->end;
	this->end = (uint64_t)0;
	this->tries = 0;
	while (this->chunk && !this->end && this->tries < 16; 16) {
		this->chunk = COPY[this->chunk];
		this->sp = this->chunk + HALF[ch_stack];
		this->end = this->sp + 8 * (uint64_t)HALF[this->chunk + HALF[ch_bottom]];
		this->sp += 8 * (uint64_t)HALF[this->chunk + HALF[ch_sp]];
		this->next = WORD[this->chunk + HALF[ch_pc]];
		if (this->sp >= this->end) { /* it is empty */
			this->chunk = OBJECT[this->chunk + HALF[ch_parent]];
			this->end = (uint64_t)0;
		}
		this->tries++;
	}
	if (this->end && IS_CODE[this->next] && WORD[this->sp - 8] == this->next) {
		this->fp = WORD[this->sp - 16];
		if (this->fp < RELATIVE_MAX)
			this->fp = this->sp - 16 + 8 * this->fp;
		unwind(this->next, this->sp, this->fp);
	} else if (this->was && !this->end && this->entry) {
		unwind(WORD[entered], this->entry, WORD[this->entry + this->special - 16]);
	} else if (this->was && !this->end) { /* no thread carries it */
		unwind(0, 0, 0);
	}
}

dtrace:helper:ustack:
/this->stepped && this->is_bottom/
{
	enter_chunk();
}

dtrace:helper:ustack:
/this->blob && this->kind == INTERPRETER && !this->unpacked && this->good/
{
	this->bci = WORD[arg1 - at_bytecode] - this->const - cm_code;
	if (arg3 == 0 && uregs[R_R13] - this->const - cm_code < SHORT[this->const + cm_size])
		this->bci = uregs[R_R13] - this->const - cm_code;
	/* a method of another class may come to lie where one was unloaded */
	this->symbol = CLASS_AT[this->pool];
	this->mark = HEAD[this->symbol];
	this->is_unclassed = !this->mark;
	this->mark ^= this->symbol << 13;
	this->symbol = NAME_AT[this->pool, this->const];
	this->own = HEAD[this->symbol];
	this->is_unnamed = !this->own;
	this->own ^= this->symbol << 13 ^ SHORT[this->const + cm_size];
	if (!uknown(this->method, this->const, this->bci, this->mark, this->own)) {
		this->is_away = SHORT[FILE_AT[this->pool]] &&
		    !HEAD[SLOT[this->pool, SHORT[FILE_AT[this->pool]]]];
		/* the frame has its file as soon as that is there */
		if (!this->is_away ||
		    !uknown(this->method, this->const, ~this->bci, this->mark, this->own)) {
			this->text = TEXT[this->method, this->const, this->pool,
			    LINE[this->const, this->bci], ""];
			this->text;
		}
	}
}

/* What MethodHandle calls methods with has no frame: the return address is on top of the stack. */
dtrace:helper:ustack:
/this->blob && !this->size && arg3 == 0 && this->kind == NATIVE && IS_CODE[WORD[arg2]]/
{
	unwind(WORD[arg2], arg2 + 8, arg1);
}

/* Where in the scopes of its blob an address of compiled code is (this->decode), or 0. */
inline void find_scope()
{
	this->data = is_split ? WORD[this->blob + nm_immutable] : this->blob;
	this->pcs = this->data + HALF[this->blob + nm_pcs];
	this->scopes = is_relative ? this->data + HALF[this->blob + nm_scopes] :
	    WORD[this->blob + nm_scopes];
	this->count =
	    ((is_split ? this->scopes : this->blob + HALF[this->blob + nm_pcs_end]) -
	    this->pcs) / PC_SIZE;
	this->metadata = is_split ?
	    WORD[this->blob + blob_mutable] + (HALF[this->blob + blob_relocation] + 7 & ~7) :
	    this->blob + HALF[this->blob + nm_metadata];
	this->offset = this->pc - this->code;
	this->decode = 0ull;
	/* the first one is at -1; the scopes are those of the first one that is not below */
	if (this->count > 2 && this->count < PCS_MAX && this->offset > 0 &&
	    this->offset < CODE_MAX) {
		this->index = ubsearch(this->pcs + PC_SIZE, this->count - 1, PC_SIZE, 4,
		    this->offset - 1) + 1;
		if (this->index < this->count - 1)
			this->decode = HALF[this->pcs + PC_SIZE * (this->index + 1) + PC_SCOPE];
	}
}

/* A scope has three packed numbers: the caller's scope, the method, the position in it plus one. */
inline void read_caller()
{
	this->at = this->scopes + this->decode;
	this->part = 0;
	this->value = 0ull;
	this->shift = 0;
	while (this->part < 1; 5) {
		this->byte = BYTE[this->at];
		this->at++;
		this->value += (uint64_t)(this->byte - less) << this->shift;
		this->shift += PACKED_BITS;
		if (this->byte < PACKED_MORE || this->shift == PACKED_END)
			this->part = 1;
	}
	this->caller = this->value;
}

inline void read_method()
{
	this->part = 0;
	this->value = 0ull;
	this->shift = 0;
	while (this->part < 2; 10) {
		this->byte = BYTE[this->at];
		this->at++;
		this->value += (uint64_t)(this->byte - less) << this->shift;
		this->shift += PACKED_BITS;
		if (this->byte < PACKED_MORE || this->shift == PACKED_END) {
			if (this->part == 0)
				this->number = this->value;
			this->part++;
			this->bci = this->value;
			this->value = 0ull;
			this->shift = 0;
		}
	}
	this->bci = this->bci ? this->bci - 1 : 0;
}

inline void show_method()
{
	this->method = this->number ? WORD[this->metadata + 8 * (this->number - 1)] : 0;
	if (this->method) {
		this->const = WORD[this->method + m_const];
		this->pool = WORD[this->const + cm_pool];
		this->line = LINE[this->const, this->bci];
		if (this->decode == this->inner)
			this->text = TEXT[this->method, this->const, this->pool, this->line, "*"];
		else if (this->line && SHORT[FILE_AT[this->pool]])
			uframe(CLASS[this->pool], ".", NAME[this->pool, this->const], "(",
			    FILE[this->pool], ":", this->line, ")*");
		else
			uframe(TEXT[this->method, this->const, this->pool, 0, "*"]);
	}
}

/* A compiled method and one that calls native code: where in its scopes it is. */
dtrace:helper:ustack:
/this->blob && (this->kind == NMETHOD || this->kind == NATIVE)/
{
	this->pc = arg0;
	if (arg0 == (is_relative ? this->blob + HALF[this->blob + nm_deopt] :
	    WORD[this->blob + nm_deopt]))
		/* it goes on in the interpreter */
		this->pc = WORD[arg2 + HALF[this->blob + nm_orig_pc]];
	this->id = HALF[this->blob + nm_id]; /* no two compilations have one number */
	this->is_away = this->is_unnamed = this->is_unclassed = 0;
	if (!uknown(this->blob, this->pc, this->id, 0, 0)) {
		find_scope();
		this->inner = this->decode;
		if (!this->decode) {
			this->method = WORD[this->blob + nm_method];
			this->const = WORD[this->method + m_const];
			this->text = TEXT[this->method, this->const, WORD[this->const + cm_pool], 0,
			    "*"];
		}
		while (this->decode; 64) {
			read_caller();
			if (this->decode == this->inner ||
			    !ucached(this->blob, this->decode, this->id)) {
				read_method();
				show_method();
			}
			/* callers come before */
			this->decode = this->caller < this->decode ? this->caller : 0;
		}
		this->text;
	}
}
