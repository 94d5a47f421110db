# SPDX-License-Identifier: MIT
# QEMU's trace backend: its generator writes a definition for each of 88 folders, all of provider qemu, some of them empty.
# (The programs themselves are not built.)
needs python3
source_of qemu
mkdir out
for events in $(find . -name trace-events -not -path './.pc/*'); do
	group=$(dirname "${events#./}" | tr '/-' '__')
	quiet python3 scripts/tracetool.py --backend=dtrace "--group=$group" --format=d "$events" "out/trace-dtrace-$group.d"
	quiet dtrace -DSTAP_SDT_V2 -o "out/trace-dtrace-$group.h" -h -s "out/trace-dtrace-$group.d"
	quiet dtrace -DSTAP_SDT_V2 -o "out/trace-dtrace-$group.o" -G -s "out/trace-dtrace-$group.d"
	quiet gcc -std=gnu11 -Wall -Wextra -Werror -x c -c "out/trace-dtrace-$group.h" -o out/header.o
done
rm out/header.o
cat >out/block.c <<'EOF'
#include "trace-dtrace-block.h"
#include "trace-dtrace-hw_block.h"
int main(void)
{
	char name[] = "disk.img", format[] = "raw";

	QEMU_BDRV_OPEN_COMMON(&main, name, 3, format);
	if (QEMU_BLK_CO_PREADV_ENABLED())
		QEMU_BLK_CO_PREADV(0, 0, 4096, 1ll << 40, -1);
	QEMU_VIRTIO_BLK_HANDLE_WRITE(0, 0, 5, 6);
	return 0;
}
EOF
rm out/*bsd_user.o # has probes of the names that linux_user has
quiet gcc -O2 out/block.c out/*.o -o out/program # all of them in one program
traced "open disk.img 3 raw
read 4096 1099511627776 -1
write 5 6" '
qemu$target:::bdrv_open_common { printf("open %s %d %s\n", copyinstr(arg1), arg2, copyinstr(arg3)); }
qemu$target:::blk_co_preadv { printf("read %d %d %d\n", arg2, arg3, arg4); }
qemu$target:::virtio_blk_handle_write { printf("write %d %d\n", arg2, arg3); }' out/program
