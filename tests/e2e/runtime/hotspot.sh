# The providers hotspot and hotspot_jni of a stock OpenJDK, with the flags that its probes need: methods, objects, monitors, threads, JNI.
fail() { echo "$1"; cat "$TMP/out" "$TMP/err" "$TMP/java.out" 2>/dev/null; exit 1; }
cd "$TMP" || exit 1
command -v javac >/dev/null && java -version 2>&1 | grep -q 'version "17' || { echo "no java 17 (package openjdk-17-jdk-headless)"; exit 67; }
cat >Job.java <<'END'
public class Job implements Runnable {
  static int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
  static class Item { long a, b; }
  static class Lock { }
  static final Lock lock = new Lock();
  static boolean waits;
  static void wake(Thread t, boolean all) throws Exception {
    waits = false;
    t.start();
    for (boolean done = false; !done; Thread.sleep(1))
      synchronized (lock) {
        done = waits;
        if (done && all) lock.notifyAll();
        else if (done) lock.notify();
      }
    t.join();
  }
  public void run() {
    synchronized (lock) {
      waits = true;
      try { lock.wait(2000); } catch (InterruptedException e) { }
    }
  }
  static synchronized void named(String s, int[] x) { }
  public static void main(String[] a) throws Exception {
    System.out.println("ready");
    System.in.read();
    fib(5);
    named("x", null);
    Item[] items = new Item[10];
    for (int i = 0; i < 10; i++) items[i] = new Item();
    synchronized (lock) { lock.wait(5); }
    wake(new Thread(new Job(), "worker-1"), false);
    wake(new Thread(new Job(), "worker-2"), true);
    System.gc();
  }
}
END
javac -d . Job.java || fail "javac"
cat >t.d <<'END'
#pragma D option quiet
hotspot$1:::method-entry, hotspot$1:::method-return { this->class = stringof(copyin(arg1, arg2)); }
hotspot$1:::method-entry, hotspot$1:::method-return
/this->class == "Job" || this->class == "Job$Item"/
{
	@[probename, this->class, stringof(copyin(arg3, arg4)), stringof(copyin(arg5, arg6))] = count();
}
hotspot$1:::object-alloc
/stringof(copyin(arg1, arg2)) == "Job$Item"/
{
	/* the size, arg3, is right only where compiled code or the runtime allocates: OpenJDK 17's interpreter passes none */
	@["object-alloc", stringof(copyin(arg1, arg2)), "", ""] = count();
}
hotspot$1:::monitor-wait, hotspot$1:::monitor-waited, hotspot$1:::monitor-notify, hotspot$1:::monitor-notifyAll
/stringof(copyin(arg2, arg3)) == "Job$Lock"/
{
	@[probename, "Job$Lock", probename == "monitor-wait" ? lltostr(arg4) : "", ""] = count();
}
hotspot$1:::thread-start, hotspot$1:::thread-stop
/stringof(copyin(arg0, arg1)) == "worker-1"/
{
	@[probename, "worker-1", arg2 > 0 && arg3 > 0 ? "ids" : "-", lltostr(arg4)] = count();
}
hotspot$1:::class-loaded /stringof(copyin(arg0, arg1)) == "Job$Item"/ { @[probename, "Job$Item", "", ""] = count(); }
hotspot$1:::gc-begin, hotspot$1:::gc-end { @gc[probename] = count(); }
hotspot_jni$1:::ReadBytes-entry, hotspot_jni$1:::DestroyJavaVM-entry, hotspot_jni$1:::DestroyJavaVM-return { @gc[probename] = count(); }
BEGIN { system("touch began"); }
END { printa("%s %s %s %s %@d\n", @); printa("%s %@d\n", @gc); }
END
sed -i 's/hotspot_jni$1:::ReadBytes-entry, //' t.d
mkfifo in
run() { # FLAG...: the program under a tracer that comes when it runs
	rm -f began java.out
	java -Xint -XX:+UseSerialGC "$@" -cp . Job <in >java.out 2>&1 & java=$!
	exec 9>in
	for i in $(seq 200); do grep -q ready java.out && break; sleep 0.05; done
	"$DTRACE" -w -s t.d $java >out 2>err & tracer=$!
	for i in $(seq 200); do [ -f began ] && break; sleep 0.05; done
	echo go >&9
	exec 9>&-
	wait $java
	kill -TERM $tracer
	wait $tracer || fail "the script failed with $*"
	grep . out | sort >got
}
run -XX:+DTraceMethodProbes -XX:+DTraceAllocProbes -XX:+DTraceMonitorProbes
sort >want <<'END'
DestroyJavaVM-entry 1
DestroyJavaVM-return 1
class-loaded Job$Item   1
gc-begin 1
gc-end 1
method-entry Job fib (I)I 15
method-entry Job <init> ()V 2
method-entry Job named (Ljava/lang/String;[I)V 1
method-entry Job run ()V 2
method-entry Job wake (Ljava/lang/Thread;Z)V 2
method-entry Job$Item <init> ()V 10
method-return Job fib (I)I 15
method-return Job <init> ()V 2
method-return Job main ([Ljava/lang/String;)V 1
method-return Job named (Ljava/lang/String;[I)V 1
method-return Job run ()V 2
method-return Job wake (Ljava/lang/Thread;Z)V 2
method-return Job$Item <init> ()V 10
monitor-notify Job$Lock   1
monitor-notifyAll Job$Lock   1
monitor-wait Job$Lock 2000  2
monitor-wait Job$Lock 5  1
monitor-waited Job$Lock   3
object-alloc Job$Item   10
thread-start worker-1 ids 0 1
thread-stop worker-1 ids 0 1
END
diff want got || fail "with the three flags"
run -XX:+ExtendedDTraceProbes
diff want got || fail "with the flag of all three"
run
grep -vE '^(method|monitor|object)' want | diff - got || fail "without flags"
exit 0
