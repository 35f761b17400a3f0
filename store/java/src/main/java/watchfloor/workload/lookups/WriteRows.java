package watchfloor.workload.lookups;

import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.apache.accumulo.core.client.admin.NewTableConfiguration;
import org.apache.accumulo.core.client.rfile.RFile;
import org.apache.accumulo.core.client.rfile.RFileWriter;
import org.apache.accumulo.core.data.Key;
import org.apache.accumulo.core.data.Value;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.io.Text;
import watchfloor.bridge.StoreException;
import watchfloor.bridge.sink.BulkFiles;
import watchfloor.bridge.sink.ErasureCoding;
import watchfloor.workload.Job;
import watchfloor.workload.Workload;

/**
 * Creates a table for look-ups and writes all its rows: a sorted file for each tablet, by several threads, and one bulk
 * import.
 *
 * <p>Options: {@code table}, {@code again} (a table that was made so is replaced), {@code properties} (of the table:
 * {@code NAME=VALUE}), {@code policy} (of erasure coding, which HDFS must have; empty for none), {@code rows}, {@code
 * seed}, {@code tablets}, {@code writers} (threads), {@code folder} (of the files; the servers read it too; without a
 * scheme: below the instance's first volume). Records: {@code written} with {@code seconds}, {@code entries} and {@code
 * bytes} of all files; {@code imported} with {@code seconds} and the table's {@code id}.
 */
public final class WriteRows implements Workload {
  private static final int CHECKED_ROWS = 10_000;

  private Job job;
  private LookupRows rows;
  private int tablets;
  private long time;

  @Override
  public void run(Job job) throws Exception {
    this.job = job;
    rows = new LookupRows(job.number("rows"), job.number("seed"));
    tablets = (int) Math.min(job.number("tablets"), rows.count());
    time = System.currentTimeMillis();
    String table = job.text("table");
    if (!job.text("policy").isEmpty()) {
      ErasureCoding.require(job.connection(), job.text("policy"));
    }
    createTable(table);
    try {
      fillTable(table);
    } catch (Exception e) {
      job.client().tableOperations().delete(table);
      throw e;
    }
  }

  private void fillTable(String table) throws Exception {
    String given = job.text("folder");
    Path folder = new Path(given.contains(":") ? given : BulkFiles.volume(job.connection()) + "/" + given);
    FileSystem files = BulkFiles.system(folder.toString());
    try {
      if (!files.mkdirs(folder)) {
        throw new IOException("the folder " + folder + " cannot be made");
      }
      long began = System.nanoTime();
      writeFiles(files, folder, job.client().tableOperations().getConfiguration(table));
      double seconds = seconds(began);
      long bytes = 0;
      for (FileStatus file : files.listStatus(folder)) {
        bytes += file.getLen();
      }
      job.tell(record("written", seconds, Map.of("entries", rows.count() * LookupRows.COLUMNS, "bytes", bytes)));
      began = System.nanoTime();
      job.client().tableOperations().importDirectory(folder.toString()).to(table).load();
      String id = job.client().tableOperations().tableIdMap().get(table);
      job.tell(record("imported", seconds(began), Map.of("id", id)));
    } finally {
      files.delete(folder, true);
    }
  }

  private void createTable(String table) throws Exception {
    if (job.client().tableOperations().exists(table)) {
      TableRows.read(job.client(), table);
      if (!job.flag("again")) {
        throw new IllegalArgumentException("table " + table + " exists: --again replaces it, --table names another");
      }
      job.client().tableOperations().delete(table);
    }
    Map<String, String> properties = new HashMap<>(TableRows.properties(rows.count(), job.number("seed")));
    for (String property : job.texts("properties")) {
      String[] parts = property.split("=", 2);
      properties.put(parts[0], parts[1]);
    }
    NewTableConfiguration configuration = new NewTableConfiguration().setProperties(properties);
    TreeSet<Text> splits = new TreeSet<>();
    for (int tablet = 1; tablet < tablets; tablet++) {
      splits.add(new Text(rows.before(first(tablet))));
    }
    if (!splits.isEmpty()) {
      configuration = configuration.withSplits(splits);
    }
    job.client().tableOperations().create(table, configuration);
  }

  /** Returns the number of a tablet's first row. */
  private long first(int tablet) {
    return rows.count() / tablets * tablet + Math.min(tablet, rows.count() % tablets);
  }

  private void writeFiles(FileSystem files, Path folder, Map<String, String> properties) throws Exception {
    ExecutorService writers = Executors.newFixedThreadPool(job.whole("writers"));
    try {
      List<Future<Void>> written = new ArrayList<>();
      for (int tablet = 0; tablet < tablets; tablet++) {
        Path file = new Path(folder, String.format("%06d.rf", tablet));
        long since = first(tablet);
        long until = first(tablet + 1);
        Callable<Void> write =
            () -> {
              try (RFileWriter writer =
                  RFile.newWriter().to(file.toString()).withFileSystem(files).withTableProperties(properties).build()) {
                writeRows(writer, since, until);
              }
              return null;
            };
        written.add(writers.submit(write));
      }
      for (Future<Void> each : written) {
        each.get();
      }
    } finally {
      writers.shutdownNow();
    }
  }

  private void writeRows(RFileWriter writer, long since, long until) throws IOException {
    byte[] noLabel = new byte[0];
    for (long number = since; number < until; number++) {
      if ((number - since) % CHECKED_ROWS == 0 && job.isStopping()) {
        throw new StoreException("the writing of rows was stopped");
      }
      byte[] row = rows.row(number);
      for (int column = 0; column < LookupRows.COLUMNS; column++) {
        byte[] qualifier = LookupRows.QUALIFIERS[column];
        Key key = new Key(row, LookupRows.FAMILY, qualifier, noLabel, time, false, false);
        writer.append(key, new Value(rows.value(number, column)));
      }
    }
  }

  private static double seconds(long began) {
    return (System.nanoTime() - began) / 1e9;
  }

  private static Map<String, Object> record(String phase, double seconds, Map<String, ?> more) {
    Map<String, Object> record = new HashMap<>(more);
    record.put("phase", phase);
    record.put("seconds", seconds);
    return record;
  }
}
