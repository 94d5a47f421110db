#!/bin/sh
# A probe that is made of requests of some devices and of bios of others: a clause-local variable holds its translated arguments, in all clauses of the firing.
"$DTRACE" -e -n 'io:::start { this->io = args[0]; this->dev = args[1]; this->file = *args[2]; }
io:::start { printf("%d %s %s", this->io->b_bcount, this->dev->dev_statname, this->file.fi_name); print(this->io); print(*args[1]); trace(xlate <devinfo_t *> (args[0])->dev_major); }' || exit 1
