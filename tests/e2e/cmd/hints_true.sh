# What a hint says to type works: 'wrong program<TAB>what the hint says to type<TAB>right program', where <> stands for the second.
bad=0
n=0
target=
while IFS='	' read -r wrong remedy right; do
	case $wrong in '' | '#'*) continue ;; esac
	n=$((n + 1))
	right=$(printf '%s' "$right" | awk -v r="$(printf '%s' "$remedy" | sed 's/[\\&]/\\\\&/g')" '{ gsub(/<>/, r); print }')
	case $wrong$right in *'$target'*) target="-p $$" ;; *) target= ;; esac
	out=$("$DTRACE" -e $target -n "$wrong" 2>&1)
	case $out in *"hint: "*"$remedy"*) ;; *) echo "no '$remedy' for: $wrong"; echo "$out"; bad=1 ;; esac
	out=$("$DTRACE" -ew $target -n "$right" 2>&1) || { echo "'$remedy' does not help: $right"; echo "$out"; bad=1; }
	case $out in *warning*) echo "'$remedy' is warned of: $right"; echo "$out"; bad=1 ;; esac
done <<'EOF'
# names of bpftrace's variables
BEGIN { printf("%s\n", comm); }	execname	BEGIN { printf("%s\n", <>); }
BEGIN { @[comm] = count(); }	execname	BEGIN { @[<>] = count(); }
BEGIN { trace(nsecs); }	timestamp	BEGIN { trace(<>); }
BEGIN { trace(elapsed); }	timestamp	BEGIN { start = <>; } END { trace(<> - start); }
BEGIN { @[kstack] = count(); }	stack()	BEGIN { @[<>] = count(); }
BEGIN { @[ustack] = count(); }	ustack()	BEGIN { @[<>] = count(); }
BEGIN { trace(curtask->comm); }	curthread	BEGIN { trace(<>->comm); }
BEGIN { trace(cgroup); }	stringof(curthread->cgroups->dfl_cgrp->kn->name)	BEGIN { trace(<>); }
BEGIN { trace(jiffies); }	`lbolt	BEGIN { trace(<>); }
BEGIN { trace(ncpus); }	`ncpus	BEGIN { trace(<>); }
BEGIN { trace(numaid); }	curcpu->cpu_lgrp	BEGIN { trace(<>); }
BEGIN { trace(cpid); }	$target	BEGIN { trace(<>); }
BEGIN { trace(tgid); }	pid	BEGIN { trace(<>); }
BEGIN { trace(cmdline); }	curpsinfo->pr_psargs	BEGIN { trace(<>); }
BEGIN { trace(cpuid); }	cpu	BEGIN { trace(<>); }
BEGIN { x = nil; }	NULL	BEGIN { x = <>; }
BEGIN { x = null; }	NULL	BEGIN { x = <>; }
BEGIN { trace(now); }	timestamp	BEGIN { trace(<>); }
BEGIN { trace(nproc); }	`ncpus	BEGIN { trace(<>); }
BEGIN { trace(process); }	execname	BEGIN { trace(<>); }
BEGIN { trace(procname); }	execname	BEGIN { trace(<>); }
BEGIN { trace(thread); }	tid	BEGIN { trace(<>); }
BEGIN { trace(time); }	walltimestamp	BEGIN { trace(<>); }
BEGIN { trace(username); }	uid	BEGIN { trace(<>); }
syscall::read:return { trace(retval); }	arg1	syscall::read:return { trace(<>); }
syscall::read:entry { trace(args.fd); }	args[0]	syscall::read:entry { trace(<>); }
syscall::read:entry { trace(args->fd); }	args[0]	syscall::read:entry { trace(<>); }
# and functions, of SystemTap's and of C
BEGIN { @ = hist(1); }	quantize	BEGIN { @ = <>(1); }
BEGIN { @ = lhist(1, 0, 10, 1); }	lquantize	BEGIN { @ = <>(1, 0, 10, 1); }
BEGIN { @ = histogram(1); }	quantize	BEGIN { @ = <>(1); }
BEGIN { echo("text"); }	printf	BEGIN { <>("text"); }
BEGIN { exec("date"); }	system	BEGIN { <>("date"); }
BEGIN { kill(9); }	raise	BEGIN { <>(9); }
BEGIN { @ = stats(1); }	avg	BEGIN { @ = <>(1); }
syscall::open:entry { trace(str(arg0)); }	copyinstr	syscall::open:entry { trace(<>(arg0)); }
syscall::open:entry { trace(user_string(arg0)); }	copyinstr	syscall::open:entry { trace(<>(arg0)); }
BEGIN { trace(kstr(curthread->comm)); }	stringof	BEGIN { trace(<>(curthread->comm)); }
BEGIN { trace(kernel_string(curthread->comm)); }	stringof	BEGIN { trace(<>(curthread->comm)); }
syscall::write:entry { buf(arg1, 16); }	tracemem(copyin(arg1, 16), 16)	syscall::write:entry { <>; }
BEGIN { @[kstack(3)] = count(); }	stack	BEGIN { @[<>(3)] = count(); }
BEGIN { backtrace(); }	stack	BEGIN { <>(); }
BEGIN { print_backtrace(); }	stack	BEGIN { <>(); }
BEGIN { ubacktrace(); }	ustack	BEGIN { <>(); }
BEGIN { print_ubacktrace(); }	ustack	BEGIN { <>(); }
BEGIN { @[ksym(arg0)] = count(); }	sym	BEGIN { @[<>(arg0)] = count(); }
BEGIN { delete(x[1]); }	x[1] = 0	BEGIN { x[1] = 5; <>; }
BEGIN { @a = count(); zero(@a); }	clear	BEGIN { @a = count(); <>(@a); }
BEGIN { trace(len("abc")); }	strlen	BEGIN { trace(<>("abc")); }
BEGIN { trace(atoi("5")); }	strtoll	BEGIN { trace(<>("5")); }
BEGIN { join(arg0); }	curpsinfo->pr_psargs	BEGIN { trace(<>); }
BEGIN { trace(gettimeofday_ns()); }	walltimestamp	BEGIN { trace(<>); }
BEGIN { trace(gettimeofday_us()); }	walltimestamp / 1000	BEGIN { trace(<>); }
BEGIN { trace(nsecs()); }	timestamp	BEGIN { trace(<>); }
BEGIN { trace(macaddr(arg0)); }	link_ntop(1, (void *)arg0)	BEGIN { trace(<>); }
BEGIN { trace(ntop(2, curthread)); }	inet_ntop	BEGIN { trace(<>(2, curthread)); }
BEGIN { x = alloca(8); memcpy(x, "text", 4); }	bcopy	BEGIN { x = alloca(8); <>("text", x, 4); }
BEGIN { println("text"); }	printf	BEGIN { <>("text\n"); }
BEGIN { puts("text"); }	printf	BEGIN { <>("text\n"); }
BEGIN { trace(reg("ip")); }	uregs[R_PC]	BEGIN { trace(<>); }
BEGIN { signal("KILL"); }	raise	BEGIN { <>(9); }
BEGIN { sprintf("%s%d", "a", 1); }	strjoin("a", lltostr(1))	BEGIN { trace(<>); }
BEGIN /strcmp(execname, "sh") == 0/ { exit(0); }	execname == "sh"	BEGIN /<>/ { exit(0); }
BEGIN /strncmp(execname, "sh", 2) == 0/ { exit(0); }	substr(execname, 0, 2) == "sh"	BEGIN /<>/ { exit(0); }
BEGIN /strcontains(execname, "sh")/ { exit(0); }	strstr(execname, "sh") != NULL	BEGIN /<>/ { exit(0); }
BEGIN { time("%H:%M:%S"); }	printf("%Y", walltimestamp)	BEGIN { <>; }
BEGIN { trace(strftime("%H", nsecs)); }	printf("%Y", walltimestamp)	BEGIN { <>; }
# calls without parentheses or arguments, and arrays without elements
BEGIN { exit }	exit(0)	BEGIN { <> }
BEGIN { exit; }	exit(0)	BEGIN { <>; }
BEGIN { exit() }	exit(0)	BEGIN { <> }
BEGIN { stack }	stack()	BEGIN { <> }
BEGIN { trace(strlen); }	strlen("text")	BEGIN { trace(<>); }
BEGIN { @ = count; }	count()	BEGIN { @ = <>; }
BEGIN { count(); }	@a = count()	BEGIN { <>; }
BEGIN { @ = sum(); }	sum(1)	BEGIN { @ = <>; }
BEGIN { trace(index("a")); }	index("text", "text")	BEGIN { trace(<>); }
BEGIN { trace(fds); }	fds[0]	BEGIN { trace(<>.fi_name); }
BEGIN { x[1, 2] = 1; trace(x); }	x[KEY, KEY]	BEGIN { x[1, 2] = 1; trace(x[1, 2]); /* <> */ }
BEGIN { trace(pid()); }	leave the parentheses out	BEGIN { trace(pid); }
# texts
BEGIN { trace("a" + 1); }	strjoin("a", lltostr(1))	BEGIN { trace(<>); }
BEGIN { trace("abc" + 1); }	stringof("abc" + 1)	BEGIN { trace(<>); }
BEGIN { x = "a" + "b"; }	strjoin()	BEGIN { x = strjoin("a", "b"); /* <> */ }
BEGIN /execname == bash/ { exit(0); }	"bash"	BEGIN /execname == <>/ { exit(0); }
BEGIN /execname == 'bash'/ { exit(0); }	"bash"	BEGIN /execname == <>/ { exit(0); }
BEGIN /execname = "sh"/ { exit(0); }	==	BEGIN /execname <> "sh"/ { exit(0); }
BEGIN { printf("%s", pid); }	%d	BEGIN { printf("<>", pid); }
BEGIN { printf("%d", execname); }	%s	BEGIN { printf("<>", execname); }
BEGIN { x = "a" . "b"; }	strjoin(text, text)	BEGIN { x = strjoin("a", "b"); /* <> */ }
BEGIN { printf("hello); }	close it with another "	BEGIN { printf("hello"); /* <> */ }
# conditions and statements of other languages
BEGIN /x = 5/ { exit(0); }	==	BEGIN { x = 1; } BEGIN /x <> 5/ { exit(0); }
BEGIN { if (x = 5) exit(0); }	==	BEGIN { x = 1; if (x <> 5) exit(0); }
BEGIN /pid == 5 and uid == 0/ { exit(0); }	&&	BEGIN /pid == 5 <> uid == 0/ { exit(0); }
BEGIN /pid == 5 or uid == 0/ { exit(0); }	||	BEGIN /pid == 5 <> uid == 0/ { exit(0); }
BEGIN /execname eq "sh"/ { exit(0); }	==	BEGIN /execname <> "sh"/ { exit(0); }
BEGIN /execname ne "sh"/ { exit(0); }	!=	BEGIN /execname <> "sh"/ { exit(0); }
BEGIN { if (not pid) exit(0); }	!	BEGIN { if (<>pid) exit(0); }
BEGIN { if (pid == 5) then exit(0); }	if (condition) statement	BEGIN { if (pid == 5) exit(0); /* <> */ }
BEGIN { if (pid == 5) exit(0); elif (pid == 6) { exit(1); } }	else if (condition) statement	BEGIN { if (pid == 5) exit(0); else if (pid == 6) { exit(1); } /* <> */ }
BEGIN { unless (pid) exit(0); }	if (!(condition)) statement	BEGIN { if (!(pid)) exit(0); /* <> */ }
BEGIN { var x = 5; }	this->name = value	BEGIN { this->x = 5; /* <> */ }
BEGIN { let x = 5; }	this->name = value	BEGIN { this->x = 5; /* <> */ }
BEGIN { exit(0); } }	remove it	BEGIN { exit(0); /* <> */ }
# aggregations
BEGIN { @a += 5; }	@name = sum(value)	BEGIN { @a = sum(5); /* <> */ }
BEGIN { trace(@a); @a = count(); }	printa(@a)	BEGIN { @a = count(); <>; }
BEGIN { print(@a); @a = count(); }	printa(@a)	BEGIN { @a = count(); <>; }
BEGIN { @a++; }	@a = count()	BEGIN { <>; }
BEGIN { @a = count(); @a = sum(1); }	use another name	BEGIN { @a = count(); @b = sum(1); /* <> */ }
BEGIN { @a = count(); printf("%d", @a); }	printa	BEGIN { @a = count(); <>("%@d", @a); }
# what is near
BEGI { exit(0); }	BEGIN	<> { exit(0); }
syscal:::entry { exit(0); }	syscall	<>:::entry { exit(0); }
syscall::opn:entry { exit(0); }	open	syscall::<>:entry { exit(0); }
BEGIN { pritnf("x"); }	printf	BEGIN { <>("x"); }
BEGIN { trace(execnam); }	execname	BEGIN { trace(<>); }
BEGIN { self->x = 1; trace(x); }	self->x	BEGIN { self->x = 1; trace(<>); }
BEGIN { trace(total); }	int total;	<> BEGIN { trace(total); }
# descriptions of other tracers, and of other places
tracepoint:syscalls:sys_enter_openat { exit(0); }	syscall::openat:entry	<> { exit(0); }
tracepoint:raw_syscalls:sys_exit { exit(0); }	syscall:::return	<> { exit(0); }
tracepoint:sched:sched_switch { exit(0); }	sdt:sched::sched_switch	<> { trace(args[0]); }
rawtracepoint:sched_switch { exit(0); }	rawtp:::sched_switch	<> { exit(0); }
uprobe:libc:malloc { exit(0); }	pid$target:libc:malloc:entry	<> { exit(0); }
uretprobe:libc:malloc { exit(0); }	pid$target:libc:malloc:return	<> { exit(0); }
software:page-faults:100 { exit(0); }	cpc:::page_faults-all-100	<> { exit(0); }
s:cs { exit(0); }	cpc:::context_switches-all-100	<> { exit(0); }
interval:s:1 { exit(0); }	tick-1s	<> { exit(0); }
interval:1s { exit(0); }	tick-1s	<> { exit(0); }
profile:hz:99 { exit(0); }	profile-99hz	<> { exit(0); }
interval:hz:10 { exit(0); }	tick-10hz	<> { exit(0); }
tick:1s { exit(0); }	tick-1s	<> { exit(0); }
timer:ms:100 { exit(0); }	tick-100ms	<> { exit(0); }
sys_enter_read { exit(0); }	syscall::read:entry	<> { exit(0); }
sys_exit_read { exit(0); }	syscall::read:return	<> { exit(0); }
syscall:read:entry { exit(0); }	syscall::read:entry	<> { exit(0); }
io:start { exit(0); }	io:::start	<> { exit(0); }
syscall::sys_read:entry { exit(0); }	read	syscall::<>:entry { exit(0); }
syscall::__x64_sys_read:entry { exit(0); }	read	syscall::<>:entry { exit(0); }
syscall::read:enter { exit(0); }	entry	syscall::read:<> { exit(0); }
syscall::read:exit { exit(0); }	return	syscall::read:<> { exit(0); }
proc:::fork { exit(0); }	create	proc:::<> { exit(0); }
sched:::switch { exit(0); }	on-cpu	sched:::<> { exit(0); }
tcp:::connect { exit(0); }	connect-	tcp:::<>request { exit(0); }
syscall::openat { exit(0); }	syscall::openat:	<> { exit(0); }
EOF
[ $n -ge 85 ] || { echo "$n programs"; bad=1; }

# Each row of the table of names is tried above.
grep -oE '^D_FOREIGN\((VARIABLE|FUNCTION), "[a-z_]*"' "$SRC/src/d/parse/foreign.def" | sed 's/.*"\(.*\)"/\1/' | while read -r name; do
	grep -qE "^(BEGIN|syscall)[^	]*[^a-z_]$name[^a-z_]" "$0" || echo "$name is not tried"
done >"$TMP/untried"
[ ! -s "$TMP/untried" ] || { cat "$TMP/untried"; bad=1; }

# Hints at hardware's events name those of provider cpc, whether or not this machine has them.
out=$("$DTRACE" -n 'hardware:cache-misses:1000000 { exit(0); }' 2>&1)
case $out in *'cpc:::cache_misses-all-1000000'*) ;; *) echo "$out"; bad=1 ;; esac
exit $bad
