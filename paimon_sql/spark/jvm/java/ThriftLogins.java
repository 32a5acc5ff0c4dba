import java.io.IOException;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.util.*;
import java.util.concurrent.*;
import org.apache.hive.service.cli.thrift.ThriftBinaryCLIService;
import org.apache.hive.service.cli.thrift.ThriftCLIService;
import org.apache.hive.service.server.HiveServer2;
import org.apache.thrift.server.TServer;
import org.apache.thrift.transport.*;

/**
 * Limits the seconds that clients of HiveServer2 may take to log in, and the number of logins of an address at a time.
 *
 * HiveServer2 has a thread for each connection, which waits for the login forever. If an address has too many connections
 * without a login, the oldest of them is closed. That keeps out no client that logs in, because a login takes a moment.
 */
public class ThriftLogins extends TTransportFactory {
  private final TTransportFactory inner;
  private final int most, seconds;
  private final Map waiting = new HashMap();  // from an address to a queue of sockets; guarded by itself
  private final ScheduledExecutorService timer = Executors.newSingleThreadScheduledExecutor(new ThreadFactory() {
    public Thread newThread(Runnable work) {
      Thread made = new Thread(work, "thrift-logins");
      made.setDaemon(true);
      return made;
    }
  });

  public ThriftLogins() { this(null, 0, 0); }

  ThriftLogins(TTransportFactory inner, int most, int seconds) {
    this.inner = inner;
    this.most = most;
    this.seconds = seconds;
  }

  /** Install the limits before the logins of a server. */
  public void install(HiveServer2 server, int most, int seconds) throws Exception {
    Object thrift = field(HiveServer2.class, "thriftCLIService").get(server);
    if (!(thrift instanceof ThriftBinaryCLIService)) return;
    Object found = field(ThriftBinaryCLIService.class, "server").get(thrift);
    String[] names = new String[] {"inputTransportFactory_", "outputTransportFactory_"};
    ThriftLogins made = new ThriftLogins((TTransportFactory) field(TServer.class, names[0]).get(found), most, seconds);
    for (int i = 0; i < names.length; i++) field(TServer.class, names[i]).set(found, made);
  }

  private static Field field(Class owner, String name) throws Exception {
    Field found = owner.getDeclaredField(name);
    found.setAccessible(true);
    return found;
  }

  public TTransport getTransport(TTransport base) throws TTransportException {
    final Socket socket = base instanceof TSocket ? ((TSocket) base).getSocket() : null;
    if (socket == null || !(socket.getRemoteSocketAddress() instanceof InetSocketAddress)) return inner.getTransport(base);
    String address = ((InetSocketAddress) socket.getRemoteSocketAddress()).getAddress().getHostAddress();
    Future late = timer.schedule(new Runnable() {
      public void run() { end(socket); }
    }, seconds, TimeUnit.SECONDS);
    begin(address, socket);
    guessFrom(address);
    try {
      return inner.getTransport(base);
    } finally {
      late.cancel(false);
      forget(address, socket);
    }
  }

  private void begin(String address, Socket socket) {
    Socket oldest = null;
    synchronized (waiting) {
      if (!waiting.containsKey(address)) waiting.put(address, new LinkedHashSet());
      Set found = (Set) waiting.get(address);
      if (found.size() >= most) {
        oldest = (Socket) found.iterator().next();
        found.remove(oldest);
      }
      found.add(socket);
    }
    if (oldest != null) end(oldest);
  }

  private void forget(String address, Socket socket) {
    synchronized (waiting) {
      Set found = (Set) waiting.get(address);
      if (found == null) return;
      found.remove(socket);
      if (found.isEmpty()) waiting.remove(address);
    }
  }

  private static void end(Socket socket) {
    try {
      socket.close();
    } catch (IOException e) {
      // closed already
    }
  }

  /** Pass the client's address to `PasswordFile`, which slows down guesses from an address. */
  private static void guessFrom(String address) {
    try {
      Method came = ClassLoader.getSystemClassLoader().loadClass("PasswordFile").getMethod("cameFrom", new Class[] {String.class});
      came.invoke(null, new Object[] {address});
    } catch (Exception e) {
      // the server has no file of users
    }
  }
}
