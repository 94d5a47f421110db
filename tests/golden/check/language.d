/* Frames of a language: as an action, a key, an argument of a format, as values (d-language.md 4.2, 5.2) */
syscall::read:entry
/lfunc == "handle" && lline > 10 && lfile != ""/
{
	lstack(); lstack(5); lstack(5, 100); lstack(200);
	printf("%k %s:%d %s", lstack(2), lfile, lline, lfunc);
	@[lstack(), lfile, lline, lfunc] = count();
	self->where = strjoin(lfile, lfunc);
	this->line = lline + 1;
}
