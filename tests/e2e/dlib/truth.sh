# psinfo_t, lwpsinfo_t, fileinfo_t and socket types against what /proc and the socket interface say of the same process
# (d-language.md 10.5 to 10.9; providers.md 2).
grep -q " /dev/shm " /proc/mounts || { echo "no /dev/shm"; exit 67; }
cat >"$TMP/truth.d" <<'END'
syscall::getppid:entry
/pid == $target/
{
	printf("pid=%d\nppid=%d\npgid=%d\nsid=%d\n", curpsinfo->pr_pid, curpsinfo->pr_ppid, curpsinfo->pr_pgid,
	    curpsinfo->pr_sid);
	printf("ids=%d %d %d %d\n", curpsinfo->pr_uid, curpsinfo->pr_euid, curpsinfo->pr_gid, curpsinfo->pr_egid);
	printf("argc=%d\nargv=%x\nenvp=%x\n", curpsinfo->pr_argc, curpsinfo->pr_argv, curpsinfo->pr_envp);
	printf("tty=%d\nstart=%d\n", (int)curpsinfo->pr_ttydev, curpsinfo->pr_start.tv_sec);
	printf("VmSize=%d\nVmRSS=%d\nThreads=%d\n", curpsinfo->pr_size, curpsinfo->pr_rssize, curpsinfo->pr_nlwp);
	printf("psargs=%s\nfname=%s\n", curpsinfo->pr_psargs, curpsinfo->pr_fname);
	printf("lwp=%d %s S-%c %d %s %d %d %d\n", curlwpsinfo->pr_lwpid == curpsinfo->pr_lwp.pr_lwpid,
	    curlwpsinfo->pr_name, curlwpsinfo->pr_sname, curlwpsinfo->pr_nice, curlwpsinfo->pr_clname,
	    curlwpsinfo->pr_onpro, curlwpsinfo->pr_bindpro, curlwpsinfo->pr_syscall);
	printf("pri=%d\n", curlwpsinfo->pr_pri);
	printf("cwd=%s\nroot=%s\nexe=%s\n", cwd, root, d_path(&curthread->mm->exe_file->f_path));
}

syscall::getppid:entry
/pid == $target/
{
	printf("fd20=%s %s %s %d %x\n", fds[20].fi_name, fds[20].fi_dirname, fds[20].fi_pathname,
	    fds[20].fi_offset, fds[20].fi_oflags & (O_ACCMODE | O_APPEND));
	printf("fd21=%s %s %s %d %x\n", fds[21].fi_name, fds[21].fi_dirname, fds[21].fi_pathname,
	    fds[21].fi_offset, fds[21].fi_oflags & (O_ACCMODE | O_APPEND));
	printf("mount=%s\n", fds[21].fi_mount);
	printf("pipe=%s %s\n", fds[22].fi_pathname, fds[22].fi_fs);
	printf("none=%s %s\n", fds[1000].fi_name, xlate<fileinfo_t *>(getf(-1))->fi_mount);
}

syscall::getppid:entry
/pid == $target/
{
	this->s = xlate<tcpsinfo_t *>(__file_sock[getf(23)]);
	this->u = xlate<udpsinfo_t *>(__file_sock[getf(25)]);
	printf("tcp=%s:%d %s:%d state %d mss %d\n", this->s->tcps_laddr, this->s->tcps_lport, this->s->tcps_raddr,
	    this->s->tcps_rport, this->s->tcps_state, this->s->tcps_mss);
	printf("window=%d %d cwnd %d\n", this->s->tcps_snd_ws, this->s->tcps_rcv_ws, this->s->tcps_cwnd);
	printf("rtt=%d %d rto %d\n", this->s->tcps_rtt, this->s->tcps_rtt_sd, this->s->tcps_rto);
	printf("cookie=%d\n", xlate<csinfo_t *>(__file_sock[getf(23)])->cs_cid);
	printf("udp=%s:%d\n", this->u->udps_raddr, this->u->udps_lport);
}
END
"$DTRACE" -q -s "$TMP/truth.d" -c "$TRIGGER/whoami $TMP/truth" >"$TMP/out" 2>"$TMP/err" || { cat "$TMP/err"; exit 1; }
cat >>"$TMP/truth" <<END
psargs=$(printf '%.79s' "$TRIGGER/whoami $TMP/truth")
fname=some body
lwp=1 some body S-O 23 TS 0 0 110
fd20=passwd /etc /etc/passwd 5 0
fd21=whoami.tmp /dev/shm /dev/shm/whoami.tmp 0 401
mount=/dev/shm
pipe=<unknown> pipefs
none=<none> <none>
END
awk -F= -v tol="VmSize 0 VmRSS 1024 start 1" '
BEGIN { n = split(tol, t, " "); for (i = 1; i < n; i += 2) tolerance[t[i]] = t[i + 1]; bad = 0 }
FNR == NR { truth[$1] = substr($0, length($1) + 2); next }
{
	got = substr($0, length($1) + 2); seen[$1] = 1
	if ($1 in tolerance && got - truth[$1] <= tolerance[$1] && truth[$1] - got <= tolerance[$1]) next
	if (got != truth[$1]) { print $1 ": " got ", should be: " truth[$1]; bad = 1 }
}
END { for (k in truth) if (!(k in seen)) { print k " is missing"; bad = 1 }; exit bad }' "$TMP/truth" "$TMP/out"
