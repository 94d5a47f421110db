/* curthread and what it leads to, against built-in variables that come another way (d-language.md 4.2) */
#pragma D option quiet
BEGIN
{
	printf("%d %d %d\n", curthread->comm == execname, curthread->tgid == pid, curthread->pid == tid);
	printf("%d %d\n", curthread->real_parent->tgid == ppid, curthread->cred->uid.val == uid);
	printf("%s %s\n", curthread->comm, stringof(curthread->group_leader->comm));
	this->t = curthread;
	self->lead = this->t->group_leader;
	printf("%d %d\n", self->lead->pid == pid, self->lead == curthread->group_leader);
	printf("%d\n", curthread->thread_pid->numbers[0].nr == tid);
	/* a struct from its member's address */
	this->c = (struct task_struct *)((uintptr_t)&curthread->tasks - offsetof(struct task_struct, tasks));
	printf("%d %d\n", this->c == curthread, this->c->pid == tid);
	printf("%d %d\n", curthread->in_execve, curthread->mm != NULL); /* a bit-field; a pointer */
	@[curthread->comm] = count();
	printa("%s %@d\n", @);
	exit(0);
}
