import java.util.*;
import java.util.concurrent.*;
import org.apache.spark.QueryContext;
import org.apache.spark.SparkRuntimeException;
import org.apache.spark.connect.proto.ExecutePlanRequest;
import org.apache.spark.connect.proto.ExecutePlanResponse;
import org.apache.spark.connect.proto.ReattachExecuteRequest;
import org.apache.spark.sql.connect.service.ExecuteKey;
import org.apache.spark.sql.connect.service.SessionHolder;
import org.apache.spark.sql.connect.service.SessionKey;
import org.apache.spark.sql.connect.service.SparkConnectService$;
import org.apache.spark.sql.connect.utils.ErrorUtils$;
import org.sparkproject.connect.grpc.*;
import org.sparkproject.connect.grpc.stub.StreamObserver;
import scala.Option;
import scala.PartialFunction;

/**
 * An interceptor between Spark Connect and its clients: it counts the rows of each statement, and applies limits to sessions.
 *
 * A client sends a statement once (`ExecutePlan`), and gets its answer in one or several calls, because it may attach to the
 * answer again. A statement that exceeds a limit is interrupted, and the call that returns this to its client has the reason.
 */
public class ConnectLimits implements ServerInterceptor {
  private static final int KEPT = 1000;  // statements with a known number of rows: more than Spark keeps
  private static final int FORGOTTEN = 100;  // running statements; with more, drop those of clients that are gone
  private static final Map ROWS = Collections.synchronizedMap(new LinkedHashMap() {
    protected boolean removeEldestEntry(Map.Entry eldest) { return size() > KEPT; }
  });
  private static volatile int statements;
  private static volatile long rows;
  private static volatile long seconds;
  private static volatile String condition = "";
  private static final Map RUNNING = new HashMap();  // from an operation to its statement; guarded by itself
  private static final ScheduledExecutorService TIMER = Executors.newSingleThreadScheduledExecutor(new ThreadFactory() {
    public Thread newThread(Runnable work) {
      Thread made = new Thread(work, "connect-limits");
      made.setDaemon(true);
      return made;
    }
  });

  /** Limits of each session; 0 for none. */
  public static void limit(int mostStatements, long mostRows, long mostSeconds, String ofErrors) {
    statements = mostStatements;
    rows = mostRows;
    seconds = mostSeconds;
    condition = ofErrors;
  }

  /** The number of rows of a statement's answer; -1 if they were not counted. `tag` is the job tag of its operation. */
  public static long rows(String tag) {
    Object found = ROWS.get(tag.substring(tag.lastIndexOf('_') + 1));
    return found == null ? -1L : ((Long) found).longValue();
  }

  /** The number of statements that are registered as running. */
  public static int running() {
    synchronized (RUNNING) { return RUNNING.size(); }
  }

  static class Running {
    final String user, session, operation;
    final long began = System.nanoTime();
    volatile String failure;
    volatile Future timer;
    long rows;

    Running(String user, String session, String operation) {
      this.user = user;
      this.session = session;
      this.operation = operation;
    }

    void fail(String reason) {
      if (failure != null) return;
      failure = reason;
      SessionHolder holder = holder(this);
      if (holder != null) holder.interruptOperation(operation);
    }
  }

  private static SessionHolder holder(Running one) {
    Option found = SparkConnectService$.MODULE$.sessionManager().getIsolatedSessionIfPresent(new SessionKey(one.user, one.session));
    return found.isDefined() ? (SessionHolder) found.get() : null;
  }

  /** Register a new statement. Returns whether its session may run it. */
  private static boolean begin(final Running one) {
    synchronized (RUNNING) {
      if (statements > 0 || RUNNING.size() > FORGOTTEN) forget();
      if (statements > 0 && underWay(one) >= statements) return false;
      if (RUNNING.containsKey(one.operation)) return true;  // Spark refuses it
      RUNNING.put(one.operation, one);
    }
    if (seconds > 0)
      one.timer = TIMER.schedule(new Runnable() {
        public void run() { one.fail("The statement took more than " + seconds + " seconds, the limit of this server."); }
      }, seconds, TimeUnit.SECONDS);
    return true;
  }

  private static int underWay(Running asked) {
    int found = 0;
    for (Iterator each = RUNNING.values().iterator(); each.hasNext();) {
      Running one = (Running) each.next();
      if (one.session.equals(asked.session) && one.user.equals(asked.user)) found++;
    }
    return found;
  }

  /** Drop the statements of clients that are gone. Keep new ones: their session may not have them yet. */
  private static void forget() {
    for (Iterator each = RUNNING.values().iterator(); each.hasNext();) {
      Running one = (Running) each.next();
      if (System.nanoTime() - one.began < TimeUnit.MINUTES.toNanos(1)) continue;
      ExecuteKey key = new ExecuteKey(one.user, one.session, one.operation);
      if (SparkConnectService$.MODULE$.executionManager().getExecuteHolder(key).isEmpty()) each.remove();
    }
  }

