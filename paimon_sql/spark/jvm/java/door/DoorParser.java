package paimon_sql;

import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.Arrays;
import java.util.HashSet;
import java.util.Set;
import org.apache.spark.sql.catalyst.parser.ParserInterface;
import org.apache.spark.sql.classic.SparkSession;

/** The parser of a session: it hands statements and names of tables to Python's parser of this session. */
public final class DoorParser implements InvocationHandler {
  private static final Set ASKED = new HashSet(Arrays.asList(new Object[] {
    "parsePlan", "parsePlanWithParameters", "parseQuery", "parseMultipartIdentifier", "parseTemporalTableIdentifier"}));
  private final SparkSession session;
  private final ParserInterface delegate;
  private PythonProcess of;  // the one that `parser` is in
  private Object parser;

  private DoorParser(SparkSession session, ParserInterface delegate) {
    this.session = session;
    this.delegate = delegate;
  }

  public static Object of(Object session, Object delegate) {
    DoorParser made = new DoorParser((SparkSession) session, (ParserInterface) delegate);
    PythonProcess running = Door.running(made.session);
    if (running != null) made.in(running);  // now, as it takes its place from the session that this one is cloned from
    else Door.begin(made.session);
    return Proxy.newProxyInstance(DoorParser.class.getClassLoader(), new Class[] {ParserInterface.class}, made);
  }

  private synchronized Object in(PythonProcess python) {
    if (of != python) {
      parser = python.parsers().apply(session, delegate);
      of = python;
    }
    return parser;
  }

  /** Whether this thread makes the state of the session, for which the start of Python waits. */
  private boolean isEarly() {
    if (!Thread.holdsLock(session) || Door.running(session) != null) return false;
    StackTraceElement[] calls = Thread.currentThread().getStackTrace();
    for (int i = 0; i < calls.length; i++) if (calls[i].getMethodName().contains("sessionState$lzycompute")) return true;
    return false;
  }

  public Object invoke(Object self, Method method, Object[] arguments) throws Throwable {
    String name = method.getName();
    if (method.getDeclaringClass() == Object.class) {
      if (name.equals("hashCode")) return Integer.valueOf(System.identityHashCode(this));
      if (name.equals("equals")) return Boolean.valueOf(self == arguments[0]);
      PythonProcess running = Door.running(session);
      return running == null ? "DoorParser" : in(running).toString();  // by which Python finds its parser
    }
    try {
      Object asked = ASKED.contains(name) && !isEarly() ? in(Door.python(session)) : delegate;
      return method.invoke(asked, arguments);
    } catch (InvocationTargetException e) {
      throw e.getCause();
    }
  }
}
