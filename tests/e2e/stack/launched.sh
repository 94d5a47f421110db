# Commands of -c that execute an interpreter later: a script of env(1), a command of a shell, one behind options. Its first stacks have the frames
# of the language, nothing of the interpreter that was held to prepare them is traced, and none is left. A program that changes its user is not
# started for that.
cd "$TMP" || exit 1
cat >early.py <<'X'
#!/usr/bin/env python3.11
import os
def asks():
    os.stat('/nonexistent/early')
for i in range(200):
    try:
        asks()
    except OSError:
        pass
X
chmod +x early.py
mkdir bin && ln -s /usr/bin/python3.11 bin/python3.11 || exit 1
PATH=$PWD/bin:$PATH
cp /usr/bin/python3.11 python3-suid || exit 1
chmod 4755 python3-suid
# a dynamic linker that writes down that it was executed, of a program of somebody else
cat >linker.c <<'X'
static long call(long n, long a, long b, long c, long d)
{
	register long r10 __asm__("r10") = d;
	long r;

	__asm__ volatile("syscall" : "=a"(r) : "a"(n), "D"(a), "S"(b), "d"(c), "r"(r10) : "rcx", "r11", "memory");
	return r;
}
void _start(void)
{
	call(257, -100, (long)"executed", 0101, 0644); /* openat(), O_CREAT | O_WRONLY */
	call(231, 0, 0, 0, 0);			       /* exit_group() */
}
X
cc -O1 -nostdlib -shared -fPIC -fno-stack-protector -Wl,-e,_start -o linker linker.c || exit 67
echo 'int main(void) { return 0; }' | cc -x c -Wl,--dynamic-linker="$PWD/linker" -o python3-others - || exit 67
chown 65534 python3-others
calls() { # title, command, options
	rm -f calls.out
	"$DTRACE" -q -x bufsize=16m -o calls.out -n '
		syscall::newfstatat:entry /copyinstr(arg1) == "/nonexistent/early"/ { printf("\ncall of %s\n", execname); jstack(); }
		proc:::exec-success /progenyof($pid)/ { executed[execname]++; }
		proc:::exit /progenyof($pid) && execname == "python3.11"/ { ended++; }
		END { printf("\npython3.11 was executed %d times, and ended %d times\n", executed["python3.11"], ended); }' \
		${3:+-x "$3"} -c "$2" >calls.log 2>&1 || cat calls.log
	awk -v title="$1" '
		/^call of/ { n++; next }
		/early.py:[0-9]+ \(asks\)/ { named++ }
		/\[(no |cut|helper|language)/ { marks++ }
		/was executed/ { said = $0 }
		END { printf "%s: %d calls, %d with the function, %d marks; %s\n", title, n, named, marks, said }' calls.out
}
calls script ./early.py
calls shell "sh -c 'cd . && python3.11 early.py; true'"
calls options 'timeout 600 python3.11 early.py'
calls folder "sh -c 'exec ./early.py'"
# one that no word names: it is stopped when its libraries are there, and its helper is attached
calls hidden "sh -c 'p=python3; exec \$p.11 early.py'"
# another file of that name, which only the command's PATH has
mkdir other && cp /usr/bin/python3.11 other || exit 1
calls setenv "sh -c 'exec ./early.py'" "setenv=PATH=$PWD/other:$PATH"
# Who is executed at all: the one that is held, and the same by the command; not the one that changes its user, which is a name here.
"$DTRACE" -q -o executed.out -n 'proc:::exec-success /progenyof($target) && (execname == "python3.11" || execname == "python3-suid")/ { @[execname] = count(); }' \
	-c "$DTRACE -q -o none.out -n 'syscall::newfstatat:entry /progenyof(\$target)/ { @[jstack()] = count(); }' -c \"sh -c './early.py; true' ./python3-suid\"" || echo failed
awk 'NF { print "executed:", $1, $2 }' executed.out
for owner in 65534 0; do
	chown $owner python3-others
	"$DTRACE" -q -n 'syscall::newfstatat:entry /progenyof($target)/ { jstack(); }' -c 'sh -c true ./python3-others' >none.out 2>&1
	[ -e executed ] && echo "the linker of a program of user $owner was executed"
	rm -f executed
done
for p in /proc/[0-9]*; do
	[ "$(readlink "$p/exe")" = "$PWD/python3-suid" ] && echo "a process of python3-suid is left"
done
exit 0
