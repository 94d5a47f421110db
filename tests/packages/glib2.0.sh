# SPDX-License-Identifier: MIT
# GLib: two providers, in two libraries, through generators of meson.
needs gcc meson ninja-build pkg-config libpcre2-dev libffi-dev zlib1g-dev python3
source_of glib2.0
quiet meson setup b --wrap-mode=nodownload -Ddtrace=true -Dtests=false -Dlibmount=disabled -Dselinux=disabled -Dnls=disabled "-Dc_args=-I$SDT"
libs=$(ninja -C b -t targets all | sed -n 's#^\(g\(lib\|object\)/libg[^:]*\.so\.[0-9.]*\): .*#\1#p')
quiet ninja -C b -j2 $libs
cat >"$work/t.c" <<'EOF'
#include <glib-object.h>
int main(void)
{
	GObject *o;
	void *p = g_malloc(4711);

	g_free(p);
	p = g_slice_alloc(48);
	g_slice_free1(48, p);
	(void)g_quark_from_string("a quark");
	o = g_object_new(G_TYPE_OBJECT, NULL);
	g_object_ref(o);
	g_object_unref(o);
	g_object_unref(o);
	return 0;
}
EOF
cc -O1 "$work/t.c" -o "$work/glib-test" -Iglib -I. -Igobject -Ib -Ib/glib -Ib/gobject -Lb/glib -Lb/gobject -l:libgobject-2.0.so.0 -l:libglib-2.0.so.0 \
	"-Wl,-rpath,$PWD/b/glib:$PWD/b/gobject"
traced "alloc 4711
slice 48
quark a quark
new GObject
ref GObject 1
unref GObject 2" '
glib$target:::mem-alloc /arg1 == 4711/ { printf("alloc %d\n", arg1); }
glib$target:::slice-alloc /arg1 == 48/ { printf("slice %d\n", arg1); }
glib$target:::quark-new { printf("quark %s\n", copyinstr(arg0)); }
gobject$target:::object-new { printf("new %s\n", "GObject"); }
gobject$target:::object-ref { printf("ref GObject %d\n", arg2); }
gobject$target:::object-unref { printf("unref GObject %d\n", arg2); }' "$work/glib-test"
