# Functions in assembly language whose CFA is in memory, as those of OpenSSL that multiply: behind as many words on the stack as a register
# says, behind the frame pointer, and some words from what is there. Their callers are in the stack.
# @@foreign
[ "$(uname -m)" = x86_64 ] || { echo "needs an x86-64 processor"; exit 67; }
cat >"$TMP/t.c" <<'END'
int indexed(void), by_frame(void), further(void);
/* The bytes behind 0x0f, DW_CFA_def_cfa_expression, are the length and the expression. */
__asm__(".text\n"
	/* CFA = *(rsp + 8 + 8 * r9) + 8 */
	".globl indexed\n.type indexed, @function\nindexed: .cfi_startproc\n"
	"mov %rsp, %rax\n.cfi_def_cfa_register %rax\n"
	"mov $6, %r9\nlea -128(%rsp), %rsp\nmov %rax, 8(%rsp,%r9,8)\n"
	".cfi_escape 0x0f, 10, 0x77, 8, 0x79, 0, 0x38, 0x1e, 0x22, 0x06, 0x23, 8\n"
	"mov $110, %eax\nsyscall\n"
	"mov 8(%rsp,%r9,8), %rsp\n.cfi_def_cfa %rsp, 8\nret\n.cfi_endproc\n.size indexed, . - indexed\n"
	/* CFA = *(rbp + 16) + 8 */
	".globl by_frame\n.type by_frame, @function\nby_frame: .cfi_startproc\n"
	"mov %rsp, %rax\n.cfi_def_cfa_register %rax\npush %rbp\n.cfi_offset %rbp, -16\n"
	"lea -64(%rsp), %rsp\nmov %rsp, %rbp\nmov %rax, 16(%rbp)\n"
	".cfi_escape 0x0f, 5, 0x76, 16, 0x06, 0x23, 8\n"
	"mov $110, %eax\nsyscall\n"
	"mov 16(%rbp), %rdx\nmov -8(%rdx), %rbp\n.cfi_def_cfa %rdx, 8\n.cfi_restore %rbp\nmov %rdx, %rsp\n.cfi_def_cfa_register %rsp\nret\n"
	".cfi_endproc\n.size by_frame, . - by_frame\n"
	/* CFA = *(rsp + 16) + 64 */
	".globl further\n.type further, @function\nfurther: .cfi_startproc\n"
	"mov %rsp, %rax\n.cfi_def_cfa_register %rax\n"
	"lea -56(%rsp), %rdx\nlea -128(%rsp), %rsp\nmov %rdx, 16(%rsp)\n"
	".cfi_escape 0x0f, 5, 0x77, 16, 0x06, 0x23, 64\n"
	"mov $110, %eax\nsyscall\n"
	"mov 16(%rsp), %rsp\n.cfi_def_cfa %rsp, 64\nlea 56(%rsp), %rsp\n.cfi_def_cfa_offset 8\nret\n.cfi_endproc\n.size further, . - further\n");
__attribute__((noinline)) int outer(int (*f)(void)) { return f() + 1; }
int main(void) { return !(outer(indexed) && outer(by_frame) && outer(further)); }
END
gcc -O1 -fno-optimize-sibling-calls "$TMP/t.c" -o "$TMP/t" || exit 1
"$DTRACE" -qn 'syscall::getppid:entry /pid == $target/ { ustack(4); }' -c "$TMP/t" >"$TMP/out" 2>"$TMP/err" || { cat "$TMP/err"; exit 1; }
for function in indexed by_frame further; do
	grep -A2 "t\`$function+0x" "$TMP/out" | tr -d '\n' | grep -q 't`outer+0x[^+]*t`main+0x' || { echo "no callers of $function()"; cat "$TMP/out"; exit 1; }
done
