package watchfloor.stack;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import org.apache.accumulo.core.spi.metrics.MeterRegistryFactory;

/**
 * Serves the metrics of a server of Accumulo to Prometheus, on a free port of the loopback address.
 *
 * <p>The option {@code targets} names a folder, in which a file with the server's name tells the port in the form of
 * Prometheus' {@code file_sd_configs}. The name is the system property {@code watchfloor.server}.
 */
public final class PrometheusMetrics implements MeterRegistryFactory {
  private static final String CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8";

  @Override
  public MeterRegistry create(InitParameters parameters) {
    PrometheusMeterRegistry registry = new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);
    try {
      int port = serve(registry);
      write(Path.of(parameters.getOptions().get("targets")), System.getProperty("watchfloor.server"), port);
    } catch (IOException e) {
      throw new UncheckedIOException("metrics cannot be served: " + e.getMessage(), e);
    }
    return registry;
  }

  /** Serves a registry for as long as the process lives, and returns the port. */
  static int serve(PrometheusMeterRegistry registry) throws IOException {
    HttpServer server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    server.createContext("/metrics", exchange -> answer(exchange, registry));
    // The server's own thread is a daemon if the one that starts it is: it must not keep the process alive.
    Thread starting = new Thread(server::start, "metrics");
    starting.setDaemon(true);
    starting.start();
    return server.getAddress().getPort();
  }

  private static void answer(HttpExchange exchange, PrometheusMeterRegistry registry) throws IOException {
    byte[] text = registry.scrape().getBytes(StandardCharsets.UTF_8);
    exchange.getResponseHeaders().set("Content-Type", CONTENT_TYPE);
    exchange.sendResponseHeaders(200, text.length);
    try (OutputStream out = exchange.getResponseBody()) {
      out.write(text);
    }
  }

  private static void write(Path folder, String name, int port) throws IOException {
    String process = name.replaceAll("[0-9]+$", "");
    String text = "[{\"targets\": [\"127.0.0.1:" + port + "\"], \"labels\": {\"process\": \"" + process + "\"}}]\n";
    Files.createDirectories(folder);
    Path begun = Files.writeString(folder.resolve(name + ".json.new"), text);
    Files.move(begun, folder.resolve(name + ".json"), StandardCopyOption.ATOMIC_MOVE);
  }
}
