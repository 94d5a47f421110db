# uregs[]: what the kernel keeps in the task (segments, their bases, the last trap); the names of 32-bit programs.
command -v as >/dev/null || exit 67
set -e
cd "$TMP"
fail() { echo "$*"; exit 1; }

# sets the base of gs, calls getppid(), once more in the handler of SIGILL (trap 6)
cat >p64.s <<'X'
	.globl _start
_start:	mov $158, %eax		# arch_prctl(ARCH_SET_GS)
	mov $0x1001, %edi
	mov $0x12345000, %esi
	syscall
	mov $13, %eax		# rt_sigaction(SIGILL)
	mov $4, %edi
	lea action(%rip), %rsi
	xor %edx, %edx
	mov $8, %r10d
	syscall
	mov $110, %eax		# getppid
	syscall
	ud2
on_ill:	mov $110, %eax
	syscall
	mov $60, %eax		# exit
	xor %edi, %edi
	syscall
	.data
action:	.quad on_ill, 0x04000000, on_ill, 0 # SA_RESTORER
X
as -o p64.o p64.s && ld -o p64 p64.o || exit 67
"$DTRACE" -q -c ./p64 -n 'syscall::getppid:entry /pid == $target/ {
	i = R_GSBASE; j = R_TRAPNO;
	printf("%x %x %d %d %d\n", uregs[R_GSBASE], uregs[i], uregs[R_TRAPNO], uregs[j], uregs[R_FS]); }' >got 2>&1
printf '%s\n' '12345000 12345000 0 0 0' '12345000 12345000 6 6 0' '' | diff - got || fail "64 bits"

# the C library's thread block, at the base of fs, begins with its own address
"$DTRACE" -q -c "$TRIGGER/calls getppid 1" -n 'syscall::getppid:entry /pid == $target/ {
	printf("%d %d\n", uregs[R_FSBASE] != 0, *(uint64_t *)copyin(uregs[R_FSBASE], 8) == uregs[R_FSBASE]); }' >got 2>&1
grep -qx '1 1' got || fail "fs: $(cat got)"

cat >p32.s <<'X'
	.globl _start
_start:	mov $64, %eax		# getppid
	mov $0x11, %ebx
	mov $0x22, %ecx
	mov $0x33, %edx
	mov $0x44, %esi
	mov $0x55, %edi
	mov $0x66, %ebp
	int $0x80
	mov $1, %eax		# exit
	xor %ebx, %ebx
	int $0x80
X
"$TRIGGER/has" programs32 || exit 0
as --32 -o p32.o p32.s && ld -m elf_i386 -o p32 p32.o && ./p32
"$DTRACE" -q -c ./p32 -n 'syscall::getppid:return /pid == $target/ {
	printf("%x %x %x %x %x %x ", uregs[R_EBX], uregs[R_ECX], uregs[R_EDX], uregs[R_ESI], uregs[R_EDI], uregs[R_EBP]);
	printf("%x %d %d %d %d\n", uregs[R_CS], uregs[R_EAX] == ppid, uregs[R_EIP] == uregs[R_PC],
	    uregs[R_ESP] == uregs[R_UESP] && uregs[R_ESP] >> 32 == 0, uregs[R_EFL] == uregs[R_PS]); }' >got 2>&1
grep -qx '11 22 33 44 55 66 23 1 1 1 1' got || fail "32 bits: $(cat got)"
