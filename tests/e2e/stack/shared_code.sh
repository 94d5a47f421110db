# Code that a program makes in memory that it shares, as the JIT of PHP does: no unwind tables are looked for there, also after the time of
# that memory has changed, so the stack is whole at once.
# @@foreign
cd "$TMP" || exit 1
cat >shared.c <<'Y'
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define PAGE 4096

static void ask(void)
{
	syscall(SYS_getppid);
}

int main(void)
{
	/* push %rbp; mov %rsp,%rbp; call *%rdi; pop %rbp; ret */
	static const unsigned char code[] = {0x55, 0x48, 0x89, 0xe5, 0xff, 0xd7, 0x5d, 0xc3};
	char *at = mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	time_t now;

	memcpy(at, code, sizeof(code));
	memcpy(at + PAGE, code, sizeof(code));
	((void (*)(void (*)(void)))at)(ask);
	while (access("unmet", F_OK) != 0)
		usleep(10000);
	((void (*)(void (*)(void)))at)(ask);
	now = time(NULL);
	while (time(NULL) == now)
		usleep(10000);
	at[2 * PAGE] = 1; /* changes the time of the memory */
	((void (*)(void (*)(void)))(at + PAGE))(ask);
	return 0;
}
Y
gcc -O1 -fno-optimize-sibling-calls -o shared shared.c || exit 1
"$TRIGGER/met" "$DTRACE" -q -n 'syscall::getppid:entry /pid == $target/ { printf("stack %d\n", ++n); jstack(20); }' -c ./shared 2>&1 |
	sed -n '/^stack 2/,$p' | sed -E 's/0x[0-9a-f]+/N/; s/libc.so.6`[^ ]*/libc/; s/\+N$//' | uniq
