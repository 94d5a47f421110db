# SPDX-License-Identifier: MIT
"""
A Java program builds a known graph of objects and writes down what it is: its core file, and the living program, in mdb, with each JDK that is installed (or those of JAVA), and each collector of the newest.
The census is compared with the histogram that the JDK's own tool, jhsdb, takes of the same core file, and core files that are damaged must do no harm.
"""
import glob, json, os, random, re, signal, struct, subprocess, sys

sys.path.insert(0, os.environ["SRC"] + "/tests/e2e")
sys.dont_write_bytecode = True
from core_files import kernel_cores, unlimited
import asked
from asked import MDB, TMP, check, failed, line_of, rows, run

PROGRAM = r'''
import java.lang.reflect.*;
import java.nio.file.*;
import java.util.*;

public class Graph {
	enum Colour { RED, GREEN { int f() { return 2; } }; int f() { return 1; } }
	static class Base { int id; private String name; Base(int id, String name) { this.id = id; this.name = name; } }
	static class Worker extends Base {
		long big = 1L << 40; double d = 1.5; float f = 0.1f; char c = 'x'; byte b = -3; short s = -300; boolean ok = true;
		Object other; int[] ints; int id = 77; static int counter = 5;
		Worker(int id, String name) { super(id, name); }
	}
	static class Small { byte one; Small(int i) { one = (byte) i; } }
	static class Statics { static int number = -7; static String text = "static"; static Object nothing; static double half = 0.5; static long[] longs = { 1, 2 }; }
	static class Empty { }
	static class Mine extends ArrayList<Object> { }
	static class Pair { final Object first; final int second; Pair(Object first, int second) { this.first = first; this.second = second; } }
	static class Link { Link next; int number; Link(Link next, int number) { this.next = next; this.number = number; } }

	static String quoted(String s) {
		StringBuilder b = new StringBuilder("\"");
		for (char c : s.toCharArray())
			b.append(c == '"' || c == '\\' ? "\\" + c : c == '\n' ? "\\n" : c == '\t' ? "\\t" : c < 32 ? String.format("\\u%04x", (int) c) : "" + c);
		return b.append('"').toString();
	}
	static String list(String head, String brackets, List<String> items) { return head + " " + brackets.charAt(0) + String.join(", ", items) + brackets.charAt(1); }
	static String fields(Class<?> of, Object in, String head) throws Exception {
		List<String> items = new ArrayList<>();
		for (Class<?> c = of; c != null; c = in == null ? null : c.getSuperclass())
			for (Field f : c.getDeclaredFields())
				if (Modifier.isStatic(f.getModifiers()) == (in == null)) {
					f.setAccessible(true);
					items.add(f.getName() + "=" + shown(f.get(in)));
				}
		return list(head, "{}", items);
	}
	/* What mdb is expected to show of a value. */
	static String shown(Object o) throws Exception {
		if (o == null) return "null";
		Class<?> c = o.getClass();
		List<String> items = new ArrayList<>();
		if (o instanceof String) return quoted((String) o);
		if (o instanceof Character) return "'" + o + "'";
		if (o instanceof Number && c.getName().startsWith("java.lang.") || o instanceof Boolean) return o.toString();
		if (o instanceof Enum<?>) return ((Enum<?>) o).getDeclaringClass().getName() + "." + ((Enum<?>) o).name();
		Class<?> k = o instanceof Class<?> ? (Class<?>) o : null;
		if (k != null) return k.isPrimitive() || k.isArray() ? "class " + k.getTypeName() : fields(k, null, "class " + k.getName());
		if (c.isArray()) {
			for (int i = 0; i < Array.getLength(o); i++) items.add(shown(Array.get(o, i)));
			return list(c.getTypeName().replaceFirst("\\[", "[" + items.size()), "[]", items);
		}
		if (c == ArrayList.class) for (Object x : (List<?>) o) items.add(shown(x));
		if (c == ArrayList.class) return list(c.getName() + "(" + items.size() + ")", "[]", items);
		if (c == HashSet.class || c == LinkedHashSet.class) for (Object x : (Set<?>) o) items.add(shown(x));
		if (c == HashMap.class || c == LinkedHashMap.class) for (Map.Entry<?, ?> x : ((Map<?, ?>) o).entrySet()) items.add(shown(x.getKey()) + "=" + shown(x.getValue()));
		if (o instanceof HashMap || o instanceof HashSet) return list(c.getName() + "(" + items.size() + ")", "{}", items);
		return fields(c, o, c.getName());
	}
	static String raw(Object o) {
		List<String> all = new ArrayList<>();
		for (Class<?> c = o.getClass(); c != null; c = c.getSuperclass())
			for (Field f : c.getDeclaredFields())
				if (!Modifier.isStatic(f.getModifiers())) all.add(c.getName() + " " + f.getType().getTypeName() + " " + f.getName());
		Collections.sort(all);
		return String.join("\n", all);
	}

	static Object[] values;
	static List<Object> kept = new ArrayList<>();
	static String many(int n) { return String.join("", Collections.nCopies(n, "\u0436")); }
	static void make() throws Exception {
		Worker w = new Worker(3, "three");
		w.other = new Worker(4, "four");
		w.ints = new int[] { 1, -2, Integer.MIN_VALUE };
		Map<Object, Object> map = new HashMap<>(), linked = new LinkedHashMap<>();
		Set<Object> set = new HashSet<>(), inOrder = new LinkedHashSet<>();
		for (int i = 0; i < 40; i++) { map.put("k" + i, i); linked.put(41 - i, "v" + i); set.add(i * 17); inOrder.add("e" + (50 - i)); }
		map.remove("k3"); linked.remove(7); set.remove(34); map.put(null, w); linked.put("late", null);
		Map<Object, Object> clash = new HashMap<>();
		for (int i = 0; i < 20; i++) clash.put(new String[] { "Aa", "BB" }[i & 1] + new String[] { "Aa", "BB" }[i >> 1 & 1] + new String[] { "Aa", "BB" }[i >> 2 & 1] + new String[] { "Aa", "BB" }[i >> 3 & 1], i);
		List<Object> list = new ArrayList<>(Arrays.asList("a", 1, 2L));
		list.add(null); list.remove(1);
		Mine mine = new Mine();
		values = new Object[] { null, "", "plain", "it's \"x\"\n\t\u0001\\", "caf\u00e9", "\u20ac5", "\ud83d\ude00!", many(60),
			5, -5, Integer.MAX_VALUE, 5L, Long.MIN_VALUE, (byte) -1, (short) 300, 'c', '\u20ac', true, false,
			1.5, 0.0, -0.0, 100.0, 1e10, 1.25e-5, 12345.678, Double.NaN, Double.NEGATIVE_INFINITY, Double.MAX_VALUE, 0.1f, 2.5f, 1e10f, Float.NaN,
			new int[] { 1, -2, 3 }, new byte[] { -128, 127 }, new char[] { 'a', '\u20ac' }, new boolean[] { true, false }, new double[] { 0, 1e10 }, new float[] { 0.1f },
			new long[] { Long.MAX_VALUE }, new short[] { -1 }, new int[0], new String[] { "s", null }, new int[2][3], new Object[][] { { 1 }, null }, new Object[0],
			Colour.RED, Colour.GREEN, int.class, void.class, int[][].class, String[].class, Statics.class, w, new Small(-9), new Empty(), new Pair("p", 2), new Object(),
			map, linked, set, inOrder, clash, list, new ArrayList<>(), new HashMap<>(), new HashSet<>(), mine, new Link(new Link(null, 1), 2), Optional.of("o") };
		for (int i = 0; i < 1000; i++) kept.add(new Worker(i, "w" + i));
		for (int i = 0; i < 500; i++) kept.add(new Small(i));
		for (int i = 0; i < 70; i++) kept.add(new Link[i]);
		kept.add(new byte[3 << 20]);
	}
	static Object self(Object root) { return root; }
	Worker first = (Worker) kept.get(0);
	int leaf(int number, long wide, double half, String text, Object[] root, boolean is, char letter) throws Exception {
		int local = number * 2;
		{ String gone = "gone"; self(gone); }
		Worker worker = first;
		System.out.println("ready");
		System.in.read();
		return local + (worker == null ? 1 : 0);
	}
	static void outer(String[] args, byte tiny, short little, float real) throws Exception {
		new Graph().leaf(21, 1L << 33, 0.25, "text", values, true, 'q');
	}
	static void go(String[] args) throws Exception { outer(args, (byte) -4, (short) -400, 0.75f); }
	public static void main(String[] args) throws Exception {
		make();
		StringBuilder b = new StringBuilder("{\"values\": [");
		for (int i = 0; i < values.length; i++) b.append(i > 0 ? ",\n" : "").append(quoted(shown(values[i])));
		for (Object o : values) if (o instanceof Worker) b.append("], \"raw\": ").append(quoted(raw(o)));
		Files.write(Paths.get(args[0]), b.append("}").toString().getBytes("UTF-8"));
		b = null;
		System.gc();
		for (int i = 0; i < 37; i++) kept.add(new Pair(i, i));
		new Bare().run(args, 1L << 40, new int[2][3], 7);
	}
}
'''
OPENS = ["--add-opens=java.base/java.util=ALL-UNNAMED"]  # in 8, all is open
# compiled without names of variables
BARE = "class Bare { void run(String[] args, long wide, int[][] array, int number) throws Exception { int local = 3 * number; Graph.go(args); if (local < 0) run(args, 1, array, 2); } }"
COUNTS = {"Graph$Worker": 1002, "Graph$Small": 501, "Graph$Pair": 38, "Graph$Link": 2, "Graph$Link[]": 70}


