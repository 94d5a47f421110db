BEGIN { trace(self->x); trace(this->y); trace(a[1]); x += 1; }
