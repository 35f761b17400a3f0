package watchfloor.workload.ycsb;

import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import site.ycsb.Client;
import watchfloor.workload.Job;
import watchfloor.workload.Workload;

/**
 * Runs YCSB's own client in this process: its load phase into a new table, or a workload on a table that was loaded.
 *
 * <p>Options: {@code phase} ({@code load} or {@code run}); {@code table}; {@code properties} of YCSB, each written
 * {@code name=value}; {@code log}, the file that gets what YCSB says; and to load {@code records}, {@code fields},
 * {@code fieldLength}, {@code tablets} and {@code again}, as {@link RecordTable#create} has them. YCSB ends the process
 * with the exit code 0 whatever happens: whether all was done is to be seen in the output that its property {@code
 * exportfile} names.
 */
public final class YcsbClient implements Workload {
  private static final int STOPPED = 130;

  @Override
  public void run(Job job) throws Exception {
    RecordTable table = new RecordTable(job.client(), job.text("table"));
    boolean loads = job.text("phase").equals("load");
    RecordShape shape = loads ? create(job, table) : table.readShape();
    RecordDatabase.open(job);
    CountedWorkload.use(table);
    haltAtStop(job);
    PrintStream log = new PrintStream(job.text("log"), StandardCharsets.UTF_8);
    System.setOut(log);
    System.setErr(log);
    Client.main(arguments(job, loads, shape));
  }

  private static RecordShape create(Job job, RecordTable table) throws Exception {
    RecordShape shape = new RecordShape(job.number("records"), job.whole("fields"), job.whole("fieldLength"));
    table.create(shape, job.whole("tablets"), job.flag("again"));
    return shape;
  }

  private static String[] arguments(Job job, boolean loads, RecordShape shape) {
    List<String> arguments = new ArrayList<>(List.of(loads ? "-load" : "-t"));
    List<String> properties = new ArrayList<>(job.texts("properties"));
    properties.add("workload=" + CountedWorkload.class.getName());
    properties.add("db=" + RecordDatabase.class.getName());
    properties.add("table=" + job.text("table"));
    properties.add("recordcount=" + shape.records());
    properties.add("fieldcount=" + shape.fields());
    properties.add("fieldlength=" + shape.fieldLength());
    properties.forEach(property -> arguments.addAll(List.of("-p", property)));
    return arguments.toArray(String[]::new);
  }

  /** Ends the process at the end of its standard input; what it has measured until then is of no use. */
  private static void haltAtStop(Job job) {
    Thread waiter =
        new Thread(
            () -> {
              try {
                job.sleep(Long.MAX_VALUE);
                Runtime.getRuntime().halt(STOPPED);
              } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
              }
            },
            "watchfloor-halt");
    waiter.setDaemon(true);
    waiter.start();
  }
}
