import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.util.*;
import org.apache.spark.internal.config.ConfigProvider;
import org.apache.spark.internal.config.ConfigReader;
import org.apache.spark.sql.catalyst.parser.ParserInterface;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.internal.VariableSubstitution;
import scala.Option;

/**
 * Variables `${x}` in statements of a server's clients: settings of the session, as SET shows them.
 *
 * Spark also replaces `${env:x}` and `${system:x}`, which would show the server's environment and its JVM's properties. With
 * this class they remain as written, like every variable that Spark does not find. So do variables with an unlisted prefix.
 */
public class ClientVariables extends VariableSubstitution {
  private static final String[] PREFIXES = {"spark", "sparkconf", "hivevar", "hiveconf"};
  private final ConfigReader settings;

  public ClientVariables() throws Exception {
    ConfigProvider shown = new ConfigProvider() {
      public Option get(String key) { return Option.apply(shown(key)); }
    };
    settings = new ConfigReader(shown);
    Field bindings = ConfigReader.class.getDeclaredField("bindings");
    bindings.setAccessible(true);
    ((scala.collection.mutable.Map) bindings.get(settings)).clear();
    settings.bind(null, shown);
    for (int i = 0; i < PREFIXES.length; i++) settings.bind(PREFIXES[i], shown);
  }

  public String substitute(String text) {
    return SQLConf.get().variableSubstituteEnabled() ? settings.substitute(text) : text;
  }

  /** The value of a setting, without secrets; empty if it is not set, as in Spark. */
  private static String shown(String key) {
    SQLConf all = SQLConf.get();
    scala.collection.immutable.Map none = scala.collection.immutable.Map$.MODULE$.empty();
    scala.collection.immutable.Map one = (scala.collection.immutable.Map) none.updated(key, all.getConfString(key, ""));
    return String.valueOf(all.redactOptions(one).apply(key));
  }

  /** Make a parser, and the parsers that it delegates to, replace only these variables. Returns the number of such parsers. */
  public int install(Object parser) throws Exception {
    return install(parser, Collections.newSetFromMap(new IdentityHashMap()));
  }

  private int install(Object parser, Set seen) throws Exception {
    if (parser == null || !seen.add(parser)) return 0;
    int found = 0;
    for (Class owner = parser.getClass(); owner != null && owner != Object.class; owner = owner.getSuperclass()) {
      Field[] fields = owner.getDeclaredFields();
      for (int i = 0; i < fields.length; i++) {
        if (Modifier.isStatic(fields[i].getModifiers())) continue;
        boolean isVariables = VariableSubstitution.class.isAssignableFrom(fields[i].getType());
        if (!isVariables && !ParserInterface.class.isAssignableFrom(fields[i].getType())) continue;
        fields[i].setAccessible(true);
        if (!isVariables) {
          found += install(fields[i].get(parser), seen);
          continue;
        }
        if (fields[i].get(parser) == null) make(owner, fields[i].getName(), parser);
        fields[i].set(parser, this);
        found++;
      }
    }
    return found;
  }

  /** Compute a lazy value of Scala now: computed later, it would overwrite the field that is set after this call. */
  private static void make(Class owner, String name, Object parser) throws Exception {
    java.lang.reflect.Method getter = owner.getDeclaredMethod(name, new Class[0]);
    getter.setAccessible(true);
    getter.invoke(parser, new Object[0]);
  }
}
