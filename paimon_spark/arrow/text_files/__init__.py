"""Files of lines, whose values are texts: csv, json and text, as format tables have them, with the values of Java.

May import: ``arrow.statistics``. The caller opens the files.
Invariant: a text has the value that Java's reader gives it; one that this release cannot read so is refused by name.
"""
