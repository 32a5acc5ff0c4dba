import java.util.*;
import java.util.function.BiPredicate;
import java.util.regex.Pattern;

/**
 * What a server that only reads allows: names by their kind, such as a plan, a function or a setting.
 *
 * The checks before each door ask the same lists. Of a setting they also have patterns, and variables may always be set.
 */
public class AllowLists implements BiPredicate {
  private static final Pattern VARIABLE = Pattern.compile("[A-Za-z_][A-Za-z0-9_]*");
  private final Map names = new HashMap();  // sets, by kind
  private final List patterns = new ArrayList();  // of settings

  /** Lists of lines: each has a kind and a name, with a tab between them. */
  public BiPredicate of(String lines) {
    AllowLists made = new AllowLists();
    String[] all = lines.split("\n");
    for (int i = 0; i < all.length; i++) {
      String[] one = all[i].split("\t");
      if (one[0].equals("setting pattern")) {
        made.patterns.add(Pattern.compile(one[1]));
        continue;
      }
      if (!made.names.containsKey(one[0])) made.names.put(one[0], new HashSet());
      ((Set) made.names.get(one[0])).add(one[1]);
    }
    return made;
  }

  public boolean test(Object kind, Object name) {
    Set found = (Set) names.get(kind);
    if (found != null && found.contains(name)) return true;
    return kind.equals("setting") && mayBeSet(String.valueOf(name));
  }

  private boolean mayBeSet(String key) {
    if (VARIABLE.matcher(key).matches()) return true;
    for (int i = 0; i < patterns.size(); i++)
      if (((Pattern) patterns.get(i)).matcher(key).matches()) return true;
    return false;
  }
}
