BEGIN { this->a = alloca(524288); this->b = alloca(524289); this->c = copyin(arg0, 0x7fffffff); }
