/* SPDX-License-Identifier: MIT */
// Random methods of Java for names.py: names.Program COUNT SEED BASE
package names;

import java.io.*;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.*;
import javax.tools.*;

public class Program {
	static int most, base, count, made;
	static int seed;
	static OutputStream own;
	static final List<Function> functions = new ArrayList<>();

	public interface Function {
		int call(int d);
	}

	static int rand(int n) {
		seed = seed * 1664525 + 1013904223;
		return (int) ((seed & 0xffffffffL) * n >>> 32);
	}

	/** The frames of the present stack, as jstack() has them. */
	static String frames() {
		StackTraceElement[] stack = new Throwable().getStackTrace();
		StringJoiner all = new StringJoiner("|");
		for (int i = 1; i < stack.length; i++) {
			StackTraceElement e = stack[i];
			all.add(e.getClassName().replace('.', '/') + "." + e.getMethodName() + "(" + (e.isNativeMethod() ? "Native Method" :
				e.getFileName() == null ? "Unknown Source" : e.getLineNumber() < 0 ? e.getFileName() : e.getFileName() + ":" + e.getLineNumber()) + ")");
		}
		return all.toString();
	}

	public static int mark() {
		count++;
		try {
			own.write((base + count + " " + frames() + "\n").getBytes(StandardCharsets.UTF_8)); new File("/nonexistent/names/" + (base + count)).delete();
		} catch (IOException e) {
			throw new UncheckedIOException(e);
		}
		return 0;
	}

	public static int call(int d) {
		if (d <= 0 || count >= most || rand(100) < 15)
			return mark();
		return functions.get(rand(functions.size())).call(d - 1) + 0;
	}

	static final String[] WAYS = {
		"call(d);", "return call(d);", "((Runnable) () -> call(d)).run();", "List.of(2, 1, 3).stream().map(x -> call(d)).forEach(x -> { });",
		"List.of(2, 1).forEach(x -> call(d));", "Integer[] a = {2, 1}; Arrays.sort(a, (x, y) -> call(d) + x - y);",
		"new Object() { int inner() { return call(d); } }.inner();", "try { throw new Exception(); } catch (Exception e) { call(d); }",
		"try { call(d); } finally { call(d); }", "for (int i = 1; i < 3; i++) call(d - i);", "int i = 0; while (i++ < 1) call(d);",
		"switch (d) { case 1: call(d); break; default: call(d - 1); }", "Optional.of(d).map(x -> call(x)).get();", "Optional.of(d).map(names.Program::call).get();",
		"new HashMap<Integer, Integer>().computeIfAbsent(d, k -> call(k));", "String s = \"\" + new Value(d);", "new Value(d).hashCode();",
		"new HashSet<Object>(List.of(new Value(d)));", "new Value(d).compareTo(new Value(d));", "new TreeSet<Value>(List.of(new Value(d)));",
		"for (int x : new Value(d)) call(x);", "new Value(d).ofInterface();", "Value.ofClass(d);", "new Value(d, true);", "new Value(d).many(1, 2, d);",
		"new Value(d).alone();", "synchronized (this) { call(d); }", "Once.value += 1;", "Runnable r = this::again; r.run();",
		"try { getClass().getDeclaredMethod(\"again\").invoke(this); } catch (ReflectiveOperationException e) { throw new Error(e); }",
		"try { MethodHandles.lookup().findVirtual(getClass(), \"again\", MethodType.methodType(void.class)).invoke(this); } catch (Throwable e) { throw new Error(e); }",
		"((Runnable) Proxy.newProxyInstance(getClass().getClassLoader(), new Class<?>[] {Runnable.class}, (p, m, x) -> { call(d); return null; })).run();",
		"Supplier<Supplier<Integer>> s = () -> () -> call(d); s.get().get();", "IntStream.range(0, 2).map(names.Program::call).sum();",
		"new Thread() { @Override public void run() { call(d); } }.run();", "class Inner { final int x = call(d); } new Inner();",
		"new Object() { { call(d); } };", "int[] a = {1, call(d), 2};", "String.format(\"%s\", new Value(d));", "new ArrayList<>(List.of(new Value(d))).contains(new Value(d));",
		"new PriorityQueue<>(List.of(new Value(d), new Value(d)));", "label: for (;;) { for (;;) { call(d); break label; } }", "assert call(d) < 9;",
		"Function<Integer, Integer> f = x -> call(x); f.andThen(x -> call(0)).apply(d);", "new Value(d).close();", "try (Value v = new Value(d)) { call(0); }",
	};

	static String letters(String s, int n) {
		return s.repeat(1 + rand(n));
	}

