import java.lang.reflect.Field;
import java.net.InetAddress;
import java.util.ArrayDeque;
import java.util.concurrent.TimeUnit;
import javax.net.SocketFactory;
import py4j.CallbackClient;
import py4j.ClientServerConnection;
import py4j.Gateway;
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

    Client(PythonClient model, InetAddress address, int port) {
      super(model.getGateway(), null, port, address, CallbackClient.DEFAULT_MIN_CONNECTION_TIME,
          CallbackClient.DEFAULT_MIN_CONNECTION_TIME_UNIT, SocketFactory.getDefault(), model.getJavaServer(),
          model.isMemoryManagementEnabled(), model.getReadTimeout());
      this.model = model;
    }

    public String sendCommand(String command, boolean blocking) {
      ClientServerConnection own = getPerThreadConnection();
      if (own != null && own.getSocket() != null) return super.sendCommand(command, blocking);
      setPerThreadConnection(borrow());
      try {
        return super.sendCommand(command, blocking);
      } finally {
        ClientServerConnection borrowed = getPerThreadConnection();
        setPerThreadConnection(null);
        if (borrowed != null && borrowed.getSocket() != null) giveBack(borrowed);
      }
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
      return new Client(model, address, port);
    }
  }

  public void install(Gateway gateway) throws Exception {
    synchronized (gateway) {
      Object client = gateway.getCallbackClient();
      if (client instanceof Client || !(client instanceof PythonClient)) return;
      PythonClient perThread = (PythonClient) client;
      Field field = Gateway.class.getDeclaredField("cbClient");
      field.setAccessible(true);
      field.set(gateway, new Client(perThread, perThread.getAddress(), perThread.getPort()));
    }
  }
}
