/* The right side of . and -> is a name. */
BEGIN { trace(curthread->1); }
BEGIN { trace(curthread.("a")); }
