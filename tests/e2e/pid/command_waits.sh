# A command of system() that waits for the traced process, while that waits for its probes: they come meanwhile, and none is missed.
command -v cc >/dev/null || exit 67
exec python3 - <<'END'
import os, subprocess, sys

DTRACE, TMP = os.environ["DTRACE"], os.environ["TMP"]
TENTHS = 300 * int(os.environ.get("PATIENCE", 1))
LIB = "int brought(int n) { return n + 1; }"
PROGRAM = r"""
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
__attribute__((noinline)) int step(int n) { __asm__ volatile("" ::: "memory", "rbx"); return n + 1; }
static void mark(const char *file) { fclose(fopen(file, "w")); }
int main(int argc, char **argv)
{
	const char *file = argv[2], *end = "end";
	int status = 0;

	step(strcmp(argv[1], end) ? 1 : 2);
	usleep(300000); /* the command runs by now */
	if (!strcmp(argv[1], "library")) {
		int (*f)(int) = dlsym(dlopen(argv[3], RTLD_NOW), "brought");
		if (!f || f(1) != 2)
			return 9;
	}
	if (!strcmp(argv[1], "child")) {
		pid_t pid = fork();
		if (!pid)
			_exit(step(-1));
		if (waitpid(pid, &status, 0) != pid || status)
			return 9;
	}
	if (!strcmp(argv[1], "program"))
		execl(argv[0], argv[0], end, file, NULL);
	mark(file);
	return 0;
}
"""
bad = []
for name, text, flags in (("waits", PROGRAM, []), ("brings.so", LIB, ["-shared", "-fPIC"])):
    with open(f"{TMP}/{name}.c", "w") as f:
        f.write(text)
    subprocess.run(["cc", "-O1", *flags, f"{TMP}/{name}.c", "-o", f"{TMP}/{name}"], check=True)
for mode in ("off", "auto"):
    for what, flags, want in (("library", [], ["brought 1", "step 1"]), ("program", [], ["step 2"]), ("child", ["-x", "follow=fork"], ["step 2"])):
        file = f"{TMP}/mark.{mode}.{what}"
        wait = f"i=0; while [ ! -e {file} ] && [ $i -lt {TENTHS} ]; do sleep 0.1; i=$((i+1)); done; [ -e {file} ] && echo it went on"
        script = f'pid$target:a.out:step:entry /arg0 == 1/ {{ system("{wait}"); }} pid$target:a.out:step:entry, pid$target:brings.so:brought:entry ' \
                 '{ @[probefunc] = count(); } END { printa("%s %@d\\n", @); }'
        p = subprocess.run([DTRACE, "-Zqw", "-x", f"inproc={mode}", *flags, "-n", script, "-c", f"{TMP}/waits {what} {file} {TMP}/brings.so"],
                           capture_output=True, text=True)
        lines = [l for l in p.stdout.split("\n") if l]
        if "Linux 6.10" in p.stderr:
            continue  # option follow needs a newer kernel
        if p.returncode or lines[:1] != ["it went on"] or sorted(lines[1:]) != want:
            bad.append(f"{what}, inproc={mode}: status {p.returncode}, {lines} instead of {want}\n{p.stderr}")
print(*bad, sep="\n")
sys.exit(bool(bad))
END
