package paimon_sql;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.net.InetAddress;
import java.nio.charset.StandardCharsets;
import java.security.SecureRandom;
import java.util.Base64;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.UnaryOperator;
import org.apache.spark.SparkContext;
import org.apache.spark.api.python.PythonUtils;
import org.apache.spark.sql.classic.SparkSession;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import py4j.ClientServer;
import scala.Function1;
import scala.Function2;

/**
 * A Python process beside this driver, and the channel to it.
 *
 * The process ends at the end of its standard input, which the kernel closes however the driver ends. Its first lines
 * carry the channel's port and secret: arguments and variables of a process can be seen by others.
 */
public final class PythonProcess {
  private static final String PROTOCOL = "1";  // the methods of Entry and the lines; the package has the same number
  private static final long PATIENCE = 120;  // seconds for the start
  private static final long LAST_WORDS = 2;  // seconds until a closed channel's process has ended
  private static final int KEPT = 4000;  // characters of its errors
  private static final Map COMPILED = new ConcurrentHashMap(Shipped.objects());
  private static final Logger LOG = LoggerFactory.getLogger("paimon_sql.Door");

  public final SparkContext context;
  private final String command;
  private final SparkSession session;
  private final CountDownLatch settled = new CountDownLatch(1);
  private final StringBuilder errors = new StringBuilder();
  private final ThreadGroup threads = new ThreadGroup("paimon-sql");
  private volatile DoorException failure;
  private volatile boolean isOpen;
  private volatile Function2 parsers;
  private volatile Function1 locate;
  private volatile Function2 rewrite;
  private ClientServer server;
  private Process process;

  private PythonProcess(SparkSession session, String command) {
    this.session = session;
    this.context = session.sparkContext();
    this.command = command;
  }

  /** What Python sees of this driver. py4j asks `apply` for the error of a channel that broke. */
  public static class Entry implements UnaryOperator {
    private final PythonProcess python;

    Entry(PythonProcess python) { this.python = python; }

    /** The session, once it can be used: Python may be started while it is made. */
    public SparkSession session() {
      python.session.sessionState();
      return python.session;
    }

    /**
     * Objects of the jar's classes, by their names and the checksums of their sources, and of classes that a Python process has
     * compiled, by their names: a later process must use the same.
     */
    public Map compiled() { return COMPILED; }

    /** Python is ready: `parsers` takes a session and its parser, `locate` options, `rewrite` a session and a plan. */
    public void open(Function2 parsers, Function1 locate, Function2 rewrite) {
      python.parsers = parsers;
      python.locate = locate;
      python.rewrite = rewrite;
      python.isOpen = true;
      python.settled.countDown();
    }

    public Object apply(Object error) { return python.ended((RuntimeException) error); }
  }

  public Function2 parsers() { return parsers; }

  public Function1 locate() { return locate; }

  public Function2 rewrite() { return rewrite; }

  public boolean isRunning() { return isOpen && process.isAlive(); }


  /** Start Python for a driver, and return when it is ready. Raises DoorException. */
  public static PythonProcess start(SparkSession session, Map environment) {
    long begun = System.nanoTime();
    PythonProcess made = new PythonProcess(session, Interpreter.command(session.sparkContext().conf(), environment));
    try {
      made.open();
      made.await();
    } catch (RuntimeException e) {
      made.close();
      throw e;
    }
    LOG.info("Started Python " + made.command + " as process " + made.process.pid() + " for Paimon tables, in "
      + (System.nanoTime() - begun) / 1000000 + " ms");
    return made;
  }

  private void open() {
    byte[] random = new byte[32];
    new SecureRandom().nextBytes(random);
    String secret = Base64.getUrlEncoder().withoutPadding().encodeToString(random);
    listen(secret);
    ProcessBuilder builder = new ProcessBuilder(new String[] {command, "-c", Interpreter.BOOTSTRAP});
    builder.environment().put("PYSPARK_PIN_THREAD", "true");
    builder.environment().put("PYTHONIOENCODING", "utf-8");
    try {
      process = builder.start();
    } catch (IOException e) {
      throw Interpreter.notFound(command, e);
    }
    daemon("reads errors", new Runnable() { public void run() { copyErrors(); } });
    daemon("reads what is missing", new Runnable() { public void run() { readReport(); } });
    String path = PythonUtils.sparkPythonPath();
    String lines = PROTOCOL + "\n" + server.getJavaServer().getListeningPort() + "\n" + secret + "\n"
      + context.version() + "\n" + path.replace('\n', ' ') + "\n";
    try {
      OutputStream input = process.getOutputStream();
      input.write(lines.getBytes(StandardCharsets.UTF_8));
      input.flush();  // stays open: Python ends with it
    } catch (IOException e) {
      LOG.debug("Python ended before it was asked for anything", e);  // its report, or its errors, have the reason
    }
  }

