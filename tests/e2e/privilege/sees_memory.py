# SPDX-License-Identifier: MIT
# No variable, cast, translator, function, action, key or conversion reads the kernel's memory below dtrace_kernel: it is refused with the level that would
# be needed, or it faults. What is D's own, and the process's memory, is read as ever.
import ctypes, os, subprocess, sys

DTRACE = os.environ["DTRACE"]
PATIENCE = int(os.environ.get("PATIENCE", "1"))
MARK = "LEAKEDTEXT"
ctypes.CDLL(None).prctl(15, MARK.encode(), 0, 0, 0)  # the name of this process, in its task_struct, which lives as long as the test
r = subprocess.run([DTRACE, "-qn", 'BEGIN { printf("%x", (uint64_t)&curthread->real_parent->comm[0]); exit(0); }'], capture_output=True, text=True)
if r.returncode or not int(r.stdout, 16) >> 63:
    raise SystemExit(f"no address of the kernel: {r.stdout} {r.stderr}")
B = f"0x{r.stdout.strip()}"
S = f"((char *){B})"

FAULTS = [
    f"trace(*(int *){B});", f"trace({S}[0]);", f"trace(stringof({S}));", f"trace((string){S});", f'printf("%s", stringof({S}));',
    f"trace(strlen(stringof({S})));", f"trace(strlen({S}));", f'trace(strjoin("a", {S}));', f'trace(strstr({S}, "x"));',
    f'trace(strstr("x", {S}));', f"trace(substr({S}, 1));", f'trace(strtok({S}, " "));', f"trace(strchr({S}, 'v'));",
    f"trace(strrchr({S}, 'v'));", f'trace(index({S}, "x"));', f'trace(rindex({S}, "x"));', f"trace(basename({S}));", f"trace(dirname({S}));",
    f"trace(cleanpath({S}));", f"trace(toupper({S}));", f"trace(tolower({S}));", f"trace(strtoll({S}));", f'trace(json({S}, "a"));',
    f'trace(json("{{}}", {S}));', f"trace(inet_ntoa((uint32_t *){B}));", f"trace(inet_ntoa6((struct in6_addr *){B}));",
    f"trace(inet_ntop(2, (void *){B}));", f"trace(inet_ntop(10, (void *){B}));", f"trace(link_ntop(1, (void *){B}));",
    f"trace(memstr((void *){B}, ' ', 8));", f"tracemem({B}, 16);", f"this->n = 8; tracemem({B}, 16, this->n);",
    f"this->a = alloca(16); bcopy((void *){B}, this->a, 8); tracemem(this->a, 8);", f"@[stringof({S})] = count();", f"@[{S}[0]] = count();",
    f"@ = sum(*(int *){B});", f"x[stringof({S})] = 1;", f"s = stringof({S}); trace(s);", f"self->s = stringof({S}); trace(self->s);",
    f"this->s = stringof({S}); trace(this->s);", f"y[1] = stringof({S}); trace(y[1]);", f'trace({S} == "LEAK" ? 1 : 2);',
    f'trace(stringof({S}) > "L" ? 1 : 2);', f"exit(*(int *){B});", f"print(*(struct list_head *){B});",
    f"trace(*(int *)((char *)alloca(8) + 1000000));", f'trace(*(int *)((char *)alloca(8) - 100000));', 'trace(*(((char *)"abc") + 10000000));',
    f"this->p = (int *){B}; trace(*this->p);", f"p = (struct list_head *){B}; trace((uint64_t)p->next);",
    f"trace(((struct task_struct *){B})->pid);", f"a = {B}; trace(*(uint64_t *)a);",
]
REFUSED = {
    "trace(curthread->pid);": "curthread needs dtrace_kernel", "trace((uint64_t)curthread);": "curthread needs dtrace_kernel",
    "trace(`jiffies);": "needs dtrace_kernel", "trace((uint64_t)&`linux_banner);": "needs dtrace_kernel", "trace(caller);": "caller needs dtrace_kernel",
    "stack();": "stack( ) needs dtrace_kernel", "@[stack()] = count();": "stack( ) needs dtrace_kernel", "self->w = stack();": "stack( ) needs dtrace_kernel",
    "trace(stackdepth);": "stackdepth needs dtrace_kernel", f"sym({B});": "sym( ) needs dtrace_kernel", f"@[func({B})] = count();": "func( ) needs dtrace_kernel",
    f"mod({B});": "mod( ) needs dtrace_kernel", "trace(curpsinfo->pr_addr);": "curpsinfo in a clause of BEGIN or END needs proc_owner",
    "trace(curlwpsinfo->pr_lwpid);": "curlwpsinfo in a clause of BEGIN or END needs proc_owner",
    "trace(fds[1].fi_pathname);": "fds in a clause of BEGIN or END needs proc_owner", "trace(getf(1)->f_flags);": "getf( ) needs dtrace_kernel",
    f"trace(d_path((struct path *){B}));": "d_path( ) needs dtrace_kernel", f"trace(mutex_owned((struct mutex *){B}));": "mutex_owned( ) needs dtrace_kernel",
    f"trace(rw_read_held((rwlock_t *){B}));": "rw_read_held( ) needs dtrace_kernel", "chill(1);": "chill( ) needs dtrace_kernel",
    f"printm(8, memref((void *){B}, 8));": "memref( ) needs dtrace_kernel", f"pcap((void *){B}, 0);": "pcap( ) needs dtrace_kernel",
    "ustack();": "ustack( ) needs dtrace_proc", "jstack();": "jstack( ) needs dtrace_proc", "trace(ucaller);": "ucaller needs dtrace_proc",
    "trace(uregs[0]);": "uregs needs dtrace_proc", "raise(9);": "raise( ) needs dtrace_proc", "stop();": "stop( ) needs dtrace_proc",
}
GOOD = {
    'x = "abc"; trace(strlen(x));': "3", 'self->s = "abc"; trace(self->s);': "abc", 'y[1] = "abc"; trace(strjoin(y[1], "d"));': "abcd",
    'z["a", 1] = "q"; trace(z["a", 1]);': "q", "trace(execname);": "dtrace", "trace(probename);": "BEGIN", 'trace(strtok("a b", " "));': "a",
    'this->a = (char *)alloca(8); this->a[0] = 65; trace(stringof(this->a));': "A", "this->a = (int *)alloca(8); *this->a = 77; trace(*this->a);": "77",
    "trace(curcpu->cpu_id == cpu);": "1", 'trace(strerrno(2));': "ENOENT", 'trace(inet_ntoa((uint32_t *)alloca(4)));': "0.0.0.0", 'trace(O_RDWR);': "2", 'trace(pid == $pid);': "1",
    'trace(strflags("open", 2));': "O_RDWR", 'trace(strsignal(9));': "SIGKILL", "trace(json(\"{\\\"a\\\":5}\", \"a\"));": "5",
    'trace(strtok("a b", " ")); trace(strtok(NULL, " "));': "b", "this->c = \"abc\"; trace(toupper(this->c));": "ABC",
    'trace(((char *)"abc")[1] == 98 ? "yes" : "no");': "yes", 'trace(sizeof(struct task_struct) > 0);': "1",
}
# where D's own memory lies is an address of the kernel
TOLD = {
    "trace((uint64_t)alloca(8));": "recorded", 'trace((uint64_t)(char *)"abc");': "recorded", "this->p = alloca(8); trace((uint64_t)this->p);": "recorded",
    "p = alloca(8); trace(p);": "recorded", 'printf("%p", alloca(8));': "recorded", "@[alloca(8)] = count();": "recorded", "@ = max((uint64_t)alloca(8));": "recorded",
    "trace((uint64_t)alloca(8) >> 3);": "recorded", "trace((uint64_t)(char *)execname);": "recorded", "trace(lltostr((uint64_t)alloca(8)));": "passed on as a number",
    "this->q = (uint64_t *)alloca(8); *this->q = (uint64_t)this->q; trace(*this->q);": "stored in memory",
    "trace((uint64_t)alloca(8) > 0xffff888000000000 ? 1 : 2);": "compared", 'self->a = (uint64_t)(char *)"x"; trace(self->a);': "recorded",
    "z[1] = (uint64_t)alloca(8); trace(z[1]);": "recorded", "exit((int)(uint64_t)alloca(8));": "recorded", "trace((char *)alloca(8) - (char *)0);": "recorded",
    "trace(((uint64_t)alloca(8) & (1UL << 40)) ? 1 : 0);": "compared", "this->p = (uint64_t)alloca(8); trace((this->p & (1UL << 40)) != 0 ? 1 : 2);": "compared",
    "trace(!(~(uint64_t)alloca(8) & 4096) ? 1 : 2);": "compared", 'this->h = (char *)"0123456789abcdef"; this->p = (uint64_t)alloca(8); trace(this->h[(this->p >> 44) & 15]);': "calculated with",
    'this->h = (char *)"0123456789abcdef"; this->p = (uint64_t)alloca(8); trace(stringof(this->h + (this->p & 15)));': "calculated with",
    'this->p = alloca(16); trace(strlen((char *)"abcdefgh" + (((uint64_t)this->p >> 3) & 7)));': "calculated with",
    'this->h = (char *)alloca(16); this->h[((uint64_t)this->h >> 44) & 15] = 1; tracemem(this->h, 16);': "calculated with",
    'tracemem((char *)"0123456789abcdef" + (((uint64_t)alloca(8) >> 44) & 7), 1);': "calculated with",
    "x[(uint64_t)alloca(8)] = 1; trace(x[5]);": "a key", "x[5UL] = 1; trace(x[(uint64_t)alloca(8)]);": "a key", "self->x[(uint64_t)alloca(8)] = 1;": "a key",
    "self->x[5UL] = 1; trace(self->x[(uint64_t)alloca(8)]);": "a key", "x[((uint64_t)alloca(8) >> 40) & 15] = 1; trace(x[5]);": "calculated with",
    # whether a divisor, a sum or a difference is 0
    "x = 1 / (((uint64_t)alloca(8) >> 45) & 1);": "divided by", "x = 1 / ((uint64_t)alloca(8) - 5);": "divided by", "x = 1 % ((int64_t)alloca(8) - 5);": "divided by",
    "x = ((uint64_t)alloca(8) - 5) ? 1 : 2; trace(x);": "compared", "if ((uint64_t)alloca(8) - 5) { trace(1); }": "compared", "trace((uint64_t)alloca(8) - 5 == 0);": "compared",
    "trace(!((uint64_t)alloca(8) - 5));": "compared", "this->d = 5; trace((char *)alloca(8) - this->d ? 1 : 2);": "compared", "trace(((uint64_t)alloca(8) - 5) && 1);": "compared",
    "tracemem((uint64_t)alloca(8), 8); trace((uint64_t)(char *)strchr(\"abc\", 'b'));": "recorded",
}
# whether the process has memory there: where it may be read
USER_READS = [
    "x = *(userland char *)((uint64_t)alloca(8) - 0xffff888000000000);", "trace(stringof((userland char *)((uint64_t)alloca(8) - 5)));",
    "this->u = (userland char *)((uint64_t)alloca(8) - 5); trace(this->u[3]);",
]
bad = []


