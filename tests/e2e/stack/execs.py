# SPDX-License-Identifier: MIT
"""Chains of programs, each of which lives a few milliseconds and executes the next one. In between, each starts children that do the
same. Whatever program a stack is of, its frames have names, also when another program had its code at the same addresses."""
import os, re, subprocess, sys

CHAINS, LEVELS = 2, 3
dtrace, trigger, tmp = (os.environ[name] for name in ("DTRACE", "TRIGGER", "TMP"))
with open(f"{tmp}/chain", "w") as f:
    f.write('''# chain LEVEL SHELL OTHER_SHELL
if [ "$1" -gt 0 ]; then
	x=$(env sh -c "exec env sh -c 'exec env true'")
	exec env "$3" "$0" $(($1 - 1)) "$3" "$2"
fi
exec "$TRIGGER/image_a" "$TRIGGER/image_b" "$TRIGGER/image_a" "$TRIGGER/image_b" true
''')
with open(f"{tmp}/chains", "w") as f:
    f.write(f'for i in $(seq {CHAINS}); do sh "$TMP/chain" {LEVELS} sh bash; done\n')
script = '''
    syscall:::entry /progenyof($target)/ { @all[ustack(3)] = count(); }
    syscall::getppid:entry /progenyof($target) && strstr(execname, "image") == execname/ { @images[execname, ustack(4)] = count(); }
    END { printa("all%k\\n", @all); printa("image %s%k%@d\\n", @images); }'''
p = subprocess.run([dtrace, "-q", "-x", "aggsize=64m", "-n", script, "-c", f"sh {tmp}/chains"], capture_output=True, text=True)
if p.returncode:
    sys.exit(f"status {p.returncode}: {p.stderr}")

failed = []
bare = re.findall(r"^0x[0-9a-f]+$", p.stdout, re.M)
named = p.stdout.count("`")
if bare or named < 100 * CHAINS:
    failed.append(f"{len(bare)} frames have no name, {named} have one")
for image in ("image_a", "image_b"):
    count = 0
    # a stack ends with a line in brackets where the tables of a file that nobody has met before are still being loaded
    for frames, n in re.findall(rf"^image {image}\n((?:(?:\S+`.*|\[.*\])\n)+)(\d+)$", p.stdout, re.M):
        if f"`in_{image}+" in frames:
            count += int(n)
        else:
            failed.append(f"a stack of {image} is\n{frames}")
    if count != 2 * CHAINS:
        rows = p.stdout[p.stdout.index("\nimage "):] if "\nimage " in p.stdout else ""
        failed.append(f"{count} stacks of {image}, not {2 * CHAINS}:{rows}")
if failed:
    sys.exit("\n".join(failed[:10]) + "\n" + p.stderr)
