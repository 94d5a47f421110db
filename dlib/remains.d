/* SPDX-License-Identifier: MIT */
/*
 * What is left of a process, to a program over a core file or a copy of a process (dtrace --core):
 * mappinginfo_t, threadinfo_t, frameinfo_t, chunkinfo_t, objectinfo_t.
 *
 * The engine has one structure of words for each probe that fires; a text is the address of its
 * characters.
 */

/* ---- memory ---- */

struct __mapping {
	uint64_t start, end, offset, in_core;
	const char *path, *perms;
};

typedef struct mappinginfo {
	uint64_t start;
	uint64_t end;
	uint64_t bytes;
	uint64_t offset;     /* in the file */
	uint64_t in_core;    /* bytes that the core file has */
	string path;         /* "" for memory without a file */
	string perms;        /* "rwxs": what it has; '-' for what it has not */
} mappinginfo_t;

translator mappinginfo_t <struct __mapping *M> {
	start = M->start;
	end = M->end;
	bytes = M->end - M->start;
	offset = M->offset;
	in_core = M->in_core;
	path = stringof(M->path);
	perms = stringof(M->perms);
};

/* ---- threads and their frames ---- */

struct __thread {
	uint64_t tid, pc, sp, is_first;
	const char *name;
};

typedef struct threadinfo {
	id_t tid;
	uint64_t pc;
	uint64_t sp;
	int is_first;        /* it got the signal, or is the first thread of the process */
	string name;
} threadinfo_t;

translator threadinfo_t <struct __thread *T> {
	tid = T->tid;
	pc = T->pc;
	sp = T->sp;
	is_first = T->is_first;
	name = stringof(T->name);
};

struct __frame {
	uint64_t pc, sp, fp, depth, is_language;
	const char *name, *function, *object;
};

typedef struct frameinfo {
	uint64_t pc;         /* 0 in a frame of a language, as the two that follow */
	uint64_t sp;
	uint64_t fp;
	int depth;           /* 0 is the innermost one */
	int is_language;     /* it is a frame of a language, and of no machine code */
	string name;         /* libc.so.6`abort+0xd3, or what the language's helper says */
	string function;     /* abort */
	string object;       /* libc.so.6 */
} frameinfo_t;

translator frameinfo_t <struct __frame *F> {
	pc = F->pc;
	sp = F->sp;
	fp = F->fp;
	depth = F->depth;
	is_language = F->is_language;
	name = stringof(F->name);
	function = stringof(F->function);
	object = stringof(F->object);
};

/* ---- chunks of malloc ---- */

struct __chunk {
	uint64_t address, bytes, size, arena;
	const char *state;
};

typedef struct chunkinfo {
	uint64_t address;    /* what malloc() has returned */
	uint64_t bytes;      /* that the program may use */
	uint64_t size;       /* with what malloc() has added */
	int arena;           /* its number; -1: a mapping of its own */
	string state;        /* busy, mmapped; tcache, fastbin, free, top */
} chunkinfo_t;

translator chunkinfo_t <struct __chunk *C> {
	address = C->address;
	bytes = C->bytes;
	size = C->size;
	arena = C->arena;
	state = stringof(C->state);
};

/* ---- objects of languages ---- */

struct __object {
	uint64_t address, bytes;
	const char *class, *shape, *language;
};

/* The properties of an object: a string as subscript is the way to one, "position.x". */
struct __object_text { uint64_t object; };
struct __object_number { uint64_t object; };

inline string __object_text_at[struct __object_text *P, string N] = lprop((uint64_t)P, N);
inline int64_t __object_number_at[struct __object_number *P, string N] = lnumber((uint64_t)P, N);

typedef struct objectinfo {
	uint64_t address;    /* the word that is the object, as mdb takes it */
	uint64_t bytes;
	string class;
	string shape;        /* class and properties: "Point: x, y" */
	string language;
	struct __object_text *prop;       /* prop["name"]: a property as text */
	struct __object_number *number;   /* number["age"]: a property as a number */
} objectinfo_t;

translator objectinfo_t <struct __object *O> {
	address = O->address;
	bytes = O->bytes;
	class = stringof(O->class);
	shape = stringof(O->shape);
	language = stringof(O->language);
	prop = (struct __object_text *)O->address;
	number = (struct __object_number *)O->address;
};