	/** A file with a class whose method calls others: names and files begin alike, and return. */
	static JavaFileObject source(int n, String name) {
		String method = "functionWithALongName_" + letters(n % 2 == 0 ? "a" : "b", 40) + "_" + n % 30;
		if (rand(10) == 0)
			method = "f\u00fcnction_\u0436_" + n % 10;
		String text = "package srv.application.modules;\nimport static names.Program.call;\nimport java.lang.invoke.*;\nimport java.lang.reflect.*;\nimport java.util.*;\n" +
			"import java.util.function.*;\nimport java.util.stream.*;\n" + letters("\n", 500) + "class " + name + " implements names.Program.Function {\n" +
			"    int depth;\n    void again() {\n" + letters("\n", 9) + "        names.Program.call(depth);\n    }\n" +
			"    public int call(int d) {\n" + letters("\n", 90) + "        depth = d; return " + method + "(d);\n    }\n" +
			"    static class Once {\n        static int value = names.Program.call(2);\n    }\n" +
			"    int " + method + "(int d) {\n" + letters("\n", 200) + "        " + (WAYS[rand(WAYS.length)] + "\n        if (d >= -99) return 1;\n        return 0;\n")
				.replaceFirst("^(return .*;\n)[^\0]*", "$1").replace("call(", "names.Program.call(").replace("names.Program.names.Program.", "names.Program.") + "    }\n}\n" +
			"interface Part" + name + " {\n    int depth();\n    default int ofInterface() { return call(depth()); }\n}\n";
		text = text.replace("Value(", "Value" + name + "(").replace("Value ", "Value" + name + " ").replace("Value.", "Value" + name + ".").replace("<Value>", "<Value" + name + ">");
		text += ("class ValueX implements Part, Comparable<ValueX>, Iterable<Integer>, AutoCloseable {\n    final int d;\n    ValueX(int d) { this.d = d; }\n" +
			"    ValueX(int d, boolean now) { this(d); call(d); }\n    public int depth() { return d; }\n    static int ofClass(int d) { return call(d); }\n" +
			"    int many(int... all) { return call(all[all.length - 1]); }\n    private int own() { return call(d); }\n    synchronized int alone() { return own(); }\n" +
			"    @Override public String toString() { call(d); return \"x\"; }\n    @Override public int hashCode() { call(d); return 1; }\n" +
			"    @Override public boolean equals(Object o) { call(d); return true; }\n    @Override public int compareTo(ValueX o) { return call(d); }\n" +
			"    @Override public void close() { call(d); }\n    @Override public Iterator<Integer> iterator() { call(d); return List.of(d).iterator(); }\n}\n")
			.replace("ValueX", "Value" + name).replace(" Part,", " Part" + name + ",");
		String all = text;
		return new SimpleJavaFileObject(URI.create("string:///srv/application/modules/module_" + letters(n % 2 == 0 ? "x" : "y", 20) + n % 97 + ".java"), JavaFileObject.Kind.SOURCE) {
			@Override public CharSequence getCharContent(boolean ignore) { return all; }
			@Override public boolean isNameCompatible(String n, Kind k) { return true; }
		};
	}

	/** Functions of a loader of their own: when the last of them is replaced, their classes are unloaded. */
	static List<Function> make(int some) throws Exception {
		Map<String, ByteArrayOutputStream> classes = new HashMap<>();
		JavaCompiler javac = ToolProvider.getSystemJavaCompiler();
		JavaFileManager files = new ForwardingJavaFileManager<JavaFileManager>(javac.getStandardFileManager(null, null, null)) {
			@Override public JavaFileObject getJavaFileForOutput(Location l, String name, JavaFileObject.Kind k, FileObject s) {
				return new SimpleJavaFileObject(URI.create("bytes:///" + name), k) {
					@Override public OutputStream openOutputStream() {
						ByteArrayOutputStream out = new ByteArrayOutputStream();
						classes.put(name, out);
						return out;
					}
				};
			}
		};
		List<JavaFileObject> sources = new ArrayList<>();
		List<String> names = new ArrayList<>();
		for (int i = 0; i < some; i++, made++) {
			String name = "Module_" + letters(made % 3 == 0 ? "c" : "d", 20) + "_" + made % 50;
			if (!names.contains(name)) {
				names.add(name);
				sources.add(source(made, name));
			}
		}
		StringWriter said = new StringWriter();
		if (!javac.getTask(said, files, null, List.of("-g", "-nowarn", "-cp", "."), null, sources).call())
			throw new IllegalStateException(said.toString());
		ClassLoader loader = new ClassLoader(Program.class.getClassLoader()) {
			@Override protected Class<?> findClass(String name) throws ClassNotFoundException {
				ByteArrayOutputStream bytes = classes.get(name);
				if (bytes == null)
					throw new ClassNotFoundException(name);
				return defineClass(name, bytes.toByteArray(), 0, bytes.size());
			}
		};
		List<Function> all = new ArrayList<>();
		for (String name : names) {
			java.lang.reflect.Constructor<?> c = loader.loadClass("srv.application.modules." + name).getDeclaredConstructor();
			c.setAccessible(true);
			all.add((Function) c.newInstance());
		}
		return all;
	}

	public static void main(String[] args) throws Exception {
		most = Integer.parseInt(args[0]);
		seed = Integer.parseInt(args[1]) * (int) 2654435761L;
		base = Integer.parseInt(args[2]);
		own = new FileOutputStream("own");
		functions.addAll(make(40));
		mark();
		for (int i = 0; i < 6000 && !new File("met").exists(); i++)
			Thread.sleep(20);
		for (int round = 0; count < most; round++) {
			call(1 + rand(13));
			if (round % 100 == 99) {
				for (Function f : make(10))
					functions.set(made++ % functions.size(), f);
				if (rand(3) == 0)
					System.gc();
			}
		}
		mark();
	}
}
