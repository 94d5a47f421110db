# Members of structs of the kernel are what they are, also when they are 0, and reads of bad addresses fault: where the kernel lets programs
# read directly (bpf_rdonly_cast), and where all goes through the helper.
fail() { echo "$1"; cat "$TMP/out" "$TMP/err"; exit 1; }
cat >"$TMP/r.d" <<'END'
#pragma D option quiet
uint64_t bad[int];
BEGIN {
	bad[0] = 0; bad[1] = 0x10; bad[2] = 0x7fffffffe000; bad[3] = 0x800000000000; bad[4] = 0xdead000000000100; bad[5] = 0xffffffffff600000;
	bad[6] = 0xffffffffff5ff000; bad[7] = (uint64_t)-1;
	/* what is the same by two ways: a whole word, and its bytes; numbers with a sign; what is 0 */
	this->p = (uint8_t *)curthread;
	this->w = *(uint64_t *)this->p;
	printf("word %d\n", this->w == ((uint64_t)this->p[7] << 56 | (uint64_t)this->p[6] << 48 | (uint64_t)this->p[5] << 40 | (uint64_t)this->p[4] << 32 |
	    (uint64_t)this->p[3] << 24 | (uint64_t)this->p[2] << 16 | (uint64_t)this->p[1] << 8 | this->p[0]));
	printf("odd %d\n", *(uint32_t *)((uintptr_t)curthread + offsetof(struct task_struct, comm) + 1) != 0);
	printf("pid %d tgid %d\n", curthread->pid == tid, curthread->tgid == pid);
	printf("signed %d %d\n", curthread->prio >= 0, curthread->static_prio - 120);
	printf("zero %d %d\n", curthread->exit_state, curthread->exit_signal == 17 || curthread->exit_signal <= 0);
	printf("null %d\n", curthread->exit_code == 0);
}
BEGIN { trace(*(uint64_t *)bad[0]); } BEGIN { trace(*(uint8_t *)bad[1]); } BEGIN { trace(*(uint32_t *)bad[2]); }
BEGIN { trace(*(uint64_t *)bad[3]); } BEGIN { trace(*(uint16_t *)bad[4]); } BEGIN { trace(*(int8_t *)bad[5]); } BEGIN { trace(*(int *)bad[6]); }
BEGIN { trace(*(uint64_t *)bad[7]); }
ERROR { printf("fault %d at %x\n", arg4, arg5); }
BEGIN { exit(0); }
END
run() { timeout 60 env "$@" "$DTRACE" -s "$TMP/r.d" >"$TMP/out" 2>"$TMP/err" || fail "$* failed"; }
run FATHOM_NO_FEATURE=READ_CAST
grep -c '^fault 1 at ' "$TMP/out" | grep -qx 8 || fail "eight reads do not fault by the helper"
for line in 'word 1' 'odd 1' 'pid 1 tgid 1' 'null 1'; do grep -qx "$line" "$TMP/out" || fail "'$line' is missing"; done
cp "$TMP/out" "$TMP/helper"
run FATHOM_NO_FEATURE=
cmp "$TMP/helper" "$TMP/out" || fail "a direct read is different"
# which of the two is in the code
timeout $((60 * ${PATIENCE:-1})) "$DTRACE" -xdump=bpf -qn 'BEGIN { trace(curthread->pid); exit(0); }' 2>&1 | grep -q 'call kernel function' || echo "this kernel reads by the helper only"
FATHOM_NO_FEATURE=READ_CAST timeout $((60 * ${PATIENCE:-1})) "$DTRACE" -xdump=bpf -qn 'BEGIN { trace(curthread->pid); exit(0); }' 2>&1 | grep -q 'call kernel function' && fail "the feature is used although it is absent"
exit 0
