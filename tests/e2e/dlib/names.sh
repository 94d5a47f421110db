# strflags(), strerrno() and strsignal() agree with the constants of the D library: a constant's text begins with its name.
names() { # FILE PREFIX: the constants of that prefix
	sed -n "s/^inline int \\($2[A-Za-z0-9_]*\\) = .*/\\1/p" "$SRC/dlib/$1.d"
}
check() { # CALL FILE PREFIX [NAMES TO LEAVE OUT]: how many say something else than their name
	names "$2" "$3" | grep -Evx "${4:-none}" >"$TMP/n"
	[ -s "$TMP/n" ] || { echo "no constants $3* in $2.d"; exit 1; }
	{
		echo 'BEGIN {'
		sed "s/.*/this->s = $1&); printf(\"& %s\\\\n\", this->s);/" "$TMP/n"
		echo 'exit(0); }'
	} >"$TMP/n.d"
	"$DTRACE" -qs "$TMP/n.d" >"$TMP/out" || exit 1
	awk -v what="$1" 'NF == 2 && index("|" $2 "|", "|" $1 "|") == 0 { print what $1 ") is " $2; bad++ } NF == 2 { n++ }
		END { exit n == 0 || bad != 0 }' "$TMP/out" || exit 1
}
# left out are second names of a number, masks, and what is not a flag of that call
check 'strflags("open", ' fcntl O_ 'O_ACCMODE|O_NDELAY|O_FSYNC|O_RSYNC|O_LARGEFILE|O_EXEC|O_SEARCH'
check 'strflags("prot", ' mman PROT_
check 'strflags("map", ' mman MAP_ 'MAP_FILE|MAP_ANON|MAP_TYPE|MAP_HUGE_.*|MAP_UNINITIALIZED|MAP_FAILED|MAP_DROPPABLE'
check 'strflags("madvise", ' mman MADV_ 'MADV_HWPOISON|MADV_SOFT_OFFLINE|MADV_GUARD_.*'
check 'strflags("clone", ' process CLONE_ 'CLONE_ARGS_.*|CLONE_CLEAR_SIGHAND|CLONE_INTO_CGROUP'
check 'strflags("seek", ' fcntl SEEK_ 'SEEK_MAX'
check 'strflags("family", ' socket AF_ 'AF_FILE|AF_LOCAL|AF_ROUTE|AF_MAX|AF_ROSE|AF_DECnet|AF_NETBEUI|AF_SECURITY|AF_KEY|AF_ASH|AF_ECONET|AF_ATMSVC|AF_SNA|AF_IRDA|AF_WANPIPE|AF_IUCV|AF_IEEE802154|AF_CAIF'
check 'strflags("socket", ' socket SOCK_ 
check 'strflags("msg", ' socket MSG_ 'MSG_TRYHARD|MSG_EOF|MSG_SENDPAGE.*|MSG_CMSG_COMPAT|MSG_PROBE'
check 'strflags("poll", ' poll POLL 'POLL_.*'
check 'strflags("futex", ' futex FUTEX_ 'FUTEX_.*_PRIVATE|FUTEX_WAITERS|FUTEX_OWNER_DIED|FUTEX_TID_MASK|FUTEX_BITSET_MATCH_ANY|FUTEX_OP_.*|FUTEX_CMD_MASK|FUTEX2_.*|FUTEX_32|FUTEX_NO_NODE'
check 'strflags("mount", ' mount MS_ 'MS_RMT_MASK|MS_MGC_.*|MS_ACTIVE|MS_NOUSER|MS_VERBOSE|MS_BORN|MS_NOREMOTELOCK|MS_SUBMOUNT|MS_NOSEC|MS_ASYNC|MS_INVALIDATE|MS_SYNC'
check 'strerrno(' errno E 'EWOULDBLOCK|EDEADLOCK|ENOTSUP'
check 'strsignal(' signal SIG 'SIG_.*|SIGRTMAX|SIGPOLL|SIGIOT|SIGCLD|SIGUNUSED|SIGEV_.*|SIGSTKSZ'
check 'strflags("epoll", ' poll EPOLL 'EPOLL_.*'
check 'strflags("umount", ' mount MNT_
check 'strflags("fcntl", ' fcntl F_ 'F_RDLCK|F_WRLCK|F_UNLCK|F_EXLCK|F_SHLCK|F_SEAL_.*|F_OWNER_.*|F_LOCK|F_TLOCK|F_ULOCK|F_TEST|F_.*64|F_OK|F_.*FILE_RW_HINT|F_CANCELLK|F_DUPFD_QUERY|F_CREATED_QUERY'
