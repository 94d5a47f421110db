/* Types that scripts of other systems take for granted (compat.d). */
#pragma D option quiet

BEGIN
{
	this->b = (boolean_t)B_TRUE;
	this->u = (uint_t)-1 > 0 && (ulong_t)-1 > 0 && (uchar_t)-1 > 0 && (ushort_t)-1 > 0;
	this->c = (caddr_t)3;
	this->h = (hrtime_t)timestamp;
	this->k = (kthread_t *)curthread;
	this->p = (proc_t *)curthread;
	this->r = (cred_t *)this->k->cred;
	printf("%d %d %d %d %d %d\n", this->b, this->u, (int)(uintptr_t)this->c, this->h == timestamp, this->k->pid == tid, this->p->tgid == pid);
	this->t = (time_t)(walltimestamp / 1000000000);
	printf("%d %d %d\n", sizeof(time_t), this->t > 1000000000, curproc->tgid == pid);
	printf("%d %d %d %d\n", this->r->uid.val == uid, sizeof(longlong_t) + sizeof(u_longlong_t) + sizeof(offset_t), sizeof(daddr_t), B_FALSE);
	exit(0);
}
