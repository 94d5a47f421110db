/* 2.1: clauses, descriptions, default actions. */
BEGIN { }
BEGIN, END
{
	trace(1);;
	trace(2)
}
syscall::read:entry,
syscall::write:return
/pid == 5/
{ ; }
:::,
*:a?b:[a-c]*:[!x]\\*,
profile-97, tick-1sec, 123, 0x10,
8021q:vlan_init:entry
{ exit(0); }
