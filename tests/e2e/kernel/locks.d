/* Locks of the kernel that nobody holds now; a word that looks like a mutex held by a thread. */
/* @@runtest-opts: -q */
BEGIN
{
	this->m = (uint64_t *)alloca(64);
	this->m[0] = (uint64_t)curthread | 1;
	printf("%d %d\n", mutex_owned((void *)this->m), mutex_owner((void *)this->m) == curthread);
	this->m[0] = 1;
	printf("%d %d\n", mutex_owned((void *)this->m), mutex_owner((void *)this->m) == NULL);
	printf("%d %d\n", mutex_type_adaptive((void *)this->m), mutex_type_spin((void *)this->m));
	this->m[0] = 0x200;
	printf("%d %d %d\n", rw_read_held((void *)this->m), rw_write_held((void *)this->m), rw_iswriter((void *)this->m));
	this->m[0] = 0xff;
	printf("%d %d %d\n", rw_read_held((void *)this->m), rw_write_held((void *)this->m), rw_iswriter((void *)this->m));
	this->m[0] = 0x100;
	printf("%d %d %d\n", rw_read_held((void *)this->m), rw_write_held((void *)this->m), rw_iswriter((void *)this->m));
}
BEGIN { trace(mutex_owned(NULL)); }
ERROR { printf("fault %d\n", arg4); exit(0); }
