# In the middle of an execve(), when the memory of the former program is gone and the new one has not begun, a task has no user stack: the registers
# are those of the former program. And stacks of the dynamic linker of a program that is not known yet have no mark for missing frames of a language.
cd "$TMP" || exit 1
echo 'pass' >nothing.py
"$DTRACE" -q -o calls.out -n '
	syscall::execve:entry /progenyof($target)/ { self->executes = 1; printf("\nbefore %s\n", probefunc); ustack(); }
	rawtp:::vm_unmapped_area /self->executes/ { printf("\nmiddle\n"); ustack(); printf("\nmiddle\n"); jstack(); }
	syscall::execve:return { self->executes = 0; }
	syscall::openat:entry /progenyof($target) && execname == "python3.11" && copyinstr(arg1) == "/etc/ld.so.cache"/ { printf("\nlinker\n"); jstack(); }' \
	-c 'sh -c "/usr/bin/python3.11 nothing.py; true"' >calls.log 2>&1 || cat calls.log
awk '
	/^(before|middle|linker)/ { at = $1; n[at]++; next }
	at == "middle" && NF { print "in the middle:", $0 }
	at == "before" && /execve/ { before = 1 }
	at == "linker" && /_dl_/ { linker = 1 }
	at == "linker" && /\[/ { print "in the linker:", $0 }
	END {
		print before ? "before: the stack of the caller" : "before: nothing"
		print (n["middle"] > 2 ? "middle: several" : "middle: none")
		print linker ? "linker: its frames" : "linker: nothing"
	}' calls.out
