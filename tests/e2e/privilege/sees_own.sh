# curpsinfo, curlwpsinfo and fds[] of one's own processes at dtrace_user, and no way from them to anything else of the kernel (sees_own.py).
# @@needs: kernel
exec python3 "$SRC/tests/e2e/privilege/sees_own.py"
