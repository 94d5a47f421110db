BEGIN { @[trace(0)] = count(); @[count()] = count(); x[stack()] = 1; self->y[trace(1)] = 1; }
