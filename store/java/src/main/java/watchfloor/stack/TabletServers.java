package watchfloor.stack;

import java.util.Map;
import java.util.TreeMap;
import org.apache.accumulo.core.client.AccumuloClient;
import org.apache.accumulo.core.clientImpl.ClientContext;
import org.apache.accumulo.core.master.thrift.TabletServerStatus;
import org.apache.accumulo.core.rpc.ThriftUtil;
import org.apache.accumulo.core.rpc.clients.ThriftClientTypes;
import org.apache.accumulo.core.tabletserver.thrift.TabletClientService;
import org.apache.accumulo.core.trace.TraceUtil;
import org.apache.accumulo.core.util.HostAndPort;
import org.apache.thrift.transport.TTransportException;

/**
 * Reads the status of tablet servers. Each is asked directly and answers with its status at that moment. The manager,
 * which asks them every few seconds, would answer with an older one.
 */
public final class TabletServers {
  private TabletServers() {}

  /**
   * Returns the status of each server by address; null for a silent one.
   *
   * @param millis after which a server counts as silent. One that was killed is silent until its session in ZooKeeper has
   *     expired; then it is not listed
   */
  public static Map<String, TabletServerStatus> statuses(AccumuloClient client, long millis) throws Exception {
    ClientContext context = (ClientContext) client;
    Map<String, TabletServerStatus> found = new TreeMap<>();
    for (String server : client.instanceOperations().getTabletServers()) {
      TabletClientService.Client rpc = null;
      try {
        rpc = ThriftUtil.getClient(ThriftClientTypes.TABLET_SERVER, HostAndPort.fromString(server), context, millis);
        found.put(server, rpc.getTabletServerStatus(TraceUtil.traceInfo(), context.rpcCreds()));
      } catch (TTransportException e) {
        found.put(server, null);
      } finally {
        if (rpc != null) {
          ThriftUtil.close(rpc, context);
        }
      }
    }
    return found;
  }
}
