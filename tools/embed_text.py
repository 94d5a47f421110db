# SPDX-License-Identifier: MIT
"""Makes C of the scripts and styles of pictures: for each FILE a struct picture_file (picture/page.h).

    embed_text.py FILE...

A page holds them between tags, so a file may have no text that would end its element. Comments and the blanks at the begins of lines
are left out; strings of the scripts span no lines and have no text that looks like a comment.
"""
import base64, hashlib, os, re, sys


def shortened(text):
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    return "".join(line.strip() + "\n" for line in text.split("\n") if line.strip())


def beside(path, name):
    """The text of another file, which stands before that of a file with the line "@@needs NAME"."""
    with open(os.path.join(os.path.dirname(path), name), encoding="utf-8") as f:
        return f.read()


def c_lines(text):
    lines, line = [], ""
    for c in text:
        line += {"\\": "\\\\", '"': '\\"', "\n": "\\n"}.get(c, c)
        if len(line) >= 90 or c == "\n":
            lines.append(line)
            line = ""
    if line:
        lines.append(line)
    return "\n".join(f'\t"{l}"' for l in lines)


print("/* Made by tools/embed_text.py. */\n#include \"picture/page.h\"\n")
for path in sys.argv[1:]:
    with open(path, encoding="utf-8") as f:
        text = f.read()
    text = shortened("".join(beside(path, name) for name in re.findall(r"@@needs (\S+)", text)) + text)
    if not text.isascii():
        sys.exit(f"{path}: only ASCII is allowed")
    for bad in ("]]>", "</", "<!--"):
        if bad in text:
            sys.exit(f"{path}: it must not have {bad}")
    name = "picture_" + os.path.basename(path).replace(".", "_")
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    print(f"static const char {name}_text[] =\n{c_lines(text)};\n")
    print(f'const struct picture_file {name} = {{{name}_text, "sha256-{digest}", sizeof({name}_text) - 1}};\n')
