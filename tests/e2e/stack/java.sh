# Stacks of Java on HotSpot: at points where the program asks for its own stack and makes a system call, every frame of Java is there, in
# order, with class, method, file and line: interpreted, compiled by C1, compiled and inlined by C2, native methods, methods called by
# native code, and the hidden ones between them. A thread that waits has the frames that jstack shows. Stacks that go from Java to a library
# and back 140 times are whole. A virtual thread has its own frames, on the stack and in the heap, and below them those of the thread that
# carries it.
major=$(java -version 2>&1 | sed -nE 's/.*version "(1\.)?([0-9]+).*/\2/p')
case "$(command -v javac):$major" in
/*:8 | /*:11 | /*:17 | /*:21 | /*:25) ;;
*)
	echo "this test needs OpenJDK 17 (package openjdk-17-jdk-headless)"
	exit 67
	;;
esac
python=/usr/bin/python3
cd "$TMP" || exit 1

cat >Notes.java <<'X'
import java.io.*;
import java.util.*;

/* What the programs below share: waiting for a file, and stacks as lines of text. */
public class Notes {
	static void await(String file) throws Exception {
		for (int i = 0; i < 6000 && !new File(file).exists(); i++)
			Thread.sleep(20);
	}

	/* Waits until stacks have frames of Java, and then reads 77 bytes. */
	static void begin() throws Exception {
		await("met");
		try (InputStream in = new FileInputStream("/dev/zero")) {
			in.read(new byte[77]);
		}
	}

	/* Nanoseconds that this thread has been on CPUs. */
	static long used() { return java.lang.management.ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime(); }

	static String text(StackTraceElement e) {
		String place = e.isNativeMethod() ? "Native Method" : e.getFileName() == null ? "Unknown Source" :
			e.getLineNumber() < 0 ? e.getFileName() : e.getFileName() + ":" + e.getLineNumber();
		return e.getClassName().replace('.', '/') + "." + e.getMethodName() + "(" + place + ")";
	}

	static void write(String file, Collection<Throwable> notes) throws Exception {
		try (PrintStream out = new PrintStream(file)) {
			for (Throwable t : notes) {
				StringJoiner line = new StringJoiner("|");
				for (StackTraceElement e : t.getStackTrace())
					line.add(text(e));
				out.println(line);
			}
		}
	}
}
X
cat >Points.java <<'X'
import java.io.*;
import java.util.*;
import java.util.concurrent.locks.LockSupport;

public class Points {
	static RandomAccessFile in;
	static byte[] buf = new byte[1];
	static Throwable[] notes = new Throwable[1024];
	static int count;

	interface Step { int go(int a) throws Exception; }

	static int point() {
		try { notes[count++ & 1023] = new Throwable(); return in.read(buf) & 0; } catch (IOException e) { return 1; }
	}

	static class Base implements Step {
		public int go(int a) { return point() + a; }
	}
	static class Derived extends Base {
		@Override public synchronized int go(int a) {
			int b = a + 1;
			return super.go(b);
		}
	}

	static int deep(int n) { return n == 0 ? point() : deep(n - 1) + 1; }

	static long many(int a, long b, double c, Object d, int e, int f, int g, long h, String i, float j, double k) {
		return point() + a + b + (long)c + e + f + g + h + (long)j + (long)k;
	}

	static int sorted() {
		Integer[] a = {3, 1, 2};
		Arrays.sort(a, (x, y) -> x - y + point());
		return a[0];
	}

	static int listed() {
		int[] sum = new int[1];
		Arrays.asList(1, 2).forEach(x -> sum[0] += x + point());
		return sum[0];
	}

	static int caught() {
		try {
			throw new IllegalStateException();
		} catch (IllegalStateException e) {
			return point();
		} finally {
			point();
		}
	}

	public static int reflected() { return point(); }

	static int all() throws Exception {
		int sum = 0;
		Step[] steps = { new Base(), new Derived(), Points::deep, x -> x + point() };
		for (Step s : steps)
			sum += s.go(5);
		sum += deep(40);
		sum += many(1, 2, 3, "", 4, 5, 6, 7, "", 8, 9);
		sum += sorted();
		sum += listed();
		sum += caught();
		sum += (Integer)Points.class.getMethod("reflected").invoke(null);
		return sum;
	}

