BEGIN { trace(&curthread->in_execve); exit(0); }
