/* Kernel symbols: the kernel's own BTF begins with 0xeb9f (Linux include/uapi/linux/btf.h); functions are addresses */
#pragma D option quiet
extern uint16_t __start_BTF;
BEGIN
{
	printf("%x\n", *(uint16_t *)&`__start_BTF);
	printf("%x\n", *(uint16_t *)&vmlinux`__start_BTF);
	printf("%x\n", __start_BTF);
	printf("%d %d\n", `schedule != NULL, (uintptr_t)`schedule == (uintptr_t)&`schedule);
	exit(0);
}
