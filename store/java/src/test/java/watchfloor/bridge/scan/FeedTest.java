package watchfloor.bridge.scan;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CancellationException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BooleanSupplier;
import java.util.stream.IntStream;
import org.apache.accumulo.core.client.ScannerBase;
import org.apache.accumulo.core.data.Key;
import org.apache.accumulo.core.data.Value;
import org.junit.jupiter.api.Test;

class FeedTest {
  private static final int VALUE_BYTES = 1000;
  private static final int ENTRIES = 500;
  private static final long OWN_BYTES = 4 * VALUE_BYTES;
  private static final long MAX_BYTES = 100 * VALUE_BYTES;

  /** A scanner of {@link #ENTRIES} entries that counts those that were read. */
  private static ScannerBase scanner(AtomicInteger read) {
    return scanner(read, () -> {});
  }

  private static ScannerBase scanner(AtomicInteger read, Runnable close) {
    return (ScannerBase)
        Proxy.newProxyInstance(
            FeedTest.class.getClassLoader(),
            new Class<?>[] {ScannerBase.class},
            (proxy, method, arguments) -> {
              switch (method.getName()) {
                case "iterator":
                  return IntStream.range(0, ENTRIES)
                      .peek(i -> read.incrementAndGet())
                      .mapToObj(i -> Map.entry(new Key(String.format("%06d", i)), new Value(new byte[VALUE_BYTES])))
                      .iterator();
                case "close":
                  close.run();
                  return null;
                default:
                  throw new UnsupportedOperationException(method.getName());
              }
            });
  }

  private static Feed feed(Feed.Reader reader, ReadAheadMemory memory, long maxBytes, long ownBytes) {
    Feed feed = new Feed(memory, maxBytes, ownBytes);
    feed.begin(reader);
    return feed;
  }

  private static Feed feed(ReadAheadMemory memory, AtomicInteger read) {
    return feed(feed -> feed.drain(scanner(read), Long.MAX_VALUE), memory, MAX_BYTES, OWN_BYTES);
  }

  @Test
  void readsOnAfterWhatOthersHaveReadOnlyWhenTheConsumerWantsMore() throws Exception {
    AtomicInteger read = new AtomicInteger();
    ReadAheadMemory memory = new ReadAheadMemory(1 << 20);
    Feed feed = new Feed(memory, MAX_BYTES, OWN_BYTES);
    assertEquals(Feed.Head.NOTHING_YET, feed.advance(0));
    feed.take(new Key("!"), new Value(new byte[VALUE_BYTES]), f -> f.drain(scanner(read), Long.MAX_VALUE));
    assertEquals(Feed.Head.ENTRY, feed.advance(0));
    assertEquals("!", feed.key().getRow().toString());
    assertEquals(0, read.get());
    for (int i = 0; i < ENTRIES; i++) {
      assertEquals(Feed.Head.ENTRY, feed.advance(5000));
      assertEquals(String.format("%06d", i), feed.key().getRow().toString());
    }
    assertEquals(Feed.Head.END, feed.advance(5000));
    assertEquals(memory.size(), memory.free());
  }

  @Test
  void isReadOnlyWhenItIsWantedWhereOthersHavePostponedIt() throws Exception {
    AtomicInteger read = new AtomicInteger();
    ReadAheadMemory memory = new ReadAheadMemory(1 << 20);
    Feed feed = new Feed(memory, MAX_BYTES, OWN_BYTES);
    Thread others =
        new Thread(() -> feed.postpone(new Key("!"), f -> f.drain(scanner(read), Long.MAX_VALUE)));
    assertEquals(Feed.Head.NOTHING_YET, feed.advance(0));
    others.start();
    assertEquals(Feed.Head.POSTPONED, feed.advance(5000));
    assertEquals(new Key("!"), feed.next);
    assertFalse(feed.isAtEnd());
    awaitRest(read, 0);
    readToEnd(feed);
    assertEquals(memory.size(), memory.free());
    Feed closed = new Feed(memory, MAX_BYTES, OWN_BYTES);
    closed.close();
    closed.postpone(new Key("!"), f -> f.drain(scanner(read), Long.MAX_VALUE));
    assertThrows(CancellationException.class, () -> closed.advance(0));
    awaitRest(read, ENTRIES);
  }

