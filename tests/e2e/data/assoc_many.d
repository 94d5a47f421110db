/* Thousands of elements, half of them deleted. */
/* @@trigger: calls getppid 5000 */
#pragma D option quiet

int n;
syscall::getppid:entry /pid == $target/ { a[n, "key"] = n; n++; }
syscall::getppid:entry /pid == $target && n > 1000/ { a[n - 1000, "key"] = 0; }
END { printf("%d %d %d %d\n", n, a[3, "key"], a[4000, "key"], a[4001, "key"]); printf("%d %d\n", a[4999, "key"], a[5000, "key"]); }
