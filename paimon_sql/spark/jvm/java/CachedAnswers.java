import java.lang.reflect.*;
import java.util.*;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Puts an object in front of a Python proxy that answers methods whose answers never change without asking Python again.
 *
 * Spark asks catalogs, tables and scans for their names dozens of times in a query, and each question to Python takes as
 * long as much of its work.
 */
public class CachedAnswers {
  private static final Object NOTHING = new Object();

  public static class Cache implements InvocationHandler {
    private final Object asked;
    private final Set names;
    private final Map answers = new ConcurrentHashMap();
    Cache(Object asked, Set names) { this.asked = asked; this.names = names; }

    public Object invoke(Object self, Method method, Object[] arguments) throws Throwable {
      // equal is what says the same of itself, see `Proxy`
      if (method.getName().equals("equals") && names.contains("toString"))
        return self == arguments[0] || (arguments[0] != null && self.toString().equals(arguments[0].toString()));
      boolean caches = arguments == null && names.contains(method.getName());
      Object known = caches ? answers.get(method.getName()) : null;
      if (known != null) return known == NOTHING ? null : known;
      try {
        Object answer = method.invoke(asked, arguments);
        if (caches) answers.put(method.getName(), answer == null ? NOTHING : answer);
        return answer;
      } catch (InvocationTargetException e) {
        throw e.getCause();
      }
    }
  }

  public Object before(Object asked, Set names) {
    Class made = asked.getClass();
    return Proxy.newProxyInstance(made.getClassLoader(), made.getInterfaces(), new Cache(asked, names));
  }
}
