/** The methods of the JVM that wait for the present call from Python. */
public class CallStack {
  /** Whether a method of a class waits, and no class whose name begins with `other` has called it. */
  public boolean has(String owner, String method, String other) {
    StackTraceElement[] frames = new Throwable().getStackTrace();
    for (int i = 0; i < frames.length; i++) {
      if (frames[i].getMethodName().equals(method) && frames[i].getClassName().equals(owner)) {
        int caller = i;
        while (caller < frames.length && frames[caller].getClassName().equals(owner)) {
          caller++;
        }
        return caller == frames.length || !frames[caller].getClassName().startsWith(other);
      }
    }
    return false;
  }
}
