import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.util.*;
import java.util.function.BiPredicate;
import org.apache.hive.service.cli.*;
import org.apache.hive.service.cli.thrift.ThriftCLIService;
import org.apache.hive.service.rpc.thrift.TProtocolVersion;
import org.apache.hive.service.server.HiveServer2;
import org.apache.spark.unsafe.Platform;

/**
 * Checks the settings with which clients of HiveServer2 open sessions and run statements.
 *
 * These become settings of the session without a statement. HiveServer2 copies them into its own configuration, into
 * Spark's and, for `set:system:`, into properties of the whole JVM.
 */
public class ThriftSessions {
  /** Replace a server's service. `listed` has the settings that a client may give. Without it, clients may give all settings
   *  except properties of the JVM. */
  public void install(HiveServer2 server, String condition, String state, BiPredicate listed) throws Exception {
    ThriftCLIService thrift = (ThriftCLIService) field(HiveServer2.class, "thriftCLIService").get(server);
    Field service = field(ThriftCLIService.class, "cliService");
    Object before = service.get(thrift);
    Guarded guarded = new Guarded(server, condition, state, listed);
    for (Class owner = CLIService.class; owner != Object.class; owner = owner.getSuperclass()) {
      Field[] shared = owner.getDeclaredFields();
      for (int i = 0; i < shared.length; i++) {
        if (Modifier.isStatic(shared[i].getModifiers())) continue;
        shared[i].setAccessible(true);
        shared[i].set(guarded, shared[i].get(before));
      }
    }
    service.set(thrift, guarded);
  }

  private static Field field(Class owner, String name) throws Exception {
    Field found = owner.getDeclaredField(name);
    found.setAccessible(true);
    return found;
  }

  static class Guarded extends CLIService {
    private final String condition, state;
    private final BiPredicate listed;

    Guarded(HiveServer2 server, String condition, String state, BiPredicate listed) {
      super(server);
      this.condition = condition;
      this.state = state;
      this.listed = listed;
    }

    public SessionHandle openSession(TProtocolVersion protocol, String user, String password, String address, Map given)
        throws HiveSQLException {
      check(given);
      return super.openSession(protocol, user, password, address, given);
    }

    public SessionHandle openSessionWithImpersonation(TProtocolVersion protocol, String user, String password,
        String address, Map given, String token) throws HiveSQLException {
      check(given);
      return super.openSessionWithImpersonation(protocol, user, password, address, given, token);
    }

    public OperationHandle executeStatement(SessionHandle session, String statement, Map given, long timeout)
        throws HiveSQLException {
      check(given);
      return super.executeStatement(session, statement, given, timeout);
    }

    public OperationHandle executeStatementAsync(SessionHandle session, String statement, Map given, long timeout)
        throws HiveSQLException {
      check(given);
      return super.executeStatementAsync(session, statement, given, timeout);
    }

    private void check(Map given) {
      if (given == null) return;
      for (Iterator each = given.keySet().iterator(); each.hasNext();) {
        Object asked = each.next();
        String key = String.valueOf(asked);
        String name = key.startsWith("set:") ? key.substring(4) : key;
        if (name.startsWith("use:")) continue;
        boolean prefixed = name.startsWith("hiveconf:") || name.startsWith("hivevar:");
        String setting = prefixed ? name.substring(name.indexOf(':') + 1) : name;
        boolean isOther = setting.indexOf(':') >= 0;  // system:, env:, metaconf:
        if (isOther || listed != null && !isListed(setting, given.get(asked))) refuse(setting);
      }
    }

    private boolean isListed(String setting, Object value) {
      return listed.test("setting", setting) && listed.test("value", String.valueOf(value));
    }

    private void refuse(String setting) {
      String message = "[" + condition + "] A client of this server must not set " + setting + ": open the session without "
        + "it, or let the operator of the server set it. SQLSTATE: " + state;
      Platform.throwException(new HiveSQLException(message, state));
    }
  }
}
