# A runtime whose version no helper knows has native frames, and is told of once; none of its frames has a name that is guessed. The programs are
# copies of those of Debian in which the version is another one.
cd "$TMP" || exit 1
. "$SRC/tests/e2e/stack/met.inc"
cat >patch.py <<'X'
# patch.py FILE SYMBOL OFFSET BYTE COPY
import re, shutil, subprocess, sys
path, symbol, offset, byte, copy = sys.argv[1:]
run = lambda *a: subprocess.run(a, capture_output=True, text=True).stdout
addr = int(re.search(r"([0-9a-f]+)\s+\d+\s+OBJECT.*\s%s(@.*)?$" % symbol, run("readelf", "-W", "--dyn-syms", path), re.M)[1], 16)
for m in re.finditer(r"LOAD\s+0x([0-9a-f]+) 0x([0-9a-f]+) 0x[0-9a-f]+ 0x([0-9a-f]+)", run("readelf", "-lW", path)):
    off, start, size = (int(x, 16) for x in m.groups())
    if start <= addr < start + size:
        shutil.copy(path, copy)
        with open(copy, "r+b") as f:
            f.seek(off + addr - start + int(offset))
            f.write(bytes([int(byte)]))
X

# check TITLE PROGRAM ARGUMENTS...: frames of the language, and what was said
check() {
	title=$1
	shift
	rm -f unmet
	timeout 180 "$DTRACE" -q -n 'syscall::getppid:entry /pid == $target/ { jstack(100); n++; } END { printf("%d calls\n", n); }' -c "$*" >got 2>said
	echo "$title: $(grep calls got), $(grep -c '\[ ' got) frames of the language, $(grep -c '__libc_start_call_main' got) whole stacks"
	sed -nE "s/^dtrace: ustack helper '.*\/(\w+\.d)': process [0-9]+ has native frames only: (.*)$/  \1: \2/p" said
	grep -v 'ustack helper' said || :
}

cat >w.py <<'X'
import os, time
def f(): os.getppid()
f()
for i in range(6000): os.path.exists("unmet") or time.sleep(0.02)
f(); time.sleep(0.3); f()
X
cat >w.pl <<'X'
sub f { syscall(110) }
f(); for (1 .. 6000) { select undef, undef, undef, 0.02 unless -e "unmet" } f(); select(undef, undef, undef, 0.3); f();
X
{
	if [ -x /usr/bin/python3.11 ]; then
		python3 patch.py /usr/bin/python3.11 Py_Version 2 15 python3.15
		check python ./python3.15 w.py
	fi
	python3 patch.py /usr/bin/perl PL_version 0 99 perl5.99
	check perl ./perl5.99 w.pl
} 2>&1
