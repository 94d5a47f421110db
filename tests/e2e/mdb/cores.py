# SPDX-License-Identifier: MIT
"""What tests of core files share."""
import struct


def notes_first(core):
    """The core file as the kernel writes it: its notes before the memory, not behind."""
    table, = struct.unpack_from("<Q", core, 32)
    n, = struct.unpack_from("<H", core, 56)
    rows = [list(struct.unpack_from("<IIQQQQQQ", core, table + 56 * i)) for i in range(n)]
    notes = next(r for r in rows if r[0] == 4)
    body = core[notes[2]:notes[2] + notes[5]]
    begin = (table + 56 * n + len(body) + 4095) // 4096 * 4096
    memory, at = b"", begin
    for r in rows:
        if r is notes:
            r[2] = table + 56 * n
            continue
        memory += core[r[2]:r[2] + r[5]]
        r[2], at = at, at + r[5]
    header = bytearray(core[:table])
    header[40:48] = bytes(8)  # no table of sections
    header[60:62] = bytes(2)
    return (bytes(header) + b"".join(struct.pack("<IIQQQQQQ", *r) for r in rows) + body).ljust(begin, b"\0") + memory