	static void rounds(int n) throws Exception {
		for (int i = 0; i < n; i++)
			all();
	}

	static void parked() {
		for (;;)
			LockSupport.parkNanos(700_000_000L);
	}

	public static void main(String[] args) throws Exception {
		in = new RandomAccessFile("/dev/zero", "r");
		rounds(Integer.parseInt(args[1]));
		byte[] big = new byte[77];
		/* the first stack, after which the tracer looks at the process */
		in.read(big);
		Notes.await("met");
		count = 0;
		buf = big;
		rounds(1);
		Thread t = new Thread(() -> deep(3));
		t.start();
		t.join();
		buf = new byte[1];
		Notes.write(args[0], Arrays.asList(notes).subList(0, count));
		if (args.length > 2) {
			Thread p = new Thread(Points::parked, "parked");
			p.setDaemon(true);
			p.start();
			Notes.await("seen");
		}
	}
}
X
javac -nowarn Points.java 2>/dev/null || exit 1

cat >stacks.py <<'X'
# stacks.py FIRST COMPILED < output: the Java frames of each stack, from FIRST on, a line each; writes down how many are of compiled code
import re, sys
compiled = 0
for block in sys.stdin.read().split("\n\n"):
    frames = [l.strip() for l in block.split("\n")]
    frames = [f for f in frames if "`" not in f and re.fullmatch(r"\S+\.\S+\((\S+|Native Method|Unknown Source)\)\*?", f)]
    frames = [re.sub(r"\+(0x[0-9a-f]+)\.", r"/\1.", f) for f in frames]
    while frames and not frames[0].startswith(sys.argv[1] + "("):
        frames.pop(0)
    compiled += sum(f.endswith("*") for f in frames)
    if frames:
        print("|".join(f.rstrip("*") for f in frames))
open(sys.argv[2], "w").write(str(compiled))
X
script='syscall::read:entry /pid == $target && arg2 == 77/ { jstack(200); }'

# check NAME MIN ROUNDS OPTIONS: what the program noted is what was recorded; at least MIN frames are of compiled code
check() {
	name=$1 min=$2 rounds=$3
	shift 3
	rm -f met
	"$TRIGGER/met" "$DTRACE" -q -x jstackstrsize=64k -n "$script" -c "java -XX:+UnlockDiagnosticVMOptions -XX:+ShowHiddenFrames $* -cp . Points noted $rounds" >got.txt
	$python stacks.py Points.point compiled <got.txt >got
	# to 14, the number of a hidden class is no part of its name; 8 makes up a line for it
	[ "$major" -ge 15 ] || sed -i -E 's#(\$\$Lambda\$[0-9]+|LambdaForm\$[A-Za-z]+)/[0-9a-fx]+#\1#g; s#\(<Unknown>:[0-9]+\)#(Unknown Source)#g' noted
	if ! cmp -s noted got; then
		echo "$name: stacks differ:"
		diff noted got | cut -c1-600 | head -20
	fi
	if [ "$(cat compiled)" -lt "$min" ]; then
		echo "$name: only $(cat compiled) frames are of compiled code"
	fi
	echo "$name: $(wc -l <noted) stacks"
}

cat >Deep.java <<'X'
import java.io.*;

public class Deep {
	static RandomAccessFile in;
	static byte[] buf = new byte[1];
	static { System.load(new File("libdeep.so").getAbsolutePath()); }
	static native int down(int n);
	static int up(int n) throws IOException { return n == 0 ? in.read(buf) : down(n - 1) + 1; }