def thread_of(target):
    """The thread that runs main() is not the first one of the process."""
    text = run(target, "::javastack -a")
    found = [m[1] for m in re.finditer(r"^thread (\d+):\n((?:(?!thread ).*\n)*)", text, re.M) if "Graph.leaf" in m[2]]
    check(len(found) == 1, "a thread that runs the program", text)
    return found[0]


def stack_check(target, tid):
    """Returns the addresses of the objects that the variables have."""
    text = run(target, f"0t{tid}::javastack -v")
    frames = re.findall(r"^java: +(\S.*)\n(?: +file: (.*)\n)?(?: +posn: line (\d+)\n)?((?: {10}.*\n)*)", text, re.M)
    names = [f[0] for f in frames if f[0].startswith("Graph")]
    check(names == ["Graph.leaf", "Graph.outer", "Graph.go", "Graph.main"], "frames in their order", text)
    variables = {f[0]: dict(re.findall(r"^ {10}(\w[\w ]*): (.*)$", f[3], re.M)) for f in frames}
    leaf, outer = variables.get("Graph.leaf", {}), variables.get("Graph.outer", {})
    at = {k: int(v.split()[0], 16) for k, v in leaf.items() if re.match(r"[0-9a-f]+ \(", v)}
    shown = {k: re.sub(r"^[0-9a-f]+ (?=\()", "", v) for k, v in leaf.items()}
    wanted = {"this": "(Graph)", "number": "21", "wide": "8589934592", "half": "0.25", "text": '"text"', "is": "true", "letter": "'q'", "local": "42", "worker": "(Graph$Worker)"}
    check(re.fullmatch(r"\(java\.lang\.Object\[\d+\]\)", shown.pop("root", "")) and shown == wanted, "variables of leaf()", f"{shown}\n{wanted}\n{text}")
    shown = {k: re.sub(r"^[0-9a-f]+ (?=\()", "", v) for k, v in outer.items()}
    check(shown == {"args": "(java.lang.String[1])", "tiny": "-4", "little": "-400", "real": "0.75"}, "variables of outer()", text)
    shown = {k: re.sub(r"^[0-9a-f]+ (?=\()", "", v) for k, v in variables.get("Bare.run(Unknown Source)", {}).items()}
    wanted = {"this": "(Bare)", "arg1": "(java.lang.String[1])", "arg2": "1099511627776", "arg3": "(int[2][])", "arg4": "7", "slot 6": "0x15"}
    check(shown == wanted, "variables of a method without names of them", f"{shown}\n{wanted}\n{text}")
    lines = PROGRAM.splitlines()
    for name, file, line, _ in frames:
        if name.startswith("Graph"):
            call = {"Graph.leaf": "System.", "Graph.outer": "leaf(21", "Graph.go": "outer(args", "Graph.main": "new Bare"}[name]
            check(file == "Graph.java" and line and call in lines[int(line) - 1], f"the line of {name}", text)
    return at


