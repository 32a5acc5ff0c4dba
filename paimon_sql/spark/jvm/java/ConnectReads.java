import java.util.*;
import java.util.function.BiPredicate;
import org.apache.spark.QueryContext;
import org.apache.spark.SparkRuntimeException;
import org.apache.spark.sql.connect.utils.ErrorUtils$;
import org.sparkproject.connect.grpc.*;
import org.sparkproject.connect.grpc.stub.StreamObserver;
import org.sparkproject.connect.protobuf.Descriptors;
import org.sparkproject.connect.protobuf.Message;
import scala.Option;
import scala.PartialFunction;

/**
 * Refuses each call of a Spark Connect client unless it is known to only read, before any part of it runs.
 *
 * A call is a tree of messages. The call and each message must be of a listed type. For some types the values are checked,
 * too: settings, the format of a data source, and options.
 */
public class ConnectReads implements ServerInterceptor {
  private static final String PATHS = "paimon_path";  // the catalog in which a table's name is its path
  private static final String PREFIX = "spark.connect.";
  private static volatile BiPredicate listed;
  private static volatile String condition = "";

  /** Set the allow-lists, which test a kind and a name, and the condition of errors. */
  public static void allow(String ofErrors, BiPredicate lists) {
    listed = lists;
    condition = ofErrors;
  }

  private static boolean has(String kind, String name) {
    BiPredicate lists = listed;
    return lists != null && lists.test(kind, name);
  }

  public ServerCall.Listener interceptCall(final ServerCall call, Metadata headers, ServerCallHandler next) {
    final String method = call.getMethodDescriptor().getBareMethodName();
    if (!has("call", method)) return unheard(call, method);
    return new ForwardingServerCallListener.SimpleForwardingServerCallListener(next.startCall(call, headers)) {
      private boolean refused;

      public void onMessage(Object message) {
        if (refused) return;
        String reason;
        try {
          reason = message instanceof Message ? refusal((Message) message) : method;
        } catch (RuntimeException e) {
          reason = method;
        }
        if (reason == null) {
          super.onMessage(message);
          return;
        }
        refused = true;
        refuse(call, message, reason);
      }

      public void onHalfClose() {
        if (!refused) super.onHalfClose();
      }
    };
  }

  /** A listener that refuses a call without passing it to Spark. */
  private static ServerCall.Listener unheard(final ServerCall call, final String method) {
    call.request(1);
    return new ServerCall.Listener() {
      private boolean refused;

      public void onMessage(Object message) {
        if (!refused) refuse(call, message, method);
        refused = true;
      }
    };
  }

  /** The part of a message that is not listed; null if the whole message is listed. */
  private static String refusal(Message message) {
    String type = message.getDescriptorForType().getFullName();
    String name = type.startsWith(PREFIX) ? type.substring(PREFIX.length()) : type;
    if (!has("message", name)) return name;
    String reason = ofValues(message, name);
    for (Iterator each = message.getAllFields().entrySet().iterator(); reason == null && each.hasNext();) {
      Map.Entry field = (Map.Entry) each.next();
      if (((Descriptors.FieldDescriptor) field.getKey()).getJavaType() != Descriptors.FieldDescriptor.JavaType.MESSAGE) continue;
      List values = field.getValue() instanceof List ? (List) field.getValue() : Collections.singletonList(field.getValue());
      for (Iterator value = values.iterator(); reason == null && value.hasNext();) reason = ofField(field, (Message) value.next());
    }
    return reason;
  }

  /** The part of a field that is not listed; null if all of it is. The entries of a map are messages without a listed type. */
  private static String ofField(Map.Entry field, Message value) {
    Descriptors.FieldDescriptor one = (Descriptors.FieldDescriptor) field.getKey();
    if (!one.isMapField()) return refusal(value);
    if (one.getName().equals("options") && !has("option", String.valueOf(value(value, "key"))))
      return "the option " + value(value, "key");
    Descriptors.FieldDescriptor inner = value.getDescriptorForType().findFieldByName("value");
    boolean isMessage = inner.getJavaType() == Descriptors.FieldDescriptor.JavaType.MESSAGE;
    return isMessage ? refusal((Message) value.getField(inner)) : null;
  }

  private static String ofValues(Message message, String name) {
    if (name.equals("Read") && Boolean.TRUE.equals(value(message, "is_streaming"))) return "a stream";
    if (name.equals("Read.DataSource")) {
      String format = String.valueOf(value(message, "format")).toLowerCase(Locale.ROOT);
      if (!format.isEmpty() && !has("source", format)) return "the data source " + format;
      List paths = (List) value(message, "paths");
      for (int i = 0; i < paths.size(); i++)
        if (!has("place", String.valueOf(paths.get(i)))) return "the path " + paths.get(i) + ", which is outside of this server's warehouses";
      return null;
    }
    if (name.equals("SetCurrentCatalog") && PATHS.equalsIgnoreCase(String.valueOf(value(message, "catalog_name")))) return PATHS;
    Descriptors.FieldDescriptor database = message.getDescriptorForType().findFieldByName("db_name");
    if (database != null && isPath(message.getField(database))) return "the path " + message.getField(database);
    if (name.equals("ConfigRequest.Set")) return ofPairs((List) value(message, "pairs"));
    return name.equals("ConfigRequest.Unset") ? ofKeys((List) value(message, "keys")) : null;
  }

  private static boolean isPath(Object name) {
    return String.valueOf(name).indexOf('/') >= 0 && !has("place", String.valueOf(name));
  }

  private static String ofPairs(List pairs) {
    List keys = new ArrayList();
    for (int i = 0; i < pairs.size(); i++) {
      Message pair = (Message) pairs.get(i);
      if (!has("value", String.valueOf(value(pair, "value")))) return "the value of the setting " + value(pair, "key");
      keys.add(value(pair, "key"));
    }
    return ofKeys(keys);
  }

  private static String ofKeys(List keys) {
    for (int i = 0; i < keys.size(); i++)
      if (!has("setting", (String) keys.get(i))) return "the setting " + keys.get(i);
    return null;
  }

  private static Object value(Message message, String field) {
    return message.getField(message.getDescriptorForType().findFieldByName(field));
  }

  /** Return the error to the client by Spark's own code, which applies the client's settings for errors. */
  private static void refuse(ServerCall call, Object message, String reason) {
    String user = "", session = "";
    if (message instanceof Message) {
      Message context = (Message) value((Message) message, "user_context");
      user = String.valueOf(value(context, "user_id"));
      session = String.valueOf(value((Message) message, "session_id"));
    }
    Object told = ErrorUtils$.MODULE$.handleError("execute", new Refused(call), user, session, Option.empty(), false,
        Option.empty());
    ((PartialFunction) told).apply(error("This server only reads, and the call (" + reason + ") may write, or is not known "
        + "to read: use a server that was started without --read-only."));
  }

  private static Throwable error(String message) {
    scala.collection.immutable.Map none = scala.collection.immutable.Map$.MODULE$.empty();
    scala.collection.immutable.Map values = (scala.collection.immutable.Map) none.updated("message", message);
    return new SparkRuntimeException(condition, values, null, new QueryContext[0], "");
  }

  /** Ends a call with an error. */
  static class Refused implements StreamObserver {
    private final ServerCall call;

    Refused(ServerCall call) { this.call = call; }

    public void onNext(Object message) { }

    public void onCompleted() { }

    public void onError(Throwable error) {
      Metadata trailers = Status.trailersFromThrowable(error);
      call.close(Status.fromThrowable(error), trailers == null ? new Metadata() : trailers);
    }
  }
}
