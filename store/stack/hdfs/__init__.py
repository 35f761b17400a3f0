"""HDFS as a part of a stack: its configuration, its principals and its set-up."""