def values_check(target, at, known):
    root, worker = at["root"], at["worker"]
    shown = [found["rows"] for found in rows(target, f"{root:x}::javaprint -d 40 -n 1000; {worker:x}::javaprint id name; {worker:x}::javatype; {worker:x}::javaraw")]
    text, wanted = line_of(shown[0][0]["value"]), f"java.lang.Object[{len(known['values'])}] [{', '.join(known['values'])}]"
    at_fault = next((i for i, (a, b) in enumerate(zip(text, wanted)) if a != b), min(len(text), len(wanted)))
    check(text == wanted, "values", f"... {text[max(at_fault - 100, 0):at_fault + 200]}\n... {wanted[max(at_fault - 100, 0):at_fault + 200]}")
    check(shown[1][0]["value"] == '{ "id": 77, "name": "w0" }', "members, the nearest of a name", shown[1])
    check(shown[2][0]["type"] == "Graph$Worker", "::javatype", shown[2])
    raw = sorted(f"{r['class']} {r['type']} {r['name']}" for r in shown[3])
    check("\n".join(raw) == known["raw"], "declared fields and their types", raw)
    text = run(target, f"{root:x}::javaprint -n 3 -d 1")
    check(re.fullmatch(r'java.lang.Object\[\d+\] \[null, "", "plain", ... \d+ more\]', line_of(text)), "no more than was asked for", text)
    wrong = [worker + 4, worker + 8, 0x1000, (1 << 47) + 8]
    text = run(target, "; ".join(f"{word:x}::javaprint" for word in wrong), status=1)
    check(text.count("is no value") == len(wrong), "what is no value", text)


