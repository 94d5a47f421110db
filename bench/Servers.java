/* SPDX-License-Identifier: MIT */
// bench/servers.py: a web server that answers /N with N bytes, byte I being (7 I + N) mod 251; prints its port.
import com.sun.net.httpserver.HttpServer;
import java.net.InetSocketAddress;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executors;

public class Servers {
	private static final ConcurrentHashMap<Integer, byte[]> bodies = new ConcurrentHashMap<>();

	private static byte[] body(int n) {
		byte[] made = new byte[n];

		for (int i = 0; i < n; i++)
			made[i] = (byte)((7L * i + n) % 251);
		return made;
	}

	public static void main(String[] args) throws Exception {
		HttpServer server = HttpServer.create(new InetSocketAddress("127.0.0.1", 0), 0);

		server.setExecutor(Executors.newFixedThreadPool(8));
		server.createContext("/", exchange -> {
			int n = Integer.parseInt(exchange.getRequestURI().getPath().substring(1));
			byte[] made = bodies.computeIfAbsent(n, Servers::body);

			exchange.sendResponseHeaders(200, n > 0 ? n : -1);
			try (var out = exchange.getResponseBody()) {
				out.write(made);
			}
		});
		server.start();
		System.out.println(server.getAddress().getPort());
	}
}
