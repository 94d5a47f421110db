# A frame whose return address is in a register and not on the stack: vfork() of the C library pops it before it calls the
# kernel, because the child would overwrite it. Its callers are in the stack all the same.
# @@foreign
cat >"$TMP/t.c" <<'END'
#include <sys/wait.h>
#include <unistd.h>
__attribute__((noinline)) static int inner(void)
{
	int status, pid = vfork();
	if (pid == 0)
		_exit(0);
	return waitpid(pid, &status, 0) == pid;
}
__attribute__((noinline)) int outer(void) { return inner() + 1; }
int main(void) { return outer() != 2; }
END
gcc -O1 -fno-optimize-sibling-calls "$TMP/t.c" -o "$TMP/t" || exit 1
"$DTRACE" -qn 'syscall::vfork:entry /pid == $target/ { @[ustack(5)] = count(); }' -c "$TMP/t" >"$TMP/out" 2>"$TMP/err" || { cat "$TMP/err"; exit 1; }
for frame in 'libc.so.6`.*vfork+0x' 't`inner+0x' 't`outer+0x' 't`main+0x'; do
	grep -q "$frame" "$TMP/out" || { echo "no frame $frame"; cat "$TMP/out"; exit 1; }
done
