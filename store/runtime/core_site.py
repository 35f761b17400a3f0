"""Hadoop's configuration, which must be on the class path of every Accumulo server of the local stack."""

from __future__ import annotations

from collections.abc import Mapping

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
_END = "</configuration>\n"


def format_core_site(has_kerberos: bool, more: Mapping[str, object]) -> str:
    """Returns the configuration of a stack whose servers are principals of Kerberos, or of another.

    ``more`` holds further properties.
    """
    kerberos = {"hadoop.security.authentication": "kerberos"} if has_kerberos else {}
    return CORE_SITE.replace(_END, _format_properties(kerberos | dict(more)) + _END)


def format_site(properties: Mapping[str, object]) -> str:
    """Returns properties as a file of Hadoop's configuration."""
    return '<?xml version="1.0"?>\n<configuration>\n' + _format_properties(properties) + _END


def _format_properties(properties: Mapping[str, object]) -> str:
    return "".join(
        f"  <property><name>{name}</name><value>{value}</value></property>\n" for name, value in properties.items()
    )
