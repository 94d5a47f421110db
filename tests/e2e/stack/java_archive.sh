# Names of Java's source files lie in its archive of classes, in pages that a process touches when it prints the stack of an exception: a frame
# whose file is not there yet is "(Unknown Source:LINE)", and those behind it are there. It was [helper error], in each of these programs. Names of
# methods and classes may be away, too, which is rarer: those are "(not read yet)". A program that formats strings, for which it compiles patterns,
# had two or three errors of that kind.
command -v java >/dev/null && command -v javac >/dev/null || { echo "needs java and javac"; exit 67; }
cd "$TMP" || exit 1
echo 'public class Hello { public static void main(String[] a) { System.out.println("hello"); } }' >Hello.java
cat >Work.java <<'X'
import java.util.*;
public class Work {
	static String row(int i) { return String.format("%d %s", i, "x".repeat(i % 50)); }
	public static void main(String[] a) {
		for (int k = 0; k < 10; k++) {
			List<String> t = new ArrayList<>();
			for (int i = 0; i < 5000; i++)
				t.add(row(i));
			Collections.sort(t);
		}
	}
}
X
javac Hello.java Work.java || exit 1
calls=
for f in read openat mmap futex mprotect write; do
	calls="$calls${calls:+,}syscall::$f:entry"
done
for i in 1 2 3 4 5 6; do
	"$DTRACE" -x jstackstrsize=8k -x bufsize=16m -qn "profile-997 /pid == \$target/ { jstack(60); } $calls /pid == \$target/ { jstack(60); }" -c 'java -cp . Hello' >stacks.$i 2>err.$i
done
for i in 7 8 9; do
	"$DTRACE" -x jstackstrsize=8k -x bufsize=16m -qn 'profile-997 /pid == $target/ { jstack(60); }' -c 'java -cp . Work' >stacks.$i 2>err.$i
done
errors=$(cat stacks.? | grep -c 'helper error')
frames=$(cat stacks.? | grep -c '[A-Za-z]\.[A-Za-z<>0-9$]*([A-Za-z]*\.java:[0-9]*)')
[ "$frames" -gt 1000 ] || { echo "$frames frames of Java"; head -20 err.1; exit 1; }
[ "$errors" = 0 ] || { echo "$errors errors in stacks with $frames frames"; cat err.?; exit 1; }
# a frame without its file has its line, and its class and method, if these are there
cat stacks.? | sed -nE 's/^ *(.*\(Unknown Source.*)$/\1/p' | grep -vE '^([A-Za-z0-9_$/.+]+|\(not read yet\))\.([A-Za-z0-9_$<>]+|\(not read yet\))\(Unknown Source(:[0-9]+)?\)\*?$' && exit 1
exit 0
