# A runtime whose version or layout no helper knows has native frames, and is told of once; none of its frames has a name that is guessed.
# The programs are copies of those of Debian in which the version is another one, or what describes the layout to debuggers is not there.
# Each program is first traced as it is: then there are such frames.
# @@foreign
cd "$TMP" || exit 1
. "$SRC/tests/e2e/stack/met.inc"
cat >patch.py <<'X'
# patch.py FILE COPY symbol NAME OFFSET BYTE: another byte at a symbol; patch.py FILE COPY text OLD NEW: another text of that length; patch.py FILE COPY bytes OLD NEW
import os, re, shutil, subprocess, sys
path, copy, how, name, *more = sys.argv[1:]
run = lambda *a: subprocess.run(a, capture_output=True, text=True).stdout
os.makedirs(os.path.dirname(copy) or ".", exist_ok=True)
shutil.copy(path, copy)
with open(copy, "r+b") as f:
    if how in ("text", "bytes"):
        old, new = (name.encode(), more[0].encode()) if how == "text" else (bytes.fromhex(name), bytes.fromhex(more[0]))
        data = f.read()
        assert len(old) == len(new) and old in data, name
        f.seek(0)
        f.write(data.replace(old, new))
    else:
        addr = int(re.search(r"([0-9a-f]+)\s+\d+\s+OBJECT.*\s%s(@.*)?$" % name, run("readelf", "-W", "--dyn-syms", path), re.M)[1], 16)
        for m in re.finditer(r"LOAD\s+0x([0-9a-f]+) 0x([0-9a-f]+) 0x[0-9a-f]+ 0x([0-9a-f]+)", run("readelf", "-lW", path)):
            off, start, size = (int(x, 16) for x in m.groups())
            if start <= addr < start + size:
                f.seek(off + addr - start + int(more[0]))
                f.write(bytes([int(more[1])]))
X

# Ruby and V8 compare their version with that of their files when they start: theirs changes at the first getppid(), and is traced from then on
cat >other.c <<'X'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
int getppid(void)
{
	char *number = dlsym(RTLD_DEFAULT, getenv("OTHER")), *page = (char *)((uintptr_t)number & ~4095ul);

	if (number && mprotect(page, 8192, PROT_READ | PROT_WRITE) == 0)
		number[atoi(getenv("OTHER_AT"))] = 99;
	close(open("changed", O_CREAT | O_WRONLY, 0600));
	int r = (int)syscall(SYS_getppid);
	static int ncalls;
	char name[32];

	snprintf(name, sizeof(name), "unmet.%d", (int)getpid());
	/* the last call ends when dtrace has looked at the process */
	ncalls++;
	for (int i = 0; ncalls >= 3 && i < 5000 && access(name, F_OK) != 0; i++)
		usleep(20000);
	return r;
}
X
cc -shared -fPIC -o other.so other.c || exit 67

probe='syscall::getppid:entry /pid == $target/'
traced() {
	rm -f unmet met
	"$DTRACE" -q -n "$probe"' { jstack(100); n++; } END { printf("%d calls\n", n); }' -c "$*" >got 2>said
}
traced_changed() {
	rm -f unmet met changed
	LD_PRELOAD=./other.so "$@" &
	pid=$!
	until [ -e changed ] || ! kill -0 $pid 2>/dev/null; do sleep 0.05; done
	"$DTRACE" -qw -n 'BEGIN { system("touch unmet"); }' -n "$probe"' { jstack(100); n++; } END { printf("%d calls\n", n); }' -p $pid >got 2>said
	wait $pid
}
# known TITLE PATTERN PROGRAM ARGUMENTS...: with a known version, frames of the language have this pattern
known() {
	title=$1 language=$2
	shift 2
	traced "$@"
	grep -qE "$language" got || { echo "$title: a known version has no frames of the language"; cat got said; }
}
# check TITLE PATTERN PROGRAM ARGUMENTS...: with an unknown one, none has, and that is said. $tracing: traced or traced_changed
tracing=traced
check() {
	title=$1 language=$2
	shift 2
	$tracing "$@"
	echo "$title: $(grep calls got), $(grep -cE "$language" got) frames of the language"
	# the first one may come before the unwind tables of all libraries are loaded
	[ -z "$whole" ] || [ "$(grep -c '__libc_start_call_main' got)" -ge 2 ] || { echo "stacks are not whole"; cat got; }
	sed -nE "s/^dtrace: ustack helper '.*\/(\w+\.d)': process [0-9]+ has native frames only: (.*)$/  \1: \2/p" said
	grep -v 'ustack helper' said || :
}

cat >w.py <<'X'
import os, time
def f(): os.getppid()
f()
for i in range(6000): os.path.exists("unmet") or os.path.exists("met") or time.sleep(0.02)
f(); f()
X
cat >w.pl <<'X'
sub f { syscall(110) }
f(); for (1 .. 6000) { select undef, undef, undef, 0.02 unless -e "unmet" or -e "met" } f(); f();
X
cat >w.rb <<'X'
def f() Process.ppid end
f
6000.times { sleep 0.02 unless File.exist?("unmet") || File.exist?("met") }
f
f
X
cat >w.php <<'X'
<?php
function f() { posix_getppid(); }
f();
for ($i = 0; $i < 6000 && !file_exists("unmet") && !file_exists("met"); $i++) { usleep(20000); clearstatcache(); }
f();
f();
X
cat >w.lua <<'X'
local function f() os.remove("/no/such") end
f()
while os.clock() < 100 and not io.open("unmet") and not io.open("met") do end
f()
f()
X
cat >w.js <<'X'
const fs = require("fs");
function f() { return process.ppid; }
f();
for (let i = 0; i < 6000 && !fs.existsSync("unmet") && !fs.existsSync("met"); i++)
	Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20);
