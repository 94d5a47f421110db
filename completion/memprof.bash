# SPDX-License-Identifier: MIT
# Completion of memprof for bash. The ways are those that its usage lists.

_memprof() {
	local cur prev words cword
	_get_comp_words_by_ref cur prev words cword || return
	COMPREPLY=()
	case $prev in
	-p) mapfile -t COMPREPLY < <(compgen -W "$(command ps -eo pid=)" -- "$cur"); return ;;
	-c) mapfile -t COMPREPLY < <(compgen -c -- "$cur"); return ;;
	--flame) compopt -o default; return ;;
	--by) mapfile -t COMPREPLY < <(compgen -W 'caller function' -- "$cur"); return ;;
	-d | -i | -n | -s | -o | -r | -x) return ;;
	esac
	case $cword:$cur in
	*:-*) mapfile -t COMPREPLY < <(compgen -W '-p -c -d -i -n -s -o -r --by --module -C --created -m --mixed --json --flame --show -x -v --help --version' -- "$cur") ;;
	1:*) mapfile -t COMPREPLY < <(compgen -W "$(memprof --help | sed -n '/^ways:/,/^options:/s/^  \([a-z]*\) .*/\1/p')" -- "$cur"; compgen -c -- "$cur") ;;
	*) compopt -o default ;;
	esac
}
complete -F _memprof memprof