def census_check(target, at):
    found = rows(target, f"::findjavaobjects; ::findjavaobjects -c 'Graph$Small' -l; {at['worker']:x}::javarefs; {at['root']:x}::javarefs")
    census, listed, worker_refs, root_refs = [[r for r in f["rows"] if "root" not in r] for f in found]
    shown = {r["shape"].split(":")[0]: r for r in census}
    for name, count in COUNTS.items():
        check(shown.get(name, {}).get("objects") == count, f"objects of {name}: {count}", shown.get(name))
    check(shown["Graph$Link"]["shape"] == "Graph$Link: next, number", "names of fields", shown["Graph$Link"])
    listed = [r["object"] for r in listed]
    check(len(listed) == len(set(listed)) == COUNTS["Graph$Small"], "each of a class", len(listed))
    holders = sorted(f"{r['name']} of {r['class'].split(':')[0]}" for r in worker_refs)
    check(holders == ["[0] of java.lang.Object[]", "first of Graph"], "what refers to an object", worker_refs)
    array = next((r["object"] for r in worker_refs if "Object[]" in r["class"]), "0x0")
    text = run(target, f"{array[2:]}::javarefs")
    check(re.search(r" elementData of java\.util\.ArrayList:", text), "what refers to an array", text)
    check(any(r["name"] == "values" and r["class"].startswith("java.lang.Class:") for r in root_refs), "a static field refers to an object", root_refs)
    return shown


def name_of(text):
    """The name of a class, where that of an array may be [I or [Ljava.lang.String;"""
    n = len(text) - len(text.lstrip("["))
    kinds = {"I": "int", "J": "long", "Z": "boolean", "B": "byte", "C": "char", "D": "double", "F": "float", "S": "short"}
    return (kinds.get(text[n:]) or text[n + 1:-1]) + "[]" * n if n else text