f();
f();
X
cat >W.java <<'X'
import java.io.*;
public class W {
	static byte[] text = new byte[777];
	static void f(FileOutputStream out) throws Exception { out.write(text); }
	public static void main(String[] args) throws Exception {
		FileOutputStream out = new FileOutputStream("/dev/null");
		f(out);
		for (int i = 0; i < 6000 && !new File("unmet").exists() && !new File("met").exists(); i++)
			Thread.sleep(20);
		f(out);
		f(out);
	}
}
X
# skipped TITLE SAID [CALLS]: what check() would say, where the runtime is not installed
skipped() {
	echo "$1: ${3:-3} calls, 0 frames of the language"
	echo "  $2"
}
{
	whole=yes
	if [ -x /usr/bin/python3.11 ]; then
		known python '\[ .*w.py' /usr/bin/python3.11 w.py
		python3 patch.py /usr/bin/python3.11 python3.15 symbol Py_Version 2 15
		check python '\[ ' ./python3.15 w.py
	else
		skipped python 'python.d: this version of CPython is not known (3.8 to 3.14 are)'
	fi
	known perl '\[ .*w.pl' /usr/bin/perl w.pl
	python3 patch.py /usr/bin/perl perl5.99 symbol PL_version 0 99
	check perl '\[ ' ./perl5.99 w.pl
	if [ -x /usr/bin/ruby3.1 ]; then
		known ruby '\[ .*w.rb' /usr/bin/ruby3.1 w.rb
		export OTHER=ruby_api_version OTHER_AT=4
		tracing=traced_changed check ruby '\[ ' /usr/bin/ruby3.1 w.rb
	else
		skipped ruby 'ruby.d: this version of Ruby is not known (2.7 to 3.4 are)' 2
	fi
	if [ -x /usr/bin/php8.2 ]; then
		known php '\[ .*w.php' /usr/bin/php8.2 w.php
		python3 patch.py /usr/bin/php8.2 php/php8.2 text 'X-Powered-By: PHP/8.2' 'X-Powered-By: PHP/9.9'
		check php '\[ ' ./php/php8.2 w.php
	else
		skipped php 'php.d: this version of PHP is not known (7.4 to 8.5 are)'
	fi

	# Lua has no call that waits
	probe='syscall::unlink:entry /pid == $target/'
	if [ -x /usr/bin/luajit ]; then
		known luajit '\[ .*w.lua' /usr/bin/luajit w.lua
		# two stores with which the interpreter enters a trace, the other way round
		python3 patch.py /usr/bin/luajit jit/luajit bytes '4c 89 64 24 10 4c 89 6c 24 08 ff e0' '4c 89 6c 24 08 4c 89 64 24 10 ff e0'
		check luajit '\[ ' ./jit/luajit w.lua
	else
		skipped luajit 'luajit.d: this LuaJIT was compiled in a way that is not known'
	fi
	if [ -x /usr/bin/lua5.4 ]; then
		known lua '\[ .*w.lua' /usr/bin/lua5.4 w.lua
		python3 patch.py /usr/bin/lua5.4 lua5.9 text 'Lua 5.4.' 'Lua 5.9.'
		check lua '\[ ' ./lua5.9 w.lua
	else
		skipped lua 'lua.d: this version of Lua is not known (5.1 to 5.4 are)'
	fi
	probe='syscall::getppid:entry /pid == $target/'

	# code that these generate is unwound by frame pointers only. V8 of another version, and one that does not describe itself
	whole=
	node=$(readlink -f /usr/bin/node)
	if [ -x "$node" ] && readelf -W --dyn-syms "$node" | grep -q v8dbg_type_Code; then
		known node ' at .*w\.js' "$node" w.js
		export OTHER=_ZN2v88internal7Version6minor_E OTHER_AT=0
		tracing=traced_changed check node ' at .*w\.js| position [0-9]' "$node" w.js
		python3 patch.py "$node" nodes/node text v8dbg_type_Code__ v8xxx_type_Code__
		check node ' at .*w\.js| position [0-9]' ./nodes/node w.js
		rm -rf nodes
	else
		skipped node 'node.d: this version of V8 is not known' 2
		skipped node 'node.d: this Node.js does not describe its V8'
	fi

	# a Java virtual machine of another version, with a field less in its tables, and without the tables
	probe='syscall::write:entry /pid == $target && arg2 == 777/'
	jdk=/usr/lib/jvm/java-17-openjdk-amd64
	if [ -x $jdk/bin/javac ]; then
		$jdk/bin/javac W.java
		known java 'W\.f|\.java' $jdk/bin/java -cp . W
		mkdir -p jdk/bin jdk/lib/server
		for i in $jdk/lib/*; do [ "$i" = $jdk/lib/server ] || ln -s "$i" jdk/lib; done
		ln -s $jdk/conf jdk
		cp $jdk/bin/java jdk/bin
		for how in 'Abstract_VM_Version Abstract_XX_Version' '_scopes_pcs_offset _scopes_xxx_offset' 'gHotSpotVMStructs gHotSpotXXStructs'; do
			python3 patch.py $jdk/lib/server/libjvm.so jdk/lib/server/libjvm.so text $how
			LD_LIBRARY_PATH=jdk/lib check java 'W\.|Interpreter|\.java' ./jdk/bin/java -cp . W
		done
	else
		skipped java 'java.d: this version of the Java virtual machine is not known (8, 11, 17, 21 and 25 are)'
		skipped java 'java.d: this Java virtual machine lacks a field that stacks are made of'
		skipped java 'java.d: this Java virtual machine does not describe itself'
	fi
} 2>&1
