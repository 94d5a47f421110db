# Where names come from: symbol tables, the PLT, the vDSO, compressed tables, separate debug files by link and build-id.
# @@foreign
. "$SRC/tests/e2e/names/lib.inc"
all='n`show+0x1 n`exported n`a_table+0x8 n`zeroes+0x10 n`label+0x1 n`getpid@plt libc.so.6`getenv [vdso]`gettimeofday'

build "$TMP/n"
# shellcheck disable=SC2086
names_of n "$TMP/n" | expect $all

# not position-independent, lazy and without lazy binding, stubs of the other kind
build "$TMP/n" -no-pie -fno-pie
# shellcheck disable=SC2086
names_of n "$TMP/n" | sed 's/^n`getenv@plt/libc.so.6`getenv/' | expect $all
build "$TMP/n" -fcf-protection=full -Wl,-z,ibtplt,-z,lazy
# shellcheck disable=SC2086
names_of n "$TMP/n" | expect $all
build "$TMP/n" -Wl,-z,now
# shellcheck disable=SC2086
names_of n "$TMP/n" | expect $all
build "$TMP/n" -static-pie -DSTATIC
names_of n "$TMP/n" | expect 'n`show+0x1' 'n`exported' 'n`a_table+0x8' 'n`zeroes+0x10' 'n`label+0x1'

# nothing but what the dynamic linker needs
build "$TMP/full" -rdynamic
strip -s -o "$TMP/n" "$TMP/full"

names_of n "$TMP/n" | sed '1s/label+0x[0-9a-f]*/?/; s/`+0x[0-9a-f]*/`?/' | expect 'n`?' 'n`exported' 'n`a_table+0x8' 'n`?' 'n`label+0x1' 'n`getpid@plt' \
	'libc.so.6`getenv' '[vdso]`gettimeofday'

# a separate file: beside the program, in .debug, below a folder, by build-id
objcopy --only-keep-debug "$TMP/full" "$TMP/n.debug"
strip -s -o "$TMP/n" "$TMP/full"
objcopy --add-gnu-debuglink="$TMP/n.debug" "$TMP/n"
# shellcheck disable=SC2086
names_of n "$TMP/n" | expect $all
mkdir "$TMP/.debug" && mv "$TMP/n.debug" "$TMP/.debug/n.debug"
# shellcheck disable=SC2086
names_of n "$TMP/n" | expect $all
mkdir -p "$TMP/store$TMP" && mv "$TMP/.debug/n.debug" "$TMP/store$TMP/n.debug"
# shellcheck disable=SC2086
names_of n "$TMP/n" -x debugdir="/nowhere:$TMP/store" | expect $all
names_of n "$TMP/n" | sed '1s/`.*/`?/; 1q' | expect 'n`?'
id=$(readelf -n "$TMP/n" | sed -n 's/.*Build ID: //p')
dir=$TMP/store/.build-id/$(echo "$id" | cut -c 1-2)
mkdir -p "$dir" && mv "$TMP/store$TMP/n.debug" "$dir/$(echo "$id" | cut -c 3-).debug"
# shellcheck disable=SC2086
names_of n "$TMP/n" -x debugdir="$TMP/store" | expect $all

# a file that has the right name but is of another build, or damaged, is not believed
build "$TMP/other" -rdynamic -O0
objcopy --only-keep-debug "$TMP/other" "$dir/$(echo "$id" | cut -c 3-).debug"
names_of n "$TMP/n" -x debugdir="$TMP/store" | sed '1s/`.*/`?/; 1q' | expect 'n`?'
cc -O1 -o "$TMP/full" "$SRC/tests/e2e/names/names.c" -Wl,--build-id=none || exit 1
objcopy --only-keep-debug "$TMP/full" "$TMP/n.debug"
strip -s -o "$TMP/n" "$TMP/full"
objcopy --add-gnu-debuglink="$TMP/n.debug" "$TMP/n"
names_of n "$TMP/n" | sed -n 1p | expect 'n`show+0x1'
printf x >>"$TMP/n.debug"
names_of n "$TMP/n" | sed '1s/`.*/`?/; 1q' | expect 'n`?'

# what Fedora leaves in a stripped file
command -v xz >/dev/null || exit 0
build "$TMP/full"
objcopy -S --keep-symbol=show --keep-symbol=zeroes "$TMP/full" "$TMP/mini"
rm -f "$TMP/mini.xz" && xz "$TMP/mini"
strip -s -o "$TMP/n" "$TMP/full"
objcopy --add-section .gnu_debugdata="$TMP/mini.xz" "$TMP/n"
names_of n "$TMP/n" | sed -n '1p;4p' | expect 'n`show+0x1' 'n`zeroes+0x10'
