/*
 * Zones of illumos and jails of FreeBSD: on Linux, a PID namespace with its host name, as containers have.
 *
 * "global" and jail 0 are the namespace that the system began with.
 */
inline int __zone_is_first = curthread->nsproxy == NULL || curthread->nsproxy->pid_ns_for_children->level == 0;

inline string zonename =
	__zone_is_first ? "global" : stringof(curthread->nsproxy->uts_ns->name.nodename);
inline string jailname =
	__zone_is_first ? "0" : stringof(curthread->nsproxy->uts_ns->name.nodename);
inline uint_t jid = __zone_is_first ? 0 : curthread->nsproxy->pid_ns_for_children->ns.inum;
