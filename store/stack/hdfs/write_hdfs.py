"""Writes the files by which HDFS's servers are configured."""

from __future__ import annotations

from watchfloor.schema.settings.settings import Settings
from watchfloor.store.runtime.core_site import format_site
from watchfloor.store.runtime.private_files import make_private_folder, write_private
from watchfloor.store.stack.home.stack_state import StackState

from .hdfs_site import common_properties, hdfs_folder, select_core, select_hdfs, server_properties


def write_hdfs_files(settings: Settings, state: StackState) -> None:
    """Writes the configuration of HDFS's servers, if the stack has them; that of clients but for core-site.xml."""
    if not state.flavour.has_hdfs:
        return
    folder, common = hdfs_folder(settings), common_properties(settings, state)
    make_private_folder(folder)
    for page in ("hdfs", "datanode", "secondary", "static"):
        # Hadoop's jars lack these folders of its pages; its servers end if they cannot be found.
        for part in ("webapps", f"webapps/{page}"):
            make_private_folder(folder / part)
    own = common | server_properties(settings, state)
    write_private(settings.conf_folder / "hdfs-site.xml", format_site(select_hdfs(common)))
    write_private(folder / "hdfs-site.xml", format_site(select_hdfs(own)))
    write_private(folder / "core-site.xml", format_site(select_core(own)))
    write_private(folder / "log4j.properties", LOGGING)


LOGGING = """log4j.rootLogger=WARN,file
log4j.appender.file=org.apache.log4j.RollingFileAppender
log4j.appender.file.File=${watchfloor.log}
log4j.appender.file.MaxFileSize=20MB
log4j.appender.file.MaxBackupIndex=2
log4j.appender.file.layout=org.apache.log4j.PatternLayout
log4j.appender.file.layout.ConversionPattern=%d{ISO8601} %-5p [%c{2}] %m%n
log4j.logger.org.apache.hadoop.hdfs.StateChange=ERROR
log4j.logger.BlockStateChange=ERROR
log4j.logger.org.apache.hadoop.hdfs.DFSUtil=ERROR
"""
