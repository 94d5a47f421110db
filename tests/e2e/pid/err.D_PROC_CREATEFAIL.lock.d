/* @@trigger: funcs */
pid$target:libc.so.6:pthread_spin_lock:entry {}
