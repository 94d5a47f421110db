/* A variable that outlives the firing cannot hold the argument of a probe that is a request of some devices, and a bio of others. */
io:::start { self->b = args[0]; trace(self->b->b_bcount); }
