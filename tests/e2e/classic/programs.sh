# Stock programs, traced by the names of other systems: each path once, in arg0 (providers.md 4.4).
cat --version 2>/dev/null | grep -q coreutils || exit 67
set -e
dir=$TMP/here
cat > "$TMP/run" <<END
mkdir $dir
echo text > $dir/a
cat $dir/a > /dev/null
ln -s a $dir/link
mv $dir/a $dir/b
chmod 600 $dir/b
ls -l $dir > /dev/null
rm $dir/b $dir/link
rmdir $dir
sleep 0.01
END
"$DTRACE" -q -o "$TMP/out" -c "sh $TMP/run" -n '
syscall::open:entry, syscall::open64:entry, syscall::mkdir:entry, syscall::rmdir:entry, syscall::unlink:entry, syscall::chmod:entry
/progenyof($target) && strstr(copyinstr(arg0), "/here") != NULL/
{ printf("%s %s\n", execname, basename(copyinstr(arg0))); }
syscall::rename:entry, syscall::symlink:entry
/progenyof($target)/ { printf("%s %s %s\n", execname, basename(copyinstr(arg0)), basename(copyinstr(arg1))); }
syscall::exece:return /progenyof($target) && errno == 0 && ppid == $target/ { printf("exec %s\n", execname); }
syscall::forksys:return /pid == $target && arg1 > 0/ { @forks = count(); }
syscall::rexit:entry /progenyof($target) && pid != $target/ { @exits = sum(arg0 == 0); }
syscall::nanosleep:entry /progenyof($target)/ { printf("%s %d\n", execname, args[0]->tv_nsec); }
END { printa("%@d children, %@d ended well\n", @forks, @exits); }'
cat > "$TMP/want" <<END
exec mkdir
mkdir here
sh a
exec cat
cat a
exec ln
ln a link
exec mv
mv a b
exec chmod
chmod b
exec ls
ls here
exec rm
rm b
rm link
exec rmdir
rmdir here
exec sleep
sleep 10000000
9 children, 9 ended well

END
diff "$TMP/want" "$TMP/out"
