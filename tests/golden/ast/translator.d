/* 10.1: translators. */
typedef struct info { int a; string b; } info_t;
translator info_t < struct proc *P > {
	a = P->p_pid;
	b = stringof(P->p_name);
};
translator struct info < uint64_t T > { };
inline info_t *cur = xlate <info_t *> (curthread);
BEGIN { trace(xlate <info_t> ((struct proc *)arg0).a); }
