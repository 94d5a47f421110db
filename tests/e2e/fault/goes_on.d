/* A fault ends its clause and nothing else: effects before it stay, later clauses and firings run. */
/* @@trigger: calls getppid 3 */
#pragma D option quiet

int zero, before, after, errors;
syscall::getppid:entry /pid == $target/ { before++; @a = count(); printf("lost with the record"); after += 1 / zero; }
syscall::getppid:entry /pid == $target/ { after++; }
ERROR { errors++; }
END { printf("%d %d %d\n", before, after, errors); printa("%@d\n", @a); }
