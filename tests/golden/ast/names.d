/* 1.3, 1.8: backquotes in names, aggregations. */
BEGIN
{
	`jiffies; vmlinux`jiffies; mod``sym; ``sym; 8021q`vlan; if_foo.ko`sym.member;
	(vmlinux`struct task_struct *)x;
	sizeof (kmod`ktype_t);
	@ = count(); @a = count(); @_x9[1] = count(); @[1, "x"] = count(); @a[1][2] = count();
}
