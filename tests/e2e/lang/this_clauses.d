/* Clause-local variables reach from clause to clause of one firing, and start at zero in the next. */
/* @@trigger: calls getppid 2 */
#pragma D option quiet

this int n; this string s;
syscall::getppid:entry /pid == $target/ { printf("%d [%s]\n", this->n, this->s); this->n = 5; this->s = execname; }
syscall::getppid:entry /this->n == 5/ { this->n++; printf("%d %s\n", this->n, this->s); }
syscall::getppid:return /this->n != 0/ { printf("left over\n"); }
