# Variables of other systems' kernels have the numbers of this machine; the program's own names are not taken.
fail() { echo "$1"; cat "$TMP/out" "$TMP/err"; exit 1; }
awk '$1 == "MemFree:" { print int($2 * 1024 / 4096) }' /proc/meminfo >"$TMP/free"
timeout 60 "$DTRACE" -qn 'BEGIN { physmem = 7; printf("%d %d %d %d %d %d\n", `physmem, `_pagesize, `ncpus, `hz * `usec_per_tick, `freemem, physmem); began = `lbolt; at = timestamp; }
	tick-300ms { printf("%d\n", (`lbolt - began) * `nsec_per_tick / ((timestamp - at) / 100)); exit(0); }' >"$TMP/out" 2>"$TMP/err" || fail "failed"
read -r physmem pagesize ncpus second free own <"$TMP/out"
[ "$physmem" = "$(getconf _PHYS_PAGES)" ] && [ "$pagesize" = "$(getconf PAGESIZE)" ] && [ "$ncpus" = "$(getconf _NPROCESSORS_ONLN)" ] && [ "$own" = 7 ] || fail "constants"
[ "$second" -gt 999000 ] && [ "$second" -le 1000000 ] || fail "ticks of a second"
read -r before <"$TMP/free"
[ $((free > before ? free - before : before - free)) -lt $((physmem / 4)) ] || fail "free memory: $free, $before pages"
percent=$(sed -n 2p "$TMP/out")
[ "$percent" -ge 90 ] && [ "$percent" -le 110 ] || fail "the ticks of a time"
# what Linux has under another name is refused with that name; a name that Linux has is not
refused() { timeout 60 "$DTRACE" -qn "BEGIN { trace($1); exit(0); }" >"$TMP/out" 2>"$TMP/err" && fail "$1 is accepted"; grep -qF "$2" "$TMP/err" || fail "'$2' is not said of $1"; }
refused 'curthread->mm->t_procp' 'hint: Linux: curpsinfo describes the process'
refused 'curthread->t_cpu->cpu_id' 'hint: Linux: curcpu describes the CPU'
refused '((proc_t *)arg0)->p_user' 'hint: Linux: execname'
refused '`hp_avenrun[0]' 'hint: Linux: /proc/loadavg'
refused '((vnode_t *)arg0)->v_path' 'hint: Linux: a file is a'
refused '((dsl_pool_t *)arg0)->dp_spa' 'unknown type "dsl_pool_t" in a cast'
refused '((znode_t *)arg0)->z_id' "hint: Linux: 'struct inode *'"
refused '((struct sk_buff *)arg0)->b_wptr' "hint: Linux: the member 'tail'"
refused '`panicstr' 'hint: Linux: pstore'
refused '((mblk_t *)arg0)->b_rptr' "hint: Linux: 'struct sk_buff *'"
timeout 60 "$DTRACE" -n 'syscall::$1:entry { exit(0); }' >"$TMP/out" 2>"$TMP/err" && fail "a missing argument is accepted"
grep -q 'takes 1 argument, 0 given: $1 stands for the function' "$TMP/err" || fail "which argument is missing"
timeout 60 "$DTRACE" -qn 'struct x { int t_cpu; int p_pid; }; BEGIN { this->t = (struct x *)alloca(8); this->t->t_cpu = 3; printf("%d %d\n", this->t->t_cpu, this->t->p_pid); exit(0); }' >"$TMP/out" 2>"$TMP/err" || fail "names of a program's own structure"
grep -qx '3 0' "$TMP/out" || fail "members of a program's own structure"
# the Linux names that the hints give exist
timeout 60 "$DTRACE" -qn 'BEGIN { printf("%d\n", curthread->group_leader != NULL && curthread->thread_info.cpu < `ncpus && curthread->prio >= 0 && curthread->policy >= 0 && curthread->cred != NULL &&
	curthread->cpus_ptr != NULL && curthread->start_time > 0 && curthread->real_parent->tgid == ppid && curthread->nsproxy != NULL && curthread->signal->nr_threads > 0 && curthread->cgroups != NULL &&
	curthread->mm->exe_file != NULL && curthread->fs->root.dentry != NULL && curthread->nsproxy->uts_ns != NULL && curlwpsinfo->pr_pri >= 0 && curlwpsinfo->pr_clname != NULL && `physmem > 0);
	this->a = (struct bio *)0; this->b = (struct request *)0; this->c = (struct sk_buff *)0; this->d = (struct tcp_sock *)0; this->e = (struct net_device *)0; this->f = (struct rq *)0;
	this->g = (struct work_struct *)0; this->h = (struct timer_list *)0; this->i = (struct hrtimer *)0; this->j = (struct iov_iter *)0; this->k = (struct super_block *)0; exit(0); }' >"$TMP/out" 2>"$TMP/err" || fail "a name of Linux is missing"
grep -qx 1 "$TMP/out" || fail "what the names of Linux have"
# members that a structure of Linux has under another name: each row of the table leads somewhere, and they mean what they say
sed -n 's/^D_ALIAS("\(.*\)", "\(.*\)", ".*/\1 \2/p' "$SRC/src/d/foreign.def" >"$TMP/aliases"
[ "$(grep -c . "$TMP/aliases")" -gt 20 ] || { echo "the table of members is short"; exit 1; }
while read -r sou name; do echo "BEGIN { this->x = sizeof(((struct $sou *)0)->$name); }"; done <"$TMP/aliases" >"$TMP/aliases.d"
"$DTRACE" -qs "$TMP/aliases.d" -n 'BEGIN { exit(0); }' || { echo "a member of the table is not there"; exit 1; }
out=$("$DTRACE" -qn 'syscall::exit_group:entry /pid == $target/ { this->p = curthread->t_procp;
	printf("%d%d%d%d %s %d%d %d", this->p->p_pid == pid, curthread->t_tid == tid, this->p->p_ppid == ppid, this->p->p_parent->p_pid == ppid, stringof(this->p->p_comm),
	    curthread->t_cred->cr_ruid == uid, curthread->td_proc->p_ucred->cr_rgid == gid, this->p->p_lwpcnt); }' -c /bin/true)
[ "$out" = "1111 true 11 1" ] || { echo "members of other systems: $out"; exit 1; }
exit 0
