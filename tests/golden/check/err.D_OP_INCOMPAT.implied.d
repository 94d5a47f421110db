BEGIN /!self->name/ { exit(0); }
BEGIN { self->name = execname; }