def run(body, levels="64031:dtrace_user", probe="BEGIN"):
    args = [DTRACE, "-qw", *(["-x", f"privileges={levels}"] if levels else []), "-n", probe + " { %s } BEGIN { exit(0); } ERROR { exit(0); }" % body]
    return subprocess.run(args, capture_output=True, text=True, timeout=60 * PATIENCE)


def leaks(text):
    words = "%d" % int.from_bytes(MARK[:4].encode(), "little"), "%d" % int.from_bytes(MARK[:8].encode(), "little"), "4c 45 41 4b"
    return any(w in text for w in (MARK, MARK[1:], MARK.lower(), *words))


for body in FAULTS:
    r = run(body)
    if "invalid kernel access" not in r.stderr or leaks(r.stdout):
        bad.append(f"{body}\n  no fault: {r.stdout!r} {r.stderr!r}")
for body, said in REFUSED.items():
    r = run(body)
    if r.returncode != 1 or said not in r.stderr or "; this session has dtrace_user\n" not in r.stderr or "-->" not in r.stderr or "hint: " not in r.stderr:
        bad.append(f"{body}\n  not refused: {r.stdout!r} {r.stderr!r}")
for body, out in GOOD.items():
    r = run(body)
    if r.returncode or r.stderr or out not in r.stdout:
        bad.append(f"{body}\n  does not work: {r.stdout!r} {r.stderr!r}")
