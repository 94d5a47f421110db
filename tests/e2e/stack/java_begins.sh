# A Java virtual machine that is met when its library has been relocated and not yet initialised: the helper knows its tables later, and says
# nothing. An initialiser that runs before those of libjvm.so makes system calls until it has been met.
command -v cc >/dev/null && command -v java >/dev/null || { echo "needs cc and java"; exit 67; }
jvm=$(dirname "$(readlink -f "$(command -v java)")")/../lib/server/libjvm.so
[ -f "$jvm" ] || { echo "no $jvm"; exit 67; }
cd "$TMP" || exit 1
cat >early.c <<'X'
#define _GNU_SOURCE
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>
extern unsigned long gHotSpotVMStructEntryArrayStride __attribute__((weak));
__attribute__((constructor)) static void early(void)
{
	for (int i = 0; i < 6000 && access("met", F_OK); i++) {
		syscall(SYS_getppid);
		usleep(10000);
	}
	/* otherwise libjvm.so was initialised before, and this test shows nothing */
	dprintf(2, "stride %lu\n", gHotSpotVMStructEntryArrayStride);
}
X
echo 'int main(void) { return 0; }' >main.c
cc -shared -fPIC -o libearly.so early.c && cc -o main main.c || exit 1
DTRACE_DEBUG=1 "$DTRACE" -q -x setenv=LD_PRELOAD="$jvm:$TMP/libearly.so" -n 'syscall::getppid:entry /pid == $target/ { @[jstack(3)] = count(); }' -c ./main >out 2>err &
tracer=$!
until grep -q 'java' err || ! kill -0 $tracer 2>/dev/null; do sleep 0.02; done
: >met
wait $tracer
grep -qx 'stride 0' err || { echo "libjvm.so is initialised too early: $(grep -v DEBUG err)"; exit 1; }
grep 'are not known\|does not describe' err && exit 1
exit 0
