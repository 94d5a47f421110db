# SPDX-License-Identifier: MIT
# Completion of dtrace for fish: flags, probes of the running system, options of -x, names of the language within a
# program, processes, files.

# The candidates of a kind that begin with the current word, or with the last name of a program in it.
function __dtrace_ask --argument-names kind
    set -l text (commandline -ct | string trim --left --chars "'\"")
    if string match -qr '[ {/]' -- $text
        set -l last (string match -r '[A-Za-z0-9_]*$' -- $text)
        set -l head (string replace -r '[A-Za-z0-9_]*$' '' -- $text)
        test -n "$last"; and for line in (dtrace --complete=word:$last 2>/dev/null)
            echo -- $head$line
        end
        return
    end
    dtrace --complete=$kind:$text 2>/dev/null
end

complete -c dtrace -s n -x -d 'probes by name' -a '(__dtrace_ask probe)'
complete -c dtrace -s f -x -d 'probes by function' -a '(__dtrace_ask function)'
complete -c dtrace -s m -x -d 'probes by module' -a '(__dtrace_ask module)'
complete -c dtrace -s P -x -d 'probes by provider' -a '(__dtrace_ask provider)'
complete -c dtrace -s i -x -d 'probes by number'
complete -c dtrace -s s -r -d 'compile a script'
complete -c dtrace -s c -x -d 'run a command and trace it' -a '(__fish_complete_command)'
complete -c dtrace -s p -x -d 'trace a process' -a '(__fish_complete_pids)'
complete -c dtrace -s x -x -d 'set an option' -a '(__dtrace_ask option)'
complete -c dtrace -s o -r -d 'append the output to a file'
complete -c dtrace -s L -x -d 'folder of D libraries' -a '(__fish_complete_directories)'
complete -c dtrace -s I -x -d 'folder for the preprocessor' -a '(__fish_complete_directories)'
complete -c dtrace -s D -x -d 'define a symbol of the preprocessor'
complete -c dtrace -s U -x -d 'remove a symbol of the preprocessor'
complete -c dtrace -s X -x -d 'conformance of the preprocessor' -a 'a c s t'
complete -c dtrace -s b -x -d 'size of the buffer of each CPU'
complete -c dtrace -s l -d 'list probes'
complete -c dtrace -s v -d 'say more'
complete -c dtrace -s q -d 'print only what the program prints'
complete -c dtrace -s e -d 'compile only'
complete -c dtrace -s w -d 'allow changes of the system'
complete -c dtrace -s F -d 'indent by depth'
complete -c dtrace -s Z -d 'probes may be missing'
complete -c dtrace -s S -d 'print the intermediate code'
complete -c dtrace -s C -d 'run the preprocessor'
complete -c dtrace -s H -d 'print included files'
complete -c dtrace -s h -d 'make a header of probes'
complete -c dtrace -s G -d 'make an object of probes'
complete -c dtrace -s V -l version -d 'print the version'
complete -c dtrace -l help -x -d 'help' -a 'flags options language all'
complete -c dtrace -l core -r -d 'run the program over a core file or a copy of a process'
complete -c dtrace -l pstack -x -d 'stacks of a process or core file' -a '(__fish_complete_pids)'
