/* SPDX-License-Identifier: MIT */
/*
 * Code of the Go compiler in an ELF file: where it lies, how its functions receive arguments.
 *
 * Until version 1.16 arguments and results lie on the stack. From 1.17 on, on x86-64, nine
 * registers of Go's own choice pass them; functions written in assembly keep to the stack, and
 * where Go code calls one, the linker writes its symbol with ".abi0" behind the name, because a
 * wrapper has the name.
 *
 * Go code moves its stack: a function begins by comparing the stack pointer with the stack's end.
 * If there is no room it calls the runtime and then jumps back to its own first instruction, with
 * the arguments as they were. A probe on that instruction would count such a call twice, therefore
 * entry probes stand behind the comparison.
 *
 * Facts    Go src/cmd/compile/abi-internal.md; debug/buildinfo for the section .go.buildinfo;
 *          cmd/internal/obj/x86/obj6.go, stacksplit(), for the first instructions.
 */
#pragma once

#include "files/gate.h"

enum go_abi {
	GO_NONE,      /* the file has no code of Go */
	GO_UNKNOWN,   /* the version of Go is not known */
	GO_STACK,     /* arguments, then results, on the stack above the return address */
	GO_REGISTERS, /* nine registers, then the stack */
};

struct go_code {
	enum go_abi abi;
	uint64_t start, end; /* addresses; the code outside is C or assembly */
	char version[32];    /* "go1.19.8", "" = not known */
};

/* Fills abi and version from the section .go.buildinfo; fd is a descriptor of the same file. */
void go_code_read(struct go_code *g, struct gate_elf *file, bool is_32bit);
/* Returns the calling convention of the function with that name at addr. */
enum go_abi go_code_abi(const struct go_code *g, uint64_t addr, const char *name);
