/* The third argument of tracemem() limits what is shown. */
/* @@trigger: calls write 1 */
#pragma D option quiet

syscall::write:entry /pid == $target/ { this->b = copyin(arg1, arg2); tracemem(this->b, 16, arg2); tracemem(this->b, 4); tracemem(this->b, 16, -1); tracemem(this->b, 8, 0); exit(0); }
