# libvirt's definitions, which have lines of comment that begin with '#', and its own reader of them. (The library is not built.)
source_of libvirt
cp src/libvirt_probes.d src/qemu/libvirt_qemu_probes.d .
for name in libvirt_probes libvirt_qemu_probes; do
	quiet dtrace -o $name.h -h -s $name.d
	quiet dtrace -o $name.o -G -s $name.d
	quiet python3 scripts/dtrace2systemtap.py /usr/bin /usr/sbin /usr/lib $name.d
done
cat >t.c <<'EOF'
#include "libvirt_probes.h"
#include "libvirt_qemu_probes.h"
int main(void)
{
	char name[] = "virDomain";

	LIBVIRT_OBJECT_NEW(name, name);
	LIBVIRT_EVENT_GLIB_ADD_HANDLE(7, 8, 9, 0, 0, 0);
	return 0;
}
EOF
quiet gcc -O2 -Wall -Wextra -Werror t.c libvirt_probes.o libvirt_qemu_probes.o -o program
traced "new virDomain
handle 7 8 9" '
libvirt$target:::object_new { printf("new %s\n", copyinstr(arg1)); }
libvirt$target:::event_glib_add_handle { printf("handle %d %d %d\n", arg0, arg1, arg2); }' ./program
