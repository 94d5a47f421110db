/* SPDX-License-Identifier: MIT */
/*
 * Zones of illumos and jails of FreeBSD: on Linux, a PID namespace with its host name, as containers have.
 *
 * "global" and jail 0 are the namespace that the system began with.
 */
inline uint_t __task_zone[struct task_struct *T] =
	T->nsproxy == NULL || T->nsproxy->pid_ns_for_children->level == 0 ? 0 :
	T->nsproxy->pid_ns_for_children->ns.inum;

inline string zonename =
	__task_zone[curthread] == 0 ? "global" : stringof(curthread->nsproxy->uts_ns->name.nodename);
inline string jailname =
	__task_zone[curthread] == 0 ? "0" : stringof(curthread->nsproxy->uts_ns->name.nodename);
inline uint_t jid = __task_zone[curthread];
