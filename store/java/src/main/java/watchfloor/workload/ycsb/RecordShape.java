package watchfloor.workload.ycsb;

/** How many records a table has, how many fields each of them has, and the bytes of a field. */
record RecordShape(long records, int fields, int fieldLength) {}