  @Test
  void endsAfterWhatOthersHaveReadIfThatIsAll() throws Exception {
    ReadAheadMemory memory = new ReadAheadMemory(1 << 20);
    Feed feed = new Feed(memory, MAX_BYTES, OWN_BYTES);
    feed.take(new Key("!"), new Value(new byte[VALUE_BYTES]), null);
    assertFalse(feed.isAtEnd());
    assertEquals(Feed.Head.ENTRY, feed.advance(0));
    assertTrue(feed.isAtEnd());
    assertEquals(Feed.Head.END, feed.advance(0));
    assertEquals(memory.size(), memory.free());
    Feed failing = new Feed(memory, MAX_BYTES, OWN_BYTES);
    failing.end(new IllegalStateException("lost"));
    assertFalse(failing.isAtEnd());
  }

  @Test
  void whatOthersReadIsNotTakenOnceItIsClosed() throws Exception {
    ReadAheadMemory memory = new ReadAheadMemory(1 << 20);
    Feed feed = new Feed(memory, MAX_BYTES, OWN_BYTES);
    feed.close();
    feed.take(new Key("!"), new Value(new byte[VALUE_BYTES]), f -> {});
    feed.begin(f -> {});
    assertEquals(memory.size(), memory.free());
    assertThrows(CancellationException.class, () -> feed.advance(0));
    Feed failing = new Feed(memory, MAX_BYTES, OWN_BYTES);
    failing.end(new IllegalStateException("lost"));
    assertThrows(IllegalStateException.class, () -> failing.advance(5000));
  }

  @Test
  void readsOnWithoutAppetiteOnlyWhenTheConsumerWaits() throws Exception {
    AtomicInteger read = new AtomicInteger();
    AtomicInteger counted = new AtomicInteger();
    Feed.Appetite ten = value -> counted.incrementAndGet() < 10;
    ReadAheadMemory memory = new ReadAheadMemory(1 << 20);
    Feed feed = feed(f -> f.drain(scanner(read), Long.MAX_VALUE, ten), memory, MAX_BYTES, MAX_BYTES);
    awaitRest(read, 10);
    for (int i = 0; i < 10; i++) {
      assertEquals(Feed.Head.ENTRY, feed.advance(5000));
    }
    awaitRest(read, 10);
    assertEquals(Feed.Head.ENTRY, feed.advance(5000));
    awaitRest(read, 11);
    for (int i = 11; i < ENTRIES; i++) {
      assertEquals(Feed.Head.ENTRY, feed.advance(5000));
      assertEquals(String.format("%06d", i), feed.key().getRow().toString());
    }
    assertEquals(Feed.Head.END, feed.advance(5000));
  }

  @Test
  void isClosedWhileItWaitsWithoutAppetite() throws Exception {
    AtomicInteger read = new AtomicInteger();
    AtomicInteger closed = new AtomicInteger();
    ReadAheadMemory memory = new ReadAheadMemory(1 << 20);
    ScannerBase scanner = scanner(read, closed::incrementAndGet);
    Feed feed = feed(f -> f.drain(scanner, Long.MAX_VALUE, value -> false), memory, MAX_BYTES, MAX_BYTES);
    awaitRest(read, 1);
    feed.close();
    await(() -> closed.get() > 0);
    assertThrows(CancellationException.class, () -> feed.advance(5000));
    awaitRest(read, 1);
  }

  private static void await(BooleanSupplier isTrue) throws InterruptedException {
    for (int i = 0; i < 5000 && !isTrue.getAsBoolean(); i++) {
      Thread.sleep(1);
    }
    assertTrue(isTrue.getAsBoolean());
  }

  /** Waits until so many entries were read, and checks that no more are. */
  private static void awaitRest(AtomicInteger read, int most) throws InterruptedException {
    await(() -> read.get() >= most);
    Thread.sleep(100);
    assertEquals(most, read.get());
  }

  private static void readToEnd(Feed feed) throws Exception {
    for (int i = 0; i < ENTRIES; i++) {
      assertEquals(Feed.Head.ENTRY, feed.advance(5000));
      assertEquals(String.format("%06d", i), feed.key().getRow().toString());
      assertEquals(VALUE_BYTES, feed.value().getSize());
    }
    assertEquals(Feed.Head.END, feed.advance(5000));
  }

