import java.util.Collections;
import java.util.Map;
import java.util.WeakHashMap;
import org.apache.spark.connect.proto.AnalyzePlanRequest;
import org.apache.spark.connect.proto.ExecutePlanRequest;
import org.apache.spark.connect.proto.Plan;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.connect.service.SparkConnectService$;
import org.sparkproject.connect.grpc.*;
import scala.Option;

/**
 * Makes the catalogs of a Spark Connect session before its client's first plan, and before each call of `spark.catalog`.
 *
 * They are made when the session parses a text. A call of that API does not parse one, nor does a DataFrame without names.
 */
public class ConnectCatalogs implements ServerInterceptor {
  private static final Map SEEN = Collections.synchronizedMap(new WeakHashMap());

  public ServerCall.Listener interceptCall(ServerCall call, Metadata headers, ServerCallHandler next) {
    return new ForwardingServerCallListener.SimpleForwardingServerCallListener(next.startCall(call, headers)) {
      public void onMessage(Object message) {
        prepare(message);
        super.onMessage(message);
      }
    };
  }

  private static void prepare(Object message) {
    if (message instanceof ExecutePlanRequest) {
      ExecutePlanRequest asked = (ExecutePlanRequest) message;
      prepare(asked.getPlan(), asked.getUserContext().getUserId(), asked.getSessionId());
    } else if (message instanceof AnalyzePlanRequest) {
      AnalyzePlanRequest asked = (AnalyzePlanRequest) message;
      if (asked.hasSchema()) prepare(asked.getSchema().getPlan(), asked.getUserContext().getUserId(), asked.getSessionId());
    }
  }

  private static void prepare(Plan plan, String user, String session) {
    try {
      SparkSession found = (SparkSession) SparkConnectService$.MODULE$
        .getOrCreateIsolatedSession(user, session, Option.empty()).session();
      boolean isCatalogs = plan.hasRoot() && plan.getRoot().hasCatalog();
      if (SEEN.put(found, Boolean.TRUE) != null && !isCatalogs) return;
      found.sessionState().sqlParser().parseMultipartIdentifier("any");
    } catch (Throwable e) {
      // the session is closed or invalid: Spark reports that to the client
    }
  }
}
