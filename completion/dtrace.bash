# SPDX-License-Identifier: MIT
# Completion of dtrace for bash (package bash-completion): flags, probes of the running system, options of -x,
# names of the language within a program, processes, files.

# The candidates of kind $1 that begin with $2.
_dtrace_ask() {
	"${_dtrace_command:-dtrace}" --complete="$1:$2" 2>/dev/null | cut -f 1
}

# Completes the last name within a program that an open quote began. Readline closes the quote behind a single
# candidate, but a program goes on: a second candidate keeps the quote open.
_dtrace_program() {
	local text=${cur#[\'\"]} last head
	last=${text##*[!A-Za-z0-9_]}
	head=${text%"$last"}
	[[ -n $last ]] || return
	mapfile -t COMPREPLY < <(_dtrace_ask word "$last")
	COMPREPLY=("${COMPREPLY[@]/#/$head}")
	[[ ${#COMPREPLY[@]} -ne 1 ]] || COMPREPLY+=("${COMPREPLY[0]} ")
}

_dtrace_probe() { # kind
	local text=${cur#[\'\"]}
	if [[ $text == *[\ {/]* ]]; then
		_dtrace_program
		return
	fi
	mapfile -t COMPREPLY < <(_dtrace_ask "$1" "$text")
	if [[ $cur == "$text" ]]; then
		[[ $1 != probe ]] || __ltrim_colon_completions "$cur"
	elif [[ ${#COMPREPLY[@]} -eq 1 ]]; then
		COMPREPLY+=("${COMPREPLY[0]} ")
	fi
}

_dtrace() {
	local cur prev _dtrace_command=$1
	_get_comp_words_by_ref -n := cur prev || return
	COMPREPLY=()
	compopt -o nospace
	case $prev in
	-n | -i) _dtrace_probe probe ;;
	-P) _dtrace_probe provider ;;
	-m) _dtrace_probe module ;;
	-f) _dtrace_probe function ;;
	-x)
		mapfile -t COMPREPLY < <(_dtrace_ask option "$cur")
		case $COMP_WORDBREAKS in *=*) [[ $cur != *=* ]] || COMPREPLY=("${COMPREPLY[@]#*=}") ;; esac
		;;
	-p) mapfile -t COMPREPLY < <(compgen -W "$(command ps -eo pid=)" -- "$cur"); compopt +o nospace ;;
	-c) mapfile -t COMPREPLY < <(compgen -c -- "$cur"); compopt +o nospace ;;
	-L | -I) compopt -o filenames; mapfile -t COMPREPLY < <(compgen -d -- "$cur") ;;
	-X) mapfile -t COMPREPLY < <(compgen -W 'a c s t' -- "$cur") ;;
	-b | -D | -U) ;;
	*)
		compopt +o nospace
		case $cur in
		--*) mapfile -t COMPREPLY < <(compgen -W '--help --help=flags --help=options --help=language --help=all --version --pstack= --core=' -- "$cur") ;;
		-*) mapfile -t COMPREPLY < <(compgen -W '-b -c -C -D -e -f -F -G -h -H -i -I -l -L -m -n -o -p -P -q -s -S -U -v -V -w -x -X -Z --help --version' -- "$cur") ;;
		*) compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "$cur") ;;
		esac
		;;
	esac
}
complete -F _dtrace dtrace
