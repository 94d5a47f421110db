/* 1.7: in a file a word that names a type opens a declaration. */
int*p;
uint64_t x;
uint64_t*y;
kmod`ktype_t *k;
vmlinux`struct task_struct *task;
struct vmlinux`list_head head;
pid { }
size_tx:::entry { }
typedef int BEGIN;
BEGIN { }