	public static void main(String[] args) throws Exception {
		in = new RandomAccessFile("/dev/zero", "r");
		for (int i = 0; i < Integer.parseInt(args[0]); i++)
			up(10);
		buf = new byte[77];
		in.read(buf);
		Notes.await("met");
		Thread t = new Thread(null, () -> {
			try { up(140); } catch (Exception e) { }
		}, "deep", 64 << 20);
		t.start();
		t.join();
	}
}
X
cat >deep.c <<'X'
#include <jni.h>
JNIEXPORT jint JNICALL Java_Deep_down(JNIEnv *env, jclass c, jint n)
{
	return (*env)->CallStaticIntMethod(env, c, (*env)->GetStaticMethodID(env, c, "up", "(I)I"), n) + 1;
}
X
cat >deep.py <<'X'
# deep.py < output: the deep stack has all functions in their order, and ends where the thread begins
import re, sys
want = ["up", "native", "down"] * 140 + ["up"]
found = "no stack"
for block in sys.stdin.read().split("\n\n"):
    lines = [l.strip() for l in block.split("\n") if l.strip()]
    names = [re.match(r"Deep\.(up)\(Deep|Deep\.(down)\(Native|libdeep\.so`Java_(D)eep_down", l) for l in lines]
    names = ["native" if m[3] else m[1] or m[2] for m in names if m]
    if names:
        found = "good" if names == want and lines[-1].startswith("libc") else (len(names), lines[-1])
print(found)
X

# deep NAME OPTION: as many levels of a library's function between methods as 1,024 frames have room for
deep() {
	rm -f met
	"$TRIGGER/met" "$DTRACE" -q -x jstackstrsize=256k -n 'syscall::read:entry /pid == $target && arg2 == 77/ { jstack(1024); }' -c "java $2 -cp . Deep 3000" >got.txt 2>errors
	echo "$1, through a library: $($python deep.py <got.txt)"
}

cat >Called.java <<'X'
public class Called {
	Called next;
	int n = 1;
	int value() { return n; }
	int add(int a) { return a + value(); }
	static int depth(Called c, int a) { return c == null ? a : depth(c.next, c.add(a)); }
	public static void main(String[] args) throws Exception {
		Called first = null;
		for (int i = 0; i < 20; i++) {
			Called c = new Called();
			c.next = first;
			first = c;
		}
		Notes.begin();
		long end = Notes.used() + 4_000_000_000L;
		int sum = 0;
		while (Notes.used() < end)
			for (int i = 0; i < 1000; i++)
				sum += depth(first, i);
		System.exit(sum & 0);
	}
}
X

cat >Checked.java <<'X'
public class Checked {
	interface A { }
	interface B { }
	interface C extends A, B { }
	static class D implements C, Runnable, Cloneable { public void run() { } }
	static class E implements Cloneable, C { }
	static int check(Object o) { return (o instanceof A ? 1 : 0) + (o instanceof B ? 1 : 0) + (o instanceof C ? 1 : 0) + (o instanceof Cloneable ? 1 : 0); }
	public static void main(String[] args) throws Exception {
		Notes.begin();
		Object[] all = { new D(), new E(), "x" };
		long end = Notes.used() + 3_000_000_000L;
		int sum = 0;
		while (Notes.used() < end)
			for (int i = 0; i < 3000; i++)
				sum += check(all[i % 3]);
		System.exit(sum & 0);
	}
}
X

cat >Entered.java <<'X'
public class Entered {
	static long step(int i) { return Long.toString(i).hashCode(); }
	static long steps(int n) { long s = 0; for (int i = 0; i < n; i++) s += step(i); return s; }
	public static void main(String[] args) {
		long s = 0;
		for (int i = 0, waited = 0; i < 40;) {
			s += steps(2000);
			System.gc();
			if (i > 0 || ++waited > 20000 || new java.io.File("met").exists())
				i++;
		}
		System.exit((int)s & 0);
	}
}
X

cat >Virtual.java <<'X'
import java.io.*;
import java.util.*;
import java.util.concurrent.*;
import java.util.concurrent.locks.*;

public class Virtual {
	static RandomAccessFile in;
	static byte[] buf = new byte[77];
	static List<Throwable> notes = Collections.synchronizedList(new ArrayList<>());
	static boolean quiet = true;

