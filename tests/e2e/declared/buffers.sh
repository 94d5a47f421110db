# Buffers of a disk that a program changes and looks up (sysinfo:::lwrite, lread), and calls of another CPU (xcalls): as many as the program makes.
fail() { echo "$1"; cat "$TMP/out" "$TMP/err"; exit 1; }
cd "$TMP" || exit 1
: >out; : >err; ran=
zram=$(cat /sys/class/zram-control/hot_add 2>/dev/null) && echo 64M >"/sys/block/zram$zram/disksize" || zram=
# a disk that was mounted is busy for a moment
trap 'umount mnt 2>/dev/null; for i in 1 2 3 4 5 6 7 8 9; do [ -z "$zram" ] || { echo "$zram" >/sys/class/zram-control/hot_remove; } 2>/dev/null || { sleep 0.3; continue; }; break; done' EXIT
cat >buffers.py <<'END'
import mmap, os, sys
disk, mnt = sys.argv[1:3]
PAGE, name = mmap.PAGESIZE, mnt + "/file"
def phase(): os.kill(os.getpid(), 0)
fd = os.open(disk, os.O_RDWR)
open(name, "w").close(); os.setxattr(name, "user.long", b"v" * 2000); os.getxattr(name, "user.long")
phase() # 1: a buffer each
for i in range(30): os.pwrite(fd, b"b" * PAGE, (32 << 20) + i * PAGE)
phase() # 2: an attribute that does not lie in its inode has a block of its own
for i in range(25): os.getxattr(name, "user.long")
phase()
END
if [ -n "$zram" ] && mkfs.ext4 -q -O ^has_journal -E lazy_itable_init=0 "/dev/zram$zram" 2>err && mkdir mnt && mount -o noatime "/dev/zram$zram" mnt; then
	timeout $((60 * ${PATIENCE:-1})) "$DTRACE" -qn 'int phase; syscall::kill:entry /pid == $target && arg1 == 0/ { phase++; } syscall::getxattr:entry /pid == $target && phase == 2/ { @calls = count(); }
		sysinfo:::lread, sysinfo:::lwrite /pid == $target && phase && phase < 3/ { @[phase, probename] = sum(arg0); }
		END { printa("%d %s %@d\n", @); printa("calls %@d\n", @calls); }' -c "/usr/bin/python3 buffers.py /dev/zram$zram mnt" >out 2>err || fail "buffers"
	calls=$(sed -n 's/^calls //p' out)
	[ "${calls:-0}" -ge 25 ] && grep -qx '1 lwrite 30' out && grep -qx "2 lread $calls" out && ! grep -q '1 lread\|2 lwrite' out || fail "30 buffers were written, $calls read"
	ran=1
fi
cat >call.c <<'END'
#define _GNU_SOURCE
#include <linux/membarrier.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>
static volatile int runs, ends;
/* Nobody else gets the CPU. */
static void take(int cpu)
{
	struct sched_param param = { 50 };
	cpu_set_t set;
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set) || sched_setscheduler(0, SCHED_FIFO, &param))
		_exit(67);
}
static void *other(void *arg)
{
	take(1);
	runs = 1;
	while (!ends)
		;
	return arg;
}
int main(void)
{
	pthread_t thread;
	if (syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) || pthread_create(&thread, NULL, other, NULL))
		return 67;
	while (!runs)
		usleep(1000);
	take(0);
	for (int i = 0; i < 100; i++)
		if (syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0))
			return 1;
	ends = 1;
	return pthread_join(thread, NULL);
}
END
gcc -O1 -pthread call.c -o call 2>err || fail "compiling"
# Older kernels have no tracepoint where a CPU is called, only where one is that was called, at any time.
if "$DTRACE" -ln rawtp:::ipi_send_cpumask 2>err | grep -q " ipi_send_cpumask\$" && [ "$(nproc --all)" -gt 1 ] && timeout $((20 * ${PATIENCE:-1})) ./call 2>err; then
	timeout $((60 * ${PATIENCE:-1})) "$DTRACE" -qn 'syscall::membarrier:entry /pid == $target/ { self->in = 1; } syscall::membarrier:return { self->in = 0; }
		sysinfo:::xcalls /self->in/ { @ = sum(arg0); } END { printa("xcalls %@d\n", @); }' -c ./call >out 2>err || fail "calls"
	grep -qx 'xcalls 100' out || fail "100 calls of the other CPU"
	ran=1
fi
[ -n "$ran" ] || { echo "no disk in compressed memory (zram), and no second CPU or no tracepoint ipi_send_cpumask"; exit 67; }
exit 0
