/* SPDX-License-Identifier: MIT */
// bench/inproc.py: a web server (prints its port) as bench/inproc.js is one, which is its load, too.
import com.sun.net.httpserver.HttpServer;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.Executors;

class Server {
	public static void main(String[] args) throws Exception {
		byte[] answer = "hello world\n".getBytes(StandardCharsets.US_ASCII);
		HttpServer server = HttpServer.create(new InetSocketAddress("127.0.0.1", 0), 64);

		server.createContext("/", exchange -> {
			exchange.sendResponseHeaders(200, answer.length);
			exchange.getResponseBody().write(answer);
			exchange.close();
		});
		server.setExecutor(Executors.newFixedThreadPool(4));
		server.start();
		System.out.println(server.getAddress().getPort());
	}
}