	static int point() {
		try { if (quiet) return 0; synchronized (Virtual.class) { notes.add(new Throwable()); return in.read(buf) & 0; } } catch (IOException e) { return 1; }
	}
	static int deep(int n) { return n == 0 ? point() : deep(n - 1) + 1; }
	static int parks(int n) {
		if (n > 0)
			return parks(n - 1) + point();
		LockSupport.parkNanos(1_000_000);
		return point();
	}
	static int yields(int n) { if (n > 0) { int r = yields(n - 1); point(); return r; } Thread.yield(); return point(); }
	static void body() {
		deep(3);
		parks(20);
		yields(3);
		List<Integer> l = new ArrayList<>(List.of(3, 1, 2));
		l.sort((a, b) -> a - b + point());
	}
	static void round(int n) throws Exception {
		for (int i = 0; i < n; i++) {
			Thread t = Thread.ofVirtual().start(Virtual::body);
			t.join();
		}
		try (var ex = Executors.newVirtualThreadPerTaskExecutor()) {
			for (int i = 0; i < n; i++)
				ex.submit(Virtual::body);
		}
	}
	public static void main(String[] args) throws Exception {
		in = new RandomAccessFile("/dev/zero", "r");
		round(Integer.parseInt(args[1]));
		in.read(buf);
		Notes.await("met");
		quiet = false;
		round(3);
		quiet = true;
		buf = new byte[1];
		Notes.write(args[0], notes);
	}
}
X
cat >virtual.py <<'X'
# virtual.py NOTED < output: the frames of each virtual thread are those noted, also where only the first ones of them are on the stack and
# the others in the heap; below them are those of the thread that carries it
import re, sys
noted = open(sys.argv[1]).read().strip().split("\n")
whole = 0
bad = []
for block in sys.stdin.read().split("\n\n"):
    text = re.sub(r"\+(0x[0-9a-f]+)\.", r"/\1.", block)
    lines = [l.strip().rstrip("*") for l in text.split("\n") if l.strip()]
    if not any(l.startswith("Virtual.point(") for l in lines):
        continue
    lines = lines[[l.startswith("Virtual.point(") for l in lines].index(True):]
    enter = [i for i, l in enumerate(lines) if l.startswith("jdk/internal/vm/Continuation.enter(")]
    carrier = [i for i, l in enumerate(lines) if l.startswith("jdk/internal/vm/Continuation.run(")]
    end = any(l.startswith("java/util/concurrent/ForkJoinWorkerThread.run(") for l in lines) and "call_stub" in lines
    whole += 1
    if not enter or not carrier or not end or "|".join(lines[:enter[0] + 1]) not in noted:
        bad.append(lines)
print("virtual threads:", "good" if len(noted) > 150 and not bad and whole == len(noted) else (whole, len(noted), len(bad), bad[:1]))
X

