# Below dtrace_kernel nothing reads the memory of the kernel (sees_memory.py).
exec python3 "$SRC/tests/e2e/privilege/sees_memory.py"
