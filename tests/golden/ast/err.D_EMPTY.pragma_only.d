/* 2.1 */
#pragma D option quiet
