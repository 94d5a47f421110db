/* 2.1: option empty. */
#pragma D option empty
