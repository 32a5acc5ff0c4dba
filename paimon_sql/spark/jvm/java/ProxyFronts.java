import java.lang.reflect.*;
import java.util.*;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.spark.util.Utils;
import org.codehaus.janino.SimpleCompiler;

/**
 * Puts an object in front of a Python proxy. The object caches results that never change, so that they need only one call to
 * Python, and passes on errors that the interfaces of the proxy do not declare.
 *
 * Spark calls methods such as `name` of catalogs, tables and scans dozens of times in a query, and a call to Python is slow.
 *
 * A dynamic proxy replaces a checked exception that its interface does not declare. Spark treats the few that are declared
 * as results: after `createTable`, "the table exists already" means success of IF NOT EXISTS.
 */
public class ProxyFronts {
  private static final Object NOTHING = new Object();
  private final Map raising = new ConcurrentHashMap();  // from interfaces and their raising methods to the interface made of them

  public static class Front implements InvocationHandler {
    private final InvocationHandler asked;
    private final Set names;
    private final Map answers = new ConcurrentHashMap();
    Front(InvocationHandler asked, Set names) { this.asked = asked; this.names = names; }

    public Object invoke(Object self, Method method, Object[] arguments) throws Throwable {
      // proxies with equal texts are equal, see `Proxy`
      if (method.getName().equals("equals") && names.contains("toString"))
        return self == arguments[0] || (arguments[0] != null && self.toString().equals(arguments[0].toString()));
      boolean caches = arguments == null && names.contains(method.getName());
      Object known = caches ? answers.get(method.getName()) : null;
      if (known != null) return known == NOTHING ? null : known;
      Object answer = asked.invoke(self, method, arguments);
      if (caches) answers.put(method.getName(), answer == null ? NOTHING : answer);
      return answer;
    }
  }

  /** An interface that extends others and lets some methods raise any exception. Java's language does not allow such an
   * interface, but the JVM does. */
  private static Class raising(Class[] extended, Set names) throws Exception {
    StringBuilder text = new StringBuilder("public interface RaisingAnything extends ");
    for (int i = 0; i < extended.length; i++) text.append(i == 0 ? "" : ", ").append(extended[i].getCanonicalName());
    text.append(" {\n");
    Set declared = new HashSet();
    for (int i = 0; i < extended.length; i++) {
      Method[] methods = extended[i].getMethods();
      for (int j = 0; j < methods.length; j++) {
        Method method = methods[j];
        if (!names.contains(method.getName()) || method.isBridge() || Modifier.isStatic(method.getModifiers())) continue;
        StringBuilder line = new StringBuilder(method.getName()).append("(");
        Class[] types = method.getParameterTypes();
        for (int k = 0; k < types.length; k++)
          line.append(k == 0 ? "" : ", ").append(types[k].getCanonicalName()).append(" p").append(k);
        if (!declared.add(line.toString())) continue;
        text.append(method.getReturnType().getCanonicalName()).append(" ").append(line).append(") throws Throwable;\n");
      }
    }
    SimpleCompiler compiler = new SimpleCompiler();
    compiler.setParentClassLoader(Utils.getContextOrSparkClassLoader());
    compiler.cook(text.append("}").toString());
    return compiler.getClassLoader().loadClass("RaisingAnything");
  }

  /** `cached` names methods without arguments and with a result that never changes, `raises` methods that may raise anything. */
  public Object before(Object asked, Set cached, Set raises) throws Exception {
    Class made = asked.getClass();
    InvocationHandler front = new Front(Proxy.getInvocationHandler(asked), cached);
    if (raises.isEmpty()) return Proxy.newProxyInstance(made.getClassLoader(), made.getInterfaces(), front);
    Object key = Arrays.asList(new Object[] {Arrays.asList(made.getInterfaces()), raises});
    Class shown = (Class) raising.get(key);
    if (shown == null) {
      shown = raising(made.getInterfaces(), raises);
      raising.put(key, shown);
    }
    return Proxy.newProxyInstance(shown.getClassLoader(), new Class[] {shown}, front);
  }
}
