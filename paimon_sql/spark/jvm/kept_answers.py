"""Answers that the JVM remembers.

Spark asks catalogs, tables and scans for their names dozens of times in a query, and each question to Python takes as
long as much of its work. What never changes is asked once: a Java object stands before the proxy and knows the answers.
"""

SOURCE = """
import java.lang.reflect.*;
import java.util.*;
import java.util.concurrent.ConcurrentHashMap;

public class KeptAnswers {
  private static final Object NOTHING = new Object();

  public static class Keeper implements InvocationHandler {
    private final Object asked;
    private final Set names;
    private final Map answers = new ConcurrentHashMap();
    Keeper(Object asked, Set names) { this.asked = asked; this.names = names; }

    public Object invoke(Object self, Method method, Object[] arguments) throws Throwable {
      boolean keeps = arguments == null && names.contains(method.getName());
      Object known = keeps ? answers.get(method.getName()) : null;
      if (known != null) return known == NOTHING ? null : known;
      try {
        Object answer = method.invoke(asked, arguments);
        if (keeps) answers.put(method.getName(), answer == null ? NOTHING : answer);
        return answer;
      } catch (InvocationTargetException e) {
        throw e.getCause();
      }
    }
  }

  public Object before(Object asked, Set names) {
    Class made = asked.getClass();
    return Proxy.newProxyInstance(made.getClassLoader(), made.getInterfaces(), new Keeper(asked, names));
  }
}
"""
