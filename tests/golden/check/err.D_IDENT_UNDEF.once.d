/* a name is reported once; a hint where one is near */
int counting;
BEGIN { trace(countng); trace(countng + 1); trace(exename); trace(`jiffies); }