  @Test
  void feedsThatNobodyReadsStayWithinTheMemoryOfAll() throws Exception {
    ReadAheadMemory memory = new ReadAheadMemory(150 * VALUE_BYTES);
    AtomicInteger read = new AtomicInteger();
    List<Feed> feeds = new ArrayList<>();
    for (int i = 0; i < 10; i++) {
      feeds.add(feed(memory, read));
    }
    await(() -> memory.free() < VALUE_BYTES);
    Thread.sleep(200);
    // One entry of each feed has been read and is not in its buffer yet. It counts twice.
    assertTrue(memory.free() >= -10 * (OWN_BYTES + 2 * VALUE_BYTES), "free: " + memory.free());
    assertTrue(read.get() <= 150 + 10 * 4 + 10, "read: " + read.get());
    for (Feed feed : feeds) {
      readToEnd(feed);
    }
    assertEquals(memory.size(), memory.free());
  }

  @Test
  void aFeedWithoutFreeMemoryIsReadToItsEnd() throws Exception {
    ReadAheadMemory memory = new ReadAheadMemory(0);
    AtomicInteger read = new AtomicInteger();
    Feed feed = feed(memory, read);
    awaitRest(read, 4 + 1);
    assertEquals(-OWN_BYTES - 2 * VALUE_BYTES, memory.free());
    readToEnd(feed);
    assertEquals(0, memory.free());
  }

  @Test
  void aValueLargerThanItsShareWaitsUntilItIsWanted() throws Exception {
    ReadAheadMemory memory = new ReadAheadMemory(0);
    AtomicInteger read = new AtomicInteger();
    Feed feed = feed(f -> f.drain(scanner(read), Long.MAX_VALUE), memory, MAX_BYTES, VALUE_BYTES - 1);
    awaitRest(read, 1);
    assertEquals(-2 * VALUE_BYTES, memory.free());
    readToEnd(feed);
    assertEquals(0, memory.free());
  }

  @Test
  void aFeedReadsAheadNoMoreThanItsMost() throws Exception {
    ReadAheadMemory memory = new ReadAheadMemory(Long.MAX_VALUE / 2);
    AtomicInteger read = new AtomicInteger();
    Feed feed = feed(memory, read);
    awaitRest(read, 100 + 1);
    assertEquals(MAX_BYTES + 2 * VALUE_BYTES, memory.size() - memory.free());
    readToEnd(feed);
    assertEquals(memory.size(), memory.free());
  }

  @Test
  void aFeedThatIsClosedGivesItsMemoryBack() throws Exception {
    ReadAheadMemory memory = new ReadAheadMemory(30 * VALUE_BYTES);
    AtomicInteger read = new AtomicInteger();
    Feed feed = feed(memory, read);
    await(() -> memory.free() < VALUE_BYTES);
    assertEquals(Feed.Head.ENTRY, feed.advance(0));
    assertFalse(memory.take(memory.size()));
    feed.close();
    await(() -> memory.free() == memory.size());
    feed.close();
    assertEquals(memory.size(), memory.free());
    // The memory is free in truth: the feed keeps neither what was read ahead nor what was taken.
    assertThrows(CancellationException.class, feed::value);
    assertEquals(memory.size(), memory.free());
  }

  @Test
  void aFeedWhoseClientIsClosedMeanwhileIsClosedToo() throws Exception {
    ReadAheadMemory memory = new ReadAheadMemory(30 * VALUE_BYTES);
    AtomicInteger read = new AtomicInteger();
    AtomicInteger refused = new AtomicInteger();
    Runnable refuse =
        () -> {
          refused.incrementAndGet();
          throw new IllegalStateException("This client was closed.");
        };
    Feed feed = feed(f -> f.drain(scanner(read, refuse), Long.MAX_VALUE), memory, MAX_BYTES, OWN_BYTES);
    await(() -> memory.free() < VALUE_BYTES);
    feed.close();
    assertTrue(refused.get() > 0);
    await(() -> memory.free() == memory.size());
    assertThrows(CancellationException.class, () -> feed.advance(0));
  }
}
