/* Speculation: ids, records, the default action, blocks (d-language.md 8.4) */
BEGIN { self->id = speculation(); }
BEGIN { speculate(self->id); trace(1); printf("%d", pid); }
BEGIN { speculate(self->id); }
BEGIN { if (pid) { speculate(self->id); trace(1); } else { trace(2); } }
BEGIN { if (pid) { speculate(1); } else { speculate(2); } }
END { commit(self->id); }
END { discard(self->id); trace(1); }
