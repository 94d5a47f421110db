/* Calls keep their order, and each waits in a register for what stands on its right. */
BEGIN
{
	x =
		rand() + (rand() + (rand() + (rand() + (rand() + (rand() + (rand() + (rand() + (rand() + (rand() + (
		rand() + (rand() + (rand() + (rand() + (rand() + (rand() + (rand() + (rand() + (rand() + (rand() + (
		rand() + (rand() + (rand() + (rand() + (rand() + (rand() + (rand() + (rand() + (rand() + (rand() + (
		rand() + (rand() + (rand() + (rand() + (rand() + (rand() + (rand() + (rand() + (rand() + (rand() + (
		rand() + (rand() + (rand() + (rand() + (rand() + (rand() + (rand() + (rand() + (rand() + (rand() + (
		rand() + (rand() + (rand() + (rand() + (rand() + (rand() + (rand() + (rand() + (rand() + (rand() + (
		rand() + (rand() + (rand() + (rand() + (rand() + (rand() + (rand() + (rand() + (rand() + (rand() + (
		rand() + (rand() + (rand() + (rand() + (rand() + (rand() + (rand() + (rand() + (rand() + (rand() + (
		rand() + (rand() + (rand() + (rand() + (rand() + (rand() + (rand() + (rand() + (rand() + (rand() + (
		rand() + (rand() + (rand() + (rand() + (rand() + (rand() + (rand() + (rand() + (rand() + (rand() + (
		rand() + (rand() + (rand() + (rand() + (rand() + (rand() + (rand() + (rand() + (rand() + (rand() + (
		rand() + (rand() + (rand() + (rand() + (rand() + (rand() + (rand() + (rand() + (rand() + (rand() + (
		rand() + (rand() + (rand() + (rand() + (rand() + (rand() + (rand() + (rand() + (rand() + (rand() + (
		rand() + (rand() + (rand() + (rand() + (rand() + (rand() + (rand() + (rand() + (rand() + (rand() + (
		rand() + (rand() + (rand() + (rand() + (rand() + (rand() + (rand() + (rand() + (rand() + (rand() + (
		rand() + (rand() + (rand() + (rand() + (rand() + (rand() + (rand() + (rand() + (rand() + (rand() + (
		rand() + (rand() + (rand() + (rand() + (rand() + (rand() + (rand() + (rand() + (rand() + (rand() + (
		rand() + (rand() + (rand() + (rand() + (rand() + (rand() + (rand() + (rand() + (rand() + (rand() + (
		rand() + (rand() + (rand() + (rand() + (rand() + (rand() + (rand() + (rand() + (rand() + (rand() + (
		rand() + (rand() + (rand() + (rand() + (rand() + (rand() + (rand() + (rand() + (rand() + (rand() + (
		rand() + (rand() + (rand() + (rand() + (rand() + (rand() + (rand() + (rand() + (rand() + (rand() + (
		rand() + (rand() + (rand() + (rand() + (rand() + (rand() + (rand() + (rand() + (rand() + (rand() + (
		rand() + (rand() + (rand() + (rand() + (rand() + (rand() + (rand() + (rand() + (rand() + (rand() + (
		rand() + (rand() + (rand() + (rand() + (rand() + (rand() + (rand() + (rand() + (rand() + (rand() + (
		rand() + (rand() + (rand() + (rand() + (rand() + (rand() + (rand() + (rand() + (rand() + (rand() + (
		rand() + (rand() + (rand() + (rand() + (rand() + (rand() + (rand() + (rand() + (rand() + (rand() + (
		rand() + (rand() + (rand() + (rand() + (rand() + (rand() + (rand() + (rand() + (rand() + (rand() + (
		rand() + (rand() + (rand() + (rand() + (rand() + (rand() + (rand() + (rand() + (rand() + (rand() + (
		rand() + (rand() + (rand() + (rand() + (rand() + (rand() + (rand() + (rand() + (rand() + (rand() + (
		rand() + (rand() + (rand() + (rand() + (rand() + (rand() + (rand() + (rand() + (rand() + (rand() + (
		rand()
		))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))
		))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))
		))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))
	;
}
