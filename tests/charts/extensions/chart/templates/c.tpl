kind: C
