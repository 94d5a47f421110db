BEGIN { self; self.x; this->; self->1; a->5; a.; }
