# One-liners as people of other systems type them: all compile as they are.
cat > "$TMP/list" <<'END'
syscall:::entry { @num[execname] = count(); }
syscall:::entry { @num[pid, execname] = count(); }
syscall::read:return /execname == "sh"/ { @ = quantize(arg0); }
syscall::open*:entry { printf("%s %s", execname, copyinstr(arg0)); }
syscall::open:entry, syscall::open64:entry { printf("%s %s", execname, copyinstr(arg0)); }
syscall::open_nocancel:entry, syscall::stat64:entry, syscall::lstat64:entry, syscall::fstat64:entry { @[probefunc] = count(); }
syscall::exec*:return { trace(execname); }
syscall::exece:return { trace(execname); }
syscall::fork*:return /arg0 == 0/ { printf("%d %s", pid, execname); }
syscall::rexit:entry { @[execname, arg0] = count(); }
syscall:::return /errno/ { @[execname, probefunc, errno] = count(); }
syscall:::return /errno != 0 && pid != $pid/ { printf("%-16s %-16s %d", execname, probefunc, errno); }
syscall:::entry { self->start = vtimestamp; } syscall:::return /self->start/ { @[probefunc] = sum(vtimestamp - self->start); self->start = 0; }
syscall::read:entry { self->ts = timestamp; } syscall::read:return /self->ts/ { @["ns"] = quantize(timestamp - self->ts); self->ts = 0; }
syscall::write:entry /arg0 == 1 || arg0 == 2/ { printf("%s", stringof(copyin(arg1, arg2 < 100 ? arg2 : 100))); }
syscall::close:return /arg1 == -1 && errno == EBADF/ { trace(execname); }
syscall::kill:entry { printf("%d sends %d to %d", pid, arg1, arg0); }
syscall::ioctl:entry { @[execname, arg0, arg1] = count(); }
syscall::mmap*:entry /pid == $target/ { printf("%d", arg1); }
syscall::brk:entry, syscall::sbrk:entry { @[execname] = count(); }
syscall::pollsys:return, syscall::poll:return { @[execname] = count(); }
syscall::lwp_park:entry, syscall::lwp_mutex_timedlock:entry, syscall::lwp_cond_wait:entry { @[execname] = count(); }
syscall::lwp_create:return, syscall::lwp_exit:entry, syscall::lwp_kill:entry, syscall::lwp_sigmask:entry { @[probefunc] = count(); }
syscall::so_socket:entry, syscall::bind:entry, syscall::listen:entry, syscall::accept:return, syscall::connect:entry { @[probefunc] = count(); }
syscall::send:entry, syscall::recv:entry, syscall::sendto:entry, syscall::recvmsg:return { @[probefunc, execname] = sum(arg2); }
syscall::gtime:entry, syscall::nanosleep:entry, syscall::gettimeofday:entry { @[execname] = count(); }
syscall::llseek:entry, syscall::lseek:entry { @[execname] = count(); }
syscall::fsync:entry, syscall::fdsync:entry { @ = count(); }
syscall::semsys:entry, syscall::shmsys:entry, syscall::msgsys:entry { @[probefunc] = count(); }
syscall::fsat:entry { @[probefunc] = count(); }
syscall::*lwp*:entry { @[probefunc] = count(); }
syscall::sig*:entry { @[probefunc] = count(); }
syscall::[a-f]*:entry { @[probefunc] = count(); }
syscall::: { @[probename] = count(); }
syscall:freebsd:read:return, syscall:freebsd::entry { @[probefunc] = count(); }
syscall::psynch_mutexwait:entry, syscall::ulock_wait:entry, syscall::__semwait_signal:entry, syscall::bsdthread_create:entry { @[probefunc] = count(); }
syscall::*read*nocancel:entry, syscall::write_nocancel:entry { @[probefunc] = count(); }
lx-syscall::open*:return /arg0 < 0/ { @[execname, arg0] = count(); }
profile-997 { @[stack()] = count(); }
profile-997 /pid/ { @[ustack()] = count(); }
profile:::profile-997 /arg0/ { @[func(arg0)] = count(); }
profile:::profile-997hz /arg1/ { @[execname, ufunc(arg1)] = count(); }
profile-1001 { @[execname, cpu] = count(); } END { printa("%16s %3d %@8d\n", @); }
syscall:::entry { @c[execname] = count(); } profile:::tick-1sec { printa("%-20s %@8d\n", @c); clear(@c); }
syscall:::entry { @c[execname] = count(); } profile:::tick-5s { trunc(@c, 5); printa(@c); trunc(@c); }
BEGIN { printf("Tracing... Hit Ctrl-C to end.\n"); } dtrace:::END { printf("%Y\n", walltimestamp); }
int n; syscall:::entry { n++; } tick-1s { printf("%d\n", n); n = 0; }
BEGIN { i = 10; } tick-1s /i-- <= 0/ { exit(0); }
BEGIN { @a["x"] = count(); @b["x"] = sum(10); printa("%-10s %@8d %@8d\n", @a, @b); denormalize(@b); }
BEGIN { @c = stddev(4); @d = lquantize(5, 0, 10, 1); @e = llquantize(50, 10, 0, 3, 10); normalize(@c, 2); }
struct foo { int a; char b; }; struct foo f; BEGIN { f.a = 3; trace(f.a); trace(sizeof(struct foo)); }
BEGIN { printf("%5s|%-5s|%05d|%x|%#x|%c|%p|%%\n", "a", "b", 42, 255, 255, 'c', 0x10); }
BEGIN { trace(strtok("a b", " ")); trace(substr("hello", 1, 3)); trace(index("hello", "l")); trace(dirname("/a/b")); trace(lltostr(12)); }
dtrace:::ERROR { printf("%d %x", arg4, arg5); } dtrace:::BEGIN { trace(*(int *)NULL); }
BEGIN { self->spec = speculation(); } BEGIN /self->spec/ { speculate(self->spec); trace(1); } BEGIN /self->spec/ { commit(self->spec); }
END
bad=0
while IFS= read -r line; do
	case $line in *\$target*) target='-c true' ;; *) target= ;; esac
	"$DTRACE" -qen "$line" $target > "$TMP/out" 2> "$TMP/err" || { echo "$line"; cat "$TMP/err"; bad=1; }
done < "$TMP/list"
exit $bad
