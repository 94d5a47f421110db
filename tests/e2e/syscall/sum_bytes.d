/* Bytes by descriptor, distribution of sizes. */
/* @@trigger: calls read 100 */
#pragma D option quiet

syscall::read:entry /pid == $target/ { self->fd = arg0 + 1; }
syscall::read:return /self->fd && arg0 <= 100/ { @bytes = sum(arg0); @n = count(); @big = max(arg0); @small = min(arg0); @avg = avg(arg0); @dist = lquantize(arg0, 0, 100, 25); self->fd = 0; }
END { printa("%@d %@d %@d %@d %@d\n", @bytes, @n, @big, @small, @avg); printa(@dist); }