for body, how, probe in [(*told, "BEGIN") for told in TOLD.items()] + [(body, "passed on as a number", "syscall::getppid:entry") for body in USER_READS]:
    r = run(body, probe=probe)
    if r.returncode != 1 or f"line 1: an address of the kernel, that of memory of D's own, is {how}, which needs dtrace_kernel" not in r.stderr or r.stdout.strip():
        bad.append(f"{body}\n  told: {r.stdout!r} {r.stderr!r}")
    if run(body, "64031:dtrace_kernel", probe).returncode == 1 and "exit(" not in body:
        bad.append(f"{body}: dtrace_kernel may")
# a predicate decides, too
r = run('} BEGIN /(uint64_t)alloca(8) & (1UL << 40)/ { trace("yes");')
if r.returncode != 1 or "is compared, which needs dtrace_kernel" not in r.stderr:
    bad.append(f"a predicate tells: {r.stdout!r} {r.stderr!r}")
r = run('} BEGIN /(uint64_t)alloca(8) - 5/ { trace("yes");')
if r.returncode != 1 or "is compared, which needs dtrace_kernel" not in r.stderr:
    bad.append(f"a predicate tells a sum: {r.stdout!r} {r.stderr!r}")
r = run('} tick-1ms { exit(0); } syscall:::entry { trace(uregs[((uint64_t)alloca(8) >> 40) & 7]);', "64031:dtrace_user,dtrace_proc")
if r.returncode != 1 or "is calculated with, which needs dtrace_kernel" not in r.stderr:
    bad.append(f"an index tells: {r.stdout!r} {r.stderr!r}")
