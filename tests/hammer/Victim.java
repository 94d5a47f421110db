/* SPDX-License-Identifier: MIT */
// Asserts what it computes, from several threads, until SIGTERM (tests/hammer/run).
import java.util.*;
import java.util.concurrent.atomic.AtomicLong;

public class Victim {
    static volatile boolean stopped;
    static final AtomicLong rounds = new AtomicLong();

    static void check(boolean cond, String what) {
        if (!cond) {
            System.err.println("wrong: " + what);
            Runtime.getRuntime().halt(1);
        }
    }

    static int deep(int n) {
        return deep(n + 1) + 1;
    }

    static void round(Random r) {
        Map<String, Integer> m = new HashMap<>();
        int sum = 0;
        for (int i = 0; i < 200; i++) {
            int x = r.nextInt(1000);
            m.merge("k" + x % 17, x, Integer::sum);
            sum += x;
        }
        check(m.values().stream().mapToInt(Integer::intValue).sum() == sum, "sum");
        try {
            Object o = r.nextInt(2) < 2 ? null : "";
            o.hashCode();
            check(false, "null");
        } catch (NullPointerException e) {
        }
        try {
            int[] a = new int[3];
            a[r.nextInt(3) + 3] = 1;
            check(false, "bounds");
        } catch (ArrayIndexOutOfBoundsException e) {
        }
        byte[][] garbage = new byte[64][];
        for (int i = 0; i < 64; i++)
            garbage[i] = new byte[r.nextInt(20000)];
        check(garbage[63] != null, "garbage");
        rounds.incrementAndGet();
    }

    public static void main(String[] args) throws Exception {
        Thread[] threads = new Thread[3];
        for (int i = 0; i < 3; i++) {
            final int id = i;
            threads[i] = new Thread(() -> {
                Random r = new Random(id);
                for (int n = 0; !stopped; n++) {
                    round(r);
                    if (n % 64 == 0)
                        try {
                            deep(0);
                            check(false, "stack");
                        } catch (StackOverflowError e) {
                        }
                    if (n % 128 == 1)
                        System.gc();
                }
            });
            threads[i].start();
        }
        sun.misc.Signal.handle(new sun.misc.Signal("TERM"), s -> stopped = true);
        System.out.println("ready");
        for (Thread t : threads)
            t.join();
        System.out.println("ok: " + rounds + " rounds");
    }
}
