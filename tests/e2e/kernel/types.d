/* Kernel types by name: typedefs, tags, enumerators, sizes, scopes (d-language.md 1.8) */
#pragma D option quiet
struct local { u32 a; struct list_head l[2]; struct vmlinux`list_head m; };
BEGIN
{
	printf("%d %d %d\n", sizeof(u16), sizeof(struct list_head), sizeof(struct local));
	printf("%d %d\n", offsetof(struct local, l), offsetof(struct list_head, prev));
	printf("%d %d\n", PIDTYPE_PGID, BPF_MAP_TYPE_ARRAY);
	printf("%d %d\n", sizeof(vmlinux`u64), sizeof(struct vmlinux`task_struct) == sizeof(struct task_struct));
	printf("%d\n", (enum pid_type)2 == PIDTYPE_PGID);
	printf("%x\n", (u8)0x1ff);
	printf("%d\n", sizeof(D`int8_t));
	exit(0);
}
