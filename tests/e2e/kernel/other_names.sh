# Variables of other systems' kernels have the numbers of this machine; the program's own names are not taken.
fail() { echo "$1"; cat "$TMP/out" "$TMP/err"; exit 1; }
awk '$1 == "nr_free_pages" { print $2 }' /proc/vmstat >"$TMP/free" # MemFree may have pages that the kernel has not yet prepared
timeout $((60 * ${PATIENCE:-1})) "$DTRACE" -qn 'BEGIN { physmem = 7; printf("%d %d %d %d %d %d\n", `physmem, `_pagesize, `ncpus, `hz * `usec_per_tick, `freemem, physmem); began = `lbolt; at = timestamp; }
	tick-300ms { printf("%d\n", (`lbolt - began) * `nsec_per_tick / ((timestamp - at) / 100)); exit(0); }' >"$TMP/out" 2>"$TMP/err" || fail "failed"
read -r physmem pagesize ncpus second free own <"$TMP/out"
[ "$physmem" = "$(getconf _PHYS_PAGES)" ] && [ "$pagesize" = "$(getconf PAGESIZE)" ] && [ "$ncpus" = "$(getconf _NPROCESSORS_ONLN)" ] && [ "$own" = 7 ] || fail "constants"
[ "$second" -gt 999000 ] && [ "$second" -le 1000000 ] || fail "ticks of a second"
read -r before <"$TMP/free"
[ $((free > before ? free - before : before - free)) -lt $((physmem / 4)) ] || fail "free memory: $free, $before pages"
percent=$(sed -n 2p "$TMP/out")
[ "$percent" -ge 90 ] && [ "$percent" -le 110 ] || fail "the ticks of a time"
# the load averages, where the kernel lists its variables and where it does not; /proc/loadavg may change meanwhile, and rounds
[ "$(uname -m)" = x86_64 ] || grep -qw avenrun /proc/kallsyms && {
	cat /proc/loadavg >"$TMP/before"
	timeout $((60 * ${PATIENCE:-1})) "$DTRACE" -qn 'BEGIN { i = 2; printf("%d.%02d %d.%02d\n", `hp_avenrun[0] / 65536, ((`hp_avenrun[0] % 65536) * 100) / 65536, `hp_avenrun[i] / 65536, ((`hp_avenrun[i] % 65536) * 100) / 65536); exit(0); }' >"$TMP/out" 2>"$TMP/err" || fail "load averages failed"
	cat /proc/loadavg >"$TMP/after"
	awk 'FILENAME ~ /out$/ { if (NF) { one = $1; last = $2 } next }
		NF { d = one - $1; e = last - $3; good += d <= 0.02 && d >= -0.02 && e <= 0.02 && e >= -0.02 }
		END { exit !good }' "$TMP/out" "$TMP/before" "$TMP/after" || fail "load averages: $(cat "$TMP/before" "$TMP/after")"
}
timeout $((60 * ${PATIENCE:-1})) "$DTRACE" -qn 'BEGIN { printf("%s %s %s %s %s\n", `utsname.sysname, `utsname.nodename, `utsname.release, stringof(`utsname.version), `utsname.machine); exit(0); }' >"$TMP/out" 2>"$TMP/err" || fail "utsname failed"
[ "$(head -1 "$TMP/out")" = "$(uname -snrvm)" ] || fail "utsname"
# what Linux has under another name is refused with that name; a name that Linux has is not
refused() { timeout $((60 * ${PATIENCE:-1})) "$DTRACE" -qn "BEGIN { trace($1); exit(0); }" >"$TMP/out" 2>"$TMP/err" && fail "$1 is accepted"; grep -qF "$2" "$TMP/err" || fail "'$2' is not said of $1"; }
refused 'curthread->mm->t_procp' 'hint: Linux: curpsinfo describes the process'
refused 'curthread->mm->t_cpu->cpu_id' 'hint: Linux: curcpu describes the CPU'
refused 'curthread->mm->p_user' 'hint: Linux: execname'
refused '((proc_t *)arg0)->p_user.u_finfo' 'hint: Linux: fds[n].fi_pathname'
refused 'curthread->t_procp->p_nice' 'hint: Linux: curlwpsinfo->pr_nice'
refused '((struct proc *)arg0)->p_pid' "hint: Linux: 'struct task_struct *'"
refused '((thread_t)arg0)->t_tid' "hint: Linux: 'struct task_struct *'"
timeout $((60 * ${PATIENCE:-1})) "$DTRACE" -x nolibs -qn 'BEGIN { trace(curthread->p_user.u_comm); exit(0); }' >"$TMP/out" 2>"$TMP/err" && fail "p_user without the library"
grep -q "no member 'p_user'" "$TMP/err" && grep -q 'hint: Linux: execname' "$TMP/err" || fail "what is said of p_user without the library"
refused '`availrmem' 'hint: Linux: `freemem'
refused 'curcpu->cpu_disp->disp_nrunnable' 'hint: Linux: sched:::enqueue'
refused '((struct dev_info *)arg0)->devi_node_name' 'hint: Linux: sdt:::interrupt-start'
timeout $((60 * ${PATIENCE:-1})) "$DTRACE" -n 'io:nfs::start { exit(0); }' >"$TMP/out" 2>"$TMP/err" && fail "a module of io's"
grep -q "hint: probes of provider 'io' have no module and no function: io:::start; .*NFS client" "$TMP/err" || fail "that io has no modules"
timeout $((60 * ${PATIENCE:-1})) "$DTRACE" -n 'mib:::udpOutErrors,mib:::tcpListenDrop { exit(0); }' >"$TMP/out" 2>"$TMP/err" && fail "counters that Linux has not"
grep -q 'syscall::send\*:return with errno' "$TMP/err" || fail "what to use instead of udpOutErrors"
refused '((vnode_t *)arg0)->v_path' 'hint: Linux: a file is a'
refused '((dsl_pool_t *)arg0)->dp_spa' 'unknown type "dsl_pool_t" in a cast'
refused '((znode_t *)arg0)->z_id' "hint: Linux: 'struct inode *'"
refused '((struct sk_buff *)arg0)->b_wptr' "hint: Linux: the member 'tail'"
refused '`panicstr' 'hint: Linux: pstore'
refused '((mblk_t *)arg0)->b_rptr' "hint: Linux: 'struct sk_buff *'"
timeout $((60 * ${PATIENCE:-1})) "$DTRACE" -n 'syscall::$1:entry { exit(0); }' >"$TMP/out" 2>"$TMP/err" && fail "a missing argument is accepted"
grep -q 'takes 1 argument, 0 given: $1 stands for the function' "$TMP/err" || fail "which argument is missing"
timeout $((60 * ${PATIENCE:-1})) "$DTRACE" -qn 'struct x { int t_cpu; int p_pid; }; BEGIN { this->t = (struct x *)alloca(8); this->t->t_cpu = 3; printf("%d %d\n", this->t->t_cpu, this->t->p_pid); exit(0); }' >"$TMP/out" 2>"$TMP/err" || fail "names of a program's own structure"
grep -qx '3 0' "$TMP/out" || fail "members of a program's own structure"
# the Linux names that the hints give exist
timeout $((60 * ${PATIENCE:-1})) "$DTRACE" -qn 'BEGIN { printf("%d\n", curthread->group_leader != NULL && curthread->thread_info.cpu < `ncpus && curthread->prio >= 0 && curthread->policy >= 0 && curthread->cred != NULL &&
	curthread->cpus_ptr != NULL && curthread->start_time > 0 && curthread->real_parent->tgid == ppid && curthread->nsproxy != NULL && curthread->signal->nr_threads > 0 && curthread->cgroups != NULL &&
	curthread->mm->exe_file != NULL && curthread->fs->root.dentry != NULL && curthread->nsproxy->uts_ns != NULL && curlwpsinfo->pr_pri >= 0 && curlwpsinfo->pr_clname != NULL && `physmem > 0);
	this->a = (struct bio *)0; this->b = (struct request *)0; this->c = (struct sk_buff *)0; this->d = (struct tcp_sock *)0; this->e = (struct net_device *)0; this->f = (struct rq *)0;
	this->g = (struct work_struct *)0; this->h = (struct timer_list *)0; this->i = (struct hrtimer *)0; this->j = (struct iov_iter *)0; this->k = (struct super_block *)0; exit(0); }' >"$TMP/out" 2>"$TMP/err" || fail "a name of Linux is missing"
grep -qx 1 "$TMP/out" || fail "what the names of Linux have"
# members that a structure of Linux has under another name: each row of the table leads somewhere, and they mean what they say
sed -n 's/^D_ALIAS("\(.*\)", "\(.*\)", ".*/\1 \2/p' "$SRC/src/d/parse/foreign.def" >"$TMP/aliases"
[ "$(grep -c . "$TMP/aliases")" -gt 20 ] || { echo "the table of members is short"; exit 1; }
while read -r sou name; do echo "BEGIN { this->x = sizeof(((struct $sou *)0)->$name); }"; done <"$TMP/aliases" >"$TMP/aliases.d"
"$DTRACE" -qs "$TMP/aliases.d" -n 'BEGIN { exit(0); }' || { echo "a member of the table is not there"; exit 1; }
out=$("$DTRACE" -qn 'syscall::exit_group:entry /pid == $target/ { this->p = curthread->t_procp;
	printf("%d%d%d%d %s %d%d %d", this->p->p_pid == pid, curthread->t_tid == tid, this->p->p_ppid == ppid, this->p->p_parent->p_pid == ppid, stringof(this->p->p_comm),
	    curthread->t_cred->cr_ruid == uid, curthread->td_proc->p_ucred->cr_rgid == gid, this->p->p_lwpcnt); }' -c /bin/true)
[ "$out" = "1111 true 11 1" ] || { echo "members of other systems: $out"; exit 1; }
# members that are computed: each row of the table leads to an inline, and what they say of a program is so
sed -n 's/^D_COMPUTED("\(.*\)", "\(.*\)", ".*/\1 \2/p' "$SRC/src/d/parse/foreign.def" >"$TMP/computed"
[ "$(grep -c . "$TMP/computed")" -gt 10 ] || { echo "the table of computed members is short"; exit 1; }
while read -r sou name; do echo "BEGIN { this->x = sizeof(((struct $sou *)0)->$name); }"; done <"$TMP/computed" >"$TMP/computed.d"
"$DTRACE" -qs "$TMP/computed.d" -n 'BEGIN { exit(0); }' || { echo "a computed member is not there"; exit 1; }
cat >"$TMP/computed.d" <<'END'
#pragma D option quiet
syscall::exit_group:entry /pid == $target/
{
	this->p = curthread->t_procp;
	this->u = this->p->p_parent;
	printf("%s|%s|%d|%s\n", this->p->p_user.u_comm, curproc->p_user.u_psargs, this->p->p_user.u_argc, copyinstr(*(uintptr_t *)copyin(this->p->p_user.u_argv + 8, 8)));
	printf("%s %s %s %s\n", this->p->p_exec->v_path, this->p->p_textvp->v_path, this->p->p_user.u_cdir->v_path, this->p->p_user.u_rdir->v_path);
	printf("%d %d %d %d %d\n", this->p->p_pidp->pid_id == pid, this->u->p_pidp->pid_id == ppid, this->p->p_pgidp->pid_id, this->p->p_pgrp->pg_id, this->p->p_sessp->s_sidp->pid_id == this->p->p_session->s_sid);
	printf("%d %d %d\n", this->p->p_session->s_sid, this->p->p_user.u_start.tv_sec, curthread->t_start);
	printf("%d %d %d\n", curthread->t_cpu->cpu_id == cpu, curthread->td_oncpu == cpu && curthread->td_lastcpu == cpu, this->p->p_stat == SONPROC);
	printf("%s %d %s %s\n", this->p->p_zone->zone_name, this->p->p_zone->zone_id == curpsinfo->pr_zoneid, (*this->p).p_user.u_comm, this->p->p_name);
	printf("%s|%d|%s\n", this->p->p_args->ar_args, this->p->p_args->ar_length, memstr(this->p->p_args->ar_args, ' ', this->p->p_args->ar_length));
}
END
cp /bin/sleep "$TMP/computed_sleep"
cd "$TMP" && setsid "$DTRACE" -s computed.d -c './computed_sleep 0.01 0.02' >out 2>err || fail "computed members"
sed -n 1p out | grep -qxF 'computed_sleep|./computed_sleep 0.01 0.02|3|0.01' && sed -n 2p out | grep -qx "$TMP/computed_sleep $TMP/computed_sleep $TMP /" || fail "p_user, p_exec"
# all threads of a queue wait but the one that runs; the idle thread is in no queue, and a thread may have been woken beside it
"$DTRACE" -qn 'profile-97 /curthread->t_cpu->cpu_disp->disp_nrunnable != (curthread->t_cpu->cpu_thread == curthread->t_cpu->cpu_idle_thread ? curthread->t_cpu->nr_running : curthread->t_cpu->nr_running - 1) ||
	curthread->t_cpu->cpu_id != cpu || curthread->t_cpu->cpu_chip != chip || curthread->t_cpu->cpu_lgrp != lgrp || curthread->t_cpu->cpu_info.pi_state != P_ONLINE/ { printf("wrong on CPU %d: %d", cpu, curthread->t_cpu->cpu_disp->disp_nrunnable); }
	tick-20ms /++n == 10/ { exit(0); }' >run 2>&1 || { cat run; exit 1; }
grep . run && fail "the run queue"
sed -n 7p out | grep -qxF './computed_sleep 0.01 0.02|27|./computed_sleep 0.01 0.02' || fail "p_args"
read -r own parent group same session <<END
$(sed -n 3p out)
END
read -r sid start began <<END
$(sed -n 4p out)
END
[ "$own$parent$session" = 111 ] && [ "$group" = "$same" ] && [ "$group" -gt 0 ] && [ "$sid" -gt 0 ] || fail "numbers of processes"
now=$(date +%s)
[ "$start" = "$began" ] && [ "$start" -le "$now" ] && [ "$start" -gt $((now - 60 * ${PATIENCE:-1})) ] || fail "the program began at $start, $began; now it is $now"
sed -n 5p out | grep -qx '1 1 1' && sed -n 6p out | grep -qE '^[^ ]+ 1 computed_sleep computed_sleep$' || fail "the CPU, the state, the zone"
exit 0
