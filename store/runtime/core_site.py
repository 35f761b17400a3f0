"""Hadoop's configuration, which must be on the class path of every Accumulo server of the local stack."""

CORE_SITE = """<?xml version="1.0"?>
<!-- Hadoop's own local file system ignores sync, and the write-ahead log would lose data without a word. The durability
     is a system property of each server, because this file is the same for all stacks. -->
<configuration>
  <property><name>fs.file.impl</name><value>watchfloor.stack.files.LocalFiles</value></property>
  <property><name>watchfloor.files.durability</name><value>${watchfloor.durability}</value></property>
  <property><name>fs.AbstractFileSystem.file.impl</name><value>org.apache.hadoop.fs.local.RawLocalFs</value></property>
  <!-- Hadoop sets the mode of each file that it makes, whatever the umask of the process is. -->
  <property><name>fs.permissions.umask-mode</name><value>077</value></property>
</configuration>
"""
_KERBEROS = """  <property><name>hadoop.security.authentication</name><value>kerberos</value></property>
</configuration>
"""


def format_core_site(has_kerberos: bool) -> str:
    """Returns the configuration of a stack whose servers and users are principals of Kerberos, or of another."""
    return CORE_SITE.replace("</configuration>\n", _KERBEROS) if has_kerberos else CORE_SITE
