# What tests/citations.py says of citations that lead nowhere, in a tree made for it; and that it passes over those that are fine.
cd "$TMP" || exit 1
mkdir -p tree/doc/reference tree/doc/guide tree/src/d tree/tests/e2e/cmd tree/commands
cd tree || exit 1
echo /bench/made.json >.gitignore
cat >doc/reference/d-language.md <<'END'
# The language
## 1. Words
### 1.1 `this` and that
See §1.1 and §1.2.
### B.1 A sample
## Appendix A. Texts
END
cat >doc/guide/page.md <<'END'
# A page
[there](../reference/d-language.md#11-this-and-that), [here](#a-page), [nowhere](gone.md), [no heading](#a-pag),
`src/d/lex.c` and `src/d/gone.c`, and `tests/e2e/cmd/{one,two}.sh`.

```
src/d/code.c is not looked at
```
END
cat >src/d/lex.c <<'END'
/* d-language.md 1.1, 1.3 to B.1 and appendix A; d-language.md appendix B; providers.md 1 */
const char *text = "src/d/text.c 'is no comment' /* nor is src/d/this.c */", *hint = "doc/guide/none.md says it";
/*
 * Linux kernel/fork.c and include/linux/errno.h, and on the next line a page (d-language.md
 * 1.4). Now src/d/old.c, d/lex.c, d/lax.h, tests/e2e/cmd/NAME.sh, e2e/cmd/one.sh. bench/made.json is made.
 */
END
tr @ '#' >tests/tool.py <<'END' # as comments of this file they would be looked at, too
"""Documentation names src/d/lex.c and tests/gone.py."""
PATH = "src/d/value.c"  @ a comment: cmd/three.sh, e2e/cmd/three.sh
END
printf '#!/usr/sbin/dtrace -s\n/* design.md, section 2 */\n' >commands/snoop
echo 'echo src/d/echo.c @ src/d/shell.c' | tr @ '#' >tests/e2e/cmd/one.sh
python3 "$SRC/tests/citations.py" . && echo "nothing is wrong"

# mended
rm -r commands tests/tool.py
echo "[there](../reference/d-language.md#11-this-and-that), \`src/d/lex.c\`" >doc/guide/page.md
sed -i 's/ and §1.2//' doc/reference/d-language.md
echo '/* d-language.md 1.1, B.1 and appendix A; d/lex.c */' >src/d/lex.c
true >tests/e2e/cmd/one.sh
python3 "$SRC/tests/citations.py" . && echo "nothing is wrong"

# the page is not there
rm doc/reference/d-language.md
python3 "$SRC/tests/citations.py" .
exit 0
