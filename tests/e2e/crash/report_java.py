# SPDX-License-Identifier: MIT
"""
Programs in Java die with an exception that native code has left pending, with one that nothing has caught, for want of memory, while another
thread has an exception, and without any.
"""
import glob, os, re
from captures import *

PROGRAM = r"""
import java.io.*;
import java.nio.file.*;
import java.util.*;

public class Dies {
	static class OrderError extends IllegalStateException {
		OrderError(String text) { super(text); }
	}
	static native void calls(int how);      // calls leaf() by JNI, and dies
	static native void dies(int how);       // 0: abort(), 1: at an address that is not mapped, 2: waits forever
	static void leaf(int n) { throw new OrderError("order " + n + " <b>is</b>\u001b[1m wr\u00f6ng \u20ac"); }
	static void over() {
		try {
			try (FileOutputStream out = new FileOutputStream("/proc/self/fd/" + System.getenv("READY"))) { out.write((pid() + "\n").getBytes()); }
			try (FileInputStream in = new FileInputStream("/proc/self/fd/" + System.getenv("TOLD"))) { in.read(); }
		} catch (IOException e) {
			System.exit(3);
		}
	}
	static String pid() throws IOException { return new File("/proc/self").getCanonicalFile().getName(); }
	public static void main(String[] args) throws Exception {
		System.load(args[1]);
		switch (args[0]) {
		case "pending": over(); calls(0); break;
		case "fault": over(); calls(1); break;
		case "uncaught":
			Thread.setDefaultUncaughtExceptionHandler((t, e) -> { over(); dies(0); });
			leaf(42);
			break;
		case "other":
			Object began = new Object();
			Thread t = new Thread(() -> leaf(7), "worker");
			synchronized (began) {
				t.setUncaughtExceptionHandler((u, e) -> { synchronized (began) { began.notify(); } dies(2); });
				t.start();
				began.wait();
			}
			try { leaf(1); } catch (OrderError e) { }
			over();
			dies(0);
			break;
		case "memory":
			over();
			List<long[]> all = new ArrayList<>();
			while (true)
				all.add(new long[1 << 20]);
		}
	}
}
"""
NATIVE = r"""
#include <jni.h>
#include <stdlib.h>
#include <unistd.h>
JNIEXPORT void JNICALL Java_Dies_dies(JNIEnv *env, jclass c, jint how)
{
	(void)env, (void)c;
	while (how == 2)
		pause();
	if (how == 1)
		*(volatile int *)0x1234 = 5;
	abort();
}
JNIEXPORT void JNICALL Java_Dies_calls(JNIEnv *env, jclass c, jint how)
{
	(*env)->CallStaticVoidMethod(env, c, (*env)->GetStaticMethodID(env, c, "leaf", "(I)V"), 42);
	Java_Dies_dies(env, c, how);
}
"""
THROWN = {"language": "java", "class": "Dies$OrderError", "source": "state", "state": "raised", "is-handled": False}
TEXT = "order %d <b>is</b>\x1b[1m wr\u00f6ng \u20ac"
store = store_make()


def jdks():
    found = {os.path.realpath(p): p for p in glob.glob("/usr/lib/jvm/*/bin/javac")}
    return [os.path.dirname(os.path.dirname(p)) for p in sorted(found)]


def built(home, folder):
    os.mkdir(folder)
    open(folder + "/Dies.java", "w").write(PROGRAM)
    open(folder + "/dies.c", "w").write(NATIVE)
    subprocess.run([home + "/bin/javac", "-encoding", "UTF-8", "-d", folder, folder + "/Dies.java"], check=True)
    subprocess.run(["cc", "-g", "-shared", "-fPIC", f"-I{home}/include", f"-I{home}/include/linux", "-o", folder + "/libdies.so", folder + "/dies.c"], check=True)


def report_of(home, folder, case, *options):
    java = [home + "/bin/java", "-Xmx32m", *options, "-cp", folder, "Dies", case, folder + "/libdies.so"]
    died = Died(java, f"{os.path.basename(folder)}_{case}{len(options)}")
    status, err, report, text, state = analysed(store, died.entry(store, signal="6"))
    check(status == 0 and report, f"{home} {case}: analysis", (status, err, state))
    os.remove(died.core)
    return report, text


def reports_check(home, folder):
    for case, options in (("pending", ()), ("fault", ("-XX:+UseSerialGC",)), ("uncaught", ())):
        report, text = report_of(home, folder, case, *options)
        what = f"{home} {case} {options}"
        check(report.get("exception") == THROWN | {"message": TEXT % 42}, what, (report.get("exception"), report["notes"], frames(report)))
        check("exception of java: Dies$OrderError: order 42 <b>is</b>\\033[1m wr\u00f6ng \u20ac\n" in text, f"{what}: the text", text[:900])
    report, text = report_of(home, folder, "other")
    check("exception" not in report, f"{home}: no exception of the thread that died", report.get("exception"))
    threads = [t for t in report["threads"] if "exception" in t]
    check([t["exception"] for t in threads] == [THROWN | {"message": TEXT % 7}] and not threads[0]["has-crashed"], f"{home}: exception of another thread", threads)
    check(re.search(r"^thread \d+ worker.*\n    exception of java: Dies\$OrderError: order 7 ", text, re.M), f"{home}: where it stands", text[:3000])
    report, text = report_of(home, folder, "memory", "-XX:+CrashOnOutOfMemoryError")
    check(report.get("exception") == THROWN | {"class": "java.lang.OutOfMemoryError", "message": "Java heap space"}, f"{home}: for want of memory",
          (report.get("exception"), report["notes"], frames(report)))


homes = jdks()
if not homes or not shutil.which("cc"):
    skip("no JDK, or no compiler, is installed")
for number, home in enumerate(homes):
    folder = f"{TMP}/jdk{number}"
    built(home, folder)
    reports_check(home, folder)
finish()