  private static void end(Running one) {
    synchronized (RUNNING) {
      if (RUNNING.get(one.operation) == one) RUNNING.remove(one.operation);
    }
    Future timer = one.timer;
    if (timer != null) timer.cancel(false);
  }

  public ServerCall.Listener interceptCall(ServerCall call, Metadata headers, ServerCallHandler next) {
    String method = call.getMethodDescriptor().getBareMethodName();
    if (!method.equals("ExecutePlan") && !method.equals("ReattachExecute")) return next.startCall(call, headers);
    Answer answer = new Answer(call);
    return new Question(next.startCall(answer, headers), answer);
  }

  /** The messages of a client's call. */
  static class Question extends ForwardingServerCallListener.SimpleForwardingServerCallListener {
    private final Answer answer;
    private boolean refused;

    Question(ServerCall.Listener next, Answer answer) {
      super(next);
      this.answer = answer;
    }

    public void onMessage(Object message) {
      if (message instanceof ExecutePlanRequest) {
        ExecutePlanRequest request = named((ExecutePlanRequest) message);
        ask(request);
        if (!refused) super.onMessage(request);
      } else {
        answer.one = again((ReattachExecuteRequest) message);
        super.onMessage(message);
      }
    }

    /** The request with a name of its operation. If the client gives none, the server chooses it. */
    private static ExecutePlanRequest named(ExecutePlanRequest request) {
      if (!request.getOperationId().isEmpty()) return request;
      return request.toBuilder().setOperationId(UUID.randomUUID().toString()).build();
    }

    private void ask(ExecutePlanRequest request) {
      Running one = new Running(request.getUserContext().getUserId(), request.getSessionId(), request.getOperationId());
      answer.one = one;
      if (begin(one)) return;
      refused = true;
      one.failure = "A session may run " + statements + " statements at the same time: wait for one to end.";
      answer.close(Status.RESOURCE_EXHAUSTED, new Metadata());
    }

    private static Running again(ReattachExecuteRequest request) {
      synchronized (RUNNING) { return (Running) RUNNING.get(request.getOperationId()); }
    }

    public void onHalfClose() {
      if (!refused) super.onHalfClose();
    }
  }

  /** The server's answer to a call. */
  static class Answer extends ForwardingServerCall.SimpleForwardingServerCall {
    volatile Running one;

    Answer(ServerCall call) { super(call); }

    public void sendMessage(Object message) {
      Running one = this.one;
      if (one != null && message instanceof ExecutePlanResponse) {
        ExecutePlanResponse response = (ExecutePlanResponse) message;
        if (response.hasArrowBatch()) count(one, response.getArrowBatch().getRowCount());
        if (response.hasResultComplete() && one.failure == null) end(one);
        if (one.failure != null) return;
      }
      super.sendMessage(message);
    }

    private static void count(Running one, long more) {
      one.rows += more;
      ROWS.put(one.operation, Long.valueOf(one.rows));
      if (rows > 0 && one.rows > rows)
        one.fail("The answer has more than " + rows + " rows, the limit of this server: request fewer, for example with LIMIT.");
    }

    public void close(Status status, Metadata trailers) {
      Running one = this.one;
      if (one == null || (status.isOk() && one.failure == null)) {  // complete, or the client will attach again
        super.close(status, trailers);
        return;
      }
      end(one);
      if (one.failure == null) super.close(status, trailers);
      else fail(one);
    }

    /** Return the error to the client by Spark's own code, which applies the client's settings for errors. */
    private void fail(Running one) {
      Object told = ErrorUtils$.MODULE$.handleError("execute", new Failed(delegate()), one.user, one.session, Option.empty(),
          false, Option.empty());
      ((PartialFunction) told).apply(error(one.failure));
    }

    private static Throwable error(String message) {
      scala.collection.immutable.Map none = scala.collection.immutable.Map$.MODULE$.empty();
      scala.collection.immutable.Map values = (scala.collection.immutable.Map) none.updated("message", message);
      return new SparkRuntimeException(condition, values, null, new QueryContext[0], "");
    }
  }

  /** Ends a call with an error. */
  static class Failed implements StreamObserver {
    private final ServerCall call;

    Failed(ServerCall call) { this.call = call; }

    public void onNext(Object message) { }

    public void onCompleted() { }

    public void onError(Throwable error) {
      Metadata trailers = Status.trailersFromThrowable(error);
      call.close(Status.fromThrowable(error), trailers == null ? new Metadata() : trailers);
    }
  }
}
