# Constants of the D library have the values that C's headers give them (issue: errno.h, signal.h, fcntl.h and so on).
# Names a header lacks are passed over; that the headers of this system know nearly all of them is checked, too.
type cc >/dev/null 2>&1 || { echo "no C compiler"; exit 67; }
files="errno fcntl futex ipc mman mount poll process ptrace signal socket syscall time"
for f in $files; do
	sed -n 's/^inline int \([A-Z][A-Za-z0-9_]*\) = .*/\1/p' "$SRC/dlib/$f.d"
done | grep -vx O_LARGEFILE | sort -u >"$TMP/names" # the C library has its own view of this one
{
	cat <<END
#define _GNU_SOURCE
#include <stdio.h>
END
	for h in errno fcntl unistd dirent limits signal poll time sched sys/epoll sys/inotify sys/eventfd sys/signalfd \
		sys/time sys/timerfd sys/ipc sys/msg sys/sem sys/shm sys/ptrace sys/prctl sys/mount sys/mman sys/socket \
		sys/un netinet/in netinet/tcp netinet/udp arpa/inet sys/file sys/stat sys/wait sys/resource sys/syscall \
		net/if_arp net/if linux/fs linux/futex linux/sched linux/icmp; do
		echo "#if __has_include(<$h.h>)"
		echo "#include <$h.h>"
		echo "#endif"
	done
	echo 'int main(void) {'
	sed 's/.*/#ifdef &\nprintf("& %d\\n", (int)(long)(&));\n#endif/' "$TMP/names"
	echo 'return 0; }'
} >"$TMP/c.c"
cc -w -o "$TMP/c" "$TMP/c.c" && "$TMP/c" >"$TMP/c.out" || exit 1
# an array without elements is an error, whose line has the name
{
	sed 's/\([^ ]*\) \(.*\)/typedef char is_\1[\1 == (\2) ? 1 : 0];/' "$TMP/c.out"
	echo 'BEGIN { exit(0); }'
} >"$TMP/d.d"
"$DTRACE" -es "$TMP/d.d" || exit 1
n=$(wc -l <"$TMP/c.out") all=$(wc -l <"$TMP/names")
[ $((n * 10)) -ge $((all * 9)) ] || { echo "only $n of $all names are known to C"; sed 's/ .*//' "$TMP/c.out" | comm -23 "$TMP/names" - | head; exit 1; }