def histogram_check(java, core, shown):
    """All classes as the JDK's own tool counts them. Without the symbols of the virtual machine, it can do so in a process only: a second one."""
    tool = [f"{java}/bin/jhsdb", "jmap", "--histo", "--exe", f"{java}/bin/java", "--core", core]
    if not os.access(tool[0], os.X_OK):  # of 8
        tool = [f"{java}/bin/jmap", "-histo", f"{java}/bin/java", core]
    r = subprocess.run(tool, capture_output=True, timeout=300, text=True)
    if "attach to the core file" in r.stdout + r.stderr:
        p = Program(java, "-XX:+UseG1GC")
        for _ in range(2):  # the first makes the thread that answers
            r = subprocess.run([f"{java}/bin/jmap", "-histo", str(p.p.pid)], capture_output=True, timeout=300, text=True)
        os.rename(core, f"{TMP}/first")
        shown = {row["shape"]: row for row in rows([p.core()], "::findjavaobjects")[0]["rows"]}
        os.rename(f"{TMP}/first", core)
    found = {m[3]: (int(m[1]), int(m[2])) for m in re.finditer(r"^ *\d+:\s+(\d+)\s+(\d+)\s+(\S+)", r.stdout, re.M)}
    check(len(found) > 100, "jhsdb has a histogram", r.stdout[-1000:] + r.stderr[-1000:])
    have = {}
    for row in shown.values():
        name = row["shape"].split(":")[0]
        n, size = have.get(name, (0, 0))
        have[name] = (n + row["objects"], size + row["bytes"])
    wanted = {name_of(k).replace("+0x", "/0x"): v for k, v in found.items()}
    if "jmap" in r.args[0]:
        # some hidden classes of 11 have no address in the name that the virtual machine has for them
        have, wanted = ({k: v for k, v in x.items() if "$$Lambda" not in k} for x in (have, wanted))
        # the virtual machine fills the gaps behind its threads' objects with int[] before it counts
        have.pop("int[]", None), wanted.pop("int[]", None)
    different = {k: (have.get(k), wanted.get(k)) for k in have.keys() | wanted.keys() if have.get(k) != wanted.get(k)}
    check(not different, "the census is the histogram of jhsdb", different)


