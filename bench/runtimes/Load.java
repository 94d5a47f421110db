/* SPDX-License-Identifier: MIT */
// Makes a system call below frames of Java: a line "repeat N", "known N" or "first N" on stdin is answered with the nanoseconds that a call takes,
// "busy N" with the numbers of N windows of 100 ms: requests that a server answered in it, and the processor time they took.
// The first stacks are those of methods of classes of their own, which bench/ustack.py writes: Fresh0, Fresh1 and so on.
import java.io.*;
import java.util.*;

public class Load {
	static RandomAccessFile in;
	static byte[] buf = new byte[1];
	static int number;

	static double hot(int n) throws IOException {
		long[] took = new long[n];
		for (int i = 0; i < n; i++) {
			long start = System.nanoTime();
			in.read(buf);
			took[i] = System.nanoTime() - start;
		}
		Arrays.sort(took);
		return took[n / 2];
	}
	static double down(int depth, int n) throws IOException {
		return depth > 0 ? down(depth - 1, n) : hot(n);
	}
	public static long leaf() throws IOException {
		long start = System.nanoTime();
		in.read(buf);
		return System.nanoTime() - start;
	}

	/** Functions that were called before, in an order that has not been there. */
	interface Step {
		long go(Step[] path, int at) throws IOException;
	}
	static long known0(Step[] path, int at) throws IOException { return path[at].go(path, at + 1); }
	static long known1(Step[] path, int at) throws IOException { return path[at].go(path, at + 1); }
	static long known2(Step[] path, int at) throws IOException { return path[at].go(path, at + 1); }
	static long known3(Step[] path, int at) throws IOException { return path[at].go(path, at + 1); }
	static long known4(Step[] path, int at) throws IOException { return path[at].go(path, at + 1); }
	static long known5(Step[] path, int at) throws IOException { return path[at].go(path, at + 1); }
	static long known6(Step[] path, int at) throws IOException { return path[at].go(path, at + 1); }
	static long known7(Step[] path, int at) throws IOException { return path[at].go(path, at + 1); }
	static long known8(Step[] path, int at) throws IOException { return path[at].go(path, at + 1); }
	static long known9(Step[] path, int at) throws IOException { return path[at].go(path, at + 1); }
	static long known10(Step[] path, int at) throws IOException { return path[at].go(path, at + 1); }
	static long known11(Step[] path, int at) throws IOException { return path[at].go(path, at + 1); }
	static long known12(Step[] path, int at) throws IOException { return path[at].go(path, at + 1); }
	static long known13(Step[] path, int at) throws IOException { return path[at].go(path, at + 1); }
	static long known14(Step[] path, int at) throws IOException { return path[at].go(path, at + 1); }
	static long known15(Step[] path, int at) throws IOException { return path[at].go(path, at + 1); }
	static final Step[] steps = {Load::known0, Load::known1, Load::known2, Load::known3, Load::known4, Load::known5, Load::known6, Load::known7, Load::known8, Load::known9, Load::known10, Load::known11, Load::known12, Load::known13, Load::known14, Load::known15};
	static final Random rest = new Random(1);
	static long known(int n) throws IOException {
		long[] took = new long[n];
		Step last = (path, at) -> leaf();
		for (int i = 0; i < n; i++) {
			Step[] path = new Step[12];
			for (int k = 0; k < 11; k++)
				path[k] = steps[rest.nextInt(steps.length)];
			path[11] = last;
			took[i] = path[0].go(path, 1);
		}
		Arrays.sort(took);
		return took[n / 2];
	}

	static String item(int k, int total) {
		StringBuilder list = new StringBuilder("[");
		for (int i = 0; i < k % 7; i++)
			list.append(i).append(',');
		return String.format("<li>item %d: %d of %d, %s]</li>", k, k * k % total, total, list);
	}
	static String render(int depth, int k) {
		if (depth > 0)
			return render(depth - 1, k);
		List<String> all = new ArrayList<>();
		for (int i = 0; i < 12; i++)
			all.add(item(i, k + 9));
		all.sort(Comparator.reverseOrder());
		return String.join("", all);
	}
	static final long WINDOW = 100_000_000; // of CLOCK_MONOTONIC, as a D program's timestamp
	static final int GROUP = 14;

	/** Whole groups of requests of each window, and nanoseconds of this thread's processor time for them: "window:requests:ns ...". */
	static String busy(int n) {
		java.lang.management.ThreadMXBean threads = java.lang.management.ManagementFactory.getThreadMXBean();
		StringBuilder all = new StringBuilder();
		long at = System.nanoTime() / WINDOW, last = at + n, used = threads.getCurrentThreadCpuTime(), requests = 0, took = 0;
		while (at < last) {
			int length = 0;
			for (int k = 0; k < GROUP; k++)
				length += render(k, k).split("<").length;
			long was = at, then = used;
			at = System.nanoTime() / WINDOW;
			used = threads.getCurrentThreadCpuTime();
			if (at == was && length > 0) {
				requests += GROUP;
				took += used - then;
			} else {
				all.append(was).append(':').append(requests).append(':').append(took).append(' ');
				requests = took = 0;
			}
		}
		return all.toString().trim();
	}

	public static void main(String[] args) throws Exception {
		BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
		in = new RandomAccessFile("/dev/null", "r");
		for (String line; (line = lines.readLine()) != null;) {
			String[] w = line.split(" ");
			int n = Integer.parseInt(w[1]);
			if (w[0].equals("repeat")) {
				System.out.println(down(24, n));
				continue;
			}
			if (w[0].equals("known")) {
				System.out.println(known(n));
				continue;
			}
			if (w[0].equals("busy")) {
				System.out.println(busy(n));
				continue;
			}
			long[] took = new long[n];
			for (int i = 0; i < n; i++)
				took[i] = (Long)Class.forName("Fresh" + number++).getMethod("go").invoke(null);
			Arrays.sort(took);
			System.out.println(took[n / 2]);
		}
	}
}
