#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Turns the BPF objects of the run-time library into C tables (struct rt_image, src/kernel/linker.h).

    embed.py funcs.h subrs.def helper_subrs.def a.o b.o ... > rt_image.c

All that a linker does before it knows map descriptors and callers is done here, when building: functions
are found, calls and callbacks become function indexes, map symbols become map classes. Refuses whatever the
run-time linker would not know how to place: data, .rodata, unknown symbols, functions that
neither funcs.h, nor a row of subrs.def, nor a program's name, nor a static definition accounts for.

Refuses a row of subrs.def or helper_subrs.def, too, whose column of addresses lacks an argument that is a pointer:
a helper of somebody else could read the kernel's memory by it.
"""
import re
import struct
import sys

EM_BPF = 247
SHT_SYMTAB, SHT_REL = 2, 9
STT_FUNC, STT_SECTION = 2, 3
STB_LOCAL = 0
R_BPF_64_64, R_BPF_64_32 = 1, 10
BPF_CALL, BPF_LD_IMM64 = 0x85, 0x18
BPF_PSEUDO_CALL = 1

MADE_BY_LINKER = 'rt_ring_output'  # kernel/linker.c
CALLBACK = 'rtcb_'  # static functions whose address generated code takes
PROGRAM = 'prog_'  # functions that are whole programs: link_program()
MAP_PREFIXES = {'map_': 'RELOC_MAP', 'val_': 'RELOC_MAP_VALUE'}


class Refused(Exception):
    pass


def cstr(data, off):
    return data[off:data.index(b'\0', off)].decode()


class Object:
    """One ELF file: its .text, its functions and the relocations of .text."""

    def __init__(self, path):
        self.path = path
        with open(path, 'rb') as f:
            self.data = f.read()
        ident = self.data[:16]
        if ident[:6] != b'\x7fELF\x02\x01':
            raise Refused(f'{path}: not a 64-bit little-endian ELF file')
        head = struct.unpack_from('<HHIQQQIHHHHHH', self.data, 16)
        if head[1] != EM_BPF:
            raise Refused(f'{path}: not for BPF')
        shoff, shnum, shstrndx = head[5], head[11], head[12]
        self.sections = [struct.unpack_from('<IIQQQQIIQQ', self.data, shoff + 64 * i)
                         for i in range(shnum)]
        names = self.bytes_of(shstrndx)
        self.names = [cstr(names, s[0]) for s in self.sections]
        self.check_sections()
        self.text_index = self.names.index('.text')
        self.text = self.bytes_of(self.text_index)
        self.read_symbols()

    def bytes_of(self, index):
        sec = self.sections[index]
        return self.data[sec[4]:sec[4] + sec[5]]

    def check_sections(self):
        for name, sec in zip(self.names, self.sections):
            allocated = sec[2] & 2
            if allocated and sec[5] and name != '.text':
                raise Refused(f'{self.path}: section {name}: data is not supported')

    def read_symbols(self):
        index = next(i for i, s in enumerate(self.sections) if s[1] == SHT_SYMTAB)
        strings = self.bytes_of(self.sections[index][6])
        self.symbols = []
        self.funcs = []  # (start, length, name, is_global) in instructions
        raw = self.bytes_of(index)
        for off in range(0, len(raw), 24):
            name, info, _, shndx, value, size = struct.unpack_from('<IBBHQQ', raw, off)
            sym = {'name': cstr(strings, name), 'type': info & 15, 'bind': info >> 4,
                   'shndx': shndx, 'value': value, 'size': size}
            self.symbols.append(sym)
            if sym['type'] == STT_FUNC and shndx == self.text_index:
                self.funcs.append((value // 8, size // 8, sym['name'], sym['bind'] != STB_LOCAL))
        self.funcs.sort()

    def relocations(self):
        """Byte offset in .text -> (type, symbol)."""
        found = {}
        for i, sec in enumerate(self.sections):
            if sec[1] == SHT_REL and sec[7] == self.text_index:
                raw = self.bytes_of(i)
                for off in range(0, len(raw), 16):
                    where, info = struct.unpack_from('<QQ', raw, off)
                    found[where] = (info & 0xffffffff, self.symbols[info >> 32])
        return found


class Image:
    def __init__(self, objects, nargs):
        self.nargs = nargs
        self.insns = []
        self.funcs = []   # (start, length, name, is_global)
        self.relocs = []  # (insn, kind, ref text, off)
        self.by_name = {}
        self.bases = {}
        for obj in objects:
            self.place(obj)
        for obj in objects:
            self.resolve(obj)
        missing = set(nargs) - set(self.by_name)
        if missing:
            raise Refused('not defined: ' + ', '.join(sorted(missing)))

    def place(self, obj):
        base = len(self.insns)
        self.bases[obj.path] = base, len(self.funcs)
        for off in range(0, len(obj.text), 8):
            code, regs, jump, imm = struct.unpack_from('<BBhi', obj.text, off)
            self.insns.append([code, regs & 15, regs >> 4, jump, imm])
        for start, length, name, is_global in obj.funcs:
            if name.startswith(CALLBACK):
                self.by_name[name] = len(self.funcs)
            if is_global and name not in self.nargs and not name.startswith(PROGRAM):
                raise Refused(f'{obj.path}: {name} is neither in funcs.h nor in subrs.def, no program,'
                              ' and not static')
            if is_global:
                self.by_name[name] = len(self.funcs)
            self.funcs.append((base + start, length, name, is_global))

    def func_at(self, obj, start):
        base, _ = self.bases[obj.path]
        for i, func in enumerate(self.funcs):
            if func[0] == base + start:
                return i
        raise Refused(f'{obj.path}: no function at instruction {start}')

    def resolve(self, obj):
        base, _ = self.bases[obj.path]
        relocs = obj.relocations()
        i = 0
        while i < len(obj.text) // 8:
            insn = self.insns[base + i]
            reloc = relocs.pop(i * 8, None)
            wide = insn[0] == BPF_LD_IMM64
            if wide and reloc:
                self.resolve_address(obj, base + i, insn, reloc[1])
            elif insn[0] == BPF_CALL and insn[2] == BPF_PSEUDO_CALL:
                self.resolve_call(obj, base, i, insn, reloc)
            elif reloc:
                raise Refused(f'{obj.path}: relocation at instruction {i} is not understood')
            i += 2 if wide else 1
        if relocs:
            raise Refused(f'{obj.path}: relocations left over: {sorted(relocs)}')

    def resolve_call(self, obj, base, i, insn, reloc):
        if reloc and reloc[1]['type'] != STT_SECTION:
            name = reloc[1]['name']
            ref = len(self.funcs) if name == MADE_BY_LINKER else self.by_name.get(name)
            if ref is None:
                raise Refused(f"{obj.path}: call of unknown {name}")
        else:
            ref = self.func_at(obj, i + 1 + insn[4])
        self.relocs.append((base + i, 'RELOC_FUNC', str(ref), 0))

    def resolve_address(self, obj, at, insn, sym):
        if sym['type'] == STT_SECTION and sym['shndx'] == obj.text_index:
            self.relocs.append((at, 'RELOC_FUNC', str(self.func_at(obj, insn[4] // 8)), 0))
            return
        for prefix, kind in MAP_PREFIXES.items():
            if sym['shndx'] == 0 and sym['name'].startswith(prefix):
                ref = f"MAP_REF(MAP_{sym['name'][len(prefix):].upper()}, 0)"
                self.relocs.append((at, kind, ref, insn[4]))
                return
        raise Refused(f"{obj.path}: address of unknown '{sym['name']}'")

    def print(self):
        print('/* The run-time library in tables, made by tools/embed.py. */')
        print('#include "kernel/linker.h"\n')
        print('static const struct bpf_insn insns[] = {')
        for insn in self.insns:
            print('\t{%d, %d, %d, %d, %d},' % tuple(insn))
        print('};\n\nstatic const struct rt_image_reloc relocs[] = {')
        for reloc in self.relocs:
            print('\t{%d, %s, %s, %d},' % reloc)
        print('};\n\nstatic const struct rt_image_func funcs[] = {')
        at = 0
        for start, length, name, is_global in self.funcs:
            count = sum(start <= r[0] < start + length for r in self.relocs)
            print('\t{"%s", %d, %d, %d, %d, %d, %d},' % (name, start, length, at, count,
                                                    self.nargs.get(name, 0), is_global))
            at += count
        print('};\n\nconst struct rt_image rt_image = {')
        print('\tinsns, relocs, funcs, %d,' % len(self.funcs))
        print('};')


def subr_rows(path):
    """Yields the macro, the name, the types of all arguments and the column of addresses of each row."""
    with open(path) as f:
        text = f.read()
    start = r'^(SUBR|SUBR_INLINE|SUBR_ATTACH|SUBR_WALK)\('
    rows = re.findall(start + r'\w+, (\w+), \d+, [^(]*?, \(([^)]*)\), (?:NONE|OPT\(([^,]*), [^)]*\)),\s'
                      r'(?:[\w |]*,\n)?\s*([^,]*), ', text, re.M)
    if len(rows) != len(re.findall(start, text, re.M)):
        raise Refused(f'{path}: a row has not the columns that the comment says')
    for macro, name, args, optional, addresses in rows:
        yield macro, name, [a for a in args.split(',') if a] + ([optional] if optional else []), addresses


def addresses_check(path, name, types, addresses):
    pointers = ' | '.join(f'ARG{i}' for i, text in enumerate(types) if '*' in text)
    if addresses != (pointers or 'NO_ARGS') and not (pointers and addresses == 'UNREAD'):
        raise Refused(f'{path}: {name}: the column of addresses has {addresses}, not {pointers or "NO_ARGS"}')


def main(argv):
    with open(argv[1]) as f:
        rows = re.findall(r'^RT_FUNC\((\w+), (\d), ([01])\)', f.read(), re.M)
    nargs = {name: int(n) for name, n, _ in rows}
    try:
        for path in argv[2:4]:
            for macro, name, types, addresses in subr_rows(path):
                addresses_check(path, name, types, addresses)
                if macro == 'SUBR':
                    nargs[f'rt_sub_{name}'] = len(types)
        Image([Object(path) for path in argv[4:]], nargs).print()
    except Refused as e:
        sys.exit(f'embed.py: {e}')


main(sys.argv)
