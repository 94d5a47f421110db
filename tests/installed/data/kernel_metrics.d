/* SPDX-License-Identifier: MIT */
/*
 * @metric kernel name=kernel_samples_total labels=program,stack help=Samples of the kernel.
 * @metric parents name=parents_total labels=program help=Calls of getppid(2).
 */
profile-199
/arg0 && execname == "dd"/
{
	@kernel[execname, stack(2)] = count();
}

syscall::getppid:entry
{
	@parents[execname] = count();
}
