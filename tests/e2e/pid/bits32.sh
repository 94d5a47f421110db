# A 32-bit process: functions, their arguments (which lie on the stack), names, stacks by frame pointer, which are marked.
# @@foreign
# @@needs: programs32
command -v as >/dev/null || exit 67
set -e
cd "$TMP"
cat >p32.s <<'X'
	.text
	.globl _start, outer, inner
	.type inner, @function
inner:	push %ebp
	mov %esp, %ebp
	push %ebx
	mov $64, %eax	# getppid
	int $0x80
	mov $-3, %eax
	pop %ebx
	pop %ebp
	ret
	.size inner, . - inner
	.type outer, @function
outer:	push %ebp
	mov %esp, %ebp
	push $-22
	push $11
	call inner
	leave
	ret
	.size outer, . - outer
	.type _start, @function
_start:	xor %ebp, %ebp
	call outer
	mov $1, %eax	# exit
	xor %ebx, %ebx
	int $0x80
	.size _start, . - _start
X
as --32 -o p32.o p32.s && ld -m elf_i386 -o p32 p32.o || exit 67
./p32
cat >script.d <<'X'
pid$target:a.out:inner:entry { printf("%d %d\n", (int)arg0, (int)arg1); ustack(); }
syscall::getppid:entry /pid == $target/ { ustack(2); printf("%A %d\n", ucaller, ustackdepth); }
pid$target:a.out:inner:return { printf("%s %d", probefunc, (int)arg1); ustack(); }
X
cat >want <<'X'
11 -22
p32`inner
p32`outer+0xc
p32`_start+0x7
[cut]
p32`inner+0xb
p32`outer+0xc
p32`outer+0xc 3
inner -3
p32`inner+0x12
p32`outer+0xc
p32`_start+0x7
[cut]
X
"$DTRACE" -q -c ./p32 -s script.d 2>&1 | sed 's/^ *//; /^$/d' >got
diff -u want got
# its types are those of 32 bits
if "$DTRACE" -q -c ./p32 -n 'pid$target:a.out:inner:entry { trace(args[0]); }' >out 2>&1 || ! grep -q 'arg0 to arg9' out; then cat out; exit 1; fi
