#!/bin/sh
# A program whose variables turn out to need 64 bits is compiled again: what it declares is then declared once, its probes fire, and the library that the first compile has loaded stays.
fail() { echo "$1"; echo "$2"; exit 1; }

out=$("$DTRACE" -q -n '
struct mine { int a; string s; };
enum { ONE = 1, TWO };
inline int THREE = ONE + TWO;
provider myp { probe sys__enter(int n, string f) = syscall:::entry (cpu, probefunc); };
translator struct mine <struct task_struct *T> { a = T->pid; s = stringof(T->comm); };
BEGIN { small = 1; t = xlate <struct mine *> (curthread); p = curpsinfo; a[ONE] = 1; }
struct late { int z; };
myp:::sys-enter
/pid == $pid && !done/
{
	done = THREE; small = timestamp; a[timestamp] = sizeof (struct late);
	printf("%d %d %s\n", t->a == p->pr_pid, args[0] >= 0, t->s == p->pr_fname ? "same" : "other");
	@n[1] = count(); @n[timestamp] = count();
	exit(0);
}
END { printf("%d %d\n", sizeof (small), small > 0xffffffff); printa("%@d\n", @n); }' 2>&1)
[ "$out" = "1 1 same
8 1
1
1" ] || fail "a probe of the kernel" "$out"

out=$("$DTRACE" -q -c "sort /dev/null" -n '
provider myc { probe alloc(int n) = pid:libc.so.6:malloc:entry (arg0); };
BEGIN { n = 1; }
myc*:::alloc /pid == $target && n == 1/ { n += arg0; printf("%s %d\n", probename, sizeof (n)); }' 2>&1)
echo "$out" | grep -qx 'alloc 8' || fail "a probe of processes" "$out"
