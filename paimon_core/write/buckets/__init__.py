"""Which bucket a row goes to: fixed, dynamic, postponed, across partitions, and rows that change theirs."""
