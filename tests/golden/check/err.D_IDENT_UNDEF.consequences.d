/* What a failed clause would have defined is not reported as undefined; what else is wrong is. */
inline int twice[int x] = x * nosuch;
BEGIN { trace(twice[2]); }
BEGIN { self->t = nosuch2; @q[nosuch3] = count(); x++; trace(self->t); }
BEGIN { this->l = 1; y[1] = 2; @r = count(); trace(nosuch4); }
END { trace(self->t); trace(x); trace(y[1]); trace(this->l); printa(@q); clear(@q); trunc(@r); }
END { @r = sum(1); @q[1] = count(); self->t = "x"; trace(self->t + 1); }
END { printa(@zz); clear(@zz); trunc(@zz); @zz = count(); printa(@zz); }
END { trace(execnme); }
