# Stacks of Java on HotSpot: at points where the program asks for its own stack and makes a system call, every frame of Java is there, in
# order, with class, method, file and line: interpreted, compiled by C1, compiled and inlined by C2, native methods, methods called by
# native code, and the hidden ones between them. A thread that waits has the frames that jstack shows.
if ! command -v javac >/dev/null || ! java -version 2>&1 | grep -q -E 'version "(17|21|25)'; then
	echo "this test needs OpenJDK 17 (package openjdk-17-jdk-headless)"
	exit 67
fi
python=/usr/bin/python3
cd "$TMP" || exit 1

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
		List.of(1, 2).forEach(x -> sum[0] += x + point());
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

	static String text(StackTraceElement e) {
		String place = e.isNativeMethod() ? "Native Method" : e.getFileName() == null ? "Unknown Source" :
			e.getLineNumber() < 0 ? e.getFileName() : e.getFileName() + ":" + e.getLineNumber();
		return e.getClassName().replace('.', '/') + "." + e.getMethodName() + "(" + place + ")";
	}

	public static void main(String[] args) throws Exception {
		in = new RandomAccessFile("/dev/zero", "r");
		rounds(Integer.parseInt(args[1]));
		byte[] big = new byte[77];
		/* the first stack, after which the tracer looks at the process */
		in.read(big);
		Thread.sleep(800);
		count = 0;
		buf = big;
		rounds(1);
		Thread t = new Thread(() -> deep(3));
		t.start();
		t.join();
		buf = new byte[1];
		try (PrintStream out = new PrintStream(args[0])) {
			for (int i = 0; i < count; i++) {
				StringJoiner line = new StringJoiner("|");
				for (StackTraceElement e : notes[i].getStackTrace())
					line.add(text(e));
				out.println(line);
			}
		}
		if (args.length > 2) {
			Thread p = new Thread(Points::parked, "parked");
			p.setDaemon(true);
			p.start();
			Thread.sleep(6000);
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
	"$DTRACE" -q -x jstackstrsize=64k -n "$script" -c "java -XX:+UnlockDiagnosticVMOptions -XX:+ShowHiddenFrames $* -cp . Points noted $rounds" >got.txt
	$python stacks.py Points.point compiled <got.txt >got
	if ! cmp -s noted got; then
		echo "$name: stacks differ:"
		diff noted got | cut -c1-600 | head -20
	fi
	if [ "$(cat compiled)" -lt "$min" ]; then
		echo "$name: only $(cat compiled) frames are of compiled code"
	fi
	echo "$name: $(wc -l <noted) stacks"
}

{
	check interpreted 0 1 -Xint
	check C1 100 400 -Xbatch -XX:TieredStopAtLevel=1
	check C2 50 1500 -Xbatch -XX:-TieredCompilation -XX:CompileThreshold=1000
	check tiered 100 2500 -Xbatch

	# a thread that waits
	java -cp . Points noted 1 parked &
	pid=$!
	sleep 1
	"$DTRACE" -q -x jstackstrsize=64k -n 'syscall::futex:entry /pid == $target && execname == "parked"/ { jstack(); }' -p $pid >got.txt &
	tracer=$!
	sleep 3
	jstack $pid >jstack.txt
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
