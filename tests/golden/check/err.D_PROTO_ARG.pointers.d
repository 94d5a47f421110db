/* Pointers that are not what the subroutine reads (d-language.md 5.4). */
struct other { int x; };

BEGIN
{
	this->o = (struct other *)alloca(16);
	trace(inet_ntoa(this->o));
	trace(inet_ntoa("127.0.0.1"));
	trace(inet_ntoa6(this->o));
	trace(mutex_owned(this->o));
	trace(mutex_type_spin(curthread));
	trace(rw_read_held(this->o));
	trace(d_path(this->o));
}
