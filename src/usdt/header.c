/* SPDX-License-Identifier: MIT */
/* Writes the C header of a provider definition. */
#include "usdt/header.h"

#include <ctype.h>

#include "base/hash.h"
#include "usdt/dof.h"

#define FEW_ARGS 6 /* processors have enough registers for so many arguments */

/*
 * The text with which every generated header begins. A source file that includes several headers
 * defines these macros once.
 *
 * A note has the format stapsdt: the size of the owner's name, of the description, the type 3; the
 * name; then the addresses of the instruction, of a byte by which readers compute how far a linker
 * has moved the program, and of the counter; then provider, probe and arguments as strings. The
 * flag "?" puts the note into the section group of the function, so a linker that drops the
 * function drops the note as well.
 *
 * The object that dtrace -G makes defines the counter. So that a program can be linked without this
 * object, each object has a weak definition in a group of its own, of which the linker keeps one.
 * Link-time optimisation may merge two objects into one assembler file, hence ".ifndef".
 */
static const char common_text[] =
	"#ifndef __DTRACE_NOTE\n"
	"#if defined(__LP64__) || defined(_LP64)\n"
	"#define __DTRACE_WORD \"8\"\n"
	"#define __DTRACE_MODEL \"2\"\n"
	"#define __DTRACE_SIGNED_WORD \"-8\"\n"
	"#define __DTRACE_ADDRESS \".8byte \"\n"
	"#define __DTRACE_NEAR \"nr\" /* memory at a symbol is lost in a stripped program */\n"
	"#define __DTRACE_NEAR64 __DTRACE_NEAR\n"
	"#define __DTRACE_FAR64 \"nor\"\n"
	"#define __DTRACE_FLOAT \"r\"\n"
	"#else\n"
	"#define __DTRACE_WORD \"4\"\n"
	"#define __DTRACE_MODEL \"1\"\n"
	"#define __DTRACE_SIGNED_WORD \"-4\"\n"
	"#define __DTRACE_ADDRESS \".4byte \"\n"
	"#define __DTRACE_NEAR \"nor\"\n"
	"#define __DTRACE_NEAR64 \"no\" /* 8 bytes are no register */\n"
	"#define __DTRACE_FAR64 \"no\"\n"
	"#define __DTRACE_FLOAT \"o\"\n"
	"#endif\n"
	"#define __DTRACE_NOTE(provider, probe, counter, args) \\\n"
	"\t\"990: nop\\n\" \\\n"
	"\t\".pushsection .note.stapsdt,\\\"?\\\",\\\"note\\\"\\n\" \\\n"
	"\t\".balign 4\\n\" \\\n"
	"\t\".4byte 992f-991f, 994f-993f, 3\\n\" \\\n"
	"\t\"991: .asciz \\\"stapsdt\\\"\\n\" \\\n"
	"\t\"992: .balign 4\\n\" \\\n"
	"\t\"993: \" __DTRACE_ADDRESS \"990b\\n\" \\\n"
	"\t__DTRACE_ADDRESS \"_.stapsdt.base\\n\" \\\n"
	"\t__DTRACE_ADDRESS counter \"\\n\" \\\n"
	"\t\".asciz \\\"\" provider \"\\\"\\n\" \\\n"
	"\t\".asciz \\\"\" probe \"\\\"\\n\" \\\n"
	"\t\".asciz \\\"\" args \"\\\"\\n\" \\\n"
	"\t\"994: .balign 4\\n\" \\\n"
	"\t\".popsection\\n\" \\\n"
	"\t\".ifndef _.stapsdt.base\\n\" \\\n"
	"\t\".pushsection .stapsdt.base,\\\"aG\\\",\\\"progbits\\\",.stapsdt.base,comdat\\n\" \\\n"
	"\t\".weak _.stapsdt.base\\n\" \\\n"
	"\t\".hidden _.stapsdt.base\\n\" \\\n"
	"\t\"_.stapsdt.base: .space 1\\n\" \\\n"
	"\t\".size _.stapsdt.base, 1\\n\" \\\n"
	"\t\".popsection\\n\" \\\n"
	"\t\".endif\\n\"\n"
	"#define __DTRACE_COUNTER(name) \\\n"
	"\t__asm__(\".ifndef \" name \"\\n\" \\\n"
	"\t\t\".pushsection .probes,\\\"awG\\\",\\\"progbits\\\",\" name \",comdat\\n\" \\\n"
	"\t\t\".balign 2\\n\" \\\n"
	"\t\t\".weak \" name \"\\n\" \\\n"
	"\t\t\".hidden \" name \"\\n\" \\\n"
	"\t\t\".type \" name \", STT_OBJECT\\n\" \\\n"
	"\t\tname \": .space 2\\n\" \\\n"
	"\t\t\".size \" name \", 2\\n\" \\\n"
	"\t\t\".popsection\\n\" \\\n"
	"\t\t\".endif\\n\");\n"
	"typedef int __dtrace_int64 __attribute__((__mode__(__DI__)));\n"
	"typedef unsigned int __dtrace_uint64 __attribute__((__mode__(__DI__)));\n"
	"#define __DTRACE_INLINE static __inline__ __attribute__((__always_inline__, __unused__))\n"
	"#endif\n";

