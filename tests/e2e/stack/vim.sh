# Python, Ruby, Perl and Lua in one process, an editor that has them as libraries: a stack shows the frames of each, in order, and between
# them the functions of the editor through which one language calls the other.
vim=/usr/bin/vim.nox
if [ ! -x $vim ] || ! ldd $vim | grep -q 'libpython3.11.*=> /'; then
	echo "this test needs an editor with libraries of languages (package vim-nox)"
	exit 67
fi
cd "$TMP" || exit 1
cat >points.vim <<'X'
ruby << EOF
def rb_outer(n) n > 0 ? rb_outer(n - 1) : Process.ppid end
EOF
perl << EOF
sub pl_outer { my $n = shift; $n ? pl_outer($n - 1) : getppid() }
EOF
lua << EOF
function lua_outer(n) if n > 0 then return (lua_outer(n - 1)) end os.remove("/nonexistent") return n end
function lua_calls(n, command) if n > 0 then return (lua_calls(n - 1, command)) end vim.command(command) return n end
EOF
python3 << EOF
import os, time, vim
def py_outer(n): return py_outer(n - 1) if n else os.getppid()
def py_calls(command): vim.command(command)
os.getppid()
for i in range(6000): os.path.exists("met") or time.sleep(0.02)
EOF
python3 py_outer(2)
ruby rb_outer(1)
perl pl_outer(1)
python3 py_calls("ruby rb_outer(2)")
python3 py_calls("perl pl_outer(2)")
ruby Vim.command("python3 py_calls('perl pl_outer(0)')")
lua lua_outer(2)
python3 py_calls("lua lua_outer(1)")
lua lua_calls(1, "python3 py_outer(0)")
lua lua_calls(1, "ruby rb_outer(1)")
lua lua_calls(1, "perl pl_outer(1)")
lua lua_calls(2, [[ruby Vim.command("python3 py_calls('lua lua_calls(1, \"perl pl_outer(1)\")')")]])
qa!
X
"$TRIGGER/met" "$DTRACE" -q -n 'syscall::getppid:entry /pid == $target/ { printf("stack\n"); jstack(200); }' \
	-n 'syscall::unlink:entry /pid == $target && copyinstr(arg0) == "/nonexistent"/ { printf("stack\n"); jstack(200); }' \
	-c "$vim -u NONE -es -S points.vim" >got.txt 2>said </dev/null
cat said
# the first one was before helpers were known
python3 - <<'X'
import re
for block in open("got.txt").read().split("stack\n")[2:]:
    lines = [l.strip() for l in block.split("\n")]
    kept = [re.sub(r"\(eval \d+\)", "(eval)", l) for l in lines if l.startswith("[ ") or re.match(r"vim\.nox`(ex_|main\b)", l)]
    print("\n".join(l.split("+")[0] for l in kept))
    print()
X
