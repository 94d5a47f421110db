/* Stacks as values: assigned, compared, elements and keys of arrays, keys of aggregations, conditions. */
stackid_t last, by[int];
self stackid_t mine;
syscall::read:entry { self->mine = ustack(5); last = self->mine; by[pid] = stack(3); n[jstack(), 1] = 2; }
syscall::read:return /self->mine && self->mine != last/ { @[self->mine, by[pid]] = count(); self->mine = 0; }
syscall::write:entry { this->s = lstack(2); printf("%k %k", this->s, last == 0 ? stack() : last); trace(this->s == ustack()); print(last); }
