/* d-language.md B.7 */
#pragma D option quiet
BEGIN { trace(*(int *)0x10); }
BEGIN { printf("next clause\n"); exit(0); }
