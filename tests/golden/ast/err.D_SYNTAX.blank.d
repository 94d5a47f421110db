/* In a file a description has actions, so the blank is what is wrong. */
pid1:a.out:f part:entry { exit(0); }