# variables that hold addresses are not found beside strings, neither below nor above them
for scope in "", "this->":
    read = lambda at: f'printf("%x ", *(uint64_t *)((char *){scope}s {at}));'
    sets = f'{scope}q = alloca(8); {scope}s = "abcd"; {scope}p = alloca(8); {scope}t = "efgh"; {scope}r = alloca(8);'
    for reads in " ".join(read(f"+ {at}") for at in range(0, 512, 8)), *(read(f"- {at}") for at in (8, 16, 24, 32)):
        r = run(f"{sets} {reads}")
        words = r.stdout.split()
        if any(len(w) > 8 for w in words) or ("+" in reads and words[0] != "64636261"):
            bad.append(f"{scope}s: an address beside a string: {r.stdout!r} {r.stderr!r}")
# nor are they changed from there: whoever could change one byte of an address would know by the next read whether it was right
for scope in "", "this->":
    sets = f'{scope}s = "abcd"; {scope}x = 7; {scope}p = (char *)alloca(8); '
    for kind in "char", "short", "int", "uint64_t":
        for at in range(16, 56, 8):  # the word before says that the string is set
            r = run(f'{sets} *({kind} *)((char *){scope}s - {at}) = 9; printf("[%d]", {scope}x);')
            if r.stdout.strip() or "invalid address" not in r.stderr:
                bad.append(f"{scope}s - {at}, {kind}: written beside a string: {r.stdout!r} {r.stderr!r}")
            if "invalid address in action" not in r.stderr or "an address of the kernel, which is not shown without dtrace_kernel" not in r.stderr:
                bad.append(f"{scope}s - {at}, {kind}: it is not said that the address is hidden: {r.stderr!r}")
    guesses = " } BEGIN { ".join(f'{sets} *((char *){scope}s - {at}) = {byte}; printf("[{byte}:%d]", *{scope}p);' for at in (11, 19) for byte in (0xc9, 0xff, 0x88, 0x80))
    if run(guesses).stdout.strip():
        bad.append(f"{scope}: a guess of an address: {run(guesses).stdout!r}")
    r = run(f"{scope}s = \"abcd\"; this->c = (char *){scope}s; this->c[0] = 65; this->c[200] = 66; trace({scope}s);")
    if "Abcd" not in r.stdout or r.stderr:
        bad.append(f"{scope}s is not written to: {r.stdout!r} {r.stderr!r}")
