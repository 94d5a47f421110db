# memprof alive and malloc beside what runtimes say themselves: gc.get_objects() and tracemalloc, ObjectSpace, a heap snapshot of V8, jcmd GC.class_histogram, memory_get_usage().
# @@foreign
# @@timeout: 240
exec /usr/bin/python3 "$SRC/tests/e2e/memprof/runtimes.py"
