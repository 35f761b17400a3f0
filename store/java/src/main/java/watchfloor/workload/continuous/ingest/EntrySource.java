package watchfloor.workload.continuous.ingest;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.UUID;
import java.util.zip.CRC32;
import org.apache.accumulo.core.data.Mutation;
import org.apache.accumulo.core.security.ColumnVisibility;
import watchfloor.workload.Job;
import watchfloor.workload.continuous.EntryFormat;

/** Makes the entries of one ingest client: random rows and columns, and the values that point to earlier rows. */
final class EntrySource {
  private static final int TEXT = 95;

  private final SplittableRandom random;
  private final byte[] uuid;
  private final long firstRow;
  private final long rows;
  private final int families;
  private final int qualifiers;
  private final boolean hasChecksums;
  private final List<ColumnVisibility> visibilities = new ArrayList<>();
  private final ZipfSizes sizes;
  private long count;

  EntrySource(Job job) {
    random = new SplittableRandom(job.number("seed"));
    uuid = drawUuid(random);
    firstRow = job.number("first_row");
    rows = job.number("end_row") - firstRow;
    families = job.whole("families");
    qualifiers = job.whole("qualifiers");
    hasChecksums = job.flag("checksums");
    job.texts("visibilities").forEach(text -> visibilities.add(parse(text)));
    int most = job.whole("most_filler");
    sizes = most == 0 ? null : new ZipfSizes(job.whole("least_filler"), most, job.real("zipf_exponent"));
  }

  static byte[] drawUuid(SplittableRandom random) {
    return new UUID(random.nextLong(), random.nextLong()).toString().getBytes(StandardCharsets.US_ASCII);
  }

  String uuid() {
    return new String(uuid, StandardCharsets.US_ASCII);
  }

  ColumnVisibility drawVisibility() {
    return visibilities.isEmpty() ? new ColumnVisibility() : visibilities.get(random.nextInt(visibilities.size()));
  }

  private static ColumnVisibility parse(String text) {
    try {
      return new ColumnVisibility(text);
    } catch (RuntimeException e) {
      String reason = e.getMessage().lines().findFirst().orElse("");
      throw new IllegalArgumentException("bad visibility " + text + ": " + reason, e);
    }
  }

  long drawRow() {
    return firstRow + (random.nextLong() & Long.MAX_VALUE) % rows;
  }

  int drawFamily() {
    return random.nextInt(families);
  }

  int drawQualifier() {
    return random.nextInt(qualifiers);
  }

  /** Returns an entry that points to {@code previous}; -1: to none. */
  Mutation make(long row, int family, int qualifier, ColumnVisibility visibility, long previous) {
    byte[] rowText = EntryFormat.row(row);
    byte[] familyText = EntryFormat.column(family);
    byte[] qualifierText = EntryFormat.column(qualifier);
    CRC32 sum = null;
    if (hasChecksums) {
      sum = new CRC32();
      sum.update(rowText);
      sum.update(familyText);
      sum.update(qualifierText);
      sum.update(visibility.getExpression());
    }
    byte[] pointed = previous < 0 ? null : EntryFormat.row(previous);
    byte[] value = EntryFormat.value(uuid, count++, pointed, drawFiller(), sum);
    Mutation mutation = new Mutation(rowText, 96 + value.length);
    mutation.put(familyText, qualifierText, visibility, value);
    return mutation;
  }

  private byte[] drawFiller() {
    if (sizes == null) {
      return null;
    }
    byte[] filler = new byte[sizes.draw(random)];
    for (int i = 0; i < filler.length; i++) {
      filler[i] = (byte) (' ' + random.nextInt(TEXT));
    }
    return filler;
  }
}
