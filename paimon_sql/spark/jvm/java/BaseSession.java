import scala.Function0;
import scala.runtime.AbstractFunction0;

/** Gives the session that those of Spark Connect's clients are made from. */
public class BaseSession {
  public Function0 of(final Object session) {
    return new AbstractFunction0() {
      public Object apply() { return session; }
    };
  }
}