/* Adds the name of a macro, PROVIDER_PROBE, in upper case; '_' replaces "__" and '-'. */
static void macro_name_add(struct strbuf *out, const struct usdt_provider *pv,
			   const struct usdt_probe *p)
{
	for (const char *s = pv->name; *s; s++)
		strbuf_addc(out, (char)toupper((unsigned char)*s));
	strbuf_addc(out, '_');
	for (const char *s = p->name; *s; s++)
		strbuf_addc(out, *s == '-' ? '_' : (char)toupper((unsigned char)*s));
}

static void arg_names_add(struct strbuf *out, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		strbuf_addf(out, "%sarg%u", i ? ", " : "", i);
}

static void parameters_add(struct strbuf *out, const struct usdt_probe *p)
{
	if (!p->nargs)
		strbuf_adds(out, "void");
	for (uint32_t i = 0; i < p->nargs; i++) {
		const char *type = p->args[i].ctype;
		bool is_pointer = *type && type[strlen(type) - 1] == '*';

		strbuf_addf(out, "%s%s%sarg%u", i ? ", " : "", type, is_pointer ? "" : " ", i);
	}
}

/* Adds the size of an argument as the text of a note has it: "-4@". */
static void arg_size_add(struct strbuf *out, const struct usdt_arg *a)
{
	if (a->is_word)
		strbuf_adds(out,
			    a->is_signed ? "\" __DTRACE_SIGNED_WORD \"" : "\" __DTRACE_WORD \"");
	else
		strbuf_addf(out, "%s%u%s", a->is_signed && a->kind == USDT_INTEGER ? "-" : "",
			    a->size, a->kind == USDT_FLOAT ? "f" : "");
}

static const char *arg_constraint(const struct usdt_arg *a, uint32_t index)
{
	bool is_register = index < FEW_ARGS;

	if (a->kind == USDT_FLOAT)
		return is_register ? "__DTRACE_FLOAT" : "\"o\"";
	if (a->size == 8 && !a->is_word)
		return is_register ? "__DTRACE_NEAR64" : "__DTRACE_FAR64";
	return is_register ? "__DTRACE_NEAR" : "\"nor\"";
}

static bool has_pointer(const struct usdt_probe *p)
{
	for (uint32_t i = 0; i < p->nargs; i++)
		if (p->args[i].kind == USDT_TEXT || p->args[i].kind == USDT_POINTER)
			return true;
	return false;
}

static void probe_body_add(struct strbuf *out, const struct usdt_provider *pv,
			   const struct usdt_probe *p)
{
	strbuf_addf(
		out,
		"{\n\t__asm__ __volatile__(__DTRACE_NOTE(\"%s\", \"%s\", \"%s_%s_semaphore\",\n\t\t\"",
		pv->name, p->cname, pv->name, p->cname);
	for (uint32_t i = 0; i < p->nargs; i++) {
		strbuf_adds(out, i ? " " : "");
		arg_size_add(out, &p->args[i]);
		strbuf_addf(out, "@%%[a%u]", i);
	}
	strbuf_adds(out, "\")\n\t\t: /* no results */\n\t\t:");
	for (uint32_t i = 0; i < p->nargs; i++)
		strbuf_addf(out, "%s[a%u] %s(arg%u)", i ? ", " : " ", i,
			    arg_constraint(&p->args[i], i), i);
	/* a tracer reads what pointers lead to, so the compiler must have stored it */
	strbuf_addf(out, "%s);\n}\n\n", has_pointer(p) ? "\n\t\t: \"memory\"" : "");
}

static void probe_add(struct strbuf *out, const struct usdt_provider *pv,
		      const struct usdt_probe *p)
{
	strbuf_adds(out, "#define ");
	macro_name_add(out, pv, p);
	strbuf_addc(out, '(');
	arg_names_add(out, p->nargs);
	strbuf_addf(out, ") \\\n\t__dtrace_%s___%s(", pv->name, p->cname);
	arg_names_add(out, p->nargs);
	strbuf_adds(out, ")\n#define ");
	macro_name_add(out, pv, p);
	strbuf_addf(out, "_ENABLED() \\\n\t__builtin_expect(%s_%s_semaphore != 0, 0)\n\n", pv->name,
		    p->cname);
	strbuf_addf(out,
		    "__DTRACE_COUNTER(\"%s_%s_semaphore\")\n"
		    "extern volatile unsigned short %s_%s_semaphore\n"
		    "\t__attribute__((__visibility__(\"hidden\")));\n"
		    "__DTRACE_INLINE void\n__dtrace_%s___%s(",
		    pv->name, p->cname, pv->name, p->cname, pv->name, p->cname);
	parameters_add(out, p);
	strbuf_adds(out, ")\n");
	probe_body_add(out, pv, p);
}

