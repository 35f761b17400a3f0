"""Hadoop's configuration, which must be on the class path of every Accumulo server of the local stack."""

CORE_SITE = """<?xml version="1.0"?>
<!-- Hadoop's own local file system ignores sync, and the write-ahead log would lose data without a word. -->
<configuration>
  <property><name>fs.file.impl</name><value>watchfloor.stack.LocalFiles</value></property>
  <property><name>fs.AbstractFileSystem.file.impl</name><value>org.apache.hadoop.fs.local.RawLocalFs</value></property>
</configuration>
"""
