/* SPDX-License-Identifier: MIT */
/* Structures of the kernel that are there from the start: ksym.d has the rest. */
extern struct task_struct __ksym_init_task;
extern struct mm_struct __ksym_init_mm;
extern struct cred __ksym_init_cred;
extern struct nsproxy __ksym_init_nsproxy;
extern struct pid_namespace __ksym_init_pid_ns;
extern struct user_namespace __ksym_init_user_ns;
extern struct uts_namespace __ksym_init_uts_ns;
extern struct net __ksym_init_net;
extern struct list_head __ksym_super_blocks;
extern struct list_head __ksym_modules;
extern struct list_head __ksym_net_namespace_list;
