# -C with headers of C: their types and constants are there, their functions do no harm, D's own names stay D's.
echo '#include <sys/types.h>' | cpp - >/dev/null 2>&1 || { echo "no preprocessor, or no headers"; exit 67; }
for h in errno fcntl limits netinet/in poll pthread sched signal stddef stdint stdio stdlib string sys/epoll sys/ioctl \
	sys/mman sys/resource sys/socket sys/stat sys/time sys/types sys/un sys/wait time unistd linux/fs linux/perf_event; do
	echo "#if __has_include(<$h.h>)"
	echo "#include <$h.h>"
	echo "#endif"
done >"$TMP/headers.d"
cat >>"$TMP/headers.d" <<'END'
#pragma D option quiet

struct mine { struct sockaddr_in sin; struct timespec ts; sigset_t set; };

BEGIN
{
	this->m = (struct mine *)alloca(sizeof(struct mine));
	this->m->sin.sin_port = htons(8080);
	this->m->ts.tv_nsec = 5;
	printf("%d %d %d\n", ntohs(this->m->sin.sin_port), this->m->ts.tv_nsec, sizeof(struct sockaddr_in));
	printf("%d %d %d %d %x\n", EBADF, O_CREAT, SIGKILL, SOCK_STREAM, EPOLLET);
	printf("%d %d %s %d\n", sizeof(struct cmsghdr), (id_t)-1, basename("/a/b"), index("abc", "c"));
	time = timestamp;               /* a name of the C library's is free */
	exit(time != 0 ? 0 : 1);
}
END
"$DTRACE" -Cs "$TMP/headers.d" >"$TMP/out" 2>"$TMP/err" || { cat "$TMP/err"; exit 1; }
printf '8080 5 16\n9 64 9 1 80000000\n16 -1 b 2\n\n' | diff - "$TMP/out" || exit 1
# what a header may do D text may not
echo 'int a[];BEGIN { exit(0); }' >"$TMP/a.d"
"$DTRACE" -Cs "$TMP/a.d" 2>"$TMP/err" && { echo "an array without a dimension"; exit 1; }
grep -q D_DECL_ARRNULL "$TMP/err" || { cat "$TMP/err"; exit 1; }
# an included D file is D: clauses, inlines, line numbers
cat >"$TMP/part.d" <<'END'
inline int TWO = 2;
BEGIN
/TWO > (1)/
{
	printf("(%d) {", TWO);
}
END
printf '#include "part.d"\nBEGIN { printf("}"); exit(0); }\n' >"$TMP/whole.d"
[ "$("$DTRACE" -qCs "$TMP/whole.d" | head -1)" = "(2) {}" ] || { echo "an included D file"; exit 1; }
