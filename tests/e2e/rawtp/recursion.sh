# A probe that is reached while its own program runs does not fire, and the session says at its end how often that was: the clause on a fault of the kernel makes a fault itself, by an
# address that is not there, exactly once each time.
fail() { echo "$1"; cat "$TMP/out" "$TMP/err"; exit 1; }
cd "$TMP" || exit 1
"$DTRACE" -ln rawtp:::page_fault_kernel 2>/dev/null | grep -q 'page_fault_kernel$' || { echo "the faults of this processor have no tracepoint"; exit 67; }
cat >faults.c <<'END'
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
/* The kernel writes to each of so many new pages, which is a fault of the kernel. */
int main(int argc, char **argv)
{
	long page = sysconf(_SC_PAGESIZE), n = argc > 1 ? atol(argv[1]) : 0;
	int zero = open("/dev/zero", O_RDONLY);
	char *p = mmap(NULL, (size_t)(n * page), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (zero < 0 || p == MAP_FAILED || madvise(p, (size_t)(n * page), MADV_NOHUGEPAGE))
		return 1;
	getppid();
	for (long i = 0; i < n; i++)
		if (read(zero, p + i * page, 1) != 1)
			return 1;
	getppid();
	return 0;
}
END
gcc -O1 faults.c -o faults 2>err || fail "compiling"
# run N CLAUSE: the program makes N faults
run() {
	timeout $((60 * ${PATIENCE:-1})) "$DTRACE" -qn 'int on; syscall::getppid:entry /pid == $target/ { on = !on; }
		rawtp:::page_fault_kernel /pid == $target && on/ { @["faults"] = count(); '"$2"' } END { printa("%s %@d\n", @); }' -c "./faults $1" >out 2>err || fail "failed: $1, $2"
	grep -qx "faults $1" out || fail "not $1 faults"
}
missed="times a probe was reached while the kernel ran a program"
# Older kernels (6.1) make a second fault, as they try what is left of the copy again.
each=1
for n in 1 250; do
	run $n 'copyin(0, 1);'
	[ $n != 1 ] || ! grep -q "^dtrace: 2 $missed" err || each=2
	[ "$(grep -c "$missed" err)" = 1 ] && grep -q "^dtrace: $((n * each)) $missed" err || fail "$n faults by the clause, of which no clause ran"
done
run 250 ''
grep -q "$missed" err && fail "nothing was missed"
exit 0
