/* A variable cannot hold the argument of a probe that is a request of some devices, and a bio of others. */
io:::start { this->b = args[0]; trace(this->b->b_bcount); }
