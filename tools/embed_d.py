# SPDX-License-Identifier: MIT
"""Makes C of D programs that are a part of a command: for each FILE NAME.d a string memprof_d_NAME.

    embed_d.py FILE...
"""
import os, sys

print("/* Made by tools/embed_d.py. */\n#include \"cmd/memprof/memprof.h\"\n")
for path in sys.argv[1:]:
    with open(path, encoding="ascii") as f:
        lines = f.read().split("\n")
    text = "\n".join('\t"' + l.replace("\\", "\\\\").replace('"', '\\"') + '\\n"' for l in lines if l or l is not lines[-1])
    print(f"const char memprof_d_{os.path.basename(path)[:-2]}[] =\n{text};\n")
