/* What Linux has no number for is refused, not 0 (d-language.md 10.6). */
BEGIN { trace(xlate<lwpsinfo_t *>(curthread)->pr_oldpri); trace(curlwpsinfo->pr_cpu); }
