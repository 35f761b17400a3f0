package watchfloor.workload.continuous;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Map.Entry;
import org.apache.accumulo.core.client.Scanner;
import org.apache.accumulo.core.clientImpl.ClientContext;
import org.apache.accumulo.core.data.Key;
import org.apache.accumulo.core.data.Range;
import org.apache.accumulo.core.data.Value;
import org.apache.accumulo.core.manager.thrift.ManagerMonitorInfo;
import org.apache.accumulo.core.master.thrift.TableInfo;
import org.apache.accumulo.core.master.thrift.TabletServerStatus;
import org.apache.accumulo.core.rpc.clients.ThriftClientTypes;
import org.apache.accumulo.core.security.Authorizations;
import org.apache.accumulo.core.trace.TraceUtil;
import org.apache.hadoop.fs.ContentSummary;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.io.Text;
import watchfloor.bridge.HadoopClient;
import watchfloor.workload.Job;
import watchfloor.workload.Workload;

/**
 * Tells every so often the 27 numbers of the statistics collector of accumulo-testing, from the places that it asked: the
 * manager's report of its tablet servers, the sizes of the folders of tables, and the files of the table's tablets in
 * the metadata. The six of map-reduce, which this suite does not use, are 0.
 */
public final class Stats implements Workload {
  private static final String[] MAP_REDUCE = {
    "map_task", "max_map_task", "reduce_task", "max_reduce_task", "task_trackers", "black_listed"
  };
  private static final Text FILE = new Text("file");

  @Override
  public void run(Job job) throws Exception {
    long left = job.number("samples");
    long due = System.currentTimeMillis();
    while (!job.isStopping() && left-- > 0) {
      job.tell(collect(job));
      due += job.number("interval");
      if (left > 0) {
        job.sleep(Math.max(0, due - System.currentTimeMillis()));
      }
    }
  }

  private static Map<String, Object> collect(Job job) throws Exception {
    ClientContext context = (ClientContext) job.client();
    String id = context.tableOperations().tableIdMap().get(job.text("table"));
    if (id == null) {
      throw new IllegalArgumentException("there is no table " + job.text("table") + ": make it with createtable");
    }
    Map<String, Object> record = new LinkedHashMap<>();
    record.put("time", System.currentTimeMillis());
    putServers(record, context, id);
    putFolders(record, context, id);
    for (String field : MAP_REDUCE) {
      record.put(field, 0);
    }
    putFilesOfTablets(record, context, id);
    return record;
  }

  private static void putServers(Map<String, Object> record, ClientContext context, String id) throws Exception {
    ManagerMonitorInfo report =
        ThriftClientTypes.MANAGER.execute(
            context, manager -> manager.getManagerStats(TraceUtil.traceInfo(), context.rpcCreds()));
    TableInfo all = new TableInfo();
    TableInfo table = new TableInfo();
    for (TabletServerStatus server : report.getTServerInfo()) {
      for (Entry<String, TableInfo> one : server.getTableMap().entrySet()) {
        add(all, one.getValue());
        if (one.getKey().equals(id)) {
          add(table, one.getValue());
        }
      }
    }
    record.put("tablet_servers", report.getTServerInfo().size());
    record.put("total_entries", all.getRecs());
    record.put("total_ingest", all.getIngestRate());
    record.put("total_query", all.getQueryRate());
    record.put("table_entries", table.getRecs());
    record.put("table_entries_in_memory", table.getRecsInMemory());
    record.put("table_ingest", table.getIngestRate());
    record.put("table_query", table.getQueryRate());
    record.put("table_tablets", table.getTablets());
    record.put("table_tablets_online", table.getOnlineTablets());
  }

  private static void add(TableInfo sum, TableInfo one) {
    sum.setRecs(sum.getRecs() + one.getRecs());
    sum.setRecsInMemory(sum.getRecsInMemory() + one.getRecsInMemory());
    sum.setIngestRate(sum.getIngestRate() + one.getIngestRate());
    sum.setQueryRate(sum.getQueryRate() + one.getQueryRate());
    sum.setTablets(sum.getTablets() + one.getTablets());
    sum.setOnlineTablets(sum.getOnlineTablets() + one.getOnlineTablets());
  }

  private static void putFolders(Map<String, Object> record, ClientContext context, String id) throws Exception {
    String volumes = context.instanceOperations().getSystemConfiguration().get("instance.volumes");
    long[] all = new long[3];
    long[] table = new long[3];
    for (String volume : volumes.split(",")) {
      Path tables = new Path(volume.trim() + "/tables");
      FileSystem files = tables.getFileSystem(HadoopClient.configuration(volume.trim()));
      add(all, files, tables);
      add(table, files, new Path(tables, id));
    }
    record.put("accumulo_bytes", all[0]);
    record.put("accumulo_folders", all[1]);
    record.put("accumulo_files", all[2]);
    record.put("table_bytes", table[0]);
    record.put("table_folders", table[1]);
    record.put("table_files", table[2]);
  }

  private static void add(long[] sums, FileSystem files, Path folder) throws java.io.IOException {
    if (files.exists(folder)) {
      ContentSummary summary = files.getContentSummary(folder);
      sums[0] += summary.getLength();
      sums[1] += summary.getDirectoryCount();
      sums[2] += summary.getFileCount();
    }
  }

  private static void putFilesOfTablets(Map<String, Object> record, ClientContext context, String id) throws Exception {
    Map<String, Integer> files = new HashMap<>();
    try (Scanner scanner = context.createScanner("accumulo.metadata", Authorizations.EMPTY)) {
      scanner.setRange(new Range(id + ";", true, id + "<", true));
      for (Entry<Key, Value> entry : scanner) {
        boolean isFile = entry.getKey().compareColumnFamily(FILE) == 0;
        files.merge(entry.getKey().getRow().toString(), isFile ? 1 : 0, Integer::sum);
      }
    }
    List<Integer> counts = new ArrayList<>(files.values());
    double mean = counts.stream().mapToInt(Integer::intValue).average().orElse(0);
    double squares = counts.stream().mapToDouble(n -> (n - mean) * (n - mean)).sum();
    record.put("min_files_per_tablet", counts.stream().mapToInt(Integer::intValue).min().orElse(0));
    record.put("max_files_per_tablet", counts.stream().mapToInt(Integer::intValue).max().orElse(0));
    record.put("mean_files_per_tablet", mean);
    record.put("deviation_files_per_tablet", Math.sqrt(squares / Math.max(1, counts.size())));
  }
}
