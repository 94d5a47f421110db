#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Turns the linked code of src/native/rt/ into bytes and a table of its functions (src/native/blob.h).

    blob.py blob.h blob.elf > blob_bytes.c

The code will lie in a foreign process, at an address that is not known here. Refuses what would not run there:
data, functions that are missing, and relocations that depend on the address.
"""
import re
import struct
import sys

EM_X86_64 = 62
SHT_SYMTAB, SHT_RELA, SHT_REL = 2, 4, 9
SHF_ALLOC = 2
RELATIVE = {2: 'R_X86_64_PC32', 4: 'R_X86_64_PLT32'}  # between two places of the code itself


class Refused(Exception):
    pass


def cstr(data, off):
    return data[off:data.index(b'\0', off)].decode()


def sections_of(data):
    """[(name, type, flags, address, bytes, link)]"""
    if data[:6] != b'\x7fELF\x02\x01' or struct.unpack_from('<H', data, 18)[0] != EM_X86_64:
        raise Refused('not a file for x86-64')
    start, = struct.unpack_from('<Q', data, 40)
    count, names = struct.unpack_from('<HH', data, 60)
    raw = [struct.unpack_from('<IIQQQQIIQQ', data, start + 64 * i) for i in range(count)]
    base = raw[names][4]
    return [(cstr(data, base + s[0]), s[1], s[2], s[3], data[s[4]:s[4] + s[5]], s[6]) for s in raw]


def code_of(sections):
    for name, kind, flags, _, content, _ in sections:
        if flags & SHF_ALLOC and content and name != '.blob':
            raise Refused(f'section {name}: the code may have no data of its own')
        if kind == SHT_REL and content:
            raise Refused(f'relocations of a kind that is not expected: {name}')
        if kind != SHT_RELA:
            continue
        for off in range(0, len(content), 24):
            where, info = struct.unpack_from('<QQ', content, off)
            if info & 0xffffffff not in RELATIVE:
                raise Refused(f'the bytes at {where:#x} depend on the address of the code (relocation {info & 0xffffffff})')
    blob = [s for s in sections if s[0] == '.blob']
    if len(blob) != 1 or blob[0][3] != 0:
        raise Refused('there is no section .blob at address 0')
    return blob[0][4]


def functions_of(sections):
    found = {}
    for _, kind, _, _, content, link in sections:
        if kind != SHT_SYMTAB:
            continue
        for off in range(0, len(content), 24):
            name, _, _, where, value, _ = struct.unpack_from('<IBBHQQ', content, off)
            text = cstr(sections[link][4], name)
            if text and where == 0:
                raise Refused(f'{text} is not defined')
            found[text] = value
    return found


def main():
    with open(sys.argv[1]) as f:
        names = re.findall(r'^\s*(?:#define BLOB_FUNCS\(F\)\s*\\\s*)?F\((\w+), (\w+)\)', f.read(), re.M)
    with open(sys.argv[2], 'rb') as f:
        sections = sections_of(f.read())
    code, functions = code_of(sections), functions_of(sections)
    print('/* Made by tools/blob.py. */\n#include "native/blob.h"\n')
    print(f'const u32 blob_code_size = {len(code)};')
    print('const u32 blob_entries[BLOB_NFUNCS] = {')
    for const, name in names:
        if 'blob_' + name not in functions:
            raise Refused(f'there is no function blob_{name}()')
        print(f'\t[BLOB_{const}] = {functions["blob_" + name]},')
    print('};\nconst u8 blob_code[] __attribute__((aligned(64))) = {')
    for off in range(0, len(code), 16):
        print('\t' + ' '.join(f'{b},' for b in code[off:off + 16]))
    print('};')


try:
    main()
except Refused as e:
    sys.exit(f'{sys.argv[0]}: {sys.argv[2]}: {e}')