# within the bytes that were asked for, and in no other memory
for body in ("this->c = (char *)alloca(5); this->c[5] = 1;", "this->c = (char *)alloca(5); this->c[-1] = 1;", "this->c = (char *)alloca(5); this->c[-8] = 1;", 'bcopy("abcdefgh", alloca(5), 6);',
             "this->c = (char *)alloca(16); *(int *)(this->c + 14) = 1;", "this->c = (char *)alloca(8); this->c[100000] = 1;", "this->c = (char *)alloca(8); this->c[256] = 1;",
             "this->c = (char *)copyin(0, 0); this->c[1] = 1;", "this->c = (char *)probename; this->c[0] = 1;", 'this->c = (char *)"abc"; this->c[0] = 1;', "this->c = (char *)execname; this->c[-8] = 1;",
             f"*(int *){B} = 1;", f"*(uint64_t *){B} = 1;", f'bcopy("a", (void *){B}, 1);', f"*(struct list_head *){B} = *(struct list_head *)alloca(16);"):
    r = run(f"{body} printf(\"written\");")
    if "written" in r.stdout or "invalid" not in r.stderr:
        bad.append(f"{body}\n  is written: {r.stdout!r} {r.stderr!r}")
# nor do faults tell it
r = run("this->p = (char *)alloca(8); trace(*(this->p + 100)); } ERROR { printf(\"fault %x\", arg5);")
if "fault 0" not in r.stdout or "0xffff" in r.stderr:
    bad.append(f"a fault tells an address: {r.stdout!r} {r.stderr!r}")
# nor that of a difference with an address, which is in the lower half
for body in ("tracemem((char *)(A), 8)", "x = *(char *)(A)", "*(char *)(A) = 1", 'bcopy("abcdefgh", (void *)(A), 8)', "bcopy((void *)(A), alloca(8), 8)", "trace(stringof((char *)(A)))",
             "print(*(struct in_addr *)(A))", "tracemem((userland char *)(A), 8)", "*(userland char *)(A) = 1", "@[stringof((char *)(A))] = count()"):
    r = run(body.replace("A", "(uint64_t)alloca(8) - 0xffff888000000000") + '; } ERROR { printf("fault %x.", arg5);')
    if "fault 0." not in r.stdout or "(0x4" in r.stderr:
        bad.append(f"a fault tells a difference: {body} {r.stdout!r} {r.stderr!r}")
r = run('trace(copyinstr(0x4242)); } ERROR { printf("fault %x.", arg5);', None)
if "fault 4242." not in r.stdout:
    bad.append(f"a fault in the process has its address: {r.stdout!r} {r.stderr!r}")
# the same reads work where they may, so the list above is a test
r = run(f"trace(stringof({S}));", None)
if MARK not in r.stdout:
    bad.append(f"root cannot read the name of the process: {r.stdout} {r.stderr}")
r = run(f"trace(stringof({S})); trace(curthread->pid);", "64031:dtrace_kernel")
if MARK not in r.stdout:
    bad.append(f"dtrace_kernel cannot read the name of the process: {r.stdout} {r.stderr}")
print("\n".join(bad))
sys.exit(len(bad) > 0)
