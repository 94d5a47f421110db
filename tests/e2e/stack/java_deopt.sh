# Where compiled Java cannot go on, frames of the interpreter are made in its place. At probes of the functions that fill them, a stack is whole, the frames
# that have no method yet say so, and no name is that of another frame, which was at their place before.
# @@needs: kernel
javac=$(command -v javac) && java=$(command -v java) || { echo "no javac here (openjdk-17-jdk-headless)"; exit 67; }
jvm=$(find "$(dirname "$(dirname "$(readlink -f "$java")")")" -name libjvm.so | head -n 1)
readelf -sW "$jvm" 2>/dev/null | grep -q 'Deoptimization13unpack_frames' || { echo "this libjvm.so has no symbols"; exit 67; }
cd "$TMP" || exit 1
cat >Deopt.java <<'X'
public class Deopt {
	interface Shape { int area(int x); }
	static int run(Shape s, int n) { return outer(s, n) + 1; }
	static int outer(Shape s, int n) { int t = 0; for (int i = 0; i < n; i++) t += middle(s, i); return t; }
	static int middle(Shape s, int i) { return inner(s, i) * 3; }
	static int inner(Shape s, int i) { return s.area(i) + 1; }
	public static void main(String[] a) throws Exception {
		System.out.println("ready");
		while (!new java.io.File("go").exists())
			Thread.sleep(20);
		int t = 0;
		for (Shape s : new Shape[] { x -> x + 1, x -> x * 2, x -> x ^ 3, x -> x - 7, x -> x + 9 })
			for (int k = 0; k < 20000; k++)
				t += run(s, 20);
		System.out.println(t);
	}
}
X
"$javac" Deopt.java || exit 1
mkfifo said
"$java" -cp . Deopt >said &
pid=$!
exec 3<said
read -r _ <&3
"$DTRACE" -wq -x jstackframes=200 -n 'BEGIN { system("touch go"); } pid$target:libjvm.so:*Deoptimization*unpack_frames*:entry, pid$target:libjvm.so:*layout_activation*:entry {
	printf("\nstack\n"); jstack(); }' -p $pid >got 2>err
wait $pid
cat >check.py <<'X'
import re
chain = ["main", "run", "outer", "middle", "inner"]
whole = made = named = 0
bad = []
for stack in open("got").read().split("\nstack\n")[1:]:
    lines = [line.strip() for line in stack.split("\n") if line.strip()]
    frames = [m[1] or m[2] for line in lines if (m := re.match(r"(?:Deopt\.(\w+)\(Deopt\.java:\d+\)\*?|\((a frame that is being made)\))$", line))]
    outermost = frames[::-1]
    right = "call_stub" in lines and frames and all(f.startswith("a frame") or f == want for f, want in zip(outermost, chain)) and not any(line.startswith("[") for line in lines)
    whole += bool(right)
    made += sum(f.startswith("a frame") for f in frames)
    named += sum(f in chain for f in frames)
    if not right:
        bad.append(stack)
print("whole:", "good" if whole >= 4 and not bad else f"{whole}, and {len(bad)} that are not, the first: {bad[:1]}")
print("frames that are being made:", "good" if made >= 4 else made)
print("frames with names:", "good" if named >= whole else named)
X
/usr/bin/python3 check.py
cat err
