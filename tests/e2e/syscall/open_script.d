/* @@trigger: calls open 3 */
/* Associative arrays by thread, ifs and nested conditions in a script of the usual kind. */
#pragma D option quiet
int missing, other; string last;
syscall::openat:entry /pid == $target/ { path[tid] = copyinstr(arg1); ts[tid, "open"] = timestamp; }
syscall::openat:return /pid == $target && ts[tid, "open"] && path[tid] == "/no/such/file"/
{
	this->delta = timestamp - ts[tid, "open"];
	if ((int)arg0 >= 0) { @files[basename(path[tid])] = count(); }
	else if (errno == ENOENT) { missing++; last = path[tid]; }
	else other++;
	@slow[this->delta > 60000000000 ? "slow" : "fast"] = count();
	ts[tid, "open"] = 0; path[tid] = 0;
}
END { printf("%d %d %s\n", missing, other, last); printa("%s %@d\n", @files); printa("%s %@d\n", @slow); }
