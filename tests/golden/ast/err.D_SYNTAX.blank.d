/* In a file a description has actions, so the blank is what is wrong. */
pid1:a.out:operator new:entry { exit(0); }
