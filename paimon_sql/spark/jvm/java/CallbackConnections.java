import java.lang.reflect.Field;
import java.net.InetAddress;
import java.util.ArrayDeque;
import java.util.concurrent.TimeUnit;
import java.util.function.UnaryOperator;
import javax.net.SocketFactory;
import py4j.CallbackClient;
import py4j.ClientServerConnection;
import py4j.Gateway;
import py4j.Py4JException;
import py4j.PythonClient;
import py4j.Py4JJavaServer;
import py4j.Py4JPythonClient;

/**
 * Connections over which the JVM calls Python: as many as threads call at the same time, not one per thread that has called.
 *
 * Spark plans scans on threads that it creates for a query (exchanges, broadcasts, subqueries). py4j opens a connection for
 * each calling thread, served by a Python thread, and keeps it after the calling thread has ended. A long session would run
 * out of file descriptors. With this class, a thread borrows a connection for the duration of its outermost call.
 */
public class CallbackConnections {
  private static final int MOST_IDLE = 16;

  public static class Client extends PythonClient {
    private final ArrayDeque idle = new ArrayDeque();
    private final PythonClient model;
    private final String token;

    Client(PythonClient model, InetAddress address, int port, String token) {
      super(model.getGateway(), null, port, address, CallbackClient.DEFAULT_MIN_CONNECTION_TIME,
          CallbackClient.DEFAULT_MIN_CONNECTION_TIME_UNIT, SocketFactory.getDefault(), model.getJavaServer(),
          model.isMemoryManagementEnabled(), model.getReadTimeout(), token);
      this.model = model;
      this.token = token;
    }

    public String sendCommand(String command, boolean blocking) {
      ClientServerConnection own = getPerThreadConnection();
      if (own != null && own.getSocket() != null) {
        try {
          return super.sendCommand(command, blocking);
        } catch (Py4JException e) {
          throw explained(e);
        }
      }
      setPerThreadConnection(borrow());
      try {
        return super.sendCommand(command, blocking);
      } catch (Py4JException e) {
        throw explained(e);
      } finally {
        ClientServerConnection borrowed = getPerThreadConnection();
        setPerThreadConnection(null);
        if (borrowed != null && borrowed.getSocket() != null) giveBack(borrowed);
      }
    }

    /** The error of a broken channel. In a JVM program, the entry point knows how Python ended. */
    private RuntimeException explained(Py4JException error) {
      Object entry = model.getGateway().getEntryPoint();
      return entry instanceof UnaryOperator ? (RuntimeException) ((UnaryOperator) entry).apply(error) : error;
    }

    private ClientServerConnection borrow() {
      synchronized (idle) {
        return (ClientServerConnection) idle.pollLast();
      }
    }

    private void giveBack(ClientServerConnection connection) {
      synchronized (idle) {
        if (idle.size() < MOST_IDLE) {
          idle.addLast(connection);
          return;
        }
      }
      connection.shutdown();
      connectionStopped(connection);
    }

    public Py4JPythonClient copyWith(InetAddress address, int port) {
      return new Client(model, address, port, token);
    }
  }

  /** `token` authenticates the JVM's calls; null if Python takes calls without. */
  public void install(Gateway gateway, String token) throws Exception {
    synchronized (gateway) {
      Object client = gateway.getCallbackClient();
      if (client instanceof Client || !(client instanceof PythonClient)) return;
      PythonClient perThread = (PythonClient) client;
      Field field = Gateway.class.getDeclaredField("cbClient");
      field.setAccessible(true);
      field.set(gateway, new Client(perThread, perThread.getAddress(), perThread.getPort(), token));
    }
  }
}
