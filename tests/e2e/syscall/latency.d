/* The entry/return idiom: every call is matched, none twice. */
/* @@trigger: calls getppid 50 */
#pragma D option quiet

syscall::getppid:entry /pid == $target/ { self->ts = timestamp; }
syscall::getppid:return /self->ts/ { this->ns = timestamp - self->ts; @n = count(); @pos[this->ns > 0 && this->ns < 60000000000] = count(); self->ts = 0; }
syscall::getppid:return /self->ts/ { @twice = count(); }
END { printa("%@d calls\n", @n); printa("%d %@d\n", @pos); }