/* Adds empty macros, for compilers that cannot write notes and programs that want no probes. */
static void probe_add_empty(struct strbuf *out, const struct usdt_provider *pv,
			    const struct usdt_probe *p)
{
	strbuf_adds(out, "#define ");
	macro_name_add(out, pv, p);
	strbuf_addc(out, '(');
	arg_names_add(out, p->nargs);
	strbuf_adds(out, ") \\\n\tdo { } while (0)\n#define ");
	macro_name_add(out, pv, p);
	strbuf_adds(out, "_ENABLED() \\\n\t(0)\n");
}

static void each_probe_add(struct strbuf *out, const struct usdt_provider *pvs, uint32_t n,
			   void (*add)(struct strbuf *, const struct usdt_provider *,
				       const struct usdt_probe *))
{
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t k = 0; k < pvs[i].nprobes; k++)
			add(out, &pvs[i], &pvs[i].probes[k]);
}

/* Returns a number that is the same in all runs, so that builds can be repeated. */
static uint64_t description_hash(const struct dof_image *d)
{
	return fnv_64(FNV_64, d->bytes.data, d->bytes.len);
}

/*
 * Adds the description of the providers, which each object that includes the header then has, in a
 * group of which a linker keeps one. The object of dtrace -G has the same description; a program is
 * often linked without this object. The data model, a byte of the head, is the compiler's.
 */
static void description_add(struct strbuf *out, const struct usdt_provider *pvs, uint32_t n)
{
	struct dof_image d = {0};
	unsigned long long hash;

	dof_write(pvs, n, true, &d);
	hash = description_hash(&d);
	strbuf_addf(
		out,
		"__asm__(\".ifndef __dtrace_has_%llx\\n\"\n"
		"\t\".set __dtrace_has_%llx, 1\\n\"\n"
		"\t\".pushsection .SUNW_dof,\\\"G\\\",\\\"progbits\\\",__dtrace_dof_%llx,comdat\\n\"\n"
		"\t\".balign 8\\n\"\n"
		"\t\".byte 0x7f, 0x44, 0x4f, 0x46, \" __DTRACE_MODEL \", 1, 2, 2\\n\"\n",
		hash, hash, hash);
	for (uint32_t i = 8; i < d.bytes.len; i += 8) {
		uint64_t word;
		bool begins = i % 48 == 8, ends = i % 48 == 0 || i + 8 == d.bytes.len;

		memcpy(&word, d.bytes.data + i, sizeof(word));
		strbuf_addf(out, "%s%s%llx%s", begins ? "\t\".8byte " : ",", word > 9 ? "0x" : "",
			    (unsigned long long)word, ends ? "\\n\"\n" : "");
	}
	strbuf_adds(out, "\t\".popsection\\n\"\n\t\".endif\\n\");\n\n");
	dof_image_deinit(&d);
}

static struct err *probe_check(const struct usdt_provider *pv, const struct usdt_probe *p)
{
	if (p->nargs > USDT_ARGS_MAX)
		return err_hint(
			err_new("probe %s:::%s has %u arguments, a probe of a program can have %d",
				pv->name, p->name, p->nargs, USDT_ARGS_MAX),
			"pass a pointer to a struct instead");
	return NULL;
}

static void guard_add(struct strbuf *out, const char *file)
{
	strbuf_addc(out, '_');
	for (const char *s = file; *s; s++)
		strbuf_addc(out,
			    isalnum((unsigned char)*s) ? (char)toupper((unsigned char)*s) : '_');
}

struct err *usdt_header(const struct usdt_provider *pvs, uint32_t n, const char *guard,
			const char *source, struct strbuf *out)
{
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t k = 0; k < pvs[i].nprobes; k++) {
			struct err *e = probe_check(&pvs[i], &pvs[i].probes[k]);

			if (e)
				return e;
		}
	strbuf_addf(out, "/* Generated by dtrace(8) from %s. */\n#ifndef ", source);
	guard_add(out, guard);
	strbuf_adds(out, "\n#define ");
	guard_add(out, guard);
	strbuf_adds(out, "\n\n#ifndef _DTRACE_VERSION\n"
			 "#if defined(__GNUC__) && defined(__ELF__)\n"
			 "#define _DTRACE_VERSION 1\n"
			 "#else\n"
			 "#define _DTRACE_VERSION 0\n"
			 "#endif\n"
			 "#endif\n\n"
			 "#if _DTRACE_VERSION\n\n");
	strbuf_adds(out, common_text);
	strbuf_adds(out, "\n#ifdef __clang__ /* C90 promises 509 characters */\n"
			 "#pragma clang diagnostic push\n"
			 "#pragma clang diagnostic ignored \"-Woverlength-strings\"\n"
			 "#endif\n"
			 "#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n");
	description_add(out, pvs, n);
	each_probe_add(out, pvs, n, probe_add);
	strbuf_adds(out, "#ifdef __cplusplus\n}\n#endif\n"
			 "#ifdef __clang__\n#pragma clang diagnostic pop\n#endif\n\n#else\n\n");
	each_probe_add(out, pvs, n, probe_add_empty);
	strbuf_adds(out, "\n#endif\n\n#endif\n");
	return NULL;
}
