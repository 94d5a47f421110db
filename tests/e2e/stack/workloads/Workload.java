/* SPDX-License-Identifier: MIT */
// Workload server|compiler EVERY MOST: a workload that writes down its own stack at each EVERY-th call of some methods.
import com.sun.net.httpserver.*;
import java.io.*;
import java.net.*;
import java.nio.charset.StandardCharsets;
import java.nio.file.*;
import java.util.*;
import java.util.concurrent.*;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.*;
import javax.tools.*;

public class Workload {
	static FileOutputStream out;
	static AtomicInteger calls = new AtomicInteger(), points = new AtomicInteger();
	static int every, most;

	static void workload_point() {
		if (calls.incrementAndGet() % every != 0 || points.get() >= most)
			return;
		StringBuilder text = new StringBuilder(String.format("POINT:%06d ", points.incrementAndGet()));
		StringJoiner frames = new StringJoiner("|");
		StackTraceElement[] stack = new Throwable().getStackTrace();
		for (int i = 1; i < stack.length; i++) {
			StackTraceElement e = stack[i];
			frames.add(e.getClassName().replace('.', '/') + "." + e.getMethodName() + "(" + (e.isNativeMethod() ? "Native Method" :
				e.getFileName() == null ? "Unknown Source" : e.getLineNumber() < 0 ? e.getFileName() : e.getFileName() + ":" + e.getLineNumber()) + ")");
		}
		try {
			out.write(text.append(frames).append('\n').toString().getBytes(StandardCharsets.UTF_8));
		} catch (IOException e) {
			throw new UncheckedIOException(e);
		}
	}

	static void server() throws Exception {
		HttpServer server = HttpServer.create(new InetSocketAddress("127.0.0.1", 0), 0);
		ExecutorService threads = Executors.newFixedThreadPool(4), clients = Executors.newFixedThreadPool(4);
		server.setExecutor(threads);
		server.createContext("/", exchange -> {
			workload_point();
			byte[] text = IntStream.range(0, 50).boxed().sorted((a, b) -> { workload_point(); return b - a; })
				.map(i -> { workload_point(); return "line " + i; }).collect(Collectors.joining("\n")).getBytes();
			exchange.sendResponseHeaders(200, text.length);
			try (OutputStream o = exchange.getResponseBody()) { o.write(text); }
		});
		server.start();
		List<Future<Integer>> all = new ArrayList<>();
		for (int i = 0; i < 200; i++) {
			URL url = new URL("http://127.0.0.1:" + server.getAddress().getPort() + "/" + i);
			all.add(clients.submit(() -> { try (InputStream in = url.openStream()) { return in.readAllBytes().length; } }));
		}
		for (Future<Integer> f : all)
			f.get();
		server.stop(0);
		threads.shutdown();
		clients.shutdown();
	}

	static void compiler() throws Exception {
		JavaCompiler javac = ToolProvider.getSystemJavaCompiler();
		Path made = Files.createDirectories(Paths.get("classes"));
		JavaFileManager files = new ForwardingJavaFileManager<JavaFileManager>(javac.getStandardFileManager(null, null, null)) {
			@Override public String inferBinaryName(Location l, JavaFileObject f) { workload_point(); return super.inferBinaryName(l, f); }
			@Override public Iterable<JavaFileObject> list(Location l, String p, Set<JavaFileObject.Kind> k, boolean r) throws IOException {
				workload_point();
				return super.list(l, p, k, r);
			}
			@Override public JavaFileObject getJavaFileForOutput(Location l, String c, JavaFileObject.Kind k, FileObject s) throws IOException {
				workload_point();
				return super.getJavaFileForOutput(l, c, k, s);
			}
		};
		for (int i = 0; i < 6; i++)
			javac.getTask(null, files, null, List.of("-d", made.toString(), "-nowarn"), null,
				javac.getStandardFileManager(null, null, null).getJavaFileObjects("Workload.java")).call();
	}

	public static void main(String[] args) throws Exception {
		every = Integer.parseInt(args[1]);
		most = Integer.parseInt(args[2]);
		out = new FileOutputStream("noted", true);
		out.write("POINT:000000 \n".getBytes());
		for (int i = 0; i < 6000 && !new File("met").exists(); i++)
			Thread.sleep(20);
		if (args[0].equals("server"))
			server();
		else
			compiler();
		System.exit(0);
	}
}
