/* @@trigger: calls nap 5 */
/* A structure of the traced program: cast, members, arrays, strings. */
#pragma D option quiet
struct ts { long sec; long nsec; };
syscall::clock_nanosleep:entry /pid == $target/ { this->t = (struct ts *)copyin(arg2, sizeof(struct ts)); printf("%d.%09d\n", this->t->sec, this->t->nsec); }
syscall::clock_nanosleep:entry /pid == $target/ { t = *(struct ts *)copyin(arg2, sizeof(struct ts)); self->t = t; printf("%d %d\n", t.nsec, self->t.nsec); }
syscall::clock_nanosleep:return /pid == $target/ { printf("%d %d\n", arg0, errno); }
