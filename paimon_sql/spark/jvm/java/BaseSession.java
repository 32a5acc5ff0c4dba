import scala.Function0;
import scala.runtime.AbstractFunction0;

/** Returns the session from which the sessions of Spark Connect's clients are created. */
public class BaseSession {
  public Function0 of(final Object session) {
    return new AbstractFunction0() {
      public Object apply() { return session; }
    };
  }
}
