package watchfloor.iterators.filter;

import java.lang.ref.WeakReference;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * The sets of values that a process has had lately. A scan brings its sets as options whose names are {@link #PREFIX} and
 * the set's digest, and whose values are the packed sets in base64. A filter program names a set by its digest.
 *
 * <p>A digest is computed from what was received, so nobody can have a set taken for another. A set that is known is not
 * unpacked again, which would take longer than many a scan.
 */
public final class ValueSets {
  public static final String PREFIX = "set:";
  /** The length of a digest: the first bytes of a SHA-256. */
  public static final int DIGEST_BYTES = 16;
  /** The greatest number of sets that are kept for later scans. */
  private static final int KEPT = 16;

  /** The sets that were used last, so that they are not collected. */
  private static final Map<String, ValueSet> LATEST =
      new LinkedHashMap<>(2 * KEPT, 0.75f, true) {
        @Override
        protected boolean removeEldestEntry(Map.Entry<String, ValueSet> eldest) {
          return size() > KEPT;
        }
      };

  /** All sets that are in use. */
  private static final Map<String, WeakReference<ValueSet>> KNOWN = new HashMap<>();

  private ValueSets() {}

  /**
   * Makes the sets in an iterator's options known. They stay so as long as the caller keeps what is returned.
   *
   * @throws IllegalArgumentException if a set is damaged
   */
  public static List<ValueSet> load(Map<String, String> options) {
    List<ValueSet> loaded = new ArrayList<>();
    for (Map.Entry<String, String> option : options.entrySet()) {
      if (option.getKey().startsWith(PREFIX)) {
        loaded.add(load(option.getKey().substring(PREFIX.length()), option.getValue()));
      }
    }
    return loaded;
  }

  private static synchronized ValueSet load(String digest, String packed) {
    ValueSet set = find(digest);
    if (set == null) {
      byte[] bytes = Base64.getDecoder().decode(packed.getBytes(StandardCharsets.ISO_8859_1));
      if (!digest(bytes).equals(digest)) {
        throw new IllegalArgumentException("a set of values has not the digest by which it is named");
      }
      set = ValueSet.of(bytes);
      KNOWN.values().removeIf(known -> known.get() == null);
      KNOWN.put(digest, new WeakReference<>(set));
    }
    LATEST.put(digest, set);
    return set;
  }

  /** Returns the set of a digest in hexadecimal digits; null if it is not known. */
  static synchronized ValueSet find(String digest) {
    WeakReference<ValueSet> known = KNOWN.get(digest);
    return known == null ? null : known.get();
  }

  /** Returns the digest of a packed set in hexadecimal digits. */
  public static String digest(byte[] packed) {
    try {
      byte[] whole = MessageDigest.getInstance("SHA-256").digest(packed);
      return HexFormat.of().formatHex(Arrays.copyOf(whole, DIGEST_BYTES));
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException(e);
    }
  }
}
