BEGIN { panic(); trace(ddi_pathname((void *)0, 1)); }