  /** Listen for Python. Threads inherit group and kind of the first one, and the program can end beside them. */
  private void listen(final String secret) {
    final Entry entry = new Entry(this);
    Thread first = daemon("listens", new Runnable() {
      public void run() {
        server = new ClientServer.ClientServerBuilder(entry).authToken(secret).javaPort(0)
          .javaAddress(InetAddress.getLoopbackAddress()).build();
        server.startServer(true);
      }
    });
    try {
      first.join();
    } catch (InterruptedException e) {
      throw interrupted(e);
    }
    if (server == null) throw new DoorException("Python could not be started: no port of this machine is free.", null);
  }

  private Thread daemon(String name, Runnable work) {
    Thread thread = new Thread(threads, work, "paimon-sql " + name);
    thread.setDaemon(true);
    thread.setContextClassLoader(PythonProcess.class.getClassLoader());
    thread.start();
    return thread;
  }

  private void await() {
    try {
      if (!settled.await(PATIENCE, TimeUnit.SECONDS))
        throw new DoorException("Python " + command + " was not ready for Paimon tables within " + PATIENCE
          + " seconds. Its last output: " + lastErrors() + ". Run the statement again on a machine with less load.", null);
    } catch (InterruptedException e) {
      throw interrupted(e);
    }
    if (!isOpen) throw failure;
  }

  static DoorException interrupted(InterruptedException e) {
    Thread.currentThread().interrupt();
    return new DoorException("The start of Python was cancelled. Run the statement again.", e);
  }

  private void readReport() {
    DoorException found = null;
    try {
      BufferedReader report = new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8));
      String line = report.readLine();
      if (line != null) found = Interpreter.lacking(command, line);
      process.waitFor();
      Thread.sleep(100);  // for the last lines of errors
    } catch (Exception e) {
      LOG.debug("The output of Python could not be read", e);
    }
    failure = found != null ? found : new DoorException("Python " + command + " ended with status " + process.exitValue()
      + " before it could serve Paimon tables. Its last output: " + lastErrors(), null);
    settled.countDown();
    if (isOpen) {
      LOG.warn("Python " + command + ", process " + process.pid() + ", ended with status " + process.exitValue());
      close();
    }
  }

  private void copyErrors() {
    try {
      InputStream from = process.getErrorStream();
      byte[] part = new byte[8192];
      for (int n = from.read(part); n >= 0; n = from.read(part)) {
        synchronized (errors) {
          errors.append(new String(part, 0, n, StandardCharsets.UTF_8));
          if (errors.length() > KEPT) errors.delete(0, errors.length() - KEPT);
        }
        if (isOpen) System.err.write(part, 0, n);
      }
    } catch (IOException e) {
      LOG.debug("The errors of Python could not be read", e);
    }
  }

  private String lastErrors() {
    synchronized (errors) {
      String text = errors.toString().trim();
      return text.isEmpty() ? "none" : text;
    }
  }

  /** The error for a call to Python that failed; the error itself if Python still runs. */
  private RuntimeException ended(RuntimeException error) {
    try {
      if (!process.waitFor(LAST_WORDS, TimeUnit.SECONDS)) return error;
    } catch (InterruptedException e) {
      return interrupted(e);
    }
    return new DoorException("The statement failed because Python, which serves Paimon tables, ended with status "
      + process.exitValue() + " while the statement ran. Run the statement again: the next one starts Python anew.", error);
  }

  /** End Python and the channel. */
  public void close() {
    isOpen = false;
    if (process != null) process.destroyForcibly();
    if (server != null) server.shutdown();
  }
}