def damage_check(core, at, tid):
    """What is wrong in a core file must neither end nor stop the debugger; more and more of it is."""
    f = os.open(core, os.O_RDWR)
    head = os.pread(f, 1 << 20, 0)
    table, = struct.unpack_from("<Q", head, 32)
    n, = struct.unpack_from("<H", head, 56)
    parts = [struct.unpack_from("<IIQQQQ", head, table + 56 * i) for i in range(n)]
    heap = next(p for p in parts if p[0] == 1 and p[3] <= at["root"] < p[3] + p[5])
    chance = random.Random(7)
    for what in range(3):
        begin, size = (heap[2], heap[5]) if what < 2 else (1 << 16, os.fstat(f).st_size - (1 << 16))
        for _ in range(6000):
            word = [(at["root"] + chance.randrange(4096) * 8).to_bytes(8, "little"), os.urandom(8), bytes(8)][what]
            os.pwrite(f, word, begin + chance.randrange(size // 8) * 8)
        commands = f"0t{tid}::javastack -v; {at['root']:x}::javaprint -d 20; {at['worker']:x}::javaraw; ::findjavaobjects; {at['worker']:x}::javarefs"
        r = subprocess.run([MDB, "-e", commands, core], capture_output=True, timeout=300)
        check(r.returncode in (0, 1), f"a damaged core file: {r.returncode}", r.stderr[-2000:])
    os.close(f)


class Program:
    def __init__(self, java, *options):
        self.dir = f"{TMP}/run"
        os.makedirs(self.dir, exist_ok=True)
        self.p = subprocess.Popen([f"{java}/bin/java", "-Xint", "-Xmx48m", *OPENS * os.path.exists(f"{java}/lib/modules"), *options, "-cp", TMP, "Graph", f"{TMP}/known"], cwd=self.dir, stdin=subprocess.PIPE,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        line = self.p.stdout.readline()
        check(line == b"ready\n", f"the program begins with {options}", line)
        self.known = json.load(open(f"{TMP}/known"))

    def core(self):
        with kernel_cores():
            self.p.send_signal(signal.SIGABRT)
            self.p.wait()
        return next(iter(glob.glob(f"{self.dir}/core*")), None)

    def end(self):
        if self.p.poll() is None:
            self.p.kill()
        self.p.wait()


def options_of(java):
    """Each collector once, and other sizes of references and headers."""
    known = subprocess.run([f"{java}/bin/java", "-XX:+PrintFlagsFinal", "-version"], capture_output=True, text=True).stdout
    all_options = [("-XX:+UseSerialGC",), ("-XX:+UseParallelGC", "-XX:-UseCompressedOops"), ("-XX:+UseShenandoahGC",), ("-XX:+UseZGC",)]
    if "UseCompactObjectHeaders" in known:
        all_options[0] += ("-XX:+UseCompactObjectHeaders",)
    return [o for o in all_options if all(re.sub(r"-XX:[+-]", "", x) in known for x in o)]


unlimited()
installed = sorted({os.path.realpath(p[:-len("/bin/java")]) for p in glob.glob("/usr/lib/jvm/*/bin/java")}, key=lambda h: int(re.search(r"\d+", os.path.basename(h))[0]))
homes = os.environ["JAVA"].split() if "JAVA" in os.environ else installed
compilers = [h for h in installed + homes if os.access(f"{h}/bin/javac", os.X_OK)]
if not compilers:
    print("no JDK is installed in /usr/lib/jvm")
    sys.exit(67)
open(f"{TMP}/Graph.java", "w").write(PROGRAM)
open(f"{TMP}/Bare.java", "w").write(BARE)
javac = [f"{compilers[0]}/bin/javac", "-Xlint:-options", "--release", "8", "-d", TMP, "-cp", TMP]
r = subprocess.run([*javac, "-g", f"{TMP}/Graph.java", f"{TMP}/Bare.java"], capture_output=True, text=True)
if not r.returncode:
    r = subprocess.run([*javac, "-g:none", f"{TMP}/Bare.java"], capture_output=True, text=True)
if r.returncode:
    print(f"the program cannot be compiled: {r.stderr}")
    sys.exit(67)
# mdb with sanitizers is ten times as slow
is_slow = bool(os.environ.get("SANITIZED"))
for number, java in enumerate(homes[:1] if is_slow else homes):
    asked.version = java
    p = Program(java, "-XX:+UseG1GC")
    core = p.core()
    p.end()
    if not core:
        check(False, "it leaves a core file")
        continue
    tid = thread_of([core])
    at = stack_check([core], tid)
    values_check([core], at, p.known)
    shown = census_check([core], at)
    if os.access(f"{java}/bin/jhsdb", os.X_OK) or os.access(f"{java}/bin/jmap", os.X_OK):
        histogram_check(java, core, shown)
    if number == 0:
        damage_check(core, at, tid)
    os.unlink(core)
    for options in options_of(java) if java == homes[-1] and not is_slow else []:
        asked.version = f"{java} {' '.join(options)}"
        p = Program(java, *options)
        try:
            target = ["-p", str(p.p.pid)]
            at = stack_check(target, thread_of(target))
            if "-XX:+UseZGC" in options:
                text = run(target, f"{at['root']:x}::javaprint 0; ::findjavaobjects", status=1)
                check(text.startswith("null\n"), "null in each colour", text)
                check("objects cannot be counted: ZGC" in text, "a census of ZGC is declined", text)
            else:
                values_check(target, at, p.known)
                census_check(target, at)
        finally:
            p.end()
sys.exit(1 if failed else 0)