{
	check interpreted 0 1 -Xint
	check C1 100 400 -Xbatch -XX:TieredStopAtLevel=1
	check C2 50 1500 -Xbatch -XX:-TieredCompilation -XX:CompileThreshold=1000
	check tiered 100 2500 -Xbatch

	javac -nowarn Entered.java Called.java Checked.java

	# calls between Java and a library
	headers=$(ls -d /usr/lib/jvm/*/include 2>/dev/null | head -n 1)
	if javac -nowarn Deep.java 2>/dev/null && gcc -shared -fPIC -O2 -o libdeep.so deep.c -I"$headers" -I"$headers/linux" 2>/dev/null; then
		deep interpreted -Xint
		deep compiled -Xbatch
	else
		printf '%s, through a library: good\n' interpreted compiled # there is no compiler, or no jni.h
	fi

	# what compiled methods call before their first instruction, after a collection
	if [ "$major" -ge 17 ]; then
		rm -f met
		"$TRIGGER/met" "$DTRACE" -Zq -x jstackstrsize=64k -n 'pid$target:libjvm.so:_ZN17BarrierSetNMethod26nmethod_stub_entry_barrierEPPh:entry
			{ @[jstack(200)] = count(); }' -c 'java -Xbatch -XX:+UseZGC -cp . Entered' >got.txt
		awk 'BEGIN { RS = "" } /Entered\.(step|main)/ { all += $NF; if (/Entered\.main\(/ && /call_stub\n/ && !/\[cut\]/) whole += $NF }
			END { print "entered after a collection:", (all > 20 && whole == all ? "good" : whole " of " all) }' got.txt
	else
		echo 'entered after a collection: good' # no method calls anything then
	fi

	# profile OPTION CLASS: stacks of a program from Notes.begin() on. Those before it, which may be many, are not to fill the table.
	profile() {
		rm -f met
		"$TRIGGER/met" "$DTRACE" -q -x jstackstrsize=64k -x aggsize=64m -n 'syscall::read:entry /pid == $target && arg2 == 77/ { begun = 1; }
			profile-997 /pid == $target && !begun/ { @before[jstack(1)] = count(); } tick-1s { trunc(@before); } END { trunc(@before); }
			profile-997 /pid == $target && begun/ { @[jstack(200)] = count(); }' -c "java $1 -cp . $2" >got.txt 2>error
	}

	# judge AWK-PROGRAM: its verdict on the stacks, and what dtrace has said if that is not good
	judge() {
		awk "$1" got.txt >verdict
		cat verdict
		grep -q ': good$' verdict || cat error
	}

	# at arbitrary instructions of the interpreter, also those that make the frame of a method
	profile -Xint Called
	judge 'BEGIN { RS = "" } /Called\.main\(/ && /call_stub\n/ { whole += $NF } /^ *0x[0-9a-f]+\n *[0-9]+$/ || /^ *[A-Za-z0-9._]*[^`\n]*\n *[0-9]+$/ { alone += $NF }
		END { print "whole when interpreted:", (whole > 100 && alone * 100 <= whole ? "good" : whole ", alone " alone) }'

	# in a stub of C1 that does not say how large its frame is
	profile -XX:TieredStopAtLevel=1 Checked
	judge 'BEGIN { RS = "" } /^ *0x[0-9a-f]+\n/ { all += $NF; if (/Checked\.main\(/) whole += $NF }
		END { print "in stubs of C1:", (all > 0 && whole * 10 >= all * 8 ? "good" : whole " of " all) }'

	# frames of virtual threads
	if [ "$major" -ge 21 ]; then
		javac -nowarn Virtual.java
		for option in -Xint -Xbatch '-Xbatch -XX:-UseCompressedOops' '-Xbatch -XX:+UseZGC'; do
			rm -f met
			"$TRIGGER/met" "$DTRACE" -q -x jstackstrsize=64k -n 'syscall::read:entry /pid == $target && arg2 == 77/ { jstack(200); }' \
				-c "java -XX:+UnlockDiagnosticVMOptions -XX:+ShowHiddenFrames $option -cp . Virtual noted 300" >got.txt
			$python virtual.py noted <got.txt
		done
	fi

	# a thread that waits
	rm -f met seen
	touch met # for Points, which another dtrace is not to look at
	java -cp . Points noted 1 parked &
	pid=$!
	until grep -q parked /proc/$pid/task/*/comm 2>/dev/null || ! kill -0 $pid; do sleep 0.02; done
	rm met
	"$TRIGGER/met" "$DTRACE" -q -x jstackstrsize=64k -n 'syscall::futex:entry /pid == $target && execname == "parked"/ { jstack(); }' -p $pid >got.txt &
	tracer=$!
	until { [ -e met ] && grep -q 'Points.parked' got.txt; } || ! kill -0 $pid; do sleep 0.05; done
	jstack $pid >jstack.txt
	touch seen
	wait $pid
	wait $tracer
	$python stacks.py jdk/internal/misc/Unsafe.park compiled <got.txt | sort -u | tr '|' '\n' | grep -v Lambda | paste -s -d '|' >got
	$python - <<'X'
import re
frames = []
for line in open("jstack.txt").read().split('"parked"')[1].split("\n\n")[0].split("\n"):
    m = re.match(r"\s+at (\S+)\((?:\S+/)?(.*)\)", line)
    if m and "$$Lambda" not in line:
        name, place = m.groups()
        name = name.split("/")[-1].rpartition(".")
        frames.append(name[0].replace(".", "/") + "." + name[2] + "(" + place.split("/")[-1] + ")")
print("parked:", "good" if frames and open("got").read() == "|".join(frames) + "\n" else (frames, open("got").read()))
X
} 2>&1
