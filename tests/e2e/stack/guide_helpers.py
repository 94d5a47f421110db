# SPDX-License-Identifier: MIT
"""Every helper that the guide shows compiles, with the prelude and the language of helpers; and so does a helper that gives names of the
prelude another meaning."""
import os
import re
import subprocess

OWN = '''
inline uint8_t WORD = 3;
uint64_t START, table;
dtrace:helper:attach: { START = WORD; table = START; }
dtrace:helper:ustack: /table/ { uframe("x", table); }
'''
with open(os.environ["SRC"] + "/doc/guide/ustack-helpers.md") as f:
    texts = re.findall(r"^```d helper\n(.*?)^```", f.read(), re.M | re.S)
print("examples:", "some" if len(texts) > 3 else len(texts))
for text in texts + [OWN]:
    with open(os.environ["TMP"] + "/one.d", "w") as f:
        f.write(text)
    done = subprocess.run([os.environ["DTRACE"], "-q", "-x", f"helper={os.environ['TMP']}/one.d", "-n", "BEGIN { ustack(2, 30); exit(0); }"],
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    if done.returncode or done.stderr:
        print(text, done.stderr)
